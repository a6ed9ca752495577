"""Durations as people write them: `1h30m`, `90s`, `0`, `never`. Inside the program they are always seconds.

A bare number is refused, because some tools mean seconds by it and others minutes.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.schema import fields

LONGEST: Final = 100 * 365 * 86_400.0  # seconds; beyond it lies a slip of the finger, not a plan

_SECONDS: Final = {
    "w": Decimal(604_800),
    "d": Decimal(86_400),
    "h": Decimal(3_600),
    "m": Decimal(60),
    "s": Decimal(1),
    "ms": Decimal("0.001"),
}
_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,30})?"
_TEXT = "".join(rf"(?:(?P<{unit}>{_NUMBER}){unit}(?![a-z]))?" for unit in _SECONDS)  # compiled when first used
_BARE = rf"[-+]?{_NUMBER}"
_PARTS = rf"(?:{_NUMBER}(?:ms|[wdhms]))+"
_LONGEST_TEXT = 64


def parse(value: Json) -> float:
    """Return the seconds; `0` and `never` are 0, which everywhere means off. Raise InputError with an example.

    Units are w, d, h, m, s and ms, from large to small, each at most once, with or without a fraction.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError("expected a duration, such as 90s, 1h30m or 2d; 0 means off")
    if not isinstance(value, str):
        if value == 0:
            return 0.0
        raise _refused(f"{value:g}" if isinstance(value, float) else str(value)[:_LONGEST_TEXT])
    if value in ("0", "never"):
        return 0.0
    match = re.fullmatch(_TEXT, value) if 0 < len(value) <= _LONGEST_TEXT else None
    if match is None:
        raise _refused(value)
    seconds = float(sum(Decimal(number) * _SECONDS[unit] for unit, number in match.groupdict().items() if number))
    if seconds > LONGEST:
        raise InputError(f"{value} is longer than a hundred years; write 0 for off")
    return seconds


def _parse_positive(value: Json) -> float:
    seconds = parse(value)
    if seconds == 0:
        raise InputError("expected a duration > 0, such as 1h")
    return seconds


DURATION: Final = fields.parsed(parse, type=["string", "integer"])
POSITIVE: Final = fields.parsed(_parse_positive, type=["string", "integer"])


def format_seconds(seconds: float) -> str:
    """Write seconds the way `parse` reads them, exactly: from a nanosecond up nothing is rounded."""
    if seconds < 0:
        raise ValueError("a duration is not negative")
    rest = Decimal(repr(float(seconds)))
    if 0 < rest < 1 and rest * 1000 == int(rest * 1000):
        return f"{int(rest * 1000)}ms"
    out = []
    for unit in ("d", "h", "m"):
        whole, rest = divmod(rest, _SECONDS[unit])
        if whole:
            out.append(f"{int(whole)}{unit}")
    if rest or not out:
        out.append(f"{rest.normalize():f}s")
    return "".join(out)


def _refused(text: str) -> InputError:
    shown = repr(text) if len(text) <= _LONGEST_TEXT else "this text"
    if re.fullmatch(_BARE, text):
        if text.startswith("-"):
            return InputError(f"{text} is negative; write 0 for off")
        return InputError(f"{text} has no unit; write {text}s, {text}m or {text}h")
    squeezed = "".join(text.split()).lower()
    if squeezed != text and re.fullmatch(_TEXT, squeezed) and squeezed:
        return InputError(f"{shown} is not a duration; write {squeezed}")
    if re.fullmatch(_PARTS, text):
        return InputError(f"{shown} is not a duration; units go from large to small, each once, as in 1d2h3m")
    return InputError(f"{shown} is not a duration; write 90s, 1h30m or 2d (units: w d h m s ms), or 0 for off")
