"""The walk behind the comparison: declaration, applied revision, baseline and observation, path by path.

`compare.diff` defines the findings; this module walks the documents. It is fast for two reasons: unchanged subtrees are
compared in C, and if the declaration is unchanged only entries with live changes are visited.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from holdfast.compare import comparators, list_matching, normalize
from holdfast.compare.comparators import typed_equal
from holdfast.compare.comparators.structured import decode_json
from holdfast.compare.emptiness import is_void
from holdfast.compare.rule_tree import Node
from holdfast.compare.rules import ListKind, MapRule, Presence
from holdfast.compare.unchanged import is_same, moved_elements, moved_keys
from holdfast.model.absent import ABSENT
from holdfast.model.finding import ChangedBy, Finding, FindingClass, Op
from holdfast.model.json import Json
from holdfast.model.path import Path, Pointer, Selector

MAX_DEPTH = 150  # a deeper subtree is compared as one value, because recursion would exhaust the stack

# The four documents, in the order they are passed around: declared, applied, baseline, observed.
DESIRED, APPLIED, SETTLED, OBSERVED = range(4)
Four = tuple[Json, Json, Json, Json]
_Map = dict[str, Json]
_NOTHING: _Map = {}

# Enum members as module names, because looking them up on the class is visible in the benchmark.
_CHANGED, _ADDED, _MISSING = Op.CHANGED, Op.ADDED, Op.MISSING
_ELEMENT_ADDED, _ELEMENT_MISSING, _REORDERED = Op.ELEMENT_ADDED, Op.ELEMENT_MISSING, Op.REORDERED


@dataclass(frozen=True, slots=True)
class TraceEntry:
    """The outcome at one path and the rule that applied, for `explain`."""

    path: Path
    outcome: str
    rule: str


class Walk:
    """One comparison in progress; findings collect in `found`."""

    __slots__ = ("_above", "_adopting", "_has_baseline", "_level", "_trace", "_undeclared", "found")

    def __init__(
        self, *, has_baseline: bool, undeclared: bool, trace: list[TraceEntry] | None = None, above: int = 0
    ) -> None:
        self.found: list[Finding] = []
        self._has_baseline = has_baseline
        self._undeclared = undeclared
        self._adopting = not has_baseline and not undeclared
        self._trace = trace
        self._above = self._level = above  # levels above the root of this walk

    def is_untouched(self, four: Four) -> bool:
        """Return True if nothing changed at a path and below, so that it need not be compared."""
        if self._trace is not None:
            return False
        desired, applied, settled, observed = four
        if self._has_baseline:
            return is_same(desired, applied) and is_same(settled, observed)
        if desired is ABSENT:
            return not self._undeclared or observed is ABSENT
        return is_same(desired, observed)

    def moved(self, node: Node, path: Path, pointer: Pointer, four: Four, *, element: str = "") -> None:
        """Compare the values at a path where something changed."""
        if node.hidden:
            self._note(path, "not compared", node, "class")
            return
        desired, applied, settled, observed = four
        if (desired is None or applied is None or settled is None or observed is None) and (
            node.is_lenient and not element  # null is an element of a list
        ):
            four = tuple(ABSENT if value is None else value for value in four)  # type: ignore[assignment]
            desired, applied, settled, observed = four
        if desired is ABSENT and node.hidden_unless_declared:
            self._note(path, "not compared, not declared", node, "class")
            return
        walk = self._walk_of(node, four) if self._above + len(path) < MAX_DEPTH else None
        if walk is None:
            self._leaf(node, path, pointer, four, element=element)
        else:
            walk(node, path, pointer, four)

    def _walk_of(self, node: Node, four: Four) -> Callable[[Node, Path, Pointer, Four], None] | None:
        """Return the method that compares containers entry by entry, or None to compare the values as a whole."""
        desired, _, settled, observed = four
        kind = type(observed)
        if kind is dict:
            return self._mapping if _fits(desired, settled, dict) else None
        if kind is not list or (desired is not ABSENT and type(desired) is not list):
            if not self._is_one_or_many(node, desired, observed):
                return None
            desired, settled = _as_list(desired), _as_list(settled)
        return self._sequence if _fits(desired, settled, list) else None

    def _is_one_or_many(self, node: Node, desired: Json, observed: Json) -> bool:
        rule = node.list_rule or (node.adopt_list if self._adopting else None)
        return rule is not None and rule.one_or_many and list in (type(desired), type(observed))

    # -- maps

    def _mapping(self, node: Node, path: Path, pointer: Pointer, four: Four) -> None:
        rule = node.map_rule
        if rule is not None and rule.keys is not None and _is_respelt_map(four):
            self._mapping_by_key(node, rule, path, pointer, four)
            return
        desired, applied, settled, observed = [value if type(value) is dict else _NOTHING for value in four]
        subset = rule is not None and rule.subset
        if desired is applied and self._has_baseline and not subset and self._trace is None:
            self._moved_entries(node, path, pointer, desired, settled, observed)
            return
        keys = dict.fromkeys(desired)
        if not subset and (not self._adopting or self._trace is not None):
            keys.update(dict.fromkeys(observed))
            keys.update(dict.fromkeys(settled))
        for key in keys:
            here = (
                desired.get(key, ABSENT),
                applied.get(key, ABSENT),
                settled.get(key, ABSENT),
                observed.get(key, ABSENT),
            )
            if not self.is_untouched(here):
                self.moved(node.child(key), (*path, key), (*pointer, key), here)
        if self._adopting and rule is not None and rule.whole and type(four[DESIRED]) is dict:
            for key in observed.keys() - desired.keys():
                below, here = node.child(key), (ABSENT, ABSENT, ABSENT, observed[key])
                if not below.is_left_to_service and not is_void(below, observed[key]):
                    self._emit(below, (*path, key), (*pointer, key), here, _ADDED, ChangedBy.UNKNOWN, node.label("map"))

    def _moved_entries(
        self, node: Node, path: Path, pointer: Pointer, desired: _Map, settled: _Map, observed: _Map
    ) -> None:
        """Compare mappings whose declaration did not change: only live changes count. The hottest path."""
        for key in moved_keys(settled, observed):
            child = node.child(key)
            want, before, seen = desired.get(key, ABSENT), settled.get(key, ABSENT), observed.get(key, ABSENT)
            here, there = (*path, key), (*pointer, key)
            if not (child.is_plain and self._enter(child, here, there, want, before, seen)):
                self.moved(child, here, there, (want, want, before, seen))

    def _enter(self, node: Node, path: Path, pointer: Pointer, want: Json, before: Json, seen: Json) -> bool:
        """Enter a container that all three documents have and no rule treats specially; else return False."""
        kind = type(seen)
        if type(before) is not kind or type(want) is not kind or self._above + len(path) >= MAX_DEPTH:
            return False
        if kind is dict:
            self._moved_entries(node, path, pointer, want, before, seen)
            return True
        if kind is list:
            field = list_matching.plain_key(node, want, before, seen)
            return field is not None and self._keyed_elements(node, field, path, pointer, (want, want, before, seen))
        return False

    def _mapping_by_key(self, node: Node, rule: MapRule, path: Path, pointer: Pointer, four: Four) -> None:
        """Compare mappings whose keys are spelt differently on the two sides."""
        rows, names = _rows_by_key(rule, four)
        for ident, row in rows.items():
            here = (row[0], row[1], row[2], row[3])
            if not (rule.subset and row[DESIRED] is ABSENT) and not self.is_untouched(here):
                key = names[ident]
                self.moved(node.child(key), (*path, key), (*pointer, key), here)

    # -- lists

    def _sequence(self, node: Node, path: Path, pointer: Pointer, four: Four) -> None:
        if type(four[OBSERVED]) is not list or (four[DESIRED] is not ABSENT and type(four[DESIRED]) is not list):
            four = tuple(_as_list(value) for value in four)  # a single value stands for a list of one
        if self._has_baseline and four[DESIRED] is four[APPLIED] and self._trace is None:
            field = list_matching.plain_key(node, four[DESIRED], four[SETTLED], four[OBSERVED])
            if field is not None and self._keyed_elements(node, field, path, pointer, four):
                return
        lists = [value if type(value) is list else [] for value in four]
        if normalize.Digest in map(type, lists[SETTLED]):
            lists[SETTLED] = _restored(node, lists[SETTLED], lists[OBSERVED])
        sides = self._anchored_sides(four)
        aligned = list_matching.align(node, [lists[side] for side in sides], adopting=self._adopting)
        column = {side: place for place, side in enumerate(sides)}
        if four[DESIRED] is four[APPLIED]:
            column[APPLIED] = column[DESIRED]
        first = len(self.found)
        for _, row in aligned.rows:
            indices = [row[column[side]] if side in column else None for side in range(4)]
            self._element(node, path, pointer, aligned, indices, lists)
        if aligned.kind is ListKind.ORDERED:
            self._order(node, path, pointer, four, aligned, column)
        elif self._undeclared and not aligned.key and _is_out_of_step(self.found[first:], len(path), aligned, lists):
            # Indices in such a list name nothing on the other side, so the list as a whole differs.
            del self.found[first:]
            self._emit(node, path, pointer, four, Op.CHANGED, ChangedBy.UNKNOWN, _list_label(node, aligned.kind))

    def _keyed_elements(self, node: Node, field: str, path: Path, pointer: Pointer, four: Four) -> bool:
        """Compare lists with one plain key and an unchanged declaration; return False if they are not such lists."""
        settled = list_matching.by_plain_key(four[SETTLED], field)
        observed = list_matching.by_plain_key(four[OBSERVED], field)
        if settled is None or observed is None:
            return False
        moved = moved_elements(settled, observed)
        desired = list_matching.by_plain_key(four[DESIRED], field) if moved else _NOTHING
        if desired is None:
            return False
        label = _list_label(node, ListKind.KEYED)
        for key in moved:
            want, before, seen = desired.get(key, ABSENT), settled.get(key, ABSENT), observed.get(key, ABSENT)
            index = list(observed).index(key) if seen is not ABSENT else list(settled).index(key)
            sample = seen if seen is not ABSENT else before
            below = node.element(sample, index)
            here, there = (*path, Selector(((field, key),))), (*pointer, index)
            if not (below.is_plain and self._enter(below, here, there, want, before, seen)):
                self.moved(below, here, there, (want, want, before, seen), element=label)
        return True

    def _anchored_sides(self, four: Four) -> tuple[int, ...]:
        """Return the lists to align, the anchor first; identical lists are aligned once."""
        declared_sides = (DESIRED,) if four[DESIRED] is four[APPLIED] else (DESIRED, APPLIED)
        if not self._has_baseline:
            return (DESIRED, OBSERVED)
        if type(four[SETTLED]) is not list:
            return (*declared_sides[:1], OBSERVED, *declared_sides[1:])
        return (SETTLED, OBSERVED, *declared_sides)

    def _element(
        self,
        node: Node,
        path: Path,
        pointer: Pointer,
        aligned: list_matching.Aligned,
        indices: list[int | None],
        lists: list[list[Json]],
    ) -> None:
        items = [ABSENT if i is None else source[i] for source, i in zip(lists, indices, strict=True)]
        home = next(side for side in (OBSERVED, SETTLED, DESIRED, APPLIED) if indices[side] is not None)
        index, sample = indices[home] or 0, items[home]
        step = aligned.selector(sample) or index
        below = node.element(sample, index)
        label = _list_label(node, aligned.kind)
        four = (items[0], items[1], items[2], items[3])
        is_whole = not isinstance(sample, dict) or (node.list_rule is not None and node.list_rule.whole)
        if self._adopting and items[DESIRED] is ABSENT and is_whole and not below.is_left_to_service:
            # A declared list of plain values is declared as a whole; among objects a service may keep its own, unless
            # the rules say otherwise.
            self._emit(below, (*path, step), (*pointer, index), four, Op.ELEMENT_ADDED, ChangedBy.UNKNOWN, label)
            return
        if not self.is_untouched(four):
            self.moved(below, (*path, step), (*pointer, index), four, element=label)

    def _order(
        self,
        node: Node,
        path: Path,
        pointer: Pointer,
        four: Four,
        aligned: list_matching.Aligned,
        column: dict[int, int],
    ) -> None:
        """Report a list whose common elements have another order than declared, if that is new."""

        def moved(one: int, other: int) -> bool:
            if type(four[one]) is not list or type(four[other]) is not list:
                return False
            pairs = [(row[column[one]], row[column[other]]) for _, row in aligned.rows]
            common = [b for _, b in sorted((a, b) for a, b in pairs if a is not None and b is not None)]
            return common != sorted(common)

        who = ChangedBy.UNKNOWN
        if type(four[DESIRED]) is list and not moved(DESIRED, OBSERVED):
            return
        if self._has_baseline:
            live_changed, declared_changed = moved(SETTLED, OBSERVED), moved(APPLIED, DESIRED)
            if not live_changed and not declared_changed:
                return
            who = ChangedBy.LIVE if not declared_changed else ChangedBy.BOTH if live_changed else ChangedBy.DECLARED
        self._emit(node, path, pointer, four, Op.REORDERED, who, _list_label(node, aligned.kind))

    # -- leaves

    def _leaf(self, node: Node, path: Path, pointer: Pointer, four: Four, *, element: str) -> None:
        self._level = self._above + len(path)
        if self._has_baseline:
            side = self._side(node, four, element=element)
        else:
            side = ChangedBy.UNKNOWN if self._is_different(node, four, element=element) else None
        if side is None:
            self._note(path, "equal or known", node, "comparator", "presence")
            return
        desired, _, settled, observed = four
        op = _op(desired if desired is not ABSENT else settled, observed, element=bool(element))
        came_or_went = op is _ELEMENT_ADDED or op is _ELEMENT_MISSING
        label = element if came_or_went else node.label("comparator", "presence", "class")
        self._emit(node, path, pointer, four, op, side, label)

    def _is_different(self, node: Node, four: Four, *, element: str) -> bool:
        """Without a baseline: return True if the observed value differs from the declared one."""
        desired, _, _, observed = four
        if desired is ABSENT:
            return self._undeclared and (bool(element) or not self.equal(node, desired, observed))
        if element and observed is ABSENT:
            return not node.write_only
        return not self._agrees(node, desired, observed)

    def _side(self, node: Node, four: Four, *, element: str) -> ChangedBy | None:
        """With a baseline: return the side that changed, or None if the value is as declared or known."""
        desired, applied, settled, observed = four
        # An added or removed element is a change even if its content is hidden.
        came_or_went = bool(element) and (settled is ABSENT) is not (observed is ABSENT)
        if node.write_only:
            readable = not comparators.is_masked(settled) and not comparators.is_masked(observed)
            live_changed = readable and not self._unmoved(node, settled, observed)
            declared_changed = desired is not ABSENT and not typed_equal(desired, applied)
        else:
            if desired is not ABSENT and not (element and observed is ABSENT) and self._agrees(node, desired, observed):
                return ChangedBy.DECLARED if self._is_untold(node, desired, applied, observed) else None
            live_changed = came_or_went or not self._unmoved(node, settled, observed)
            declared_changed = desired is not applied and not self._unmoved(node, desired, applied)
            if desired is ABSENT and is_void(node, observed) and not (element and observed is not ABSENT):
                if applied is not ABSENT and (element or not is_void(node, applied)):
                    return None  # no longer declared, and deleted
                declared_changed = False
        if declared_changed:
            return ChangedBy.BOTH if live_changed else ChangedBy.DECLARED
        return ChangedBy.LIVE if live_changed else None

    def _agrees(self, node: Node, desired: Json, observed: Json) -> bool:
        """Return True if an observed value satisfies a declared one."""
        if node.write_only or (node.create_only and is_void(node, observed)):
            return True
        if self.equal(node, desired, observed):
            return True
        if node.filled_in and self._adopting and is_void(node, desired, Presence.ZERO):
            return True  # a declared zero asks the service to fill it in
        return self._adopting and (_is_withheld(node, observed) or self._is_respelt(node, desired, observed))

    def _is_untold(self, node: Node, desired: Json, applied: Json, observed: Json) -> bool:
        """Return True if the declaration of a create-only field changed and the live value does not show it."""
        if not node.create_only or self.equal(node, desired, observed):
            return False
        return desired is not applied and not self._unmoved(node, desired, applied)

    def _is_respelt(self, node: Node, desired: Json, observed: Json) -> bool:
        if desired is ABSENT or observed is ABSENT:
            return False
        for comparator in node.adopt:
            if comparator.name == "json_str":
                if not self._differs_inside(node, decode_json(desired), decode_json(observed)):
                    return True
            elif comparator.equal(desired, observed):
                return True
        return False

    def _unmoved(self, node: Node, before: Json, after: Json) -> bool:
        if type(before) is normalize.Digest:
            return after is not ABSENT and normalize.stands_for(before, node, after)
        return is_same(before, after) or self.equal(node, before, after)

    def equal(self, node: Node, one: Json, other: Json) -> bool:
        """Return True if two values are the same under the rules of a node."""
        if type(one) is str and type(other) is str and node.comparator is None:
            return bool(one == other)
        one_void, other_void = is_void(node, one), is_void(node, other)
        if one_void and other_void:
            return True
        if one_void or other_void:
            if node.default is ABSENT:
                return self._is_zero_for_nothing(node, one, other)
            one, other = (node.default if one_void else one), (node.default if other_void else other)
        if node.comparator is not None:
            if node.comparator.name == "json_str":
                return not self._differs_inside(node, decode_json(one), decode_json(other))
            return node.comparator.equal(one, other)
        if isinstance(one, dict | list) and type(one) is type(other):
            return not self._differs_inside(node, one, other)
        return typed_equal(one, other)

    def _is_zero_for_nothing(self, node: Node, one: Json, other: Json) -> bool:
        """Return True while adopting if the rules take a declared false, 0 or "" for an absent value."""
        presence = node.adopt_presence if self._adopting else None
        return presence is not None and is_void(node, one, presence) and is_void(node, other, presence)

    def _differs_inside(self, node: Node, one: Json, other: Json) -> bool:
        """Return True if two containers differ under the rules below a node."""
        undeclared = self._undeclared or self._has_baseline
        inner = Walk(has_baseline=False, undeclared=undeclared, above=self._level + 1)
        four = (one, ABSENT, ABSENT, other)
        walk = inner._walk_of(node, four) if inner._above < MAX_DEPTH else None
        if walk is None:
            return not typed_equal(one, other)
        walk(node, (), (), four)
        return bool(inner.found)

    # -- results

    def _emit(  # noqa: PLR0913, PLR0917 - all that a finding is made of
        self, node: Node, path: Path, pointer: Pointer, four: Four, op: Op, side: ChangedBy, label: str
    ) -> None:
        desired, applied, settled, observed = four
        cls = _classify(node, op, desired, applied, settled)
        self.found.append(Finding(path, op, cls, side, desired, settled, observed, label, pointer))

    def _note(self, path: Path, outcome: str, node: Node, *aspects: str) -> None:
        if self._trace is not None:
            self._trace.append(TraceEntry(path, outcome, node.label(*aspects)))


def _is_withheld(node: Node, observed: Json) -> bool:
    """Return True if the service omitted a field that it need not return."""
    return node.adopt_missing and (is_void(node, observed) or comparators.is_masked(observed))


def _list_label(node: Node, kind: ListKind) -> str:
    return node.label("list") if "list" in node.labels else f"default: {kind.value} list"


def _is_out_of_step(found: list[Finding], depth: int, aligned: list_matching.Aligned, lists: list[list[Json]]) -> bool:
    """Return True if elements differ in lists of different order, or in lists with duplicates."""
    if not found:
        return False
    rows = [row for _, row in aligned.rows]
    if any(len(lists[side]) > sum(row[at] is not None for row in rows) for at, side in enumerate((DESIRED, OBSERVED))):
        return True
    if all(len(f.path) == depth + 1 and f.op in (_ELEMENT_ADDED, _ELEMENT_MISSING) for f in found):
        return False
    common = [b for _, b in sorted((a, b) for a, b in rows if a is not None and b is not None)]
    return common != sorted(common)


def _restored(node: Node, settled: list[Json], observed: list[Json]) -> list[Json]:
    """Return the settled list with digests replaced by the observed elements that they represent."""
    known = {
        digest: element
        for index, element in enumerate(observed)
        for digest in normalize.digests(node.element(element, index), element)
    }
    return [known.get(element, element) if type(element) is normalize.Digest else element for element in settled]


def _fits(desired: Json, settled: Json, kind: type) -> bool:
    """Return True if declaration or baseline is such a container, and neither is another type."""
    one = desired is ABSENT or type(desired) is kind
    other = settled is ABSENT or type(settled) is kind
    return one and other and (desired is not ABSENT or settled is not ABSENT)


def _is_respelt_map(four: Four) -> bool:
    """Return True if a key of the declaration or the baseline is missing from the observed mapping."""
    keys = four[OBSERVED].keys()
    return any(type(four[side]) is dict and not four[side].keys() <= keys for side in (DESIRED, SETTLED))


def _rows_by_key(rule: MapRule, four: Four) -> tuple[dict[Json, list[Json]], dict[Json, str]]:
    """Join the four mappings by the normalised form of their keys; keys that collide within one mapping stay exact."""
    assert rule.keys is not None
    spell = rule.keys.key
    rows: dict[Json, list[Json]] = {}
    names: dict[Json, str] = {}
    idents = [[spell(key) for key in value] if type(value) is dict else [] for value in four]
    clashing = {ident for column in idents for ident, times in Counter(column).items() if times > 1}
    for column, value in enumerate(four):
        for ident, (key, item) in zip(idents[column], value.items() if idents[column] else (), strict=True):
            name = ("exact", key) if ident in clashing else ident
            rows.setdefault(name, [ABSENT] * 4)[column] = item
            if column in (DESIRED, OBSERVED) or name not in names:
                names[name] = key
    return rows, names


def _as_list(value: Json) -> Json:
    return value if value is ABSENT or isinstance(value, list) else [value]


def _op(before: Json, observed: Json, *, element: bool) -> Op:
    if observed is ABSENT:
        return _ELEMENT_MISSING if element else _MISSING
    if before is ABSENT:
        return _ELEMENT_ADDED if element else _ADDED
    return _CHANGED


def _classify(node: Node, op: Op, desired: Json, applied: Json, settled: Json) -> FindingClass:
    if op is _REORDERED:
        return FindingClass.ORDER
    if node.secret:
        return FindingClass.SECRET
    if op is _ELEMENT_ADDED or op is _ELEMENT_MISSING:
        return FindingClass.ELEMENT
    if desired is not ABSENT:
        return FindingClass.SPECIFIED
    if applied is not ABSENT:
        return FindingClass.REMOVED
    return FindingClass.DEFAULTED if settled is not ABSENT and op is _CHANGED else FindingClass.UNDECLARED
