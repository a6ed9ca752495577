"""A sweep costs one list call; what moved, vanished or was not in sync before is looked at closer."""

from __future__ import annotations

import asyncio

from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.watch import loop
from holdfast.watch.list_scan import ListScanner
from tests.unit.reconcile.fixtures import Bench, declare


def run(coroutine):
    return asyncio.run(coroutine)


def swept(bench):
    """Sweep; return how many had not moved, what failed, and what is left for a closer look."""

    async def sweep():
        async with bench.world() as world:
            sweeper = ListScanner(bench.store, world, bench.clock, bench.random)
            out = await sweeper.sweep("mem", "Thing")
            closer = [address.name async for batch in sweeper.closer("mem", "Thing", out) for address in batch]
            return out, sorted(closer)

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
    out, closer = swept(bench)
    assert (out.unchanged, closer) == (12, [])
    assert bench.live.calls == ["list Thing"]
    state = run(bench.store.state(fleet[0].address))
    assert state.schedule.checked_at == bench.clock.now()
    assert state.schedule.due_at > bench.clock.now() + 3000


def test_what_moved_or_vanished_is_returned_for_a_closer_look():
    bench, _ = ready()
    bench.clock.advance(100)
    bench.live_thing("n3")["i"] = 99
    del bench.live.things["Thing", bench.live.find("Thing", "n5")]
    out, closer = swept(bench)
    assert out.unchanged == 10
    assert closer == ["n3", "n5"]


def test_what_was_edited_and_not_applied_is_not_trusted():
    bench, fleet = ready()
    edited = [declare("n0", {"i": 77}, resyncPeriod="1h"), *fleet[1:]]
    run(bench.check(edited))
    bench.clock.advance(100)
    assert swept(bench)[1] == ["n0"]


def test_what_somebody_asked_about_is_looked_at():
    bench, fleet = ready()
    run(loop.request(bench.store, [fleet[4].address], "please", bench.clock.now()))
    bench.clock.advance(100)
    assert swept(bench)[1] == ["n4"]


def test_a_list_that_cannot_be_read_concludes_nothing():
    bench, _ = ready()
    bench.clock.advance(100)
    bench.live.faults.append(lambda call: ReadFailure(ReadError.SERVER_ERROR) if call == "list Thing" else None)
    out, closer = swept(bench)
    assert out.unchanged == 0
    assert out.failure == ReadFailure(ReadError.SERVER_ERROR)
    assert len(closer) == 12
