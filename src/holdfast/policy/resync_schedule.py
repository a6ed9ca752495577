"""When the next check is due. Computed once and stored: a due time worked out twice would disagree with itself.

Chance is an argument, a number from 0 up to but not including 1, so that the same inputs give the same times.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.policy.settings import JitterShape


def next_due(
    now: float, period: float, jitter: float, random01: float, shape: JitterShape = JitterShape.SYMMETRIC
) -> float:
    """Return when to check again: one period from now, moved by chance within the jitter (a fraction of the period).

    Symmetric jitter falls on both sides of the period, positive jitter only after it. A period of 0 means no periodic
    check, so there is no due time to compute: asking for one is a programming error.
    """
    if period <= 0:
        raise ValueError("a period of 0 has no due time")
    offset = 2 * random01 - 1 if shape is JitterShape.SYMMETRIC else random01
    return now + period * (1 + jitter * offset)


def spread(overdue: int, now: float, window: float, random01: float) -> Iterator[float]:
    """Return due times for a backlog, evenly over the window, in order; chance only shifts them all together.

    After an outage everything is overdue at once; without this the whole fleet would be read in the first second.
    """
    return (now + window * (place + random01) / overdue for place in range(overdue))
