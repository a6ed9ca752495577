"""The store: declarations, writes, observations, decisions and audit events behind one Protocol.

Belongs here: storing and reading facts, one transaction at a time. Must not be here: any decision about them.
"""

from __future__ import annotations

import hashlib
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import StoreError

if TYPE_CHECKING:
    from holdfast.store.protocol import Store

VARIABLE = "HOLDFAST_DATABASE_URL"  # names the store of every command that is not given another
_SQLITE = "sqlite:///"
_MEMORY = ":memory:"
_POSTGRES = ("postgres", "postgresql")


async def open(url: str | PathLike[str]) -> Store:  # noqa: A001 - called as store.open
    """Open the store at a URL or a plain path, and create it if it does not exist.

    URLs are `postgresql://user@host/database`, `sqlite:///path` and `sqlite:///:memory:`. A relative path follows three
    slashes (`sqlite:///holdfast.db`), an absolute path four. Raise StoreError if the scheme is unknown or the database
    cannot be used, SchemaTooNew if a newer Holdfast wrote it.
    """
    # Records must be importable without a backend.
    if is_postgres(url):
        try:
            from holdfast.store.postgres.store import PostgresStore  # noqa: PLC0415
        except ModuleNotFoundError as error:
            if error.name != "asyncpg":
                raise
            raise StoreError(
                "cannot open a store on PostgreSQL: asyncpg is not installed; pip install 'holdfast[postgres]'"
            ) from None
        return await PostgresStore.open(str(url))
    from holdfast.store.sqlite.store import SqliteStore  # noqa: PLC0415

    path = sqlite_path(url)
    return SqliteStore.in_memory() if path == _MEMORY else await SqliteStore.open(path)


def is_postgres(url: str | PathLike[str]) -> bool:
    """Return True for the URL of a PostgreSQL database."""
    return isinstance(url, str) and url.partition("://")[0] in _POSTGRES and "://" in url


def file_of(url: str | PathLike[str], folder: Path) -> Path:
    """Return the file of a store; for a database on a server a name in `folder`, for the files beside the store."""
    if not is_postgres(url):
        return Path(sqlite_path(url))
    scheme, _, rest = str(url).partition("://")
    del scheme  # postgres and postgresql are the same
    address = rest.partition("?")[0].rpartition("@")[2]
    return folder / f"postgresql-{hashlib.sha256(address.encode()).hexdigest()[:12]}"


def sqlite_path(url: str | PathLike[str]) -> str | PathLike[str]:
    """Return the path in a store's URL; a plain path is returned as it is."""
    if not isinstance(url, str):
        return url
    if url.startswith(_SQLITE):
        path = url.removeprefix(_SQLITE)
        if not path:
            raise StoreError(f"cannot open the store {url}: the path is missing; use sqlite:///PATH")
        return path
    scheme, separator, _ = url.partition("://")
    if not separator:
        return url
    if scheme == "sqlite":
        raise StoreError(f"cannot open the store {url}: a SQLite store has no host; use sqlite:///PATH")
    raise StoreError(
        f"cannot open the store {scheme}://...: unknown scheme `{scheme}`; use postgresql://USER@HOST/DATABASE, "
        "sqlite:///PATH or a path"
    )
