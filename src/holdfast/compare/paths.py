"""The one path language: how paths are written, read, matched and resolved.

JSON Pointer (`/properties/tags/a~1b`); in patterns also `*` for any one key or index (inside a word for any run of
characters: `/**/last*Time`), `**` for any number of steps, and `[field=value]` after a list for the element with that
content: `/rules[name=ssh]/ports`. Rules, findings, ignores and waivers all use it. A pattern covers the path it matches
and, where asked, everything below.

Characters that would be syntax are escaped as in JSON Pointer: `~0` for ~, `~1` for /, `~2` for [, `~3` for *, and
inside brackets `~4` for ], `~5` for a comma, `~6` for =.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import Final

from holdfast.errors import PathError
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.path import Path, Pointer, Selector, Step
from holdfast.model.record import dataclass


class Wildcard(Enum):
    """Pattern segments that stand for more than one key."""

    ANY = "*"
    DEEP = "**"


ANY: Final = Wildcard.ANY
DEEP: Final = Wildcard.DEEP


@dataclass(frozen=True, slots=True)
class Glob:
    """A word with stars in it."""

    regex: re.Pattern[str]


Segment = str | Selector | Wildcard | Glob

_UNESCAPE = {"~0": "~", "~1": "/", "~2": "[", "~3": "*", "~4": "]", "~5": ",", "~6": "="}
_ESCAPED = re.compile(r"~.?")
_BRACKET = re.compile(r"\[([^\]]*)\]")


def format_path(path: Path | Pointer) -> str:
    """Write a path; the empty path is the document itself and is written as the empty string."""
    out: list[str] = []
    for step in path:
        if isinstance(step, Selector):
            text = ",".join(
                f"{_escape(field, inside=True)}={_escape(value, inside=True)}" for field, value in step.fields
            )
            out.append(f"[{text}]" if out and out[-1] != "/" else f"/[{text}]")
        else:
            out.append("/" + (str(step) if isinstance(step, int) else _escape(step)))
    return "".join(out)


def _escape(text: str, *, inside: bool = False) -> str:
    out = text.replace("~", "~0").replace("/", "~1").replace("[", "~2")
    if inside:
        return out.replace("]", "~4").replace(",", "~5").replace("=", "~6")
    return out.replace("*", "~3")


def parse_path(text: str) -> Path:
    """Read a concrete path; list indices stay text, because only a document can tell `0` the key from 0 the index."""
    segments = parse_pattern(text).segments
    concrete = tuple(segment for segment in segments if not isinstance(segment, Wildcard | Glob))
    if len(concrete) != len(segments):
        message = f"{text!r} has a wildcard where one exact path is needed; escape a literal star as ~3"
        raise PathError(message)
    return concrete


@dataclass(frozen=True, slots=True)
class Pattern:
    """A path with wildcards."""

    text: str
    segments: tuple[Segment, ...]

    def matches(self, path: Path | Pointer, *, below: bool = False) -> bool:
        """Return True if the pattern matches the path or, with `below`, a path above it."""
        return _matches(self.segments, tuple(path), below=below)


@lru_cache(maxsize=4096)
def parse_pattern(text: str) -> Pattern:
    """Parse a pattern; raise PathError with the mistake."""
    if text and not text.startswith("/"):
        message = f"{text!r} must start with / (or be empty for the whole document)"
        raise PathError(message)
    segments: list[Segment] = []
    for part in text.split("/")[1:]:
        segments.extend(_parse_part(part, text))
    return Pattern(text, tuple(segments))


def _parse_part(part: str, text: str) -> list[Segment]:
    key, bracket, rest = part.partition("[")
    out: list[Segment] = []
    if key or not bracket:
        out.append(_parse_key(key, text))
    if bracket:
        out.extend(_parse_selectors("[" + rest, text))
    return out


def _parse_key(key: str, text: str) -> Segment:
    if key in ("*", "**"):
        return Wildcard(key)
    if "*" not in key:
        return _unescape(key, text)
    return Glob(re.compile(".*".join(re.escape(_unescape(word, text)) for word in key.split("*")), re.DOTALL))


def _parse_selectors(brackets: str, text: str) -> list[Segment]:
    out: list[Segment] = []
    position = 0
    while position < len(brackets):
        match = _BRACKET.match(brackets, position)
        if match is None:
            message = f"{text!r} has an unclosed or misplaced bracket; write [field=value], escape a literal [ as ~2"
            raise PathError(message)
        out.append(_parse_selector(match[1], text))
        position = match.end()
    return out


def _parse_selector(body: str, text: str) -> Segment:
    if body == "*":
        return ANY
    fields: list[tuple[str, str]] = []
    for pair in body.split(","):
        field, equals, value = pair.partition("=")
        if not equals:
            message = f"{text!r}: {pair!r} inside the brackets is not field=value"
            raise PathError(message)
        fields.append((_unescape(field, text), _unescape(value, text)))
    return Selector(tuple(fields))


def _unescape(segment: str, text: str) -> str:
    if "~" not in segment:
        return segment

    def one(match: re.Match[str]) -> str:
        try:
            return _UNESCAPE[match[0]]
        except KeyError:
            message = f"{text!r}: {match[0]!r} is not an escape (~0 is ~, ~1 is /, ~2 is [, ~3 is *)"
            raise PathError(message) from None

    return _ESCAPED.sub(one, segment)


def _matches(segments: tuple[Segment, ...], path: tuple[Step, ...], *, below: bool) -> bool:
    end = len(segments)
    alive = _reached({0}, segments)
    for step in path:
        if below and end in alive:
            return True
        stay = {at for at in alive if at < end and segments[at] is DEEP}
        pass_on = {at + 1 for at in alive - stay if at < end and _matches_step(segments[at], step)}
        alive = _reached(stay | pass_on, segments)
    return end in alive


def _reached(alive: set[int], segments: tuple[Segment, ...]) -> set[int]:
    """Add the places reached by letting `**` stand for nothing."""
    out = set(alive)
    for at in alive:
        here = at
        while here < len(segments) and segments[here] is DEEP:
            here += 1
            out.add(here)
    return out


def _matches_step(segment: Segment, step: Step) -> bool:
    if segment is ANY:
        return True
    if isinstance(segment, Selector):
        return isinstance(step, Selector) and set(segment.fields) <= set(step.fields)
    if isinstance(segment, Glob):
        return isinstance(step, str) and segment.regex.fullmatch(step) is not None
    return not isinstance(step, Selector) and segment == str(step)


def selects(selector: Selector, element: Json) -> bool:
    """Return True if the element has the selector's content; an absent field reads as null."""
    if not isinstance(element, dict):
        return False
    return all(scalar_text(element.get(field)) == value for field, value in selector.fields)


def scalar_text(value: Json) -> str:
    """Write a scalar the way selectors spell it: strings as they are, the rest as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def resolve(document: Json, path: Path | Pointer) -> Json:
    """Return the value at the path, or ABSENT."""
    here = document
    for step in path:
        here = _step_into(here, step)
        if here is ABSENT:
            return ABSENT
    return here


def _step_into(here: Json, step: Step) -> Json:
    if isinstance(here, dict):
        return here.get(str(step), ABSENT) if not isinstance(step, Selector) else ABSENT
    if isinstance(here, list):
        if isinstance(step, Selector):
            return next((element for element in here if selects(step, element)), ABSENT)
        index = int(step) if isinstance(step, int) or step.isdigit() else -1
        return here[index] if 0 <= index < len(here) else ABSENT
    return ABSENT


def overlaps(one: Pointer, other: Pointer) -> bool:
    """Return True if one pointer is equal to, above or below the other."""
    return all(str(a) == str(b) for a, b in zip(one, other, strict=False))
