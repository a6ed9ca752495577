"""Bringing about what objects declare, and removing it: runs of the engine, repeated while others are at the same.

A worker that comes second leaves the work to the first; whoever asked for a resource still wants to have it, so it is
looked at again until the first is done, or its claim has run out because it was killed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.api import object_declarations, results
from holdfast.api.results import ResourceChange, Undeployed
from holdfast.api.workbench import Workbench
from holdfast.errors import DeployError
from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.model.resource import Declaration
from holdfast.model.verdict import Status
from holdfast.reconcile.action_result import LEFT_TO_OTHERS, ActionOutcome, ActionResult
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.report import RunReport
from holdfast.store.state import ResourceState

WAIT_SECONDS: Final = 600.0  # longer than the claim of a worker that was killed
_SLOWEST: Final = 4  # attempts after which the wait grows no more, and a world that moves each time is given up


@dataclass(frozen=True, slots=True)
class Brought:
    """A resource that is there."""

    checked: CheckResult
    acted: ActionResult | None
    resumed: bool
    changes: tuple[ResourceChange, ...] = ()

    @property
    def action(self) -> Action:
        """What was done: to the resource, or else to a part that it refers to."""
        if self.acted is not None:
            return self.acted.checked.decision.action
        return Action.UPDATE if self.changes else Action.NONE

    def notes(self, before: ResourceState | None, stamp: str) -> tuple[str, ...]:
        """Return what is not as asked for, though nothing stands in the way."""
        stuck = self.acted.unresolved if self.acted is not None else ()
        notes = [f"{path} was written and did not take" for path in stuck]
        moved = before is not None and before.declared.labels.get(object_declarations.STAMP, stamp) != stamp
        if moved and not self.changes and not self.checked.verdict.findings:
            notes.append("the configuration moved, but in nothing that the provider keeps")
        return tuple(notes)


async def about(bench: Workbench, declarations: Sequence[Declaration], address: Address) -> Brought:
    """Apply declarations until one of them is brought about; raise DeployError if it cannot be."""
    async with bench.writable_world() as world:
        preparer = bench.preparer(world, declarations)

        async def run() -> RunReport:
            return await bench.applier(world, preparer).apply()

        addresses = [each.address for each in declarations]
        report = await _undisturbed(bench, run, lambda report: results.last_acts(report, addresses))
        checked = results.insist(report, address)
        end = results.ended(report, address)
        if end.acted is None:
            (checked,) = await bench.checker(world).attributed([checked])
        return Brought(checked, end.acted, end.resumed, results.changes(report, addresses))


async def removed(bench: Workbench, state: ResourceState, declaration: Declaration) -> Undeployed:
    """Delete something; raise DeployError, and keep on tracking it, unless it is known to be gone."""
    async with bench.writable_world() as world:
        applier = bench.applier(world, bench.preparer(world, [declaration]))

        async def run() -> RunReport:
            for operation in await bench.store.operations(state.address):
                await applier.resume(operation)
            return await applier.delete([state.address])

        report = await _undisturbed(bench, run, lambda report: report.acted)
    acted = report.acted[-1] if report.acted else None
    if acted is None or acted.result is not ActionOutcome.DONE:
        message = acted.message if acted is not None else "it could not be looked at"
        raise DeployError(str(state.address), f"{message}; it stays tracked")
    return Undeployed(state.address, state.observed.provider_id, acted.message)


async def _undisturbed(
    bench: Workbench, run: Callable[[], Awaitable[RunReport]], acts: Callable[[RunReport], Sequence[ActionResult]]
) -> RunReport:
    """Repeat a run as long as others are at the same resources, or a few times if live state changes meanwhile."""
    until = bench.clock.now() + WAIT_SECONDS
    attempt = 0
    while True:
        attempt += 1
        report = await run()
        found = acts(report)
        busy = any(each.result in {*LEFT_TO_OTHERS, ActionOutcome.LOST} for each in found) and bench.clock.now() < until
        moved = any(each.result is ActionOutcome.MOVED and _is_known(each) for each in found)
        if not busy and (attempt >= _SLOWEST or not (moved or _is_unconfirmed(report))):
            return report
        await bench.clock.sleep(bench.patience.delay(min(attempt, _SLOWEST), None, bench.random01))


def _is_unconfirmed(report: RunReport) -> bool:
    """Tell whether two answers about something did not agree, as when somebody else is making it just now."""
    readings = [each.reading for each in report.checked]
    return any(isinstance(each, ReadFailure) and each.trouble is ReadError.UNCONFIRMED for each in readings)


def _is_known(acted: ActionResult) -> bool:
    """Tell whether what was acted on could be read at all; where not, looking again at once is of no use."""
    return acted.checked.verdict.status is not Status.UNKNOWN
