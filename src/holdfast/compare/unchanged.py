"""Fast equality of JSON values, in C as far as possible; the walk compares the rest."""

from __future__ import annotations

import orjson

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json

_dumps, _SORTED = orjson.dumps, orjson.OPT_SORT_KEYS


def is_same(one: Json, other: Json) -> bool:
    """Return True if two values are surely the same JSON; False proves nothing."""
    if one is other:
        return True
    kind = type(one)
    try:
        if kind is not type(other) or one != other:
            return False
    except RecursionError:  # nested deeper than Python compares
        return False
    # Python says True == 1 == 1.0, the texts of two equal containers do not.
    return (kind is not dict and kind is not list) or _has_same_text(one, other)


def _has_same_text(one: Json, other: Json) -> bool:
    try:
        if _dumps(one) == _dumps(other):
            return True
        return bool(one == other) and _dumps(one, option=_SORTED) == _dumps(other, option=_SORTED)
    except (TypeError, orjson.JSONEncodeError, RecursionError):
        return False


def moved_keys(settled: dict[str, Json], observed: dict[str, Json]) -> list[str]:
    """Return the keys whose values may differ in two mappings.

    The largest container is not compared if everything else is the same, because the caller knows that something
    changed and will compare its entries next.
    """
    moved: list[str] = []
    containers: list[str] = []
    get = settled.get
    for key, seen in observed.items():
        before = get(key, ABSENT)
        if seen is not before:
            kind = type(seen)
            if kind is not type(before):
                moved.append(key)
            elif kind is dict or kind is list:
                containers.append(key)
            elif seen != before:
                moved.append(key)
    if len(settled) > len(observed) or moved:
        moved += [key for key in settled if key not in observed]
    bulkiest = None
    if containers and not moved:
        bulkiest, most = containers[0], -1
        for key in containers if len(containers) > 1 else ():
            bulk = _bulk(observed[key])
            if bulk > most:
                bulkiest, most = key, bulk
        containers.remove(bulkiest)
    # One pair of texts for all containers, before one by one.
    if containers and not _has_same_text([settled[key] for key in containers], [observed[key] for key in containers]):
        moved += [key for key in containers if not is_same(settled[key], observed[key])]
    if bulkiest is not None and (not moved or not is_same(settled[bulkiest], observed[bulkiest])):
        moved.append(bulkiest)
    return moved


def moved_elements(settled: dict[str, Json], observed: dict[str, Json]) -> list[str]:
    """Return the keys whose elements may differ in two keyed lists; none, if only their order differs."""
    moved: list[str] = []
    equal: list[str] = []
    try:
        for key, seen in observed.items():
            before = settled.get(key, ABSENT)
            if seen is not before:
                (equal if seen == before else moved).append(key)
    except RecursionError:  # nested deeper than Python compares: all may differ
        return list(observed | settled)
    if equal and not _has_same_text([settled[key] for key in equal], [observed[key] for key in equal]):
        moved += [key for key in equal if not is_same(settled[key], observed[key])]
    return moved + [key for key in settled if key not in observed]


def _bulk(value: Json) -> int:
    """Estimate the size of a container from its length and that of its first entry."""
    for first in value.values() if type(value) is dict else value:
        kind = type(first)
        return len(value) * (len(first) if kind is dict or kind is list else 1)
    return 0
