"""One SQLite file: opened safely, written in transactions, shared with other processes.

Knows pragmas, locks and what SQLite's errors mean to a person; knows nothing of what is kept.
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
from holdfast.store.sqlite import migrations
from holdfast.store.sqlite.call_batching import CallResult

Result = TypeVar("Result")

BUSY_SECONDS: Final = 5.0  # how long SQLite itself waits for another process
ATTEMPTS: Final = 6  # how often we ask again after that
_MAGIC: Final = b"SQLite format 3\0"
_HEADER_BYTES: Final = 100
_OLDEST_SQLITE: Final = (3, 24)  # the first with ON CONFLICT DO UPDATE

_HINTS: Final = {
    sqlite3.SQLITE_BUSY: f"another process has held it for {BUSY_SECONDS * ATTEMPTS:.0f} seconds; stop it or try later",
    sqlite3.SQLITE_FULL: "the disk is full; nothing of the last change was kept",
    sqlite3.SQLITE_READONLY: "it may not be written; check the permissions of the file and its folder",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check the permissions of the file and its folder",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; restore it from a backup or use another file with --store",
    sqlite3.SQLITE_NOTADB: "the file is not a database, or it is damaged; use another file with --store",
    sqlite3.SQLITE_IOERR: "the disk reports an error",
}


class _GivenUp(Exception):  # noqa: N818 - goes no further than this module
    """A transaction of several pieces of work failed as a whole; nothing of it was kept."""


class Database:
    """A connection that belongs to the thread that opened it."""

    def __init__(self, path: Path, *, durable: bool, steps: Sequence[migrations.Migration]) -> None:
        self.path = path.absolute()
        self.when_undone: Callable[[], None] = lambda: None  # told of every rollback, whole or in part
        with self._translated():
            _require_sqlite()
            _create(self.path)
            _inspect(self.path, steps)
            self.connection = sqlite3.connect(
                self.path, timeout=BUSY_SECONDS, isolation_level=None, cached_statements=256
            )
        try:
            self.run(lambda: self._prepare(durable=durable, steps=steps))
        except BaseException:
            self.connection.close()
            raise

    def _prepare(self, *, durable: bool, steps: Sequence[migrations.Migration]) -> None:
        migrations.pending(self.connection, steps, self.path)  # before the first pragma that changes the file
        for pragma in (
            "journal_mode = WAL",
            f"synchronous = {'FULL' if durable else 'NORMAL'}",
            "foreign_keys = ON",
            "temp_store = MEMORY",
            "wal_autocheckpoint = 4000",  # pages: a sweep rewrites the same ones again and again, so copy them seldom
            "journal_size_limit = 67108864",  # bytes
            "cache_size = -2000",  # KiB: the system keeps the rest, and an idle watch stays small
        ):
            self.connection.execute(f"PRAGMA {pragma}")
        migrations.apply(self.connection, steps, self.path)

    def run(self, work: Callable[[], Result]) -> Result:
        """Do something that may meet another process's lock; `work` is repeated whole, so it must be repeatable."""
        with self._translated():
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
        """Do something, and return what came of it instead of raising."""
        try:
            return CallResult(self.run(work))
        except Exception as error:  # noqa: BLE001 - whoever asked for it will be told
            return CallResult(error=error)

    def write_together(self, works: Sequence[Callable[[], Result]]) -> list[CallResult]:
        """Do several things in one transaction, in their order; one that fails leaves no trace and the others stand.

        When this returns everything that has not failed is kept for good. Nearly always nothing fails, so it is tried
        without savepoints first. Where the transaction as a whole fails (a full disk, say) each is tried by itself, so
        nobody bears what is another's.
        """
        for one in (_trusting, self._apart) if len(works) > 1 else ():
            try:
                return self.run(partial(self._together, "BEGIN IMMEDIATE", works, one))
            except _GivenUp:
                self.when_undone()
            except StoreError as error:  # it could not even begin
                return [CallResult(error=error) for _ in works]
        return [self.attempt(partial(self._alone, work)) for work in works]

    def read_together(self, works: Sequence[Callable[[], Result]]) -> list[CallResult]:
        """Look at several things as they were at one moment."""
        if len(works) > 1:
            try:
                return self.run(partial(self._together, "BEGIN", works, self._seen))
            except (_GivenUp, StoreError):
                pass
        return [self.attempt(work) for work in works]

    def _together(
        self, begin: str, works: Iterable[Callable[[], Result]], one: Callable[[Callable[[], Result]], CallResult]
    ) -> list[CallResult]:
        self.connection.execute(begin)
        try:
            out = [one(work) for work in works]
            self.connection.execute("COMMIT")
        except BaseException as error:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise _GivenUp from error
        return out

    def _apart(self, work: Callable[[], Result]) -> CallResult:
        """Do one thing of a transaction; if it fails, only that is undone."""
        self.connection.execute("SAVEPOINT one")
        out = self._seen(work)
        if out.error is not None:
            self.connection.execute("ROLLBACK TO one")
            self.when_undone()
        self.connection.execute("RELEASE one")
        return out

    def _seen(self, work: Callable[[], Result]) -> CallResult:
        try:
            with self._translated():
                return CallResult(work())
        except Exception as error:
            if isinstance(error.__cause__, sqlite3.OperationalError):  # of the file, not of this piece of work
                raise
            return CallResult(error=error)

    def _alone(self, work: Callable[[], Result]) -> Result:
        """Hold the write lock for one thing: all of it is kept, or nothing."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            out = work()
            self.connection.execute("COMMIT")
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            self.when_undone()
            raise
        return out

    def close(self) -> None:
        """Let go of the file."""
        with self._translated():
            self.connection.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn foreign errors into ours, with what to do about them."""
        try:
            yield
        except OSError as error:
            raise StoreError(f"cannot use the store {self.path}: {error.strerror or error}") from error
        except UnicodeDecodeError as error:  # a text, or a name in the schema, that is none
            hint = _HINTS[sqlite3.SQLITE_CORRUPT]
            raise StoreError(f"cannot use the store {self.path}: {hint}") from error
        except sqlite3.Error as error:
            hint = _HINTS.get(_code(error), str(error))
            raise StoreError(f"cannot use the store {self.path}: {hint}") from error


def _trusting(work: Callable[[], Result]) -> CallResult:
    return CallResult(work())


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _require_sqlite() -> None:
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old; Python must be built with 3.24 or newer")


def _create(path: Path) -> None:
    """Make the file, for its owner only; SQLite gives the files beside it the same permissions."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _inspect(path: Path, steps: Sequence[migrations.Migration]) -> None:
    """Look at the file before SQLite does, because opening a database can already change it."""
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if not header:
        return
    if not header.startswith(_MAGIC):
        raise StoreError(f"{path} is not a Holdfast store and no database at all; use another file with --store")
    version, application = (int.from_bytes(header[start : start + 4]) for start in (60, 68))
    if application == migrations.APPLICATION_ID:
        migrations.require_known(path, version, len(steps))
