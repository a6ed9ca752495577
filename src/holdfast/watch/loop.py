"""Watching: take the resources that are due from the store, check and correct them, and store their next due time.

The schedule lives in the store, so idle resources cost no memory here and a restart forgets nothing. Declarations are
fetched for a closer check only, and released afterwards. Resources that became overdue while no watch ran are spread
out instead of being read all at once. Connections do not share a queue: one that hangs delays no other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import field

from holdfast.errors import InputError
from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.record import dataclass
from holdfast.policy import resync_schedule
from holdfast.reconcile import unchecked
from holdfast.reconcile.action_result import ActionOutcome, ActionResult
from holdfast.reconcile.clock import Clock
from holdfast.reconcile.report import RunReport
from holdfast.store.protocol import StateStore
from holdfast.store.state import CheckRequest
from holdfast.store.transaction import PartialUpdates, Transaction
from holdfast.watch.list_scan import ListScanner
from holdfast.watch.tasks import PeriodicTask

BATCH = 500
SHORTEST_WAIT_SECONDS = 0.05
LONGEST_WAIT_SECONDS = 60.0  # look at the store at least this often: another process may have asked for a check
SPREAD_SECONDS = 60.0  # a backlog is spread over this long
SWEEP_FROM = 20  # due resources of one kind from which a sweep is worth more than single reads
BACKLOG = 50  # overdue resources from which a backlog is spread
GRACE_SECONDS = 10.0  # for what is in hand when a watch ends
CLOCK_TOLERANCE_SECONDS = 1.0  # by which a clock may be set back without anybody minding
WAITING_SECONDS = 30.0  # after which something that could not be looked at is tried again

Correct = Callable[[Sequence[Address]], Awaitable[RunReport]]  # looks at some of the fleet, and acts; see Applier.apply


@dataclass(slots=True)
class ResyncLoop:
    """The resync loop."""

    store: StateStore
    correct: Correct
    clock: Clock
    random01: Callable[[], float]
    sweeper: ListScanner
    report: Callable[[RunReport], Awaitable[None]] | None = None
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    complain: Callable[[InputError], None] = lambda _error: None
    is_over: Callable[[], Awaitable[bool]] | None = None  # asked between rounds; the declarations may have changed
    wait_at_most: float = LONGEST_WAIT_SECONDS
    look: Correct | None = None  # the same without acting; for seeing how much has moved before any of it is reverted
    besides: Sequence[PeriodicTask] = ()
    _tasks: dict[str, asyncio.Task[bool]] = field(default_factory=dict)  # by connection, and of what else comes due
    _asked: dict[str, float] = field(default_factory=dict)  # when what else comes due was asked last
    _next_at: dict[str, float | None] = field(default_factory=dict)  # when what else comes due is due, as last asked
    _last_now: float | None = None

    async def run(self, *, rounds: int | None = None) -> int:
        """Watch until stopped, until it is over, or for a number of rounds. Return the number of rounds.

        Each connection has a task of its own, and so has each periodic task, so that none waits for another. Only if
        the rounds are counted is each of them awaited.
        """
        await self.mend_schedule()
        await self.spread_backlog()
        done = 0
        try:
            while not self.stop.is_set() and (rounds is None or done < rounds):
                if self.is_over is not None and await self.is_over():
                    break
                await self._mind_the_clock()
                worked = await self.round() if rounds is not None else await self._begin()
                done += 1
                if not worked and (rounds is None or done < rounds):
                    await self._wait()
        finally:
            await self._end()
        return done

    async def round(self) -> bool:
        """Check the resources that are due now, all connections in parallel. Return False if there were none."""
        began = await self._begin()
        tasks = [*self._tasks.values()]
        if tasks:
            await asyncio.wait(tasks)
        worked = [task.result() for task in tasks]
        self._tasks.clear()
        return began and any(worked)

    async def _begin(self) -> bool:
        """Start the due resources of idle connections. Return False if there were none."""
        self._collect()
        states = await self.store.due(self.clock.now(), BATCH, self._tasks.keys())
        due_on: dict[str, list[Address]] = {}
        for state in states:
            due_on.setdefault(state.address.connection, []).append(state.address)
        for connection, addresses in due_on.items():
            self._tasks[connection] = asyncio.create_task(
                self._check(connection, addresses), name=f"check {connection}"
            )
        others = [(f"{number}/", task) for number, task in enumerate(self.besides)]  # no connection has a slash
        idle = [(name, other) for name, other in others if name not in self._tasks and await self._is_due(name, other)]
        for name, item in idle:
            self._tasks[name] = asyncio.create_task(item.run(), name=f"periodic {name}")
        return bool(due_on or idle)

    async def _is_due(self, name: str, beside: PeriodicTask) -> bool:
        """Return True if something else is to be asked now: its time has come, or it was not asked for a while."""
        now, asked = self.clock.now(), self._asked.get(name)
        at = self._next_at[name] = await beside.next_at()
        is_time = at is not None and at <= now
        if asked is None or abs(now - asked) >= (SHORTEST_WAIT_SECONDS if is_time else self.wait_at_most):
            self._asked[name] = now
            return True
        return False

    def _collect(self) -> None:
        """Remove the finished tasks, and raise their errors."""
        for name, task in list(self._tasks.items()):
            if task.done():
                del self._tasks[name]
                task.result()

    async def _end(self) -> None:
        """Wait a little for the running tasks, then stop them. They are recorded, and the next run resumes them."""
        tasks = [*self._tasks.values()]
        self._tasks.clear()
        if tasks:
            await asyncio.wait(tasks, timeout=GRACE_SECONDS)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _check(self, connection: str, addresses: Sequence[Address]) -> bool:
        """Check the due resources of one connection."""
        kinds: dict[str, list[Address]] = {}
        for address in addresses:
            kinds.setdefault(address.kind, []).append(address)
        single: list[Address] = []
        for kind, group in kinds.items():
            if not await self._swept(connection, kind, group):
                single += group
        if single:
            await self._closely(single)
        return True

    async def _mind_the_clock(self) -> None:
        """Notice a clock that was set back: due times that were worked out before would be hours away."""
        now = self.clock.now()
        if self._last_now is not None and now < self._last_now - CLOCK_TOLERANCE_SECONDS:
            await self.mend_schedule()
        self._last_now = now

    async def mend_schedule(self) -> None:
        """Make resources due whose check time is in the future, because the clock was set back since."""
        now = self.clock.now()
        while batch := await self.store.checked_in_future(now + CLOCK_TOLERANCE_SECONDS, BATCH):
            await unchecked.set_back(self.store, batch, now)

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
        if self.look is not None and len(moved) > 1:  # mass drift is one only as a whole: see all, then revert
            for batch in moved:
                await self.look(batch)
        for batch in moved:
            await self._closely(batch)
        return True

    async def _closely(self, addresses: Sequence[Address]) -> None:
        """Check and correct. A resource that cannot be checked becomes unknown, and is retried a little later."""
        try:
            report = await self.correct(addresses)
        except InputError as error:
            if len(addresses) > 1:  # one mistake must not keep the others from being checked
                half = len(addresses) // 2
                await self._closely(addresses[:half])
                await self._closely(addresses[half:])
                return
            self.complain(error)
            await self._unchecked({addresses[0]: str(error)})
            return
        looked_at = {result.prepared.declaration.address for result in report.checked}
        looked_at |= {result.checked.prepared.declaration.address for result in report.acted}
        looked_at |= {item.declaration.address for item in report.left_alone}
        waiting = {blocked.declaration.address: blocked.reason for blocked in report.waiting}
        await self._unchecked({address: why for address, why in waiting.items() if address not in looked_at})
        others = set(addresses) - looked_at - waiting.keys() - set(report.not_reached)
        elsewhere = others & set(report.out_of_scope)
        await self._put_off(sorted(elsewhere, key=str), self.clock.now() + LONGEST_WAIT_SECONDS)
        undeclared = sorted(others - elsewhere, key=str)
        await unchecked.no_longer_declared(self.store, undeclared, self.clock.now())
        await self._put_off(undeclared, None)
        under_way = [result.checked.address for result in report.acted if result.result is ActionOutcome.UNSETTLED]
        await self._put_off(under_way, self.clock.now() + LONGEST_WAIT_SECONDS)
        await self._relink(report)
        if self.report is not None:
            await self.report(report)

    async def _unchecked(self, reasons: Mapping[Address, str]) -> None:
        now = self.clock.now()
        await unchecked.unresolved(self.store, reasons, now)
        await self._put_off(sorted(reasons, key=str), now + WAITING_SECONDS)

    async def _relink(self, report: RunReport) -> None:
        """Check the dependents of a recreated resource now, except those without periodic checks."""
        made = {str(result.checked.address) for result in report.acted if _has_another_id(result)}
        if not made:
            return
        now = self.clock.now()
        every = self.store.all_states()
        states = [
            state
            async for state in every
            if state.schedule.resync_seconds > 0 and made.intersection(state.declared.depends_on)
        ]
        await self.store.commit(
            Transaction(updates=PartialUpdates(rescheduled=[(state.address, now) for state in states]))
        )

    async def _put_off(self, addresses: Sequence[Address], when: float | None) -> None:
        if addresses:
            await self.store.commit(
                Transaction(updates=PartialUpdates(rescheduled=[(address, when) for address in addresses]))
            )

    async def spread_backlog(self) -> None:
        """After a restart, spread the overdue checks over a while instead of making them all in the first second."""
        now = self.clock.now()
        overdue = (await self.store.count_statuses(now)).overdue
        if overdue < BACKLOG:
            return
        times = resync_schedule.spread(overdue, now + 0.001, SPREAD_SECONDS, self.random01())
        while batch := await self.store.due(now, BATCH):
            moved: list[tuple[Address, float | None]] = [
                (state.address, next(times, now + SPREAD_SECONDS)) for state in batch
            ]
            await self.store.commit(Transaction(updates=PartialUpdates(rescheduled=moved)))

    async def _wait(self) -> None:
        """Sleep until something is due or has ended, or for a while; a stop ends the sleep."""
        busy = self._tasks.keys()
        times = [
            await self.store.next_due(busy),
            *[at for name, at in self._next_at.items() if name not in busy],  # asked just now, when nothing was due
        ]
        upcoming = min((at for at in times if at is not None), default=None)
        now = self.clock.now()
        wait = (
            self.wait_at_most
            if upcoming is None
            else min(max(upcoming - now, SHORTEST_WAIT_SECONDS), self.wait_at_most)
        )
        sleeping = asyncio.ensure_future(self.clock.sleep(wait))
        stopping = asyncio.ensure_future(self.stop.wait())
        await asyncio.wait({sleeping, stopping, *self._tasks.values()}, return_when=asyncio.FIRST_COMPLETED)
        for task in (sleeping, stopping):
            task.cancel()
        await asyncio.gather(sleeping, stopping, return_exceptions=True)


def _has_another_id(acted: ActionResult) -> bool:
    """Return True if the resource was recreated and has another id since."""
    again = acted.checked.decision.action in (Action.RECREATE, Action.REPLACE)
    return again and acted.result is ActionOutcome.DONE


async def request(store: StateStore, addresses: list[Address], token: str, now: float) -> int:
    """Ask for a check now; the token comes back as `handled` once it was done."""
    states = await store.states(addresses)
    if states:
        await store.commit(
            Transaction(updates=PartialUpdates(requested=[CheckRequest(address, token, now) for address in states]))
        )
    return len(states)
