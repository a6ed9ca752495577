"""Applying differences: one document plus its differences from another gives the other.

Used to rebuild a baseline from the declaration and its known differences, and to put single values back.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from holdfast.compare import paths
from holdfast.model.absent import ABSENT
from holdfast.model.finding import Difference, Op
from holdfast.model.json import Json
from holdfast.model.path import Path, Selector, Step


def copied(document: Json) -> Json:
    """Return a copy of a document that shares no map and no list with it; any depth is safe."""
    root = [document]
    pending: list[Json] = [root]
    while pending:
        here = pending.pop()
        for step, item in list(here.items()) if type(here) is dict else enumerate(here):
            if type(item) is dict or type(item) is list:
                here[step] = item.copy()
                pending.append(here[step])
    return root[0]


def apply(document: Json, differences: Iterable[Difference]) -> Json:
    """Return a copy of `document` with the differences made; it then equals the other side of the comparison."""
    out = copied(document)
    listed = list(differences)
    reordered = {difference.path for difference in listed if difference.op is Op.REORDERED}
    for difference in sorted(listed, key=_turn):
        path = difference.path
        if any(path[:length] in reordered for length in range(len(path))):
            continue  # the whole list was put in its place
        out = _insert(out, difference) if difference.op is Op.ELEMENT_ADDED else put(out, path, difference.observed)
    return out


_TURNS = {Op.REORDERED: 0, Op.ELEMENT_MISSING: 1, Op.ELEMENT_ADDED: 2}


def _turn(difference: Difference) -> tuple[int, int, int]:
    """Order differences so that every index holds when its turn comes: a list gets its shape before its contents.

    What is missing is removed from the back, where it was; then the new is put in from the front, where it is.
    """
    index = _index(difference)
    turn = _TURNS.get(difference.op, 3)
    return len(difference.path), turn, -index if difference.op is Op.ELEMENT_MISSING else index


def _index(difference: Difference) -> int:
    last = (difference.pointer or difference.path)[-1:]
    return last[0] if last and isinstance(last[0], int) else 0


def _insert(document: Json, difference: Difference) -> Json:
    target = paths.resolve(document, difference.path[:-1])
    if not isinstance(target, list):
        return put(document, difference.path[:-1], [copied(difference.observed)])
    target.insert(_index(difference), copied(difference.observed))
    return document


def put(document: Json, path: Path, value: Json) -> Json:
    """Set the value at a path, making the maps on the way; ABSENT removes it. Changes `document` and returns it."""
    if value is ABSENT:
        return remove(document, path)
    if not path:
        return copied(value)
    here = document if isinstance(document, dict | list) else {}
    root = here
    for step, following in itertools.pairwise(path):
        here = _enter(here, step, following)
    _assign(here, path[-1], copied(value))
    return root


def _enter(here: Json, step: Step, following: Step) -> Json:
    below = paths.resolve(here, (step,))
    if isinstance(below, dict | list):
        return below
    fresh: Json = {} if isinstance(following, str) else []
    _assign(here, step, fresh)
    return fresh


def _assign(here: Json, step: Step, value: Json) -> None:
    if isinstance(here, dict):
        here[str(step)] = value
        return
    index = _position(here, step)
    if index is None:
        here.append(value)
    else:
        here[index] = value


def _position(here: list[Json], step: Step) -> int | None:
    if isinstance(step, Selector):
        return next((index for index, element in enumerate(here) if paths.selects(step, element)), None)
    index = int(step)
    return index if index < len(here) else None


def remove(document: Json, path: Path) -> Json:
    """Remove what stands at a path, if anything does. Changes `document` and returns it."""
    if not path:
        return ABSENT
    here = paths.resolve(document, path[:-1])
    if isinstance(here, dict):
        here.pop(str(path[-1]), None)
    elif isinstance(here, list):
        index = _position(here, path[-1])
        if index is not None:
            del here[index]
    return document
