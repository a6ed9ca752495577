"""The tables of a SQLite store, read and filled as a whole."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import StoreError
from holdfast.store.store_copy import PAGE, Row, Table


@dataclass(frozen=True, slots=True)
class SqliteTables:
    """Implements `TableReader` and `TableWriter` inside the caller's transaction."""

    connection: sqlite3.Connection

    async def rows(self, table: Table) -> AsyncIterator[Sequence[Row]]:
        """Iterate over the rows of a table in order of its key, a page at a time."""
        cursor = await asyncio.to_thread(self.connection.execute, table.selection)
        while rows := await asyncio.to_thread(cursor.fetchmany, PAGE):
            yield rows

    async def count(self, table: Table) -> int:
        """Return the number of rows."""
        return int(self.connection.execute(table.counting).fetchone()[0])

    async def clear(self, table: Table) -> None:
        """Delete the rows that a new store has."""
        self.connection.execute(table.deletion)

    async def add(self, table: Table, rows: Sequence[Row]) -> None:
        """Add rows."""
        await asyncio.to_thread(self.connection.executemany, table.insertion, rows)


@asynccontextmanager
async def read(path: Path) -> AsyncIterator[SqliteTables]:
    """Open the tables of a store as they are at this moment."""
    async with _transaction(path, "BEGIN") as tables:
        yield tables


@asynccontextmanager
async def write(path: Path) -> AsyncIterator[SqliteTables]:
    """Open the tables of a store for one transaction."""
    async with _transaction(path, "BEGIN IMMEDIATE") as tables:
        yield tables


@asynccontextmanager
async def _transaction(path: Path, begin: str) -> AsyncIterator[SqliteTables]:
    try:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            connection.execute(begin)
            yield SqliteTables(connection)
            connection.execute("COMMIT")
        finally:
            connection.close()  # rolls back what was not committed
    except sqlite3.Error as error:
        raise StoreError(f"cannot copy the store {path}: {error}") from error
