"""Sweeping: one list call for a whole kind, and only what moved is looked at any closer.

For every item whose raw bytes have the digest of the last check, and whose last verdict was in sync, nothing is parsed,
compared or written but the time of the check. Everything else (moved, not in the list, not in sync before) is returned
for a full check; an item that is not in the list is never called missing on the list's word alone.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, field

from holdfast.engine.clock import Clock
from holdfast.engine.gates import Budget
from holdfast.engine.opening import World
from holdfast.model.address import Address
from holdfast.model.reading import Reading
from holdfast.model.verdict import Status
from holdfast.plan import due
from holdfast.providers.base import ReadFailed
from holdfast.store.base import Mark, Store, Touch, Transaction

BATCH = 1000


@dataclass(slots=True)
class Swept:
    """What a sweep of one kind brought."""

    unchanged: int = 0
    closer: list[Address] = field(default_factory=list)  # to be checked one by one
    failure: Reading | None = None  # the list could not be read; nothing is concluded about anything


@dataclass(slots=True)
class Sweeper:
    """Sweeps kinds whose provider can list."""

    store: Store
    world: World
    clock: Clock
    random01: Callable[[], float]
    jitter: float = 0.1

    async def sweep(self, connection: str, kind: str, settled: Container[Address]) -> Swept:
        """Sweep one kind; `settled` are the addresses whose declaration is known to be the one last applied."""
        out = Swept()
        marks: dict[str, Mark] = {}
        async for mark in self.store.marks(connection, kind):
            if mark.provider_id is None or mark.raw_digest is None or mark.status is not Status.IN_SYNC:
                out.closer.append(mark.address)
            elif mark.address in settled:
                marks[mark.provider_id] = mark
            else:
                out.closer.append(mark.address)
        try:
            await self._compare(connection, kind, marks, out)
        except ReadFailed as error:
            out.failure = error.reading
            return out
        out.closer += [mark.address for mark in marks.values()]
        return out

    async def _compare(self, connection: str, kind: str, marks: dict[str, Mark], out: Swept) -> None:
        """Take what has not moved out of `marks`, recording it batch by batch as the pages come in."""
        reader = await self.world.reader(connection)
        touched: list[Touch] = []
        now = self.clock.now()
        async with self.world.gate(connection).turn(Budget.READ):
            async for item in reader.list(kind):
                mark = marks.get(item.id)
                if mark is None or mark.raw_digest != item.raw_digest:
                    continue
                del marks[item.id]
                period = mark.resync_seconds
                next_due = due.next_due(now, period, self.jitter, self.random01()) if period > 0 else None
                touched.append(Touch(mark.address, now, next_due))
                if len(touched) >= BATCH:
                    await self.store.commit(Transaction(touched=touched))
                    out.unchanged += len(touched)
                    touched = []
        if touched:
            await self.store.commit(Transaction(touched=touched))
            out.unchanged += len(touched)
