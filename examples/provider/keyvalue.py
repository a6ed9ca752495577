"""Entries of a key/value table in a SQLite file as resources: a complete provider, small enough to copy."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import TypeVar

from holdfast.provider import (
    Change,
    Connection,
    Done,
    Found,
    Hint,
    Json,
    Kind,
    Listed,
    NotFound,
    Provider,
    Reader,
    ReadError,
    ReadFailed,
    ReadFailure,
    ReadResult,
    Target,
    Unchanged,
    WriteError,
    WriteFailure,
    Writer,
    WriteResult,
    document_digest,
    found_or_unchanged,
    parse_profiles,
)

COLUMNS = ("key", "value", "ttl")
PROFILE = """
profile: keyvalue/entry
version: 1
applies: {provider: keyvalue}
rules:
  - {path: /key, class: create_only, why: another key is another entry}
"""
KINDS = {"Entry": Kind("Entry", patches=True, lists=True, conditional=True, profiles=parse_profiles(PROFILE))}


class KeyValueProvider(Provider):
    """The name, the kinds, and a way to open each half."""

    name = "keyvalue"
    kinds = KINDS

    @asynccontextmanager
    async def reader(self, connection: Connection) -> AsyncIterator[EntryReader]:
        """Open the half that only reads."""
        yield EntryReader(_file(connection))

    @asynccontextmanager
    async def writer(self, connection: Connection) -> AsyncIterator[EntryWriter]:
        """Open the half that writes."""
        yield EntryWriter(_file(connection))


Entry = dict[str, Json]
Result = TypeVar("Result")


def _file(connection: Connection) -> Path:
    return Path(connection.base_dir, str(connection.settings.get("file", "entries.db")))


def _key(target: Target) -> str:
    """Return the id of an entry if it is known, else the declared key."""
    return target.id if target.id is not None else str(target.desired.get("key", target.name))


def _select(database: sqlite3.Connection, where: str, *values: str) -> list[Entry]:
    rows = database.execute(f"SELECT {', '.join(COLUMNS)} FROM entries {where}", values)
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


async def _run(file: Path, begin: str, work: Callable[[sqlite3.Connection], Result]) -> Result:
    """Run a transaction in a thread; never create a missing file, because an empty table means deleted entries."""

    def transaction() -> Result:
        with closing(sqlite3.connect(f"file:{file}?mode=rw", uri=True, timeout=0.1, isolation_level=None)) as database:
            database.execute(begin)
            result = work(database)
            database.execute("COMMIT")
            return result

    return await asyncio.to_thread(transaction)


class EntryReader(Reader):
    """Reads entries."""

    kinds = KINDS

    def __init__(self, file: Path) -> None:
        self._file = file

    async def read(self, target: Target, hint: Hint | None = None) -> ReadResult | Unchanged:
        """Read one entry by its key."""
        try:
            entries = await _run(self._file, "BEGIN", lambda database: _select(database, "WHERE key = ?", _key(target)))
        except sqlite3.Error as error:
            return _read_failure(error)
        if not entries:
            return NotFound()
        found = Found(entries[0], etag=document_digest(entries[0]), id=entries[0]["key"])
        return found_or_unchanged(found, hint)

    async def list(self, kind: str) -> AsyncIterator[Listed]:
        """Read all entries; raise if that fails, because half a list must not be believed."""
        try:
            entries = await _run(self._file, "BEGIN", lambda database: _select(database, "ORDER BY key"))
        except sqlite3.Error as error:
            raise ReadFailed(_read_failure(error)) from None
        for entry in entries:
            yield Listed.from_document(entry["key"], entry)


def _read_failure(error: sqlite3.Error) -> ReadFailure:
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    reason = ReadError.TIMEOUT if name == "SQLITE_BUSY" else ReadError.UNREACHABLE
    return ReadFailure(reason, f"the table cannot be read ({name})")


class EntryWriter(Writer):
    """Writes entries."""

    def __init__(self, file: Path) -> None:
        self._file = file

    async def create(self, target: Target, key: str) -> WriteResult:
        """Insert an entry; an entry with the same key must already be as declared."""

        def insert(database: sqlite3.Connection) -> WriteResult:
            declared = {column: target.desired[column] for column in COLUMNS if column in target.desired}
            desired = {**declared, "key": _key(target)}
            names, marks = ", ".join(desired), ", ".join("?" * len(desired))
            statement = f"INSERT INTO entries ({names}) VALUES ({marks}) ON CONFLICT (key) DO NOTHING"
            database.execute(statement, list(desired.values()))
            (entry,) = _select(database, "WHERE key = ?", _key(target))
            if desired.items() <= entry.items():
                return _done(entry)
            return WriteFailure(WriteError.MOVED, "the key is taken")

        return await self._write(insert)

    async def update(self, target: Target, change: Change, key: str) -> WriteResult:
        """Change the columns of the change and no others, if the entry still has the etag of the change."""

        def update(database: sqlite3.Connection) -> WriteResult:
            entries = _select(database, "WHERE key = ?", _key(target))
            if not entries or change.etag not in (None, document_digest(entries[0])):
                return WriteFailure(WriteError.MOVED, "the entry changed since the update was decided")
            for column in COLUMNS:
                if f"/{column}" in change.paths:
                    values = [change.desired[column], _key(target)]
                    database.execute(f"UPDATE entries SET {column} = ? WHERE key = ?", values)
            return _done(_select(database, "WHERE key = ?", _key(target))[0])

        return await self._write(update)

    async def delete(self, target: Target, key: str, etag: str | None = None) -> WriteResult:
        """Delete an entry; a missing entry is done."""

        def delete(database: sqlite3.Connection) -> WriteResult:
            entries = _select(database, "WHERE key = ?", _key(target))
            if entries and etag not in (None, document_digest(entries[0])):
                return WriteFailure(WriteError.MOVED, "the entry changed since its deletion was decided")
            database.execute("DELETE FROM entries WHERE key = ?", [_key(target)])
            return Done(_key(target))

        return await self._write(delete)

    async def _write(self, write: Callable[[sqlite3.Connection], WriteResult]) -> WriteResult:
        try:
            return await _run(self._file, "BEGIN IMMEDIATE", write)
        except sqlite3.OperationalError as error:  # locked, or the file is missing
            return WriteFailure(WriteError.RETRYABLE, f"the table could not be written ({error.sqlite_errorname})")
        except sqlite3.Error as error:  # only the type, because the text of the error may repeat a secret
            return WriteFailure(WriteError.TERMINAL, f"the entry was rejected ({type(error).__name__})")


def _done(entry: Entry) -> Done:
    return Done(entry["key"], entry, document_digest(entry))
