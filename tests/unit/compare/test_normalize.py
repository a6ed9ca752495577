"""The normal form: equal for documents that the comparison calls the same, different for all others."""

from __future__ import annotations

import copy
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import diff, normalize
from holdfast.compare.rule_tree import RuleTree
from holdfast.model.json import Json
from tests import strategies
from tests.strategies import tree

RULES = strategies.rule_trees(strategies.list_rules(), strategies.presence_rules(), strategies.comparator_rules())


def digest(rules: str, value: Json, *, defaults: str = "{}") -> normalize.Digest:
    return normalize.digest(tree(rules, defaults=defaults).root, value)


@pytest.mark.parametrize(
    "rules, one, other",
    [
        pytest.param("", {"a": 1, "b": 2}, {"b": 2.0, "a": 1}, id="key order, numbers"),
        pytest.param("", {"a": []}, {"b": None}, id="nothing"),
        pytest.param("- {path: /a, compare: casefold}", {"a": "X"}, {"a": "x"}, id="comparator"),
        pytest.param(
            "- {path: /a, compare: duration}", {"a": "PT24H"}, {"a": "P1D"}, id="comparator with a tuple as key"
        ),
        pytest.param("- {path: /a, class: read_only}", {"a": 1, "b": 1}, {"b": 1}, id="hidden"),
        pytest.param("- {path: /a, class: runtime}", {}, {"a": 2}, id="not declared"),
        pytest.param("- {path: /a, class: write_only}", {"a": "s1"}, {"a": "****"}, id="write only"),
        pytest.param("- {path: /l, list: set}", {"l": [1, 2, 2]}, {"l": [2, 1]}, id="set"),
        pytest.param("- {path: /l, list: multiset}", {"l": [1, 2, 2]}, {"l": [2, 1, 2]}, id="multiset"),
        pytest.param(
            "- {path: /l, list: {keyed: k}}", {"l": [{"k": 1}, {"k": 2}]}, {"l": [{"k": 2}, {"k": 1}]}, id="keyed"
        ),
        pytest.param("", {"l": [{"id": 1}, {"id": 2}]}, {"l": [{"id": 2}, {"id": 1}]}, id="natural key"),
        pytest.param("- {path: /m, map: {keys: casefold}}", {"m": {"Id": 1}}, {"m": {"ID": 1}}, id="keys"),
        pytest.param(
            "- {path: /**, compare: casefold}",
            {"m": {"a": ["X", {"id": "Y"}]}},
            {"m": {"a": ["x", {"id": "y"}]}},
            id="a comparator whose path matches containers",
        ),
        pytest.param(
            "- {path: /a, compare: json_str}", {"a": '{"b": [1, 2]}'}, {"a": {"b": [1, 2.0]}}, id="JSON in a string"
        ),
    ],
)
def test_what_the_comparison_calls_the_same_has_the_same_digest(rules: str, one: Json, other: Json):
    assert diff.differences(one, other, tree(rules)) == []
    assert digest(rules, one) == digest(rules, other)


@pytest.mark.parametrize(
    "rules, one, other",
    [
        ("", {"a": 1}, {"a": True}),
        ("", {"a": 1}, {"a": "1"}),
        ("", {"l": [1, 2]}, {"l": [2, 1]}),
        ("- {path: /l, list: set}", {"l": [1, 2]}, {"l": [1, 3]}),
        ("- {path: /l, list: multiset}", {"l": [1, 1]}, {"l": [1]}),
        ("- {path: /m, map: {keys: casefold}}", {"m": {"Foo": 1, "foo": 2}}, {"m": {"Foo": 9, "foo": 2}}),
        ("- {path: /m, map: {keys: casefold}}", {"m": {"Foo": 1, "foo": 2}}, {"m": {"foo": 2}}),
        ("- {path: /a, presence: strict}", {"a": []}, {}),
        ("- {path: /a, compare: version_prefix}", {"a": "1.33"}, {"a": "1.33.5"}),
    ],
)
def test_what_differs_has_another_digest_and_so_has_what_no_single_key_can_tell(rules: str, one: Json, other: Json):
    assert digest(rules, one) != digest(rules, other)


@given(strategies.maps(), RULES, st.randoms(use_true_random=False))
def test_a_digest_does_not_change_with_the_order_of_keys(document: Json, rules: RuleTree, chance: random.Random):
    twin = strategies.shuffled_keys(copy.deepcopy(document), chance)
    assert normalize.digest(rules.root, twin) == normalize.digest(rules.root, document)


@given(strategies.maps(max_leaves=5), strategies.maps(max_leaves=5), RULES)
def test_equal_digests_mean_that_nothing_differs(one: Json, other: Json, rules: RuleTree):
    if normalize.digest(rules.root, one) == normalize.digest(rules.root, other):
        assert diff.differences(one, other, rules) == []


@given(st.data(), strategies.solid_maps(), RULES)
def test_a_change_that_is_seen_changes_the_digest(data: st.DataObject, document: Json, rules: RuleTree):
    other = data.draw(strategies.variants(document))
    if diff.differences(document, other, rules):
        assert normalize.digest(rules.root, document) != normalize.digest(rules.root, other)


def test_a_digest_of_the_deepest_document_is_taken_in_one_go():
    def deep(leaf: int) -> Json:
        value: Json = leaf
        for _ in range(3000):
            value = {"a": [value]}
        return value

    assert digest("", deep(1)) == digest("", deep(1))
    assert digest("", deep(1)) != digest("", deep(2))


def test_a_digest_shows_itself_and_nothing_of_the_value():
    shown = repr(digest("", {"password": "hunter2"}))
    assert shown.startswith("Digest(sha256:")
    assert "hunter2" not in shown


def test_a_digest_of_an_older_store_that_took_containers_for_leaves_is_still_understood():
    rules = tree("- {path: /**, compare: casefold}")
    old = normalize.Digest("sha256:1a125f7d9b3bb82d99c9674f264e6b95896e498df2b5d47b11ae1c87b09f45b4")
    assert normalize.stands_for(old, rules.root, {"m": {"a": "X"}})
    assert not normalize.stands_for(old, rules.root, {"m": {"a": "y"}})
    baseline = diff.Baseline({}, {"big": old})
    assert diff.findings({}, {"big": {"m": {"a": "X"}}}, rules, baseline) == []
