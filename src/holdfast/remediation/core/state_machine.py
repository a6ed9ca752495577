"""The state machine of an assessment as one pure function: state, facts and time in, state and requests out.

A pass reads the target first. Only if it is still in the state that the remediation left, other facts are requested.
When the last answer is in, the target is read once more, and only then, or at the deadline, is the assessment complete.
So no measurement counts that is known to be of another author's state. The engine carries out the requests and returns
with the facts:

    state, wants = phases.step(state, Facts(), now)        # wants.asks == (Ask.TARGET,)
    state, wants = phases.step(state, Facts(target=...), now)

State and events are stored in one transaction (see `journal`). Refuses to know how a fact is requested.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Final

from holdfast.compare.hash_schemes import HashComparison
from holdfast.model.condition import Truth
from holdfast.model.record import dataclass
from holdfast.remediation.core import audit_events, state_hash, timing
from holdfast.remediation.core import state as states
from holdfast.remediation.core.audit_events import RemediationEvent
from holdfast.remediation.core.scoring import Measurement
from holdfast.remediation.core.state import (
    AssessmentCondition,
    AssessmentConditionType,
    AssessmentPhase,
    AssessmentState,
    EndReason,
    Execution,
    Flags,
    Progress,
)
from holdfast.remediation.core.state_hash import StateHash, StateReading, StateUnknown
from holdfast.remediation.core.timing import AssessmentWindow


class Ask(Enum):
    """A fact that the engine can request."""

    EXECUTION = "execution"
    TARGET = "target"
    HEALTH = "health"
    ALERTS = "alerts"
    METRICS = "metrics"


@dataclass(frozen=True, slots=True)
class AssessmentFacts:
    """The facts since the last step. None for a fact that was not requested. Without any, a new pass begins."""

    execution: Execution | None = None
    target: StateReading | None = None
    health: Measurement | None = None
    alerts: Measurement | None = None
    metrics: Measurement | None = None

    @property
    def has_measurements(self) -> bool:
        """True if a component was asked for, with whatever success."""
        return any(measurement is not None for measurement in (self.health, self.alerts, self.metrics))


@dataclass(frozen=True, slots=True)
class Wants:
    """The next actions: send the events, then request facts and return at once, or sleep. All empty at the end."""

    asks: tuple[Ask, ...] = ()
    wake_at: float | None = None
    events: tuple[RemediationEvent, ...] = ()


_PHASES: Final = {
    AssessmentWindow.WAITING: AssessmentPhase.WAITING,
    AssessmentWindow.STABILISING: AssessmentPhase.STABILISING,
    AssessmentWindow.ACTIVE: AssessmentPhase.ASSESSING,
    AssessmentWindow.EXPIRED: AssessmentPhase.ASSESSING,
}
_ORDER: Final = tuple(AssessmentPhase)


def step(state: AssessmentState, facts: AssessmentFacts, now: float) -> tuple[AssessmentState, Wants]:
    """Take in the facts and return the next requests.

    Drift is checked before the clock and before every other fact. Repeating a step from the same state changes nothing
    and sends no new event.
    """
    if state.phase.is_terminal:
        return state, Wants()
    if not state.remediation.correlation_id:
        return _wanting(state, failed(state, "the remediation has no correlation id", now), now)
    new = _with_target(_with_execution(_advanced(state, now), facts, now), facts, now)
    if not new.phase.is_terminal and timing.window(new.timing, now) is AssessmentWindow.EXPIRED:
        if new.baseline is not None and facts.target is None:
            return _wanting(state, new, now, (Ask.TARGET,))
        new = _ended(new, facts, now, is_past_deadline=True)
    elif not new.phase.is_terminal:
        new = _with_measurements(new, facts, now)
        new = _ended(new, facts, now) if _may_end(new, facts) else new
    if new.phase.is_terminal:
        return _wanting(state, new, now)
    return _wanting(state, new, now, _asks(new, facts, now), facts)


def opening(state: AssessmentState, now: float) -> tuple[AssessmentState, Wants]:
    """Take the first step without a request, for a caller that has just confirmed the change and need not read again.

    The confirmation is sent at once, and the next read is at the first time when there may be news.
    """
    new, wants = step(state, AssessmentFacts(), now)
    if not wants.asks:
        return new, wants
    return new, Wants((), _wake_at(new, AssessmentFacts(), now), wants.events)


def _wanting(
    old: AssessmentState,
    new: AssessmentState,
    now: float,
    asks: tuple[Ask, ...] = (),
    facts: AssessmentFacts | None = None,
) -> tuple[AssessmentState, Wants]:
    sleeps = not asks and not new.phase.is_terminal
    wake_at = _wake_at(new, facts or AssessmentFacts(), now) if sleeps else None
    return new, Wants(asks, wake_at, audit_events.between(old, new, now))


# --- taking in -------------------------------------------------------------------------------------------------------


def _advanced(state: AssessmentState, now: float) -> AssessmentState:
    """Move on with the clock, over several phases at once if need be, and never back."""
    due = _PHASES[timing.window(state.timing, now)]
    phase = max(state.phase, due, key=_ORDER.index)
    confirmed = state.remediation.confirmed
    if state.baseline is not None or confirmed is None or state.windows.hash_delay > 0:
        return replace(state, phase=phase)  # what has to propagate is confirmed only when it has
    return _with_baseline(replace(state, phase=phase), confirmed, now)


def _with_execution(state: AssessmentState, facts: AssessmentFacts, now: float) -> AssessmentState:
    if facts.execution is None or state.execution is Execution.COMPLETED:
        return state
    is_late = facts.execution is Execution.STARTED and state.phase is AssessmentPhase.ASSESSING
    since = (now if state.incomplete_since is None else state.incomplete_since) if is_late else None
    return replace(state, execution=facts.execution, incomplete_since=since)


def _with_target(state: AssessmentState, facts: AssessmentFacts, now: float) -> AssessmentState:
    if facts.target is None or state.phase in (AssessmentPhase.PENDING, AssessmentPhase.WAITING):
        return state
    if isinstance(facts.target, StateUnknown):
        return _unguarded(state, "TargetUnreadable", facts.target.detail or "the target could not be read", now)
    if state.baseline is None:
        is_time = timing.window(state.timing, now) is not AssessmentWindow.EXPIRED
        return _with_baseline(state, facts.target, now) if is_time and _may_take_baseline(state, now) else state
    return _guarded(state, state.baseline, facts.target, now)


def _with_baseline(state: AssessmentState, seen: StateHash, now: float) -> AssessmentState:
    """Keep what the remediation left: at its confirmation, so that a change while it settles is drift already."""
    new = replace(state, baseline=seen, current=seen.hash)
    return states.stating(
        new,
        (
            AssessmentCondition(AssessmentConditionType.POST_HASH_CAPTURED, Truth.TRUE, "HashCaptured", seen.hash, now),
            AssessmentCondition(AssessmentConditionType.SPEC_INTEGRITY, Truth.TRUE, "SpecUnchanged", "", now),
        ),
    )


def _guarded(state: AssessmentState, baseline: StateHash, seen: StateHash, now: float) -> AssessmentState:
    found = state_hash.compare(baseline, seen)
    if found is HashComparison.INCOMPARABLE:
        return _unguarded(state, "Incomparable", f"{baseline.hash} and {seen.hash} are made in different ways", now)
    new = replace(state, current=seen.hash)
    if found is HashComparison.DIFFERENT:
        is_back = seen.hash == baseline.hash
        message = f"{seen.hash}, changed and revert since" if is_back else f"{baseline.hash} -> {seen.hash}"
        return drifted(new, message, now)
    unchanged = AssessmentCondition(AssessmentConditionType.SPEC_INTEGRITY, Truth.TRUE, "SpecUnchanged", "", now)
    return states.stating(new, (unchanged,))


def _unguarded(state: AssessmentState, reason: str, message: str, now: float) -> AssessmentState:
    """Note that the guard could not tell; that is no drift, and no hash."""
    captured = state.baseline is not None
    type_ = AssessmentConditionType.SPEC_INTEGRITY if captured else AssessmentConditionType.POST_HASH_CAPTURED
    status = Truth.UNKNOWN if captured else Truth.FALSE
    return states.stating(state, (AssessmentCondition(type_, status, reason, message, now),))


def _with_measurements(state: AssessmentState, facts: AssessmentFacts, now: float) -> AssessmentState:
    """Take in what was measured, the alerts last: whether one still firing is lag depends on all the rest."""
    if state.phase is not AssessmentPhase.ASSESSING or state.baseline is None:
        return state
    new = _with_health(state, facts.health)
    if facts.metrics is not None and facts.metrics.is_assessed and new.measured.metrics is None:
        new = replace(new, measured=replace(new.measured, metrics=facts.metrics))
    if facts.alerts is None or not facts.alerts.is_assessed or new.measured.alerts is not None:
        return new
    return _with_alerts(new, facts.alerts, now)


def _with_health(state: AssessmentState, found: Measurement | None) -> AssessmentState:
    is_open = state.measured.health is None or is_decaying(state)
    if found is None or not found.is_assessed or not is_open:
        return state
    told = state.measured.health is not None and state.measured.health.score == found.score
    return replace(
        state,
        measured=replace(state.measured, health=found, health_revisions=state.measured.health_revisions + (not told)),
    )


def _with_alerts(state: AssessmentState, found: Measurement, now: float) -> AssessmentState:
    """Accept the answer, unless it fires on although all else is well: then it is likely to be Prometheus' lag."""
    if found.is_against and _is_well(state):
        active = decay_condition(Truth.TRUE, "DecayActive", now)
        new = replace(
            state,
            measured=replace(
                state.measured, decay=state.measured.decay or found, decay_retries=state.measured.decay_retries + 1
            ),
        )
        return states.stating(new, (active,))
    new = replace(state, measured=replace(state.measured, alerts=found))
    if state.measured.decay is None:
        return new
    reason = "DecayRefuted" if found.is_against else "DecayResolved"
    return states.stating(new, (decay_condition(Truth.FALSE, reason, now),))


def _is_well(state: AssessmentState) -> bool:
    healthy = (
        state.measured.health is not None
        and state.measured.health.score is not None
        and state.measured.health.score > 0
    )
    return healthy and not (state.measured.metrics is not None and state.measured.metrics.is_against)


# --- ending ----------------------------------------------------------------------------------------------------------


def _may_end(state: AssessmentState, facts: AssessmentFacts) -> bool:
    """Return True if this step may be the last: the guard has just passed, or there was never anything to guard.

    A target read together with what was measured was read before it, and says nothing about the time since.
    """
    is_guarded = _guard_has_passed(state, facts) and not facts.has_measurements
    return is_guarded or _is_never_executed(state, facts)


def _guard_has_passed(state: AssessmentState, facts: AssessmentFacts) -> bool:
    integrity = state.condition(AssessmentConditionType.SPEC_INTEGRITY)
    return isinstance(facts.target, StateHash) and integrity is not None and integrity.status is Truth.TRUE


def _is_never_executed(state: AssessmentState, facts: AssessmentFacts) -> bool:
    return facts.execution is Execution.NOT_STARTED and state.phase is AssessmentPhase.ASSESSING


def _ended(
    state: AssessmentState, facts: AssessmentFacts, now: float, *, is_past_deadline: bool = False
) -> AssessmentState:
    """Complete the assessment if there is a reason to."""
    if state.phase is not AssessmentPhase.ASSESSING:
        return state
    flags = Flags(
        is_never_executed=_is_never_executed(state, facts) and not is_past_deadline,
        is_execution_incomplete=_is_scope_partial(state, now),
        is_past_deadline=is_past_deadline,
        is_decaying=is_decaying(state),
        is_hashed=state.baseline is not None,
        health=progress(state.measured.health, is_wanted=state.scope.health),
        alerts=progress(state.measured.alerts, is_wanted=state.scope.alerts),
        metrics=progress(state.measured.metrics, is_wanted=state.scope.metrics),
    )
    reason = states.decide(flags)
    return state if reason is None else completed(state, reason, shortcomings(state, flags), now)


# --- going on --------------------------------------------------------------------------------------------------------


def _asks(state: AssessmentState, facts: AssessmentFacts, now: float) -> tuple[Ask, ...]:
    """Return the facts to request now. Only the target is requested before the guard has passed."""
    if state.phase is AssessmentPhase.WAITING:
        return ()
    if facts == AssessmentFacts():
        lookup = () if state.execution is Execution.COMPLETED else (Ask.EXECUTION,)
        return (*lookup, *_target(state, now))
    if facts.has_measurements:
        return (Ask.TARGET,) if _is_all_in(state, now) else ()
    if facts.target is None:
        return _target(state, now)
    return _missing(state, now) if _guard_has_passed(state, facts) and state.phase is AssessmentPhase.ASSESSING else ()


def _target(state: AssessmentState, now: float) -> tuple[Ask, ...]:
    return (Ask.TARGET,) if state.baseline is not None or _may_take_baseline(state, now) else ()


def _may_take_baseline(state: AssessmentState, now: float) -> bool:
    """Return True if the change is in place: it is reported, or no source can report it, or its time is over."""
    done = state.execution in (Execution.COMPLETED, Execution.UNKNOWN)
    return done or _is_scope_partial(state, now)


def _is_scope_partial(state: AssessmentState, now: float) -> bool:
    """Return True if a remediation that was begun has not ended and will not be waited for any longer."""
    return state.incomplete_since is not None and now >= state.incomplete_since + timing.EXECUTION_GRACE


def _missing(state: AssessmentState, now: float) -> tuple[Ask, ...]:
    """Return the components that still have to be asked for; health again for as long as an alert decays."""
    partial = _is_scope_partial(state, now)
    is_alert_due = now >= state.timing.alert_check_after
    wanted = {
        Ask.HEALTH: state.scope.health and (state.measured.health is None or is_decaying(state)),
        Ask.ALERTS: state.scope.alerts and state.measured.alerts is None and is_alert_due and not partial,
        Ask.METRICS: state.scope.metrics and state.measured.metrics is None and not partial,
    }
    return tuple(ask for ask, is_wanted in wanted.items() if is_wanted)


def _is_all_in(state: AssessmentState, now: float) -> bool:
    waits_for_alerts = state.scope.alerts and state.measured.alerts is None and not _is_scope_partial(state, now)
    return not _missing(state, now) and not waits_for_alerts


def _wake_at(state: AssessmentState, facts: AssessmentFacts, now: float) -> float:
    times = state.timing
    if state.phase is AssessmentPhase.WAITING:
        return times.anchor
    interval = times.error_interval if isinstance(facts.target, StateUnknown) else times.interval
    grace = None if state.incomplete_since is None else state.incomplete_since + timing.EXECUTION_GRACE
    return timing.next_look(times, now, interval, times.check_after, times.alert_check_after, grace)


def is_decaying(state: AssessmentState) -> bool:
    """Return True if an alert fires on though all else is well."""
    return state.measured.decay is not None and state.measured.alerts is None


def decay_condition(status: Truth, reason: str, now: float) -> AssessmentCondition:
    """Return True if an alert decays."""
    return AssessmentCondition(AssessmentConditionType.ALERT_DECAY_DETECTED, status, reason, "", now)


def shortcomings(state: AssessmentState, flags: Flags) -> str:
    """Return the components that the ending lacks."""
    names = ("health", "alerts", "metrics")
    missing = [name for name, progress in zip(names, flags.progress, strict=True) if progress is Progress.MISSING]
    integrity = state.condition(AssessmentConditionType.SPEC_INTEGRITY)
    is_unsure = integrity is not None and integrity.status is Truth.UNKNOWN
    found = (
        f"not measured: {', '.join(missing)}" if missing else "",
        "the last read of the target failed" if is_unsure else "",
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
    return completed(states.stating(state, (broken,)), EndReason.SPEC_DRIFT, message, now)


_COMPLETE_REASONS: Final = {
    EndReason.FULL: "AssessmentFull",
    EndReason.PARTIAL: "AssessmentPartial",
    EndReason.EXPIRED: "AssessmentExpired",
    EndReason.NO_EXECUTION: "NoExecution",
    EndReason.METRICS_TIMED_OUT: "MetricsTimedOut",
    EndReason.SPEC_DRIFT: "SpecDrift",
    EndReason.ALERT_DECAY_TIMEOUT: "AlertDecayTimeout",
}


def completed(state: AssessmentState, reason: EndReason, message: str, now: float) -> AssessmentState:
    """End an assessment for a reason."""
    scores = [
        None if measurement is None else measurement.score
        for measurement in (state.measured.health, state.measured.alerts, state.measured.metrics)
    ]
    new = replace(
        state,
        phase=AssessmentPhase.COMPLETED,
        reason=reason,
        score=states.overall(reason, *scores),
        completed_at=now,
        message=message,
    )
    complete = AssessmentCondition(
        AssessmentConditionType.ASSESSMENT_COMPLETE, Truth.TRUE, _COMPLETE_REASONS[reason], message, now
    )
    if not is_decaying(state):
        return states.stating(new, (complete,))
    ended = "SpecDrifted" if reason is EndReason.SPEC_DRIFT else "DecayTimeout"
    return states.stating(new, (decay_condition(Truth.FALSE, ended, now), complete))


def failed(state: AssessmentState, message: str, now: float) -> AssessmentState:
    """End an assessment that could never have been one."""
    new = replace(state, phase=AssessmentPhase.FAILED, completed_at=now, message=message)
    invalid = AssessmentCondition(
        AssessmentConditionType.ASSESSMENT_COMPLETE, Truth.FALSE, "ValidationFailed", message, now
    )
    return states.stating(new, (invalid,))
