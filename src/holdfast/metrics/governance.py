"""Counting running operations, decisions of people, and events of the audit trail. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from holdfast.metrics import definitions
from holdfast.metrics.families import Samples
from holdfast.store.governance import Approval, CorrectionOutcome, Pause, Quarantine
from holdfast.store.records import AuditEvent, Claim, OperationStep, WriteOperation

_STEPS: Final = tuple(step.value for step in OperationStep if step is not OperationStep.DONE)
_SCOPES: Final = ("everything", "connection", "kind", "resource")  # by how many slashes a scope has
_ENDS: Final = {
    "write.refused": CorrectionOutcome.FAILED,
    "write.given_up": CorrectionOutcome.FAILED,
    "undo.done": CorrectionOutcome.UNDONE,
}
_HALTED: Final = "rollout.halted"
_ACTIVATED: Final = "template.activate"


def count_operations(readings: Samples, operations: Iterable[WriteOperation]) -> None:
    """Count writes in flight."""
    for step in _STEPS:
        readings.add(definitions.OPERATIONS, step, by=0)
    for operation in operations:
        readings.add(definitions.OPERATIONS, operation.step.value)
        readings.earliest(definitions.OLDEST_OPERATION, at=operation.started_at)


def count_claims(readings: Samples, claims: Iterable[Claim], now: float) -> None:
    """Count claims; one that has lapsed is of a worker that did not live to give it back."""
    for state in ("held", "lapsed"):
        readings.add(definitions.CLAIMS, state, by=0)
    for claim in claims:
        readings.add(definitions.CLAIMS, "held" if claim.until > now else "lapsed")


def in_force(pauses: Iterable[Pause], now: float) -> list[Pause]:
    """Return the pauses that have not run out."""
    return [pause for pause in pauses if pause.until is None or now < pause.until]


def count_pauses(readings: Samples, pauses: Iterable[Pause]) -> None:
    """Count pauses by the level of their scope, never by name."""
    for scope in _SCOPES:
        readings.add(definitions.PAUSES, scope, by=0)
    for pause in pauses:
        readings.add(definitions.PAUSES, _SCOPES[min(pause.scope.count("/") + 1, 3) if pause.scope else 0])


def count_decisions(readings: Samples, quarantines: Iterable[Quarantine], approvals: Iterable[Approval]) -> None:
    """Count the quarantines that wait for a person, and the approvals that wait for Holdfast."""
    for cause in ("contention", "undone"):
        readings.add(definitions.QUARANTINES, cause, by=0)
    for quarantine in quarantines:
        readings.add(definitions.QUARANTINES, quarantine.cause)
    readings.put(definitions.APPROVALS, value=sum(1 for _ in approvals))


def count_no_events(readings: Samples) -> None:
    """Add zeros for all outcomes of corrections, before anything is counted."""
    for outcome in CorrectionOutcome:
        if outcome is not CorrectionOutcome.BEGUN:
            readings.add(definitions.CORRECTIONS, outcome.value, by=0)


def count_event(readings: Samples, event: AuditEvent) -> None:
    """Count one line of the audit trail."""
    readings.add(definitions.EVENTS, event.type)
    if event.type == "write.done":
        outcome = CorrectionOutcome.INEFFECTIVE if event.data.get("unresolved") else CorrectionOutcome.DONE
        readings.add(definitions.CORRECTIONS, outcome.value)
    elif event.type in _ENDS:
        readings.add(definitions.CORRECTIONS, _ENDS[event.type].value)
    elif event.type == _HALTED:
        readings.add(definitions.HALTS, event.subject)
    elif event.type == _ACTIVATED:
        readings.add(definitions.ACTIVATIONS, event.subject)
