"""Entries of flow collections: inserted and removed together with a comma."""

from __future__ import annotations

import re

from holdfast.model.json import Json
from holdfast.text_edit import yaml_layout, yaml_values
from holdfast.text_edit.pieces import CannotError, TextPatch
from holdfast.text_edit.yaml_layout import Layout, quote_of
from holdfast.text_edit.yaml_nodes import Entry, NodeKind, TextNode, line_end, line_start

_TO_COMMA = re.compile(r"(?:\s|(?<=\s)#.*)*,")


def added(text: str, holder: TextNode, step: str | int, value: Json, layout: Layout) -> list[TextPatch]:
    """Insert an entry at the end or before an index."""
    _check_brackets(text, holder)
    written = _written(holder, step, value, layout)
    if isinstance(step, int) and step < len(holder.entries):
        here = holder.entries[step]
        gap = _line_break(text, here) if _begins_line(text, here) else " "
        return [TextPatch(here.start, here.start, f"{written},{gap}")]
    last = holder.entries[-1]
    comma = _comma(text, last, holder.end - 1)
    if not _begins_line(text, last):
        at = last.end if comma is None else comma + 1
        return [TextPatch(at, at, f", {written}" if comma is None else f" {written},")]
    stop = line_end(text, comma if comma is not None else last.end)
    if stop >= holder.end:  # the closing bracket stands on the line of the last entry
        return [TextPatch(last.end, last.end, f",{_line_break(text, last)}{written}")]
    patches = [TextPatch(stop, stop, f"{_line_break(text, last)}{written}{',' if comma is not None else ''}")]
    return patches if comma is not None else [TextPatch(last.end, last.end, ","), *patches]


def removed(text: str, holder: TextNode, place: int) -> list[TextPatch]:
    """Remove one of several entries, with its lines if it shares them with no other."""
    _check_brackets(text, holder)
    entries = holder.entries
    here = entries[place]
    is_last = place + 1 == len(entries)
    comma = _comma(text, here, holder.end - 1 if is_last else entries[place + 1].start)
    stop = line_end(text, comma if comma is not None else here.end)
    rest = text[comma + 1 if comma is not None else here.end : stop].strip()
    if _begins_line(text, here) and (not rest or rest.startswith("#")):
        patches = [TextPatch(line_start(text, here.start), stop + 1)]
        before = _comma(text, entries[place - 1], here.start) if is_last and comma is None else None
        return patches if before is None else [TextPatch(before, before + 1), *patches]
    ends_line = not is_last and "\n" in text[here.end : entries[place + 1].start]
    if is_last or (ends_line and place > 0):
        start, end = entries[place - 1].end, here.end
    else:
        start, end = here.start, entries[place + 1].start
    if "#" in text[start : here.start] + text[here.end : end]:
        raise CannotError
    return [TextPatch(start, end)]


def _check_brackets(text: str, holder: TextNode) -> None:
    if not holder.entries or text[holder.body] not in "{[":  # a pair in a list needs no braces of its own
        raise CannotError


def _written(holder: TextNode, step: str | int, value: Json, layout: Layout) -> str:
    values = [entry.value for entry in holder.entries if not entry.is_merge]
    keys = [entry.key for entry in holder.entries if entry.key is not None and not entry.is_merge]
    quotes = quote_of(keys), quote_of(values)
    if holder.kind is NodeKind.LIST:
        like = yaml_values.model(value, values)
        return yaml_values.flow(value, layout, like, quotes)
    key = yaml_values.key_text(str(step), quotes[0], layout)
    return f"{key}: {yaml_values.flow(value, layout, None, quotes)}"


def _comma(text: str, entry: Entry, stop: int) -> int | None:
    """Return the position of the comma behind an entry."""
    found = _TO_COMMA.match(text, entry.end, stop)
    return found.end() - 1 if found is not None else None


def _begins_line(text: str, entry: Entry) -> bool:
    return not text[line_start(text, entry.start) : entry.start].strip()


def _line_break(text: str, entry: Entry) -> str:
    return "\n" + " " * yaml_layout.column(text, entry.start)
