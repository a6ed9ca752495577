"""Two hands at one field: named by our corrections in sequence, at any period; a person's own edits never count."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from holdfast.model.condition import ConditionType
from holdfast.model.verdict import Status
from holdfast.reconcile.policy_evaluation import PolicyRules
from holdfast.store.state import ResourceState
from tests.unit.reconcile.fixtures import Bench, declare

PERIODS = {"10m": 600, "30m": 1800, "1h": 3600, "10h": 36_000, "3d": 3 * 86_400}


async def conflict(bench: Bench, thing) -> str:
    state = await bench.store.state(thing.address)
    assert isinstance(state, ResourceState)
    return next(condition.status for condition in state.observed.conditions if condition.type is ConditionType.CONFLICT)


def updates(bench: Bench) -> int:
    return sum(verb == "update" for verb, _, _ in bench.live.writes)


@pytest.mark.parametrize("period", PERIODS)
def test_a_other_writer_is_named_within_three_corrections_at_the_rules_of_a_new_user(period):
    async def story():
        bench = Bench(rules=PolicyRules())
        thing = declare("a", {"color": "red"}, resyncPeriod=period)
        await bench.apply([thing])
        for _ in range(12):
            bench.clock.advance(PERIODS[period])
            bench.live_thing("a")["color"] = "black"
            await bench.apply([thing])
        assert updates(bench) == 3
        assert await conflict(bench, thing) == "True"
        (quarantine,) = await bench.store.quarantines()
        assert (quarantine.path, quarantine.data["ours"], quarantine.data["theirs"]) == ("/color", "red", ["black"])

    asyncio.run(story())


def test_a_other_writer_that_comes_less_often_than_our_checks_is_named_too():
    async def story():
        bench = Bench(rules=PolicyRules())
        thing = declare("a", {"color": "red"}, resyncPeriod="10m")
        await bench.apply([thing])
        for turn in range(1, 8 * 144):
            bench.clock.advance(600)
            if turn % 144 == 0:  # once a day
                bench.live_thing("a")["color"] = "black"
            await bench.apply([thing])
        assert updates(bench) == 3
        assert await conflict(bench, thing) == "True"

    asyncio.run(story())


@pytest.mark.parametrize("period", PERIODS)
def test_a_field_that_moves_by_itself_is_left_alone_at_any_period(period):
    async def story():
        bench = Bench(rules=PolicyRules())
        bench.live.defaults = {"tick": 0}
        thing = declare("a", {"color": "red"}, resyncPeriod=period)
        await bench.apply([thing])
        for number in range(1, 12):
            bench.clock.advance(PERIODS[period])
            bench.live_thing("a")["tick"] = number
            await bench.apply([thing])
        assert updates(bench) == 3

    asyncio.run(story())


def test_who_removes_a_resource_again_and_again_is_named():
    async def story():
        bench = Bench(rules=PolicyRules())
        thing = declare("a", {"color": "red"}, resyncPeriod="10h")
        await bench.apply([thing])
        for _ in range(8):
            bench.clock.advance(36_000)
            bench.live.things.clear()
            await bench.apply([thing])
        assert sum(verb == "create" for verb, _, _ in bench.live.writes) == 1 + 3
        assert await conflict(bench, thing) == "True"

    asyncio.run(story())


def test_a_persons_edits_do_not_count_against_the_field():
    async def story():
        bench = Bench(rules=PolicyRules())
        bench.live.defaults = {"mode": "usual"}
        for number, value in enumerate(("a", "b", "c", "d")):
            await bench.apply([declare("a", {"color": "red", "mode": value}, resyncPeriod="10m")])
            bench.clock.advance(60 * number)
        thing = declare("a", {"color": "red"}, resyncPeriod="10m")
        await bench.apply([thing])
        assert bench.live_thing("a")["mode"] == "usual"
        bench.live_thing("a")["mode"] = "evil"
        bench.clock.advance(60)
        await bench.apply([thing])
        assert bench.live_thing("a")["mode"] == "usual"

    asyncio.run(story())


def test_an_edit_made_while_the_world_moved_elsewhere_does_not_count_either():
    async def story():
        bench = Bench(rules=PolicyRules())
        thing = declare("a", {"color": "c0", "size": 0}, resyncPeriod="10m")
        await bench.apply([thing])
        for number in range(1, 7):  # each time both sides moved, at different fields
            thing = replace(thing, desired={"color": f"c{number}", "size": 0})
            bench.live_thing("a")[f"extra{number}"] = number
            bench.clock.advance(600)
            await bench.apply([thing])
        bench.live_thing("a")["color"] = "evil"
        bench.clock.advance(600)
        await bench.apply([thing])
        assert bench.live_thing("a")["color"] == "c6"

    asyncio.run(story())


def test_what_held_for_a_month_is_forgotten():
    async def story():
        bench = Bench(rules=PolicyRules())
        thing = declare("a", {"color": "red"}, resyncPeriod="1h")
        await bench.apply([thing])
        for _ in range(6):
            bench.clock.advance(31 * 86_400)
            bench.live_thing("a")["color"] = "black"
            (checked,) = (await bench.apply([thing])).checked
            assert checked.verdict.status is Status.DRIFTED
        assert updates(bench) == 6

    asyncio.run(story())
