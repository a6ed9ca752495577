"""Several strategies: the highest priority first, per setting, the most exact say first; ties and idlers are told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.address import Address
from holdfast.model.resource import Declaration, OnDrift
from holdfast.policy import strategies
from holdfast.policy.selectors import parse_labels
from holdfast.policy.settings import Given, Level
from holdfast.policy.strategies import Strategy


def declaration(kind="Network", name="core", labels=None, options=None):
    return Declaration(
        Address("prod", kind, name), "cloud", "cloud.holdfast.dev/v1", {}, labels=labels or {}, options=options or {}
    )


def every(seconds, source=""):
    return {"resync_period": Given(float(seconds), Level.STRATEGY, source)}


DRIFT = {"on_drift": Given(OnDrift.REPORT, Level.STRATEGY, "")}


@pytest.mark.parametrize(
    "kind, period",
    [("Network", 1), ("Subnet", 2), ("SubnetPool", 3), ("Port", 4), ("Router", 5)],
)
def test_the_most_exact_kind_override_wins(kind, period):
    strategy = Strategy(
        "s",
        defaults=every(9),
        kinds={"*": every(5), "Subnet*": every(3), "Network": every(1), "Subnet": every(2), "cloud/Port": every(4)},
    )
    assert strategies.settings_for(declaration(kind), [strategy]).resync.period == period


def test_a_silent_strategy_leaves_a_setting_to_the_next():
    first = Strategy("a", priority=10, kinds={"Network": DRIFT})
    second = Strategy("b", defaults={**every(60), "on_drift": Given(OnDrift.APPROVE, Level.STRATEGY, "")})
    found = strategies.settings_for(declaration(), [second, first])
    assert (found.on_drift, found.resync.period) == (OnDrift.REPORT, 60.0)


def test_the_defaults_of_a_strategy_come_before_the_kind_override_of_a_lesser_one():
    first = Strategy("a", priority=1, defaults=every(1))
    second = Strategy("b", kinds={"Network": every(2)})
    assert strategies.settings_for(declaration(), [second, first]).resync.period == 1


def test_a_strategy_speaks_only_for_what_it_selects():
    strategy = Strategy("a", parse_labels("tier=1"), defaults=every(1))
    assert strategies.settings_for(declaration(labels={"tier": "1"}), [strategy]).resync.period == 1
    assert strategies.settings_for(declaration(labels={"tier": "2"}), [strategy]).resync.period == 0


def test_equal_priorities_are_decided_by_name_and_told():
    one, other = Strategy("a", defaults=every(1)), Strategy("b", parse_labels("tier"), defaults=every(2))
    both, alone = declaration(name="x", labels={"tier": "1"}), declaration(name="y")
    assert strategies.settings_for(both, [other, one]).resync.period == 1
    (found,) = strategies.conflicts([other, one], [both, alone])
    assert str(found) == (
        "strategies a and b (both of priority 0) disagree about resyncPeriod for 1 resources such as "
        "prod/Network/x; a wins by name: give one of them a higher priority"
    )


@pytest.mark.parametrize(
    "one, other, options",
    [
        (Strategy("a", defaults=every(1)), Strategy("b", defaults=every(1)), {}),
        (Strategy("a", defaults=every(1)), Strategy("b", priority=1, defaults=every(2)), {}),
        (Strategy("a", defaults=every(1)), Strategy("b", defaults=DRIFT), {}),
        (Strategy("a", defaults=every(1)), Strategy("b", defaults=every(2)), {"resyncPeriod": "1h"}),
        (Strategy("a", defaults=every(1)), Strategy("b", kinds={"Port": every(2)}), {}),
    ],
)
def test_there_is_no_conflict_where_the_name_decides_nothing(one, other, options):
    assert strategies.conflicts([one, other], [declaration(options=options)]) == []


def test_a_strategy_that_selects_nothing_is_found():
    idle, busy = Strategy("idle", parse_labels("tier=9")), Strategy("busy", parse_labels("tier=1"))
    assert strategies.unused([idle, busy], [declaration(labels={"tier": "1"})]) == [idle]


several = st.lists(
    st.builds(
        lambda name, priority, period: Strategy(name, priority=priority, defaults=every(period, name)),
        st.sampled_from("abcdef"),
        st.integers(-2, 2),
        st.integers(0, 100),
    ),
    unique_by=lambda strategy: strategy.name,
    min_size=1,
)


@given(several.flatmap(lambda found: st.tuples(st.just(found), st.permutations(found))))
def test_the_order_in_which_strategies_are_given_does_not_matter(two):
    one, other = two
    first = strategies.settings_for(declaration(), one)
    assert first == strategies.settings_for(declaration(), other)
    best = max(one, key=lambda each: (each.priority, [-ord(letter) for letter in each.name]))
    assert first.provenance["resync_period"] == f"strategy ({best.name})"
