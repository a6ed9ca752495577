"""Several processes share one file: one winner each, nothing lost, the audit trail unbroken."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from holdfast.store.records import AppliedRevision
from holdfast.store.sqlite.store import SqliteStore
from tests.integration.store import worker
from tests.unit.store.examples import listed

Result = TypeVar("Result")

SCRIPT = Path(worker.__file__)


def started(command: str, path: Path, owner: str, number: int) -> subprocess.Popen[str]:
    """Start a process at a store; it has to be waited for."""
    arguments = [sys.executable, str(SCRIPT), command, str(path), owner, str(number)]
    return subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def looked_at(path: Path, look: Callable[[SqliteStore], Awaitable[Result]]) -> Result:
    async def whole() -> Result:
        store = await SqliteStore.open(path)
        try:
            return await look(store)
        finally:
            await store.close()

    return asyncio.run(whole())


def together(command: str, path: Path, owners: list[str], number: int) -> dict[str, list[list[str]]]:
    """Run a command in several processes at once; return the words that each said."""
    processes = {owner: started(command, path, owner, number) for owner in owners}
    said = {owner: process.communicate()[0] for owner, process in processes.items()}
    assert {owner: process.returncode for owner, process in processes.items()} == dict.fromkeys(owners, 0)
    return {owner: [line.split() for line in text.splitlines()] for owner, text in said.items()}


def test_processes_that_open_a_new_store_at_once_all_succeed_and_no_commit_is_lost(tmp_path):
    path, owners, count = tmp_path / ".holdfast/holdfast.db", ["p", "q", "r"], 25
    together("commit_batches", path, owners, count)

    async def look(store: SqliteStore) -> None:
        assert await store.verify_chain() == len(owners) * count * worker.BATCH
        seen: Counter[tuple[str, int]] = Counter()
        last: dict[str, int] = dict.fromkeys(owners, 0)
        async for entry in store.events():
            owner, number = entry.event.data["owner"], entry.event.data["batch"]
            seen[owner, number] += 1
            assert number in (last[owner], last[owner] + 1)  # each process's own order is kept
            last[owner] = number
        assert set(seen.values()) == {worker.BATCH}
        assert len(seen) == len(owners) * count
        states = await listed(store.all_states())
        assert (
            len({(state.declared.provider, state.declared.generation) for state in states}) == 1
        )  # all from one transaction
        for owner in owners:
            kept: list[AppliedRevision] = await store.revisions(worker.account(owner))
            assert [revision.number for revision in kept] == list(range(count, 0, -1))
            assert len(await store.documents([revision.document for revision in kept])) == count

    looked_at(path, look)


def test_of_processes_that_claim_the_same_resources_exactly_one_wins_each(tmp_path):
    path, owners, count = tmp_path / "s.db", ["p", "q", "r"], 120
    said = together("claim_all", path, owners, count)
    won = [int(words[1]) for lines in said.values() for words in lines if words[0] == "won"]
    assert sorted(won) == list(range(count))

    async def look(store: SqliteStore) -> None:
        assert await store.verify_chain() == count

    looked_at(path, look)


def test_fenced_writes_under_claims_that_run_out_lose_no_update(tmp_path):
    path, owners, count = tmp_path / "s.db", ["p", "q"], 60
    together("count_up", path, owners, count)

    async def look(store: SqliteStore) -> None:
        state = await store.state(worker.address(0))
        assert state is not None
        assert state.declared.generation == len(owners) * count
        raised = [entry.event.data["to"] async for entry in store.events()]
        assert raised == list(range(1, len(owners) * count + 1))
        assert await store.verify_chain() == len(raised)

    looked_at(path, look)
