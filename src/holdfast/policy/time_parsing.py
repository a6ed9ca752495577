"""Instants and local times: from text as people write it to seconds since the epoch, and back.

When the clocks go forward, a skipped time is the moment of the jump. When they go back, a time occurs twice: a begin is
the first and an end the last of the two. Time zones come in as objects. The reader of the configuration finds their
data.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

from holdfast.errors import InputError
from holdfast.model.json import Json

_LONGEST_SHIFT: Final = 2 * 86_400  # seconds; by what a zone may ever differ from itself, and then some
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:?\d\d)?", re.ASCII)
_LONGEST_TEXT: Final = 40


def begin(value: Json, zone: dt.tzinfo = dt.UTC) -> float:
    """Read the begin of something: a day (from its first moment) or a time. Raise InputError with an example."""
    wall = _read(value)
    if not isinstance(wall, dt.datetime):
        wall = dt.datetime.combine(wall, dt.time())
    return wall.timestamp() if wall.tzinfo is not None else first_instant(wall, zone)


def end(value: Json, zone: dt.tzinfo = dt.UTC) -> float:
    """Read the end of something: a day (with its last moment) or a time. Raise InputError with an example."""
    wall = _read(value)
    if not isinstance(wall, dt.datetime):
        wall = dt.datetime.combine(wall, dt.time()) + dt.timedelta(days=1)
    return wall.timestamp() if wall.tzinfo is not None else last_instant(wall, zone)


def _read(value: Json) -> dt.date | dt.datetime:
    text = value if isinstance(value, str) and len(value) <= _LONGEST_TEXT else ""
    if not _DAY.fullmatch(text) and not _MOMENT.fullmatch(text):
        raise InputError("expected a day or a time, such as 2026-12-24 or 2026-12-24T18:00")
    try:
        found = dt.date.fromisoformat(text) if _DAY.fullmatch(text) else dt.datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{text} is not in the calendar") from None
    if not 1971 <= found.year <= 9000:  # what computers' calendars are sure of, with room to reckon
        raise InputError(f"{text} is too far away")
    return found


def first_instant(wall: dt.datetime, zone: dt.tzinfo) -> float:
    """Return when a clock on the wall first shows a time, or something later because it jumped over it."""
    return _instant(wall, zone)


def last_instant(wall: dt.datetime, zone: dt.tzinfo) -> float:
    """Return from when on a clock on the wall never again shows anything earlier."""
    before = wall - dt.timedelta(seconds=1)
    instant = _instant(before.replace(fold=1), zone)
    return instant if _is_skipped(before, zone) else instant + 1


def _instant(wall: dt.datetime, zone: dt.tzinfo) -> float:
    return _jump(wall, zone) if _is_skipped(wall, zone) else wall.replace(tzinfo=zone).timestamp()


def _is_skipped(wall: dt.datetime, zone: dt.tzinfo) -> bool:
    there = wall.replace(tzinfo=zone).astimezone(dt.UTC).astimezone(zone)
    return there.replace(tzinfo=None, fold=0) != wall.replace(fold=0)


def _jump(wall: dt.datetime, zone: dt.tzinfo) -> float:
    """Return the instant at which the clock jumped over a time, by bisection of the seconds around it."""
    middle = int(wall.replace(tzinfo=zone).timestamp())
    before, after = middle - _LONGEST_SHIFT, middle + _LONGEST_SHIFT
    while after - before > 1:
        middle = (before + after) // 2
        shown = dt.datetime.fromtimestamp(middle, zone).replace(tzinfo=None)
        before, after = (middle, after) if shown < wall else (before, middle)
    return float(after)


def local_text(at: float, zone: dt.tzinfo = dt.UTC) -> str:
    """Return an instant as the clock on the wall shows it, to the minute unless it has seconds."""
    shown = dt.datetime.fromtimestamp(at, zone).replace(tzinfo=None, microsecond=0)
    return shown.isoformat(" ", "seconds" if shown.second else "minutes")


def end_text(at: float) -> str:
    """Return an end the way `end` reads it: the day, if it is the end of one in UTC, else the time in UTC."""
    moment = dt.datetime.fromtimestamp(at, dt.UTC).replace(microsecond=0)
    if moment.time() == dt.time():
        return (moment.date() - dt.timedelta(days=1)).isoformat()
    return moment.replace(tzinfo=None).isoformat(timespec="seconds" if moment.second else "minutes") + "Z"
