"""A path that is reverted again and again is contention; until then each correction of it waits longer."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import paths
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.finding import ChangedBy, Finding, FindingClass, Op
from holdfast.model.verdict import Status, Verdict
from holdfast.policy import contention_rules, write_history
from holdfast.policy.contention_rules import Contention, ContentionRules
from holdfast.store.governance import CorrectionOutcome, CorrectionRecord, PathCorrection
from tests import strategies

WIDGET = Address("api", "Widget", "a")
NOW = 10_000.0
RULES = ContentionRules(reverts=3, forget_after=3600.0, backoff=10.0)


def finding(path, changed_by=ChangedBy.LIVE):
    return Finding(paths.parse_path(path), Op.CHANGED, FindingClass.SPECIFIED, changed_by, 1, 1, 2)


def correction(at, *changed, outcome=CorrectionOutcome.DONE, reason="drift", undoes=None, address=WIDGET):
    changed = changed or (PathCorrection("/size", before=9, after=1),)
    return CorrectionRecord(f"c{at}", address, at, "update", reason, outcome, tuple(changed), undoes=undoes)


def fought(findings, past, rules=RULES, period=0.0):
    verdict = Verdict(Status.DRIFTED, "", tuple(findings))
    put = write_history.in_sequence(past, rules.forgotten_after(period))
    return contention_rules.contentions(contention_rules.moved_paths(verdict), put, rules)


def waits_until(path, past, rules=RULES):
    return contention_rules.backoff_until(
        write_history.in_sequence(past, rules.forgotten_after(0.0)).get(path, ()), rules
    )


def put_back(*times, **given):
    return [correction(at, **given) for at in times]


def test_a_path_put_back_often_and_moved_again_is_a_contention_with_its_rhythm_and_both_values():
    past = [
        correction(7000.0, PathCorrection("/size", before=9, after=1)),
        correction(7600.0, PathCorrection("/size", before=8, after=1), PathCorrection("/name", "x", "y")),
        correction(8200.0, PathCorrection("/size", before=9, after=1)),
    ]
    found = fought([finding("/size"), finding("/name")], past, RULES)
    assert found == [Contention("/size", 3, 7000.0, 8200.0, 600.0, ours=1, theirs=(9, 8))]
    assert str(found[0]) == "/size was reverted 3 times, about every 10m, and has been moved again"


@pytest.mark.parametrize(
    "past, is_contention",
    [
        ([], False),
        (put_back(9000.0, 9500.0), False),
        (put_back(9000.0, 9500.0, 9900.0), True),
        (put_back(9000.0, 9500.0, 9900.0)[::-1], True),  # the store gives the newest first
        (put_back(5899.0, 9500.0, 9900.0), False),  # the first held for so long that it is forgotten
        (put_back(5900.0, 9500.0, 9900.0), True),  # and almost so long is not enough
        (put_back(2700.0, 6300.0, 9900.0), True),  # whatever the rhythm
        (put_back(9000.0, 9500.0) + put_back(9900.0, outcome=CorrectionOutcome.BEGUN), False),
        (put_back(9000.0, 9500.0) + put_back(9900.0, outcome=CorrectionOutcome.FAILED), False),
        (put_back(9000.0, 9500.0) + put_back(9900.0, outcome=CorrectionOutcome.UNDONE), False),
        (
            put_back(9000.0, 9500.0) + put_back(9900.0, outcome=CorrectionOutcome.INEFFECTIVE),
            True,
        ),  # it took at this path
        ([*put_back(9000.0, 9500.0), correction(9900.0, PathCorrection("/size", 9, 1, took=False))], False),
        (put_back(9000.0, 9500.0) + put_back(9900.0, reason="intent"), False),
        (put_back(9000.0, 9500.0) + put_back(9900.0, reason="conflict"), True),
        (put_back(9000.0, 9500.0) + put_back(9900.0, undoes="c1"), False),
        ([*put_back(9000.0, 9500.0), correction(9900.0, PathCorrection("/size", 9, 1, asked=True))], False),
        ([*put_back(9000.0, 9500.0, 9900.0), *put_back(9950.0, reason="intent")], False),  # a person has decided
    ],
)
def test_what_counts_as_putting_back(past, is_contention):
    assert bool(fought([finding("/size")], past, RULES)) is is_contention


def test_only_what_has_drifted_again_is_fought_over():
    past = put_back(9000.0, 9500.0, 9900.0)
    assert fought([], past, RULES) == []
    assert fought([finding("/size", ChangedBy.DECLARED)], past, RULES) == []
    assert fought([finding("/size/x")], past, RULES) == []
    assert len(fought([finding("/size", ChangedBy.BOTH)], past, RULES)) == 1


def test_values_that_are_alike_in_python_but_not_in_json_are_told_apart():
    past = [
        correction(9000.0 + i, PathCorrection("/size", value, "ours"))
        for i, value in enumerate([1, True, ABSENT, None, "absent", 1.0, {"a": [1]}, {"a": [1]}])
    ]
    (contention,) = fought([finding("/size")], past, RULES)
    assert [repr(value) for value in contention.theirs] == ["1", "True", "ABSENT", "None", "'absent'", "{'a': [1]}"]


def test_one_correction_can_be_enough_and_has_no_rhythm():
    (contention,) = fought([finding("/size")], put_back(9000.0), ContentionRules(reverts=1))
    assert (contention.period, contention.times) == (None, 1)
    assert str(contention) == "/size was reverted once, and has been moved again"


@pytest.mark.parametrize(
    "times, until",
    [
        ([], None),
        ([100.0], None),
        ([100.0, 200.0], 210.0),
        ([100.0, 200.0, 300.0], 320.0),
        ([300.0, 200.0, 100.0], 320.0),
        ([100.0, 200.0, 300.0, 400.0], 440.0),
        ([100.0, 5000.0], None),  # the first held for so long that it is forgotten
        ([100.0, 3700.0], 3710.0),
        ([float(i) for i in range(20)], 19.0 + 3600.0),  # never longer than an hour
        ([float(i) for i in range(2000)], 1999.0 + 3600.0),
    ],
)
def test_each_correction_of_a_path_waits_twice_as_long_as_the_one_before(times, until):
    assert waits_until("/size", put_back(*times)) == until
    assert waits_until("/other", put_back(*times)) is None


def test_without_a_backoff_nothing_waits():
    assert waits_until("/size", put_back(1.0, 2.0, 3.0), ContentionRules(backoff=0.0)) is None


times = st.lists(st.floats(0, NOW), max_size=8)


@given(times, st.integers(1, 5), st.randoms())
def test_the_order_of_the_records_changes_nothing(at, reverts, chance):
    rules = ContentionRules(reverts=reverts)
    past = [correction(when, PathCorrection("/size", i, 1)) for i, when in enumerate(sorted(set(at)))]
    shuffled = chance.sample(past, len(past))
    drifted = [finding("/size")]
    assert fought(drifted, shuffled, rules) == fought(drifted, past, rules)
    assert waits_until("/size", shuffled, rules) == waits_until("/size", past, rules)


@given(times, st.integers(1, 5))
def test_a_contention_has_as_many_corrections_as_the_rules_ask_for_none_of_which_held_for_long(at, reverts):
    rules = ContentionRules(reverts=reverts, forget_after=1000.0)
    for contention in fought([finding("/size")], put_back(*at), rules):
        assert contention.times >= reverts
        within = sorted(when for when in at if contention.first <= when <= contention.last)
        assert all(later - sooner <= rules.forget_after for sooner, later in itertools.pairwise(within))
        assert contention.period is None or contention.period * (contention.times - 1) == pytest.approx(
            contention.last - contention.first
        )


@pytest.mark.parametrize("period", [600.0, 1800.0, 3600.0, 36_000.0, 30 * 86_400.0])
def test_a_other_writer_of_any_rhythm_is_named_after_as_many_corrections(period):
    past = put_back(*(period * turn for turn in range(1, 4)))
    assert not fought([finding("/size")], past[:2], ContentionRules(), period)
    assert len(fought([finding("/size")], past, ContentionRules(), period)) == 1


def test_what_held_for_very_long_is_forgotten():
    month = 30 * 86_400.0
    assert not fought([finding("/size")], put_back(1.0, 2.0, 4.0 + month), ContentionRules())
    assert fought([finding("/size")], put_back(1.0, 2.0, 4.0 + month), ContentionRules(), period=month)


def test_what_is_made_again_and_again_is_fought_over_as_a_whole():
    past = [
        CorrectionRecord(f"c{at}", WIDGET, at, "recreate", "missing", CorrectionOutcome.DONE)
        for at in (1.0, 601.0, 1201.0)
    ]
    put = write_history.in_sequence(past, 3600.0)
    (contention,) = contention_rules.contentions(contention_rules.moved_paths(Verdict(Status.MISSING, "")), put, RULES)
    assert str(contention) == "it was recreated 3 times, about every 10m, and is missing again"


@given(times, st.floats(0, 1000))
def test_a_wait_ends_within_an_hour_of_the_last_correction(at, backoff):
    until = waits_until("/size", put_back(*at), ContentionRules(backoff=backoff))
    assert until is None or max(at) <= until <= max(at) + contention_rules.LONGEST_WAIT


def test_writes_that_did_not_take_are_counted_by_kind_and_path_with_any_element_of_a_list():
    other = Address("api", "Gadget", "b")
    past = [
        correction(1.0, PathCorrection("/rules[name=ssh]/port", took=False), PathCorrection("/size", took=False)),
        correction(2.0, PathCorrection("/rules[name=web]/port", took=False), outcome=CorrectionOutcome.INEFFECTIVE),
        correction(3.0, PathCorrection("/rules/7/port", took=False)),
        correction(4.0, PathCorrection("/size", took=True)),
        correction(5.0, PathCorrection("/size", took=False), address=other, reason="intent"),
        correction(6.0, PathCorrection("/size", took=False), outcome=CorrectionOutcome.FAILED),
        correction(7.0, PathCorrection("/size", took=False), outcome=CorrectionOutcome.BEGUN),
    ]
    assert contention_rules.ineffective(past) == {
        ("Widget", "/rules[*]/port"): 2,
        ("Widget", "/rules/*/port"): 1,
        ("Widget", "/size"): 1,
        ("Gadget", "/size"): 1,
    }


@given(strategies.any_paths)
def test_a_generalised_path_is_a_pattern_for_the_path_it_came_from(path):
    text = paths.format_path(path)
    pattern = paths.parse_pattern(contention_rules.generalised(text))
    assert pattern.matches(paths.parse_path(text))
    assert len(pattern.segments) == len(path)


def test_the_words_for_outcomes_are_those_of_the_store():
    assert {write_history.DONE, write_history.INEFFECTIVE} == {
        CorrectionOutcome.DONE.value,
        CorrectionOutcome.INEFFECTIVE.value,
    }
