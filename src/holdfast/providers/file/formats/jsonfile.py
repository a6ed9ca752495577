"""JSON texts, edited by splicing: layout, key order and number spellings of all the rest stay as they are."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from holdfast.compare import jsontext
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.providers import patches
from holdfast.providers.patches import Act, Edit

_BLANK = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_SCALAR = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s,\]}]+')
_INDENT = re.compile(r"\n([ \t]+)\S")
_MAX_DEPTH = 200  # deeper texts were written by a machine, and are written again as a whole


def parse(text: str) -> Json:
    """Read a text; 64-bit integers stay exact."""
    return jsontext.loads(text, "int64")


def as_written(value: Json) -> Json:
    """Return the value: JSON can say all of it."""
    return value


def dump(value: Json) -> str:
    """Write a new text, two blanks a level."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def edit(text: str, before: Json, after: Json) -> list[str]:
    """Splice each difference; where the text is too deep for that, write it again in its own style."""
    style = _Style.of(text)
    try:
        spliced = text
        for change in patches.between(before, after):
            spliced = _spliced(spliced, change, style)
    except _TooDeepError:
        return [_rewritten(text, after, style)]
    return [spliced, _rewritten(text, after, style)]


def _rewritten(text: str, after: Json, style: _Style) -> str:
    tail = text[len(text.rstrip()) :]
    return style.dumps(after, "\n" if style.indent is not None else "") + tail


@dataclass(frozen=True, slots=True)
class _Style:
    """How a text is laid out."""

    indent: str | None  # of one level; None: all in one line
    colon: str
    comma: str  # within a line
    ascii_only: bool

    @staticmethod
    def of(text: str) -> _Style:
        step = _INDENT.search(text)
        spaced = re.search(r'"\s*:(\s*)', text)
        tight = re.search(r",[^\s]", text) is not None and re.search(r", ", text) is None
        colon = ":" if spaced is not None and not spaced[1] else ": "
        return _Style(step[1] if step else None, colon, "," if tight else ", ", "\\u" in text)

    def dumps(self, value: Json, line: str) -> str:
        """Write a value; `line` is the line break and indentation in force, empty within a line."""
        if not line or not isinstance(value, dict | list) or not value:
            return json.dumps(value, ensure_ascii=self.ascii_only, separators=(self.comma, self.colon))
        separators = (",", self.colon)
        written = json.dumps(value, ensure_ascii=self.ascii_only, indent=self.indent or "  ", separators=separators)
        return written.replace("\n", line)


@dataclass(slots=True)
class _Span:
    """Where a value stands in the text; the parts of a container begin at their keys."""

    start: int
    end: int = 0
    keys: list[str] | None = None
    begins: list[int] = field(default_factory=list)
    parts: list[_Span] = field(default_factory=list)

    def at(self, step: str | int) -> int:
        """Return which part a step means; of doubled keys the last counts."""
        if self.keys is None:
            return int(step)
        return len(self.keys) - 1 - self.keys[::-1].index(str(step))


class _TooDeepError(Exception):
    pass


def _scan(text: str, start: int, depth: int = 0) -> _Span:
    """Find every value in a text that is known to be JSON."""
    if depth > _MAX_DEPTH:
        raise _TooDeepError
    start = _skip(text, start)
    span = _Span(start)
    opening = text[start]
    if opening not in "{[":
        match = _SCALAR.match(text, start)
        span.end = match.end() if match else start
        return span
    span.keys = [] if opening == "{" else None
    here = _skip(text, start + 1)
    while text[here] not in "}]":
        span.begins.append(here)
        if span.keys is not None:
            key = _STRING.match(text, here)
            assert key is not None
            span.keys.append(jsontext.loads(key[0]))
            here = _skip(text, key.end()) + 1
        part = _scan(text, here, depth + 1)
        span.parts.append(part)
        here = _skip(text, part.end)
        if text[here] == ",":
            here = _skip(text, here + 1)
    span.end = here + 1
    return span


def _skip(text: str, start: int) -> int:
    match = _BLANK.match(text, start)
    return match.end() if match else start


def _spliced(text: str, change: Edit, style: _Style) -> str:
    span = _scan(text, 0)
    if not change.pointer:
        return text[: span.start] + style.dumps(change.value, "\n" if style.indent else "") + text[span.end :]
    holder, line = _holder(text, span, change.pointer)
    step = change.pointer[-1]
    if change.act is Act.ADD:
        return _added(text, holder, change, style)
    place = holder.at(step)
    if change.act is Act.REMOVE:
        return _removed(text, holder, place)
    part = holder.parts[place]
    return text[: part.start] + style.dumps(change.value, line) + text[part.end :]


def _holder(text: str, span: _Span, pointer: Pointer) -> tuple[_Span, str]:
    """Return the container of what a pointer names, and the line break with indentation that its parts have."""
    for step in pointer[:-1]:
        span = span.parts[span.at(step)]
    return span, _line(text, span)


def _line(text: str, span: _Span) -> str:
    blank = text[span.start + 1 : span.begins[0]] if span.begins else ""
    return blank[blank.rindex("\n") :] if "\n" in blank else ""


def _removed(text: str, holder: _Span, place: int) -> str:
    if place + 1 < len(holder.parts):
        return text[: holder.begins[place]] + text[holder.begins[place + 1] :]
    if place > 0:
        return text[: holder.parts[place - 1].end] + text[holder.parts[place].end :]
    return text[: holder.start + 1] + text[holder.end - 1 :]


def _added(text: str, holder: _Span, change: Edit, style: _Style) -> str:
    if not holder.parts:
        return _filled(text, holder, change, style)
    line = _line(text, holder)
    entry = _entry(change, style, line)
    gap = line or style.comma[1:]
    place = len(holder.parts) if holder.keys is not None else int(change.pointer[-1])
    if place == len(holder.parts):
        end = holder.parts[-1].end
        return f"{text[:end]},{gap}{entry}{text[end:]}"
    begin = holder.begins[place]
    return f"{text[:begin]}{entry},{gap}{text[begin:]}"


def _filled(text: str, holder: _Span, change: Edit, style: _Style) -> str:
    """Put the first part into an empty container, one level further in than the line it stands on."""
    brackets = text[holder.start] + text[holder.end - 1]
    if style.indent is None:
        return text[: holder.start] + brackets[0] + _entry(change, style, "") + brackets[1] + text[holder.end :]
    beginning = text.rfind("\n", 0, holder.start) + 1
    outer = text[beginning : _skip(text, beginning)] if beginning <= holder.start else ""
    line = "\n" + outer + style.indent
    inside = f"{brackets[0]}{line}{_entry(change, style, line)}\n{outer}{brackets[1]}"
    return text[: holder.start] + inside + text[holder.end :]


def _entry(change: Edit, style: _Style, line: str) -> str:
    written = style.dumps(change.value, line)
    step = change.pointer[-1]
    return written if isinstance(step, int) else style.dumps(step, "") + style.colon + written
