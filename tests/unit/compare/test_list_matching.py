"""Which element of one list is which element of another, for every list semantics."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import element_identity, list_matching
from holdfast.compare.rule_tree import Node
from holdfast.compare.rules import ListKind
from holdfast.model.json import Json
from holdfast.model.path import Selector
from tests import strategies
from tests.strategies import tree


def node(list_rule: str = "", *, more: str = "") -> Node:
    return tree((f"- {{path: /l, list: {list_rule}}}\n" if list_rule else "") + more).root.child("l")


def pairs(found: list_matching.Aligned) -> set[tuple[int | None, int | None]]:
    return {(row[0], row[1]) for _, row in found.rows}


def named(*names: Json) -> list[Json]:
    return [{"name": name} for name in names]


# -- ordered


@pytest.mark.parametrize(
    "left, right, expected",
    [
        pytest.param([1, 2, 3], [1, 2, 3], {(0, 0), (1, 1), (2, 2)}, id="equal"),
        pytest.param([1, 2, 3], [1, 9, 3], {(0, 0), (1, 1), (2, 2)}, id="one changed"),
        pytest.param([1, 2, 3], [3, 2, 1], {(0, 2), (1, 1), (2, 0)}, id="a mere swap goes by content"),
        pytest.param([1, 2, 3], [1, 3], {(0, 0), (1, None), (2, 1)}, id="removed in the middle"),
        pytest.param([1, 2], [1, 9, 2], {(0, 0), (None, 1), (1, 2)}, id="added in the middle"),
        pytest.param([1, 2], [9, 1, 2], {(None, 0), (0, 1), (1, 2)}, id="added in front"),
        pytest.param([1, 2], [], {(0, None), (1, None)}, id="all gone"),
        pytest.param([], [1], {(None, 0)}, id="all new"),
        pytest.param([1, 2, 3], [1, 9], {(0, 0), (1, 1), (2, None)}, id="leftovers meet in order"),
        pytest.param([1, 1, 1], [1, 1], {(0, 0), (1, 1), (2, None)}, id="equal elements are counted"),
        pytest.param([1, True, 2], [1, 2], {(0, 0), (1, None), (2, 1)}, id="true is not one"),
        pytest.param([1.0, 2], [1, 9, 2], {(0, 0), (None, 1), (1, 2)}, id="1.0 is one"),
    ],
)
def test_an_ordered_list_is_matched_by_place_around_what_stayed_equal(
    left: list[Json], right: list[Json], expected: set[tuple[int | None, int | None]]
):
    found = list_matching.align(node("ordered"), [left, right])
    assert found.kind is ListKind.ORDERED
    assert pairs(found) == expected


def test_what_two_lists_have_in_common_is_one_row_even_if_the_anchor_lacks_it():
    found = list_matching.align(node("ordered"), [["a"], ["a", "b"], ["a", "b"], ["a", "c"]])
    assert [row for _, row in found.rows] == [[0, 0, 0, 0], [None, 1, 1, None], [None, None, None, 1]]


# -- set and multiset


def test_a_set_knows_its_elements_by_content_and_counts_them_once():
    found = list_matching.align(node("set"), [["a", "b", "b"], ["b", "c", "a", "a"]])
    assert found.kind is ListKind.SET
    assert pairs(found) == {(0, 3), (2, 0), (None, 1)}


def test_a_multiset_counts_equal_elements():
    found = list_matching.align(node("multiset"), [["a", "b", "b"], ["b", "a", "a"]])
    assert found.kind is ListKind.MULTISET
    assert pairs(found) == {(0, 1), (1, 0), (2, None), (None, 2)}


def test_elements_of_a_set_are_compared_by_the_comparator_in_force_there():
    found = list_matching.align(node("set", more="- {path: /l/*, compare: casefold}"), [["Logging"], ["logging"]])
    assert pairs(found) == {(0, 0)}


def test_in_a_set_true_is_not_one_and_one_is_one_point_zero():
    assert pairs(list_matching.align(node("set"), [[1, "x"], [True, "x"]])) == {(0, None), (1, 1), (None, 0)}
    assert pairs(list_matching.align(node("set"), [[1, [2]], [[2.0], 1.0]])) == {(0, 1), (1, 0)}


def test_keyless_objects_of_a_set_that_share_most_fields_are_one_that_changed():
    left = [{"a": 1, "b": 2, "c": 3}, {"a": 7, "b": 8, "c": 9}, {"q": 1}]
    right = [{"a": 7, "b": 8, "c": 0}, {"z": 1}, {"a": 1, "b": 2, "c": 4}]
    assert pairs(list_matching.align(node("set"), [left, right])) == {(0, 2), (1, 0), (2, None), (None, 1)}


def test_one_leftover_object_on_each_side_is_one_that_changed():
    left, right = [{"a": 1}, {"b": 2}], [{"b": 2}, {"c": 3}]
    assert pairs(list_matching.align(node("multiset"), [left, right])) == {(0, 1), (1, 0)}


@given(st.lists(strategies.documents(max_leaves=4), max_size=6), st.randoms(use_true_random=False))
def test_a_shuffled_multiset_has_a_row_for_each_element_with_equal_contents(items: list[Json], chance: random.Random):
    shuffled = items.copy()
    chance.shuffle(shuffled)
    found = list_matching.align(node("multiset"), [items, shuffled])
    for _, (here, there) in found.rows:
        assert here is not None
        assert there is not None
        assert element_identity.text(items[here]) == element_identity.text(shuffled[there])


# -- keyed


def test_a_keyed_list_is_matched_by_its_key_wherever_the_elements_stand():
    found = list_matching.align(node("{keyed: [name]}"), [named("a", "b"), named("c", "a")])
    assert (found.kind, found.key) == (ListKind.KEYED, ("name",))
    assert pairs(found) == {(0, 1), (1, None), (None, 0)}


def test_a_composite_key_needs_all_its_fields_to_agree_and_one_may_be_missing():
    left = [{"t": 1, "o": "x"}, {"t": 1, "o": "y"}, {"t": 2}]
    right = [{"t": 2, "o": None}, {"t": 1, "o": "y"}, {"t": 2, "o": "x"}]
    found = list_matching.align(node("{keyed: [t, o]}"), [left, right])
    assert pairs(found) == {(0, None), (1, 1), (2, 0), (None, 2)}
    assert found.selector(left[1]) == Selector((("t", "1"), ("o", "y")))
    assert found.selector(left[2]) == Selector((("t", "2"), ("o", "null")))


def test_a_normaliser_frees_a_key_of_its_spelling():
    rule = node("{keyed: [locationName], normalise: {locationName: region}}")
    left, right = [{"locationName": "westus"}], [{"locationName": "East US"}, {"locationName": "West US"}]
    assert pairs(list_matching.align(rule, [left, right])) == {(0, 1), (None, 0)}


def test_the_comparator_of_the_key_field_frees_it_of_its_spelling_too():
    rule = node("{keyed: [id]}", more="- {path: /l/*/id, compare: guid}")
    upper, lower = "6B29FC40-CA47-1067-B31D-00DD010662DA", "6b29fc40-ca47-1067-b31d-00dd010662da"
    assert pairs(list_matching.align(rule, [[{"id": upper}], [{"id": lower}]])) == {(0, 0)}


@pytest.mark.parametrize(
    "left",
    [
        pytest.param([{"name": "a", "x": 1}, {"name": "a", "x": 2}], id="duplicate keys"),
        pytest.param([{"name": "a"}, {"other": 1}], id="missing key"),
        pytest.param([{"name": "a"}, {"name": None}], id="null key"),
        pytest.param([{"name": "a"}, "plain"], id="an element that is no object"),
        pytest.param([{"name": "a"}, {"name": {"x": 1}}], id="a key that is no scalar"),
        pytest.param([{"name": "a"}, {"name": ["a"]}], id="a key that is a list"),
        pytest.param([{"name": "a"}, None], id="a null element"),
        pytest.param([{"name": "a"}, []], id="a list as element"),
    ],
)
def test_a_keyed_list_whose_keys_do_not_serve_falls_back_to_a_multiset(left: list[Json]):
    for other in (left[::-1], named("a"), []):
        found = list_matching.align(node("{keyed: [name]}"), [left, other])
        assert (found.kind, found.key) == (ListKind.MULTISET, ())
    assert pairs(list_matching.align(node("{keyed: [name]}"), [left, left[::-1]])) == {(0, 1), (1, 0)}


def test_keys_that_differ_in_type_only_are_different():
    found = list_matching.align(node("{keyed: [k]}"), [[{"k": 1}, {"k": True}], [{"k": True}, {"k": 1.0}]])
    assert pairs(found) == {(0, 1), (1, 0)}


# -- without a rule


@pytest.mark.parametrize(
    "left, right, key",
    [
        (named("a", "b"), named("b", "a"), "name"),
        ([{"Name": "a"}], [{"Name": "b"}], "Name"),
        ([{"id": 1, "key": "k"}], [{"id": 1, "key": "l"}], "key"),
        ([{"id": 1, "name": "n"}, {"id": 2, "name": "n"}], [{"id": 1, "name": "n"}], "id"),
        (named("a"), [], "name"),
    ],
)
def test_without_a_rule_objects_that_share_a_unique_name_key_or_id_are_keyed_by_it(
    left: list[Json], right: list[Json], key: str
):
    found = list_matching.align(node(), [left, right])
    assert (found.kind, found.key) == (ListKind.KEYED, (key,))


@pytest.mark.parametrize(
    "left, right",
    [
        (["a"], ["a"]),
        (named("a", "a"), named("a")),
        ([{"name": "a"}, {"x": 1}], named("a")),
        ([{"name": ["a"]}], [{"name": ["a"]}]),
        ([{"policyName": "a"}], [{"policyName": "a"}]),
        ([{"name": 1}, {"name": "1"}], named("a")),
        ([], []),
    ],
)
def test_without_a_rule_all_other_lists_are_ordered(left: list[Json], right: list[Json]):
    found = list_matching.align(node(), [left, right])
    assert (found.kind, found.key) == (ListKind.ORDERED, ())


def test_where_order_is_known_not_to_matter_a_field_that_ends_like_a_key_will_do():
    left, right = [{"policyName": "a", "x": 1}, {"policyName": "b", "x": 1}], [{"policyName": "b", "x": 2}]
    found = list_matching.align(node("set"), [left, right])
    assert found.key == ("policyName",)
    assert pairs(found) == {(0, None), (1, 0)}


# -- what holds for every list

ROWS = st.lists(
    st.fixed_dictionaries({}, optional=dict.fromkeys(("a", "b", "name"), strategies.scalars)) | strategies.scalars,
    max_size=5,
)
RULES = ["ordered", "set", "multiset", "{keyed: [name]}", "{keyed: [a, b]}", ""]


@given(ROWS, ROWS, st.sampled_from(RULES), st.booleans())
def test_every_element_is_in_exactly_one_row_except_copies_in_a_set(
    left: list[Json], right: list[Json], rule: str, adopting: bool
):
    found = list_matching.align(node(rule), [left, right], adopting=adopting)
    for column, items in enumerate((left, right)):
        places = [row[column] for _, row in found.rows if row[column] is not None]
        assert len(places) == len(set(places))
        if found.kind is not ListKind.SET:
            assert set(places) == set(range(len(items)))
    assert all(any(place is not None for place in row) for _, row in found.rows)


@pytest.mark.parametrize(
    "one, other",
    [
        ({"a": 1, "b": [2.0]}, {"b": [2], "a": 1.0}),
        ({"t": '1.0,"2.0"'}, {"t": '1.0,"2.0"'}),
        ([10**30, {"b": 1, "a": 2}], [10**30, {"a": 2, "b": 1}]),
    ],
)
def test_the_text_of_equal_contents_is_equal(one: Json, other: Json):
    assert element_identity.text(one) == element_identity.text(other)


@pytest.mark.parametrize(
    "one, other", [([1], [True]), (["1.0"], ["1"]), ([1.05], [1.5]), ([10], [1.0]), ([1.01], [11])]
)
def test_the_text_of_different_contents_differs(one: Json, other: Json):
    assert element_identity.text(one) != element_identity.text(other)
