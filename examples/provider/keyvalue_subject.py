"""The key/value provider as a subject of the conformance kit."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from keyvalue import KeyValueProvider

from holdfast.model.json import Json
from holdfast.model.path import Path as Place
from holdfast.model.read_result import ReadError
from holdfast.providers.protocol import Connection
from holdfast.testing.conformance import Doing, Sample, Subject

TABLE = "CREATE TABLE entries (key TEXT PRIMARY KEY, value TEXT NOT NULL, ttl INTEGER NOT NULL DEFAULT 3600)"

ENTRY = Sample(
    "Entry",
    minimal=lambda name: {"key": name, "value": "hello"},
    full=lambda name: {"key": name, "value": "hello", "ttl": 60},
    spared={"/key": "another key is another entry"},
    cannot={"throttle": "SQLite asks nobody to slow down"},
    secret="/value",  # noqa: S106 - a path
)


class EntryDriftInjector:
    """Somebody with the sqlite3 shell."""

    def __init__(self, file: Path) -> None:
        self._database = sqlite3.connect(file, isolation_level=None)

    async def ids(self, kind: str) -> Collection[str]:  # noqa: ARG002 - there is but one
        """Return all keys."""
        return [key for (key,) in self._database.execute("SELECT key FROM entries")]

    async def get(self, kind: str, id: str) -> Json:  # noqa: A002, ARG002 - as the protocol has it
        """Return an entry; None if there is none."""
        row = self._database.execute("SELECT key, value, ttl FROM entries WHERE key = ?", [id]).fetchone()
        return None if row is None else dict(zip(("key", "value", "ttl"), row, strict=True))

    async def put(self, kind: str, id: str, path: Place, value: Json) -> None:  # noqa: A002, ARG002
        """Change a column."""
        self._database.execute(f"UPDATE entries SET {path[0]} = ? WHERE key = ?", [value, id])

    async def delete(self, kind: str, id: str) -> None:  # noqa: A002, ARG002
        """Delete an entry."""
        self._database.execute("DELETE FROM entries WHERE key = ?", [id])

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()


class EntryFaults:
    """Somebody who holds the lock, or moves the file away."""

    provokes = tuple((doing, trouble) for doing in Doing for trouble in (ReadError.TIMEOUT, ReadError.UNREACHABLE))

    def __init__(self, file: Path) -> None:
        self._file = file
        self._away = file.with_suffix(".away")
        self._lock: sqlite3.Connection | None = None

    def fail(self, doing: Doing, trouble: ReadError, times: int | None = None) -> None:  # noqa: ARG002 - for good
        """Let calls fail."""
        if trouble is ReadError.TIMEOUT:
            self._lock = sqlite3.connect(self._file, isolation_level=None)
            self._lock.execute("BEGIN EXCLUSIVE")
        else:
            os.replace(self._file, self._away)  # noqa: PTH105

    def mend(self) -> None:
        """Let calls work again."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None
        if self._away.exists():
            os.replace(self._away, self._file)  # noqa: PTH105


@asynccontextmanager
async def entries() -> AsyncIterator[Subject]:
    """Open the provider on an empty table."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "entries.db"
        with sqlite3.connect(file) as database:
            database.execute(TABLE)
        database.close()
        drift_injector = EntryDriftInjector(file)
        connection = Connection("settings", "keyvalue", {"file": str(file)})
        yield Subject(KeyValueProvider(), connection, (ENTRY,), drift_injector, EntryFaults(file))
        drift_injector.close()
