"""A sweep costs one list call; what moved, vanished or was not in sync before is looked at closer."""

from __future__ import annotations

import asyncio

from holdfast.engine.sweeping import Sweeper
from holdfast.model.address import Address
from holdfast.model.reading import Trouble, Unreadable
from tests.unit.engine.fixtures import Bench, declare


def run(coroutine):
    return asyncio.run(coroutine)


def swept(bench, fleet, settled=None):
    async def sweep():
        async with bench.world() as world:
            sweeper = Sweeper(bench.store, world, bench.clock, bench.random)
            return await sweeper.sweep("mem", "Thing", settled or {each.address for each in fleet})

    return run(sweep())


def ready():
    bench = Bench()
    fleet = [declare(f"n{i}", {"i": i}, resyncPeriod="1h") for i in range(12)]
    run(bench.apply(fleet))
    run(bench.apply(fleet))  # the digests of list items are those of a list read
    bench.live.calls.clear()
    return bench, fleet


def test_what_has_not_moved_costs_one_list_call_and_is_due_again_later():
    bench, fleet = ready()
    bench.clock.advance(100)
    out = swept(bench, fleet)
    assert (out.unchanged, out.closer) == (12, [])
    assert bench.live.calls == ["list Thing"]
    state = run(bench.store.state(fleet[0].address))
    assert state.checked_at == bench.clock.now()
    assert state.due_at > bench.clock.now() + 3000


def test_what_moved_or_vanished_is_returned_for_a_closer_look():
    bench, fleet = ready()
    bench.live_thing("n3")["i"] = 99
    del bench.live.things["Thing", bench.live.find("Thing", "n5")]
    out = swept(bench, fleet)
    assert out.unchanged == 10
    assert sorted(address.name for address in out.closer) == ["n3", "n5"]


def test_what_was_edited_since_is_not_trusted():
    bench, fleet = ready()
    out = swept(bench, fleet, settled={each.address for each in fleet[1:]})
    assert out.closer == [Address("mem", "Thing", "n0")]


def test_a_list_that_cannot_be_read_concludes_nothing():
    bench, fleet = ready()
    bench.live.faults.append(lambda call: Unreadable(Trouble.SERVER_ERROR) if call == "list Thing" else None)
    out = swept(bench, fleet)
    assert out.unchanged == 0
    assert out.failure == Unreadable(Trouble.SERVER_ERROR)
    assert out.closer == []
