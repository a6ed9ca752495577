"""Past attempts on a target, and whether they advise against another one.

Two cases are kept apart: a remediation that did not hold, because the target was changed after it (its effect is
unknown, so no trend counts it), and one that did not help. Refuses to know where the records are kept. A caller that
cannot read them passes None, and nothing is refused without a history.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final

from holdfast.model.record import dataclass
from holdfast.remediation.core.state import EndReason

REMEMBERED: Final = 7_776_000.0  # seconds, 90 days: what is older is history of another kind


@dataclass(frozen=True, slots=True)
class PastAttempt:
    """One remediation of the past."""

    correlation_id: str
    target: str
    at: float
    action: str = ""
    signal: str = ""
    pre_hash: str | None = None
    post_hash: str | None = None
    drifted_hash: str | None = None  # what the target was changed to, where it did not hold
    reason: EndReason | None = None
    score: float | None = None
    is_resolved: bool | None = None  # whether the alert went away; None: not known


class AttemptEffect(Enum):
    """The outcome of an attempt."""

    GOOD = "good"
    MODERATE = "moderate"
    POOR = "did not help"
    NOT_HELD = "did not hold"
    UNKNOWN = "unknown"


def effect(past: PastAttempt) -> AttemptEffect:
    """Return the outcome of a remediation. One that did not hold scores 0.0 and proves nothing."""
    if past.reason is EndReason.SPEC_DRIFT:
        return AttemptEffect.NOT_HELD
    if past.score is None:
        return AttemptEffect.UNKNOWN
    return (
        AttemptEffect.GOOD if past.score >= 0.7 else AttemptEffect.MODERATE if past.score >= 0.4 else AttemptEffect.POOR
    )


class StateMatch(Enum):
    """Which of its states the target is in today."""

    BEFORE = "pre_remediation"  # it is back where the remediation found it
    AFTER = "post_remediation"
    NONE = "none"


def match(past: PastAttempt, current: str) -> StateMatch:
    """Compare today's state with both; one that changed nothing matches as before."""
    if past.pre_hash == current:
        return StateMatch.BEFORE
    return StateMatch.AFTER if past.post_hash == current else StateMatch.NONE


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """The precedents that concern the state a target is in, oldest first."""

    recent: tuple[PastAttempt, ...]
    older: tuple[PastAttempt, ...]
    is_regression: bool  # the target is back in a state that was remediated before


@dataclass(frozen=True, slots=True)
class CurrentState:
    """The limits that past attempts are compared with."""

    target: str
    current: str  # its hash
    now: float


def record(
    past: Iterable[PastAttempt], today: CurrentState, recent: float = 86_400.0, oldest: float = REMEMBERED
) -> AttemptRecord:
    """Select what happened to this very target in this very state; another target with the same spec is another."""
    ours = [
        attempt
        for attempt in _in_order(past)
        if attempt.target == today.target
        and match(attempt, today.current) is not StateMatch.NONE
        and today.now - oldest <= attempt.at <= today.now
    ]
    since = today.now - recent
    return AttemptRecord(
        tuple(attempt for attempt in ours if attempt.at >= since),
        tuple(attempt for attempt in ours if attempt.at < since),
        any(match(attempt, today.current) is StateMatch.BEFORE for attempt in ours),
    )


def declining(past: Iterable[PastAttempt]) -> tuple[str, ...]:
    """Return the actions that helped less each time: three scores or more, strictly falling, drift left out."""
    scores: dict[str, list[float]] = {}
    for attempt in _in_order(past):
        if attempt.score is not None and effect(attempt) is not AttemptEffect.NOT_HELD:
            scores.setdefault(attempt.action, []).append(attempt.score)
    return tuple(action for action, row in scores.items() if len(row) >= 3 and _falls(row))


def _falls(row: Sequence[float]) -> bool:
    return all(later < earlier for earlier, later in itertools.pairwise(row))


@dataclass(frozen=True, slots=True)
class Recurrence:
    """One action taken again and again for one signal; stop when it never did any good."""

    action: str
    signal: str
    times: int
    must_stop: bool


def recurring(past: Iterable[PastAttempt]) -> tuple[Recurrence, ...]:
    """Return the actions that were completed twice or more for the same signal, without those that did not hold."""
    groups: dict[tuple[str, str], list[PastAttempt]] = {}
    for item in _in_order(past):
        if item.reason is not None and effect(item) is not AttemptEffect.NOT_HELD:
            groups.setdefault((item.action, item.signal), []).append(item)
    return tuple(
        Recurrence(action, signal, len(group), all(not attempt.score and not attempt.is_resolved for attempt in group))
        for (action, signal), group in groups.items()
        if len(group) >= 2
    )


def follow_up(past: PastAttempt, others: Iterable[PastAttempt]) -> PastAttempt | None:
    """Return the remediation that one which did not hold led to: the first later one that began where it was left."""
    left = {past.post_hash, past.drifted_hash} - {None}
    later = (attempt for attempt in _in_order(others) if attempt.at > past.at and attempt.target == past.target)
    return (
        next((attempt for attempt in later if attempt.pre_hash in left), None)
        if effect(past) is AttemptEffect.NOT_HELD
        else None
    )


@dataclass(frozen=True, slots=True)
class AttemptLimits:
    """When trying again is refused; times are seconds."""

    same_state: int = 3  # so many of the newest began in the state of today
    chained: int = 2  # so many of one action, each where the last one ended, within `chained_within`
    chained_within: float = 3600.0
    total: int = 5  # so many altogether
    within: float = 14_400.0


def failures(past: Iterable[PastAttempt], today: CurrentState, within: float = REMEMBERED) -> int:
    """Return how many of the newest began in the state of today and failed: did not help, or did not hold.

    What is not assessed yet says nothing and is passed over; one that helped ends the count.
    """
    count = 0
    for attempt in reversed(_in_order(past)):
        if attempt.target != today.target or not today.now - within <= attempt.at <= today.now:
            continue
        found = effect(attempt)
        if found is AttemptEffect.UNKNOWN:
            continue
        if attempt.pre_hash != today.current or found in (AttemptEffect.GOOD, AttemptEffect.MODERATE):
            break
        count += 1
    return count


def refusal(
    past: Iterable[PastAttempt] | None, today: CurrentState, action: str, limits: AttemptLimits | None = None
) -> str | None:
    """Return the reason why the action should not be tried again now. None if it may be, or if the past is unknown."""
    limits = limits or AttemptLimits()
    newest = [
        attempt
        for attempt in reversed(_in_order(past or ()))
        if attempt.target == today.target and today.now - limits.within <= attempt.at <= today.now
    ]
    same = _leading(attempt.pre_hash == today.current for attempt in newest)
    if same >= limits.same_state:
        return f"the last {same} remediations began in the very state the target is in now"
    chained = _chain(newest, today, action, limits)
    if chained >= limits.chained:
        return f"the last {chained} times {action or 'this action'} changed the target and the signal stayed"
    if len(newest) >= limits.total:
        return f"{len(newest)} remediations of this target within the window"
    return None


def _chain(newest: Sequence[PastAttempt], today: CurrentState, action: str, limits: AttemptLimits) -> int:
    state: str | None = today.current
    length = 0
    for attempt in newest:
        is_linked = state is not None and attempt.post_hash == state and attempt.pre_hash != attempt.post_hash
        is_recent = attempt.at >= today.now - limits.chained_within
        if not (is_linked and is_recent and attempt.action == action and not attempt.is_resolved):
            break
        state = attempt.pre_hash
        length += 1
    return length


def _leading(answers: Iterable[bool]) -> int:
    length = 0
    for answer in answers:
        if not answer:
            break
        length += 1
    return length


def _in_order(past: Iterable[PastAttempt]) -> list[PastAttempt]:
    return sorted(past, key=lambda one: (one.at, one.correlation_id))
