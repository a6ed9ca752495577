"""From a reading to a verdict: total, and only a successful answer may condemn."""

from __future__ import annotations

import copy
import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import diff, paths, verdict_rules
from holdfast.compare.rule_tree import RuleTree
from holdfast.compare.rules import ListKind, ListRule, Rule
from holdfast.model.absent import ABSENT
from holdfast.model.finding import ChangedBy, Finding, FindingClass, Op
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadError, ReadFailure, ReadResult
from holdfast.model.verdict import Status
from tests import strategies
from tests.strategies import tree

NO_RULES = tree()
DOCUMENTS = strategies.maps(max_leaves=6)
READINGS: st.SearchStrategy[ReadResult] = st.one_of(
    DOCUMENTS.map(Found), st.just(NotFound()), st.sampled_from(ReadError).map(ReadFailure)
)
APPLIED = st.just(ABSENT) | DOCUMENTS
BASELINES = st.none() | st.builds(diff.Baseline, DOCUMENTS, DOCUMENTS)


# -- totality


@given(READINGS, DOCUMENTS, APPLIED, BASELINES, strategies.comparing_trees)
def test_every_combination_has_a_verdict_with_a_reason(
    reading: ReadResult, desired: Json, applied: Json, baseline: diff.Baseline | None, rules: RuleTree
):
    verdict = verdict_rules.judge(reading, desired, rules, applied=applied, baseline=baseline)
    assert verdict.status in Status
    assert verdict.reason
    assert verdict.stale is False
    match reading:
        case ReadFailure():
            assert verdict.status is Status.UNKNOWN
        case NotFound():
            assert verdict.status in (Status.MISSING, Status.PENDING)
        case Found():
            assert verdict.status not in (Status.MISSING, Status.UNKNOWN)
            assert bool(verdict.findings) is (verdict.status is not Status.IN_SYNC)


@pytest.mark.parametrize("trouble", ReadError)
def test_a_failed_read_is_unknown_whatever_else_is_known(trouble: ReadError):
    for applied, baseline in itertools.product((ABSENT, {"a": 1}), (None, diff.Baseline({"a": 1}, {"a": 2}))):
        verdict = verdict_rules.judge(
            ReadFailure(trouble, "after 3 tries"), {"a": 1}, NO_RULES, applied=applied, baseline=baseline
        )
        assert (verdict.status, verdict.findings) == (Status.UNKNOWN, ())
        assert verdict.reason == f"could not be read ({trouble.value}): after 3 tries"


@pytest.mark.parametrize(
    "applied, baseline, status",
    [
        (ABSENT, None, Status.PENDING),
        ({}, None, Status.MISSING),
        ({"a": 1}, None, Status.MISSING),
        (ABSENT, diff.Baseline({}, {}), Status.MISSING),
        ({"a": 1}, diff.Baseline({}, {}), Status.MISSING),
    ],
)
def test_what_is_not_there_is_missing_only_if_it_once_was(
    applied: Json, baseline: diff.Baseline | None, status: Status
):
    assert verdict_rules.judge(NotFound(), {"a": 1}, NO_RULES, applied=applied, baseline=baseline).status is status


# -- who moved


@pytest.mark.parametrize(
    "desired, observed, status",
    [
        pytest.param({"a": 1, "b": 1}, {"a": 1, "b": 1, "d": 1}, Status.IN_SYNC, id="nobody"),
        pytest.param({"a": 2, "b": 1}, {"a": 1, "b": 1, "d": 1}, Status.PENDING, id="the declaration"),
        pytest.param({"a": 1, "b": 1}, {"a": 1, "b": 2, "d": 1}, Status.DRIFTED, id="the world"),
        pytest.param({"a": 1, "b": 1}, {"a": 1, "b": 1, "d": 2}, Status.DRIFTED, id="the world, a default"),
        pytest.param({"a": 2, "b": 1}, {"a": 3, "b": 1, "d": 1}, Status.CONFLICTED, id="both, one field"),
        pytest.param({"a": 2, "b": 1}, {"a": 1, "b": 2, "d": 1}, Status.CONFLICTED, id="both, two fields"),
        pytest.param({"a": 2, "b": 1}, {"a": 2, "b": 1, "d": 1}, Status.IN_SYNC, id="both, to the same value"),
    ],
)
def test_with_a_baseline_the_verdict_says_who_moved(desired: Json, observed: Json, status: Status):
    applied = {"a": 1, "b": 1}
    baseline = diff.Baseline(applied, {"a": 1, "b": 1, "d": 1})
    assert verdict_rules.judge(Found(observed), desired, NO_RULES, applied=applied, baseline=baseline).status is status


@pytest.mark.parametrize(
    "applied, observed, status",
    [
        (ABSENT, {"a": 1, "d": 5}, Status.IN_SYNC),
        (ABSENT, {"a": 2}, Status.DRIFTED),
        ({"a": 1}, {"a": 2}, Status.DRIFTED),
        ({"a": 2}, {"a": 2}, Status.PENDING),
        ({"a": 2}, {"a": 1}, Status.IN_SYNC),
    ],
)
def test_without_a_baseline_a_difference_is_pending_only_if_the_declaration_is_known_to_have_moved(
    applied: Json, observed: Json, status: Status
):
    assert verdict_rules.judge(Found(observed), {"a": 1}, NO_RULES, applied=applied).status is status


@given(DOCUMENTS, DOCUMENTS, BASELINES, strategies.comparing_trees)
def test_drift_is_never_said_without_a_finding_that_the_world_moved(
    desired: Json, observed: Json, baseline: diff.Baseline | None, rules: RuleTree
):
    verdict = verdict_rules.judge(Found(observed), desired, rules, baseline=baseline)
    sides = {finding.changed_by for finding in verdict.findings}
    if verdict.status is Status.DRIFTED:
        assert sides in ({ChangedBy.LIVE}, {ChangedBy.UNKNOWN})
    if verdict.status is Status.PENDING:
        assert sides == {ChangedBy.DECLARED}


# -- what does not matter does not change a verdict


SETS = RuleTree([Rule(paths.parse_pattern("/**"), list_rule=ListRule(ListKind.MULTISET))])


@given(DOCUMENTS, DOCUMENTS, BASELINES, st.randoms(use_true_random=False))
def test_permuting_keys_and_elements_of_sets_never_changes_the_verdict(
    desired: Json, observed: Json, baseline: diff.Baseline | None, chance: random.Random
):
    def status(document: Json) -> Status:
        return verdict_rules.judge(Found(document), desired, SETS, baseline=baseline).status

    permuted = strategies.shuffled_keys(strategies.shuffled_lists(observed, chance), chance)
    assert status(permuted) is status(observed)


@given(DOCUMENTS, strategies.comparing_trees)
def test_after_convergence_the_next_check_is_in_sync(document: Json, rules: RuleTree):
    baseline = diff.Baseline(document, copy.deepcopy(document))
    assert (
        verdict_rules.judge(Found(copy.deepcopy(document)), document, rules, baseline=baseline).status is Status.IN_SYNC
    )


# -- the sentence


def test_the_reason_names_the_first_paths_and_counts_the_rest():
    found = [Finding((f"f{i}",), Op.CHANGED, FindingClass.SPECIFIED, ChangedBy.LIVE) for i in range(5)]
    assert verdict_rules.conclude(found).reason == "changed outside Holdfast: /f0, /f1, /f2 and 2 more"
    assert verdict_rules.conclude(found[:1]).reason == "changed outside Holdfast: /f0"
    assert verdict_rules.conclude(found[:1]).findings == (found[0],)
    whole = Finding((), Op.CHANGED, FindingClass.SPECIFIED, ChangedBy.DECLARED)
    assert verdict_rules.conclude([whole]).reason == "the declaration moved: (document)"


def test_the_reason_never_holds_a_value():
    baseline = diff.Baseline({"password": "hunter2"}, {"password": "hunter2"})
    verdict = verdict_rules.judge(Found({"password": "hunter3"}), {"password": "hunter2"}, NO_RULES, baseline=baseline)
    assert "hunter" not in verdict.reason
