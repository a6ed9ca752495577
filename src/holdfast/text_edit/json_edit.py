"""Editing a JSON text by splicing: layout, key order and number spellings of all the rest stay as they are."""

from __future__ import annotations

import json
import re
from dataclasses import field

from holdfast.compare import go_json
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.model.record import dataclass
from holdfast.text_edit.edits import Act, DocumentEdit

_BLANK = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_SCALAR = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s,\]}]+')
_INDENT = re.compile(r"\n([ \t]+)\S")
_MAX_DEPTH = 200  # deeper texts were written by a machine


@dataclass(frozen=True, slots=True)
class Style:
    """How a text is laid out."""

    indent: str | None  # of one level; None: all in one line
    colon: str
    comma: str  # within a line
    ascii_only: bool

    @staticmethod
    def of(text: str) -> Style:
        """Read the style off a text, going by the first of each thing."""
        step = _INDENT.search(text)
        bare = _STRING.sub('""', text)  # what stands in strings is no layout
        spaced = re.search(r'"\s*:(\s*)', bare)
        tight = re.search(r",[^\s]", bare) is not None and re.search(r", ", bare) is None
        colon = ":" if spaced is not None and not spaced[1] else ": "
        return Style(step[1] if step else None, colon, "," if tight else ", ", "\\u" in text)

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


class TooDeepError(Exception):
    """The text is nested deeper than is worth splicing."""


def _scan(text: str, start: int, depth: int = 0) -> _Span:
    """Find every value in a text that is known to be JSON."""
    if depth > _MAX_DEPTH:
        raise TooDeepError
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
            span.keys.append(go_json.loads(key[0]))
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


def edit_text(text: str, change: DocumentEdit, style: Style) -> str:
    """Return a text that is known to be JSON with one edit made; raise TooDeepError if that is too much to ask."""
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


def edit_span(text: str, change: DocumentEdit) -> tuple[int, int]:
    """Return the part of the text that an edit may touch: the value, or all between its neighbours."""
    span = _scan(text, 0)
    if not change.pointer:
        return span.start, span.end
    holder, _ = _holder(text, span, change.pointer)
    step = change.pointer[-1]
    if change.act is Act.REPLACE:
        part = holder.parts[holder.at(step)]
        return part.start, part.end
    if change.act is Act.REMOVE:
        place = holder.at(step)
        following = place + 1
    else:
        place = following = int(step) if holder.keys is None else len(holder.parts)
    start = holder.parts[place - 1].end if place else holder.start + 1
    return start, holder.begins[following] if following < len(holder.parts) else holder.end - 1


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


def _added(text: str, holder: _Span, change: DocumentEdit, style: Style) -> str:
    if not holder.parts:
        return _filled(text, holder, change, style)
    line = _line(text, holder)
    last = holder.parts[-1]
    is_flat = holder.keys is None and bool(last.parts) and "\n" not in text[last.start : last.end]
    entry = _entry(change, style, "" if is_flat else line)
    gap = line or style.comma[1:]
    place = len(holder.parts) if holder.keys is not None else int(change.pointer[-1])
    if place == len(holder.parts):
        end = holder.parts[-1].end
        return f"{text[:end]},{gap}{entry}{text[end:]}"
    begin = holder.begins[place]
    return f"{text[:begin]}{entry},{gap}{text[begin:]}"


def _filled(text: str, holder: _Span, change: DocumentEdit, style: Style) -> str:
    """Put the first part into an empty container, one level further in than the line it stands on."""
    brackets = text[holder.start] + text[holder.end - 1]
    if style.indent is None:
        return text[: holder.start] + brackets[0] + _entry(change, style, "") + brackets[1] + text[holder.end :]
    beginning = text.rfind("\n", 0, holder.start) + 1
    outer = text[beginning : _skip(text, beginning)] if beginning <= holder.start else ""
    line = "\n" + outer + style.indent
    inside = f"{brackets[0]}{line}{_entry(change, style, line)}\n{outer}{brackets[1]}"
    return text[: holder.start] + inside + text[holder.end :]


def _entry(change: DocumentEdit, style: Style, line: str) -> str:
    written = style.dumps(change.value, line)
    step = change.pointer[-1]
    return written if isinstance(step, int) else style.dumps(step, "") + style.colon + written
