"""What came of a call, in Python's words: a value where the resource is as declared, an error where it is not.

What is held back or left alone is told and no error, as long as it is the world's doing: the resource is there, and
works. What the object asks for and is not done is an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from holdfast.errors import DeployError
from holdfast.model.address import Address
from holdfast.model.attribution import LikelyActor
from holdfast.model.decision import Action, Decision
from holdfast.model.finding import ChangedBy
from holdfast.model.verdict import Status, Verdict
from holdfast.reconcile.action_result import ActionOutcome, ActionResult
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.report import RunReport

Resource = TypeVar("Resource")


@dataclass(frozen=True, slots=True)
class ResourceChange:
    """One resource that a call wrote: the resource itself, or a part that it refers to."""

    address: Address
    action: Action
    reason: str


@dataclass(frozen=True, slots=True)
class Deployment(Generic[Resource]):
    """A resource that is there: what was found, what was done about it, and what was left alone and why."""

    resource: Resource  # a copy that knows its id
    id: str
    address: Address
    action: Action  # what was done; UPDATE if only a part that it refers to was written, NONE if nothing was
    verdict: Verdict  # before anything was done
    decision: Decision
    likely_actors: tuple[LikelyActor, ...] = ()  # who may have moved what was left alone
    resumed: bool = False  # a write that was begun before, and cut off, was brought to its end first
    notes: tuple[str, ...] = ()  # what is not as asked for, though nothing stands in the way
    changes: tuple[ResourceChange, ...] = ()  # everything that was written, in the order of writing

    @property
    def left_alone(self) -> tuple[str, ...]:
        """The paths that moved and were not revert; the decision's reasons say why."""
        was_written = any(change.address == self.address for change in self.changes)
        reasons = self.decision.reasons[1:] if was_written else self.decision.reasons
        return tuple(path for reason in reasons for path in reason.paths)


@dataclass(frozen=True, slots=True)
class Checkup(Generic[Resource]):
    """What is true of a resource, and who may have moved it; nothing was changed."""

    resource: Resource
    address: Address
    verdict: Verdict
    decision: Decision  # what deploying it would do
    likely_actors: tuple[LikelyActor, ...] = ()

    @property
    def is_in_sync(self) -> bool:
        """Whether nothing is to be done, because nothing moved."""
        return self.verdict.status is Status.IN_SYNC and self.decision.action is Action.NONE


@dataclass(frozen=True, slots=True)
class Undeployed:
    """Something that is gone, and no longer tracked."""

    address: Address
    id: str | None
    message: str


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended for one resource."""

    checked: CheckResult | None  # the last look
    acted: ActionResult | None  # what was done about that
    resumed: bool = False  # a write begun by an earlier run was finished first


def ended(report: RunReport, address: Address) -> Ended:
    """Return how a run ended for a resource; a write that was only resumed is not what the last look led to."""
    checked = next((each for each in reversed(report.checked) if each.address == address), None)
    acts = [each for each in report.acted if each.checked.address == address]
    acted = next((each for each in acts if checked is not None and each.checked.decision is checked.decision), None)
    resumed = any(each is not acted and each.result is ActionOutcome.DONE for each in acts)
    return Ended(checked, acted, resumed)


def last_acts(report: RunReport, addresses: Iterable[Address]) -> list[ActionResult]:
    """Return what the last looks at some resources led to."""
    return [acted for each in addresses if (acted := ended(report, each).acted) is not None]


def changes(report: RunReport, addresses: Iterable[Address]) -> tuple[ResourceChange, ...]:
    """Return what a run wrote of some resources; resumed writes of earlier runs are not among them."""
    return tuple(
        ResourceChange(acted.checked.address, acted.checked.decision.action, acted.checked.verdict.reason)
        for acted in last_acts(report, addresses)
        if acted.result is ActionOutcome.DONE
    )


def insist(report: RunReport, address: Address) -> CheckResult:
    """Return the last look of a run that brought a resource about; raise DeployError if it did not."""
    waiting = next((each for each in report.waiting if each.declaration.address == address), None)
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
    """Return what is wrong with what a resource needs."""
    for each in report.acted:
        if each.checked.address != address and each.result is not ActionOutcome.DONE:
            return f"what it needs failed: {each.checked.address}: {each.message}"
    return None


def _insist_on_decision(checked: CheckResult) -> None:
    """Raise DeployError where nothing was done although something was asked for, or where nobody can tell."""
    address, verdict, reasons = str(checked.address), checked.verdict, checked.decision.reasons
    if verdict.status is Status.UNKNOWN:
        raise DeployError(address, f"nothing was done, because it {verdict.reason}")
    if checked.decision.action is Action.BLOCK:
        raise DeployError(address, reasons[0].message, is_final=True)
    asked = any(finding.changed_by in (ChangedBy.DECLARED, ChangedBy.BOTH) for finding in verdict.findings)
    is_there = verdict.status is Status.IN_SYNC or bool(verdict.findings)
    if checked.decision.action in (Action.HOLD, Action.REPORT) and (asked or not is_there):
        raise DeployError(address, f"held back: {reasons[0].message}")
