"""A check that somebody asks for is done, whatever else is under way, and asking changes nothing but the schedule."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from holdfast.store.protocol import Store
from holdfast.watch import loop
from holdfast.watch.list_scan import ListScanner
from holdfast.watch.loop import ResyncLoop
from tests.unit.reconcile.fixtures import Bench, declare


class Interrupted:
    """A store that lets somebody else act once, right after states were read from it."""

    def __init__(self, store: Store, act: Callable[[], Awaitable[object]]) -> None:
        self._store = store
        self._act: Callable[[], Awaitable[object]] | None = act

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def states(self, addresses: Any) -> Any:
        found = await self._store.states(addresses)
        act, self._act = self._act, None
        if act is not None:
            await act()
        return found


def test_a_request_that_an_apply_overtakes_leaves_revision_and_id_alone():
    async def whole() -> None:
        bench = Bench()
        (declared,) = fleet = [declare("a", {"color": "red"}, resyncPeriod="1h")]
        await bench.apply(fleet)
        bench.live.things.clear()

        async def overtake() -> None:
            await bench.apply(fleet)

        asked = await loop.request(Interrupted(bench.store, overtake), [declared.address], "now", bench.clock.now())
        state = await bench.store.state(declared.address)
        assert state is not None
        assert (asked, state.applied.revision, state.observed.provider_id) == (1, 2, bench.id_of("a"))
        assert state.schedule.requested == "now"

    asyncio.run(whole())


@pytest.mark.parametrize("moved", [False, True], ids=["in sync", "drifted"])
def test_a_request_made_while_a_check_is_under_way_is_not_lost(moved):
    async def whole() -> None:
        bench = Bench(lists=False)
        (declared,) = fleet = [declare("a", {"color": "red"}, resyncPeriod="1h", onDrift="report")]
        await bench.apply(fleet)
        if moved:
            bench.live_thing("a")["color"] = "black"
        bench.clock.advance(7200)
        asked: list[asyncio.Task[int]] = []

        def ask(call: str) -> None:
            if call.startswith("read") and not asked:
                request = loop.request(bench.store, [declared.address], "now", bench.clock.now())
                asked.append(asyncio.ensure_future(request))
                asyncio.get_running_loop().call_soon(lambda: None)

        bench.live.faults.append(ask)
        await bench.check(fleet)
        assert await asked[0] == 1  # a short check may end before the request is stored
        state = await bench.store.state(declared.address)
        assert state is not None
        assert (state.schedule.requested, state.schedule.handled, state.schedule.due_at) == (
            "now",
            None,
            bench.clock.now(),
        )
        await watched(bench, fleet)
        state = await bench.store.state(declared.address)
        assert state is not None
        assert state.schedule.handled == "now"
        assert state.schedule.due_at is not None
        assert state.schedule.due_at > bench.clock.now()

    asyncio.run(whole())


async def watched(bench: Bench, fleet: list[Any]) -> None:
    async with bench.world() as world:
        applier = bench.applier(world, fleet)
        sweeper = ListScanner(bench.store, world, bench.clock, bench.random)
        await ResyncLoop(bench.store, applier.apply, bench.clock, bench.random, sweeper).round()
