"""A provider that records its calls, and a store; both can crash at a given boundary.

The recorder passes every call on. Faults are not injected here, because at this seam they would test the engine and not
the provider.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from holdfast.model.json import Json
from holdfast.model.read_result import ReadResult
from holdfast.model.write_result import WriteResult
from holdfast.providers.protocol import (
    Change,
    Connection,
    Hint,
    Kind,
    Listed,
    Provider,
    Reader,
    Target,
    Unchanged,
    Writer,
)
from holdfast.store.protocol import Store
from holdfast.store.transaction import Transaction


class Killed(BaseException):
    """The process crashed here. Not an Exception, so that no error handler catches it."""


@dataclass(slots=True)
class Lifetime:
    """Counts the boundaries that a process crosses, and ends it at a given one."""

    ends_at: int | None = None
    crossed: int = 0
    is_over: bool = False

    def cross(self) -> None:
        """Cross one boundary; raise Killed at the last."""
        self.go_on()
        if self.crossed == self.ends_at:
            self.is_over = True
            raise Killed
        self.crossed += 1

    def go_on(self) -> None:
        """Raise Killed after the crash, so that not even a `finally` does anything."""
        if self.is_over:
            raise Killed


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call of a provider."""

    verb: str
    kind: str
    name: str = ""
    paths: tuple[str, ...] = ()


_READS = frozenset({"read", "list", "find"})


@dataclass(slots=True)
class CallRecorder:
    """A provider and its recorded calls."""

    provider: Provider
    life: Lifetime = field(default_factory=Lifetime)
    calls: list[RecordedCall] = field(default_factory=list)
    hides_lists: bool = False  # lists come back empty, as from an API that lost its index

    @property
    def name(self) -> str:
        """The name of the provider."""
        return self.provider.name

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """The kinds of the provider."""
        return self.provider.kinds

    @property
    def writes(self) -> list[RecordedCall]:
        """The calls that may have written."""
        return [call for call in self.calls if call.verb not in _READS and call.verb != "poll"]

    @asynccontextmanager
    async def reader(self, connection: Connection) -> AsyncIterator[Reader]:
        """Open the reading half."""
        async with self.provider.reader(connection) as reader:
            yield _Reader(reader, self)

    @asynccontextmanager
    async def writer(self, connection: Connection) -> AsyncIterator[Writer]:
        """Open the writing half."""
        async with self.provider.writer(connection) as writer:
            yield _Writer(writer, self)


class _Reader:
    def __init__(self, reader: Reader, ledger: CallRecorder) -> None:
        self._reader = reader
        self._ledger = ledger
        self.kinds = reader.kinds

    async def read(self, target: Target, hint: Hint | None = None) -> ReadResult | Unchanged:
        self._ledger.calls.append(RecordedCall("read", target.kind, target.name))
        return await self._reader.read(target, hint)

    async def list(self, kind: str) -> AsyncIterator[Listed]:
        self._ledger.calls.append(RecordedCall("list", kind))
        if not self._ledger.hides_lists:
            async for item in self._reader.list(kind):
                yield item

    def parse(self, kind: str, raw: bytes) -> Json:
        return self._reader.parse(kind, raw)

    async def find(self, kind: str, criteria: Mapping[str, Json]) -> Sequence[str]:
        self._ledger.calls.append(RecordedCall("find", kind))
        return await self._reader.find(kind, criteria)


class _Writer:
    def __init__(self, writer: Writer, ledger: CallRecorder) -> None:
        self._writer = writer
        self._ledger = ledger

    async def create(self, target: Target, key: str) -> WriteResult:
        return await self._crossed(
            RecordedCall("create", target.kind, target.name), lambda: self._writer.create(target, key)
        )

    async def update(self, target: Target, change: Change, key: str) -> WriteResult:
        call = RecordedCall("update", target.kind, target.name, change.paths)
        return await self._crossed(call, lambda: self._writer.update(target, change, key))

    async def delete(self, target: Target, key: str, etag: str | None = None) -> WriteResult:
        call = RecordedCall("delete", target.kind, target.name)
        return await self._crossed(call, lambda: self._writer.delete(target, key, etag))

    async def poll(self, target: Target, token: Mapping[str, Json]) -> WriteResult:
        return await self._crossed(
            RecordedCall("poll", target.kind, target.name), lambda: self._writer.poll(target, token)
        )

    async def _crossed(self, call: RecordedCall, send: Callable[[], Awaitable[WriteResult]]) -> WriteResult:
        """Send a call between two boundaries: a crash before it, or after it and before the answer is recorded."""
        self._ledger.life.cross()
        self._ledger.calls.append(call)
        answer = await send()
        self._ledger.life.cross()
        return answer


class CrashingStore:
    """A store whose process may crash before or after each commit."""

    def __init__(self, store: Store, life: Lifetime) -> None:
        self._store = store
        self._life = life

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - all methods of a store
        self._life.go_on()
        return getattr(self._store, name)

    async def commit(self, transaction: Transaction) -> None:
        """Commit between two boundaries."""
        self._life.cross()
        await self._store.commit(transaction)
        self._life.cross()
