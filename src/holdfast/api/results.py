"""The results of calls: a value if the resource is as declared, an error if it is not.

A change outside Holdfast that is held or left unchanged is reported and is no error, because the resource exists and
works. A change that the object declares and that was not made is an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from holdfast.errors import DeployError
from holdfast.model.address import Address
from holdfast.model.attribution import LikelyActor
from holdfast.model.decision import Action, Decision
from holdfast.model.finding import ChangedBy
from holdfast.model.record import dataclass
from holdfast.model.verdict import Status, Verdict
from holdfast.reconcile.action_result import ActionOutcome, ActionResult
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.report import RunReport

Resource = TypeVar("Resource")


@dataclass(frozen=True, slots=True)
class ResourceChange:
    """One resource that a call wrote: the deployed resource, or a resource that it refers to."""

    address: Address
    action: Action
    reason: str


@dataclass(frozen=True, slots=True)
class Deployment(Generic[Resource]):
    """A deployed resource with its verdict, the action on it, and the paths left unchanged with the reasons."""

    resource: Resource  # a copy with its id
    id: str
    address: Address
    action: Action  # UPDATE if only a resource that it refers to was written, NONE if there was no write
    verdict: Verdict  # before any write
    decision: Decision
    likely_actors: tuple[LikelyActor, ...] = ()  # of the changes that were left
    resumed: bool = False  # an interrupted write of an earlier run was finished first
    notes: tuple[str, ...] = ()  # requested changes that had no effect
    changes: tuple[ResourceChange, ...] = ()  # all writes, in order

    @property
    def left_alone(self) -> tuple[str, ...]:
        """The paths that changed and were not reverted. The reasons are in the decision."""
        was_written = any(change.address == self.address for change in self.changes)
        reasons = self.decision.reasons[1:] if was_written else self.decision.reasons
        return tuple(path for reason in reasons for path in reason.paths)


@dataclass(frozen=True, slots=True)
class Checkup(Generic[Resource]):
    """The verdict on a resource and the likely actors, from a check that writes nothing."""

    resource: Resource
    address: Address
    verdict: Verdict
    decision: Decision  # the action that a deployment would take
    likely_actors: tuple[LikelyActor, ...] = ()

    @property
    def is_in_sync(self) -> bool:
        """True if the resource is in sync and needs no action."""
        return self.verdict.status is Status.IN_SYNC and self.decision.action is Action.NONE


@dataclass(frozen=True, slots=True)
class Undeployed:
    """A resource that was deleted and is no longer tracked."""

    address: Address
    id: str | None
    message: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The outcome of a run for one resource."""

    checked: CheckResult | None  # the last check
    acted: ActionResult | None  # the action that followed from it
    resumed: bool = False  # a write begun by an earlier run was finished first


def ended(report: RunReport, address: Address) -> Ended:
    """Return the outcome of a run for a resource. A resumed write is not the action of the last check."""
    checked = next((result for result in reversed(report.checked) if result.address == address), None)
    acts = [result for result in report.acted if result.checked.address == address]
    acted = next((act for act in acts if checked is not None and act.checked.decision is checked.decision), None)
    resumed = any(act is not acted and act.result is ActionOutcome.DONE for act in acts)
    return Ended(checked, acted, resumed)


def last_acts(report: RunReport, addresses: Iterable[Address]) -> list[ActionResult]:
    """Return the actions that followed from the last checks of some resources."""
    return [acted for address in addresses if (acted := ended(report, address).acted) is not None]


def changes(report: RunReport, addresses: Iterable[Address]) -> tuple[ResourceChange, ...]:
    """Return the writes of a run to some resources, without resumed writes of earlier runs."""
    return tuple(
        ResourceChange(acted.checked.address, acted.checked.decision.action, acted.checked.verdict.reason)
        for acted in last_acts(report, addresses)
        if acted.result is ActionOutcome.DONE
    )


def insist(report: RunReport, address: Address) -> CheckResult:
    """Return the last check of a run that deployed a resource. Raise DeployError if it was not deployed."""
    waiting = next((blocked for blocked in report.waiting if blocked.declaration.address == address), None)
    if waiting is not None:
        raise DeployError(str(address), _why_it_waits(report, address) or waiting.reason, is_final=waiting.is_error)
    end = ended(report, address)
    if end.checked is None:
        raise DeployError(str(address), "it was not reached")
    if end.acted is None:
        _insist_on_decision(end.checked)
    elif end.acted.result is not ActionOutcome.DONE:
        raise DeployError(str(address), end.acted.message, is_final=end.acted.result is ActionOutcome.TERMINAL)
    elif end.acted.unresolved:
        raise DeployError(str(address), end.acted.message)
    return end.checked


def _why_it_waits(report: RunReport, address: Address) -> str | None:
    """Return the failure of a resource that this one needs, or None."""
    for result in report.acted:
        if result.checked.address != address and result.result is not ActionOutcome.DONE:
            return f"what it needs failed: {result.checked.address}: {result.message}"
    return None


def _insist_on_decision(checked: CheckResult) -> None:
    """Raise DeployError if a declared change was not made, or if the state of the resource is unknown."""
    address, verdict, reasons = str(checked.address), checked.verdict, checked.decision.reasons
    if verdict.status is Status.UNKNOWN:
        raise DeployError(address, f"nothing was done, because it {verdict.reason}")
    if checked.decision.action is Action.BLOCK:
        raise DeployError(address, reasons[0].message, is_final=True)
    asked = any(finding.changed_by in (ChangedBy.DECLARED, ChangedBy.BOTH) for finding in verdict.findings)
    is_there = verdict.status is Status.IN_SYNC or bool(verdict.findings)
    if checked.decision.action in (Action.HOLD, Action.REPORT) and (asked or not is_there):
        raise DeployError(address, f"held back: {reasons[0].message}")
