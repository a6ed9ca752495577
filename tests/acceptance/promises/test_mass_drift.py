"""Much drift within one period is held, however few of it are met at a time; what is recorded is what was done."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.model.decision import Action
from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.policy.budgets import BudgetRule
from holdfast.policy.correction_limits import CorrectionRules
from holdfast.reconcile.fleet_check import check_resources
from holdfast.reconcile.mass_drift_scan import Scheduled
from holdfast.reconcile.policy_evaluation import PolicyRules
from holdfast.store.governance import Approval
from holdfast.store.transaction import GovernanceChanges, PartialUpdates, Transaction
from holdfast.watch.list_scan import ListScanner
from holdfast.watch.loop import ResyncLoop
from tests.unit.reconcile.fixtures import Bench, declare


def fleet(count: int, period: str = "1h"):
    return [declare(f"n{i:02}", {"color": "red", "size": i}, resyncPeriod=period) for i in range(count)]


def moved(bench: Bench, things, *, alike: bool = True) -> None:
    for number, thing in enumerate(things):
        bench.live_thing(thing.address.name)["color"] = "black" if alike else f"black{number}"


def updates(bench: Bench) -> int:
    return sum(verb == "update" for verb, _, _ in bench.live.writes)


async def one_by_one(bench: Bench, things, seconds: float, everything=None) -> int:
    """Apply one target after the other, each by a run of its own; return how many were written."""
    before = updates(bench)
    everything = everything or things
    async with bench.world() as world:
        for thing in things:
            applier = bench.applier(world, everything)
            await applier.apply([thing.address])
            bench.clock.advance(seconds)
    return updates(bench) - before


def calls(bench: Bench, verb: str) -> int:
    return sum(call.startswith(f"{verb} ") for call in bench.live.calls)


async def watched(bench: Bench, things, seconds: float) -> int:
    """Watch for so long, as the command does, which has no declaration at hand but of what is due."""
    before, until = updates(bench), bench.clock.now() + seconds
    of = {thing.address: thing for thing in things}
    async with bench.world() as world:
        sweeper = ListScanner(bench.store, world, bench.clock, bench.random)

        async def look_around(addresses):
            alone = bench.applier(world, [of[address] for address in addresses])
            return (await check_resources(alone.preparer, alone.checker)).checked

        others = Scheduled(sweeper, look_around, bench.clock)

        async def correct(addresses):
            return await bench.applier(world, [of[address] for address in addresses], others=others).apply()

        watcher = ResyncLoop(bench.store, correct, bench.clock, bench.random, sweeper)
        while bench.clock.now() < until:
            await watcher.run(rounds=2)
    return updates(bench) - before


async def scattered(bench: Bench, things, seconds: float) -> None:
    """Spread the due times over a period."""
    now = bench.clock.now()
    times = [(thing.address, now + 1 + place * seconds / len(things)) for place, thing in enumerate(things)]
    await bench.store.commit(Transaction(updates=PartialUpdates(rescheduled=times)))


@pytest.mark.parametrize("lists", [True, False])
@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("period, seconds", [("10m", 600 / 50), ("1h", 3600 / 50), ("10h", 36_000 / 50)])
def test_what_moved_at_once_is_held_though_it_is_met_one_by_one(period, seconds, alike, lists):
    async def story():
        bench = Bench(rules=PolicyRules(), lists=lists)
        things = fleet(50, period)
        await bench.apply(things)
        bench.clock.advance(2 * 36_000)
        moved(bench, things, alike=alike)
        assert await one_by_one(bench, things, seconds) == 0

    asyncio.run(story())


@pytest.mark.parametrize("lists", [True, False])
@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("count", [50, 200])
def test_a_steady_watch_corrects_nothing_of_what_moved_at_once(count, alike, lists):
    async def story():
        bench = Bench(rules=PolicyRules(), lists=lists)
        things = fleet(count)
        await bench.apply(things)
        await scattered(bench, things, 3600)
        moved(bench, things[-3:])
        assert await watched(bench, things, 3600 + 60) == 3, "a few are corrected"
        bench.clock.advance(7200)
        await scattered(bench, things, 3600)
        moved(bench, things, alike=alike)
        assert await watched(bench, things, 3600 + 60) == 0

    asyncio.run(story())


def test_a_part_that_is_too_much_is_held_before_its_first_correction():
    async def story():
        bench = Bench(rules=PolicyRules())
        things = fleet(50)
        await bench.apply(things)
        await scattered(bench, things, 3600)
        moved(bench, things[:15], alike=False)
        assert await watched(bench, things, 2 * 3600) == 0

    asyncio.run(story())


def test_what_a_look_around_finds_waits_no_longer_than_without_it():
    async def story():
        bench = Bench(rules=PolicyRules())
        things = fleet(50, "10h")
        await bench.apply(things)
        await scattered(bench, things, 36_000)
        moved(bench, [things[0], *things[40:45]])
        assert await watched(bench, things, 60) == 6, "known together, corrected together"

    asyncio.run(story())


def test_one_that_moved_costs_one_list_and_none_that_moved_costs_none():
    async def story():
        bench = Bench(rules=PolicyRules())
        things = fleet(50)
        await bench.apply(things)
        await bench.apply(things)  # as a list shows them
        await scattered(bench, things, 3600)
        bench.live.calls.clear()
        assert await watched(bench, things, 600) == 0
        assert calls(bench, "list") == 0
        moved(bench, [things[12]])
        bench.live.calls.clear()
        assert await watched(bench, things, 240) == 1
        assert calls(bench, "list") == 1
        assert calls(bench, "read") < 10

    asyncio.run(story())


@pytest.mark.parametrize("lists, most", [(True, {"list": 1, "read": 3}), (False, {"list": 0, "read": 3 + 9})])
def test_one_target_that_moved_costs_one_list_or_a_few_reads(lists, most):
    async def story():
        bench = Bench(rules=PolicyRules(), lists=lists)
        things = fleet(200)
        await bench.apply(things)
        await bench.apply(things)
        bench.live.calls.clear()
        assert await one_by_one(bench, things[:3], 10.0, things) == 0
        assert calls(bench, "list") == 0
        moved(bench, [things[5]])
        bench.live.calls.clear()
        assert await one_by_one(bench, [things[5]], 0.0, things) == 1
        assert {verb: calls(bench, verb) for verb in most} == most

    asyncio.run(story())


def test_a_list_that_is_refused_is_no_list():
    async def story():
        bench = Bench(rules=PolicyRules())
        things = fleet(50)
        await bench.apply(things)
        moved(bench, things)
        refused = ReadFailure(ReadError.UNAUTHORISED, "you may not list")
        bench.live.faults.append(lambda call: refused if call.startswith("list") else None)
        assert await one_by_one(bench, things, 72.0) == 0
        bench.clock.advance(7200)
        await scattered(bench, things, 3600)
        assert await watched(bench, things, 3600) == 0

    asyncio.run(story())


def test_a_few_that_move_now_and_then_are_corrected():
    async def story():
        bench = Bench(rules=PolicyRules(), lists=False)
        things = fleet(50)
        await bench.apply(things)
        for turn in range(10):
            bench.clock.advance(3600)
            some = things[turn * 5 : turn * 5 + 5]
            moved(bench, some)
            assert await one_by_one(bench, some, 1.0, things) == 5

    asyncio.run(story())


def test_what_a_person_approved_is_not_counted_against_what_comes_after():
    async def story():
        bench = Bench(rules=PolicyRules(), lists=False)
        things = fleet(20)
        await bench.apply(things)
        moved(bench, things[:12])
        report = await bench.apply(things)
        yes = [
            Approval(item.plan, item.address, "ada", "looked", bench.clock.now())
            for item in report.checked
            if item.decision.action is Action.HOLD
        ]
        assert len(yes) == 12
        await bench.store.commit(Transaction(governance=GovernanceChanges(approvals=yes)))
        await bench.apply(things)
        assert updates(bench) == 12
        bench.clock.advance(60)
        moved(bench, things[15:16])
        await bench.apply(things)
        assert updates(bench) == 13

    asyncio.run(story())


def test_no_decision_is_recorded_that_a_limit_of_the_fleet_takes_back():
    async def story():
        bench = Bench(rules=PolicyRules(CorrectionRules(budgets=(BudgetRule(3, 3600.0),))))
        things = fleet(40)
        await bench.apply(things)
        bench.clock.advance(7200)
        for some in (things[:5], things):  # some of it beyond the budget, then mass drift
            moved(bench, some)
            since = bench.clock.now()
            before = updates(bench)
            await bench.apply(things)
            made = [decision for decision in await bench.store.decisions(None, 1000) if decision.at >= since]
            assert sum(item.action == "update" for item in made) == updates(bench) - before
            assert len({item.address for item in made}) == len(made), "one decision a resource"
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
        done = [event.event async for event in bench.store.events(subject=str(thing.address), type_prefix="write.done")]
        assert [item.data["paths"] for item in done] == [[], ["/color"]]

    asyncio.run(story())
