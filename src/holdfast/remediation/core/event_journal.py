"""Which events a change of state stands for: a function of the state before and the state after, and of nothing else.

That is what keeps events from being told twice. Whoever stores the new state and its events in one transaction may
repeat a step as often as processes crash: from the old state it gives the same events, from the new one none.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.remediation.core import events
from holdfast.remediation.core.events import Ending, Event, EventType
from holdfast.remediation.core.state import AssessmentPhase, AssessmentState


def between(old: AssessmentState, new: AssessmentState, now: float) -> tuple[Event, ...]:
    """Return the events of one step, in the order a reader expects them."""
    return tuple(_told(old, new, now))


def _told(old: AssessmentState, new: AssessmentState, now: float) -> Iterator[Event]:
    if new.phase is AssessmentPhase.FAILED:
        return  # without a correlation id there is nothing an event could be about
    if old.phase is AssessmentPhase.PENDING and new.phase is not AssessmentPhase.PENDING:
        yield events.scheduled(new.remediation, new.windows, new.timing, now)
    if old.baseline is None and new.baseline is not None:
        yield events.hash_computed(new.remediation, new.baseline, now)
    yield from _components(old, new, now)
    if new.reason is not None and old.reason is None:
        ending = Ending(new.reason, new.message, new.score, _assessed(new))
        yield events.completed(new.remediation, ending, now)


def _components(old: AssessmentState, new: AssessmentState, now: float) -> Iterator[Event]:
    done = new.remediation
    is_told = new.health_revisions > old.health_revisions
    if new.health is not None and is_told and (new.health.score is not None or new.health_revisions > 1):
        yield events.component(EventType.HEALTH_ASSESSED, done, new.health, now, new.health_revisions)
    if new.decay is not None and old.decay is None:
        yield events.component(EventType.ALERT_DECAY_DETECTED, done, new.decay, now)
    if new.alerts is not None and old.alerts is None:
        yield events.component(EventType.ALERT_ASSESSED, done, new.alerts, now)
    if new.metrics is not None and old.metrics is None:
        yield events.component(EventType.METRICS_ASSESSED, done, new.metrics, now)


def _assessed(state: AssessmentState) -> list[str]:
    found = {
        "hash": state.baseline is not None,
        "health": state.health is not None,
        "alert": state.alerts is not None,
        "metrics": state.metrics is not None,
    }
    return [name for name, is_there in found.items() if is_there]
