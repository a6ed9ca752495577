"""Opening connections: readers for all, writers only for those who were given a WritableWorld.

The type is the permission. Checking is written against World, which has no writers and no way to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from holdfast.engine.clock import Clock
from holdfast.engine.gates import Gate, Limits
from holdfast.providers.base import Connection, Provider, Reader, Writer


class World:
    """Readers by connection, opened when first asked for and closed together."""

    def __init__(
        self,
        connections: Mapping[str, Connection],
        providers: Mapping[str, Provider],
        limits: Mapping[str, Limits],
        clock: Clock,
    ) -> None:
        self._connections = connections
        self._providers = providers
        self._limits = limits
        self._clock = clock
        self._stack = AsyncExitStack()
        self._readers: dict[str, Reader] = {}
        self._gates: dict[str, Gate] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def provider(self, connection: str) -> Provider:
        """Return the provider behind a connection."""
        return self._providers[self._connections[connection].provider]

    def gate(self, connection: str) -> Gate:
        """Return the one gate of a connection."""
        gate = self._gates.get(connection)
        if gate is None:
            gate = self._gates[connection] = Gate(self._limits.get(connection, Limits()), self._clock)
        return gate

    async def reader(self, connection: str) -> Reader:
        """Return the open reader of a connection."""
        found = self._readers.get(connection)
        if found is None:
            opened = self.provider(connection).reader(self._connections[connection])
            found = self._readers[connection] = await self._stack.enter_async_context(opened)
        return found


class WritableWorld(World):
    """A World that may be changed."""

    def __init__(
        self,
        connections: Mapping[str, Connection],
        providers: Mapping[str, Provider],
        limits: Mapping[str, Limits],
        clock: Clock,
    ) -> None:
        super().__init__(connections, providers, limits, clock)
        self._writers: dict[str, Writer] = {}

    async def writer(self, connection: str) -> Writer:
        """Return the open writer of a connection."""
        found = self._writers.get(connection)
        if found is None:
            opened = self.provider(connection).writer(self._connections[connection])
            found = self._writers[connection] = await self._stack.enter_async_context(opened)
        return found
