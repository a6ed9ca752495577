"""What surely has not moved between two values of JSON, told in C as far as possible; the walk looks at the rest."""

from __future__ import annotations

import orjson

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json

_dumps, _SORTED = orjson.dumps, orjson.OPT_SORT_KEYS


def is_same(one: Json, other: Json) -> bool:
    """Tell, in C, that two values are surely the same JSON; False means only that one has to look."""
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
    """List the keys whose value may not be the same in both maps.

    The bulkiest container is not compared if everything else stands as it was: the caller knows that something here
    moved, so it must be in there, and looking inside costs less than comparing and then looking inside.
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
    # One pair of texts for all of them, before asking one by one.
    if containers and not _has_same_text([settled[key] for key in containers], [observed[key] for key in containers]):
        moved += [key for key in containers if not is_same(settled[key], observed[key])]
    if bulkiest is not None and (not moved or not is_same(settled[bulkiest], observed[bulkiest])):
        moved.append(bulkiest)
    return moved


def moved_elements(settled: dict[str, Json], observed: dict[str, Json]) -> list[str]:
    """As moved_keys for elements by their keys, which may all be the same: a list moves when its order does."""
    moved: list[str] = []
    equal: list[str] = []
    try:
        for key, seen in observed.items():
            before = settled.get(key, ABSENT)
            if seen is not before:
                (equal if seen == before else moved).append(key)
    except RecursionError:  # nested deeper than Python compares: all may have moved
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
