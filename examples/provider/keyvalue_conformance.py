"""The key/value provider in the conformance kit."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from keyvalue import KeyValueProvider

from holdfast.provider import Connection, ReadError
from holdfast.testing.conformance import CallType, ProviderUnderTest, Sample

TABLE = "CREATE TABLE entries (key TEXT PRIMARY KEY, value TEXT NOT NULL, ttl INTEGER NOT NULL DEFAULT 3600)"

ENTRY = Sample(
    "Entry",
    minimal=lambda name: {"key": name, "value": "hello"},
    full=lambda name: {"key": name, "value": "hello", "ttl": 60},
    fixed={"/key": "another key is another entry"},
    not_applicable={"throttle": "SQLite has no rate limit"},
    sensitive_path="/value",
)


class LockedTable:
    """Faults: a lock on the table."""

    supported = tuple((call_type, ReadError.TIMEOUT) for call_type in CallType)

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def fail(self, call_type: CallType, trouble: ReadError, times: int | None = None) -> None:
        """Lock the table."""
        self._database.execute("BEGIN EXCLUSIVE")

    def clear(self) -> None:
        """Release the lock."""
        self._database.rollback()


@asynccontextmanager
async def entries() -> AsyncIterator[ProviderUnderTest]:
    """Open the provider on an empty table."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "entries.db")
        with closing(sqlite3.connect(file, isolation_level=None)) as database:
            database.execute(TABLE)
            connection = Connection("settings", "keyvalue", {"file": str(file)})
            yield ProviderUnderTest(KeyValueProvider(), connection, (ENTRY,), faults=LockedTable(database))
