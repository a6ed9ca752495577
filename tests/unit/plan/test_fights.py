"""A path that is put back again and again is a fight; until then each correction of it waits longer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import paths
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.finding import Finding, FindingClass, Op, Side
from holdfast.plan import fights, history
from holdfast.plan.fights import Fight, FightRules
from holdfast.store.base import CorrectedPath, Correction, Outcome
from tests import strategies

WIDGET = Address("api", "Widget", "a")
NOW = 10_000.0
RULES = FightRules(reverts=3, within=3600.0, backoff=10.0)


def finding(path, side=Side.WORLD):
    return Finding(paths.parse_path(path), Op.CHANGED, FindingClass.SPECIFIED, side, 1, 1, 2)


def correction(at, *changed, outcome=Outcome.DONE, reason="drift", undoes=None, address=WIDGET):
    changed = changed or (CorrectedPath("/size", before=9, after=1),)
    return Correction(f"c{at}", address, at, "update", reason, outcome, tuple(changed), undoes=undoes)


def put_back(*times, **given):
    return [correction(at, **given) for at in times]


def test_a_path_put_back_often_and_moved_again_is_a_fight_with_its_rhythm_and_both_values():
    past = [
        correction(7000.0, CorrectedPath("/size", before=9, after=1)),
        correction(7600.0, CorrectedPath("/size", before=8, after=1), CorrectedPath("/name", "x", "y")),
        correction(8200.0, CorrectedPath("/size", before=9, after=1)),
    ]
    found = fights.fights([finding("/size"), finding("/name")], past, RULES, NOW)
    assert found == [Fight("/size", 3, 7000.0, 8200.0, 600.0, ours=1, theirs=(9, 8))]
    assert str(found[0]) == "/size was put back 3 times, about every 10m, and has been moved again"


@pytest.mark.parametrize(
    "past, is_fight",
    [
        ([], False),
        (put_back(9000.0, 9500.0), False),
        (put_back(9000.0, 9500.0, 9900.0), True),
        (put_back(9000.0, 9500.0, 9900.0)[::-1], True),  # the store gives the newest first
        (put_back(6399.0, 9500.0, 9900.0), False),  # one is outside of the window
        (put_back(6400.0, 9500.0, 9900.0), True),  # and one on its edge is inside
        (put_back(9000.0, 9500.0) + put_back(9900.0, outcome=Outcome.BEGUN), False),
        (put_back(9000.0, 9500.0) + put_back(9900.0, outcome=Outcome.FAILED), False),
        (put_back(9000.0, 9500.0) + put_back(9900.0, outcome=Outcome.UNDONE), False),
        (put_back(9000.0, 9500.0) + put_back(9900.0, outcome=Outcome.INEFFECTIVE), True),  # it took at this path
        ([*put_back(9000.0, 9500.0), correction(9900.0, CorrectedPath("/size", 9, 1, took=False))], False),
        (put_back(9000.0, 9500.0) + put_back(9900.0, reason="intent"), False),
        (put_back(9000.0, 9500.0) + put_back(9900.0, reason="conflict"), True),
        (put_back(9000.0, 9500.0) + put_back(9900.0, undoes="c1"), False),
        (put_back(9000.0, 9500.0, 10_001.0), False),  # what comes after now has not happened
    ],
)
def test_what_counts_as_putting_back(past, is_fight):
    assert bool(fights.fights([finding("/size")], past, RULES, NOW)) is is_fight


def test_only_what_has_drifted_again_is_fought_over():
    past = put_back(9000.0, 9500.0, 9900.0)
    assert fights.fights([], past, RULES, NOW) == []
    assert fights.fights([finding("/size", Side.INTENT)], past, RULES, NOW) == []
    assert fights.fights([finding("/size/x")], past, RULES, NOW) == []
    assert len(fights.fights([finding("/size", Side.BOTH)], past, RULES, NOW)) == 1


def test_values_that_are_alike_in_python_but_not_in_json_are_told_apart():
    past = [
        correction(9000.0 + i, CorrectedPath("/size", value, "ours"))
        for i, value in enumerate([1, True, ABSENT, None, "absent", 1.0, {"a": [1]}, {"a": [1]}])
    ]
    (fight,) = fights.fights([finding("/size")], past, RULES, NOW)
    assert [repr(value) for value in fight.theirs] == ["1", "True", "ABSENT", "None", "'absent'", "{'a': [1]}"]


def test_one_correction_can_be_enough_and_has_no_rhythm():
    (fight,) = fights.fights([finding("/size")], put_back(9000.0), FightRules(reverts=1), NOW)
    assert (fight.period, fight.times) == (None, 1)
    assert str(fight) == "/size was put back once, and has been moved again"


@pytest.mark.parametrize(
    "times, until",
    [
        ([], None),
        ([100.0], None),
        ([100.0, 200.0], 210.0),
        ([100.0, 200.0, 300.0], 320.0),
        ([300.0, 200.0, 100.0], 320.0),
        ([100.0, 200.0, 300.0, 400.0], 440.0),
        ([100.0, 5000.0], None),  # the first has left the window
        ([100.0, 3700.0], 3710.0),
        ([float(i) for i in range(20)], 19.0 + 3600.0),  # never longer than the window
        ([float(i) for i in range(2000)], 1999.0 + 3600.0),
    ],
)
def test_each_correction_of_a_path_waits_twice_as_long_as_the_one_before(times, until):
    assert fights.backoff_until("/size", put_back(*times), RULES) == until
    assert fights.backoff_until("/other", put_back(*times), RULES) is None


def test_without_a_backoff_nothing_waits():
    assert fights.backoff_until("/size", put_back(1.0, 2.0, 3.0), FightRules(backoff=0.0)) is None


times = st.lists(st.floats(0, NOW), max_size=8)


@given(times, st.integers(1, 5), st.randoms())
def test_the_order_of_the_records_changes_nothing(at, reverts, chance):
    rules = FightRules(reverts=reverts)
    past = [correction(when, CorrectedPath("/size", i, 1)) for i, when in enumerate(sorted(set(at)))]
    shuffled = chance.sample(past, len(past))
    drifted = [finding("/size")]
    assert fights.fights(drifted, shuffled, rules, NOW) == fights.fights(drifted, past, rules, NOW)
    assert fights.backoff_until("/size", shuffled, rules) == fights.backoff_until("/size", past, rules)


@given(times, st.integers(1, 5))
def test_a_fight_has_as_many_corrections_as_the_rules_ask_for_all_within_the_window(at, reverts):
    rules = FightRules(reverts=reverts)
    for fight in fights.fights([finding("/size")], put_back(*at), rules, NOW):
        assert fight.times >= reverts
        assert NOW - rules.within <= fight.first <= fight.last <= NOW
        assert fight.period is None or fight.period * (fight.times - 1) == pytest.approx(fight.last - fight.first)


@given(times, st.floats(0, 1000), st.floats(1, 5000))
def test_a_wait_ends_within_a_window_of_the_last_correction(at, backoff, within):
    until = fights.backoff_until("/size", put_back(*at), FightRules(within=within, backoff=backoff))
    assert until is None or max(at) <= until <= max(at) + within


def test_writes_that_did_not_take_are_counted_by_kind_and_path_with_any_element_of_a_list():
    other = Address("api", "Gadget", "b")
    past = [
        correction(1.0, CorrectedPath("/rules[name=ssh]/port", took=False), CorrectedPath("/size", took=False)),
        correction(2.0, CorrectedPath("/rules[name=web]/port", took=False), outcome=Outcome.INEFFECTIVE),
        correction(3.0, CorrectedPath("/rules/7/port", took=False)),
        correction(4.0, CorrectedPath("/size", took=True)),
        correction(5.0, CorrectedPath("/size", took=False), address=other, reason="intent"),
        correction(6.0, CorrectedPath("/size", took=False), outcome=Outcome.FAILED),
        correction(7.0, CorrectedPath("/size", took=False), outcome=Outcome.BEGUN),
    ]
    assert fights.ineffective(past) == {
        ("Widget", "/rules[*]/port"): 2,
        ("Widget", "/rules/*/port"): 1,
        ("Widget", "/size"): 1,
        ("Gadget", "/size"): 1,
    }


@given(strategies.any_paths)
def test_a_generalised_path_is_a_pattern_for_the_path_it_came_from(path):
    text = paths.format_path(path)
    pattern = paths.parse_pattern(fights.generalised(text))
    assert pattern.matches(paths.parse_path(text))
    assert len(pattern.segments) == len(path)


def test_the_words_for_outcomes_are_those_of_the_store():
    assert {history.DONE, history.INEFFECTIVE} == {Outcome.DONE.value, Outcome.INEFFECTIVE.value}
