"""Numbered migrations: bring a database to the schema of this release, one file at a time, each in one transaction.

The number of the last applied file is in the database (`PRAGMA user_version`), written in the same transaction, so a
crash leaves the schema before a file or after it. Two processes may open a new store at once: the second one waits
for the first.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from holdfast.errors import SchemaTooNew, StoreError
from holdfast.store.migration_files import Migration, read

APPLICATION_ID: Final = int.from_bytes(b"Hold")  # distinguishes a store from other databases


@cache
def released() -> tuple[Migration, ...]:
    """Return the migrations of this release."""
    return read(Path(__file__).with_name("sql"))


def apply(connection: sqlite3.Connection, migrations: Sequence[Migration], path: Path) -> None:
    """Apply the missing migrations. The errors of `pending` are raised before anything is changed."""
    while (step := pending(connection, migrations, path)) is not None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another process may have applied it while we waited for the lock.
            if pending(connection, migrations, path) == step:
                _run(connection, step)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def pending(connection: sqlite3.Connection, migrations: Sequence[Migration], path: Path) -> Migration | None:
    """Return the next migration to apply; raise SchemaTooNew, or StoreError if the database is not ours."""
    version, application, tables = _look(connection)
    require_ours(path, application, is_empty=tables == 0)
    require_known(path, version, len(migrations))
    return migrations[version] if version < len(migrations) else None


def require_current(connection: sqlite3.Connection, path: Path) -> None:
    """Raise StoreError for a database that does not have the schema of this release."""
    if pending(connection, released(), path) is not None:
        raise StoreError(f"the store {path} has the schema of an older release")


def _look(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """Return schema, owner and number of tables from one snapshot, because another process may be creating them."""
    is_ours = not connection.in_transaction
    if is_ours:
        connection.execute("BEGIN")
    try:
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        application = connection.execute("PRAGMA application_id").fetchone()[0]
    finally:
        if is_ours:
            connection.execute("ROLLBACK")
    return version, application, tables


def require_ours(path: Path, application: int, *, is_empty: bool) -> None:
    """Raise StoreError for a database of another program."""
    if application != APPLICATION_ID and not (application == 0 and is_empty):
        raise StoreError(
            f"{path} is a database of another program, not a Holdfast store; use another file with --store"
        )


def require_known(path: Path, version: int, known: int) -> None:
    """Raise SchemaTooNew for a schema that this release does not know."""
    if version > known:
        raise SchemaTooNew(
            f"the store {path} has schema {version}, this Holdfast knows up to {known}: a newer Holdfast wrote it. "
            "Upgrade Holdfast, or use another file with --store; nothing was changed"
        )


def statements(script: str) -> Iterator[str]:
    """Split a script into statements, because `executescript` would commit the running transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if line.rstrip().endswith(";") and sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if any(line.strip() and not line.lstrip().startswith("--") for line in statement.splitlines()):
        raise ValueError(f"a migration ends in the middle of a statement: {statement.strip()[:80]!r}")


def _run(connection: sqlite3.Connection, step: Migration) -> None:
    for statement in statements(step.script):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {step.number}")
