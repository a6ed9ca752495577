"""The connections of one process to PostgreSQL: one that writes, and a few that read.

Knows sessions, transactions that are repeated, and lost connections, and nothing of what is stored.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Self, TypeVar

import asyncpg

from holdfast.errors import StoreError
from holdfast.store.migration_files import Migration
from holdfast.store.postgres import migrations, server_errors, texts
from holdfast.store.postgres.statements import SQL

Result = TypeVar("Result")

READERS: Final = 3  # connections at most
ATTEMPTS: Final = 6  # of a transaction that meets a deadlock or a lost connection
CONNECT_SECONDS: Final = 15.0
_LOCK_SECONDS: Final = 60  # how long a statement waits for another process
# A process that was stopped in the middle of a transaction must not hold its locks for ever.
_SETTINGS: Final = {"lock_timeout": f"{_LOCK_SECONDS}s", "idle_in_transaction_session_timeout": f"{_LOCK_SECONDS}s"}
# A call that returned is durable, also on a server that acknowledges other commits before they are written.
_DURABLE: Final = (
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
)


class Database:
    """Connections to one store, opened and checked by `open`; used by one event loop."""

    def __init__(self, url: str, steps: Sequence[Migration]) -> None:
        self.where = server_errors.describe(url)
        self._url = url
        self._known = len(steps)
        self._steps = steps
        self._writer: asyncpg.Connection | None = None
        self._readers: asyncpg.Pool | None = None
        self._lock_number = 0
        self.on_reconnect: Callable[[], None] = lambda: None  # the server may have been restored from a backup

    @classmethod
    async def open(cls, url: str, steps: Sequence[Migration]) -> Self:
        """Connect, check the database, and create or migrate its tables."""
        database = cls(url, steps)
        try:
            await database._prepare()
        except BaseException as error:
            await database.close()
            if isinstance(error, Exception) and (server_errors.is_of_driver(error) or isinstance(error, ValueError)):
                raise server_errors.translate(error, database.where) from error
            raise
        return database

    async def _prepare(self) -> None:
        async with asyncio.timeout(CONNECT_SECONDS):  # a host that accepts a connection may still never answer
            self._writer = await connect(self._url)
            self._readers = await asyncpg.create_pool(
                self._url, min_size=1, max_size=READERS, init=_set_up, reset=_keep, timeout=CONNECT_SECONDS
            )
            async with self._readers.acquire() as reader:
                await self._require_sessions(self._writer, reader)
        self._lock_number = await migrations.apply(self._writer, self._steps, self.where)

    async def _require_sessions(self, *connections: asyncpg.Connection) -> None:
        """Raise StoreError if two connections share one session of the server."""
        sessions = [await connection.fetchval("SELECT pg_backend_pid()") for connection in connections]
        if len(set(sessions)) < len(sessions):
            raise StoreError(f"cannot use the store {self.where}: {server_errors.POOLER}")

    async def close(self) -> None:
        """End all connections."""
        readers, writer = self._readers, self._writer
        self._readers = self._writer = None
        with contextlib.suppress(*server_errors.LOST):  # the server ends the sessions then
            async with asyncio.timeout(CONNECT_SECONDS):
                if readers is not None:
                    await readers.close()
                if writer is not None:
                    await writer.close()

    async def read(self, work: Callable[[asyncpg.Connection], Awaitable[Result]]) -> Result:
        """Run a reading function on a free connection; after a lost connection it is repeated on another."""

        async def attempt() -> Result:
            if self._readers is None:
                raise StoreError(f"the store {self.where} is closed")
            async with self._readers.acquire() as connection:
                return await work(connection)

        return await self._repeat(attempt, server_errors.LOST)

    async def write(
        self,
        prepare: Callable[[asyncpg.Connection], Awaitable[None]],
        work: Callable[[asyncpg.Connection], Awaitable[Result]],
    ) -> Result:
        """Run `prepare` outside of a transaction, then `work` in one that excludes migrations, and commit it.

        Both are repeated after a deadlock, and after a connection that was lost before COMMIT was sent. If it is lost
        later, the outcome is unknown, and StoreError says so.
        """

        async def attempt() -> Result:
            connection = await self._writing()
            await prepare(connection)
            await connection.execute("BEGIN")
            try:
                await self._lock_store(connection)
                result = await work(connection)
            except BaseException:
                if not connection.is_closed():
                    await connection.execute("ROLLBACK")
                raise
            await self._commit(connection)
            return result

        return await self._repeat(attempt, server_errors.LOST + server_errors.REPEATABLE)

    async def _lock_store(self, connection: asyncpg.Connection) -> None:
        """Exclude migrations; raise SchemaTooNew if a newer release has migrated the store since it was opened."""
        await connection.execute(SQL["lock_store"], self._lock_number)
        version = await connection.fetchval(SQL["version"])
        if version != self._known:
            raise server_errors.too_new(self.where, version or 0, self._known)

    async def lock(self, connection: asyncpg.Connection, keys: Sequence[int], ids: Sequence[int]) -> None:
        """Lock keys and resources until the end of the transaction, in one order for all processes."""
        if keys:
            await connection.execute(SQL["lock_keys"], self._lock_number, sorted(keys))
        if ids:
            await connection.execute(SQL["lock_names"], sorted(ids))

    async def _commit(self, connection: asyncpg.Connection) -> None:
        try:
            await connection.execute("COMMIT")
        except server_errors.LOST as error:
            raise StoreError(
                f"the connection to the store {self.where} was lost during a commit; the change may be stored or not"
            ) from error

    async def _writing(self) -> asyncpg.Connection:
        if self._readers is None:
            raise StoreError(f"the store {self.where} is closed")
        if self._writer is None or self._writer.is_closed():
            self._writer = await connect(self._url)
            self.on_reconnect()
        return self._writer

    async def _repeat(
        self, attempt: Callable[[], Awaitable[Result]], repeatable: tuple[type[BaseException], ...]
    ) -> Result:
        for number in range(1, ATTEMPTS):
            try:
                return await self._translated(attempt)
            except StoreError as error:
                if not isinstance(error.__cause__, repeatable) or _is_final(error.__cause__):
                    raise
            await asyncio.sleep(0.02 * 3**number)  # 7 seconds in all: a server that restarts is back
        return await self._translated(attempt)

    async def _translated(self, attempt: Callable[[], Awaitable[Result]]) -> Result:
        try:
            return await attempt()
        except Exception as error:
            if isinstance(error.__cause__, UnicodeEncodeError):  # a text that cannot be stored as it is
                raise error.__cause__ from None
            if server_errors.is_of_driver(error):
                raise server_errors.translate(error, self.where) from error
            raise


async def connect(url: str) -> asyncpg.Connection:
    """Open a connection of its own."""
    connection = await asyncpg.connect(url, timeout=CONNECT_SECONDS)
    await _set_up(connection)
    return connection


def _is_final(error: BaseException) -> bool:
    """Return True for a mistake in a call of the driver, which shares a class with lost connections."""
    return isinstance(error, asyncpg.DataError | asyncpg.ClientConfigurationError)


async def _set_up(connection: asyncpg.Connection) -> None:
    await connection.set_type_codec(
        "text", schema="pg_catalog", encoder=texts.encode, decoder=texts.decode, format="binary"
    )
    for name, value in _SETTINGS.items():
        await connection.execute("SELECT set_config($1::text, $2::text, false)", name, value)
    await connection.execute(_DURABLE)


async def _keep(connection: asyncpg.Connection) -> None:
    """Keep the settings of a connection that returns to the pool; a reader leaves nothing behind."""
    del connection
