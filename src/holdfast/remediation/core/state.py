"""All that is kept of an assessment between two looks: frozen, and enough to go on from after a crash."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum

from holdfast.model.condition import Truth
from holdfast.remediation.core import timing
from holdfast.remediation.core.guard import Sighted
from holdfast.remediation.core.measurements import Measurement
from holdfast.remediation.core.timing import Timing, Windows


class AssessmentPhase(StrEnum):
    """How far an assessment has come; only ever forwards."""

    PENDING = "pending"
    WAITING = "waiting_for_propagation"
    STABILISING = "stabilising"
    ASSESSING = "assessing"
    COMPLETED = "completed"
    FAILED = "failed"

    @property
    def is_terminal(self) -> bool:
        """Whether nothing will happen any more."""
        return self in (AssessmentPhase.COMPLETED, AssessmentPhase.FAILED)


class Execution(Enum):
    """What is known of the remediation itself; unknown means that nobody could say, and nothing is held against it."""

    UNASKED = "unasked"
    UNKNOWN = "unknown"
    NOT_STARTED = "not_started"
    STARTED = "started"
    COMPLETED = "completed"


class AssessmentConditionType(StrEnum):
    """The statements an assessment makes about itself; those about a resource are in `model.condition`."""

    SPEC_INTEGRITY = "SpecIntegrity"
    POST_HASH_CAPTURED = "PostHashCaptured"
    ALERT_DECAY_DETECTED = "AlertDecayDetected"
    ASSESSMENT_COMPLETE = "AssessmentComplete"


@dataclass(frozen=True, slots=True)
class AssessmentCondition:
    """One statement with its reason; `since` moves only when the status does."""

    type: AssessmentConditionType
    status: Truth
    reason: str
    message: str
    since: float


@dataclass(frozen=True, slots=True)
class Remediation:
    """What was done, and to what."""

    correlation_id: str
    target: str  # what was changed: it is hashed, guarded and probed
    created_at: float
    signal_name: str = ""  # the alert; without a name none can be said to be resolved
    signal_target: str = ""  # what alerted, where that is something else
    pre_hash: str | None = None
    confirmed: Sighted | None = None  # the read that confirmed the change, which is the baseline
    began_at: float | None = None  # when it was begun, where it took a while; `created_at` is when it was done

    @property
    def begun_at(self) -> float:
        """When the state before it ended."""
        return self.created_at if self.began_at is None else self.began_at


@dataclass(frozen=True, slots=True)
class AssessmentScope:
    """Which components are measured."""

    health: bool = True
    alerts: bool = True
    metrics: bool = True


@dataclass(frozen=True, slots=True)
class AssessmentState:
    """An assessment under way; made by `begin`, moved by `phases.step` only."""

    remediation: Remediation
    windows: Windows
    timing: Timing
    scope: AssessmentScope
    execution: Execution = Execution.UNASKED
    incomplete_since: float | None = None  # when stabilisation was over and the remediation was not
    phase: AssessmentPhase = AssessmentPhase.PENDING
    baseline: Sighted | None = None
    current: str | None = None  # the hash last seen
    health: Measurement | None = None
    health_revisions: int = 0  # health is looked at again while an alert decays
    alerts: Measurement | None = None
    metrics: Measurement | None = None
    decay: Measurement | None = None  # the alert as it was when it was first seen to fire on
    decay_retries: int = 0
    conditions: tuple[AssessmentCondition, ...] = field(default=())
    reason: EndReason | None = None
    score: float | None = None
    completed_at: float | None = None
    message: str = ""

    def condition(self, type_: AssessmentConditionType) -> AssessmentCondition | None:
        """Return one statement, if it has been made."""
        return next((condition for condition in self.conditions if condition.type is type_), None)


def begin(
    remediation: Remediation,
    windows: Windows,
    scope: AssessmentScope | None = None,
    execution: Execution = Execution.UNASKED,
) -> AssessmentState:
    """Return an assessment at which nobody has looked yet; its instants are fixed from here on.

    Give `Execution.COMPLETED` for a correction of our own, and nobody will be asked. Alerts are left out when the
    remediation names none.
    """
    wanted = scope or AssessmentScope()
    wanted = replace(wanted, alerts=wanted.alerts and bool(remediation.signal_name))
    return AssessmentState(remediation, windows, timing.plan(remediation.created_at, windows), wanted, execution)


def stating(state: AssessmentState, conditions: Iterable[AssessmentCondition]) -> AssessmentState:
    """Replace conditions, keeping the time of those whose status did not change."""
    kept = {condition.type: condition for condition in state.conditions}
    for condition in conditions:
        before = kept.get(condition.type)
        same = before is not None and before.status is condition.status
        kept[condition.type] = replace(condition, since=before.since) if before and same else condition
    return replace(state, conditions=tuple(kept.values()))
