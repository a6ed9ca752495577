"""Much drift within one period is held, however few of it are met at a time; what is recorded is what was done."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.engine.governing import Rules
from holdfast.model.decision import Action
from holdfast.plan.budgets import BudgetRule
from holdfast.plan.corrections import CorrectionRules
from holdfast.store.base import Approval, Transaction
from tests.unit.engine.fixtures import Bench, declare


def fleet(count: int, period: str = "1h"):
    return [declare(f"n{i:02}", {"color": "red", "size": i}, resyncPeriod=period) for i in range(count)]


def moved(bench: Bench, things, *, alike: bool = True) -> None:
    for number, thing in enumerate(things):
        bench.live_thing(thing.address.name)["color"] = "black" if alike else f"black{number}"


def updates(bench: Bench) -> int:
    return sum(verb == "update" for verb, _, _ in bench.live.writes)


async def one_by_one(bench: Bench, things, seconds: float) -> int:
    """Apply one target after the other, as a watch does whose due times are spread; return how many were written."""
    before = updates(bench)
    async with bench.world() as world:
        applier = bench.applier(world, things)
        for thing in things:
            await applier.apply([thing.address])
            bench.clock.advance(seconds)
    return updates(bench) - before


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("period, seconds", [("10m", 600 / 50), ("1h", 3600 / 50), ("10h", 36_000 / 50)])
def test_what_moved_at_once_is_held_though_it_is_met_one_by_one(period, seconds, alike):
    async def story():
        bench = Bench(rules=Rules(), lists=False)
        things = fleet(50, period)
        await bench.apply(things)
        bench.clock.advance(2 * 36_000)
        moved(bench, things, alike=alike)
        assert await one_by_one(bench, things, seconds) < 15
        assert await one_by_one(bench, things, seconds) == 0, "nor later, by and by"

    asyncio.run(story())


def test_a_few_that_move_now_and_then_are_corrected():
    async def story():
        bench = Bench(rules=Rules(), lists=False)
        things = fleet(50)
        await bench.apply(things)
        for turn in range(10):
            bench.clock.advance(3600)
            some = things[turn * 5 : turn * 5 + 5]
            moved(bench, some)
            assert await one_by_one(bench, some, 1.0) == 5

    asyncio.run(story())


def test_what_a_person_approved_is_not_counted_against_what_comes_after():
    async def story():
        bench = Bench(rules=Rules(), lists=False)
        things = fleet(20)
        await bench.apply(things)
        moved(bench, things[:12])
        report = await bench.apply(things)
        yes = [
            Approval(each.plan, each.address, "ada", "looked", bench.clock.now())
            for each in report.checked
            if each.decision.action is Action.HOLD
        ]
        assert len(yes) == 12
        await bench.store.commit(Transaction(approvals=yes))
        await bench.apply(things)
        assert updates(bench) == 12
        bench.clock.advance(60)
        moved(bench, things[15:16])
        await bench.apply(things)
        assert updates(bench) == 13

    asyncio.run(story())


def test_no_decision_is_recorded_that_a_limit_of_the_fleet_takes_back():
    async def story():
        bench = Bench(rules=Rules(CorrectionRules(budgets=(BudgetRule(3, 3600.0),))))
        things = fleet(40)
        await bench.apply(things)
        bench.clock.advance(7200)
        for some in (things[:5], things):  # some of it beyond the budget, then mass drift
            moved(bench, some)
            since = bench.clock.now()
            before = updates(bench)
            await bench.apply(things)
            made = [each for each in await bench.store.decisions(None, 1000) if each.at >= since]
            assert sum(each.action == "update" for each in made) == updates(bench) - before
            assert len({each.address for each in made}) == len(made), "one decision a resource"
            bench.clock.advance(10)

    asyncio.run(story())


def test_the_audit_trail_names_the_paths_that_were_written_and_no_others():
    async def story():
        bench = Bench(patches=True)
        thing = declare("a", {"color": "red", "size": 1}, onDriftPaths={"/size": "report"})
        await bench.apply([thing])
        bench.live_thing("a").update(color="black", size=9)
        await bench.apply([thing])
        assert bench.live_thing("a")["size"] == 9
        done = [each.event async for each in bench.store.events(subject=str(thing.address), type_prefix="write.done")]
        assert [each.data["paths"] for each in done] == [[], ["/color"]]

    asyncio.run(story())
