"""How an assessment ends, and what it says of itself when it does."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from holdfast.model.condition import Truth
from holdfast.remediation.core import scoring
from holdfast.remediation.core import state as states
from holdfast.remediation.core.end_reasons import Flags, Progress, Reason
from holdfast.remediation.core.measurements import Measurement
from holdfast.remediation.core.state import (
    AssessmentCondition,
    AssessmentConditionType,
    AssessmentPhase,
    AssessmentState,
)


def is_decaying(state: AssessmentState) -> bool:
    """Tell whether an alert fires on though all else is well."""
    return state.decay is not None and state.alerts is None


def decay_condition(status: Truth, reason: str, now: float) -> AssessmentCondition:
    """Say whether an alert decays."""
    return AssessmentCondition(AssessmentConditionType.ALERT_DECAY_DETECTED, status, reason, "", now)


def shortcomings(state: AssessmentState, flags: Flags) -> str:
    """Say what the ending has to do without."""
    names = ("health", "alerts", "metrics")
    missing = [name for name, one in zip(names, flags.progress, strict=True) if one is Progress.MISSING]
    integrity = state.condition(AssessmentConditionType.SPEC_INTEGRITY)
    is_unsure = integrity is not None and integrity.status is Truth.UNKNOWN
    found = (
        f"not measured: {', '.join(missing)}" if missing else "",
        "the last look at the target could not tell whether it changed" if is_unsure else "",
    )
    return "; ".join(text for text in found if text)


def progress(found: Measurement | None, *, is_wanted: bool) -> Progress:
    """Return how far a component has come; what does not apply is finished, and is no data."""
    if not is_wanted or (found is not None and found.score is None):
        return Progress.OFF
    return Progress.MISSING if found is None else Progress.DONE


def drifted(state: AssessmentState, message: str, now: float) -> AssessmentState:
    """End an assessment whose target is not what the remediation left."""
    broken = AssessmentCondition(AssessmentConditionType.SPEC_INTEGRITY, Truth.FALSE, "SpecDrifted", message, now)
    return completed(states.stating(state, (broken,)), Reason.SPEC_DRIFT, message, now)


_COMPLETE_REASONS: Final = {
    Reason.FULL: "AssessmentFull",
    Reason.PARTIAL: "AssessmentPartial",
    Reason.EXPIRED: "AssessmentExpired",
    Reason.NO_EXECUTION: "NoExecution",
    Reason.METRICS_TIMED_OUT: "MetricsTimedOut",
    Reason.SPEC_DRIFT: "SpecDrift",
    Reason.ALERT_DECAY_TIMEOUT: "AlertDecayTimeout",
}


def completed(state: AssessmentState, reason: Reason, message: str, now: float) -> AssessmentState:
    """End an assessment for a reason."""
    scores = [None if one is None else one.score for one in (state.health, state.alerts, state.metrics)]
    new = replace(
        state,
        phase=AssessmentPhase.COMPLETED,
        reason=reason,
        score=scoring.overall(reason, *scores),
        completed_at=now,
        message=message,
    )
    complete = AssessmentCondition(
        AssessmentConditionType.ASSESSMENT_COMPLETE, Truth.TRUE, _COMPLETE_REASONS[reason], message, now
    )
    if not is_decaying(state):
        return states.stating(new, (complete,))
    ended = "SpecDrifted" if reason is Reason.SPEC_DRIFT else "DecayTimeout"
    return states.stating(new, (decay_condition(Truth.FALSE, ended, now), complete))


def failed(state: AssessmentState, message: str, now: float) -> AssessmentState:
    """End an assessment that could never have been one."""
    new = replace(state, phase=AssessmentPhase.FAILED, completed_at=now, message=message)
    invalid = AssessmentCondition(
        AssessmentConditionType.ASSESSMENT_COMPLETE, Truth.FALSE, "ValidationFailed", message, now
    )
    return states.stating(new, (invalid,))
