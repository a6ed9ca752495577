"""Watching: take what is due from the store, check it, correct it, put it back with its next due time.

The schedule lives in the store, so idle resources cost no memory here and a restart forgets nothing. Declarations are
fetched again for what must be looked at closely, and let go afterwards. What became overdue while nobody watched is
spread out instead of being read all at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from holdfast.engine.applying import Report
from holdfast.engine.clock import Clock
from holdfast.engine.outcomes import Acted, Result
from holdfast.engine.sweeping import Sweeper
from holdfast.errors import InputError
from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.plan import due
from holdfast.store.base import Request, Store, Transaction

BATCH = 500
LONGEST_WAIT_SECONDS = 60.0  # look at the store at least this often: another process may have asked for a check
SPREAD_SECONDS = 60.0  # a backlog is spread over this long
SWEEP_FROM = 20  # due resources of one kind from which a sweep is worth more than single reads
BACKLOG = 50  # overdue resources from which a backlog is spread
WAITING_SECONDS = 30.0  # after which something that could not be looked at is tried again

Correct = Callable[[Sequence[Address]], Awaitable[Report]]  # looks at some of the fleet, and acts; see Applier.apply


class Besides(Protocol):
    """Something else that comes due while resources are watched, such as assessments."""

    async def run(self) -> bool:
        """Do what is due now; return whether there was anything."""

    async def next_at(self) -> float | None:
        """Return when something is to be done next."""


@dataclass(slots=True)
class Watcher:
    """The resync loop."""

    store: Store
    correct: Correct
    clock: Clock
    random01: Callable[[], float]
    sweeper: Sweeper
    report: Callable[[Report], Awaitable[None]] | None = None
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    complain: Callable[[InputError], None] = lambda _error: None
    is_over: Callable[[], Awaitable[bool]] | None = None  # asked between rounds; the declarations may have changed
    wait_at_most: float = LONGEST_WAIT_SECONDS
    look: Correct | None = None  # the same without acting; for seeing how much has moved before any of it is put back
    besides: Sequence[Besides] = ()

    async def run(self, *, rounds: int | None = None) -> int:
        """Watch until stopped, until it is over, or for a number of rounds; return how many there were."""
        await self.spread_backlog()
        done = 0
        while not self.stop.is_set() and (rounds is None or done < rounds):
            if self.is_over is not None and await self.is_over():
                break
            worked = await self.round()
            done += 1
            if not worked and (rounds is None or done < rounds):
                await self._wait()
        return done

    async def round(self) -> bool:
        """Do what is due now; return whether there was anything."""
        states = await self.store.due(self.clock.now(), BATCH)
        groups: dict[tuple[str, str], list[Address]] = {}
        for state in states:
            groups.setdefault((state.address.connection, state.address.kind), []).append(state.address)
        single: list[Address] = []
        for (connection, kind), group in groups.items():
            if not await self._swept(connection, kind, group):
                single += group
        if single:
            await self._closely(single)
        others = [await one.run() for one in self.besides]
        return bool(states) or any(others)

    async def _swept(self, connection: str, kind: str, group: Collection[Address]) -> bool:
        """Sweep a kind of which much is due; return False if it has to be looked at one by one."""
        if len(group) < SWEEP_FROM:
            return False
        reader = await self.sweeper.world.reader(connection)
        if kind not in reader.kinds or not reader.kinds[kind].lists:
            return False
        swept = await self.sweeper.sweep(connection, kind)
        if swept.failure is not None:
            return False
        moved = [batch async for batch in self.sweeper.closer(connection, kind, swept)]
        if self.look is not None and len(moved) > 1:  # a storm is one only as a whole: see all, then put back
            for batch in moved:
                await self.look(batch)
        for batch in moved:
            await self._closely(batch)
        return True

    async def _closely(self, addresses: Sequence[Address]) -> None:
        """Check and correct; what is declared nowhere any more is asked about no further, what waits a little later."""
        try:
            report = await self.correct(addresses)
        except InputError as error:
            self.complain(error)
            await self._put_off(addresses, self.clock.now() + WAITING_SECONDS)
            return
        looked_at = {one.prepared.declaration.address for one in report.checked}
        looked_at |= {one.checked.prepared.declaration.address for one in report.acted}
        waiting = {one.declaration.address for one in report.waiting} - looked_at
        await self._put_off(sorted(waiting, key=str), self.clock.now() + WAITING_SECONDS)
        strangers = set(addresses) - looked_at - waiting - set(report.not_reached)
        await self._put_off(sorted(strangers, key=str), None)
        await self._relink(report)
        if self.report is not None:
            await self.report(report)

    async def _relink(self, report: Report) -> None:
        """Look now at whoever refers to something that was made again, unless it is not to be looked at by itself."""
        made = {str(one.checked.address) for one in report.acted if _has_another_id(one)}
        if not made:
            return
        now = self.clock.now()
        every = self.store.all_states()
        states = [state async for state in every if state.resync_seconds > 0 and made.intersection(state.depends_on)]
        await self.store.commit(Transaction(rescheduled=[(state.address, now) for state in states]))

    async def _put_off(self, addresses: Sequence[Address], when: float | None) -> None:
        if addresses:
            await self.store.commit(Transaction(rescheduled=[(address, when) for address in addresses]))

    async def spread_backlog(self) -> None:
        """After a restart, spread what is overdue over a while instead of reading it all in the first second."""
        now = self.clock.now()
        overdue = (await self.store.tally(now)).overdue
        if overdue < BACKLOG:
            return
        times = due.spread(overdue, now + 0.001, SPREAD_SECONDS, self.random01())
        while batch := await self.store.due(now, BATCH):
            moved = [(state.address, next(times, now + SPREAD_SECONDS)) for state in batch]
            await self.store.commit(Transaction(rescheduled=moved))

    async def _wait(self) -> None:
        """Sleep until something is due, or for a while; a stop ends the sleep."""
        times = [await self.store.next_due(), *[await one.next_at() for one in self.besides]]
        upcoming = min((at for at in times if at is not None), default=None)
        now = self.clock.now()
        wait = self.wait_at_most if upcoming is None else min(max(upcoming - now, 0.05), self.wait_at_most)
        sleeping = asyncio.ensure_future(self.clock.sleep(wait))
        stopping = asyncio.ensure_future(self.stop.wait())
        _, pending = await asyncio.wait({sleeping, stopping}, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)


def _has_another_id(acted: Acted) -> bool:
    """Tell whether something was made again, and is known by another id since."""
    again = acted.checked.decision.action in (Action.RECREATE, Action.REPLACE)
    return again and acted.result is Result.DONE


async def request(store: Store, addresses: list[Address], token: str, now: float) -> int:
    """Ask for a check now; the token comes back as `handled` once it was done."""
    states = await store.states(addresses)
    if states:
        await store.commit(Transaction(requested=[Request(address, token, now) for address in states]))
    return len(states)
