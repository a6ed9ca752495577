"""Open connections: readers for all callers, writers only for callers with WritableConnections.

The type is the permission. Checks depend on Connections, which has no writers and no way to open one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import field
from types import TracebackType
from typing import Self

from holdfast.model.record import dataclass
from holdfast.providers.protocol import Connection, Provider, Reader, SupportsQuota, Writer
from holdfast.reconcile.clock import Clock
from holdfast.reconcile.known_secrets import KnownSecrets
from holdfast.reconcile.rate_limit import RateLimiter, RateLimits


@dataclass(slots=True)
class Connections:
    """Readers by connection, opened at their first use and closed together."""

    connections: Mapping[str, Connection]
    providers: Mapping[str, Provider]
    limits: Mapping[str, RateLimits]
    clock: Clock
    known: KnownSecrets = field(default_factory=KnownSecrets)  # secrets to hide in every read result
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _opening: dict[str, asyncio.Lock] = field(default_factory=dict)  # concurrent callers must not open two sessions
    _readers: dict[str, Reader] = field(default_factory=dict)
    _gates: dict[str, RateLimiter] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Add the secrets of the connections to the known secrets, because a service may repeat them."""
        for connection in self.connections.values():
            if connection.secrets:
                self.known.add(*connection.secrets.values())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def gate(self, connection: str) -> RateLimiter:
        """Return the single rate limiter of a connection."""
        gate = self._gates.get(connection)
        if gate is None:
            gate = self._gates[connection] = RateLimiter(self.limits.get(connection, RateLimits()), self.clock)
        return gate

    async def reader(self, connection: str) -> Reader:
        """Return the single open reader of a connection."""
        if connection not in self._readers:
            async with self._opening.setdefault(connection, asyncio.Lock()):
                if connection not in self._readers:
                    named = self.connections[connection]
                    opened = self.providers[named.provider].reader(named)
                    reader = self._readers[connection] = await self._stack.enter_async_context(opened)
                    self.gate(connection).quota = reader if isinstance(reader, SupportsQuota) else None
        return self._readers[connection]


@dataclass(slots=True)
class WritableConnections(Connections):
    """Connections with writers."""

    _writers: dict[str, Writer] = field(default_factory=dict)

    async def writer(self, connection: str) -> Writer:
        """Return the single open writer of a connection."""
        if connection not in self._writers:
            async with self._opening.setdefault(connection, asyncio.Lock()):
                if connection not in self._writers:
                    named = self.connections[connection]
                    opened = self.providers[named.provider].writer(named)
                    self._writers[connection] = await self._stack.enter_async_context(opened)
        return self._writers[connection]
