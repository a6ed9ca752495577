"""One SQLite database: opened safely, written in transactions, shared with other processes.

Knows pragmas, locks and the meaning of SQLite's errors, and nothing of what is stored.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from holdfast.errors import StoreError
from holdfast.store.migration_files import Migration
from holdfast.store.sqlite import migrations
from holdfast.store.sqlite.call_batching import CallResult

Result = TypeVar("Result")

MEMORY: Final = Path(":memory:")  # a database of its own for every connection
BUSY_SECONDS: Final = 5.0  # how long SQLite itself waits for another process
ATTEMPTS: Final = 6  # of a transaction that meets another process's lock
_MAGIC: Final = b"SQLite format 3\0"
_HEADER_BYTES: Final = 100
_OLDEST_SQLITE: Final = (3, 24)  # the first with ON CONFLICT DO UPDATE

_HINTS: Final = {
    sqlite3.SQLITE_BUSY: f"locked by another process for {BUSY_SECONDS * ATTEMPTS:.0f} seconds; stop it or try later",
    sqlite3.SQLITE_FULL: "the disk is full; nothing of the last change was kept",
    sqlite3.SQLITE_READONLY: "the file is read-only; check the permissions of the file and its folder",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened; check the permissions of the file and its folder",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; restore it from a backup or use another file with --store",
    sqlite3.SQLITE_NOTADB: "the file is not a database, or it is damaged; use another file with --store",
    sqlite3.SQLITE_IOERR: "the disk reports an error",
}


class _GivenUp(Exception):  # noqa: N818 - goes no further than this module
    """A transaction of several calls failed as a whole; nothing of it was kept."""


class Database:
    """A connection that belongs to the thread that opened it."""

    def __init__(self, path: Path, *, durable: bool, steps: Sequence[Migration]) -> None:
        self.path = path if path == MEMORY else path.absolute()
        self.on_rollback: Callable[[], None] = lambda: None  # called after every rollback, whole or in part
        with self._translate_errors():
            _require_sqlite()
            if path != MEMORY:
                _create(self.path)
                _inspect(self.path, steps)
            self.connection = sqlite3.connect(
                self.path,
                timeout=BUSY_SECONDS,
                isolation_level=None,
                cached_statements=256,
                check_same_thread=path != MEMORY,
            )
        try:
            self.run(lambda: self._prepare(durable=durable, steps=steps))
        except BaseException:
            self.connection.close()
            raise

    def _prepare(self, *, durable: bool, steps: Sequence[Migration]) -> None:
        migrations.pending(self.connection, steps, self.path)  # before the first pragma that changes the file
        for pragma in (
            "journal_mode = WAL",
            f"synchronous = {'FULL' if durable else 'NORMAL'}",
            "foreign_keys = ON",
            "temp_store = MEMORY",
            "wal_autocheckpoint = 4000",  # pages: a list scan rewrites the same pages often, so copy them seldom
            "journal_size_limit = 67108864",  # bytes
            "cache_size = -2000",  # KiB: the system caches the rest, and an idle watch stays small
        ):
            self.connection.execute(f"PRAGMA {pragma}")
        migrations.apply(self.connection, steps, self.path)

    def run(self, work: Callable[[], Result]) -> Result:
        """Run a function that may meet another process's lock; it is repeated as a whole."""
        with self._translate_errors():
            for attempt in range(1, ATTEMPTS):
                try:
                    return work()
                except sqlite3.OperationalError as error:
                    if _code(error) != sqlite3.SQLITE_BUSY:
                        raise
                # SQLite answers some conflicts at once, where waiting inside it could never end.
                time.sleep(0.01 * 2**attempt)
            return work()

    def attempt(self, work: Callable[[], Result]) -> CallResult:
        """Run a function and return its result or its exception."""
        try:
            return CallResult(self.run(work))
        except Exception as error:  # noqa: BLE001 - raised for the caller later
            return CallResult(error=error)

    def write_together(
        self, works: Sequence[Callable[[], Result]], merged: Callable[[], list[CallResult]] | None = None
    ) -> list[CallResult]:
        """Run several functions in one transaction, in order; one that fails is rolled back alone.

        Everything that has not failed is durable when this returns. The first attempt uses no savepoints, because
        failures are rare. It may run `merged`, which does all of them in another way. If the transaction as a whole
        fails (a full disk, say), every function runs in a transaction of its own.
        """
        attempts = (merged or partial(_run_all, works, _run_plainly), partial(_run_all, works, self._run_in_savepoint))
        for attempt in attempts if len(works) > 1 else ():
            try:
                return self.run(partial(self._together, "BEGIN IMMEDIATE", attempt))
            except _GivenUp:
                self.on_rollback()
            except StoreError as error:  # the transaction could not begin
                return [CallResult(error=error) for _ in works]
        return [self.attempt(partial(self._alone, work)) for work in works]

    def read_together(self, works: Sequence[Callable[[], Result]]) -> list[CallResult]:
        """Run several reading functions on one snapshot."""
        if len(works) > 1:
            try:
                return self.run(partial(self._together, "BEGIN", partial(_run_all, works, self._run_translated)))
            except (_GivenUp, StoreError):
                pass
        return [self.attempt(work) for work in works]

    def _together(self, begin: str, run_all: Callable[[], list[CallResult]]) -> list[CallResult]:
        self.connection.execute(begin)
        try:
            results = run_all()
            self.connection.execute("COMMIT")
        except BaseException as error:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise _GivenUp from error
        return results

    def _run_in_savepoint(self, work: Callable[[], Result]) -> CallResult:
        """Run one function of a transaction; if it fails, roll back only its changes."""
        self.connection.execute("SAVEPOINT one")
        result = self._run_translated(work)
        if result.error is not None:
            self.connection.execute("ROLLBACK TO one")
            self.on_rollback()
        self.connection.execute("RELEASE one")
        return result

    def _run_translated(self, work: Callable[[], Result]) -> CallResult:
        try:
            return CallResult(work())
        except Exception as error:
            translated = self._translated(error)
            if isinstance(translated.__cause__, sqlite3.OperationalError):  # of the file, not of this function
                raise translated from error
            return CallResult(error=translated)

    def _alone(self, work: Callable[[], Result]) -> Result:
        """Run one function in a transaction of its own."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            result = work()
            self.connection.execute("COMMIT")
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            self.on_rollback()
            raise
        return result

    def close(self) -> None:
        """Close the connection."""
        with self._translate_errors():
            self.connection.close()

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turn errors of SQLite and the system into StoreErrors with a remedy."""
        try:
            yield
        except Exception as error:
            translated = self._translated(error)
            if translated is error:
                raise
            raise translated from error

    def _translated(self, error: Exception) -> Exception:
        """Return a StoreError for an error of SQLite or the system, and any other error as it is."""
        match error:
            case OSError():
                hint = error.strerror or str(error)
            case UnicodeDecodeError():  # a text, or a name in the schema, that is not UTF-8
                hint = _HINTS[sqlite3.SQLITE_CORRUPT]
            case sqlite3.Error():
                hint = _HINTS.get(_code(error), str(error))
            case _:
                return error
        translated = StoreError(f"cannot use the store {self.path}: {hint}")
        translated.__cause__ = error
        return translated


def _run_all(
    works: Iterable[Callable[[], Result]], run_one: Callable[[Callable[[], Result]], CallResult]
) -> list[CallResult]:
    return [run_one(work) for work in works]


def _run_plainly(work: Callable[[], Result]) -> CallResult:
    return CallResult(work())


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _require_sqlite() -> None:
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old; Python must be built with 3.24 or newer")


def _create(path: Path) -> None:
    """Create the file, for its owner only; SQLite gives the files beside it the same permissions."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _inspect(path: Path, steps: Sequence[Migration]) -> None:
    """Check the file before SQLite opens it, because opening can already change it."""
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if not header:
        return
    if not header.startswith(_MAGIC):
        raise StoreError(
            f"cannot use the store {path}: the file is not a SQLite database; use another file with --store"
        )
    version, application = (int.from_bytes(header[start : start + 4]) for start in (60, 68))
    if application == migrations.APPLICATION_ID:
        migrations.require_known(path, version, len(steps))
