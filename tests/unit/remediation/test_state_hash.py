"""The hash of a target's state: the seed's, of what the rules of its kind leave to be compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import canonical, profiles
from holdfast.compare.hash_schemes import HashComparison
from holdfast.compare.rule_tree import RuleTree
from holdfast.compare.rules import Presence
from holdfast.errors import UnhashableError
from holdfast.model.absent import ABSENT
from holdfast.remediation.core import state, state_hash, state_machine
from holdfast.remediation.core.state import AssessmentConditionType, Execution
from holdfast.remediation.core.state_hash import StateHash
from holdfast.remediation.core.timing import Windows
from tests.unit.remediation.course import CREATED, POST, REMEDIATION

PROFILE = """\
profile: test/thing
version: 1
rules:
  - {path: /status, class: read_only}
  - {path: /uptime, class: runtime}
  - {path: /region, compare: casefold}
  - {path: /steps, list: ordered}
  - {path: /password, class: write_only}
"""


def tree(text=PROFILE):
    return profiles.stack(list(profiles.parse(text))).tree({}, {})


def hashed(document, desired=ABSENT):
    return state_hash.state_hash(document, tree(), desired)


leaves = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5)
documents = st.dictionaries(
    st.text(min_size=1, max_size=5),
    st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner)),
    max_size=4,
)


@given(documents)
def test_without_rules_it_is_the_hash_that_holdfast_hash_prints(document):
    strict = RuleTree([], presence=Presence.STRICT)  # else what is empty and what is not there are the same
    assert state_hash.state_hash(document, strict) == canonical.canonical_spec_hash(document)


@pytest.mark.parametrize(
    "one, other, same",
    [
        ({"a": 1, "status": "x"}, {"a": 1, "status": "y"}, True),
        ({"a": 1, "uptime": 5}, {"a": 1, "uptime": 6}, True),
        ({"region": "West"}, {"region": "west"}, True),
        ({"tags": ["x", "y"]}, {"tags": ["y", "x"]}, True),
        ({"tags": []}, {}, True),
        ({"password": "a"}, {"password": "b"}, True),
        ({"steps": ["x", "y"]}, {"steps": ["y", "x"]}, False),
        ({"steps": ["x"]}, {"steps": ["y"]}, False),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 9007199254740993}, {"a": 9007199254740992}, False),
    ],
)
def test_what_the_rules_leave_out_or_spell_alike_changes_nothing(one, other, same):
    assert (hashed(one) == hashed(other)) is same


def test_what_moves_by_itself_counts_where_it_is_declared():
    assert hashed({"uptime": 5}, {"uptime": 5}) != hashed({"uptime": 6}, {"uptime": 5})


@pytest.mark.parametrize("comparator", ["casefold", "arm_id", "region"])
def test_a_comparator_whose_path_matches_everything_speaks_about_leaves(comparator):
    rules = tree(f"profile: test/all\nversion: 1\nrules:\n  - {{path: /**, compare: {comparator}}}")
    one, other = ({"a": {"b": [f"/subscriptions/{name}", 1]}} for name in ("S", "s"))
    assert state_hash.state_hash(one, rules) == state_hash.state_hash(other, rules)
    assert state_hash.state_hash(one, rules) != state_hash.state_hash({"a": {"b": ["/subscriptions/t", 1]}}, rules)
    assert state_hash.state_hash(one, rules) != state_hash.state_hash({"a": {"b": ["/subscriptions/s", 2]}}, rules)


def test_what_is_no_object_is_refused_and_not_taken_for_nothing():
    with pytest.raises(UnhashableError):
        hashed(["a"])


def test_hashes_made_under_other_rules_are_incomparable_and_absence_never_is():
    one, other = StateHash("sha256:aa", way="state/1+x"), StateHash("sha256:bb", way="state/1+y")
    assert state_hash.compare(one, other) is HashComparison.INCOMPARABLE
    assert state_hash.compare(one, state_hash.NO_TARGET) is HashComparison.DIFFERENT
    assert state_hash.compare(one, one) is HashComparison.EQUAL


def test_the_first_step_can_be_taken_by_whoever_confirmed_the_change_without_looking_again():
    remediation = state.Remediation("rr-1", REMEDIATION.target, CREATED, "HighMemory", confirmed=StateHash(POST))
    begun, wants = state_machine.opening(state.begin(remediation, Windows(), execution=Execution.COMPLETED), CREATED)
    assert (wants.asks, wants.wake_at) == ((), CREATED + 60)
    assert [event.type.value for event in wants.events] == [
        "effectiveness.assessment.scheduled",
        "effectiveness.hash.computed",
    ]
    integrity = begun.condition(AssessmentConditionType.SPEC_INTEGRITY)
    assert integrity is not None
    assert integrity.reason == "SpecUnchanged"
