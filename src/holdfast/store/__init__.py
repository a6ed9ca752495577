"""The store: declarations, writes, observations, decisions and audit events behind one Protocol.

Belongs here: storing and reading facts, one transaction at a time. Must not be here: any decision about them.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from holdfast.errors import StoreError

if TYPE_CHECKING:
    from holdfast.store.protocol import Store

_SQLITE = "sqlite:///"
_MEMORY = ":memory:"
_PLANNED = {"postgres": "PostgreSQL", "postgresql": "PostgreSQL"}


async def open(url: str | PathLike[str]) -> Store:  # noqa: A001 - called as store.open
    """Open the store at `sqlite:///path`, a plain path or `sqlite:///:memory:`, and create it if it does not exist.

    A relative path follows three slashes (`sqlite:///holdfast.db`), an absolute path four. Raise StoreError if the
    scheme is unknown or the database cannot be used, SchemaTooNew if a newer Holdfast wrote it.
    """
    from holdfast.store.sqlite.store import SqliteStore  # noqa: PLC0415 - records must be importable without a backend

    path = sqlite_path(url)
    return SqliteStore.in_memory() if path == _MEMORY else await SqliteStore.open(path)


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
    if scheme in _PLANNED:
        raise StoreError(
            f"cannot open the store {scheme}://...: {_PLANNED[scheme]} is not supported yet; use sqlite:///PATH"
        )
    if scheme == "sqlite":
        raise StoreError(f"cannot open the store {url}: a SQLite store has no host; use sqlite:///PATH")
    raise StoreError(f"cannot open the store {scheme}://...: unknown scheme `{scheme}`; use sqlite:///PATH or a path")
