"""A clock that is set back neither blinds a watch nor makes old verdicts look fresh."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.metrics import resources
from holdfast.reconcile.rate_limit import CallKind, RateLimiter, RateLimits
from holdfast.testing.clock import FakeClock
from holdfast.watch.list_scan import ListScanner
from holdfast.watch.loop import ResyncLoop
from tests.unit.reconcile.fixtures import Bench, declare

HOURS = 3600.0
PERIOD = 600.0


def fleet(size: int):
    return [declare(f"n{i}", {"color": "red"}, resyncPeriod="10m") for i in range(size)]


def watcher(bench: Bench, world, declared) -> ResyncLoop:
    sweeper = ListScanner(bench.store, world, bench.clock, bench.random)
    return ResyncLoop(bench.store, bench.applier(world, declared).apply, bench.clock, bench.random, sweeper)


@pytest.mark.parametrize("jump", [-3 * HOURS, -120.0, -700.0, 3 * HOURS])
@pytest.mark.parametrize("lists", [False, True], ids=["one by one", "by sweeps"])
def test_drift_is_found_within_a_period_after_the_clock_was_set(jump, lists):
    async def whole() -> None:
        bench = Bench(lists=lists)
        declared = fleet(30)
        await bench.apply(declared)
        jumped: list[float] = []

        async def is_over() -> bool:
            if not jumped and bench.clock.slept > 200:
                bench.clock.advance(jump)
                jumped.append(bench.clock.slept)
                bench.live_thing("n7")["color"] = "black"
            return bool(jumped) and bench.live_thing("n7")["color"] == "red"

        async with bench.world() as world:
            watching = watcher(bench, world, declared)
            watching.is_over = is_over
            await watching.run(rounds=2000)
        assert bench.live_thing("n7")["color"] == "red"
        assert bench.clock.slept - jumped[0] <= 1.2 * PERIOD

    asyncio.run(whole())


def test_drift_is_found_by_a_watch_that_starts_after_the_clock_was_set_back():
    async def whole() -> None:
        bench = Bench(lists=False)
        declared = fleet(3)
        await bench.apply(declared)
        bench.clock.advance(-3 * HOURS)
        bench.live_thing("n1")["color"] = "black"
        async with bench.world() as world:
            await watcher(bench, world, declared).run(rounds=1)
        assert bench.live_thing("n1")["color"] == "red"

    asyncio.run(whole())


def test_what_was_checked_later_than_now_is_stale_and_overdue():
    async def whole() -> None:
        bench = Bench()
        declared = fleet(3)
        await bench.apply(declared)
        assert (await bench.store.count_statuses(bench.clock.now())).overdue == 0
        bench.clock.advance(-3 * HOURS)
        now = bench.clock.now()
        assert (await bench.store.count_statuses(now)).overdue == 3
        states = (await bench.store.states([item.address for item in declared])).values()
        assert [(resources.is_stale(state, now), resources.is_overdue(state, now)) for state in states] == [
            (True, True)
        ] * 3

    asyncio.run(whole())


def test_a_pause_that_an_api_asked_for_is_no_longer_because_the_clock_was_set_back():
    async def whole() -> None:
        clock = FakeClock()
        gate = RateLimiter(RateLimits(reads_per_second=1.0), clock)
        gate.throttled(30.0)
        clock.advance(-3 * HOURS)
        before = clock.slept
        for _ in range(3):
            async with gate.turn(CallKind.READ):
                pass
        assert clock.slept - before <= 33.0

    asyncio.run(whole())
