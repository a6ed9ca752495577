"""Watching: signals change when drift is found, never what is found. Polling finds the rest."""

from __future__ import annotations

import asyncio
import random

import pytest

from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.providers.protocol import ChangeSignal, Interrupted
from holdfast.watch.kind_watch import POSITIONS
from holdfast.watch.list_scan import ListScanner
from holdfast.watch.loop import ResyncLoop
from holdfast.watch.signal_watch import SignalWatch
from holdfast_emulators import virtual_time
from holdfast_emulators.virtual_time import VirtualClock
from tests.unit.reconcile.fixtures import Bench, declare

PERIOD = 36_000.0


def watching_bench(**options) -> Bench:
    return Bench(clock=VirtualClock(), watches=True, **options)


def fleet_of(size: int, **options):
    return [declare(f"n{number}", {"color": "red"}, resyncPeriod="10h", **options) for number in range(size)]


class Session:
    """A watch of a fleet in virtual time."""

    def __init__(self, bench: Bench, fleet, warnings: list[str] | None = None, pause: float = 2.0) -> None:
        self.bench = bench
        self.pause = pause
        self.fleet = fleet
        self.warnings: list[str] = [] if warnings is None else warnings

    async def run(self, story) -> None:
        bench = self.bench
        async with bench.world() as world:
            stop = asyncio.Event()
            scanner = ListScanner(bench.store, world, bench.clock, bench.random)
            applier = bench.applier(world, self.fleet)
            loop = ResyncLoop(
                bench.store, applier.apply, bench.clock, bench.random, scanner, stop=stop, wait_at_most=self.pause
            )
            signals = SignalWatch(bench.store, world, bench.clock, bench.random, self.warnings.append)
            async with signals.running():
                running = asyncio.create_task(loop.run())
                try:
                    await asyncio.sleep(30)
                    await story()
                finally:
                    stop.set()
                    await running


def watch(bench: Bench, fleet, story, warnings: list[str] | None = None, pause: float = 2.0) -> None:
    async def whole() -> None:
        if not await bench.store.count_resources():
            await bench.apply(fleet)
        await Session(bench, fleet, warnings, pause).run(story)

    virtual_time.run(whole())


def edit(bench: Bench, name: str, color: str = "black") -> ChangeSignal:
    bench.live_thing(name)["color"] = color
    return bench.live.change_signal("Thing", bench.id_of(name))


def reads(bench: Bench, name: str) -> int:
    return bench.live.calls.count(f"read Thing/{name}")


def test_a_signalled_edit_is_corrected_within_seconds():
    bench, fleet = watching_bench(), fleet_of(3)

    async def story() -> None:
        bench.live.signal("Thing", edit(bench, "n1"))
        await asyncio.sleep(10)
        assert bench.live_thing("n1")["color"] == "red"

    watch(bench, fleet, story)


def test_a_signalled_deletion_is_corrected_within_seconds():
    bench, fleet = watching_bench(), fleet_of(3)

    async def story() -> None:
        ident = bench.id_of("n1")
        del bench.live.things["Thing", ident]
        bench.live.signal("Thing", bench.live.change_signal("Thing", ident))
        await asyncio.sleep(10)
        assert bench.live_thing("n1")["color"] == "red"

    watch(bench, fleet, story)


def test_without_signals_drift_is_found_within_the_period():
    bench, fleet = watching_bench(), fleet_of(30)

    async def story() -> None:
        for number in range(5):
            edit(bench, f"n{number}")
        await asyncio.sleep(60)
        assert bench.live_thing("n1")["color"] == "black"
        await asyncio.sleep(PERIOD * 1.1)
        assert {thing["color"] for thing in bench.live.things.values()} == {"red"}

    watch(bench, fleet, story, pause=600.0)


@pytest.mark.parametrize("seed", range(5))
def test_doubled_and_shuffled_signals_change_no_finding_and_cost_at_most_one_more_read(seed):
    bench, fleet = watching_bench(lists=False), fleet_of(30, onDrift="report")
    chance = random.Random(seed)

    async def story() -> None:
        bench.live.calls.clear()
        signals = [edit(bench, f"n{number}", color) for number in range(10) for color in ("black", "white")]
        signals = [signal for signal in signals for _ in range(2)]
        chance.shuffle(signals)
        for signal in signals:
            bench.live.signal("Thing", signal)
            await asyncio.sleep(chance.random() / 4)
        await asyncio.sleep(60)
        found = await bench.store.findings()
        assert sorted(address.name for address in found) == [f"n{number}" for number in range(10)]
        assert {finding.finding.observed for item in found.values() for finding in item} == {"white"}
        assert all(reads(bench, f"n{number}") <= 2 for number in range(10))
        assert all(reads(bench, f"n{number}") == 0 for number in range(10, 30))

    watch(bench, fleet, story)


def test_a_signal_of_a_version_that_was_checked_causes_no_read():
    bench, fleet = watching_bench(), fleet_of(3)

    async def story() -> None:
        bench.live.calls.clear()
        for name in ("n0", "n1", "n2"):
            bench.live.signal("Thing", bench.live.change_signal("Thing", bench.id_of(name)))
        bench.live.signal("Thing", ChangeSignal("of another owner", "1"))
        await asyncio.sleep(60)
        assert not bench.live.calls

    watch(bench, fleet, story)


def test_a_resource_that_changes_all_the_time_is_not_read_all_the_time():
    bench, fleet = watching_bench(), fleet_of(1, onDrift="report")

    async def story() -> None:
        bench.live.calls.clear()
        for number in range(600):
            bench.live.signal("Thing", edit(bench, "n0", f"color-{number}"))
            await asyncio.sleep(0.1)
        await asyncio.sleep(10)
        assert 6 <= reads(bench, "n0") <= 14
        found = await bench.store.findings()
        assert [finding.finding.observed for item in found.values() for finding in item] == ["color-599"]

    watch(bench, fleet, story)


def test_a_resource_without_periodic_checks_is_not_checked_by_a_signal():
    bench, fleet = watching_bench(), [declare("n0", {"color": "red"}, resyncPeriod="0")]

    async def story() -> None:
        bench.live.signal("Thing", edit(bench, "n0"))
        await asyncio.sleep(60)
        assert bench.live_thing("n0")["color"] == "black"

    watch(bench, fleet, story)


def test_after_a_lost_position_the_kind_is_listed():
    bench, fleet = watching_bench(), fleet_of(30)

    async def story() -> None:
        bench.live.calls.clear()
        edit(bench, "n7")
        bench.live.interruptions.append(Interrupted(ReadFailure(ReadError.OTHER), is_position_lost=True))
        bench.live.wake()
        await asyncio.sleep(20)
        assert bench.live_thing("n7")["color"] == "red"
        assert bench.live.calls.count("watch Thing") == 1
        assert bench.live.calls.count("list Thing") <= 3

    watch(bench, fleet, story)


def test_a_lost_connection_continues_from_the_position_without_a_list():
    bench, fleet = watching_bench(), fleet_of(30)

    async def story() -> None:
        bench.live.calls.clear()
        bench.live.interruptions.append(Interrupted(ReadFailure(ReadError.UNREACHABLE)))
        bench.live.wake()
        await asyncio.sleep(0.1)
        bench.live.signal("Thing", edit(bench, "n7"))
        await asyncio.sleep(20)
        assert bench.live_thing("n7")["color"] == "red"
        assert "list Thing" not in bench.live.calls

    watch(bench, fleet, story)


def test_a_restart_continues_from_the_stored_position():
    bench, fleet = watching_bench(), fleet_of(30)

    async def nothing() -> None:
        return

    watch(bench, fleet, nothing)
    bench.live.signal("Thing", edit(bench, "n7"))

    async def story() -> None:
        assert bench.live_thing("n7")["color"] == "red"
        assert "list Thing" not in bench.live.calls

    bench.live.calls.clear()
    watch(bench, fleet, story)


def test_a_stored_position_that_is_too_old_is_replaced():
    bench, fleet = watching_bench(), fleet_of(3)

    async def nothing() -> None:
        return

    watch(bench, fleet, nothing)
    edit(bench, "n1")
    bench.live.signals.extend([("Other", ChangeSignal("x"))] * 5)
    bench.live.kept_from = len(bench.live.signals)

    async def story() -> None:
        assert bench.live_thing("n1")["color"] == "red"
        stored = await bench.store.record(POSITIONS, "mem/Thing")
        assert stored is not None
        assert int(stored.data["position"]) >= bench.live.kept_from

    watch(bench, fleet, story)


@pytest.mark.parametrize("trouble", [ReadError.UNREACHABLE, ReadError.UNAUTHORISED])
def test_a_watch_that_always_fails_makes_no_hot_loop_and_polling_continues(trouble):
    bench, fleet = watching_bench(), fleet_of(30)
    warnings: list[str] = []
    bench.live.faults.append(
        lambda call: ReadFailure(trouble, "watch things is forbidden") if call == "watch Thing" else None
    )

    async def story() -> None:
        edit(bench, "n7")
        await asyncio.sleep(1800)
        assert bench.live.calls.count("watch Thing") <= 20  # in half an hour
        await asyncio.sleep(PERIOD * 1.1)
        assert bench.live_thing("n7")["color"] == "red"

    watch(bench, fleet, story, warnings, pause=600.0)
    assert len(warnings) == (trouble is ReadError.UNAUTHORISED)
    assert all("watch things is forbidden" in warning for warning in warnings)


def test_a_delay_that_the_service_asks_for_is_kept():
    bench, fleet = watching_bench(), fleet_of(3)
    failure = ReadFailure(ReadError.THROTTLED, "slow down", retry_after_seconds=120.0)

    async def story() -> None:
        bench.live.calls.clear()
        bench.live.interruptions.append(Interrupted(failure))
        bench.live.wake()
        await asyncio.sleep(100)
        assert "watch Thing" not in bench.live.calls
        await asyncio.sleep(60)
        assert "watch Thing" in bench.live.calls

    watch(bench, fleet, story)


def test_many_signals_at_once_are_served_by_one_list():
    bench, fleet = watching_bench(), fleet_of(100)

    async def story() -> None:
        bench.live.calls.clear()
        bench.live.signal("Thing", *(edit(bench, f"n{number}") for number in range(40)))
        await asyncio.sleep(20)
        assert {thing["color"] for thing in bench.live.things.values()} == {"red"}
        assert 1 <= bench.live.calls.count("list Thing") <= 3

    watch(bench, fleet, story)
