"""Conditions of a resource for programs: Progressing, Available, Drifted, Fresh, Conflict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast.model.condition import Condition, ConditionType, Truth, merge
from holdfast.model.decision import Action, Decision
from holdfast.model.record import dataclass
from holdfast.model.verdict import Status, Verdict
from holdfast.policy.decide import DecisionInputs, HoldReason

if TYPE_CHECKING:
    from holdfast.policy.fleet_limits import Allowed
    from holdfast.reconcile.check import CheckResult


@dataclass(frozen=True, slots=True)
class ConditionOutcome:
    """Outcome of a check or a write, from which the conditions are derived."""

    generation: int
    verdict: Verdict
    decision: Decision
    at: float
    inputs: DecisionInputs | None = None


def after(before: Iterable[Condition], outcome: ConditionOutcome) -> tuple[Condition, ...]:
    """Return the current conditions. Conflict is included once there has been contention."""
    known = {condition.type: condition for condition in before}
    fought = _conflict(outcome.inputs)
    told = _told(outcome)
    if fought is not None or ConditionType.CONFLICT in known:
        told[ConditionType.CONFLICT] = fought or (Truth.FALSE, "NoContention", "no other writer changes the resource")
    new = [Condition(kind, *said, outcome.generation, outcome.at) for kind, said in told.items()]
    return tuple(merge(known, new).values())


def undeclared(before: Iterable[Condition], generation: int, at: float, message: str) -> tuple[Condition, ...]:
    """Return the conditions of a resource that is no longer declared. Its state is unknown."""
    known = {condition.type: condition for condition in before}
    told = {
        ConditionType.PROGRESSING: Truth.FALSE,
        ConditionType.AVAILABLE: Truth.UNKNOWN,
        ConditionType.DRIFTED: Truth.UNKNOWN,
        ConditionType.FRESH: Truth.FALSE,
    }
    new = [Condition(kind, truth, "NotDeclared", message, generation, at) for kind, truth in told.items()]
    return tuple(merge(known, new).values())


def _told(outcome: ConditionOutcome) -> dict[ConditionType, tuple[Truth, str, str]]:
    verdict, decision = outcome.verdict, outcome.decision
    unknown = verdict.status is Status.UNKNOWN
    moved = Truth(str(verdict.status in (Status.DRIFTED, Status.CONFLICTED, Status.MISSING)))
    next_step = f"checked; next: {decision.reasons[0].message}"
    return {
        ConditionType.PROGRESSING: _progressing(verdict, decision),
        ConditionType.AVAILABLE: _available(verdict),
        ConditionType.DRIFTED: (
            Truth.UNKNOWN if unknown else moved,
            "Unknown" if unknown else _camel(verdict.status.value),
            verdict.reason,
        ),
        ConditionType.FRESH: (
            Truth.FALSE if unknown else Truth.TRUE,
            "ReadFailed" if unknown else "Checked",
            verdict.reason if unknown else next_step,
        ),
    }


def _conflict(inputs: DecisionInputs | None) -> tuple[Truth, str, str] | None:
    restrained = inputs.paths.restrained if inputs is not None else {}
    found = [f"{path}: {why.message}" for path, why in restrained.items() if why.restraint is HoldReason.CONTENTION]
    return (Truth.TRUE, "Contention", "; ".join(found)) if found else None


def _progressing(verdict: Verdict, decision: Decision) -> tuple[Truth, str, str]:
    message = decision.reasons[0].message
    if decision.action is Action.BLOCK:
        return Truth.FALSE, "Stalled", message
    if verdict.status is Status.UNKNOWN:
        return Truth.TRUE, "TransientError", verdict.reason
    if decision.action.is_write or decision.action in (Action.HOLD, Action.ADOPT):
        return Truth.TRUE, _camel(decision.action.value), message
    return Truth.FALSE, "Success" if verdict.status is Status.IN_SYNC else "Reported", message


def _available(verdict: Verdict) -> tuple[Truth, str, str]:
    match verdict.status:
        case Status.UNKNOWN:
            return Truth.UNKNOWN, "ReadFailed", verdict.reason
        case Status.MISSING:
            return Truth.FALSE, "Missing", verdict.reason
        case Status.PENDING if not verdict.findings:
            return Truth.FALSE, "NotCreated", verdict.reason
        case _:
            return Truth.TRUE, "Found", "there"


def _camel(text: str) -> str:
    return "".join(word.capitalize() for word in text.split("_"))


def limit(checked: CheckResult, allowed: Allowed) -> CheckResult:
    """Return a check with its decision after the limits of the fleet, and with the conditions that follow."""
    if allowed.decision is checked.decision:
        return replace(checked, charges=allowed.charges) if allowed.charges else checked
    state = checked.state
    outcome = ConditionOutcome(state.declared.generation, checked.verdict, allowed.decision, checked.at, checked.inputs)
    state = replace(state, observed=replace(state.observed, conditions=after(state.observed.conditions, outcome)))
    return replace(checked, decision=allowed.decision, state=state, charges=(), limit=allowed.decision.reasons[0])


def is_news(checked: CheckResult) -> bool:
    """Return True if a check changed the conditions of the resource."""
    before = checked.prepared.state
    return before is None or before.observed.conditions != checked.state.observed.conditions
