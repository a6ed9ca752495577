"""The tables that every store on a database has, and copying one store into another, row by row.

Both databases have the same tables and encode their rows alike, so a copy loses nothing: also fences of released
claims, used approvals and the numbers of decisions are kept. The index of manifests is a cache, so it is not copied.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Final, Protocol

import holdfast.store
from holdfast.errors import StoreError
from holdfast.model.audit import AuditHead

PAGE: Final = 2000  # rows read and written at a time
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its columns in one order for all databases; the first `keys` of them are its primary key."""

    name: str
    columns: tuple[str, ...]
    keys: int = 1
    is_numbered: bool = False  # the database numbers new rows in the first column

    # The names in these statements are those of this module.

    @property
    def selection(self) -> str:
        """The statement that reads all rows in order of the key."""
        keys = ", ".join(self.columns[: self.keys])
        return f"SELECT {', '.join(self.columns)} FROM {self.name} ORDER BY {keys}"  # noqa: S608

    @property
    def counting(self) -> str:
        """The statement that counts the rows."""
        return f"SELECT count(*) FROM {self.name}"  # noqa: S608

    @property
    def deletion(self) -> str:
        """The statement that deletes all rows."""
        return f"DELETE FROM {self.name}"  # noqa: S608

    @property
    def insertion(self) -> str:
        """The statement that adds a row, with question marks for its values."""
        return f"INSERT INTO {self.name} VALUES ({', '.join('?' * len(self.columns))})"  # noqa: S608


def _table(name: str, columns: str, keys: int = 1, *, is_numbered: bool = False) -> Table:
    return Table(name, tuple(columns.split()), keys, is_numbered)


TABLES: Final = (
    _table("family", "id connection kind", is_numbered=True),
    _table("name", "id family local", is_numbered=True),
    _table("resource", "id status failures due_at checked_at good_at mark"),
    _table(
        "detail",
        "id provider_id raw_digest resync_seconds etag state_hash generation applied_revision origin settle_until "
        "desired applied baseline known observed rules provider source reason terminal requested handled rest",
    ),
    _table("claim", "id fence owner until"),
    _table("document", "digest body"),
    _table("finding", "resource ordinal path op first_seen last_seen clean_at times body", 2),
    _table("revision", "resource number document stamp at", 2),
    _table("decision", "number id resource at action inputs output summary", is_numbered=True),
    _table(
        "operation",
        "number id resource action step phase started_at poll_at attempts desired pre_image decision drift token",
        is_numbered=True,
    ),
    _table("event", "sequence at type subject data hash"),
    _table("chain", "id length hash"),
    _table(
        "correction",
        "number id resource at action reason outcome paths pre_image post_image undoes who",
        is_numbered=True,
    ),
    _table("charge", "correction bucket at", 2),
    _table("pause", "scope who why at until"),
    _table("approval", "plan resource who why at used_at"),
    _table("quarantine", "resource path cause since data", 2),
    _table("accepted_value", "resource path value who why at", 2),
    _table("record", "collection key owner version due_at data", 2),
)
FILLED: Final = ("family", "chain")  # have rows in a new store


class TableReader(Protocol):
    """Reads tables of one moment."""

    def rows(self, table: Table) -> AsyncIterator[Sequence[Row]]:
        """Iterate over the rows of a table in order of its key, a page at a time."""


class TableWriter(Protocol):
    """Fills the tables of an empty store, all or none."""

    async def count(self, table: Table) -> int:
        """Return the number of rows."""

    async def clear(self, table: Table) -> None:
        """Delete the rows that a new store has."""

    async def add(self, table: Table, rows: Sequence[Row]) -> None:
        """Add rows."""


@dataclass(frozen=True, slots=True)
class CopyReport:
    """The result of a copy."""

    rows: dict[str, int]  # by table
    head: AuditHead  # of the audit trail, verified in the copy


async def copy(source: str | PathLike[str], destination: str | PathLike[str]) -> CopyReport:
    """Copy a store into an empty one and verify the audit trail of the copy.

    Raise StoreError, and leave the destination as it was, if the source does not exist or the destination has facts.
    """
    _require_source(source)
    for url in (source, destination):  # creates or migrates what is missing
        await (await holdfast.store.open(url)).close()
    counts: dict[str, int] = {}
    async with _reader(source) as reader, _writer(destination) as writer:
        for table in TABLES:
            if table.name not in FILLED and await writer.count(table):
                raise StoreError(
                    f"cannot copy into {_shown(destination)}: it has facts already (table {table.name}); name an empty "
                    "store; nothing was changed"
                )
        for table in TABLES:
            if table.name in FILLED:
                await writer.clear(table)
            counts[table.name] = 0
            async for rows in reader.rows(table):
                await writer.add(table, rows)
                counts[table.name] += len(rows)
    return CopyReport(counts, await _verified(destination))


def _require_source(source: str | PathLike[str]) -> None:
    if not holdfast.store.is_postgres(source) and not Path(holdfast.store.sqlite_path(source)).exists():
        raise StoreError(f"there is no store at {source}; name the store to copy from first, then the one to copy to")


async def _verified(destination: str | PathLike[str]) -> AuditHead:
    """Return the head of the copied trail; raise ChainBroken if the trail is broken."""
    copied = await holdfast.store.open(destination)
    try:
        await copied.verify_chain()
        return await copied.head()
    finally:
        await copied.close()


def _reader(url: str | PathLike[str]) -> AbstractAsyncContextManager[TableReader]:
    if holdfast.store.is_postgres(url):
        from holdfast.store.postgres import table_rows as on_postgres  # noqa: PLC0415 - its driver is optional

        return on_postgres.read(str(url))
    from holdfast.store.sqlite import table_rows as on_sqlite  # noqa: PLC0415 - like its sibling

    return on_sqlite.read(Path(holdfast.store.sqlite_path(url)))


def _writer(url: str | PathLike[str]) -> AbstractAsyncContextManager[TableWriter]:
    if holdfast.store.is_postgres(url):
        from holdfast.store.postgres import table_rows as on_postgres  # noqa: PLC0415 - its driver is optional

        return on_postgres.write(str(url))
    from holdfast.store.sqlite import table_rows as on_sqlite  # noqa: PLC0415 - like its sibling

    return on_sqlite.write(Path(holdfast.store.sqlite_path(url)))


def _shown(url: str | PathLike[str]) -> str:
    """Return a URL without its password."""
    if not holdfast.store.is_postgres(url):
        return str(url)
    from holdfast.store.postgres import server_errors  # noqa: PLC0415 - its driver is optional

    return server_errors.describe(str(url))
