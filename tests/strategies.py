"""What properties draw from: JSON documents, paths, rules, and harmless respellings of a document.

Keys and values come from small alphabets, so that two independent draws often meet: a property about agreement that
never sees two documents agree proves nothing.
"""

from __future__ import annotations

import random
import textwrap
from collections.abc import Sequence

from hypothesis import strategies as st

from holdfast.compare import comparators, paths, profiles
from holdfast.compare.rule_tree import RuleTree
from holdfast.compare.rules import FieldClass, ListKind, ListRule, MapRule, Presence, Rule
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.path import Path, Pointer, Selector

KEYS = ("a", "b", "c", "name", "id", "A/b", "x~y", "*", "[0]", "")
PLAIN_KEYS = KEYS[:5]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from([0.0, 1.0, 0.5, -2.0, 2**53, 2**70, 1e300]),
    st.sampled_from(["", "x", "y", "X", "1", "true", "null", "a/b", "~", "é"]),
)
keys = st.sampled_from(KEYS) | st.text(max_size=3)


def documents(leaves: st.SearchStrategy[Json] = scalars, *, max_leaves: int = 12) -> st.SearchStrategy[Json]:
    """Draw any JSON value."""
    return st.recursive(
        leaves,
        lambda below: st.lists(below, max_size=4) | st.dictionaries(st.sampled_from(KEYS), below, max_size=4),
        max_leaves=max_leaves,
    )


def maps(leaves: st.SearchStrategy[Json] = scalars, *, max_leaves: int = 12) -> st.SearchStrategy[dict[str, Json]]:
    """Draw a document that is a map, as resources are."""
    return st.dictionaries(st.sampled_from(KEYS), documents(leaves, max_leaves=max_leaves), max_size=4)


selectors = st.builds(
    Selector,
    st.lists(st.tuples(keys, st.text(max_size=3) | st.sampled_from(["*", "a=b", "]", ","])), min_size=1).map(tuple),
)
steps = keys | st.integers(0, 3) | selectors
any_paths: st.SearchStrategy[Path] = st.lists(steps, max_size=5).map(tuple)


def tree(rules: str = "", *, defaults: str = "{}") -> RuleTree:
    """Compile rules that are written the way a profile writes them."""
    listed = textwrap.indent(textwrap.dedent(rules).strip(), "  ") or "  []"
    return profiles.stack(profiles.parse(f"profile: test\nversion: 1\ndefaults: {defaults}\nrules:\n{listed}\n")).tree()


# -- rules: what may be said about a place without hiding it

LIST_RULES = (
    ListRule(ListKind.ORDERED),
    ListRule(ListKind.SET),
    ListRule(ListKind.MULTISET),
    ListRule(ListKind.KEYED, ("name",)),
    ListRule(ListKind.KEYED, ("a", "b")),
)
_SEGMENTS = ("a", "b", "c", "name", "*", "**")
patterns = st.lists(st.sampled_from(_SEGMENTS), max_size=3).map(
    lambda parts: paths.parse_pattern("".join(f"/{p}" for p in parts))
)


def list_rules() -> st.SearchStrategy[Rule]:
    """Draw a rule about the elements of lists."""
    return st.builds(lambda path, how: Rule(path, list_rule=how), patterns, st.sampled_from(LIST_RULES))


def presence_rules() -> st.SearchStrategy[Rule]:
    """Draw a rule about which spellings of nothing are one."""
    return st.builds(lambda path, how: Rule(path, presence=how), patterns, st.sampled_from(Presence))


def comparator_rules() -> st.SearchStrategy[Rule]:
    """Draw a rule about the spelling of leaves."""
    names = st.sampled_from(["casefold", "number", "bool_str", "exact"]).map(comparators.build)
    return st.builds(lambda path, how: Rule(path, comparator=how), patterns, names)


def class_rules(classes: Sequence[FieldClass]) -> st.SearchStrategy[Rule]:
    """Draw a rule that gives a place one of these classes."""
    return st.builds(lambda path, cls: Rule(path, cls=cls), patterns, st.sampled_from(classes))


def map_rules() -> st.SearchStrategy[Rule]:
    """Draw a rule that lets undeclared entries of a map come and go."""
    return st.builds(lambda path: Rule(path, map_rule=MapRule(subset=True)), patterns)


def rule_trees(
    *rules: st.SearchStrategy[Rule], presences: Sequence[Presence] = tuple(Presence)
) -> st.SearchStrategy[RuleTree]:
    """Draw up to four rules of these sorts, compiled."""
    drawn = st.lists(st.one_of(*rules), max_size=4) if rules else st.just([])
    return st.builds(
        lambda listed, presence: RuleTree(listed, presence=presence), drawn, st.sampled_from(tuple(presences))
    )


comparing_trees = rule_trees(list_rules(), presence_rules(), comparator_rules())


def shuffled_keys(value: Json, chance: random.Random) -> Json:
    """Return the same document with the keys of every map in another order."""
    if isinstance(value, dict):
        names = list(value)
        chance.shuffle(names)
        return {name: shuffled_keys(value[name], chance) for name in names}
    if isinstance(value, list):
        return [shuffled_keys(item, chance) for item in value]
    return value


def shuffled_lists(value: Json, chance: random.Random) -> Json:
    """Return the same document with the elements of every list in another order."""
    if isinstance(value, dict):
        return {name: shuffled_lists(item, chance) for name, item in value.items()}
    if isinstance(value, list):
        out = [shuffled_lists(item, chance) for item in value]
        chance.shuffle(out)
        return out
    return value


def respelt_numbers(value: Json, chance: random.Random) -> Json:
    """Return the same document with some whole numbers written as floats."""
    if isinstance(value, dict):
        return {name: respelt_numbers(item, chance) for name, item in value.items()}
    if isinstance(value, list):
        return [respelt_numbers(item, chance) for item in value]
    return float(value) if type(value) is int and abs(value) <= 2**53 and chance.random() < 0.5 else value


def documents_without_natural_keys() -> st.SearchStrategy[dict[str, Json]]:
    """Draw a map in which no list is keyed unless a rule says so, and so no change of a leaf changes who is who."""
    keys = st.sampled_from(("a", "b", "c", "A/b"))
    below = st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
    )
    return st.dictionaries(keys, below, max_size=4)


def solid_documents() -> st.SearchStrategy[Json]:
    """Draw a document in which everything is something: no null, nothing empty, no zero."""
    solid = st.sampled_from([True, 1, 2, 3, 1.0, 0.5, 2**70, "x", "y", "X", "1"])
    return st.recursive(
        solid,
        lambda below: (
            st.lists(below, min_size=1, max_size=4)
            | st.dictionaries(st.sampled_from(KEYS), below, min_size=1, max_size=4)
        ),
        max_leaves=10,
    )


def solid_maps() -> st.SearchStrategy[dict[str, Json]]:
    """Draw a map in which everything is something."""
    return st.dictionaries(st.sampled_from(PLAIN_KEYS), solid_documents(), min_size=1, max_size=4)


@st.composite
def variants(draw: st.DrawFn, document: Json) -> Json:
    """Draw the document with up to two places changed or removed; everything left in it is something."""
    for _ in range(draw(st.integers(0, 2))):
        pointer, _ = draw(st.sampled_from(leaves(document) or [((), None)]))
        if pointer:
            above = pointer[: draw(st.integers(1, len(pointer)))]
            document = _pruned(replaced(document, above, draw(st.just(ABSENT) | solid_documents())))
    return {} if document is ABSENT else document


def _pruned(value: Json) -> Json:
    """Remove what has become empty."""
    if isinstance(value, dict):
        kept = {key: below for key, item in value.items() if (below := _pruned(item)) is not ABSENT}
        return kept or ABSENT
    if isinstance(value, list):
        return [below for item in value if (below := _pruned(item)) is not ABSENT] or ABSENT
    return value


def unlike(value: Json) -> list[Json]:
    """List values that differ from this one under every presence rule."""
    candidates: list[Json] = ["other", 7, 0.25, True, "x", 1]
    return [candidate for candidate in candidates if not comparators.typed_equal(candidate, value)]


def leaves(value: Json, pointer: Pointer = ()) -> list[tuple[Pointer, Json]]:
    """List every scalar of a document with its place."""
    if isinstance(value, dict):
        return [leave for key, item in value.items() for leave in leaves(item, (*pointer, key))]
    if isinstance(value, list):
        return [leave for index, item in enumerate(value) for leave in leaves(item, (*pointer, index))]
    return [(pointer, value)]


def replaced(value: Json, pointer: Pointer, new: Json) -> Json:
    """Return a copy with another value (or, with ABSENT, none) at one place."""
    if not pointer:
        return new
    head, rest = pointer[0], pointer[1:]
    if isinstance(value, dict):
        below = replaced(value[str(head)], rest, new)
        return {
            key: below if key == head else item for key, item in value.items() if key != head or below is not ABSENT
        }
    changed = [replaced(item, rest, new) if index == head else item for index, item in enumerate(value)]
    return [item for item in changed if item is not ABSENT]
