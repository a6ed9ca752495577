"""Entries of a key/value table in a SQLite file, as resources: a whole provider, small enough to copy."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import TypeVar

from holdfast.compare import profiles
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadError, ReadFailure, ReadResult
from holdfast.model.write_result import Done, WriteError, WriteFailure, WriteResult
from holdfast.providers.protocol import Change, Connection, Hint, Kind, Listed, ReadFailed, Target, Unchanged

COLUMNS = ("key", "value", "ttl")
PROFILE = b"""
profile: keyvalue/entry
version: 1
applies: {provider: keyvalue}
rules:
  - {path: /key, class: create_only, why: another key is another entry}
"""
KINDS = {"Entry": Kind("Entry", patches=True, lists=True, conditional=True, profiles=tuple(profiles.parse(PROFILE)))}


class KeyValueProvider:
    """What the entry point names: a name, the kinds, and the way to each half."""

    name = "keyvalue"
    kinds: Mapping[str, Kind] = KINDS

    @asynccontextmanager
    async def reader(self, connection: Connection) -> AsyncIterator[EntryReader]:
        """Open the half that only looks."""
        yield EntryReader(_file(connection))

    @asynccontextmanager
    async def writer(self, connection: Connection) -> AsyncIterator[EntryWriter]:
        """Open the half that changes things."""
        yield EntryWriter(_file(connection))


Entry = dict[str, Json]
Result = TypeVar("Result")


def _file(connection: Connection) -> Path:
    return Path(connection.base_dir, str(connection.settings.get("file", "entries.db")))


def _key(target: Target) -> str:
    """Return the id of an entry: the known one, else what the declaration says."""
    return target.id if target.id is not None else str(target.desired.get("key", target.name))


def _entries(database: sqlite3.Connection, where: str, *values: str) -> list[Entry]:
    rows = database.execute(f"SELECT {', '.join(COLUMNS)} FROM entries {where}", values)
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def _raw(entry: Entry) -> bytes:
    return json.dumps(entry, sort_keys=True).encode()


def _digest(entry: Entry) -> str:
    return "sha256:" + hashlib.sha256(_raw(entry)).hexdigest()


async def _run(file: Path, begin: str, work: Callable[[sqlite3.Connection], Result]) -> Result:
    """Do some work in one transaction, in a thread, as SQLite makes us wait; never make a file that is not there."""

    def transaction() -> Result:
        with closing(sqlite3.connect(f"file:{file}?mode=rw", uri=True, timeout=0.1, isolation_level=None)) as database:
            database.execute(begin)
            result = work(database)
            database.execute("COMMIT")
            return result

    return await asyncio.to_thread(transaction)


class EntryReader:
    """Reads entries; what goes wrong is a value (Unreadable), not an exception."""

    kinds: Mapping[str, Kind] = KINDS

    def __init__(self, file: Path) -> None:
        self._file = file

    async def read(self, target: Target, hint: Hint | None = None) -> ReadResult | Unchanged:
        """Read one entry; if its digest is that of the last time, nobody needs the rest."""
        try:
            found = await _run(self._file, "BEGIN", lambda db: _entries(db, "WHERE key = ?", _key(target)))
        except sqlite3.Error as error:
            return _unreadable(error)
        if not found:
            return NotFound()
        digest = _digest(found[0])
        if hint is not None and hint.raw_digest == digest:
            return Unchanged(digest, digest)
        return Found(found[0], etag=digest, raw_digest=digest, id=found[0]["key"])

    async def list(self, kind: str) -> AsyncIterator[Listed]:  # noqa: ARG002 - there is but one
        """Read all entries; if that fails, raise: half a list must not be believed."""
        try:
            found = await _run(self._file, "BEGIN", lambda db: _entries(db, "ORDER BY key"))
        except sqlite3.Error as error:
            raise ReadFailed(_unreadable(error)) from None
        for entry in found:
            yield Listed(entry["key"], _raw(entry), _digest(entry))

    def parse(self, kind: str, raw: bytes) -> Json:  # noqa: ARG002
        """Turn a listed entry into what `read` would have brought."""
        return json.loads(raw)

    async def find(self, kind: str, criteria: Mapping[str, Json]) -> Sequence[str]:
        """Return the keys of the entries whose fields have these values."""
        return [item.id async for item in self.list(kind) if criteria.items() <= json.loads(item.raw).items()]


def _unreadable(error: sqlite3.Error) -> ReadFailure:
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    trouble = ReadError.TIMEOUT if name == "SQLITE_BUSY" else ReadError.UNREACHABLE
    return ReadFailure(trouble, f"the table cannot be read ({name})")


class EntryWriter:
    """Writes entries; each method may be repeated, and says in what way it was refused."""

    def __init__(self, file: Path) -> None:
        self._file = file

    async def create(self, target: Target, key: str) -> WriteResult:  # noqa: ARG002 - the table's own key does it
        """Insert an entry; one that is there already must be just what would be made."""

        def insert(database: sqlite3.Connection) -> WriteResult:
            given = {column: target.desired[column] for column in COLUMNS if column in target.desired}
            wanted = {**given, "key": _key(target)}
            names, marks = ", ".join(wanted), ", ".join("?" * len(wanted))
            statement = f"INSERT INTO entries ({names}) VALUES ({marks}) ON CONFLICT (key) DO NOTHING"
            database.execute(statement, list(wanted.values()))
            (now,) = _entries(database, "WHERE key = ?", _key(target))
            return _done(now) if wanted.items() <= now.items() else WriteFailure(WriteError.MOVED, "the key is taken")

        return await self._answered(insert)

    async def update(self, target: Target, change: Change, key: str) -> WriteResult:  # noqa: ARG002
        """Change the named columns and no others, if the entry is still what the change was decided on."""

        def update(database: sqlite3.Connection) -> WriteResult:
            found = _entries(database, "WHERE key = ?", _key(target))
            if not found or change.etag not in (None, _digest(found[0])):
                return WriteFailure(WriteError.MOVED, "the entry is not what it was when the change was decided")
            for column in COLUMNS:
                if f"/{column}" in change.paths:
                    values = [change.desired[column], _key(target)]
                    database.execute(f"UPDATE entries SET {column} = ? WHERE key = ?", values)
            return _done(_entries(database, "WHERE key = ?", _key(target))[0])

        return await self._answered(update)

    async def delete(self, target: Target, key: str, etag: str | None = None) -> WriteResult:  # noqa: ARG002
        """Delete an entry; already gone is done."""

        def delete(database: sqlite3.Connection) -> WriteResult:
            found = _entries(database, "WHERE key = ?", _key(target))
            if found and etag not in (None, _digest(found[0])):
                return WriteFailure(WriteError.MOVED, "the entry is not what it was when its deletion was decided")
            database.execute("DELETE FROM entries WHERE key = ?", [_key(target)])
            return Done(_key(target))

        return await self._answered(delete)

    async def poll(self, target: Target, token: Mapping[str, Json]) -> WriteResult:  # noqa: ARG002
        """Say that nothing here takes its time."""
        return WriteFailure(WriteError.TERMINAL, "entries are written at once")

    async def _answered(self, write: Callable[[sqlite3.Connection], WriteResult]) -> WriteResult:
        try:
            return await _run(self._file, "BEGIN IMMEDIATE", write)
        except sqlite3.OperationalError as error:  # locked, or not to be opened: another time perhaps
            return WriteFailure(WriteError.RETRYABLE, f"the table could not be written ({error.sqlite_errorname})")
        except sqlite3.Error as error:  # in our own words: the text of an error may repeat what was sent
            return WriteFailure(WriteError.TERMINAL, f"the entry was refused ({type(error).__name__})")


def _done(entry: Entry) -> Done:
    return Done(entry["key"], entry, _digest(entry))
