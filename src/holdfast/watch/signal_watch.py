"""All watches of a session: one task for each connection and kind that can be watched."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import field
from typing import Final

from holdfast.model.record import dataclass
from holdfast.reconcile.clock import Clock
from holdfast.reconcile.connections import Connections
from holdfast.watch.kind_watch import KindWatch, WatchStore

LOOK_FOR_KINDS_SECONDS: Final = 5.0  # a first pass may still add resources of other kinds


@dataclass(slots=True)
class SignalWatch:
    """Starts watches as kinds appear in the store, and ends them together."""

    store: WatchStore
    connections: Connections
    clock: Clock
    random01: Callable[[], float]
    warn: Callable[[str], None] = lambda _text: None
    _watches: dict[tuple[str, str], asyncio.Task[None]] = field(default_factory=dict)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Watch inside of the block."""
        task = asyncio.create_task(self._supervise(), name="watch kinds")
        try:
            yield
        finally:
            tasks = [task, *self._watches.values()]
            for running in tasks:
                running.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._watches.clear()

    async def _supervise(self) -> None:
        while True:
            for connection, kind in await self.store.count_resources():
                if (connection, kind) not in self._watches and self._can_watch(connection, kind):
                    watch = KindWatch(
                        self.store, self.connections, self.clock, self.random01, self.warn, connection, kind
                    )
                    self._watches[connection, kind] = asyncio.create_task(
                        watch.run(), name=f"watch {connection}/{kind}"
                    )
            await self.clock.sleep(LOOK_FOR_KINDS_SECONDS)

    def _can_watch(self, connection: str, kind: str) -> bool:
        """Return True if the provider watches the kind; opens nothing."""
        named = self.connections.connections.get(connection)
        if named is None:
            return False
        described = self.connections.providers[named.provider].kinds.get(kind)
        return described is not None and described.watches
