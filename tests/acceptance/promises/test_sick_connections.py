"""One connection that hangs, throttles or never ends an operation delays nothing on another."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from holdfast.compare import comparators
from holdfast.manifests.secrets import Resolver
from holdfast.model.address import Address
from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.policy import dependency_graph
from holdfast.policy.correction_limits import CorrectionRules
from holdfast.providers.protocol import Connection
from holdfast.reconcile.action_result import ActionOutcome, ActionResult
from holdfast.reconcile.apply import Applier
from holdfast.reconcile.check import Checker
from holdfast.reconcile.connections import WritableConnections
from holdfast.reconcile.policy_evaluation import PolicyRules
from holdfast.reconcile.resolve import ResourceResolver, ResourceSet
from holdfast.reconcile.write import ResourceWriter
from holdfast.store.sqlite.store import SqliteStore
from holdfast.testing.memory import MemoryProvider, MemoryService
from holdfast.watch.list_scan import ListScanner
from holdfast.watch.loop import ResyncLoop
from holdfast_emulators import virtual_time
from holdfast_emulators.virtual_time import VirtualClock
from tests.unit.reconcile.fixtures import declare

HANGS_SECONDS = 120.0
PERIOD_SECONDS = 30.0


class Hanging:
    """A reader whose reads take a while, when told to."""

    def __init__(self, reader: Any, sick: Sick) -> None:
        self._reader, self._sick = reader, sick

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    async def read(self, *args: Any) -> Any:
        await self._sick.wait()
        return await self._reader.read(*args)

    async def list(self, kind: str) -> AsyncIterator[Any]:
        await self._sick.wait()
        async for item in self._reader.list(kind):
            yield item


class Sick(MemoryProvider):
    """A provider that can be made to hang."""

    name = "sick"
    hangs = False

    async def wait(self) -> None:
        if self.hangs:
            await asyncio.sleep(HANGS_SECONDS)

    @asynccontextmanager
    async def reader(self, connection: Connection) -> AsyncIterator[Any]:
        async with super().reader(connection) as reader:
            yield Hanging(reader, self)


@dataclass
class Two:
    """An engine over two connections: `good`, and `bad` which can be made sick."""

    good: MemoryService = field(default_factory=MemoryService)
    bad: MemoryService = field(default_factory=MemoryService)
    store: SqliteStore = field(default_factory=SqliteStore.in_memory)
    clock: VirtualClock = field(default_factory=VirtualClock)

    def __post_init__(self) -> None:
        self.sick = Sick(self.bad, lists=False)
        self.chance = random.Random(1).random

    def fleet(self, size: int = 3):
        def one(connection: str, number: int):
            declared = declare(f"n{number}", {"color": "red"}, resyncPeriod=f"{PERIOD_SECONDS:.0f}s")
            provider = "memory" if connection == "good" else "sick"
            return replace(declared, address=Address(connection, "Thing", f"n{number}"), provider=provider)

        return [one(connection, number) for connection in ("good", "bad") for number in range(size)]

    def world(self) -> WritableConnections:
        connections = {"good": Connection("good", "memory"), "bad": Connection("bad", "sick")}
        providers = {"memory": MemoryProvider(self.good, lists=False), "sick": self.sick}
        return WritableConnections(connections, providers, {}, self.clock)

    def fingerprint(self, value: Any) -> str:
        return comparators.fingerprint(value, b"key")

    def applier(self, world: WritableConnections, declared, **options: Any) -> Applier:
        graph, _ = dependency_graph.build(declared)
        fleet = ResourceSet({item.address: item for item in declared}, graph)
        rules = PolicyRules(CorrectionRules(mass_drift=None))
        preparer = ResourceResolver(self.store, world, fleet, self.fingerprint, lambda _: Resolver({}))
        checker = Checker(self.store, world, self.clock, self.chance, self.fingerprint, rules=rules)
        writer = ResourceWriter(self.store, world, checker, self.clock, self.chance, "one")
        return Applier(self.store, preparer, checker, writer, **options)

    def live(self, world: MemoryService, name: str) -> dict[str, Any]:
        ident = world.find("Thing", name)
        return world.things["Thing", ident or ""]


def throttle(two: Two) -> None:
    two.bad.faults.append(
        lambda call: ReadFailure(ReadError.THROTTLED, "429", 300.0) if call.startswith("read") else None
    )


def hang(two: Two) -> None:
    two.sick.hangs = True


@pytest.mark.parametrize("make_sick", [hang, throttle])
def test_a_watch_corrects_one_connection_while_another_is_sick(make_sick):
    async def whole() -> None:
        two = Two()
        declared = two.fleet(5)
        stop = asyncio.Event()
        async with two.world() as world:
            await two.applier(world, declared).apply()
            make_sick(two)
            corrected: list[float] = []

            async def drift() -> None:
                for number in range(5):
                    await two.clock.sleep(PERIOD_SECONDS)
                    began = two.clock.now()
                    two.live(two.good, f"n{number}")["color"] = "black"
                    while two.live(two.good, f"n{number}")["color"] != "red" and two.clock.now() < began + 900.0:
                        await two.clock.sleep(1.0)
                    corrected.append(two.clock.now() - began)
                stop.set()

            sweeper = ListScanner(two.store, world, two.clock, two.chance)
            watcher = ResyncLoop(
                two.store, two.applier(world, declared, stop=stop).apply, two.clock, two.chance, sweeper
            )
            watcher.stop = stop
            drifting = asyncio.create_task(drift())
            await watcher.run()
            await drifting
        assert max(corrected) <= 1.2 * PERIOD_SECONDS

    virtual_time.run(whole())


@pytest.mark.parametrize("make_sick", [hang, throttle])
def test_an_apply_writes_one_connection_while_another_is_sick(make_sick):
    async def whole() -> None:
        two = Two()
        make_sick(two)
        began, ended = two.clock.now(), {}

        def progress(what: Any) -> None:
            if isinstance(what, ActionResult):
                ended[str(what.checked.address)] = two.clock.now() - began

        async with two.world() as world:
            await two.applier(world, two.fleet(), progress=progress).apply()
        assert max(ended[f"good/Thing/n{number}"] for number in range(3)) <= 15.0

    virtual_time.run(whole())


def test_what_needs_the_sick_connection_waits_and_its_neighbours_do_not():
    async def whole() -> None:
        two = Two()
        declared = [item for item in two.fleet(2) if item.address.name == "n0"]
        good, bad = declared
        needs = replace(good, address=Address("good", "Thing", "needs"), desired={"of": "${bad/Thing/n0.id}"})
        free = replace(good, address=Address("good", "Thing", "free"), desired={"of": "${good/Thing/n0.id}"})
        hang(two)
        began, ended = two.clock.now(), {}

        def progress(what: Any) -> None:
            if isinstance(what, ActionResult):
                assert what.result is ActionOutcome.DONE
                ended[str(what.checked.address)] = two.clock.now() - began

        async with two.world() as world:
            await two.applier(world, [good, bad, needs, free], progress=progress).apply()
        assert ended["good/Thing/free"] <= 25.0 < HANGS_SECONDS <= ended["bad/Thing/n0"] <= ended["good/Thing/needs"]

    virtual_time.run(whole())


def never_ending(two: Two) -> None:
    two.bad.polls = 10**9


@pytest.mark.parametrize("unattended", [False, True], ids=["apply", "watch"])
def test_an_operation_that_never_ends_is_left_to_the_next_run_after_a_while(unattended):
    async def whole() -> None:
        two = Two()
        never_ending(two)
        declared = two.fleet()
        began, ended = two.clock.now(), {}

        def progress(what: Any) -> None:
            if isinstance(what, ActionResult):
                ended[str(what.checked.address)] = two.clock.now() - began

        async with two.world() as world:
            report = await two.applier(world, declared, progress=progress, unattended=unattended).apply()
            slow = [item for item in report.acted if item.checked.address.connection == "bad"]
            assert {item.result for item in slow} == {ActionOutcome.UNSETTLED}
            assert max(ended[f"good/Thing/n{number}"] for number in range(3)) <= 15.0
            assert two.clock.now() - began <= (60.0 if unattended else 3700.0)
            assert len(two.bad.writes) == 3
            two.bad.polls = 0
            for key in two.bad.operations:
                two.bad.operations[key] = 0
            report = await two.applier(world, declared).apply()
            assert all(item.result is ActionOutcome.DONE for item in report.acted)
            assert len(two.bad.writes) == 3  # nothing was sent twice

    virtual_time.run(whole())


def test_the_first_stop_ends_an_apply_that_follows_an_operation():
    async def whole() -> None:
        two = Two()
        never_ending(two)
        stop = asyncio.Event()
        async with two.world() as world:
            applying = asyncio.create_task(two.applier(world, two.fleet(), stop=stop).apply())
            await two.clock.sleep(60.0)
            began = two.clock.now()
            stop.set()
            report = await applying
        assert two.clock.now() - began <= 5.0
        assert {item.result for item in report.acted if item.checked.address.connection == "bad"} == {
            ActionOutcome.UNSETTLED
        }

    virtual_time.run(whole())
