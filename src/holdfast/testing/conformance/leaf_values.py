"""The leaves of a document, and another value for each. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.model.path import Pointer


def leaves(document: Json, pointer: Pointer = ()) -> Iterator[tuple[Pointer, Json]]:
    """Go through every value that holds no other, in order; an empty container is one."""
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
        return {"drift_injector": "was here"}
    if isinstance(value, list):
        return ["the vandal was here"]
    return f"{value}-vandalised" if isinstance(value, str) else "drifted"


def place(pointer: Pointer) -> Pointer:
    """Return how exactly a change there can be named: elements of a list may be told apart by content or by place."""
    for depth, step in enumerate(pointer):
        if isinstance(step, int):
            return pointer[:depth]
    return pointer


def is_exactly(findings: Sequence[Finding], pointer: Pointer, value: Json) -> bool:
    """Tell whether findings name the place of a change, and no other; inside a list, that very list."""
    where = place(pointer)
    if where == pointer and not isinstance(value, dict | list):
        return [finding.path for finding in findings] == [pointer]
    return bool(findings) and all(finding.path[: len(where)] == where for finding in findings)
