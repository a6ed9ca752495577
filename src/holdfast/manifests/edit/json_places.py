"""The places of values in a JSON text. The values themselves come from the reader.

Only for texts that were read successfully. Nothing is checked here but a duplicate key, which that reader accepts on
purpose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.compare import go_json
from holdfast.errors import DocumentError, Location
from holdfast.model.path import Pointer

Place = tuple[int, int]  # line and column, from 1

_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{},:\n]|[^\s\[\]{},:"]+')
_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[{]|[\]}]')


def places(text: str, first_line: int = 1) -> dict[Pointer, Place]:
    """Return where each value begins, or its key where it has one; raise DocumentError if a key stands twice."""
    out: dict[Pointer, Place] = {}
    containers: list[tuple[Pointer, bool]] = []  # where it stands, whether it is a map
    here: Pointer = ()
    awaits_key = False
    index = 0
    indices: list[int] = []
    for mark, place in _tokens(text, first_line):
        if mark in (":", ","):
            if mark == "," and containers:
                above, is_map = containers[-1]
                awaits_key = is_map
                index += 1
                here = (*above, index)
            continue
        if mark in ("]", "}"):
            containers.pop()
            index, awaits_key = indices.pop(), False
            continue
        if awaits_key:
            here = (*containers[-1][0], go_json.loads(mark))
            if here in out:
                message = f"duplicate key {here[-1]!r} (first in line {out[here][0]})"
                raise DocumentError(message, Location(line=place[0], column=place[1]))
            out[here], awaits_key = place, False
            continue
        out.setdefault(here, place)
        if mark in ("[", "{"):
            containers.append((here, mark == "{"))
            indices.append(index)
            awaits_key, index = mark == "{", 0
            here = (*here, 0)
    return out


def _tokens(text: str, first_line: int) -> Iterator[tuple[str, Place]]:
    line, start = first_line, 0
    for match in _TOKEN.finditer(text):
        if match[0] == "\n":
            line, start = line + 1, match.end()
        else:
            yield match[0], (line, match.start() - start + 1)


def spans(text: str) -> list[tuple[int, int]]:
    """Return where each top-level object or list begins and ends; none if the brackets do not match."""
    out: list[tuple[int, int]] = []
    depth = start = 0
    for match in _BRACKETS.finditer(text):
        if match[0] in "[{":
            if depth == 0:
                start = match.start()
            depth += 1
        elif match[0] in "]}":
            depth -= 1
            if depth < 0:
                return []
            if depth == 0:
                out.append((start, match.end()))
    return out if depth == 0 else []
