"""A budget names its buckets, says how deep they are, and never grants more than they hold."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.address import Address
from holdfast.model.budget_charge import BudgetCharge
from holdfast.model.decision import Action
from holdfast.policy import budgets, write_reasons
from holdfast.policy.budgets import DESTRUCTIVE, BudgetRule, Candidate, Each, Percent
from holdfast.policy.write_reasons import EVERY, WriteReason

NOW = 100_000.0
HOUR = 3600.0
NET = Address("prod", "Network", "core")
SUBNET = Address("prod", "Subnet", "a", "team")
SIZES = {("prod", "Network"): 50, ("prod", "Subnet"): 30, ("dev", "Network"): 9}


def charged(rule, address=NET, action=Action.UPDATE, reason="drift"):
    return budgets.charges([rule], address, action, reason, SIZES, NOW)


@pytest.mark.parametrize(
    "rule, bucket",
    [
        (BudgetRule(10, HOUR), "corrections per 1h"),
        (BudgetRule(10, 2 * HOUR, kinds=("Net*", "A")), "corrections of A,Net* per 2h"),
        (BudgetRule(10, HOUR, connections=("prod",)), "corrections on prod per 1h"),
        (BudgetRule(10, HOUR, each=Each.CONNECTION), "corrections per 1h, connection prod"),
        (BudgetRule(10, HOUR, each=Each.KIND), "corrections per 1h, kind Network"),
        (BudgetRule(10, HOUR, each=Each.RESOURCE), "corrections per 1h, resource prod/Network/core"),
        (BudgetRule(10, HOUR, actions=frozenset({Action.UPDATE, Action.CREATE})), "create+update corrections per 1h"),
        (BudgetRule(10, HOUR, reasons=frozenset({WriteReason.DRIFT})), "writes for drift per 1h"),
        (BudgetRule(10, HOUR, reasons=EVERY), "writes per 1h"),
    ],
)
def test_the_name_of_a_bucket_tells_what_it_pays_for_and_not_how_much(rule, bucket):
    assert charged(rule) == [BudgetCharge(bucket, 10, NOW - rule.per)]
    assert charged(dataclasses.replace(rule, max=99)) == [BudgetCharge(bucket, 99, NOW - rule.per)]


def test_destructive_is_replace_delete_and_recreate():
    rule = BudgetRule(1, HOUR, actions=DESTRUCTIVE, reasons=EVERY)
    covered = {action for action in Action if charged(rule, action=action)}
    assert covered == {Action.REPLACE, Action.DELETE, Action.RECREATE}
    assert charged(rule, action=Action.DELETE) == [BudgetCharge("destructive writes per 1h", 1, NOW - HOUR)]


@pytest.mark.parametrize(
    "rule, address, action, reason, is_covered",
    [
        (BudgetRule(1, HOUR), NET, Action.UPDATE, "drift", True),
        (BudgetRule(1, HOUR), NET, Action.UPDATE, "conflict", True),
        (BudgetRule(1, HOUR), NET, Action.RECREATE, "recreate", True),
        (BudgetRule(1, HOUR), NET, Action.RECREATE, "missing", True),
        (BudgetRule(1, HOUR), NET, Action.UPDATE, "intent", False),
        (BudgetRule(1, HOUR), NET, Action.CREATE, "create", False),
        (BudgetRule(1, HOUR), NET, Action.REPORT, "drift", False),
        (BudgetRule(1, HOUR), NET, Action.ADOPT, "adopt", False),
        (BudgetRule(1, HOUR, reasons=EVERY), NET, Action.ADOPT, "adopt", False),
        (BudgetRule(1, HOUR, reasons=EVERY), NET, Action.CREATE, "create", True),
        (BudgetRule(1, HOUR, kinds=("Sub*",)), NET, Action.UPDATE, "drift", False),
        (BudgetRule(1, HOUR, kinds=("X", "Sub*")), SUBNET, Action.UPDATE, "drift", True),
        (BudgetRule(1, HOUR, connections=("dev",)), NET, Action.UPDATE, "drift", False),
        (BudgetRule(1, HOUR, kinds=("network",)), NET, Action.UPDATE, "drift", False),
    ],
)
def test_what_a_rule_covers(rule, address, action, reason, is_covered):
    assert bool(charged(rule, address, action, reason)) is is_covered


@pytest.mark.parametrize(
    "percent, each, kinds, limit",
    [
        (10.0, Each.FLEET, ("*",), 8),  # of 89
        (10.0, Each.FLEET, ("Network",), 5),  # of 59
        (10.0, Each.CONNECTION, ("*",), 8),  # of 80
        (10.0, Each.CONNECTION, ("Network",), 5),  # of 50
        (10.0, Each.KIND, ("*",), 5),  # of 59
        (10.0, Each.RESOURCE, ("*",), 1),
        (100.0, Each.FLEET, ("*",), 89),
        (0.5, Each.FLEET, ("*",), 1),  # of 89 none, but at least one
    ],
)
def test_a_percentage_is_of_the_resources_the_bucket_is_for(percent, each, kinds, limit):
    assert charged(BudgetRule(Percent(percent), HOUR, each=each, kinds=kinds))[0].limit == limit


@pytest.mark.parametrize("percent, resources, limit", [(29.0, 100, 29), (0.1, 3000, 3), (33.3, 10, 3), (5.0, 0, 1)])
def test_a_percentage_is_exact_and_rounds_down_to_at_least_one(percent, resources, limit):
    assert Percent(percent).of(resources) == limit


@given(st.floats(0.001, 100), st.integers(0, 100_000))
def test_a_percentage_is_never_more_than_the_share_unless_that_is_below_one(percent, resources):
    limit = Percent(percent).of(resources)
    assert limit == 1 or 1 < limit <= percent / 100 * resources * (1 + 1e-12) < (limit + 1) * (1 + 1e-12)


def test_two_rules_for_one_bucket_leave_the_stricter():
    rules = [BudgetRule(10, HOUR), BudgetRule(3, HOUR), BudgetRule(7, HOUR), BudgetRule(20, 24 * HOUR)]
    assert budgets.charges(rules, NET, Action.UPDATE, "drift", SIZES, NOW) == [
        BudgetCharge("corrections per 1h", 3, NOW - HOUR),
        BudgetCharge("corrections per 1d", 20, NOW - 24 * HOUR),
    ]


def candidates(*names, action=Action.UPDATE):
    return [Candidate(Address("prod", "Network", name), action, "drift") for name in names]


def test_a_batch_is_granted_in_its_order_until_a_bucket_is_empty():
    rules = [BudgetRule(3, HOUR), BudgetRule(1, HOUR, actions=DESTRUCTIVE)]
    batch = [*candidates("a", "b", action=Action.REPLACE), *candidates("c", "d", "e")]
    spent = dict.fromkeys([bucket for bucket, _ in budgets.buckets(batch, rules, SIZES, NOW)], 0)
    assert list(spent) == ["corrections per 1h", "destructive corrections per 1h"]
    allotment = budgets.allot(batch, rules, spent, SIZES, NOW)
    assert [item.address.name for item in allotment.granted] == ["a", "c", "d"]
    assert [(item.candidate.address.name, str(item)) for item in allotment.held] == [
        ("b", "the budget is spent: 1 destructive corrections per 1h"),
        ("e", "the budget is spent: 3 corrections per 1h"),
    ]


def test_what_is_already_spent_is_not_there_any_more():
    allotment = budgets.allot(candidates("a", "b"), [BudgetRule(3, HOUR)], {"corrections per 1h": 2}, SIZES, NOW)
    assert (len(allotment.granted), len(allotment.held)) == (1, 1)


def test_without_rules_everything_is_granted_and_with_nothing_in_them_nothing():
    assert budgets.allot(candidates("a", "b"), [], {}, SIZES, NOW).held == ()
    assert budgets.allot(candidates("a", "b"), [BudgetRule(0, HOUR)], {}, SIZES, NOW).granted == ()


addresses = st.builds(Address, st.sampled_from(["prod", "dev"]), st.sampled_from(["Network", "Subnet"]), st.text("ab"))
wanted = st.builds(Candidate, addresses, st.sampled_from(Action), st.sampled_from([*WriteReason, "recreate"]))
rules = st.builds(
    BudgetRule,
    st.integers(0, 3) | st.builds(Percent, st.sampled_from([1.0, 4.0, 50.0])),
    st.sampled_from([HOUR, 60.0]),
    st.sampled_from([("*",), ("prod",)]),
    st.sampled_from([("*",), ("Net*",)]),
    st.sampled_from([None, DESTRUCTIVE]),
    st.sampled_from([write_reasons.CORRECTIONS, EVERY]),
    st.sampled_from(Each),
)


@given(st.lists(wanted, max_size=12), st.lists(rules, max_size=4), st.integers(0, 2))
def test_no_bucket_is_ever_overdrawn_and_none_is_held_without_cause(batch, rules, spent_before):
    def asked(each):
        return budgets.charges(rules, each.address, each.action, each.reason, SIZES, NOW)

    spent = dict.fromkeys([bucket for bucket, _ in budgets.buckets(batch, rules, SIZES, NOW)], spent_before)
    allotment = budgets.allot(batch, rules, spent, SIZES, NOW)
    assert len(allotment.granted) + len(allotment.held) == len(batch)
    limits = {charge.bucket: charge.limit for item in batch for charge in asked(item)}
    for granted in allotment.granted:
        for charge in asked(granted):
            spent[charge.bucket] += 1
            assert spent[charge.bucket] <= limits[charge.bucket]
    for held in allotment.held:
        assert any(spent[charge.bucket] >= charge.limit for charge in asked(held.candidate))
