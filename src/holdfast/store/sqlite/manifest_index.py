"""The manifest index in the tables of a store, by a connection of its own that never waits long for a lock.

Without a store the index is a temporary database, which is copied once the store exists. Any failure raises StoreError,
and its caller reads the manifests without the index.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import quote

import orjson

from holdfast.errors import StoreError
from holdfast.store import blobs
from holdfast.store.manifest_index import EntryRow, Flag, FoundEntry, ManifestRow, ManifestSet
from holdfast.store.sqlite import migrations
from holdfast.store.sqlite.statements import MANY, SIZES, in_lists, parse

PAGE: Final = 500
BUSY_SECONDS: Final = 1.0  # the index is not worth a longer wait
KEPT_SECONDS: Final = 86400.0  # for which a replaced row serves runs that began before
KEPT_SETS: Final = 8
_COPIED: Final = ("manifest", "manifest_entry", "manifest_set", "manifest_binding")

_TEXT: Final = Path(__file__).with_name("sql").joinpath("manifest_index.sql").read_text(encoding="utf-8")
_SIZED: Final = {size: parse(_TEXT, size) for size in SIZES}
_SQL: Final = _SIZED[MANY]
_PAGES: Final[dict[Flag | None, str]] = {None: "page", "links": "page_links", "secrets": "page_secrets"}


class SqliteManifestIndex:
    """Implements `manifest_index.ManifestIndex` and `IndexUpkeep`; created by `open` or `temporary`."""

    def __init__(self, connection: sqlite3.Connection, *, is_temporary: bool) -> None:
        self._connection = connection
        self.is_temporary = is_temporary
        self._store = "main"  # the name of the database with the documents
        self._holds_bodies = False
        with _translate_errors():
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA cache_size = -8000")
            connection.execute("CREATE TEMP TABLE chosen (manifest INTEGER PRIMARY KEY, name TEXT, path TEXT)")
            connection.execute("ATTACH '' AS held")  # a temporary file, because bodies may not fit into memory
            connection.execute("CREATE TABLE held.body (address TEXT PRIMARY KEY, document, body) WITHOUT ROWID")

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the index of a store that exists; raise StoreError if it has none, or one of another release."""
        with _translate_errors():
            _require_ours(path)
            address = f"file:{quote(str(path.absolute()))}?mode=rw"
            connection = sqlite3.connect(address, timeout=BUSY_SECONDS, isolation_level=None, uri=True)
            try:
                migrations.require_current(connection, path)
                return cls(connection, is_temporary=False)
            except BaseException:
                connection.close()
                raise

    @classmethod
    def temporary(cls) -> Self:
        """Create an index without a store. It is on disk as far as it does not fit into a small cache."""
        with _translate_errors():
            connection = sqlite3.connect("", isolation_level=None)
            migrations.apply(connection, migrations.released(), Path("(temporary)"))
            return cls(connection, is_temporary=True)

    def copy_to(self, path: Path) -> None:
        """Copy a temporary index into a new store; one that has an index already keeps its own."""
        with _translate_errors():
            self._connection.execute("ATTACH ? AS target", (str(path.absolute()),))
            if self._connection.execute("SELECT 1 FROM target.manifest LIMIT 1").fetchone() is not None:
                return
            with self._transaction():
                for table in _COPIED:
                    self._connection.execute(f"INSERT INTO target.{table} SELECT * FROM main.{table}")  # noqa: S608 - our own names
            self._store = "target"

    def close(self) -> None:
        """Release the database."""
        with _translate_errors():
            self._connection.close()

    # --- writing ------------------------------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def write(self, files: Sequence[tuple[ManifestRow, Sequence[EntryRow]]], now: float) -> list[int]:
        """Store files with their entries in place of the rows of the same path; return the new ids."""
        ids = []
        with _translate_errors(), self._transaction():
            execute = self._connection.execute
            for file, entries in files:
                execute(_SQL["supersede"], (now, file.path))
                number = execute(_SQL["add_file"], file[1:]).lastrowid or 0
                self._connection.executemany(_SQL["add_entry"], ((number, *entry) for entry in entries))
                ids.append(number)
            execute(_SQL["drop_old_entries"], (now - KEPT_SECONDS,))
            execute(_SQL["drop_old_files"], (now - KEPT_SECONDS,))
        return ids

    def touch(self, files: Sequence[tuple[int, str, float]]) -> None:
        """Record the status of files whose content is the same, and when it was compared."""
        with _translate_errors(), self._transaction():
            self._connection.executemany(_SQL["touch"], ((status, at, number) for number, status, at in files))

    def forget(self, ids: Sequence[int]) -> None:
        """Delete files that do not exist any more."""
        with _translate_errors(), self._transaction():
            for name in ("drop_entries", "drop_files"):
                for chunk in in_lists(ids):
                    self._connection.execute(_SIZED[len(chunk)][name], chunk)

    def hold_bodies(self, bodies: Sequence[tuple[str, str, bytes]]) -> None:
        """Hold sealed bodies by address, each with the digest of its document, until the end of the run."""
        values = ((address, blobs.pack_digest(digest), body) for address, digest, body in bodies)
        with _translate_errors():
            self._connection.execute("BEGIN")
            self._connection.executemany(_SQL["hold_body"], values)
            self._connection.execute("COMMIT")
            self._holds_bodies = True

    def keep_bodies(self) -> None:
        """Store the held bodies, as far as the store has the same documents in clear."""
        if self._holds_bodies:
            with _translate_errors(), self._transaction():
                self._connection.execute(_SQL["keep_bodies"].replace("$store", self._store))

    def keep_set(self, key: bytes, found: ManifestSet, bindings: Iterable[tuple[str, bytes]], now: float) -> None:
        """Store that files fit together, with the targets of their references."""
        with _translate_errors(), self._transaction():
            execute = self._connection.execute
            execute(_SQL["put_set"], (key, now, orjson.dumps([*found[:3], found.seal.hex()]).decode()))
            self._connection.executemany(_SQL["put_binding"], ((key, address, body) for address, body in bindings))
            for (old,) in execute(_SQL["old_sets"], (KEPT_SETS,)).fetchall():
                execute(_SQL["drop_set"], (old,))
                execute(_SQL["drop_bindings"], (old,))

    # --- reading ------------------------------------------------------------------------------------------------------

    def files(self, paths: Sequence[str]) -> dict[str, ManifestRow]:
        """Return the rows of files by path, at least those of the given paths."""
        with _translate_errors():
            if len(paths) > MANY:
                return {row[1]: ManifestRow(*row) for row in self._connection.execute(_SQL["files"])}
            found = (
                row
                for chunk in in_lists(paths)
                for row in self._connection.execute(_SIZED[len(chunk)]["some_files"], chunk)
            )
            return {row[1]: ManifestRow(*row) for row in found}

    def choose(self, files: Iterable[tuple[int, str, str]]) -> None:
        """Begin a run about some files, each with its name in messages and its path."""
        with _translate_errors():
            self._connection.execute("DELETE FROM temp.chosen")
            self._connection.execute("BEGIN")
            self._connection.executemany(_SQL["choose"], files)
            self._connection.execute("COMMIT")

    def has_clashes(self) -> bool:
        """Return True if two entries have one address or mean one live thing."""
        return bool(self._select("address_clashes") or self._select("identity_clashes"))

    def entries(self, addresses: Sequence[str]) -> list[FoundEntry]:
        """Return the entries of addresses."""
        return self._find("entries", addresses)

    def named(self, names: Sequence[str]) -> list[FoundEntry]:
        """Return the entries of names."""
        return self._find("named", names)

    def pages(self, flag: Flag | None = None) -> Iterator[list[FoundEntry]]:
        """Iterate over all entries in address order, a page at a time; with a flag only over those that have it."""
        after, is_last = "", False
        while not is_last:
            with _translate_errors():
                page = [_found(row) for row in self._connection.execute(_SQL[_PAGES[flag]], (after, PAGE))]
            if page:
                after = page[-1].row.address
                yield page
            is_last = len(page) < PAGE

    def addresses(self) -> list[str]:
        """Return all addresses in order."""
        return [address for (address,) in self._select("addresses")]

    def count(self) -> int:
        """Return the number of entries."""
        return int(self._select("count")[0][0])

    def undeclared(self) -> list[str]:
        """Return the resources of the store that have no entry."""
        return [address for (address,) in self._select("undeclared")]

    def known(self) -> list[str]:
        """Return the resources of the store."""
        return [address for (address,) in self._select("known")]

    def load_set(self, key: bytes) -> ManifestSet | None:
        """Return the stored summary of a set of files, or None."""
        with _translate_errors():
            for (summary,) in self._connection.execute(_SQL["set"], (key,)):
                count, connections, linked, seal = orjson.loads(summary)
                return ManifestSet(count, tuple(connections), linked, bytes.fromhex(seal))
        return None

    def bindings(self, key: bytes, addresses: Sequence[str] | None) -> list[tuple[str, bytes]]:
        """Return the reference targets of some entries, or those of all."""
        if addresses is None:
            return self._select("bindings", key)
        with _translate_errors():
            return [
                row
                for chunk in in_lists(addresses)
                for row in self._connection.execute(_SIZED[len(chunk)]["some_bindings"], (*chunk, key))
            ]

    def _find(self, name: str, values: Sequence[str]) -> list[FoundEntry]:
        with _translate_errors():
            return [
                _found(row)
                for chunk in in_lists(values)
                for row in self._connection.execute(_SIZED[len(chunk)][name], chunk)
            ]

    def _select(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        with _translate_errors():
            return self._connection.execute(_SQL[name], values).fetchall()


def _require_ours(path: Path) -> None:
    """Raise StoreError for a database of another program, before SQLite opens it."""
    with path.open("rb") as file:
        header = file.read(100)
    if int.from_bytes(header[68:72]) != migrations.APPLICATION_ID:
        raise StoreError(f"{path} is not a Holdfast store")


def _found(row: Sequence[Any]) -> FoundEntry:
    document = None if row[9] is None else blobs.unpack_digest(row[9])
    return FoundEntry(EntryRow(*row[:7]), row[7], row[8], document, row[10])


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Turn every failure of the database into StoreError: whatever is wrong with a cache, it is not used."""
    try:
        yield
    except (sqlite3.Error, UnicodeError, OverflowError, ValueError, TypeError, OSError) as error:
        raise StoreError(f"the index of the manifests cannot be used: {error}") from error
