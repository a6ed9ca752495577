"""A text of a provider that UTF-8 cannot carry keeps nobody else from being checked, written and recorded."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.model.verdict import Status
from holdfast.model.write_result import WriteError, WriteFailure
from holdfast.reconcile.action_result import ActionOutcome
from holdfast.store.protocol import Store
from holdfast.store.sqlite.store import SqliteStore
from tests.unit.reconcile.fixtures import Bench, declare

ODD = "said \ud800 it"


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_an_error_with_a_lone_surrogate_is_recorded_and_the_others_go_on(kind, tmp_path):
    async def whole() -> None:
        store: Store = SqliteStore.in_memory() if kind == "memory" else await SqliteStore.open(tmp_path / "s.db")
        bench = Bench(store=store, lists=False)
        fleet = [declare(f"n{number}", {"color": "red"}) for number in range(3)]
        bench.live.faults.append(
            lambda call: WriteFailure(WriteError.TERMINAL, ODD) if call == "create Thing/n1" else None
        )
        report = await bench.apply(fleet)
        assert sorted(item.result for item in report.acted) == [
            ActionOutcome.DONE,
            ActionOutcome.DONE,
            ActionOutcome.TERMINAL,
        ]
        bench.live.faults.append(lambda call: ReadFailure(ReadError.OTHER, ODD) if call == "read Thing/n0" else None)
        checked = {item.address.name: item.verdict for item in (await bench.check(fleet)).checked}
        assert (checked["n0"].status, checked["n2"].status) == (Status.UNKNOWN, Status.IN_SYNC)
        assert "\\ud800" in checked["n0"].reason
        assert await store.verify_chain() > 0
        await store.close()

    asyncio.run(whole())
