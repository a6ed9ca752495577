"""Deployment and deletion of declared objects: engine runs, repeated while other workers write the same resources.

The second worker leaves a write to the first. Its caller still needs the resource, so the run is repeated until the
first worker is done, or until its claim has expired because the worker was killed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from holdfast.api import object_declarations, results
from holdfast.api.results import ResourceChange, Undeployed
from holdfast.api.workbench import Workbench
from holdfast.errors import DeployError
from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration
from holdfast.model.verdict import Status
from holdfast.reconcile.action_result import LEFT_TO_OTHERS, ActionOutcome, ActionResult
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.report import RunReport
from holdfast.store.state import ResourceState

WAIT_SECONDS: Final = 600.0  # longer than the claim of a worker that was killed
_SLOWEST: Final = 4  # attempts after which the wait stops growing, and changing live state ends the run


@dataclass(frozen=True, slots=True)
class Brought:
    """The result of a successful deployment."""

    checked: CheckResult
    acted: ActionResult | None
    resumed: bool
    changes: tuple[ResourceChange, ...] = ()

    @property
    def action(self) -> Action:
        """The action on the resource, or UPDATE if only a resource that it refers to was written."""
        if self.acted is not None:
            return self.acted.checked.decision.action
        return Action.UPDATE if self.changes else Action.NONE

    def notes(self, before: ResourceState | None, stamp: str) -> tuple[str, ...]:
        """Return the requested changes that had no effect although no limit or error prevented them."""
        stuck = self.acted.unresolved if self.acted is not None else ()
        notes = [f"{path} was written and did not take" for path in stuck]
        moved = before is not None and before.declared.labels.get(object_declarations.STAMP, stamp) != stamp
        if moved and not self.changes and not self.checked.verdict.findings:
            notes.append("the configuration moved, but in nothing that the provider keeps")
        return tuple(notes)


async def about(bench: Workbench, declarations: Sequence[Declaration], address: Address) -> Brought:
    """Apply declarations until the resource at an address is deployed. Raise DeployError if it cannot be."""
    async with bench.writable_world() as world:
        preparer = bench.preparer(world, declarations)

        async def run() -> RunReport:
            return await bench.applier(world, preparer).apply()

        addresses = [declaration.address for declaration in declarations]
        report = await _undisturbed(bench, run, lambda report: results.last_acts(report, addresses))
        checked = results.insist(report, address)
        end = results.ended(report, address)
        if end.acted is None:
            (checked,) = await bench.checker(world).attributed([checked], 1)
        return Brought(checked, end.acted, end.resumed, results.changes(report, addresses))


async def removed(bench: Workbench, state: ResourceState, declaration: Declaration) -> Undeployed:
    """Delete a resource. Raise DeployError and keep tracking the resource unless its deletion is confirmed."""
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
    """Repeat a run while other workers write the same resources, or a few times if live state changes during it."""
    until = bench.clock.now() + WAIT_SECONDS
    attempt = 0
    while True:
        attempt += 1
        report = await run()
        found = acts(report)
        busy = (
            any(result.result in {*LEFT_TO_OTHERS, ActionOutcome.LOST} for result in found)
            and bench.clock.now() < until
        )
        moved = any(result.result is ActionOutcome.MOVED and _is_known(result) for result in found)
        if not busy and (attempt >= _SLOWEST or not (moved or _is_unconfirmed(report))):
            return report
        await bench.clock.sleep(bench.patience.delay(min(attempt, _SLOWEST), None, bench.random01))


def _is_unconfirmed(report: RunReport) -> bool:
    """Return True if two reads of a resource disagreed, for example because another worker is creating it."""
    readings = [result.reading for result in report.checked]
    return any(isinstance(reading, ReadFailure) and reading.trouble is ReadError.UNCONFIRMED for reading in readings)


def _is_known(acted: ActionResult) -> bool:
    """Return True if the resource could be read. If it could not, an immediate second check would not help."""
    return acted.checked.verdict.status is not Status.UNKNOWN
