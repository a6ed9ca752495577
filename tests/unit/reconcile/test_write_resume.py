"""What an earlier run began is finished by the next, side by side where nothing stands between."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.reconcile.action_result import ActionOutcome
from holdfast.store.governance import CorrectionOutcome
from holdfast.store.sqlite.store import SqliteStore
from tests.unit.reconcile.fixtures import Bench, declare


class Killed(BaseException):
    """The process ends here."""


def fleet(count: int = 3):
    return [declare(f"t{number}", {"color": "red"}) for number in range(count)]


def kill(_verb: str) -> None:
    raise Killed


async def killed(bench: Bench, begin) -> None:
    """Begin something, and end when the provider has done the first write of it."""
    bench.live.after_write = kill
    with pytest.raises((Killed, BaseExceptionGroup)):
        await begin(bench)
    bench.live.after_write = lambda _verb: None


def later(bench: Bench) -> Bench:
    """Return another process, at a time when whatever the first one claimed has run out."""
    bench.clock.advance(1000.0)
    return Bench(live=bench.live, store=bench.store, clock=bench.clock, seed=2, owner="two")


async def the_ledger_is_closed(bench: Bench) -> None:
    assert await bench.store.operations() == []
    assert {correction.outcome for correction in await bench.store.corrections()} == {CorrectionOutcome.DONE}


def test_a_deletion_that_was_interrupted_is_finished_by_the_next_one():
    """Also in the ledger: that the thing is gone is not all that has to be known of the write."""

    async def whole() -> None:
        bench, declared = Bench(), fleet()
        await bench.apply(declared)
        await killed(bench, lambda each: each.delete(declared))
        assert await bench.store.operations()
        report = await later(bench).delete(declared)
        assert sorted(item.checked.address.name for item in report.acted) == ["t0", "t1", "t2"]
        assert {item.result for item in report.acted} == {ActionOutcome.DONE}
        assert bench.live.things == {}
        assert await bench.store.states([item.address for item in declared]) == {}
        await the_ledger_is_closed(bench)

    asyncio.run(whole())


def test_a_creation_that_was_interrupted_is_finished_before_what_it_made_is_deleted():
    async def whole() -> None:
        bench, declared = Bench(), fleet(1)
        await killed(bench, lambda each: each.apply(declared))
        report = await later(bench).delete(declared)
        assert [item.result for item in report.acted] == [ActionOutcome.DONE]
        assert bench.live.things == {}
        await the_ledger_is_closed(bench)

    asyncio.run(whole())


def test_writes_that_were_interrupted_together_are_finished_together(tmp_path):
    """One after the other each would pay for its own way to the disk."""

    async def whole() -> None:
        store = await SqliteStore.open(tmp_path / "s.db")
        bench, declared = Bench(store=store), fleet(40)
        await killed(bench, lambda each: each.apply(declared))
        left = len(await store.operations())
        assert left >= 8
        begun: list[str] = []
        await store._batcher.read(lambda: store._connection.set_trace_callback(begun.append))
        report = await later(bench).apply(declared)
        assert {item.result for item in report.acted} == {ActionOutcome.DONE}
        assert len(report.acted) == 40
        assert len(bench.live.things) == 40
        await the_ledger_is_closed(bench)
        assert await store.claims() == []
        assert begun.count("BEGIN IMMEDIATE") < 40
        await store.close()

    asyncio.run(whole())
