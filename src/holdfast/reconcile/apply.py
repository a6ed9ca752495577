"""Planning and applying of a fleet, layer by layer, so that the dependencies of a resource exist before it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import field, replace
from typing import Final

from holdfast.compare import verdict_rules
from holdfast.model.address import Address
from holdfast.model.decision import Action, Decision, Reason
from holdfast.model.read_result import NotFound
from holdfast.model.record import dataclass
from holdfast.policy import dependency_graph
from holdfast.policy.decide import decide_removal
from holdfast.policy.settings import OnFailedVerify
from holdfast.reconcile import undo, worker_identity
from holdfast.reconcile.action_result import LEFT_TO_OTHERS, ActionOutcome, ActionResult
from holdfast.reconcile.check import BATCH, Checker, CheckResult
from holdfast.reconcile.fleet_check import FleetCheck
from holdfast.reconcile.mass_drift_scan import DeclaredNeighbours, Others, Surveyor
from holdfast.reconcile.policy_evaluation import Foreseen
from holdfast.reconcile.report import RunReport, Sink, keep_all
from holdfast.reconcile.resolve import Blocked, ResourceResolver
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.reconcile.undo import CannotUndo, CorrectionUndo
from holdfast.reconcile.write import ResourceWriter
from holdfast.reconcile.write_decision import WriteIntent
from holdfast.reconcile.write_resume import ResumeIntent
from holdfast.store.protocol import Store
from holdfast.store.records import AuditEvent, WriteOperation
from holdfast.store.transaction import Transaction

Progress = Callable[[CheckResult | ActionResult | Blocked], None]
UNATTENDED_SECONDS: Final = 30.0  # for which a watch polls one operation before it moves on
MEETING_SECONDS: Final = 10.0  # for which connections wait for each other before the first write


class Meeting:
    """A barrier with a time limit, at which groups wait for each other between checking and writing."""

    def __init__(self, groups: int, pause: Callable[[float], Awaitable[None]]) -> None:
        self._missing = groups
        self._pause = pause
        self._all_there = asyncio.Event()
        self._has_counted: set[asyncio.Task[object] | None] = set()

    def leave(self) -> None:
        """Count the group of this task as arrived, unless it is already counted."""
        task = asyncio.current_task()
        if task not in self._has_counted:
            self._has_counted.add(task)
            self._missing -= 1
            if self._missing <= 0:
                self._all_there.set()

    async def arrive(self) -> None:
        """Wait until all groups have arrived, but only for a limited time, because one connection may never answer."""
        was_there = asyncio.current_task() in self._has_counted
        self.leave()
        if not was_there and not self._all_there.is_set():
            await _at_most(self._all_there.wait(), self._pause(MEETING_SECONDS))


@dataclass(frozen=True, slots=True)
class Overview:
    """The fleet-wide check between checking and writing, needed because mass drift shows only in the whole fleet."""

    surveyor: Surveyor
    meeting: Meeting | None

    async def see(self, checks: Sequence[CheckResult], seen: Foreseen) -> Foreseen:
        """Check the other resources of the kinds, wait for the other connections, and return the foreseen verdicts.

        `checks` are the writes that limits must judge, `seen` the verdicts of the whole group.
        """
        foreseen = self.surveyor.foreseen
        foreseen |= seen
        await self.surveyor.survey(checks)
        if self.meeting is not None:
            await self.meeting.arrive()
        return foreseen

    def leave(self) -> None:
        """Stop other groups from waiting for this group."""
        if self.meeting is not None:
            self.meeting.leave()


async def _at_most(work: Awaitable[object], patience: Awaitable[object]) -> None:
    """Wait for `work` until `patience` ends, then cancel the awaitable that is not done."""
    waits = [asyncio.ensure_future(work), asyncio.ensure_future(patience)]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)


async def _in_order(
    groups: Sequence[dependency_graph.Group], work: Callable[[dependency_graph.Group], Awaitable[None]]
) -> None:
    """Work on each group as soon as the groups that it needs are done. The first exception ends all work."""
    tasks: list[asyncio.Task[None]] = []

    async def after(group: dependency_graph.Group) -> None:
        if group.needs:
            await asyncio.wait([tasks[place] for place in group.needs])
            if any(tasks[place].cancelled() or tasks[place].exception() for place in group.needs):
                return
        await work(group)

    if all(group.needs <= {place - 1} and (group.needs or place == 0) for place, group in enumerate(groups)):
        for group in groups:
            await work(group)
        return
    tasks += [asyncio.create_task(after(group), name=f"group {place}") for place, group in enumerate(groups)]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(slots=True)
class _Run:
    """One run of an applier."""

    writer: ResourceWriter
    report: RunReport = field(default_factory=RunReport)
    failed: set[Address] = field(default_factory=set)  # resources that need these are not touched


@dataclass(frozen=True, slots=True)
class Applier:
    """Component that brings a fleet to its declared state."""

    store: Store
    preparer: ResourceResolver
    checker: Checker
    writer: ResourceWriter
    stop: asyncio.Event = field(default_factory=asyncio.Event)  # set once: finish running work, begin nothing new
    progress: Progress | None = None
    reconsider: Callable[[CheckResult], CheckResult] = lambda checked: checked  # a person's override of a decision
    only: Callable[[CheckResult], bool] = lambda _checked: True
    unattended: bool = False  # no person asked for this run, so resources without automatic checks are skipped
    others: Others | None = None  # other resources of the corrected kinds, for a caller that has only part of the fleet
    create_again: bool = False  # a person asked to repeat creates whose result is unknown
    sink: Sink = keep_all  # receives every final result; True: the report keeps it

    async def apply(self, addresses: Iterable[Address] | None = None) -> RunReport:
        """Check and act, group by group in dependency order, and return the report of the run.

        A resource whose dependency failed is not touched. Groups of different connections do not wait for each other.
        """
        wanted = set(addresses) if addresses is not None else None
        run = await self._begin()
        report = run.report
        groups = dependency_graph.groups(self.preparer.fleet.graph, wanted)
        foreseen = await self._look_ahead(groups)
        others = self.others or DeclaredNeighbours(self.store, self.preparer, self.checker, self._is_left_alone)
        surveyor = Surveyor(self.store, self.checker, others, foreseen)
        first = [group for group in groups if not group.needs]
        meeting = Meeting(len(first), self.checker.pause) if len(first) > 1 else None
        await _in_order(
            groups, lambda group: self._group(group, run, Overview(surveyor, None if group.needs else meeting))
        )
        if meeting is not None:
            places = {address: place for place, address in enumerate(a for group in groups for a in group.addresses)}
            report.checked.sort(key=lambda checked: places[checked.address])
            report.acted.sort(key=lambda acted: places[acted.checked.address])
        return report

    async def _begin(self) -> _Run:
        """Release the claims of dead workers, and begin a run."""
        await worker_identity.bury(self.store)
        # An operation that never ends must not block its connection, so it is polled again later.
        seconds = UNATTENDED_SECONDS if self.unattended else self.writer.poll_seconds
        return _Run(replace(self.writer, stop=self.stop, poll_seconds=seconds), RunReport(sink=self.sink))

    async def _group(self, group: dependency_graph.Group, run: _Run, overview: Overview) -> None:
        if self.stop.is_set():
            run.report.not_reached += group.addresses
            overview.leave()
            return
        try:
            resumed = await self._resumed(set(group.addresses), run.writer)
            run.report.add_acted([acted for _, acted in resumed])
            needs = self.preparer.fleet.graph.dependencies
            blocked = [address for address in group.addresses if run.failed & set(needs(address))]
            for address in blocked:
                self._wait(run.report, Blocked(self.preparer.fleet.declarations[address], "what it needs failed"))
            run.failed |= set(blocked)
            left = [address for address in group.addresses if address not in run.failed]
            unfinished = {
                operation.address for operation in await self.store.operations()
            }  # no new write begins on these
            run.failed |= await self._layer(left, run, overview, unfinished)
        finally:
            overview.leave()

    async def _look_ahead(self, groups: Sequence[dependency_graph.Group]) -> Foreseen:
        """Check the later groups first and return their verdicts, because mass drift must stop the first write."""
        guard = self.checker.rules.corrections.mass_drift
        if guard is None or sum(len(group.addresses) for group in groups) < min(guard.at_least, guard.identical):
            return {}  # too few resources for mass drift
        later: dict[str, list[Address]] = {}
        for group in groups:
            for address in group.addresses if group.needs else ():
                later.setdefault(address.connection, []).append(address)
        if not later:
            return {}

        async def known_only(ready: Sequence[ResolvedResource]) -> list[ResolvedResource]:
            return [item for item in ready if item.state is not None and not self._is_left_alone(item)]

        async def look_at(addresses: Sequence[Address]) -> Foreseen:
            run = FleetCheck(self.preparer, self.checker, record=False, select=known_only)
            seen: Foreseen = {}
            async for batch in run.batches(addresses):
                seen |= dict.fromkeys((checked.address for checked in batch.checks), verdict_rules.UNCHANGED)
            return seen | run.moved

        tasks = [asyncio.ensure_future(look_at(addresses)) for addresses in later.values()]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            await _at_most(asyncio.gather(*tasks, return_exceptions=True), self.checker.pause(MEETING_SECONDS))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        foreseen: Foreseen = {}
        for task in tasks:
            if not task.cancelled():
                foreseen |= task.result()
        return foreseen

    async def _layer(
        self, addresses: Sequence[Address], run: _Run, overview: Overview, unfinished: set[Address]
    ) -> set[Address]:
        """Check and act on the resources of a group, batch by batch, and return those that must not be built upon.

        A write that a budget or mass drift may hold waits until the whole group was checked.
        """
        bad: set[Address] = set()

        async def act(checks: Sequence[CheckResult]) -> None:
            checked = [self.reconsider(check) for check in checks]
            run.report.add_checked(checked)
            todo = [
                result
                for result in checked
                if _is_work(result) and self.only(result) and result.address not in unfinished
            ]
            acted = await self._at_once(todo, lambda one: self._act_one(one, run.writer), run.report)
            run.report.add_acted(acted)
            fine = {ActionOutcome.DONE, *LEFT_TO_OTHERS}
            bad.update(result.checked.prepared.declaration.address for result in acted if result.result not in fine)

        async def without_left_alone(ready: Sequence[ResolvedResource]) -> list[ResolvedResource]:
            return await self._without_left_alone(ready, run.report)

        for part in await self._in_turn(addresses):
            checks = FleetCheck(self.preparer, self.checker, self._tell, select=without_left_alone)
            reached = 0
            async with contextlib.aclosing(checks.batches(part)) as batches:
                async for batch in batches:
                    reached += len(batch.addresses)
                    for waiting in batch.waiting:
                        self._wait(run.report, waiting)
                    bad.update(waiting.declaration.address for waiting in batch.waiting)
                    await act(batch.checks)
                    if self.stop.is_set():
                        break
            run.report.not_reached += part[reached:]
            if checks.deferred:
                foreseen = await overview.see(checks.deferred, checks.foreseen(part[:reached]))
                await act(await checks.limited(foreseen))
            else:
                overview.surveyor.foreseen |= checks.moved
        return bad

    def _is_left_alone(self, item: ResolvedResource) -> bool:
        return self.unattended and item.is_left_alone

    async def _without_left_alone(self, ready: Sequence[ResolvedResource], report: RunReport) -> list[ResolvedResource]:
        """Return the resources without those that are not checked automatically, and store their declared state."""
        left = [item for item in ready if self._is_left_alone(item)]
        if not left:
            return list(ready)
        report.left_alone += left
        said = [(item.as_declared(), item.state) for item in left]
        states = [after for after, before in said if after is not None and after is not before]
        if states:
            await self.store.commit(Transaction(states=states, checked={state.address for state in states}))
        return [item for item in ready if not self._is_left_alone(item)]

    async def _in_turn(self, addresses: Sequence[Address]) -> list[Sequence[Address]]:
        """Return urgent resources ahead of the others if checks may have to wait for quota, else all in one part."""
        world, connections = self.preparer.world, {address.connection for address in addresses}
        for connection in connections:
            await world.reader(connection)  # which knows the quota
        if not any(world.gate(connection).quota is not None for connection in connections):
            return [addresses]
        urgent: set[Address] = set()
        for start in range(0, len(addresses), BATCH):
            ready, waiting = await self.preparer.prepare(addresses[start : start + BATCH])
            urgent.update(item.declaration.address for item in ready if item.is_urgent)
            urgent.update(blocked.declaration.address for blocked in waiting)
        parts = (
            [address for address in addresses if address in urgent],
            [address for address in addresses if address not in urgent],
        )
        return [part for part in parts if part] or [addresses]

    async def _act_one(self, checked: CheckResult, writer: ResourceWriter) -> ActionResult:
        acted = await self._verified(await writer.execute(WriteIntent(checked)), writer)
        self._tell(acted)
        return acted

    async def _at_once(
        self, todo: Sequence[CheckResult], act: Callable[[CheckResult], Awaitable[ActionResult]], report: RunReport
    ) -> list[ActionResult]:
        """Run all actions, as many at once as the connections allow, and return the results.

        After a stop no new action begins.
        """

        async def one(checked: CheckResult) -> ActionResult | None:
            if self.stop.is_set():
                report.not_reached.append(checked.prepared.declaration.address)
                return None
            return await act(checked)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(item), name=f"act {item.prepared.declaration.address}") for item in todo]
        return [result for task in tasks if (result := task.result()) is not None]

    async def _verified(self, acted: ActionResult, writer: ResourceWriter) -> ActionResult:
        """Undo a correction that took effect only in part, if policy requires it, and return the result."""
        item = acted.checked.prepared
        if not acted.unresolved or item.settings.on_failed_verify is not OnFailedVerify.UNDO:
            return acted
        correction = await self.store.correction(acted.correction or "")
        if correction is None or correction.action != Action.UPDATE.value:
            return acted
        item = item.with_state(acted.checked.state)
        why = f"verification failed: {', '.join(acted.unresolved)} did not take"
        try:
            undone = await CorrectionUndo(writer).undo(correction, item, "policy onFailedVerify", why)
        except CannotUndo as error:
            return replace(acted, message=f"{acted.message}; could not be undone: {error.message}")
        return replace(acted, result=ActionOutcome.UNDONE, message=f"{why}; undone: {undone.message}")

    def _wait(self, report: RunReport, waiting: Blocked) -> None:
        report.waiting.append(waiting)
        self._tell(waiting)

    def _tell(self, what: CheckResult | ActionResult | Blocked) -> None:
        if self.progress is not None:
            self.progress(what)

    # -- unfinished writes

    async def _resumed(self, wanted: set[Address], writer: ResourceWriter) -> list[tuple[WriteOperation, ActionResult]]:
        """Finish writes that an earlier run began, before any new decision about their resources."""
        declared = self.preparer.fleet.declarations
        left = [
            operation
            for operation in await self.store.operations()
            if operation.address in declared and operation.address in wanted
        ]
        out: list[tuple[WriteOperation, ActionResult]] = []
        for together in self._side_by_side(left) if left else ():
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(self.resume(item, writer), name=f"resume {item.address}") for item in together
                ]
            ended = zip(together, tasks, strict=True)
            out += [(item, acted) for item, task in ended if (acted := task.result()) is not None]
        return out

    def _side_by_side(self, operations: Sequence[WriteOperation]) -> list[list[WriteOperation]]:
        """Split writes, in the order they were begun, into groups without dependencies that may finish concurrently."""
        layers = dependency_graph.layers(self.preparer.fleet.graph, None)
        layer_of = {address: number for number, layer in enumerate(layers) for address in layer}
        return [list(group) for _, group in itertools.groupby(operations, key=lambda each: layer_of[each.address])]

    async def resume(self, operation: WriteOperation, writer: ResourceWriter | None = None) -> ActionResult | None:
        """Finish one unfinished write and return its result, or None if the resource cannot be checked now."""
        ready, _ = await self.preparer.prepare([operation.address])
        if not ready:
            return None
        item, writer = ready[0], writer or self.writer
        if operation.phase == "write" and operation.action in (Action.RECREATE.value, Action.REPLACE.value):
            # The old resource is known to be deleted, so its id must not be read.
            item = item.with_state(
                replace(item.state, observed=replace(item.state.observed, provider_id=None))
                if item.state is not None
                else None
            )
        (checked,) = await self.checker.check_all([item], record=False, fresh=True)
        if operation.phase == undo.PHASE:
            acted = await _resume_undo(operation, checked, writer)
        else:
            intent = ResumeIntent(operation, checked, create_again=self.create_again)
            acted = await writer.execute(intent)
        begun = await self.store.correction(operation.id)
        causes = tuple(path.path for path in begun.paths) if begun is not None else ()
        decision = Decision(Action(operation.action), (Reason("resumed", "begun by an earlier run", causes),))
        acted = replace(acted, checked=replace(acted.checked, decision=decision))
        self._tell(acted)
        return acted

    # -- deleting

    async def delete(self, addresses: Iterable[Address]) -> RunReport:
        """Delete or detach resources, dependents before their dependencies, and return the report.

        Deletions that an earlier run began are finished first.
        """
        run = await self._begin()
        report, wanted = run.report, set(addresses)
        for operation, acted in await self._resumed(wanted, run.writer):
            is_deleted = operation.action == Action.DELETE.value and acted.result is ActionOutcome.DONE
            if (is_deleted and operation.phase != undo.PHASE) or acted.result is ActionOutcome.UNSURE:
                report.acted.append(acted)
                wanted.discard(operation.address)
        for layer in dependency_graph.deletion_layers(self.preparer.fleet.graph):
            chosen = [address for address in layer if address in wanted]
            if self.stop.is_set():
                report.not_reached += chosen
                continue
            ready, waiting = await self.preparer.prepare(chosen)
            report.waiting += waiting
            checked = await self.checker.check_all(ready, self._tell, record=False, fresh=True)
            report.add_checked(checked)
            report.add_acted(await self._at_once(checked, lambda one: self._delete_one(one, run.writer), report))
        return report

    async def _delete_one(self, checked: CheckResult, writer: ResourceWriter) -> ActionResult:
        item = checked.prepared
        exists = not isinstance(checked.reading, NotFound)
        decision = decide_removal(
            item.declaration.policy, checked.state.applied.origin, item.settings.on_delete, exists=exists
        )
        if decision.action is Action.DELETE and exists:
            checked = await self.checker.limited(replace(checked, decision=decision))
            decision = checked.decision
            if decision.action is Action.HOLD:
                acted = ActionResult(checked, ActionOutcome.HELD, decision.reasons[0].message)
                self._tell(acted)
                return acted
        if decision.action is not Action.DELETE or not exists:
            await self._forget(item, decision.reasons[0].message)
            acted = ActionResult(checked, ActionOutcome.DONE, decision.reasons[0].message)
        else:
            acted = await writer.execute(WriteIntent(checked))
        self._tell(acted)
        return acted

    async def _forget(self, item: ResolvedResource, reason: str) -> None:
        address = item.declaration.address
        now = self.checker.now()
        transaction = Transaction(forgotten=[address])
        transaction.events.append(AuditEvent(now, "forgotten", str(address), {"reason": reason}))
        await self.store.commit(transaction)


async def _resume_undo(operation: WriteOperation, checked: CheckResult, writer: ResourceWriter) -> ActionResult:
    """Finish the undo of a correction and return its result."""
    try:
        undone = await CorrectionUndo(writer).resume(operation, checked)
    except undo.Postponed as error:
        return ActionResult(checked, ActionOutcome.HELD, error.message)
    except CannotUndo as error:
        return ActionResult(checked, ActionOutcome.FAILED, error.message)
    return ActionResult(checked, ActionOutcome.DONE, f"undone: {undone.message}", correction=operation.id)


def _is_work(checked: CheckResult) -> bool:
    return checked.decision.action.is_write or checked.decision.action is Action.ADOPT
