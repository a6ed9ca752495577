"""The tables of a PostgreSQL store, read and filled as a whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import asyncpg

from holdfast.store.postgres import server_errors
from holdfast.store.postgres.database import connect
from holdfast.store.store_copy import PAGE, Row, Table

_CONTINUE: Final = "SELECT setval(pg_get_serial_sequence($1::text, $2::text), greatest($3::bigint, 1))"


@dataclass(frozen=True, slots=True)
class PostgresTables:
    """Implements `TableReader` and `TableWriter` inside the caller's transaction."""

    connection: asyncpg.Connection

    async def rows(self, table: Table) -> AsyncIterator[Sequence[Row]]:
        """Iterate over the rows of a table in order of its key, a page at a time."""
        page: list[Row] = []
        async for row in self.connection.cursor(table.selection, prefetch=PAGE):
            page.append(tuple(row))
            if len(page) == PAGE:
                yield page
                page = []
        if page:
            yield page

    async def count(self, table: Table) -> int:
        """Return the number of rows."""
        return int(await self.connection.fetchval(table.counting))

    async def clear(self, table: Table) -> None:
        """Delete the rows that a new store has."""
        await self.connection.execute(table.deletion)

    async def add(self, table: Table, rows: Sequence[Row]) -> None:
        """Add rows; new rows of a numbered table are numbered after them."""
        await self.connection.copy_records_to_table(table.name, columns=table.columns, records=rows)
        if table.is_numbered:
            await self.connection.execute(_CONTINUE, table.name, table.columns[0], max(row[0] for row in rows))


@asynccontextmanager
async def read(url: str) -> AsyncIterator[PostgresTables]:
    """Open the tables of a store as they are at this moment."""
    async with _transaction(url, isolation="repeatable_read", readonly=True) as tables:
        yield tables


@asynccontextmanager
async def write(url: str) -> AsyncIterator[PostgresTables]:
    """Open the tables of a store for one transaction, in which no other process writes to it."""
    async with _transaction(url, isolation="read_committed", readonly=False) as tables:
        await tables.connection.execute("LOCK TABLE chain, name, document IN EXCLUSIVE MODE")
        yield tables


@asynccontextmanager
async def _transaction(url: str, *, isolation: str, readonly: bool) -> AsyncIterator[PostgresTables]:
    try:
        connection = await connect(url)
        try:
            async with connection.transaction(isolation=isolation, readonly=readonly):
                yield PostgresTables(connection)
        finally:
            await connection.close()
    except Exception as error:
        if server_errors.is_of_driver(error):
            raise server_errors.translate(error, server_errors.describe(url)) from error
        raise
