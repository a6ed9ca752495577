"""When an assessment waits, looks and gives up: instants computed once from the windows, then only compared with now.

They are kept with the assessment, so that a changed setting or a restart never moves a deadline that was promised.
All lengths and instants are seconds.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from holdfast.errors import InputError
from holdfast.model.record import dataclass

CUSHION: Final = 2.0  # seconds before the deadline at which the last attempt is made
EXECUTION_GRACE: Final = 30.0  # seconds in which a remediation that was begun may still report its end


@dataclass(frozen=True, slots=True)
class Windows:
    """The lengths a person may set, with the original's defaults."""

    stabilisation: float = 300.0  # wait this long after the change before measuring
    validity: float = 1800.0  # after so long what is measured says nothing about the change
    hash_delay: float = 0.0  # for targets that others (GitOps, an operator) bring to the new state
    alert_delay: float = 0.0  # for predictive signals, which need longer to withdraw
    interval: float = 60.0  # between two passes: no use asking more often than metrics are scraped
    error_interval: float = 5.0  # after a read that failed

    def __post_init__(self) -> None:
        lengths = (self.stabilisation, self.validity, self.hash_delay, self.alert_delay)
        if not all(0 <= length < float("inf") for length in lengths):
            raise InputError("the windows of an assessment are lengths of time, 0 or more")
        if not all(0 < length < float("inf") for length in (self.validity, self.interval, self.error_interval)):
            raise InputError("the validity window and the intervals of an assessment must be longer than 0")


@dataclass(frozen=True, slots=True)
class Timing:
    """The instants of one assessment."""

    anchor: float  # the change is in place: the baseline is taken, stabilisation begins
    check_after: float
    alert_check_after: float
    deadline: float
    effective_validity: float
    is_extended: bool  # the validity window left no room to look, so it was made longer
    interval: float = 60.0
    error_interval: float = 5.0


class AssessmentWindow(Enum):
    """Where an instant lies."""

    WAITING = "waiting"  # the change is still on its way
    STABILISING = "stabilising"
    ACTIVE = "active"
    EXPIRED = "expired"


def plan(created_at: float, windows: Windows) -> Timing:
    """Return the instants for a change made at `created_at`.

    A change that has to propagate always gets its whole validity window after it has settled; any other only where
    stabilising would use all of it up.
    """
    anchor = created_at + windows.hash_delay
    check_after = anchor + windows.stabilisation
    settled = windows.stabilisation + windows.alert_delay
    is_extended = windows.hash_delay > 0 or settled >= windows.validity
    effective = settled + windows.validity if is_extended else windows.validity
    return Timing(
        anchor,
        check_after,
        check_after + windows.alert_delay,
        anchor + effective,
        effective,
        is_extended,
        windows.interval,
        windows.error_interval,
    )


def window(timing: Timing, now: float) -> AssessmentWindow:
    """Return where now lies; each boundary belongs to what begins with it, and expiry wins over everything."""
    if now >= timing.deadline:
        return AssessmentWindow.EXPIRED
    if now < timing.anchor:
        return AssessmentWindow.WAITING
    return AssessmentWindow.STABILISING if now < timing.check_after else AssessmentWindow.ACTIVE


def next_look(timing: Timing, now: float, interval: float, *boundaries: float | None) -> float:
    """Return when to look again: after the interval, or at the first boundary before that.

    A deadline nearer than that is met a little early, so that one more attempt can end in time.
    """
    ahead = [at for at in boundaries if at is not None and at > now]
    wanted = min([now + interval, *ahead])
    if timing.deadline > wanted:
        return wanted
    left = timing.deadline - now
    return timing.deadline - CUSHION if left > CUSHION else timing.deadline
