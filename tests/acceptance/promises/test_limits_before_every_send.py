"""Every limit is asked right before each send: a pause or a freeze stops the next write, not the next run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from holdfast.policy.correction_limits import CorrectionRules
from holdfast.policy.windows import Mode, Window
from holdfast.reconcile.action_result import ActionOutcome
from holdfast.reconcile.connections import WritableConnections
from holdfast.reconcile.policy_evaluation import PolicyRules
from holdfast.reconcile.rate_limit import RateLimits
from holdfast.reconcile.report import RunReport
from holdfast.store.governance import Pause
from holdfast.store.transaction import GovernanceChanges, Transaction
from holdfast.watch.list_scan import ListScanner
from holdfast.watch.loop import ResyncLoop
from holdfast_emulators import virtual_time
from holdfast_emulators.virtual_time import VirtualClock
from tests.acceptance.promises.projects import Project, project
from tests.unit.reconcile.fixtures import Bench, declare


class Killed(BaseException):
    """The process ends here."""


class Slow(Bench):
    """A process whose connection lets one write through in ten seconds."""

    def world(self) -> WritableConnections:
        limits = {"mem": RateLimits(concurrency=8, writes_per_second=0.1)}
        return WritableConnections({"mem": self.connection}, {"memory": self.provider()}, limits, self.clock)


def fleet(count: int):
    return [declare(f"n{number}", {"color": "red"}, resyncPeriod="1h") for number in range(count)]


def drift(bench: Bench, count: int) -> None:
    for number in range(count):
        bench.live_thing(f"n{number}")["color"] = "black"
    bench.live.writes.clear()


def drifted(here: Project, count: int) -> None:
    here.declare(count, size=1)
    here("apply", "-f", "m.yaml", "-y")
    here.drift(size=9)
    here.server.journal.clear()


def test_a_pause_stops_the_write_after_the_one_under_way(tmp_path: Path):
    with project(tmp_path) as here:
        drifted(here, 6)
        code, said = here.at_request(
            "PATCH", 3, lambda: here("pause", "--why", "incident"), "apply", "-f", "m.yaml", "-y"
        )
        assert len(here.requests("PATCH")) == 3
        assert (code, "3 changed" in said, "3 held back" in said) == (1, True, True), said
        here("resume")
        here("apply", "-f", "m.yaml", "-y")
        assert len(here.requests("PATCH")) == 6


def test_what_a_killed_apply_had_queued_is_not_written_under_a_pause(tmp_path: Path):
    with project(tmp_path) as here:
        drifted(here, 6)
        here.killed_at("PATCH", 3, "apply", "-f", "m.yaml", "-y")
        here("pause", "--why", "incident")
        before = len(here.requests("PATCH"))
        here("apply", "-f", "m.yaml", "-y", code=None)
        assert len(here.requests("PATCH")) == before
        here("resume")
        here("apply", "-f", "m.yaml", "-y")
        assert {thing["size"] for thing in here.things().values()} == {1}
        assert {item["outcome"] for item in here.json("corrections")} == {"done"}


def test_what_was_begun_and_not_sent_waits_for_the_end_of_a_pause(tmp_path: Path):
    """The answer of the API was never seen, and the write was not made: only a limit keeps it from being sent."""

    async def whole() -> None:
        bench = Bench()
        await bench.apply(fleet(1))
        drift(bench, 1)

        def die(call: str) -> None:
            if call.startswith("update"):
                raise Killed

        bench.live.faults.append(die)
        with pytest.raises((Killed, BaseExceptionGroup)):
            await bench.apply(fleet(1))
        bench.live.faults.clear()
        bench.clock.advance(1000)
        other = Bench(live=bench.live, store=bench.store, clock=bench.clock, seed=2, owner="two")
        await bench.store.commit(
            Transaction(governance=GovernanceChanges(pauses=[Pause("", "ada", "incident", bench.clock.now())]))
        )
        report = await other.apply(fleet(1))
        assert bench.live.writes == []
        assert [item.result for item in report.acted] == [ActionOutcome.HELD]
        await bench.store.commit(Transaction(governance=GovernanceChanges(resumed=[""])))
        await other.apply(fleet(1))
        assert bench.live_thing("n0")["color"] == "red"
        assert await bench.store.operations() == []

    asyncio.run(whole())


@pytest.mark.parametrize("way", ["apply", "watch"])
def test_a_freeze_that_begins_stops_the_next_write(way):
    clock = VirtualClock()
    beginning = virtual_time.START + 7200 + 35

    async def whole() -> None:
        rules = PolicyRules(CorrectionRules(mass_drift=None, windows=(Window(Mode.FREEZE, start=beginning),)))
        bench = Slow(clock=clock, rules=rules, lists=False)
        quick = Bench(live=bench.live, store=bench.store, clock=clock, lists=False)
        await quick.apply(fleet(10))
        drift(bench, 10)
        await clock.sleep(virtual_time.START + 7200 - clock.now())
        times: list[float] = []
        bench.live.after_write = lambda _verb: times.append(clock.now())
        if way == "apply":
            report = await bench.apply(fleet(10))
        else:
            report = await watched(bench, 10)
        assert times
        assert max(times) <= beginning
        assert len(times) < 10
        results = [item.result for item in report.acted]
        assert (results.count(ActionOutcome.DONE), results.count(ActionOutcome.HELD)) == (len(times), 10 - len(times))

    virtual_time.run(whole())


async def watched(bench: Bench, count: int) -> RunReport:
    reports: list[RunReport] = []

    async def note(report: RunReport) -> None:
        reports.append(report)

    async with bench.world() as world:
        applier = bench.applier(world, fleet(count))
        sweeper = ListScanner(bench.store, world, bench.clock, bench.random)
        await ResyncLoop(bench.store, applier.apply, bench.clock, bench.random, sweeper, report=note).round()
    return reports[0]


def test_a_pause_stops_deletions_that_wait_for_their_turn():
    clock = VirtualClock()

    async def whole() -> None:
        class SlowDeletes(Bench):
            def world(self) -> WritableConnections:
                limits = {"mem": RateLimits(concurrency=8, deletes_per_second=0.1)}
                return WritableConnections({"mem": self.connection}, {"memory": self.provider()}, limits, self.clock)

        bench = SlowDeletes(clock=clock)
        await bench.apply(fleet(6))
        bench.live.writes.clear()

        async def pause() -> None:
            await clock.sleep(25)
            await bench.store.commit(
                Transaction(governance=GovernanceChanges(pauses=[Pause("", "ada", "incident", clock.now())]))
            )

        pausing = asyncio.ensure_future(pause())
        report = await bench.delete(fleet(6))
        await pausing
        assert 1 <= len(bench.live.writes) <= 4
        held = [item for item in report.acted if item.result is ActionOutcome.HELD]
        assert len(held) == 6 - len(bench.live.writes)
        assert len(bench.live.things) == len(held)

    virtual_time.run(whole())
