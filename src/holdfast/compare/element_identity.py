"""The identity of a list element: a field that names it, or its whole content."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable

import orjson

from holdfast.compare import comparators, paths
from holdfast.model.json import Json

NATURAL_KEYS = ("name", "key", "id")  # compared without regard to case: Name, Key and Id too
SCALARS = (str, int, float)

_WHOLE_FLOAT = re.compile(rb'("(?:[^"\\]|\\.)*+")|(?<=[0-9])\.0(?![0-9e])')  # strings are passed over as they are


def natural_key(lists: Iterable[list[Json]], like: re.Pattern[str] | None = None) -> tuple[str, ...] | None:
    """Find a field such as `name` that every element of every list has, with values unique in each list.

    `like` lets fields count whose names merely end so (PolicyName); only where the order is known not to matter.
    """
    present = [elements for elements in lists if elements]
    if not present or not all(isinstance(element, dict) for elements in present for element in elements):
        return None
    shared = set(present[0][0])
    for elements in present:
        for element in elements:
            shared &= element.keys()
    named = [field for wanted in NATURAL_KEYS for field in sorted(shared) if field.lower() == wanted]
    if like is not None:
        named += [field for field in sorted(shared) if like.search(field)]
    return next(((field,) for field in named if all(_is_unique(field, elements) for elements in present)), None)


def _is_unique(field: str, elements: list[Json]) -> bool:
    values = [element[field] for element in elements]
    if not all(isinstance(value, SCALARS) for value in values):
        return False
    return len({value if type(value) is str else paths.scalar_text(value) for value in values}) == len(values)


def text(value: Json) -> Hashable:
    """Return the content of a value as something hashable that tells different values apart; 1.0 reads as 1."""
    try:
        written = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, orjson.JSONEncodeError):  # nested too deep, or integers beyond 64 bits
        return comparators.identity(value)
    return _WHOLE_FLOAT.sub(_without_fraction, written) if b".0" in written else written


def _without_fraction(match: re.Match[bytes]) -> bytes:
    return match[1] or b""
