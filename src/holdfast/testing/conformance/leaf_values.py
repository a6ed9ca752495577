"""The leaves of a document, and another value for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.model.path import Pointer


def leaves(document: Json, pointer: Pointer = ()) -> Iterator[tuple[Pointer, Json]]:
    """Yield every leaf in order; an empty container is a leaf."""
    if isinstance(document, dict) and document:
        for key, value in document.items():
            yield from leaves(value, (*pointer, key))
    elif isinstance(document, list) and document:
        for index, value in enumerate(document):
            yield from leaves(value, (*pointer, index))
    else:
        yield pointer, document


def other(value: Json) -> Json:
    """Return another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, dict):
        return {"intruder": "was here"}
    if isinstance(value, list):
        return ["the intruder was here"]
    return f"{value}-altered" if isinstance(value, str) else "altered"


def place(pointer: Pointer) -> Pointer:
    """Return the most exact path for a change: below a list it is the list, whose elements have no fixed paths."""
    for depth, step in enumerate(pointer):
        if isinstance(step, int):
            return pointer[:depth]
    return pointer


def is_exactly(findings: Sequence[Finding], pointer: Pointer, value: Json) -> bool:
    """Return True if findings name the place of a change and no other; inside a list, that list."""
    where = place(pointer)
    if where == pointer and not isinstance(value, dict | list):
        return [finding.path for finding in findings] == [pointer]
    return bool(findings) and all(finding.path[: len(where)] == where for finding in findings)
