"""Rules compiled for walking: a lazily built automaton from path steps to the rules in force.

Each node stands for the set of rule patterns still alive after some steps. Nodes are cached, so walking a thousand
documents of a kind matches each distinct path once. Among rules that match a path the first one wins, aspect by aspect.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.compare import paths
from holdfast.compare.comparators import Comparator
from holdfast.compare.paths import ANY, DEEP, Glob, Segment
from holdfast.compare.rules import HIDDEN, HIDDEN_UNLESS_DECLARED, FieldClass, ListRule, MapRule, Presence, Rule
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.path import Selector

_State = tuple[int, int]  # rule number, segments already matched

INHERITED = frozenset(
    {
        FieldClass.RUNTIME,
        FieldClass.WRITE_ONLY,
        FieldClass.CREATE_ONLY,
        FieldClass.SECRET,
        FieldClass.OWNED_ELSEWHERE,
        FieldClass.FILLED_IN,
        FieldClass.COMPARED,
    }
)


class Node:
    """The rules in force at one place in a document."""

    __slots__ = (
        "_children",
        "_chosen",
        "_element",
        "_states",
        "_tree",
        "adopt",
        "adopt_list",
        "adopt_missing",
        "adopt_presence",
        "cls",
        "comparator",
        "create_only",
        "default",
        "filled_in",
        "hidden",
        "hidden_unless_declared",
        "inherited",
        "is_left_to_service",
        "is_lenient",
        "is_plain",
        "labels",
        "list_rule",
        "map_rule",
        "owned_elsewhere",
        "presence",
        "secret",
        "write_only",
    )

    def __init__(self, tree: RuleTree, states: frozenset[_State], inherited: tuple[FieldClass, str] | None) -> None:
        self._tree = tree
        self._states = states
        self._children: dict[str, Node] = {}
        self._element: Node | None = None
        self._chosen: dict[frozenset[str | Selector], Node] = {}
        self.labels: dict[str, str] = {}
        self.inherited = inherited
        self.cls: FieldClass | None = None
        self.comparator: Comparator | None = None
        self.list_rule: ListRule | None = None
        self.map_rule: MapRule | None = None
        self.presence = Presence.EMPTY
        self.default: Json = ABSENT
        self.adopt: tuple[Comparator, ...] = ()
        self.adopt_list: ListRule | None = None
        self.adopt_presence: Presence | None = None
        self.adopt_missing = False  # of the place itself: where it is there, what is below it counts
        self._settle()

    def _settle(self) -> None:
        """Fill in each aspect from the first rule that has it."""
        presence: Presence | None = None
        for number in sorted({number for number, at in self._states if at == len(self._tree.segments[number])}):
            rule = self._tree.rules[number]
            if self.cls is None and rule.cls is not None:
                self.cls, self.labels["class"] = rule.cls, rule.label
            if self.comparator is None and rule.comparator is not None:
                self.comparator, self.labels["comparator"] = rule.comparator, rule.label
            if self.list_rule is None and rule.list_rule is not None:
                self.list_rule, self.labels["list"] = rule.list_rule, rule.label
            if self.map_rule is None and rule.map_rule is not None:
                self.map_rule, self.labels["map"] = rule.map_rule, rule.label
            if presence is None and rule.presence is not None:
                presence, self.labels["presence"] = rule.presence, rule.label
            if not self.adopt and rule.adopt:
                self.adopt, self.labels["adopt"] = rule.adopt, rule.label
            if self.adopt_list is None and rule.adopt_list is not None:
                self.adopt_list, self.labels["adopt_list"] = rule.adopt_list, rule.label
            if self.adopt_presence is None and rule.adopt_presence is not None:
                self.adopt_presence, self.labels["adopt_presence"] = rule.adopt_presence, rule.label
            if not self.adopt_missing and rule.adopt_missing:
                self.adopt_missing, self.labels["adopt_missing"] = True, rule.label
            if self.default is ABSENT and rule.default is not ABSENT:
                self.default, self.labels["default"] = rule.default, rule.label
        self.presence = presence or self._tree.presence
        self.is_lenient = self.presence is not Presence.STRICT  # null says no more than absence
        self._settle_class()

    def _settle_class(self) -> None:
        if self.cls is None and self.inherited is not None:
            self.cls, self.labels["class"] = self.inherited
        if self.cls in INHERITED:
            assert self.cls is not None
            self.inherited = (self.cls, self.labels["class"])
        self.hidden = self.cls in HIDDEN
        self.hidden_unless_declared = self.cls in HIDDEN_UNLESS_DECLARED
        self.filled_in = self.cls is FieldClass.FILLED_IN
        self.is_left_to_service = self.hidden or self.hidden_unless_declared or self.filled_in  # unless declared
        self.write_only = self.cls is FieldClass.WRITE_ONLY
        self.create_only = self.cls is FieldClass.CREATE_ONLY
        self.is_plain = not self.hidden and not self.hidden_unless_declared and self.map_rule is None
        self.secret = self.cls in (FieldClass.SECRET, FieldClass.WRITE_ONLY)
        self.owned_elsewhere = self.cls is FieldClass.OWNED_ELSEWHERE

    def child(self, key: str) -> Node:
        """Return the node for a map key."""
        node = self._children.get(key)
        if node is None:
            node = self._children[key] = self._next(key, frozenset())
        return node

    def element(self, value: Json, index: int) -> Node:
        """Return the node for a list element; only rules with selectors or indices look at which element it is."""
        choosers = self._tree.choosers_after(self._states)
        if not choosers:
            if self._element is None:
                self._element = self._next(None, frozenset())
            return self._element
        alive = frozenset(chooser for chooser in choosers if _chooses(chooser, value, index))
        node = self._chosen.get(alive)
        if node is None:
            node = self._chosen[alive] = self._next(None, alive)
        return node

    def _next(self, key: str | None, alive: frozenset[str | Selector]) -> Node:
        return self._tree.node(self._tree.advance(self._states, key, alive), self.inherited)

    def label(self, *aspects: str) -> str:
        """Name the rule behind the first of these aspects, or the default that stood in."""
        for aspect in aspects:
            if aspect in self.labels:
                return self.labels[aspect]
        return "default: exact"


class RuleTree:
    """All rules of a profile; `root` is where a walk begins."""

    def __init__(
        self, rules: Iterable[Rule], *, presence: Presence = Presence.EMPTY, key_comparator: Comparator | None = None
    ) -> None:
        self.rules = tuple(rules)
        self.segments = tuple(rule.path.segments for rule in self.rules)
        self.presence = presence
        self._keys = key_comparator
        self._nodes: dict[tuple[frozenset[_State], tuple[FieldClass, str] | None], Node] = {}
        self._choosers: dict[frozenset[_State], tuple[str | Selector, ...]] = {}
        self.root = self.node(self._close({(number, 0) for number in range(len(self.rules))}), None)

    def node(self, states: frozenset[_State], inherited: tuple[FieldClass, str] | None) -> Node:
        """Return the one node for these states."""
        found = self._nodes.get((states, inherited))
        if found is None:
            found = self._nodes[states, inherited] = Node(self, states, inherited)
        return found

    def advance(
        self, states: frozenset[_State], key: str | None, alive: frozenset[str | Selector]
    ) -> frozenset[_State]:
        """Take one step: a map key, or (with None) a list element that the choosers in `alive` choose."""
        out: set[_State] = set()
        for number, at in states:
            segments = self.segments[number]
            if at == len(segments):
                continue
            segment = segments[at]
            if segment is DEEP:
                out.add((number, at))
            elif segment is ANY or segment in alive or (key is not None and self._same_key(segment, key)):
                out.add((number, at + 1))
        return self._close(out)

    def _same_key(self, segment: object, key: str) -> bool:
        if isinstance(segment, Glob):
            return segment.regex.fullmatch(key) is not None
        if not isinstance(segment, str):
            return False
        return segment == key or (self._keys is not None and self._keys.equal(segment, key))

    def _close(self, states: set[_State]) -> frozenset[_State]:
        """Add the states reached by letting `**` stand for nothing."""
        out = set(states)
        for number, at in states:
            here = at
            while here < len(self.segments[number]) and self.segments[number][here] is DEEP:
                here += 1
                out.add((number, here))
        return frozenset(out)

    def choosers_after(self, states: frozenset[_State]) -> tuple[str | Selector, ...]:
        """List the selectors and indices that could single out the next list element."""
        found = self._choosers.get(states)
        if found is None:
            nexts = (self.segments[number][at] for number, at in states if at < len(self.segments[number]))
            found = self._choosers[states] = tuple({chooser for segment in nexts for chooser in _choosers(segment)})
        return found


def _choosers(segment: Segment) -> tuple[str | Selector, ...]:
    if isinstance(segment, Selector) or (isinstance(segment, str) and segment.isdigit()):
        return (segment,)
    return ()


def _chooses(chooser: str | Selector, value: Json, index: int) -> bool:
    return paths.selects(chooser, value) if isinstance(chooser, Selector) else chooser == str(index)
