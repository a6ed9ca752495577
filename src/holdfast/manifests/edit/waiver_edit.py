"""Adding a waiver to a file and removing one, with every other byte of the file unchanged.

The place is found from the events of the YAML reader. The result is read again before it is returned, so that a file
in an unforeseen notation is refused rather than damaged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any, Final

import yaml

from holdfast.compare import yaml_reader
from holdfast.errors import InputError
from holdfast.manifests.waivers import SECTION
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.policy.waivers import Waiver
from holdfast.text_edit import yaml_spelling

HEADER: Final = """\
# Differences that are tolerated for a time: each has an owner, a reason and an end.
# A waived difference is still seen and shown; it only does not count. See `holdfast waive --help`.
"""

_Event = Any  # the library's own classes carry no types


def add(text: str | None, waiver: Waiver) -> str:
    """Return the text of a file with one more waiver at the end of its list; None is a file that does not exist yet.

    Raise InputError if the file holds something else, or is written in a way that cannot be added to.
    """
    before = _value(text or "")
    after = {**before, SECTION: [*(before.get(SECTION) or []), entry(waiver)]}
    base = HEADER if text is None else text
    added = _added(base, waiver)
    return _checked(added, after, f"add it by hand:\n{_block(waiver, 2, chr(10))}")


def remove(text: str, index: int) -> str:
    """Return the text of a file without one of its waivers, counted from 0; comments around it stay."""
    before = _value(text)
    listed = before.get(SECTION) or []
    if not 0 <= index < len(listed):
        raise InputError(f"there is no waiver number {index + 1} in this file; it has {len(listed)}")
    after = {**before, SECTION: [*listed[:index], *listed[index + 1 :]]}
    return _checked(_removed(text, index), after, "remove it by hand")


def entry(waiver: Waiver) -> dict[str, str]:
    """Return a waiver as it stands in a file."""
    out = {
        "resource": waiver.resource,
        "path": waiver.path,
        "owner": waiver.owner,
        "reason": waiver.reason,
        "expires": waiver.until,
    }
    return {**out, "ticket": waiver.ticket} if waiver.ticket else out


def _value(text: str) -> dict[str, Json]:
    found = yaml_reader.documents(text)
    if not found:
        return {}
    value = found[0].value
    if len(found) > 1 or not isinstance(value, dict) or not isinstance(value.get(SECTION), list | None):
        raise InputError("this is no file of waivers: it must be one document with a list below waivers:")
    return value


def _checked(text: str | None, wanted: dict[str, Json], otherwise: str) -> str:
    """Return the new text if it has the wanted content."""
    try:
        found = _value(text) if text is not None else None
    except InputError:
        found = None
    if text is None or found is None or _plain(found) != _plain(wanted):
        raise InputError(f"the file is written in a way that cannot be edited here; {otherwise}")
    return text


def _plain(value: dict[str, Json]) -> dict[str, Json]:
    return {**value, SECTION: value.get(SECTION) or []}


# -- writing


def _lines(waiver: Waiver, *, in_flow: bool) -> list[str]:
    out = []
    for key, value in entry(waiver).items():
        spelt = value if key == "expires" else yaml_spelling.scalar(value, in_flow=in_flow)
        out.append(f"{key}: {spelt}")
    return out


def _block(waiver: Waiver, indent: int, newline: str) -> str:
    margin = " " * indent
    marks = ["- ", *["  "] * len(entry(waiver))]
    lines = _lines(waiver, in_flow=False)
    return "".join(f"{margin}{mark}{line}{newline}" for mark, line in zip(marks, lines, strict=False))


def _flow(waiver: Waiver) -> str:
    return "{" + ", ".join(_lines(waiver, in_flow=True)) + "}"


# -- finding the place


@dataclass(slots=True)
class _Item:
    """Where an entry of the list begins, and where its last token ends."""

    start: int
    end: int


@dataclass(slots=True)
class _Place:
    """Where the list of waivers stands; offsets into the text."""

    start: int
    end: int
    column: int = 0
    is_list: bool = False
    is_flow: bool = False
    items: list[_Item] = field(default_factory=list)


class _Finder:
    """Goes through the events of one document and keeps those below the key."""

    def __init__(self, text: str) -> None:
        # The reader in Python, not the one in C: its marks count characters of the text.
        self._events: Iterator[_Event] = iter(yaml.parse(text, Loader=yaml.SafeLoader))

    def place(self) -> _Place | None:
        """Return where the value of the key stands; None if there is no such key."""
        for event in self._events:
            if isinstance(event, yaml.MappingStartEvent):
                return self._in_mapping()
        return None

    def _in_mapping(self) -> _Place | None:
        for key in self._events:
            if isinstance(key, yaml.MappingEndEvent):
                break
            value = next(self._events)
            if isinstance(key, yaml.ScalarEvent) and key.value == SECTION:
                return self._at(value)
            self._end(value)
        return None

    def _at(self, event: _Event) -> _Place:
        place = _Place(event.start_mark.index, event.end_mark.index, event.start_mark.column)
        if isinstance(event, yaml.SequenceStartEvent):
            place.is_list, place.is_flow = True, bool(event.flow_style)
            for item in self._events:
                if isinstance(item, yaml.SequenceEndEvent):
                    place.end = _end_of(item)
                    break
                place.items.append(_Item(item.start_mark.index, self._end(item)))
        return place

    def _end(self, event: _Event) -> int:
        """Go past a value; return where its last token ends. The end of a block is a token of no length far below."""
        end = _end_of(event)
        if not isinstance(event, yaml.CollectionStartEvent):
            return end
        while True:
            inner = next(self._events)
            if isinstance(inner, yaml.CollectionEndEvent):
                return _end_of(inner) if event.flow_style else end
            end = self._end(inner)


def _end_of(event: _Event) -> int:
    return int(event.end_mark.index)


def _added(text: str, waiver: Waiver) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    place = _Finder(text).place()
    if place is None:
        return _ended(text, newline) + f"{SECTION}:{newline}" + _block(waiver, 2, newline)
    if place.items and place.is_flow:
        end = place.items[-1].end
        return f"{text[:end]}, {_flow(waiver)}{text[end:]}"
    if place.items:
        at = _line_end(text, place.items[-1].end)
        return _ended(text[:at], newline) + _block(waiver, place.column, newline) + text[at:]
    # Nothing there yet: what says so (null, [] or nothing at all) goes, and the entry comes below.
    rest = text[place.end :]
    at = _line_end(rest, 0)
    head = text[: place.start].rstrip(" ") + rest[:at]
    return _ended(head, newline) + _block(waiver, 2, newline) + rest[at:]


def _removed(text: str, index: int) -> str | None:
    place = _Finder(text).place()
    if place is None or not place.is_list:
        return None
    item = place.items[index]
    if not place.is_flow:
        return text[: _dash_line(text, item.start, place.column)] + text[_line_end(text, item.end) :]
    if index + 1 < len(place.items):
        return text[: item.start] + text[place.items[index + 1].start :]
    return text[: place.items[index - 1].end if index else item.start] + text[item.end :]


def _dash_line(text: str, start: int, column: int) -> int:
    """Return where the line of an entry's dash begins; the entry itself may begin further down."""
    at = _line_start(text, start)
    while at and not text[at + column :].startswith("-"):
        at = _line_start(text, at - 1)
    return at


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    """Return where the line ends that holds the character before; an end after a line break is one already."""
    if at and text[at - 1] == "\n":
        return at
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _ended(text: str, newline: str) -> str:
    return text if not text or text.endswith("\n") else text + newline
