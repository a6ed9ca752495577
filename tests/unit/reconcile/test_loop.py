"""The resync loop: what is due is checked and corrected, at its time, and a backlog is spread out."""

from __future__ import annotations

import asyncio

from holdfast.policy.correction_limits import CorrectionRules
from holdfast.policy.mass_drift import MassDriftGuard
from holdfast.reconcile.fleet_check import check_resources
from holdfast.reconcile.policy_evaluation import PolicyRules
from holdfast.watch import list_scan, loop
from holdfast.watch.list_scan import ListScanner
from holdfast.watch.loop import ResyncLoop
from tests.unit.reconcile.fixtures import Bench, declare


def run(coroutine):
    return asyncio.run(coroutine)


async def watched(bench, fleet, rounds):
    async with bench.world() as world:
        applier = bench.applier(world, fleet)
        sweeper = ListScanner(bench.store, world, bench.clock, bench.random)
        await ResyncLoop(bench.store, applier.apply, bench.clock, bench.random, sweeper).run(rounds=rounds)


def test_drift_is_corrected_within_one_period():
    bench = Bench()
    fleet = [declare(f"n{i}", {"color": "red"}, resyncPeriod="10m") for i in range(30)]
    run(bench.apply(fleet))
    bench.live_thing("n7")["color"] = "black"
    start = bench.clock.now()
    run(watched(bench, fleet, rounds=60))
    assert bench.live_thing("n7")["color"] == "red"
    assert bench.clock.now() - start >= 540
    assert [verb for verb, _, _ in bench.live.writes].count("update") == 1


def test_without_resync_nothing_is_due():
    bench = Bench()
    fleet = [declare("a", {"color": "red"})]
    run(bench.apply(fleet))
    bench.live.calls.clear()
    run(watched(bench, fleet, rounds=3))
    assert bench.live.calls == []


def test_a_backlog_after_a_restart_is_spread_out():
    bench = Bench()
    fleet = [declare(f"n{i}", {"i": i}, resyncPeriod="10m") for i in range(200)]
    run(bench.apply(fleet))
    bench.clock.advance(86_400)

    async def backlog():
        async with bench.world() as world:
            sweeper = ListScanner(bench.store, world, bench.clock, bench.random)
            watcher = ResyncLoop(bench.store, bench.applier(world, fleet).apply, bench.clock, bench.random, sweeper)
            assert len(await bench.store.due(bench.clock.now(), 1000)) == 200
            await watcher.spread_backlog()
            return len(await bench.store.due(bench.clock.now(), 1000))

    assert run(backlog()) <= 1


def test_a_requested_check_is_done_and_its_token_comes_back():
    bench = Bench(lists=False)
    fleet = [declare("a", {"color": "red"})]
    run(bench.apply(fleet))
    run(loop.request(bench.store, [fleet[0].address], "please", bench.clock.now()))
    run(watched(bench, fleet, rounds=1))
    state = run(bench.store.state(fleet[0].address))
    assert (state.schedule.requested, state.schedule.handled) == ("please", "please")


def test_what_is_declared_nowhere_any_more_is_not_asked_about_again():
    bench = Bench()
    run(bench.apply([declare("a", {"x": 1}, resyncPeriod="10m"), declare("b", {"x": 1}, resyncPeriod="10m")]))
    bench.clock.advance(3600)
    bench.live.calls.clear()
    run(watched(bench, [declare("a", {"x": 1}, resyncPeriod="10m")], rounds=2))
    assert not any("/b" in call for call in bench.live.calls)


def test_a_mass_drift_is_seen_as_a_whole_though_it_is_looked_at_in_batches(monkeypatch):
    """Each batch by itself would be too small a share of the fleet to be one."""
    monkeypatch.setattr(list_scan, "BATCH", 10)
    bench = Bench(rules=PolicyRules(CorrectionRules(mass_drift=MassDriftGuard(share=0.3, at_least=10, identical=1000))))
    fleet = [declare(f"n{i}", {"i": i}, resyncPeriod="10m") for i in range(100)]
    run(bench.apply(fleet))
    run(bench.apply(fleet))  # the digests of list items are those of a list read
    for i in range(40):
        bench.live_thing(f"n{i}")["i"] = -i - 1
    bench.live.writes.clear()
    bench.clock.advance(3600)

    async def watch():
        async with bench.world() as world:
            applier = bench.applier(world, fleet)
            sweeper = ListScanner(bench.store, world, bench.clock, bench.random)
            watcher = ResyncLoop(bench.store, applier.apply, bench.clock, bench.random, sweeper)
            watcher.look = lambda addresses: check_resources(applier.preparer, applier.checker, addresses)
            await watcher.round()

    run(watch())
    assert bench.live.writes == []


def test_who_refers_to_something_that_was_made_again_is_looked_at_at_once():
    """It has another id, which whoever refers to it must learn; who is not to be looked at by itself is left alone."""
    bench = Bench(lists=False)
    fleet = [
        declare("a", {"color": "red"}, resyncPeriod="10m"),
        declare("b", {"of": "${Thing/a.id}"}, resyncPeriod="10h"),
        declare("c", {"of": "${Thing/a.id}"}, resyncPeriod="0"),
    ]
    run(bench.apply(fleet))
    before = bench.live_thing("b")["of"]
    del bench.live.things["Thing", bench.id_of("a")]
    bench.clock.advance(660)
    run(watched(bench, fleet, rounds=3))
    assert bench.id_of("a") != before
    assert bench.live_thing("b")["of"] == bench.id_of("a")
    assert bench.live_thing("c")["of"] == before
