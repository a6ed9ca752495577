"""A provider with its calls written down, and a store with its commits; both can die where they are told to.

The engine does not notice: what stands between it and the provider passes everything on. Faults are not made here;
made at this seam they would try the engine, and not the provider.
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
    """The process died here. No Exception, so that nothing which handles errors can come between."""


@dataclass(slots=True)
class Life:
    """Counts the boundaries that a process crosses, and ends it at the one it is told; the dead do nothing more."""

    ends_at: int | None = None
    crossed: int = 0
    is_over: bool = False

    def cross(self) -> None:
        """Cross one boundary, unless it is the last."""
        self.go_on()
        if self.crossed == self.ends_at:
            self.is_over = True
            raise Killed
        self.crossed += 1

    def go_on(self) -> None:
        """Do nothing, unless dead: then not even what stands in a `finally`."""
        if self.is_over:
            raise Killed


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a provider."""

    verb: str
    kind: str
    name: str = ""
    paths: tuple[str, ...] = ()


_READS = frozenset({"read", "list", "find"})


@dataclass(slots=True)
class Ledger:
    """A provider, and what was asked of it."""

    provider: Provider
    life: Life = field(default_factory=Life)
    calls: list[Call] = field(default_factory=list)
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
    def writes(self) -> list[Call]:
        """The calls that may have changed something."""
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
    def __init__(self, reader: Reader, ledger: Ledger) -> None:
        self._reader = reader
        self._ledger = ledger
        self.kinds = reader.kinds

    async def read(self, target: Target, hint: Hint | None = None) -> ReadResult | Unchanged:
        self._ledger.calls.append(Call("read", target.kind, target.name))
        return await self._reader.read(target, hint)

    async def list(self, kind: str) -> AsyncIterator[Listed]:
        self._ledger.calls.append(Call("list", kind))
        if not self._ledger.hides_lists:
            async for item in self._reader.list(kind):
                yield item

    def parse(self, kind: str, raw: bytes) -> Json:
        return self._reader.parse(kind, raw)

    async def find(self, kind: str, criteria: Mapping[str, Json]) -> Sequence[str]:
        self._ledger.calls.append(Call("find", kind))
        return await self._reader.find(kind, criteria)


class _Writer:
    def __init__(self, writer: Writer, ledger: Ledger) -> None:
        self._writer = writer
        self._ledger = ledger

    async def create(self, target: Target, key: str) -> WriteResult:
        return await self._crossed(Call("create", target.kind, target.name), lambda: self._writer.create(target, key))

    async def update(self, target: Target, change: Change, key: str) -> WriteResult:
        call = Call("update", target.kind, target.name, change.paths)
        return await self._crossed(call, lambda: self._writer.update(target, change, key))

    async def delete(self, target: Target, key: str, etag: str | None = None) -> WriteResult:
        call = Call("delete", target.kind, target.name)
        return await self._crossed(call, lambda: self._writer.delete(target, key, etag))

    async def poll(self, target: Target, token: Mapping[str, Json]) -> WriteResult:
        return await self._crossed(Call("poll", target.kind, target.name), lambda: self._writer.poll(target, token))

    async def _crossed(self, call: Call, send: Callable[[], Awaitable[WriteResult]]) -> WriteResult:
        """Send a call between two boundaries: before it nothing has happened, after it nobody has heard the answer."""
        self._ledger.life.cross()
        self._ledger.calls.append(call)
        answer = await send()
        self._ledger.life.cross()
        return answer


class MortalStore:
    """A store whose process may die before or after each commit."""

    def __init__(self, store: Store, life: Life) -> None:
        self._store = store
        self._life = life

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a store offers
        self._life.go_on()
        return getattr(self._store, name)

    async def commit(self, transaction: Transaction) -> None:
        """Commit between two boundaries."""
        self._life.cross()
        await self._store.commit(transaction)
        self._life.cross()
