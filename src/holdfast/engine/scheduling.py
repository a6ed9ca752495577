"""Watching: take what is due from the store, check it, correct it, put it back with its next due time.

The schedule lives in the store, so idle resources cost no memory here and a restart forgets nothing. What became
overdue while nobody watched is spread out instead of being read all at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from holdfast.engine.applying import Applier, Report
from holdfast.engine.clock import Clock
from holdfast.engine.sweeping import Sweeper
from holdfast.model.address import Address
from holdfast.plan import due
from holdfast.store.base import Store, Transaction

BATCH = 500
LONGEST_WAIT_SECONDS = 60.0  # look at the store at least this often: another process may have asked for a check
SPREAD_SECONDS = 60.0  # a backlog is spread over this long
SWEEP_FROM = 20  # due resources of one kind from which a sweep is worth more than single reads
BACKLOG = 50  # overdue resources from which a backlog is spread


@dataclass(slots=True)
class Watcher:
    """The resync loop."""

    store: Store
    applier: Applier
    clock: Clock
    random01: Callable[[], float]
    sweeper: Sweeper
    report: Callable[[Report], None] = lambda _report: None
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    _settled: set[Address] = field(default_factory=set)  # declarations known to be the ones last applied

    async def run(self, *, rounds: int | None = None) -> None:
        """Watch until stopped, or for a number of rounds."""
        await self.spread_backlog()
        done = 0
        while not self.stop.is_set() and (rounds is None or done < rounds):
            worked = await self.round()
            done += 1
            if not worked and (rounds is None or done < rounds):
                await self._wait()

    async def round(self) -> bool:
        """Do what is due now; return whether there was anything."""
        states = await self.store.due(self.clock.now(), BATCH)
        known = self.applier.preparer.fleet.declarations
        addresses = [state.address for state in states if state.address in known]
        strangers = [state for state in states if state.address not in known]
        if strangers:  # declared nowhere any more: not ours to check, and not to be asked about again every round
            await self.store.commit(Transaction(states=[replace(state, due_at=None) for state in strangers]))
        if addresses:
            closer = await self._swept(addresses)
            if closer:
                self.report(await self.applier.apply(closer))
            self._settled.update(addresses)
        return bool(addresses)

    async def _swept(self, addresses: list[Address]) -> list[Address]:
        """Sweep kinds of which much is due; return what has to be looked at one by one."""
        closer: list[Address] = []
        groups: dict[tuple[str, str], list[Address]] = {}
        for address in addresses:
            groups.setdefault((address.connection, address.kind), []).append(address)
        for (connection, kind), group in groups.items():
            reader = await self.sweeper.world.reader(connection)
            if len(group) < SWEEP_FROM or not reader.kinds[kind].lists or not self._settled:
                closer += group
                continue
            swept = await self.sweeper.sweep(connection, kind, self._settled)
            moved = set(swept.closer)
            closer += group if swept.failure is not None else [address for address in group if address in moved]
        return closer

    async def spread_backlog(self) -> None:
        """After a restart, spread what is overdue over a while instead of reading it all in the first second."""
        now = self.clock.now()
        overdue = await self.store.due(now, 100_000)
        if len(overdue) < BACKLOG:
            return
        times = due.spread(len(overdue), now, SPREAD_SECONDS, self.random01())
        for start in range(0, len(overdue), BATCH):
            pairs = zip(overdue[start : start + BATCH], times[start : start + BATCH], strict=True)
            await self.store.commit(Transaction(states=[replace(state, due_at=when) for state, when in pairs]))

    async def _wait(self) -> None:
        """Sleep until something is due, or for a while; a stop ends the sleep."""
        upcoming = await self.store.next_due()
        now = self.clock.now()
        wait = LONGEST_WAIT_SECONDS if upcoming is None else min(max(upcoming - now, 0.05), LONGEST_WAIT_SECONDS)
        sleeping = asyncio.ensure_future(self.clock.sleep(wait))
        stopping = asyncio.ensure_future(self.stop.wait())
        _, pending = await asyncio.wait({sleeping, stopping}, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)


async def request(store: Store, addresses: list[Address], token: str, now: float) -> int:
    """Ask for a check now; the token comes back as `handled` once it was done."""
    states = await store.states(addresses)
    if states:
        await store.commit(Transaction(states=[replace(s, requested=token, due_at=now) for s in states.values()]))
    return len(states)
