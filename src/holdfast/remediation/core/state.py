"""All that is kept of an assessment between two looks: frozen, and enough to go on from after a crash."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field, replace
from enum import Enum, StrEnum
from typing import Final

from holdfast.model.condition import Truth
from holdfast.model.record import dataclass
from holdfast.remediation.core import scoring, timing
from holdfast.remediation.core.scoring import Measurement
from holdfast.remediation.core.state_hash import StateHash
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
        """True if nothing will happen any more."""
        return self in (AssessmentPhase.COMPLETED, AssessmentPhase.FAILED)


class Execution(Enum):
    """The state of the remediation itself. Unknown means that no source could report it, and it has no influence."""

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
    """The action and its target."""

    correlation_id: str
    target: str  # what was changed: it is hashed, guarded and probed
    created_at: float
    signal_name: str = ""  # the alert; without a name none can be said to be resolved
    signal_target: str = ""  # what alerted, where that is something else
    pre_hash: str | None = None
    confirmed: StateHash | None = None  # the read that confirmed the change, which is the baseline
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
class Measured:
    """The measurements of an assessment so far."""

    health: Measurement | None = None
    health_revisions: int = 0  # health is measured again while an alert decays
    alerts: Measurement | None = None
    metrics: Measurement | None = None
    decay: Measurement | None = None  # the alert when it was first seen to keep firing
    decay_retries: int = 0


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
    baseline: StateHash | None = None
    current: str | None = None  # the hash last seen
    measured: Measured = field(default_factory=Measured)
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
    """Return a new assessment. Its times are fixed from here on.

    Give `Execution.COMPLETED` for our own correction, and no source is asked. Alerts are left out when the remediation
    names none.
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


class EndReason(StrEnum):
    """The ways an assessment can end."""

    FULL = "full"
    PARTIAL = "partial"
    EXPIRED = "expired"
    NO_EXECUTION = "no_execution"
    METRICS_TIMED_OUT = "metrics_timed_out"
    SPEC_DRIFT = "spec_drift"
    ALERT_DECAY_TIMEOUT = "alert_decay_timeout"


_BY_NAME: Final = {reason.value: reason for reason in EndReason}
_PREFIX: Final = re.compile(r"^Assessment(?=[A-Z])")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def parse(text: str) -> EndReason | None:
    """Read either spelling, `spec_drift` or `SpecDrift`; None for a reason this release does not know."""
    spelled = _HUMP.sub("_", _PREFIX.sub("", text)).lower()
    return _BY_NAME.get(spelled)


class Progress(Enum):
    """The progress of a component. Off means that it was not requested."""

    MISSING = "missing"
    DONE = "done"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Flags:
    """All that the reason depends on."""

    is_drifted: bool = False
    is_never_executed: bool = False
    is_execution_incomplete: bool = False  # begun, not finished, and the grace is over
    is_past_deadline: bool = False
    is_decaying: bool = False  # the alert fires on though all else is well
    is_hashed: bool = False
    health: Progress = Progress.MISSING
    alerts: Progress = Progress.MISSING
    metrics: Progress = Progress.MISSING

    @property
    def progress(self) -> tuple[Progress, Progress, Progress]:
        """The three components that can be measured."""
        return self.health, self.alerts, self.metrics


def decide(flags: Flags) -> EndReason | None:
    """Return the reason why the assessment ends now, or None if it goes on.

    Drift comes first, because the measurements are then of another state, whatever the clock says.
    """
    if flags.is_drifted:
        return EndReason.SPEC_DRIFT
    if flags.is_never_executed:
        return EndReason.NO_EXECUTION
    if flags.is_execution_incomplete and flags.is_hashed and flags.health is not Progress.MISSING:
        return EndReason.PARTIAL
    if flags.is_hashed and not flags.is_execution_incomplete and Progress.MISSING not in flags.progress:
        return EndReason.FULL
    return _at_deadline(flags) if flags.is_past_deadline else None


def _at_deadline(flags: Flags) -> EndReason:
    if flags.is_decaying and flags.alerts is Progress.MISSING:
        return EndReason.ALERT_DECAY_TIMEOUT
    if Progress.DONE not in flags.progress:
        return EndReason.EXPIRED  # a hash alone measures no effect
    only_metrics = flags.metrics is Progress.MISSING and Progress.MISSING not in (flags.health, flags.alerts)
    return EndReason.METRICS_TIMED_OUT if only_metrics and flags.is_hashed else EndReason.PARTIAL


def overall(
    reason: EndReason | None, health: float | None, alerts: float | None, metrics: float | None
) -> float | None:
    """Return the score of an assessment that ended for this reason, or has not ended yet.

    Spec drift scores 0.0 whatever was measured, because the measurements may be of another author's state.
    """
    return 0.0 if reason is EndReason.SPEC_DRIFT else scoring.weighted(health, alerts, metrics)
