"""Rules compiled for walking: which rule is in force at which place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import comparators, paths
from holdfast.compare.rule_tree import Node, RuleTree
from holdfast.compare.rules import FieldClass, ListKind, Presence, Rule
from holdfast.model.absent import ABSENT
from tests.strategies import tree

WORDS = st.sampled_from(["a", "b", "ab", "0", "*", "**", "a*", "*b"])
PATTERNS = st.lists(WORDS, max_size=4).map(lambda words: "".join(f"/{word}" for word in words))
PLACES = st.lists(st.sampled_from(["a", "b", "ab", "0"]) | st.integers(0, 1), max_size=4).map(tuple)


def at(rules: RuleTree, *steps: str | int) -> Node:
    node = rules.root
    for step in steps:
        node = node.child(step) if isinstance(step, str) else node.element(None, step)
    return node


@given(st.lists(PATTERNS, max_size=5), PLACES)
def test_the_first_rule_whose_pattern_matches_a_place_is_the_one_in_force(
    patterns: list[str], place: tuple[str | int, ...]
):
    parsed = [paths.parse_pattern(text) for text in patterns]
    rules = RuleTree(Rule(pattern, default=number) for number, pattern in enumerate(parsed))
    expected = next((number for number, pattern in enumerate(parsed) if pattern.matches(place)), ABSENT)
    assert at(rules, *place).default == expected


def test_each_aspect_of_a_place_comes_from_the_first_rule_that_speaks_about_it():
    rules = tree("""
        - {path: /a, compare: casefold}
        - {path: /*, class: secret, compare: region}
        - {path: /**, class: ignore, presence: strict, list: set}
    """)
    node = at(rules, "a")
    assert (node.comparator and node.comparator.name) == "casefold"
    assert node.cls is FieldClass.SECRET
    assert node.presence is Presence.STRICT
    assert node.list_rule is not None
    assert node.list_rule.kind is ListKind.SET
    assert node.label("comparator") == "test@1: /a casefold"
    assert node.label("class") == "test@1: /* secret, region"
    assert node.label("nothing", "list") == "test@1: /** ignore, set, presence strict"


def test_a_place_that_no_rule_speaks_about_says_so():
    assert at(tree(), "a", 0).label("comparator", "presence") == "default: exact"


def test_a_rule_may_choose_one_element_of_a_list_by_its_content_or_its_index():
    rules = tree("""
        - {path: "/rules[name=ssh]/port", class: ignore}
        - {path: /rules/0/owner, class: ignore}
    """)
    listed = at(rules, "rules")
    assert listed.element({"name": "ssh"}, 5).child("port").hidden
    assert not listed.element({"name": "http"}, 5).child("port").hidden
    assert listed.element({"name": "http"}, 0).child("owner").hidden
    assert not listed.element({"name": "ssh"}, 1).child("owner").hidden
    assert listed.element({"name": "ssh"}, 0).child("port").hidden
    assert listed.element({"name": "ssh"}, 0).child("owner").hidden


def test_secrets_and_other_classes_that_speak_of_whole_subtrees_are_inherited():
    for cls in ("secret", "write_only", "runtime", "create_only", "owned_elsewhere"):
        node = at(tree(f"- {{path: /a, class: {cls}}}"), "a", "b", 0, "c")
        assert node.cls == cls
        assert node.label("class") == f"test@1: /a {cls}"


def test_a_rule_below_overrules_what_is_inherited_from_above():
    rules = tree("""
        - {path: /a, class: secret}
        - {path: /a/b, class: compared}
        - {path: /a/c, class: ignore}
    """)
    assert at(rules, "a", "x").secret
    assert not at(rules, "a", "b").secret
    assert not at(rules, "a", "b", "deeper").secret
    assert at(rules, "a", "c").hidden


def test_with_spelling_free_keys_a_rule_finds_its_key_in_any_spelling():
    rules = tree("- {path: /Properties/etag, class: ignore}", defaults="{keys: casefold}")
    assert at(rules, "properties", "ETag").hidden
    assert not at(tree("- {path: /Properties/etag, class: ignore}"), "properties", "ETag").hidden


def test_the_same_place_is_the_same_node_so_that_it_is_matched_once():
    rules = RuleTree([Rule(paths.parse_pattern("/**/x"), comparator=comparators.build("casefold"))])
    assert at(rules, "a", "b") is at(rules, "c", "d", 0)
    assert at(rules, "a", "x") is at(rules, "b", "c", "x")
