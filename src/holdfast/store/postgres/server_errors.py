"""Errors of a PostgreSQL server as store errors, with the cause and the remedy.

A message names the server and the database, and never the password.
"""

from __future__ import annotations

import asyncio
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

import asyncpg

from holdfast.errors import SchemaTooNew, StoreError

POOLER: Final = (
    "a pooler in transaction mode stands between Holdfast and PostgreSQL, and it gives every transaction another "
    "session; connect to PostgreSQL directly, or use a pool in session mode"
)
_NO_CONNECTION: Final = (
    "the server has no free connection; Holdfast needs two to four for each process: end other sessions, or raise "
    "max_connections or the limit of the user"
)
_WRONG_URL: Final = "the URL is wrong; use postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with %40 for @ and %2F for /"
PRIVILEGES: Final = "GRANT USAGE, CREATE ON SCHEMA, and SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA"

# Raised where the connection was lost: the transaction was rolled back, unless its COMMIT had been sent.
LOST: Final = (
    asyncpg.ConnectionDoesNotExistError,
    asyncpg.ConnectionFailureError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.InterfaceError,
    OSError,
)
# Raised where another transaction is in the way: the transaction was rolled back and may be repeated.
REPEATABLE: Final = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError)

_HINTS: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (
        asyncpg.InvalidPasswordError,
        "the user or the password is wrong; check the URL, or PGPASSWORD and ~/.pgpass where the URL has no password",
    ),
    (
        asyncpg.InvalidAuthorizationSpecificationError,
        "the server does not let this user in ({error}); check the user in the URL and the server's pg_hba.conf",
    ),
    (
        asyncpg.InvalidCatalogNameError,
        "the database does not exist; create it, or check the name at the end of the URL",
    ),
    (asyncpg.TooManyConnectionsError, _NO_CONNECTION),
    (asyncpg.InsufficientPrivilegeError, "the user may not do this ({error}); " + PRIVILEGES),
    (asyncpg.ReadOnlySQLTransactionError, "the database is read-only; use the URL of the primary server"),
    (asyncpg.DiskFullError, "the disk of the server is full; nothing of the last change was kept"),
    (asyncpg.OutOfMemoryError, "the server is out of memory; nothing of the last change was kept"),
    (asyncpg.LockNotAvailableError, "another process holds a lock for too long; stop it or try later"),
    (asyncpg.QueryCanceledError, "the server cancelled the statement ({error}); raise its statement_timeout"),
    (asyncpg.InvalidSQLStatementNameError, POOLER),
    (asyncpg.DuplicatePreparedStatementError, POOLER),
    (
        asyncpg.UndefinedTableError,
        "a table is missing ({error}): another release changed the schema, or a person dropped it; start again",
    ),
    (
        asyncpg.UndefinedColumnError,
        "a column is missing ({error}): another release changed the schema; use one release for all processes",
    ),
    (asyncpg.ProgramLimitExceededError, "a name or path is too long for an index of PostgreSQL ({error})"),
    (asyncpg.ClientConfigurationError, _WRONG_URL),  # without the error, which may show a part of the password
    (TimeoutError, "the server did not answer in time; check host and port, and that a firewall lets you through"),
    (ConnectionRefusedError, "nothing answers there; check host and port, and that PostgreSQL is running"),
    (UnicodeError, "the name of the host is wrong; check the URL"),
    (ValueError, _WRONG_URL),
)


def describe(url: str) -> str:
    """Return a URL without its password and options."""
    try:
        parts = urlsplit(url)
        # A password with a slash that is not escaped ends up in the place of the port, or in the path.
        if parts.port == 0 or "@" in parts.path:
            return "postgresql://..."
        return f"postgresql://{_user_of(parts)}{_place_of(parts)}{unquote(parts.path)}"
    except ValueError:
        return "postgresql://..."


def _user_of(parts: SplitResult) -> str:
    return f"{unquote(parts.username)}@" if parts.username else ""


def _place_of(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]


def translate(error: BaseException, where: str) -> StoreError:
    """Return the StoreError for an error of the driver or the network."""
    if isinstance(error, StoreError):
        return error
    hint = next((hint for kind, hint in _HINTS if isinstance(error, kind)), None)
    if hint is None and isinstance(error, OSError):
        hint = "the server cannot be reached ({error}); check host and port in the URL"
    if hint is None and isinstance(error, LOST):
        hint = "the connection was lost ({error}); try again when the server is back"
    if isinstance(
        error, asyncpg.DataError
    ):  # a ValueError, too; the driver's message has the value, which may be a secret
        hint = "a value cannot be stored, because it is too large or of another type"
    # Without DETAIL, which may show a row.
    told = error.args[0] if error.args and not isinstance(error, OSError) else error
    text = " ".join(str(told).split()) or type(error).__name__
    return StoreError(f"cannot use the store {where}: {(hint or '{error}').replace('{error}', text)}")


def too_new(where: str, version: int, known: int) -> SchemaTooNew:
    """Return the error for a schema that this release does not know."""
    return SchemaTooNew(
        f"the store {where} has schema {version}, this Holdfast knows up to {known}: a newer Holdfast wrote it. "
        "Upgrade Holdfast, or use another database with --store; nothing was changed"
    )


def is_of_server(error: BaseException) -> bool:
    """Return True if the server cannot be used, so that every other transaction would fail too."""
    return isinstance(error, SchemaTooNew) or isinstance(error.__cause__, LOST)


def is_of_driver(error: BaseException) -> bool:
    """Return True for an error of PostgreSQL, its driver or the network."""
    return isinstance(error, asyncpg.PostgresError | asyncpg.InterfaceError | OSError | asyncio.TimeoutError)
