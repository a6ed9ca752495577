"""Laws of the emulated ARM, whatever the habits and the documents: tests of the provider lean on them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast_emulators.azure import CATALOGUE, Computed, Element, Etag, Fill, Order, Rewrite, Secret, alike
from tests.unit.testing.armdesk import desk_of

NAMES = st.sampled_from("abcd")
SCALARS = st.one_of(st.booleans(), st.integers(0, 9), st.sampled_from(["x", "X", "westus", "Tcp", ""]))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)
BODIES = st.dictionaries(NAMES, VALUES, max_size=4).map(lambda body: {"location": "westus2", "properties": body})
POINTERS = st.builds(lambda first, rest: "/properties/" + "/".join([first, *rest]), NAMES, st.lists(NAMES, max_size=1))
RULES = {
    "defaults": st.builds(Fill, POINTERS, SCALARS, overrides=st.booleans(), late_seconds=st.sampled_from([0, 0, 30])),
    "computed": st.builds(Computed, POINTERS, st.sampled_from(["${guid}", "${name}", 1])),
    "rewrites": st.builds(Rewrite, POINTERS, st.sampled_from(["lower", "region_display", "float", "empty_to_absent"])),
    "orders": st.builds(Order, POINTERS),
    "elements": st.builds(Element, POINTERS, SCALARS),
    "secrets": st.builds(Secret, POINTERS, st.sampled_from(["absent", "null", "text"])),
}
HABITS = st.fixed_dictionaries(
    {
        **{name: st.lists(rule, max_size=2).map(tuple) for name, rule in RULES.items()},
        "put": st.sampled_from(["replace", "merge"]),
        "null_keeps": st.booleans(),
        "operations": st.sampled_from([alike(item) for item in CATALOGUE.values()]),
        "etag": st.sampled_from([Etag(), Etag(header=True, body="etag", honoured=True)]),
    }
)


def clean(document):
    return {key: value for key, value in document.items() if key not in ("etag", "systemData")}


@settings(max_examples=150, deadline=None)
@given(HABITS, BODIES)
def test_at_rest_nothing_moves_and_the_same_put_is_needless(habits, body):
    desk = desk_of(**habits)
    first = desk.settled(desk.id(), body)
    desk.clock.advance(86_400)
    assert desk.get(desk.id()) == first
    second = desk.settled(desk.id(), body)
    desk.settled(desk.id(), body)
    assert desk.world.journal.writes()[-1].changed is False
    assert clean(desk.get(desk.id())) == clean(second)


@settings(max_examples=100, deadline=None)
@given(HABITS, BODIES, BODIES)
def test_a_run_can_be_had_again(habits, first, second):
    looks = []
    for _ in range(2):
        desk = desk_of(**habits)
        desk.settled(desk.id(), first)
        looks.append(desk.settled(desk.id(), second))
    assert looks[0] == looks[1]


@settings(max_examples=100, deadline=None)
@given(HABITS, BODIES, NAMES, SCALARS)
def test_an_edit_is_seen_at_once_and_is_on_record(habits, body, name, value):
    desk = desk_of(**habits)
    desk.settled(desk.id(), body)
    desk.world.console("alice").edit(desk.id(), {f"/properties/{name}": value})
    assert desk.world.stored(desk.id())["properties"][name] == value
    assert desk.get(desk.id())["systemData"]["lastModifiedBy"] == "alice"
