"""Comparators of durations and points in time, read from their texts; nothing here asks what time it is."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Literal, TypeAlias

from holdfast.compare.comparators import base, numbers
from holdfast.model.json import Json

Unit: TypeAlias = Literal["ns", "us", "ms", "s", "m", "h", "d"]
Precision: TypeAlias = Literal["day", "hour", "minute", "second", "millisecond", "microsecond"]

_SECONDS = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "\N{MICRO SIGN}s": Fraction(1, 10**6),
    "\N{GREEK SMALL LETTER MU}s": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
    "w": Fraction(604800),
}
_AMOUNT = r"([0-9]{1,30}(?:[.,][0-9]{1,30})?)"
_ISO = re.compile(
    rf"([+-]?)P(?=[0-9T])(?:{_AMOUNT}W)?(?:{_AMOUNT}D)?(?:T(?=[0-9])(?:{_AMOUNT}H)?(?:{_AMOUNT}M)?(?:{_AMOUNT}S)?)?",
    re.IGNORECASE | re.ASCII,
)
_TIMESPAN = re.compile(r"([+-]?)(?:([0-9]{1,9})\.)?([01]?[0-9]|2[0-3]):([0-5]?[0-9]):([0-5]?[0-9](?:\.[0-9]{1,9})?)")
_UNIT_AMOUNT = r"([0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(ns|us|\u00b5s|\u03bcs|ms|s|m|h|d|w)"
_GO_PART = re.compile(_UNIT_AMOUNT)
_GO = re.compile(rf"([+-]?)((?:{_UNIT_AMOUNT})+)")
_BARE = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?")


def duration(*, unit: Unit | None = None) -> base.Comparator:
    """Compare lengths of time: ISO 8601 (PT24H), .NET (1.00:00:00) and Go (24h) spellings; bare numbers count `unit`.

    Months and years have no fixed length, so such a text equals only itself.
    """

    def parse(value: Json) -> base.Key:
        seconds = _duration(value) if isinstance(value, str) else None
        if seconds is None and unit is not None:
            amount = _bare(value)
            seconds = None if amount is None else amount * _SECONDS[unit]
        return None if seconds is None else str(seconds)

    return base.Parsed(base.label("duration", unit=unit), "duration", parse)


@base.remembered
def _duration(text: str) -> Fraction | None:
    if match := _ISO.fullmatch(text):
        parts = zip(match.groups()[1:], "wdhms", strict=True)
        total = sum((Fraction(part.replace(",", ".")) * _SECONDS[unit] for part, unit in parts if part), Fraction(0))
    elif match := _TIMESPAN.fullmatch(text):
        parts = zip(match.groups()[1:], "dhms", strict=True)
        total = sum((Fraction(part) * _SECONDS[unit] for part, unit in parts if part), Fraction(0))
    elif match := _GO.fullmatch(text):
        pieces = _GO_PART.findall(match[2])
        total = sum((Fraction(amount) * _SECONDS[unit] for amount, unit in pieces), Fraction(0))
    else:
        return None
    return -total if match[1] == "-" else total


def _bare(value: Json) -> Fraction | None:
    if isinstance(value, str):
        return Fraction(value) if _BARE.fullmatch(value) else None
    return numbers.of_json(value)


_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,30}))?)?"
    r" ?(?:([Zz])|([+-])([01][0-9]|2[0-3]):?([0-5][0-9])?)?"
)
_KEPT = {"day": 10, "hour": 13, "minute": 16, "second": 19, "millisecond": 23, "microsecond": 26}
"""How many characters of 2006-01-02T15:04:05.999999 say it to that precision."""


def timestamp(*, precision: Precision | None = None, assume_utc: bool = False) -> base.Comparator:
    """Compare points in time whatever the offset and number of fractional digits, cut (not rounded) to `precision`.

    A text without an offset names no point in time and equals only others without one, unless `assume_utc`.
    """

    def parse(value: Json) -> base.Key:
        moment = _moment(value) if isinstance(value, str) else None
        if moment is None:
            return None
        text, has_offset = moment
        if precision is not None:
            text = _shortest(text[: _KEPT[precision]])
        return (text, has_offset or assume_utc)

    return base.Parsed(base.label("timestamp", precision=precision, assume_utc=assume_utc), "timestamp", parse)


@base.remembered
def _moment(text: str) -> tuple[str, bool] | None:
    """Return the time, in UTC if its offset is known, and whether it is."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    day, clock, second, fraction, zulu, sign, hours, minutes = match.groups()
    try:
        when = datetime.fromisoformat(f"{day}T{clock}:{second or '00'}")
        if sign:
            offset = timedelta(hours=int(hours), minutes=int(minutes or 0))
            when = when - offset if sign == "+" else when + offset
    except (ValueError, OverflowError):
        return None
    return _shortest(f"{when.isoformat()}.{fraction or ''}"), bool(zulu or sign)


def _shortest(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
