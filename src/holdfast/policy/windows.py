"""Windows: the times at which corrections may be made, by local time in a time zone.

A freeze window closes, an allow window opens. A freeze wins, and if there is any allow window, everything outside of
all of them is closed. A window recurs every week (days and hours) or occurs once (from one instant to another).

On the days on which the clocks jump, `time_parsing` gives a time its meaning: an hour that comes twice belongs to a
window both times, and a window whose every minute was skipped does not occur.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from holdfast.model.record import dataclass
from holdfast.policy import time_parsing, write_reasons
from holdfast.policy.write_reasons import CORRECTIONS, WriteReason

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
EVERY_DAY: Final = frozenset(range(7))
MIDNIGHT: Final = 24 * 60  # minutes: the end of a day

_NEVER: Final = math.inf
_A_YEAR: Final = 400 * 86_400.0  # what does not open in a year of weeks and changes of the clock never does


class Mode(StrEnum):
    """The effect of a window."""

    ALLOW = "allow"
    FREEZE = "freeze"


class Hours(NamedTuple):
    """Minutes since midnight; an end that is not after the start is on the next day."""

    start: int
    end: int

    def __str__(self) -> str:
        return f"{_clock(self.start)}-{_clock(self.end)}"


ALL_DAY: Final = Hours(0, MIDNIGHT)


@dataclass(frozen=True, slots=True)
class Window:
    """A weekly window or, where `start` or `end` is given (seconds since the epoch), one that happens once."""

    mode: Mode
    zone: dt.tzinfo = dt.UTC
    days: frozenset[int] = EVERY_DAY  # on which days it begins; Monday is 0
    hours: Hours = ALL_DAY
    start: float | None = None  # None with an end: since ever
    end: float | None = None  # None with a start: for ever
    reason: str = ""
    reasons: frozenset[WriteReason] = CORRECTIONS  # what it holds back, or lets through

    @property
    def is_once(self) -> bool:
        """True if the window occurs once, not every week."""
        return self.start is not None or self.end is not None

    def __str__(self) -> str:
        if self.is_once:
            begin = f"from {time_parsing.local_text(self.start, self.zone)} " if self.start is not None else ""
            end = f"until {time_parsing.local_text(self.end, self.zone)} " if self.end is not None else ""
            return f"{begin}{end}{self.zone}"
        return f"{_days_text(self.days)} {self.hours} {self.zone}"


class Span(NamedTuple):
    """From an instant up to but not including another; infinite where there is no end."""

    start: float
    end: float


@dataclass(frozen=True, slots=True)
class WindowHold:
    """Why nothing is corrected now, and until when."""

    window: Window  # the freeze that lasts longest, or the allow window that opens next
    until: float | None  # the next moment at which nothing is in the way; None: never
    why: str

    def __str__(self) -> str:
        if self.until is None:
            return f"{self.why}; it never opens"
        return f"{self.why}; opens {time_parsing.local_text(self.until, self.window.zone)} {self.window.zone}"


def closed_by(windows: Iterable[Window], now: float, reason: str = WriteReason.DRIFT) -> WindowHold | None:
    """Return the window that holds a write now, or None. Only windows for the reason of the write count."""
    write_reason = write_reasons.of_code(reason)
    relevant = tuple(window for window in windows if write_reason in window.reasons)
    freezes, allows = _by_mode(relevant)
    frozen = [(end, window) for window in freezes if (end := _covered_until(window, now)) is not None]
    if frozen:
        end, window = max(frozen, key=lambda each: each[0])
        return WindowHold(window, _opening(relevant, end), f"frozen{_because(window)} ({window})")
    if not allows or any(_covered_until(window, now) is not None for window in allows):
        return None
    start, window = min(((_next_start(window, now), window) for window in allows), key=lambda each: each[0])
    return WindowHold(window, _opening(relevant, start), f"outside of the allowed times{_because(window)} ({window})")


def _by_mode(windows: Iterable[Window]) -> tuple[list[Window], list[Window]]:
    freezes: list[Window] = []
    allows: list[Window] = []
    for window in windows:
        (freezes if window.mode is Mode.FREEZE else allows).append(window)
    return freezes, allows


def _because(window: Window) -> str:
    return f" for {window.reason}" if window.reason else ""


@lru_cache(maxsize=1024)
def _opening(windows: tuple[Window, ...], since: float) -> float | None:
    """Return the first instant from `since` on at which nothing is closed.

    `since` is a boundary of a window, the same for every question asked during one closure: hence the cache.
    """
    if since == _NEVER:
        return None
    freezes, allows = _by_mode(windows)
    last = max((edge for window in windows for edge in (window.start, window.end) if edge is not None), default=since)
    here = since
    while here <= max(since, last) + _A_YEAR:
        ends = [end for window in freezes if (end := _covered_until(window, here)) is not None]
        if ends:
            here = max(ends)
        elif allows and not any(_covered_until(window, here) is not None for window in allows):
            here = min(_next_start(window, here) for window in allows)
        else:
            return here
    return None


def _covered_until(window: Window, now: float) -> float | None:
    """Return when the span that covers an instant ends, or None if none does."""
    ends = [span.end for span in _spans_around(window, now) if span.start <= now < span.end]
    return max(ends, default=None)


def _next_start(window: Window, now: float) -> float:
    """Return when the window begins next; infinity for never."""
    if window.is_once:
        start = -math.inf if window.start is None else window.start
        return start if start > now and start < _end_of(window) else _NEVER
    first = _local_date(now, window.zone) - dt.timedelta(days=1)
    for ahead in range(24):  # a week, a day on either side, and a week in which its time was skipped
        day = first + dt.timedelta(days=ahead)
        span = _span_of_day(window, day)
        if span is not None and span.start > now:
            return span.start
    return _NEVER


def _end_of(window: Window) -> float:
    return _NEVER if window.end is None else window.end


def _spans_around(window: Window, now: float) -> Iterator[Span]:
    if window.is_once:
        yield Span(-math.inf if window.start is None else window.start, _end_of(window))
        return
    today = _local_date(now, window.zone)
    for back in (2, 1, 0, -1):  # over midnight, and over a day that the calendar skipped
        span = _span_of_day(window, today - dt.timedelta(days=back))
        if span is not None:
            yield span


@lru_cache(maxsize=8192)
def _span_of_day(window: Window, day: dt.date) -> Span | None:
    """Return the span that begins on a day; None if there is none, or if the clocks jumped over all of it."""
    if day.weekday() not in window.days:
        return None
    start, end = window.hours
    midnight = dt.datetime.combine(day, dt.time())
    begin = midnight + dt.timedelta(minutes=start)
    finish = midnight + dt.timedelta(minutes=end if end > start else end + MIDNIGHT)
    span = Span(time_parsing.first_instant(begin, window.zone), time_parsing.last_instant(finish, window.zone))
    return span if span.start < span.end else None


def _local_date(now: float, zone: dt.tzinfo) -> dt.date:
    return dt.datetime.fromtimestamp(now, zone).date()


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


def _days_text(days: frozenset[int]) -> str:
    if days == EVERY_DAY:
        return "every day"
    runs: list[list[int]] = []
    for day in sorted(days):
        if runs and runs[-1][-1] == day - 1:
            runs[-1].append(day)
        else:
            runs.append([day])
    return ",".join(_run_text(run) for run in runs)


def _run_text(run: Sequence[int]) -> str:
    names = [DAYS[day] for day in run]
    return f"{names[0]}-{names[-1]}" if len(names) > 2 else ",".join(names)
