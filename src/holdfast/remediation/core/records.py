"""The record of one remediation: the action, its target, the reason, and its assessment.

One record lasts from the beginning to the end of the assessment and, if policy asks for it, to the undo. Refuses to
know how it is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from holdfast.remediation.core import audit_events, state_hash
from holdfast.remediation.core.alerts import Signal
from holdfast.remediation.core.audit_events import EventType, RemediationEvent, Workflow
from holdfast.remediation.core.past_attempts import PastAttempt
from holdfast.remediation.core.state import AssessmentPhase, AssessmentState, EndReason, Execution, Remediation
from holdfast.remediation.core.state_hash import StateHash


class RemediationSource(StrEnum):
    """The author of a remediation."""

    OURS = "correction"  # a write of ours
    OTHERS = "external"  # announced from outside Holdfast


class RemediationEnding(StrEnum):
    """The end of a remediation as its author reports it."""

    COMPLETED = "completed"
    FAILED = "failed"  # begun, and not finished
    NOT_EXECUTED = "not_executed"  # never begun

    @property
    def execution(self) -> Execution:
        """The meaning of that end for the assessment."""
        return {
            RemediationEnding.COMPLETED: Execution.COMPLETED,
            RemediationEnding.FAILED: Execution.STARTED,
            RemediationEnding.NOT_EXECUTED: Execution.NOT_STARTED,
        }[self]


class Undo(StrEnum):
    """The state of the undo."""

    NONE = "none"  # no undo was requested
    WANTED = "wanted"  # the score was under the threshold
    DONE = "done"
    REFUSED = "refused"  # it could not be, and is not tried again


@dataclass(frozen=True, slots=True)
class UndoAttempts:
    """How often an undo was tried, and the result of the last attempt."""

    note: str = ""
    tries: int = 0


@dataclass(frozen=True, slots=True)
class RemediationRecord:
    """One remediation."""

    correlation_id: str
    target: str  # an address
    source: RemediationSource
    started_at: float
    workflow: Workflow = field(default_factory=Workflow)
    signal: Signal = field(default_factory=lambda: Signal(""))
    alerting: str = ""  # what alerted, where that is something else
    who: str = ""
    pre: StateHash | None = None  # the state before the first write; None: it could not be read
    pre_note: str = ""  # why not
    ending: RemediationEnding | None = None  # None: under way
    ended_at: float | None = None
    assessment: AssessmentState | None = None  # None: not begun, or not wanted
    undo: Undo = Undo.NONE
    undo_attempts: UndoAttempts = field(default_factory=UndoAttempts)

    @property
    def is_open(self) -> bool:
        """True if the remediation itself is still under way."""
        return self.ending is None

    @property
    def is_settled(self) -> bool:
        """True if nothing will happen to this record any more."""
        assessed = self.assessment is None or self.assessment.phase.is_terminal
        return not self.is_open and assessed and self.undo is not Undo.WANTED

    def remediation(self, confirmed: StateHash | None = None) -> Remediation:
        """Return it as what an assessment is about."""
        return Remediation(
            self.correlation_id,
            self.target,
            self.started_at if self.ended_at is None else self.ended_at,
            self.signal.name,
            self.alerting,
            None if self.pre is None else self.pre.hash,
            confirmed,
            self.started_at,
        )


def created(record: RemediationRecord) -> RemediationEvent:
    """Record that a remediation begins, with the state before it."""
    way = record.pre.way if record.pre is not None else ""
    return audit_events.workflow_created(record.remediation(), record.workflow, record.started_at, hash_scheme=way)


def completed(record: RemediationRecord) -> RemediationEvent:
    """Record that a remediation ended."""
    at = record.started_at if record.ended_at is None else record.ended_at
    fields = {"outcome": record.ending.value if record.ending else "", "target_resource": record.target}
    return audit_events.told(EventType.WORKFLOW_COMPLETED, record.remediation(), at, fields)


def precedent(record: RemediationRecord) -> PastAttempt:
    """Return a record as history for the next decision."""
    past = PastAttempt(
        record.correlation_id,
        record.target,
        record.started_at,
        record.workflow.action_type,
        record.signal.name,
        None if record.pre is None else record.pre.hash,
    )
    state = record.assessment
    if state is None:
        return past
    post = None if state.baseline is None else state.baseline.hash
    has_drifted = state.reason is EndReason.SPEC_DRIFT and state.current not in (None, post, state_hash.ABSENT_HASH)
    return replace(
        past,
        post_hash=post,
        drifted_hash=state.current if has_drifted else None,
        reason=state.reason if state.phase is AssessmentPhase.COMPLETED else None,
        score=state.score,
        is_resolved=None
        if state.measured.alerts is None or state.measured.alerts.score is None
        else state.measured.alerts.score > 0,
    )
