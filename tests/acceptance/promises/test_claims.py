"""One writer a resource: whoever lost its claim while it waited sends nothing more, and says so."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from holdfast.model.write_result import WriteError, WriteFailure
from holdfast.reconcile.action_result import ActionOutcome
from holdfast.reconcile.connections import WritableConnections
from holdfast.reconcile.rate_limit import RateLimits
from holdfast.store.protocol import Store
from holdfast.testing.memory import once
from holdfast_emulators import virtual_time
from holdfast_emulators.virtual_time import VirtualClock
from tests.unit.reconcile.fixtures import Bench, declare

STOPPED_FROM, STOPPED_UNTIL = 10.0, 700.0


class Slow(Bench):
    """A process whose connection lets one write through in ten seconds."""

    def world(self) -> WritableConnections:
        limits = {"mem": RateLimits(concurrency=8, writes_per_second=0.1)}
        return WritableConnections({"mem": self.connection}, {"memory": self.provider()}, limits, self.clock)


class Stopped:
    """A store as a process sees it that is stopped for a while: whatever it asks then is asked when it goes on."""

    def __init__(self, store: Store, clock: VirtualClock) -> None:
        self._store = store
        self._clock = clock

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if not asyncio.iscoroutinefunction(method):
            return method

        async def later(*arguments: Any, **named: Any) -> Any:
            now = self._clock.now() - virtual_time.START
            if STOPPED_FROM <= now < STOPPED_UNTIL:
                await self._clock.sleep(STOPPED_UNTIL - now)
            return await method(*arguments, **named)

        return later


def fleet(count: int, color: str = "red"):
    return [declare(f"n{number}", {"color": color}, resyncPeriod="1h") for number in range(count)]


def without_keys(bench: Bench) -> None:
    """Let the API know no idempotency keys."""
    bench.live.after_write = lambda _verb: bench.live.seen_keys.clear()


def names(bench: Bench) -> Counter[str]:
    return Counter(body["name"] for body in bench.live.things.values())


def test_a_queue_that_is_longer_than_a_claim_creates_nothing_twice():
    clock = VirtualClock()

    async def whole() -> None:
        one = Slow(clock=clock, owner="one")
        two = Slow(live=one.live, store=one.store, clock=clock, seed=2, owner="two")
        without_keys(one)
        first = asyncio.ensure_future(one.apply(fleet(44)))
        await clock.sleep(310)
        await two.apply(fleet(44))
        await first
        assert names(one) == Counter(f"n{number}" for number in range(44))

    virtual_time.run(whole())


def test_a_worker_that_waits_for_a_retry_keeps_its_claim():
    clock = VirtualClock()

    async def whole() -> None:
        one = Bench(clock=clock, owner="one")
        two = Bench(live=one.live, store=one.store, clock=clock, seed=2, owner="two")
        without_keys(one)
        one.live.faults.append(once("create*", WriteFailure(WriteError.RETRYABLE, "503", 330)))
        first = asyncio.ensure_future(one.apply(fleet(1)))
        await clock.sleep(308)
        second = await two.apply(fleet(1))
        assert [item.result for item in second.acted] == [ActionOutcome.BUSY]
        assert [item.result for item in (await first).acted] == [ActionOutcome.DONE]
        assert names(one) == Counter({"n0": 1})

    virtual_time.run(whole())


@pytest.mark.parametrize("action", ["create", "update", "delete"])
def test_a_worker_that_was_stopped_and_woken_writes_nothing_over_its_successor(action):
    clock = VirtualClock()

    async def whole() -> None:
        one = Bench(clock=clock, owner="one")
        without_keys(one)
        if action != "create":
            await one.apply(fleet(1))
        two = Bench(live=one.live, store=one.store, clock=clock, seed=2, owner="two")
        one.store = Stopped(one.store, clock)
        one.live.writes.clear()
        one.live.faults.append(once(f"{action}*", WriteFailure(WriteError.RETRYABLE, "503", 330)))
        begun = one.delete(fleet(1)) if action == "delete" else one.apply(fleet(1, "blue"))
        first = asyncio.ensure_future(begun)
        await clock.sleep(320)
        if action == "create":
            await two.apply(fleet(1, "blue"))
        await two.apply(fleet(1, "green"))
        assert two.live_thing("n0")["color"] == "green"
        before = list(one.live.writes)
        (acted,) = (await first).acted
        assert one.live.writes == before
        assert two.live_thing("n0")["color"] == "green"
        assert len(one.live.things) == 1
        assert acted.result not in (ActionOutcome.DONE, ActionOutcome.BUSY, ActionOutcome.OVERTAKEN)
        assert "lost" in acted.message
        lost = [event.event async for event in two.store.events(type_prefix="claim.lost")]
        assert [item.subject for item in lost] == ["mem/Thing/n0"]

    virtual_time.run(whole())


def test_a_claim_lasts_as_long_as_an_operation_that_nobody_can_hurry():
    clock = VirtualClock()

    async def whole() -> None:
        one = Bench(clock=clock, owner="one")
        two = Bench(live=one.live, store=one.store, clock=clock, seed=2, owner="two")
        without_keys(one)
        one.live.polls = 900  # seconds
        first = asyncio.ensure_future(one.apply(fleet(1)))
        for _ in range(2):
            await clock.sleep(350)
            assert [item.result for item in (await two.apply(fleet(1))).acted] == [ActionOutcome.BUSY]
        assert [item.result for item in (await first).acted] == [ActionOutcome.DONE]
        assert names(one) == Counter({"n0": 1})

    virtual_time.run(whole())
