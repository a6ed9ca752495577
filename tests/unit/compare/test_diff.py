"""The comparison: what differs between a declaration and the world, what of it is news, and who moved."""

from __future__ import annotations

import copy
import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast.compare import diff, known_differences, paths
from holdfast.compare.diff_walk import TraceEntry
from holdfast.compare.rule_tree import RuleTree
from holdfast.compare.rules import FieldClass, ListKind, ListRule, Rule
from holdfast.model.absent import ABSENT
from holdfast.model.finding import Difference, Finding, Op
from holdfast.model.json import Json
from tests import strategies
from tests.strategies import tree

NO_RULES = tree()
A = ABSENT


def told(found: list[Finding]) -> list[str]:
    """Write findings in one line each: path, operation, class, side."""
    return [f"{paths.format_path(f.path)} {f.op} {f.cls} {f.changed_by}" for f in found]


def short(found: list[Finding] | list[Difference]) -> list[str]:
    """Write findings or differences as path and operation."""
    return sorted(f"{paths.format_path(f.path)} {f.op}" for f in found)


def put(value: Json) -> Json:
    return {} if value is ABSENT else {"x": value}


def news(desired: Json, applied: Json, settled: Json, observed: Json, rules: RuleTree = NO_RULES) -> list[str]:
    """Compare four documents that hold at most the field x, so that a table can name just its values."""
    baseline = diff.Baseline(put(applied), put(settled))
    return told(diff.findings(put(desired), put(observed), rules, baseline))


# -- who moved: declared, applied, at the baseline, observed

SECRET = tree("- {path: /x, class: secret}")
ORDERED = tree("- {path: /x, list: ordered}")


@pytest.mark.parametrize(
    "desired, applied, settled, observed, expected",
    [
        pytest.param(1, 1, 1, 1, [], id="nothing moved"),
        # specified
        pytest.param(1, 1, 1, 2, ["/x changed specified live"], id="changed outside Holdfast a declared value"),
        pytest.param(1, 1, 1, A, ["/x missing specified live"], id="the world dropped a declared value"),
        pytest.param(2, 1, 1, 1, ["/x changed specified declared"], id="the declaration moved"),
        pytest.param(1, A, A, A, ["/x missing specified declared"], id="the declaration gained a field"),
        pytest.param(2, 1, 1, 3, ["/x changed specified both"], id="both changed a declared value"),
        pytest.param(2, 1, 1, A, ["/x missing specified both"], id="one moved it, the other dropped it"),
        pytest.param(2, 1, 1, 2, [], id="both changed to the same value: converged"),
        pytest.param(1, A, A, 1, [], id="the declaration asks for what has appeared: converged"),
        pytest.param(A, 1, 1, A, [], id="the declaration let go of what is gone: converged"),
        pytest.param(5, A, 5, 5, [], id="the declaration says what is the default already"),
        pytest.param(6, A, 5, 5, ["/x changed specified declared"], id="the declaration says other than the default"),
        pytest.param(6, A, 5, 7, ["/x changed specified both"], id="so it does, and the default moved"),
        # a declared value that the service stores otherwise
        pytest.param(1, 1, 10, 10, [], id="overridden as before: known"),
        pytest.param(1, 1, 10, 20, ["/x changed specified live"], id="overridden by another value"),
        pytest.param(1, 1, 10, 1, [], id="no longer overridden"),
        pytest.param(1, 1, A, A, [], id="never returned: known"),
        pytest.param(1, 1, A, 2, ["/x changed specified live"], id="returned of a sudden, and different"),
        # defaulted
        pytest.param(A, A, 5, 5, [], id="a default stays"),
        pytest.param(A, A, 5, 6, ["/x changed defaulted live"], id="a default moved"),
        # undeclared
        pytest.param(A, A, A, 7, ["/x added undeclared live"], id="an undeclared value appeared"),
        pytest.param(A, A, 5, A, ["/x missing undeclared live"], id="an undeclared value vanished"),
        # removed
        pytest.param(A, 1, 1, 1, ["/x changed removed declared"], id="no longer declared, still there"),
        pytest.param(A, 1, 1, 2, ["/x changed removed both"], id="no longer declared, and moved"),
        # whole subtrees are one finding
        pytest.param({"a": {"b": 1}}, A, A, A, ["/x missing specified declared"], id="a subtree is declared"),
        pytest.param(A, A, A, {"a": {"b": 1}}, ["/x added undeclared live"], id="a subtree appeared"),
        pytest.param(A, A, {"a": 1, "b": 2}, A, ["/x missing undeclared live"], id="a subtree vanished"),
        pytest.param({"a": 1}, {"a": 1}, {"a": 1}, "s", ["/x changed specified live"], id="a map became a word"),
        pytest.param({"a": 1}, {"a": 1}, {"a": 1}, [1], ["/x changed specified live"], id="a map became a list"),
        pytest.param("s", "s", "s", {"a": 1}, ["/x changed specified live"], id="a word became a map"),
        pytest.param({"a": 1}, {"a": 1}, {"a": 1, "d": 1}, {"a": 1}, ["/x/d missing undeclared live"], id="inside"),
    ],
)
def test_a_difference_is_news_if_the_declaration_or_the_world_moved(
    desired: Json, applied: Json, settled: Json, observed: Json, expected: list[str]
):
    assert news(desired, applied, settled, observed) == expected
    assert news(desired, copy.deepcopy(applied), settled, observed) == expected


@pytest.mark.parametrize(
    "desired, applied, settled, observed, expected",
    [
        pytest.param(["a"], ["a"], ["a"], ["a", "b"], ["/x/1 element_added element live"], id="added"),
        pytest.param(["a"], ["a"], ["a"], [], ["/x/0 element_missing element live"], id="missing"),
        pytest.param(["a"], ["a"], ["a", "d"], ["a"], ["/x/1 element_missing element live"], id="default gone"),
        pytest.param(["a"], ["a"], ["a", "d"], ["a", "d"], [], id="default element: known"),
        pytest.param(["a"], ["a"], ["a", "d"], ["a", "e"], ["/x/1 changed defaulted live"], id="default edited"),
        pytest.param(["a", "b"], ["a"], ["a"], ["a"], ["/x/1 element_missing element declared"], id="declared"),
        pytest.param(["a"], ["a", "b"], ["a", "b"], ["a", "b"], ["/x/1 changed removed declared"], id="removed"),
        pytest.param(["a", "b"], ["a"], ["a"], ["a", "b"], [], id="declared and there: converged"),
        pytest.param(["a"], ["a", "b"], ["a", "b"], ["a"], [], id="removed and gone: converged"),
        pytest.param(["a", "b"], ["a", "b"], ["a"], ["a"], [], id="element never accepted: known"),
        pytest.param(
            ["a", "b"],
            ["a", "b"],
            ["a"],
            ["a", "c"],
            ["/x/1 element_added element live"],
            id="never accepted, other new",
        ),
        pytest.param(
            ["a", "b"],
            ["a"],
            ["a"],
            ["a", "c"],
            ["/x/1 element_missing element declared", "/x/1 element_added element live"],
            id="both",
        ),
        pytest.param([None], [None], [None], ["a"], ["/x/0 changed specified live"], id="null takes a place"),
    ],
)
def test_elements_of_a_list_come_and_go_like_fields_do(
    desired: Json, applied: Json, settled: Json, observed: Json, expected: list[str]
):
    for copied in (applied, copy.deepcopy(applied)):
        assert sorted(news(desired, copied, settled, observed, ORDERED)) == sorted(expected)


@pytest.mark.parametrize(
    "desired, applied, settled, observed, expected",
    [
        ("s1", "s1", "s1", "s2", ["/x changed secret live"]),
        ("s2", "s1", "s1", "s1", ["/x changed secret declared"]),
        ("s2", "s1", "s1", "s3", ["/x changed secret both"]),
        (["s1"], ["s1"], ["s1"], ["s1", "s2"], ["/x/1 element_added secret live"]),
        (A, A, {"deep": "s1"}, {"deep": "s2"}, ["/x/deep changed secret live"]),
    ],
)
def test_a_secret_is_compared_and_named_as_one(
    desired: Json, applied: Json, settled: Json, observed: Json, expected: list[str]
):
    assert news(desired, applied, settled, observed, SECRET) == expected


@pytest.mark.parametrize(
    "desired, applied, settled, observed, expected",
    [
        pytest.param([1, 2, 3], [1, 2, 3], [1, 2, 3], [3, 1, 2], ["/x reordered order live"], id="live"),
        pytest.param([3, 1, 2], [1, 2, 3], [1, 2, 3], [1, 2, 3], ["/x reordered order declared"], id="declared"),
        pytest.param([3, 1, 2], [1, 2, 3], [1, 2, 3], [2, 1, 3], ["/x reordered order both"], id="both"),
        pytest.param([3, 1, 2], [1, 2, 3], [1, 2, 3], [3, 1, 2], [], id="converged"),
        pytest.param([1, 2, 3], [1, 2, 3], [3, 2, 1], [3, 2, 1], [], id="the service's own order: known"),
        pytest.param([1, 2, 3], [1, 2, 3], [3, 2, 1], [1, 2, 3], [], id="as declared after all"),
        pytest.param(A, A, [1, 2], [2, 1], ["/x reordered order live"], id="undeclared"),
    ],
)
def test_a_reordered_list_is_one_finding_where_order_has_a_meaning(
    desired: Json, applied: Json, settled: Json, observed: Json, expected: list[str]
):
    for rules in (ORDERED, NO_RULES):
        assert news(desired, applied, settled, observed, rules) == expected


def test_the_values_of_all_sides_are_in_the_finding():
    (found,) = diff.findings({"x": 2}, {"x": 3}, NO_RULES, diff.Baseline({"x": 1}, {"x": 1}))
    assert (found.desired, found.baseline, found.observed) == (2, 1, 3)
    assert (found.path, found.pointer) == (("x",), ("x",))


# -- without a baseline


@pytest.mark.parametrize(
    "desired, observed, expected",
    [
        ({"a": 1}, {"a": 1, "default": 2}, []),
        ({"a": 1}, {"a": 2}, ["/a changed specified unknown"]),
        ({"a": 1}, {}, ["/a missing specified unknown"]),
        ({"a": {"b": 1}}, {"a": {"b": 2, "c": 3}}, ["/a/b changed specified unknown"]),
        ({"l": ["x"]}, {"l": ["x", "y"]}, ["/l/1 element_added element unknown"]),
        ({"l": [{"name": "x"}]}, {"l": [{"name": "x", "d": 1}, {"name": "own"}]}, []),
        ({"l": [1, 2]}, {"l": [2, 1]}, ["/l reordered order unknown"]),
        ({"l": []}, {"l": ["x"]}, ["/l/0 element_added element unknown"]),
        ({}, {"l": ["x"]}, []),
    ],
)
def test_without_a_baseline_only_what_is_declared_is_judged_and_nobody_is_named(
    desired: Json, observed: Json, expected: list[str]
):
    assert told(diff.findings(desired, observed, NO_RULES)) == expected


def test_spellings_are_forgiven_only_as_long_as_there_is_no_baseline():
    rules = tree("- {path: /**, adopt: [casefold, number]}")
    desired, observed = {"kind": "Web", "n": "10"}, {"kind": "WEB", "n": 10}
    assert diff.findings(desired, observed, rules) == []
    assert short(diff.findings(desired, observed, rules, diff.Baseline(desired, desired))) == [
        "/kind changed",
        "/n changed",
    ]


def test_a_list_may_be_read_as_a_set_only_as_long_as_there_is_no_baseline():
    rules = tree("- {path: /l, adopt_list: set}")
    desired, observed = {"l": [1, 2]}, {"l": [2, 1]}
    assert diff.findings(desired, observed, rules) == []
    assert short(diff.findings(desired, observed, rules, diff.Baseline(desired, desired))) == ["/l reordered"]


def test_a_declared_zero_may_be_left_out_only_as_long_as_there_is_no_baseline():
    rules = tree("- {path: /**, adopt_presence: zero}")
    desired: Json = {"on": False, "n": 0, "s": "", "true": True}
    assert short(diff.findings(desired, {}, rules)) == ["/true missing"]
    baseline = diff.Baseline(desired, desired)
    assert short(diff.findings(desired, {"true": True}, rules, baseline)) == ["/n missing", "/on missing", "/s missing"]


# -- lists


@pytest.mark.parametrize(
    "rule, left, right, expected",
    [
        ("ordered", [1, 2, 3], [1, 2, 3], []),
        ("ordered", [1, 2, 3], [1, 9, 3], ["/l/1 changed"]),
        ("ordered", [1, 2, 3], [1, 3], ["/l/1 element_missing"]),
        ("ordered", [1, 3], [1, 2, 3], ["/l/1 element_added"]),
        ("ordered", [1, 2, 3], [3, 2, 1], ["/l reordered"]),
        ("set", [1, 2, 3], [3, 2, 1], []),
        ("set", [1, 2, 2], [2, 1], []),
        ("set", ["a"], ["b"], ["/l/0 element_added", "/l/0 element_missing"]),
        ("multiset", [1, 2, 2], [2, 1, 2], []),
        ("multiset", [1, 2, 2], [2, 1], ["/l/2 element_missing"]),
        ("set", [[1, 2], [3]], [[3], [2, 1]], ["/l changed"]),
        (
            "{keyed: [k]}",
            [{"k": "a", "v": 1}, {"k": "b", "v": 2}],
            [{"k": "b", "v": 3}, {"k": "c", "v": 1}],
            ["/l[k=a] element_missing", "/l[k=b]/v changed", "/l[k=c] element_added"],
        ),
        ("{keyed: [k]}", [{"k": "a"}, {"k": "b"}], [{"k": "b"}, {"k": "a"}], []),
        (
            "{keyed: [t, o]}",
            [{"t": 1, "o": 1, "v": 1}, {"t": 1, "o": 2, "v": 1}],
            [{"t": 1, "o": 2, "v": 2}, {"t": 1, "o": 1, "v": 1}],
            ["/l[t=1,o=2]/v changed"],
        ),
        (
            "{keyed: [r], normalise: {r: region}}",
            [{"r": "westus", "v": 1}],
            [{"r": "West US", "v": 2}],
            ["/l[r=West US]/r changed", "/l[r=West US]/v changed"],
        ),
        ("{keyed: [k]}", [{"k": "a", "v": 1}, {"k": "a", "v": 2}], [{"k": "a", "v": 2}, {"k": "a", "v": 1}], []),
        ("{keyed: [k]}", [{"k": "a"}, {"v": 2}], [{"v": 2}, {"k": "a"}], []),
        ("{keyed: [k]}", [{"k": "a"}, 1, None], [None, {"k": "a"}, 2], ["/l/1 element_missing", "/l/2 element_added"]),
        ("{keyed: [k], one_or_many: true}", {"k": "a"}, [{"k": "a"}], []),
        ("{kind: set, one_or_many: true}", "x", ["x", "y"], ["/l/1 element_added"]),
        ("{kind: set, one_or_many: true}", ["x"], "x", []),
        ("set", "x", ["x"], ["/l changed"]),
    ],
)
def test_a_list_is_compared_by_its_semantics(rule: str, left: Json, right: Json, expected: list[str]):
    assert short(diff.differences({"l": left}, {"l": right}, tree(f"- {{path: /l, list: {rule}}}"))) == expected


def test_without_a_rule_objects_with_a_name_are_keyed_and_other_lists_ordered():
    left = {"named": [{"name": "a", "v": 1}, {"name": "b"}], "plain": [1, 2]}
    right = {"named": [{"name": "b"}, {"name": "a", "v": 2}], "plain": [2, 1]}
    assert short(diff.differences(left, right, NO_RULES)) == ["/named[name=a]/v changed", "/plain reordered"]


def test_an_object_in_a_set_that_changed_in_one_field_is_one_change_not_two_elements():
    rules = tree("- {path: /l, list: set}")
    settled = {"l": [{"from": 1, "to": 2, "on": True}, {"from": 3, "to": 4, "on": True}]}
    observed = {"l": [{"from": 3, "to": 4, "on": False}, {"from": 1, "to": 2, "on": True}]}
    found = diff.findings(settled, observed, rules, diff.Baseline(settled, settled))
    assert short(found) == ["/l/0/on changed"]


def test_a_lone_value_and_a_list_of_one_are_the_same_where_the_rule_says_so():
    rules = tree("- {path: /x, list: {kind: set, one_or_many: true}}")
    assert news("a", "a", ["a"], ["b", "a"], rules) == ["/x/0 element_added element live"]
    assert news(["a"], ["a"], "a", ["a"], rules) == []


# -- classes of fields


@pytest.mark.parametrize("cls", ["read_only", "identity", "behavioural", "ignore"])
def test_a_hidden_field_is_never_news_declared_or_not(cls: str):
    rules = tree(f"- {{path: /x, class: {cls}}}")
    for four in [(1, 1, 1, 2), (2, 1, 1, 1), (A, A, 1, 2), (A, A, A, 1), ({"d": 1}, {"d": 1}, {"d": 1}, {"d": 2})]:
        assert news(*four, rules) == []
    assert diff.findings({"x": 1}, {"x": 2}, rules) == []
    assert diff.differences({"x": 1}, {"x": 2}, rules) == []


def test_a_hidden_element_may_come_and_go():
    rules = tree("- {path: '/tags[key=aws:stack]', class: ignore}")
    settled, observed = {"tags": [{"key": "mine"}]}, {"tags": [{"key": "aws:stack"}, {"key": "mine"}]}
    assert diff.findings(settled, observed, rules, diff.Baseline(settled, settled)) == []


def test_what_is_only_hidden_inside_counts_as_nothing():
    rules = tree("- {path: /x/etag, class: read_only}")
    assert news(A, A, A, {"etag": "1"}, rules) == []
    assert news(A, A, {"etag": "1"}, A, rules) == []
    assert news(A, A, A, {"etag": "1", "n": 1}, rules) == ["/x added undeclared live"]


@pytest.mark.parametrize("cls", ["runtime", "owned_elsewhere"])
def test_a_field_that_moves_by_itself_or_belongs_to_another_is_compared_only_where_declared(cls: str):
    rules = tree(f"- {{path: /x, class: {cls}}}")
    assert news(A, A, 1, 2, rules) == []
    assert news(A, A, A, 2, rules) == []
    assert news(1, 1, 1, 2, rules) == ["/x changed specified live"]
    assert news({"a": 1}, {"a": 1}, {"a": 1, "b": 1}, {"a": 1, "b": 2}, rules) == []
    assert news({"a": 1}, {"a": 1}, {"a": 1}, {"a": 2}, rules) == ["/x/a changed specified live"]


def test_children_that_another_object_owns_are_compared_only_by_the_keys_declared():
    rules = tree("- {path: /subnets, class: owned_elsewhere}")
    mine = {"subnets": [{"name": "a", "prefix": "10.0.0.0/24"}]}
    settled = {"subnets": [{"name": "a", "prefix": "10.0.0.0/24"}, {"name": "b", "prefix": "10.0.1.0/24"}]}
    observed = {"subnets": [{"name": "c", "prefix": "10.0.2.0/24"}, {"name": "a", "prefix": "10.0.0.0/25"}]}
    assert short(diff.findings(mine, observed, rules, diff.Baseline(mine, settled))) == [
        "/subnets[name=a]/prefix changed"
    ]
    assert diff.findings({}, observed, rules, diff.Baseline({}, settled)) == []


@pytest.mark.parametrize(
    "desired, applied, settled, observed, expected",
    [
        pytest.param("s1", "s1", A, A, [], id="never returned"),
        pytest.param("s1", "s1", "****", "****", [], id="masked"),
        pytest.param("s1", "s1", A, "****", [], id="masked of a sudden"),
        pytest.param("s1", "s1", "****", "<redacted>", [], id="another mask"),
        pytest.param("s1", "s1", "s1", "****", [], id="returned once, masked now"),
        pytest.param("s1", "s1", "s1", A, [], id="returned once, withheld now"),
        pytest.param("s2", "s1", A, A, ["/x missing secret declared"], id="rotated"),
        pytest.param("s2", "s1", "****", "****", ["/x changed secret declared"], id="rotated behind a mask"),
        pytest.param("s1", A, A, A, ["/x missing secret declared"], id="declared anew"),
        pytest.param("s1", "s1", "h1", "h2", ["/x changed secret live"], id="a readable trace of it moved"),
        pytest.param("s2", "s1", "h1", "h2", ["/x changed secret both"], id="both"),
    ],
)
def test_a_write_only_value_is_judged_by_what_was_applied_and_a_mask_is_never_drift(
    desired: Json, applied: Json, settled: Json, observed: Json, expected: list[str]
):
    assert news(desired, applied, settled, observed, tree("- {path: /x, class: write_only}")) == expected


def test_without_a_baseline_a_write_only_value_cannot_differ():
    rules = tree("- {path: /x, class: write_only}")
    for observed in ({}, {"x": "****"}, {"x": "other"}, {"x": None}):
        assert diff.findings({"x": "s1"}, observed, rules) == []


def test_a_create_only_field_is_compared_where_it_is_returned():
    rules = tree("- {path: /x, class: create_only}")
    assert news(1, 1, 1, 2, rules) == ["/x changed specified live"]
    assert news(1, 1, 1, A, rules) == []
    assert diff.findings({"x": 1}, {}, rules) == []
    assert short(diff.findings({"x": 1}, {"x": 2}, rules)) == ["/x changed"]


def test_an_edit_of_a_create_only_field_that_is_never_returned_is_an_edit():
    """What was given at birth is remembered: that nobody can see it does not make another value take."""
    rules = tree("- {path: /x, class: create_only}")
    assert news(2, 1, A, A, rules) == ["/x missing specified declared"]
    assert news(2, A, A, A, rules) == ["/x missing specified declared"]
    assert news(1, 1, A, A, rules) == []
    assert news(A, 1, A, A, rules) == []


def test_compared_overrules_a_broader_rule_that_hides():
    rules = tree("""
        - {path: /tags/*, class: compared}
        - {path: /**/etag, class: ignore}
    """)
    settled, observed = {"etag": 1, "tags": {"etag": "mine"}}, {"etag": 2, "tags": {"etag": "theirs"}}
    assert short(diff.findings(settled, observed, rules, diff.Baseline(settled, settled))) == ["/tags/etag changed"]


# -- comparators and defaults


@pytest.mark.parametrize(
    "rule, one, other",
    [
        ("compare: casefold", "Enabled", "enabled"),
        ("compare: region", "westus2", "West US 2"),
        ("compare: number", "10", 10),
        ("compare: duration", "PT24H", "P1D"),
        ("compare: quantity", "1Gi", "1024Mi"),
        ("compare: version_prefix", "1.33", "1.33.5"),
        ("compare: {token_set: {sep: ','}}", "a,b", "b, a"),
        ("compare: json_str", '{"a": 1, "b": [2]}', '{"b":[2],"a":1.0}'),
        ("default: 80", ABSENT, 80),
        ("default: 80", None, 80),
        ("default: Standard, compare: casefold", ABSENT, "standard"),
        ("default: {a: 1}", ABSENT, {"a": 1}),
    ],
)
def test_two_spellings_of_the_same_are_no_news(rule: str, one: Json, other: Json):
    rules = tree(f"- {{path: /x, {rule}}}")
    assert news(one, one, one, other, rules) == []
    assert news(other, other, one, one, rules) == []
    assert news(A, A, one, other, rules) == []
    assert diff.differences(put(one), put(other), rules) == []


def test_json_inside_a_string_is_compared_by_the_rules_below_it():
    rules = tree("""
        - {path: /x, compare: json_str}
        - {path: /x/ids, list: set}
        - {path: /x/etag, class: ignore}
    """)
    assert news(A, A, '{"ids": [1, 2], "etag": 1}', '{"etag": 2, "ids": [2, 1]}', rules) == []
    assert news(A, A, '{"ids": [1, 2]}', '{"ids": [1, 3]}', rules) == ["/x changed defaulted live"]
    assert news(A, A, "not json", "not  json", rules) == ["/x changed defaulted live"]


# -- maps


def test_keys_may_be_free_of_their_case():
    rules = tree("- {path: /m, map: {keys: casefold}}")
    settled = {"m": {"/Sub/RG/id": {"v": 1}, "other": 1}}
    observed = {"m": {"other": 1, "/sub/rg/ID": {"v": 1}}}
    assert diff.findings(settled, observed, rules, diff.Baseline(settled, settled)) == []
    observed = {"m": {"other": 1, "/sub/rg/ID": {"v": 2}}}
    (found,) = diff.findings(settled, observed, rules, diff.Baseline(settled, settled))
    assert (found.path, found.observed) == (("m", "/sub/rg/ID", "v"), 2)


@pytest.mark.parametrize(
    "settled, observed, expected",
    [
        pytest.param({"Foo": 1, "foo": 2}, {"Foo": 1, "foo": 2}, [], id="as it was"),
        pytest.param({"Foo": 1, "foo": 2}, {"foo": 2, "Foo": 3}, ["/m/Foo changed"], id="one of them moved"),
        pytest.param({"foo": 2, "x": 1}, {"Foo": 1, "foo": 2, "X": 1}, ["/m/Foo added"], id="another writer appeared"),
        pytest.param(
            {"Foo": 1, "foo": 2, "X": 1}, {"foo": 2, "x": 1}, ["/m/Foo missing"], id="another writer vanished"
        ),
        pytest.param({"FOO": 1}, {"Foo": 1, "foo": 1}, ["/m/FOO missing", "/m/Foo added", "/m/foo added"], id="split"),
    ],
)
def test_keys_that_collide_without_their_case_are_told_apart_by_it(settled: Json, observed: Json, expected: list[str]):
    rules = tree("- {path: /m, map: {keys: casefold}}")
    nothing: list[Json] = [{}, {"m": {}}]
    for desired in nothing:
        baseline = diff.Baseline(desired, {"m": settled})
        assert short(diff.findings(desired, {"m": observed}, rules, baseline)) == sorted(expected)


def test_in_a_subset_map_entries_that_nobody_declared_may_come_and_go():
    for rule in ("subset", "{subset: true, keys: casefold}"):
        rules = tree(f"- {{path: /tags, map: {rule}}}")
        desired = {"tags": {"mine": 1}}
        baseline = diff.Baseline(desired, {"tags": {"mine": 1, "policy": 1}})
        assert diff.findings(desired, {"tags": {"mine": 1, "other": 5}}, rules, baseline) == []
        assert short(diff.findings(desired, {"tags": {"mine": 2}}, rules, baseline)) == ["/tags/mine changed"]
        assert short(diff.findings(desired, {"tags": {"policy": 1}}, rules, baseline)) == ["/tags/mine missing"]


# -- presence

NOTHING: list[Json] = [ABSENT, None, {}, [], "", 0, False]


@pytest.mark.parametrize(
    "presence, same",
    [("strict", 1), ("empty", 4), ("blank", 5), ("zero", 7)],
)
def test_a_presence_rule_says_how_many_spellings_of_nothing_are_one(presence: str, same: int):
    """Absent, null, {}, [], "", 0 and false: the first so many mean the same."""
    rules = tree(defaults=f"{{presence: {presence}}}")
    for i, item in enumerate(NOTHING):
        for j, other in enumerate(NOTHING):
            expected = i == j or (i < same and j < same)
            assert (news(A, A, item, other, rules) == []) is expected, (item, other)
            assert (diff.differences(put(item), put(other), rules) == []) is expected, (item, other)


def test_an_empty_mapping_may_be_a_value_where_an_empty_list_is_none():
    rules = tree(defaults="{presence: empty_list}")
    for i, item in enumerate(NOTHING):
        for j, other in enumerate(NOTHING):
            expected = i == j or {i, j} <= {0, 1, 3}
            assert (news(A, A, item, other, rules) == []) is expected, (item, other)
            assert (diff.differences(put(item), put(other), rules) == []) is expected, (item, other)


@pytest.mark.parametrize("presence", ["strict", "empty_list", "empty", "blank", "zero"])
def test_something_is_never_nothing(presence: str):
    rules = tree(defaults=f"{{presence: {presence}}}")
    for item in NOTHING:
        for other in ("x", 1, True, [0], {"a": 1}, [None]):
            assert news(A, A, item, other, rules) != []


def test_presence_may_differ_from_place_to_place():
    rules = tree("- {path: /x, presence: strict}")
    assert news(A, A, A, [], rules) == ["/x added undeclared live"]
    assert diff.differences({"y": []}, {"y": None}, rules) == []


def test_a_map_of_nothing_but_nothing_is_nothing():
    assert news(A, A, A, {"a": None, "b": {"c": []}}) == []
    assert news(A, A, A, {"a": None, "b": {"c": [0]}}) == ["/x added undeclared live"]


# -- every finding names the rule that decided


@pytest.mark.parametrize(
    "rules, settled, observed, expected",
    [
        ("", {"x": 1}, {"x": 2}, "default: exact"),
        ("- {path: /x, compare: casefold}", {"x": "a"}, {"x": "b"}, "test@1: /x casefold"),
        ("- {path: /x, presence: strict}", {}, {"x": []}, "test@1: /x presence strict"),
        ("- {path: /x, class: secret}", {"x": "a"}, {"x": "b"}, "test@1: /x secret"),
        ("- {path: /*, list: ordered}", {"x": [1, 2]}, {"x": [2, 1]}, "test@1: /* ordered"),
        ("- {path: /*, list: set}", {"x": [1]}, {"x": [1, 2]}, "test@1: /* set"),
        ("- {path: /x, list: {keyed: k}}", {"x": []}, {"x": [{"k": 1}]}, "test@1: /x keyed"),
        ("", {"x": [1]}, {"x": [1, 2]}, "default: ordered list"),
        ("", {"x": [{"name": "a"}]}, {"x": []}, "default: keyed list"),
        ("- {path: '/**', class: compared}", {"x": 1}, {"x": 2}, "test@1: /** compared"),
    ],
)
def test_a_finding_names_the_rule_that_decided_it(rules: str, settled: Json, observed: Json, expected: str):
    compiled = tree(rules)
    (found,) = diff.findings(settled, observed, compiled, diff.Baseline(settled, settled))
    assert found.rule == expected
    (found,) = diff.findings(settled, observed, compiled, diff.Baseline(copy.deepcopy(settled), settled))
    assert found.rule == expected


def test_a_trace_tells_of_every_place_how_it_was_judged_and_by_which_rule():
    rules = tree("""
        - {path: /etag, class: ignore}
        - {path: /kind, compare: casefold}
        - {path: /state, class: runtime}
    """)
    desired = {"kind": "Web", "n": 1}
    observed = {"kind": "WEB", "n": 2, "etag": 5, "state": "on"}
    trace: list[TraceEntry] = []
    found = diff.findings(desired, observed, rules, diff.Baseline(desired, {"kind": "web", "n": 1}), trace)
    assert short(found) == ["/n changed"]
    assert {paths.format_path(j.path): (j.outcome, j.rule) for j in trace} == {
        "/kind": ("equal or known", "test@1: /kind casefold"),
        "/etag": ("not compared", "test@1: /etag ignore"),
        "/state": ("not compared, not declared", "test@1: /state runtime"),
    }


# -- properties

COMPARING = strategies.comparing_trees
DOCUMENTS = strategies.maps()


@given(DOCUMENTS, COMPARING, st.randoms(use_true_random=False))
def test_a_document_does_not_differ_from_itself_nor_from_itself_with_its_keys_permuted(
    document: Json, rules: RuleTree, chance: random.Random
):
    twin = strategies.shuffled_keys(copy.deepcopy(document), chance)
    assert diff.differences(document, twin, rules) == []
    assert diff.findings(document, twin, rules) == []
    assert diff.findings(document, twin, rules, diff.Baseline(copy.deepcopy(document), document)) == []


@given(DOCUMENTS, DOCUMENTS, DOCUMENTS, DOCUMENTS, COMPARING, st.randoms(use_true_random=False))
def test_permuting_keys_never_changes_what_is_found(
    desired: Json, applied: Json, settled: Json, observed: Json, rules: RuleTree, chance: random.Random
):
    def found(document: Json) -> list[Finding]:
        return sorted(
            diff.findings(desired, document, rules, diff.Baseline(applied, settled)),
            key=lambda f: (paths.format_path(f.path), f.op),
        )

    assert found(strategies.shuffled_keys(observed, chance)) == found(observed)


SETS = RuleTree([Rule(paths.parse_pattern("/**"), list_rule=ListRule(ListKind.SET))])
MULTISETS = RuleTree([Rule(paths.parse_pattern("/**"), list_rule=ListRule(ListKind.MULTISET))])


@given(DOCUMENTS, st.sampled_from([SETS, MULTISETS]), st.randoms(use_true_random=False))
def test_permuting_the_elements_of_a_set_is_never_news(document: Json, rules: RuleTree, chance: random.Random):
    permuted = strategies.shuffled_lists(document, chance)
    assert diff.findings(document, permuted, rules, diff.Baseline(document, document)) == []
    assert diff.findings(document, permuted, rules) == []


@given(DOCUMENTS, st.data(), COMPARING)
def test_writing_whole_numbers_as_floats_is_never_news(document: Json, data: st.DataObject, rules: RuleTree):
    respelt = strategies.respelt_numbers(document, data.draw(st.randoms(use_true_random=False)))
    assert diff.findings(document, respelt, rules, diff.Baseline(document, document)) == []
    assert diff.differences(document, respelt, rules) == []


VISIBLE = strategies.rule_trees(
    st.builds(
        lambda path, kind: Rule(path, list_rule=ListRule(kind)),
        strategies.patterns,
        st.sampled_from([ListKind.ORDERED, ListKind.MULTISET]),
    ),
    strategies.presence_rules(),
    strategies.class_rules([FieldClass.IGNORE, FieldClass.READ_ONLY, FieldClass.COMPARED, FieldClass.SECRET]),
)


@given(st.data(), VISIBLE)
def test_changing_a_leaf_is_news_exactly_if_no_rule_hides_it(data: st.DataObject, rules: RuleTree):
    document = data.draw(strategies.documents_without_natural_keys())
    leaves = strategies.leaves(document)
    assume(leaves)
    pointer, old = data.draw(st.sampled_from(leaves))
    new = data.draw(st.sampled_from(strategies.unlike(old)))
    observed = strategies.replaced(document, pointer, new)
    found = diff.findings(document, observed, rules, diff.Baseline(document, document))
    if any(known_differences.node_at(rules, pointer[:length]).hidden for length in range(len(pointer) + 1)):
        assert found == []
    else:
        assert any(paths.overlaps(f.pointer, pointer) for f in found)
        assert found == diff.findings(document, observed, rules, diff.Baseline(copy.deepcopy(document), document))
        assert old is None or diff.findings(document, observed, rules) != []


@given(DOCUMENTS, DOCUMENTS, DOCUMENTS, COMPARING)
def test_what_is_found_does_not_depend_on_how_the_documents_are_held_in_memory(
    desired: Json, settled: Json, observed: Json, rules: RuleTree
):
    """The walk has quick ways for a declaration that is the very object applied; they must find the same."""
    shared = diff.findings(desired, observed, rules, diff.Baseline(desired, settled))
    copied = diff.findings(desired, observed, rules, diff.Baseline(copy.deepcopy(desired), settled))
    traced = diff.findings(desired, observed, rules, diff.Baseline(desired, settled), [])
    assert sorted(map(repr, shared)) == sorted(map(repr, copied)) == sorted(map(repr, traced))


@given(DOCUMENTS, DOCUMENTS, DOCUMENTS, DOCUMENTS, COMPARING)
def test_every_path_resolves(desired: Json, applied: Json, settled: Json, observed: Json, rules: RuleTree):
    """In what is observed; for something missing where it was, or else its place in what is observed."""
    both = diff.findings(desired, observed, rules, diff.Baseline(applied, settled))
    for item in (*both, *diff.findings(desired, observed, rules)):
        for path in (item.path, item.pointer):
            if item.op in (Op.MISSING, Op.ELEMENT_MISSING):
                assert any(paths.resolve(document, path) is not ABSENT for document in (desired, settled)) or (
                    paths.resolve(observed, path[:-1]) is not ABSENT
                )
            else:
                assert paths.resolve(observed, path) is not ABSENT
        if item.op not in (Op.MISSING, Op.ELEMENT_MISSING):
            there = paths.resolve(observed, item.pointer)
            assert paths.resolve(observed, item.path) is there
            assert there is item.observed or there is None
        assert item.rule


@given(DOCUMENTS, DOCUMENTS, DOCUMENTS, DOCUMENTS, COMPARING)
def test_a_finding_is_never_about_a_value_that_is_as_declared(
    desired: Json, applied: Json, settled: Json, observed: Json, rules: RuleTree
):
    for finding in diff.findings(desired, observed, rules, diff.Baseline(applied, settled)):
        if finding.op is Op.CHANGED and finding.desired is not ABSENT:
            assert not diff.equal_at(known_differences.node_at(rules, finding.path), finding.desired, finding.observed)


@given(DOCUMENTS, DOCUMENTS, COMPARING)
def test_when_the_world_follows_the_declaration_nothing_is_news(desired: Json, applied: Json, rules: RuleTree):
    assert diff.findings(desired, copy.deepcopy(desired), rules, diff.Baseline(applied, copy.deepcopy(applied))) == []


# -- large and deep


def nested(levels: int, leaf: Json, how: str) -> Json:
    value = leaf
    for level in range(levels):
        match how:
            case "maps":
                value = {"a": value}
            case "lists":
                value = [value]
            case "mixed":
                value = {"a": value} if level % 2 else [value]
            case _:
                value = [{"name": "x", "a": value}, {"name": "y"}]
    return {"root": value}


STRICT = tree("- {path: '/**', presence: strict}")


@pytest.mark.parametrize(
    "how, rules, levels",
    [
        pytest.param("maps", NO_RULES, 5000, id="maps"),
        pytest.param("lists", NO_RULES, 1000, id="lists"),
        pytest.param("mixed", STRICT, 1000, id="maps and lists"),
        pytest.param("mixed", SETS, 300, id="sets of maps", marks=pytest.mark.slow),
        pytest.param("named", NO_RULES, 1000, id="keyed lists"),
    ],
)
def test_a_document_of_a_thousand_levels_is_compared_correctly(how: str, rules: RuleTree, levels: int):
    one, same, other = (nested(levels, leaf, how) for leaf in (1, 1, 2))
    for baseline in (diff.Baseline(one, same), diff.Baseline(same, nested(levels, 1, how))):
        assert diff.findings(one, same, rules, baseline) == []
        assert [f.op for f in diff.findings(one, other, rules, baseline)] == [Op.CHANGED]
    assert diff.findings(one, same, rules) == []
    assert diff.differences(one, same, rules) == []
    assert len(diff.findings(one, other, rules)) == 1
    assert len(diff.differences(one, other, rules)) == 1


@pytest.mark.parametrize("rules", [NO_RULES, SETS], ids=["ordered", "sets"])
def test_one_change_in_ten_megabytes_is_found(rules: RuleTree):
    def large(changed: int) -> Json:
        rows = [{"key": f"k{i}", "text": "x" * 90, "on": i == changed} for i in range(70_000)]
        return {"rows": rows, "plain": [f"value {i}" for i in range(70_000)]}

    one, other = large(-1), large(69_000)
    assert short(diff.findings(one, other, rules, diff.Baseline(one, one))) == ["/rows[key=k69000]/on changed"]


def test_large_sets_without_keys_are_matched_in_bounded_time():
    one: Json = {"l": [{"a": i, "b": i % 7} for i in range(500)]}
    other: Json = {"l": [{"a": i, "b": i % 7} for i in reversed(range(500))]}
    assert diff.findings(one, other, SETS, diff.Baseline(one, one)) == []
    strangers: Json = {"l": [{"a": -i, "b": i % 7} for i in range(1, 501)]}
    assert diff.findings(one, strangers, SETS, diff.Baseline(one, one)) != []


def test_a_value_that_need_not_be_returned_is_compared_only_where_it_is_returned():
    rules = tree("- {path: /a, adopt_missing: true}")
    for seen in ({}, {"a": None}, {"a": "****"}, {"a": "x"}):
        assert diff.findings({"a": "x"}, seen, rules) == []
    assert len(diff.findings({"a": "x"}, {"a": "y"}, rules)) == 1
    baseline = diff.Baseline({"a": "x"}, {"a": "x"})
    assert len(diff.findings({"a": "x"}, {}, rules, baseline)) == 1


def test_below_a_container_that_is_returned_everything_counts():
    rules = tree("- {path: /a, adopt_missing: true}")
    assert diff.findings({"a": {"b": 1}}, {}, rules) == []
    assert len(diff.findings({"a": {"b": 1}}, {"a": {"c": 1}}, rules)) == 1
