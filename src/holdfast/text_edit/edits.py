"""The difference of two documents as edits, each as deep as it can be, and the making of one edit."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from holdfast.compare import element_identity
from holdfast.compare.comparators import typed_equal
from holdfast.model.json import Json
from holdfast.model.path import Pointer

_MOST_COMPARED = 250_000  # pairs of elements; in longer lists they are paired by place


class Act(StrEnum):
    """The three things an edit can do, by their names in RFC 6902."""

    ADD = "add"
    REPLACE = "replace"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class Edit:
    """One step from one document to the other; edits hold in the order they are given."""

    act: Act
    pointer: Pointer
    value: Json = None


def between(before: Json, after: Json, pointer: Pointer = ()) -> Iterator[Edit]:
    """Yield the edits that turn `before` into `after`, each as deep as it can be."""
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _between_maps(before, after, pointer)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _between_lists(before, after, pointer)
    elif not typed_equal(before, after):
        yield Edit(Act.REPLACE, pointer, after)


def _between_maps(before: dict[str, Json], after: dict[str, Json], pointer: Pointer) -> Iterator[Edit]:
    going = [Edit(Act.REMOVE, (*pointer, key)) for key in before if key not in after]
    if len(going) < len(before):
        yield from going
    for key, value in after.items():
        if key not in before:
            yield Edit(Act.ADD, (*pointer, key), value)
        elif not typed_equal(before[key], value):
            yield from between(before[key], value, (*pointer, key))
    if len(going) == len(before):  # a map that would be empty in between loses its layout
        yield from going


def _between_lists(before: list[Json], after: list[Json], pointer: Pointer) -> Iterator[Edit]:
    """Go by what the elements are called or, where they have no names, by what is in them."""
    key = element_identity.natural_key((before, after)) if before and after else None
    pairs = _pairs(*([_token(element, key) for element in elements] for elements in (before, after)))
    kept = {old for old, _ in pairs}
    yield from (Edit(Act.REMOVE, (*pointer, index)) for index in range(len(before) - 1, -1, -1) if index not in kept)
    partners = {new: old for old, new in pairs}
    for index, element in enumerate(after):
        if index in partners:
            yield from between(before[partners[index]], element, (*pointer, index))
        else:
            yield Edit(Act.ADD, (*pointer, index), element)


def _token(element: Json, key: tuple[str, ...] | None) -> Hashable:
    return element_identity.text(element[key[0]] if key else element)


def _pairs(old: list[Hashable], new: list[Hashable]) -> list[tuple[int, int]]:
    """Return which element becomes which, in order: the same ones where they can be found, between them by place."""
    shorter = min(len(old), len(new))
    head = tail = 0
    while head < shorter and old[head] == new[head]:
        head += 1
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle = old[head : len(old) - tail], new[head : len(new) - tail]
    blocks = [difflib.Match(0, 0, 0)]
    if len(middle[0]) * len(middle[1]) <= _MOST_COMPARED:
        blocks += difflib.SequenceMatcher(None, *middle, autojunk=False).get_matching_blocks()[:-1]
    blocks.append(difflib.Match(len(middle[0]), len(middle[1]), 0))
    out = [(at, at) for at in range(head)]
    for one, other in itertools.pairwise(blocks):
        here, there = head + one.a + one.size, head + one.b + one.size
        out += [(head + one.a + at, head + one.b + at) for at in range(one.size)]
        out += zip(range(here, head + other.a), range(there, head + other.b), strict=False)
    return out + [(len(old) - at, len(new) - at) for at in range(tail, 0, -1)]


def reordered(before: Json, after: Json, pointer: Pointer = ()) -> Iterator[Pointer]:
    """Yield the lists whose common elements stand in another order."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before.keys() & after.keys():
            yield from reordered(before[key], after[key], (*pointer, key))
    elif isinstance(before, list) and isinstance(after, list) and not typed_equal(before, after):
        key = element_identity.natural_key((before, after)) if before and after else None
        old, new = ([_token(element, key) for element in elements] for elements in (before, after))
        common = set(old) & set(new)
        if [token for token in old if token in common] != [token for token in new if token in common]:
            yield pointer
        for here, there in _pairs(old, new):
            yield from reordered(before[here], after[there], (*pointer, here))


def made(document: Json, edit: Edit) -> Json:
    """Return the document with one edit made; what the edit does not touch is shared with it."""
    if not edit.pointer:
        return edit.value
    step, rest = edit.pointer[0], edit.pointer[1:]
    out = document.copy()
    if rest:
        out[step] = made(document[step], Edit(edit.act, rest, edit.value))
    elif edit.act is Act.REMOVE:
        del out[step]
    elif edit.act is Act.ADD and isinstance(out, list):
        out.insert(int(step), edit.value)
    else:
        out[step] = edit.value
    return out
