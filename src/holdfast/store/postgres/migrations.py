"""Numbered migrations: bring a schema to that of this release, one file at a time, each in one transaction.

The number of the last applied file is in the database, written in the same transaction, so a crash leaves the schema
before a file or after it. An advisory lock lets one process migrate at a time, and waits for running transactions.
Everything that may be wrong with the database is found before anything in it is changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import asyncpg

from holdfast.errors import StoreError
from holdfast.store.migration_files import Migration, read
from holdfast.store.postgres import server_errors

OLDEST_SERVER: Final = 140000  # server_version_num of PostgreSQL 14
_CREATION_LOCK: Final = int.from_bytes(b"Hold")  # while the store has no table to take the number of a lock from

_LOOK: Final = """
SELECT
  current_setting('server_version_num')::integer AS server,
  current_setting('server_encoding') AS encoding,
  pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS is_read_only,
  current_schema() AS schema,
  current_setting('search_path') AS search_path,
  coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_create,
  to_regclass('holdfast_store') AS mark,
  (SELECT string_agg(relname, ', ' ORDER BY relname) FROM (
    SELECT relname FROM pg_class
    WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
      AND relkind IN ('r', 'p', 'v', 'm', 'f')
      AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e')
    ORDER BY relname LIMIT 3
  ) AS first_three) AS tables,
  (SELECT string_agg(relname, ', ' ORDER BY relname) FROM pg_class
    WHERE to_regclass('holdfast_store') IS NOT NULL AND relkind = 'r'
      AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('holdfast_store'))
      AND NOT (
        has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
        AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE')
      )) AS refused
"""


@dataclass(frozen=True, slots=True)
class Inspection:
    """The state of a database, as seen without changing anything."""

    version: int  # of the schema; 0: there is none
    may_create: bool
    schema: str


@cache
def released() -> tuple[Migration, ...]:
    """Return the migrations of this release."""
    return read(Path(__file__).with_name("sql"))


async def apply(connection: asyncpg.Connection, steps: Sequence[Migration], where: str) -> int:
    """Apply the missing migrations and return the number of the store's locks.

    Raise StoreError or SchemaTooNew, before anything is changed, if the database cannot be used.
    """
    if (await inspect(connection, len(steps), where)).version < len(steps):
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", _CREATION_LOCK)
            found = await inspect(connection, len(steps), where)  # another process may have been first
            if found.version:
                await connection.execute("SELECT pg_advisory_xact_lock($1, 0)", await _lock_number(connection))
            if found.version < len(steps) and not found.may_create:
                raise StoreError(
                    f"cannot use the store {where}: the user may not create tables in the schema {found.schema}; "
                    f"{server_errors.PRIVILEGES} {found.schema}, or let the owner of the database open the store once"
                )
            for step in steps[found.version :]:
                await connection.execute(step.script)
                await connection.execute("UPDATE holdfast_store SET version = $1", step.number)
    return await _lock_number(connection)


async def inspect(connection: asyncpg.Connection, known: int, where: str) -> Inspection:
    """Return the state of a database; raise StoreError or SchemaTooNew if it cannot be used."""
    row = await connection.fetchrow(_LOOK)
    assert row is not None
    if row["server"] < OLDEST_SERVER:
        found = f"{row['server'] // 10000}"
        raise StoreError(f"cannot use the store {where}: the server is PostgreSQL {found}; Holdfast needs 14 or newer")
    if row["encoding"] != "UTF8":
        raise StoreError(
            f"cannot use the store {where}: the database has the encoding {row['encoding']}; create one with "
            "CREATE DATABASE holdfast ENCODING 'UTF8' TEMPLATE template0"
        )
    if row["is_read_only"]:
        raise StoreError(f"cannot use the store {where}: the server is a read-only replica; use the URL of the primary")
    if row["schema"] is None:
        raise StoreError(
            f"cannot use the store {where}: no schema of the search path ({row['search_path']}) exists, or the user "
            "may not use it; CREATE SCHEMA holdfast, grant USAGE on it, and add ?search_path=holdfast to the URL"
        )
    if row["mark"] is None:
        _require_empty(row["schema"], row["tables"], where)
        return Inspection(0, row["may_create"], row["schema"])
    if row["refused"]:
        raise StoreError(
            f"cannot use the store {where}: the user lacks privileges on {row['refused']}; "
            f"{server_errors.PRIVILEGES} {row['schema']}"
        )
    version = await _version(connection, where)
    if version > known:
        raise server_errors.too_new(where, version, known)
    return Inspection(version, row["may_create"], row["schema"])


def _require_empty(schema: str, tables: str | None, where: str) -> None:
    if tables:
        raise StoreError(
            f"cannot use the store {where}: the schema {schema} has tables of another program ({tables}); use a "
            "database of its own, or CREATE SCHEMA holdfast and add ?search_path=holdfast to the URL"
        )


async def _version(connection: asyncpg.Connection, where: str) -> int:
    try:
        version = await connection.fetchval("SELECT version FROM holdfast_store WHERE id = 1")
    except asyncpg.UndefinedColumnError:
        version = None
    if not isinstance(version, int):
        raise StoreError(
            f"cannot use the store {where}: its table holdfast_store is not that of a Holdfast store; use another "
            "database with --store, or restore this one from a backup"
        )
    return version


async def _lock_number(connection: asyncpg.Connection) -> int:
    """Return a number for the locks of this store: two stores of one database have different ones."""
    number: int = await connection.fetchval("SELECT ('holdfast_store'::regclass::oid::bigint % 2147483647)::integer")
    return number
