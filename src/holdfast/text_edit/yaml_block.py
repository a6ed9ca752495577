"""Entries of block collections: replaced where they stand, inserted and deleted as whole lines."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace

from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.text_edit import yaml_scalars, yaml_spelling, yaml_values
from holdfast.text_edit.pieces import CannotError, TextPatch
from holdfast.text_edit.yaml_layout import Layout, column, is_bare_word
from holdfast.text_edit.yaml_nodes import Entry, NodeKind, TextNode, line_end, line_start
from holdfast.text_edit.yaml_values import Content

_HEADER = re.compile(r"[|>][-+0-9]*")
_WIDEST = 80  # columns, where the text has no folded lines to go by


# --- replacing --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Frame:
    """The text of an entry's value: a piece of the line of its key or dash, and the whole lines below."""

    start: int
    end: int
    lines_start: int
    lines_end: int


def replaced(text: str, holder: TextNode, entry: Entry, value: Json, layout: Layout) -> Iterator[list[TextPatch]]:
    """Yield the patches that replace a value, the preferred spelling first."""
    margin = " " * column(text, entry.start)
    for tail, lines in _contents(text, holder, entry, value, layout):
        frame = _frame(text, entry, for_lines=bool(lines) and not tail)
        written = "".join(f"{margin}{line}\n" if line else "\n" for line in lines)
        start = frame.start
        if not tail:
            while start > entry.head and text[start - 1] == " ":
                start -= 1
        gap = " " if tail and text[start - 1] not in " \t" else ""
        if entry.key is not None and entry.head == entry.key.end:  # `? key` without a value
            gap = f"\n{margin}: " if tail else f"\n{margin}:"
        yield [TextPatch(start, frame.end, gap + tail), TextPatch(frame.lines_start, frame.lines_end, written)]


def _frame(text: str, entry: Entry, *, for_lines: bool) -> _Frame:
    node = entry.value
    if node.is_tagged and node.anchor is not None:
        raise CannotError
    start = node.start if node.is_tagged else node.body
    after = line_end(text, node.end) + 1
    if node.is_block_scalar:
        header = _HEADER.match(text, node.body)
        assert header is not None
        return _Frame(start, header.end(), min(line_end(text, node.body) + 1, after), after)
    is_below = "\n" in text[entry.head : node.body]
    if is_below and (node.is_block or for_lines):
        properties = text[node.start : node.body].rstrip() if node.start < node.body else ""
        end = node.start + len(properties) if properties else entry.head
        return _Frame(node.start if node.is_tagged else end, end, line_start(text, node.body), after)
    return _Frame(start, node.end, after, after)


def _contents(text: str, holder: TextNode, entry: Entry, value: Json, layout: Layout) -> Iterator[Content]:
    node, in_list = entry.value, holder.kind is NodeKind.LIST
    if in_list and node.end > node.body and "\n" not in text[entry.start : node.body]:
        layout = replace(layout, dash=column(text, node.body) - column(text, entry.start))
    if isinstance(value, dict | list) and value:
        flow = yaml_values.flow(value, layout, node if node.entries else None), list[str]()
        lines = yaml_values.content(value, layout, like=None if node.is_flow else node, in_list=in_list)
        yield from (flow, lines) if node.is_flow and node.entries else (lines, flow)
    elif isinstance(value, str):
        yield from _texts(text, entry, value, layout, layout.dash if in_list else layout.mapping)
    else:
        yield yaml_spelling.scalar(value), []


def _texts(text: str, entry: Entry, value: str, layout: Layout, indent: int) -> Iterator[Content]:
    """Yield the spellings of a string: in the style of the old value first, then in the default style."""
    node = entry.value
    width = _WIDEST
    if node.is_block_scalar:
        indent, width = _measures(text, entry, indent)
    has_lines = "\n" in value
    attempts: list[Content | None] = []
    if node.style == ">" and (has_lines or indent + len(value) > width):
        attempts.append(yaml_scalars.folded(value, indent, width))
    if has_lines and not (node.style == '"' and "\n" in node.text):
        attempts.append(yaml_scalars.literal(value, indent))
    if not has_lines:
        quote = "" if node.is_block_scalar else node.style or (layout.strings if is_bare_word(node) else "")
        attempts.append((yaml_spelling.scalar(value, quote, otherwise=layout.quote), []))
    attempts.append((yaml_spelling.double(value), []))
    yield from (attempt for attempt in attempts if attempt is not None)


def _measures(text: str, entry: Entry, indent: int) -> tuple[int, int]:
    """Return the indentation and the width of a block scalar, relative to the column of its entry."""
    node, margin = entry.value, column(text, entry.start)
    lines = [line for line in text[node.body : node.end].split("\n")[1:] if line.strip()]
    if not lines:
        return indent, _WIDEST
    inner = min(len(line) - len(line.lstrip(" ")) for line in lines) - margin
    widest = max(map(len, lines)) if len(lines) > 1 else _WIDEST
    return max(inner, 1), widest - margin


# --- removing ---------------------------------------------------------------------------------------------------------


def removed(text: str, holder: TextNode, place: int) -> list[TextPatch]:
    """Remove one of several entries with its lines; comments on their own lines stay."""
    start, end = removal(text, holder, place)
    return [TextPatch(start, end)]


def removal(text: str, holder: TextNode, place: int) -> tuple[int, int]:
    """Return the span to remove: the lines of an entry, or the text before the next entry if it follows a dash."""
    entry = holder.entries[place]
    start, after = line_start(text, entry.start), line_end(text, entry.end) + 1
    before = text[start : entry.start]
    if not before.strip():
        return start, after
    if place != 0 or len(holder.entries) < 2 or before.strip("- "):
        raise CannotError
    while text[after].isspace():
        after += 1
    return entry.start, after


# --- adding -----------------------------------------------------------------------------------------------------------


def added(text: str, holder: TextNode, step: str | int, value: Json, layout: Layout) -> list[TextPatch]:
    """Insert an entry at the end or before an index, with the blank lines of its neighbours."""
    if isinstance(step, int):
        lines = yaml_values.element(value, layout, holder)
    else:
        lines = yaml_values.entry(step, value, layout, holder)
    margin = " " * column(text, holder.entries[0].start)
    written = "".join(f"{margin}{line}\n" if line else "\n" for line in lines)
    at = insertion(text, holder, step)
    if at > line_start(
        text, at
    ):  # behind the dash of another list: the margin exists already, and the next entry needs one
        return [TextPatch(at, at, written.lstrip(" ") + margin)]
    if _is_spaced(text, holder):
        written = written + "\n" if at <= holder.entries[0].start else "\n" + written
    return [TextPatch(at, at, written)]


def insertion(text: str, holder: TextNode, step: str | int) -> int:
    """Return the position of a new entry: below the previous entry, above the comments of the next."""
    entries = holder.entries
    place = min(int(step), len(entries)) if isinstance(step, int) else len(entries)
    if place > 0:
        return line_end(text, entries[place - 1].end) + 1
    at = line_start(text, entries[0].start)
    if text[at : entries[0].start].strip():
        return entries[0].start
    while at > 0 and text[line_start(text, at - 1) : at].strip().startswith("#"):
        at = line_start(text, at - 1)
    return at


def _is_spaced(text: str, holder: TextNode) -> bool:
    """Return True if blank lines separate all entries."""
    entries = holder.entries
    gaps = [text[line_end(text, entry.end) : following.start] for entry, following in itertools.pairwise(entries)]
    return bool(gaps) and all(re.search(r"\n[ \t]*\n", gap) for gap in gaps)
