"""Edits: the difference of two documents as RFC 6902 operations, each as deep as possible."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Hashable, Iterator
from enum import StrEnum

from holdfast.compare import element_identity
from holdfast.compare.comparators import typed_equal
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.model.record import dataclass

_MOST_COMPARED = 250_000  # pairs of elements; longer lists are paired by index


class Act(StrEnum):
    """The operations of an edit, named as in RFC 6902."""

    ADD = "add"
    REPLACE = "replace"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class DocumentEdit:
    """One operation; edits apply in their order."""

    act: Act
    pointer: Pointer
    value: Json = None


def between(before: Json, after: Json, pointer: Pointer = ()) -> Iterator[DocumentEdit]:
    """Yield the edits that turn `before` into `after`, each as deep as possible."""
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _between_maps(before, after, pointer)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _between_lists(before, after, pointer)
    elif not typed_equal(before, after):
        yield DocumentEdit(Act.REPLACE, pointer, after)


def _between_maps(before: dict[str, Json], after: dict[str, Json], pointer: Pointer) -> Iterator[DocumentEdit]:
    removals = [DocumentEdit(Act.REMOVE, (*pointer, key)) for key in before if key not in after]
    if len(removals) < len(before):
        yield from removals
    for key, value in after.items():
        if key not in before:
            yield DocumentEdit(Act.ADD, (*pointer, key), value)
        elif not typed_equal(before[key], value):
            yield from between(before[key], value, (*pointer, key))
    if len(removals) == len(before):  # a mapping that is empty in between would lose its layout
        yield from removals


def _between_lists(before: list[Json], after: list[Json], pointer: Pointer) -> Iterator[DocumentEdit]:
    """Match elements by key, or by content if they have none."""
    key = element_identity.natural_key((before, after)) if before and after else None
    pairs = _pairs(*([_token(element, key) for element in elements] for elements in (before, after)))
    kept = {old for old, _ in pairs}
    yield from (
        DocumentEdit(Act.REMOVE, (*pointer, index)) for index in range(len(before) - 1, -1, -1) if index not in kept
    )
    partners = {new: old for old, new in pairs}
    for index, element in enumerate(after):
        if index in partners:
            yield from between(before[partners[index]], element, (*pointer, index))
        else:
            yield DocumentEdit(Act.ADD, (*pointer, index), element)


def _token(element: Json, key: tuple[str, ...] | None) -> Hashable:
    return element_identity.text(element[key[0]] if key else element)


def _pairs(old: list[Hashable], new: list[Hashable]) -> list[tuple[int, int]]:
    """Return the pairs of old and new indices, in order: equal elements first, the elements between them by index."""
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
    pairs = [(index, index) for index in range(head)]
    for block, following in itertools.pairwise(blocks):
        here, there = head + block.a + block.size, head + block.b + block.size
        pairs += [(head + block.a + offset, head + block.b + offset) for offset in range(block.size)]
        pairs += zip(range(here, head + following.a), range(there, head + following.b), strict=False)
    return pairs + [(len(old) - at, len(new) - at) for at in range(tail, 0, -1)]


def reordered_lists(before: Json, after: Json, pointer: Pointer = ()) -> Iterator[Pointer]:
    """Yield the pointers of lists whose common elements have another order."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before.keys() & after.keys():
            yield from reordered_lists(before[key], after[key], (*pointer, key))
    elif isinstance(before, list) and isinstance(after, list) and not typed_equal(before, after):
        key = element_identity.natural_key((before, after)) if before and after else None
        old, new = ([_token(element, key) for element in elements] for elements in (before, after))
        common = set(old) & set(new)
        if [token for token in old if token in common] != [token for token in new if token in common]:
            yield pointer
        for here, there in _pairs(old, new):
            yield from reordered_lists(before[here], after[there], (*pointer, here))


def apply_edit(document: Json, edit: DocumentEdit) -> Json:
    """Return the document with one edit applied; unchanged parts are shared."""
    if not edit.pointer:
        return edit.value
    step, rest = edit.pointer[0], edit.pointer[1:]
    out = document.copy()
    if rest:
        out[step] = apply_edit(document[step], DocumentEdit(edit.act, rest, edit.value))
    elif edit.act is Act.REMOVE:
        del out[step]
    elif edit.act is Act.ADD and isinstance(out, list):
        out.insert(int(step), edit.value)
    else:
        out[step] = edit.value
    return out
