"""Windows as people write them: days, hours, instants, and the zone whose clocks they mean."""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from collections.abc import Callable, Mapping

from holdfast.errors import InputError
from holdfast.manifests.validation import Sheet, named, shown
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.policy import did_you_mean, time_parsing
from holdfast.policy.windows import ALL_DAY, DAYS, EVERY_DAY, MIDNIGHT, Hours, Mode, Window
from holdfast.policy.write_reasons import WriteReason

Reasons = Callable[[Sheet, Mapping[str, Json], Pointer], frozenset[WriteReason]]

_WINDOW = (*Mode, "zone", "reason", "reasons")
_WEEKLY = ("days", "hours")
_ONCE = ("from", "until")
_FULL = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_HOURS = re.compile(r"([0-9]{1,2}):([0-9]{2})\s*-\s*([0-9]{1,2}):([0-9]{2})")


def read(sheet: Sheet, value: Json, pointer: Pointer, reasons: Reasons) -> Window | None:
    """Return a window, or None if it cannot be one; everything wrong is noted. `reasons` reads what it holds back."""
    before = len(sheet.errors)
    body = sheet.mapping(value, pointer, _WINDOW)
    modes = [mode for mode in Mode if isinstance(value, dict) and mode in value]
    if len(modes) != 1:
        if not sheet.errors[before:]:
            sheet.fail("a window needs either freeze: or allow:, with days, hours, from or until below it", pointer)
        return None
    zone = _zone(sheet, body, pointer)
    times = _times(sheet, body.get(modes[0]), (*pointer, modes[0].value))
    window = Window(
        modes[0],
        zone,
        _days(sheet, times, (*pointer, modes[0].value)),
        _hours(sheet, times, (*pointer, modes[0].value)),
        _moment(sheet, times, (*pointer, modes[0].value), "from", zone),
        _moment(sheet, times, (*pointer, modes[0].value), "until", zone),
        sheet.text(body, "reason", pointer) or "",
        reasons(sheet, body, pointer),
    )
    if window.start is not None and window.end is not None and window.end <= window.start:
        sheet.fail("until must be after from", (*pointer, modes[0].value, "until"))
    return window if len(sheet.errors) == before else None


def _times(sheet: Sheet, value: Json, pointer: Pointer) -> dict[str, Json]:
    before = len(sheet.errors)
    body = sheet.mapping(value, pointer, (*_WEEKLY, *_ONCE))
    weekly, once = [key for key in _WEEKLY if key in body], [key for key in _ONCE if key in body]
    if not weekly and not once and len(sheet.errors) == before:
        sheet.fail("say when: days and hours for every week, or from and until for once", pointer)
    elif weekly and once:
        sheet.fail(f"{weekly[0]} is for every week and {once[0]} for once; make two windows of it", pointer)
    return body


def _zone(sheet: Sheet, body: Mapping[str, Json], pointer: Pointer) -> dt.tzinfo:
    name = sheet.text(body, "zone", pointer)
    if name is None:
        return dt.UTC
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        guess = _zone_hint(name)
        sheet.fail(f"there is no time zone {shown(name)}{guess}", (*pointer, "zone"))
        return dt.UTC


def _zone_hint(name: str) -> str:
    known = sorted(zoneinfo.available_timezones())
    if not known:
        return "; this machine has no list of time zones: install the package tzdata"
    cities = {zone.rpartition("/")[2]: zone for zone in reversed(known)}
    city = cities.get(name) or cities.get(did_you_mean.closest(name, cities) or "")
    found = did_you_mean.closest(name, known) or city
    return f"; did you mean {found}?" if found else "; write it as in Europe/Berlin"


def _days(sheet: Sheet, body: Mapping[str, Json], pointer: Pointer) -> frozenset[int]:
    value = body.get("days")
    if value is None:
        return EVERY_DAY
    words = value if isinstance(value, list) else [value]
    days: set[int] = set()
    for word in words:
        if not isinstance(word, str):
            sheet.fail(f"days needs names such as fri or mon-fri, not {named(word)}", (*pointer, "days"))
            continue
        for part in word.split(","):
            try:
                days |= _day_range(part.strip())
            except InputError as error:
                sheet.note(error, (*pointer, "days"))
    if not words:
        sheet.fail("days is empty; leave it out for every day", (*pointer, "days"))
    return frozenset(days)


def _day_range(text: str) -> frozenset[int]:
    if text in ("all", "*"):
        return EVERY_DAY
    first, dash, last = text.partition("-")
    start = _day(first)
    end = _day(last) if dash else start
    return frozenset((start + ahead) % 7 for ahead in range((end - start) % 7 + 1))


def _day(text: str) -> int:
    word = text.strip().lower()
    if word in DAYS or word in _FULL:
        return DAYS.index(word[:3])
    raise InputError(
        f"there is no day {shown(text)}{did_you_mean.hint(word, DAYS) or '; write mon, tue, ... or mon-fri'}"
    )


def _hours(sheet: Sheet, body: Mapping[str, Json], pointer: Pointer) -> Hours:
    value = body.get("hours")
    if value is None:
        return ALL_DAY
    match = _HOURS.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        sheet.fail('hours must be such as "09:00-17:00"', (*pointer, "hours"))
        return ALL_DAY
    numbers = [int(part) for part in match.groups()]
    start, end = numbers[0] * 60 + numbers[1], numbers[2] * 60 + numbers[3]
    if start >= MIDNIGHT or end > MIDNIGHT or max(numbers[1], numbers[3]) > 59:
        sheet.fail("hours go from 00:00 to 24:00", (*pointer, "hours"))
        return ALL_DAY
    return Hours(start, end)


def _moment(sheet: Sheet, body: Mapping[str, Json], pointer: Pointer, key: str, zone: dt.tzinfo) -> float | None:
    if key not in body:
        return None
    read_as = time_parsing.begin if key == "from" else time_parsing.end
    try:
        return read_as(body[key], zone)
    except InputError as error:
        sheet.note(error, (*pointer, key))
        return None
