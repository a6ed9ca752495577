"""Which element of one list is which element of another.

The walk compares up to four lists at once (declared, applied, baseline, observed). Here every element of every list
gets an identity: the value of its key, its content, or its place, depending on the list's semantics. Elements with the
same identity are then compared with each other and nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from holdfast.compare import normalize, paths
from holdfast.compare.comparators import Comparator
from holdfast.compare.element_identity import SCALARS, natural_key, text
from holdfast.compare.rule_tree import Node
from holdfast.compare.rules import ListKind, ListRule
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.path import Selector

_LIKE_A_KEY = re.compile(r"[a-z0-9](Name|Key|Id|ID|Arn|ARN)$|_(name|key|id|arn)$")
_SIMILAR = 0.5  # share of equal scalar fields from which two keyless objects count as one that changed

_LEVELS = 20  # how deep into an element it is looked for what it has in common with another
_PAIRS_TRIED = 10_000  # above this many candidate pairs respelt scalars are not looked for

Row = tuple[Hashable, list[int | None]]


@dataclass(frozen=True, slots=True)
class Aligned:
    """Rows of indices, one column a list (None where that list lacks the element), and how the rows were found."""

    rows: list[Row]
    kind: ListKind
    key: tuple[str, ...] = ()

    def selector(self, element: Json) -> Selector | None:
        """Name an element by its key, where there is one."""
        if not self.key:
            return None
        return Selector(tuple((field, paths.scalar_text(element.get(field))) for field in self.key))


def align(node: Node, lists: Sequence[list[Json]], *, adopting: bool = False) -> Aligned:
    """Align the lists; the first is the anchor that the others are matched against."""
    rule = node.list_rule or (node.adopt_list if adopting else None)
    if rule is None:
        return _align_by_default(node, lists, adopting=adopting)
    if rule.kind is ListKind.ORDERED:
        return Aligned(_by_place(lists), ListKind.ORDERED)
    key = rule.key or natural_key(lists, like=_LIKE_A_KEY)
    ids = _keyed_ids(node, key, lists, rule, adopting=adopting) if key else None
    if ids is not None:
        return Aligned(_join(ids), rule.kind, key or ())
    kind = ListKind.MULTISET if rule.kind is ListKind.KEYED else rule.kind
    return Aligned(_by_content(node, lists, distinct=kind is ListKind.SET, adopting=adopting), kind)


def plain_key(node: Node, *lists: Json) -> str | None:
    """Return the one field that keys these lists, if it is that simple: no comparator, no choosing by content."""
    rule = node.list_rule
    if rule is None or not rule.key:
        if rule is not None and rule.kind is ListKind.ORDERED:
            return None
        key = natural_key([elements for elements in lists if type(elements) is list])
    else:
        key = rule.key
    if not key or len(key) != 1 or (rule is not None and rule.normalise):
        return None
    return key[0] if node.element(None, -1).child(key[0]).comparator is None else None


def by_plain_key(elements: Json, field: str) -> dict[str, Json] | None:
    """Return the elements by their key, or None unless all are maps with a string there and no two share it."""
    if elements is ABSENT:
        return {}
    try:
        found = {element[field]: element for element in elements}
    except (TypeError, KeyError):
        return None
    if len(found) != len(elements) or set(map(type, found)) - {str}:
        return None
    return found


def _align_by_default(node: Node, lists: Sequence[list[Json]], *, adopting: bool) -> Aligned:
    key = natural_key(lists)
    ids = _keyed_ids(node, key, lists, None, adopting=adopting) if key else None
    if ids is not None:
        return Aligned(_join(ids), ListKind.KEYED, key or ())
    return Aligned(_by_place(lists), ListKind.ORDERED)


def _keyed_ids(
    node: Node, key: tuple[str, ...], lists: Sequence[list[Json]], rule: ListRule | None, *, adopting: bool
) -> list[list[Hashable]] | None:
    """Return each element's key, or None where keys are missing, not scalar, or not unique."""
    given = dict(rule.normalise) if rule is not None else {}
    out: list[list[Hashable]] = []
    for elements in lists:
        ids: list[Hashable] = []
        names: set[Hashable] = set()  # as selectors write them: 1 and "1" could not be told apart
        for index, element in enumerate(elements):
            if type(element) is not dict or any(isinstance(element.get(field), dict | list) for field in key):
                return None
            below = node.element(element, index)
            parts = tuple(
                _key_part(below.child(field), element.get(field), given.get(field), adopting) for field in key
            )
            if all(part is None for part in parts):
                return None
            ids.append(parts)
            names.add(tuple(paths.scalar_text(element.get(field)) for field in key))
        if len(set(ids)) != len(ids) or len(names) != len(ids):
            return None
        out.append(ids)
    if rule is not None and rule.keys_filled_in:
        _complete_keys(out)
    return out


def _complete_keys(columns: list[list[Hashable]]) -> None:
    """Give an element that lacks a part of its key the key of the one element elsewhere that it can be.

    A service may fill in a part of a key, and its default is not always published. An element that the anchor or the
    list matched against it has just so is left alone.
    """
    for column, ids in enumerate(columns):
        for index, ident in enumerate(ids):
            if not isinstance(ident, tuple) or None not in ident:
                continue
            others = [other for place, other in enumerate(columns) if place != column]
            if not any(ident in other for other in columns[:2] if other is not ids):
                completions = (_completion(ident, other, ids) for other in others)
                ids[index] = next((full for full in completions if full is not None), ident)


def _completion(ident: tuple[Hashable, ...], others: list[Hashable], taken: list[Hashable]) -> Hashable | None:
    fitting = [
        other
        for other in others
        if isinstance(other, tuple)
        and other not in taken
        and all(part is None or part == full for part, full in zip(ident, other, strict=True))
    ]
    return fitting[0] if len(fitting) == 1 else None


def _key_part(node: Node, value: Json, given: Comparator | None, adopting: bool) -> Hashable:  # noqa: FBT001
    """Return one field of a key, free of spelling; while adopting, of case and number spelling too."""
    if value is None:
        value = node.default  # a key that the service fills in
        if value is ABSENT:
            return None
    comparator = given or node.comparator
    if comparator is not None:
        value = comparator.key(value)
    if adopting and node.adopt and isinstance(value, SCALARS):
        return str(value).casefold()
    part: Hashable = value if isinstance(value, Hashable) else text(value)
    return part if type(part) is str else (type(part) is bool, part)


def _join(ids: Sequence[Sequence[Hashable]]) -> list[Row]:
    rows: dict[Hashable, list[int | None]] = {}
    width = len(ids)
    for column, column_ids in enumerate(ids):
        for index, ident in enumerate(column_ids):
            row = rows.get(ident)
            if row is None:
                row = rows[ident] = [None] * width
            row[column] = index
    return list(rows.items())


def _by_content(node: Node, lists: Sequence[list[Json]], *, distinct: bool, adopting: bool) -> list[Row]:
    """Match equal elements wherever they stand, then pair leftover containers that resemble each other."""
    out = _content_ids(node, lists, _content, distinct=distinct)
    if all(set(ids) == set(out[0]) for ids in out):
        return _join(out)
    # Not the same in writing, but perhaps under the rules: inner order, hidden fields, spelling.
    out = _content_ids(node, lists, _normal_content, distinct=distinct)
    for column in range(1, len(out)):
        if adopting:
            _pair_respelt(node, (lists[0], out[0]), (lists[column], out[column]))
        _pair_similar(lists[0], out[0], lists[column], out[column])
    return _join(out)


def _content_ids(
    node: Node, lists: Sequence[list[Json]], content_of: Callable[[Node, Json], Hashable], *, distinct: bool
) -> list[list[Hashable]]:
    out: list[list[Hashable]] = []
    for elements in lists:
        seen: Counter[Hashable] = Counter()
        ids: list[Hashable] = []
        for index, element in enumerate(elements):
            content = content_of(node.element(element, index), element)
            ids.append((content, 0 if distinct else seen[content]))
            seen[content] += 1
        out.append(ids)
    return out


def _content(below: Node, element: Json) -> Hashable:
    if isinstance(element, dict | list):
        return text(element)
    if below.comparator is not None:
        key: Hashable = below.comparator.key(element)
        return key
    return (type(element) is bool, element)


def _normal_content(below: Node, element: Json) -> Hashable:
    return text(normalize.normalise(below, element)) if isinstance(element, dict | list) else _content(below, element)


_Listed = tuple[list[Json], list[Hashable]]  # elements with their identities


def _pair_respelt(node: Node, anchor: _Listed, other: _Listed) -> None:
    """Give an unmatched scalar the identity of an unmatched anchor scalar that it may be another spelling of."""
    taken = set(other[1])
    free = [i for i, ident in enumerate(anchor[1]) if ident not in taken and isinstance(anchor[0][i], SCALARS)]
    known = set(anchor[1])
    loose = [j for j, ident in enumerate(other[1]) if ident not in known and isinstance(other[0][j], SCALARS)]
    if len(free) * len(loose) > _PAIRS_TRIED:
        return
    for j in loose:
        spellings = node.element(other[0][j], j).adopt
        match = next((i for i in free if any(c.equal(anchor[0][i], other[0][j]) for c in spellings)), None)
        if match is not None:
            free.remove(match)
            other[1][j] = anchor[1][match]


def _pair_similar(anchor: list[Json], anchor_ids: list[Hashable], other: list[Json], other_ids: list[Hashable]) -> None:
    """Give an unmatched container the identity of the unmatched anchor container it has most in common with."""
    taken = set(other_ids)
    free = [i for i, ident in enumerate(anchor_ids) if ident not in taken and isinstance(anchor[i], dict | list)]
    known = set(anchor_ids)
    loose = [i for i, ident in enumerate(other_ids) if ident not in known and isinstance(other[i], dict | list)]
    if not free or not loose:
        return
    if len(free) == len(loose) == 1 and type(anchor[free[0]]) is type(other[loose[0]]):
        other_ids[loose[0]] = anchor_ids[free[0]]
        return
    where: dict[Hashable, list[int]] = {}
    for i in free:
        for token in _tokens(anchor[i]):
            where.setdefault(token, []).append(i)
    scores: list[tuple[float, int, int]] = []
    for j in loose:
        tokens = _tokens(other[j])
        shared: dict[int, int] = {}
        for token in tokens:
            for i in where.get(token, ()):
                shared[i] = shared.get(i, 0) + 1
        scores.extend((count / min(len(tokens), len(_tokens(anchor[i]))), i, j) for i, count in shared.items())
    used_i: set[int] = set()
    used_j: set[int] = set()
    for score, i, j in sorted(scores, key=lambda row: (-row[0], row[1], row[2])):
        if score >= _SIMILAR and i not in used_i and j not in used_j:
            used_i.add(i)
            used_j.add(j)
            other_ids[j] = anchor_ids[i]


def _tokens(element: Json, prefix: tuple[str, ...] = ()) -> list[Hashable]:
    """List what a container would be recognised by: the leaves of an object with where they stand, a list's items."""
    if isinstance(element, list):
        return [("item", _loose(item)) for item in element]
    out: list[Hashable] = []
    for key, value in element.items():
        if isinstance(value, dict) and len(prefix) < _LEVELS:
            out.extend(_tokens(value, (*prefix, key)))
        elif isinstance(value, dict | list):
            out.append((*prefix, key, _loose(value)))
        elif value is not None:
            out.append((*prefix, key, type(value) is bool, value))
    return out


def _loose(value: Json, levels: int = _LEVELS) -> int:
    """Return the same number for contents that are the same but for the order in any list."""
    if isinstance(value, dict) and levels:
        return hash(frozenset((key, _loose(item, levels - 1)) for key, item in value.items()))
    if isinstance(value, list) and levels:
        return hash(frozenset(Counter(_loose(item, levels - 1) for item in value).items()))
    return hash(text(value))


def _by_place(lists: Sequence[list[Json]]) -> list[Row]:
    """Match by position where lengths agree, else around what stayed equal; a mere swap is matched by content."""
    if not lists:
        return []
    anchor = lists[0]
    return _join([list(range(len(anchor))), *(_place_ids(anchor, elements) for elements in lists[1:])])


def _place_ids(anchor: list[Json], elements: list[Json]) -> list[Hashable]:
    if anchor is elements or len(anchor) == len(elements) == 1:
        return list(range(len(elements)))
    left, right = [text(element) for element in anchor], [text(element) for element in elements]
    if left == right:
        return list(range(len(elements)))
    if len(left) == len(right):
        return _swapped(left, right) if sorted(map(repr, left)) == sorted(map(repr, right)) else list(range(len(right)))
    head = 0
    while head < min(len(left), len(right)) and left[head] == right[head]:
        head += 1
    tail = 0
    while tail < min(len(left), len(right)) - head and left[-1 - tail] == right[-1 - tail]:
        tail += 1
    ids: list[Hashable] = list(range(head))
    ids += _middle(left, right, (head, len(left) - tail), (head, len(right) - tail))
    ids += range(len(left) - tail, len(left))
    return ids


def _swapped(left: list[Hashable], right: list[Hashable]) -> list[Hashable]:
    where: dict[Hashable, list[int]] = {}
    for index in range(len(left) - 1, -1, -1):
        where.setdefault(left[index], []).append(index)
    return [where[content].pop() for content in right]


def _middle(
    left: list[Hashable], right: list[Hashable], here: tuple[int, int], there: tuple[int, int]
) -> list[Hashable]:
    """Match equal contents first, then what is left over in order; the rest is new, and known by its content."""
    free: dict[Hashable, list[int]] = {}
    for index in range(here[1] - 1, here[0] - 1, -1):
        free.setdefault(left[index], []).append(index)
    out: list[Hashable] = []
    for index in range(*there):
        slots = free.get(right[index])
        out.append(slots.pop() if slots else None)
    leftover = iter(sorted(index for slots in free.values() for index in slots))
    out = [ident if ident is not None else next(leftover, None) for ident in out]
    times: Counter[Hashable] = Counter()
    for place, content in enumerate(right[there[0] : there[1]]):
        if out[place] is None:
            out[place] = ("new", content, times[content])
            times[content] += 1
    return out
