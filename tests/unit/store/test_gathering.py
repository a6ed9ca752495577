"""What is asked of the store on disk while it is busy is done together: few transactions, and each call by itself."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import StoreError
from holdfast.model.address import Address
from holdfast.model.budget_charge import BudgetCharge
from holdfast.store.governance import BudgetSpent
from holdfast.store.records import AuditEvent, ClaimLost, VersionConflict, VersionedRecord
from holdfast.store.sqlite import call_batching
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.state import DeclaredState, ResourceState
from holdfast.store.transaction import GovernanceChanges, RecordChanges, Transaction, WriteChanges
from tests.unit.store.examples import A, correction, digest, event, full_state, listed, revision

MANY = 300


def on_disk(test: Callable[[SqliteStore], Coroutine[Any, Any, None]]) -> Callable[[Path], None]:
    def run(tmp_path: Path) -> None:
        async def whole() -> None:
            store = await SqliteStore.open(tmp_path / "s.db")
            try:
                await test(store)
            finally:
                await store.close()

        asyncio.run(whole())

    run.__name__ = test.__name__
    return run


def resource(number: int) -> Address:
    return Address("prod", "Thing", f"t{number}")


def fact(number: int) -> Transaction:
    state = ResourceState(resource(number), declared=DeclaredState("memory", generation=number + 1))
    return Transaction(states=[state], events=[AuditEvent(float(number), "fact", str(state.address), {"n": number})])


class Busy:
    """Keeps the store's thread busy, so that everything asked meanwhile is gathered."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._free = threading.Event()

    async def __aenter__(self) -> None:
        begun = threading.Event()

        def wait() -> None:
            begun.set()
            self._free.wait()

        self._waiting = asyncio.ensure_future(self._store._batcher.read(wait))
        await asyncio.get_running_loop().run_in_executor(None, begun.wait)

    async def __aexit__(self, *_: object) -> None:
        self._free.set()
        await self._waiting


async def gathered(store: SqliteStore, *calls: Awaitable[Any]) -> list[Any]:
    """Ask for everything while the store is busy; return what each call returned or raised."""
    async with Busy(store):
        asked = asyncio.gather(*calls, return_exceptions=True)
        await asyncio.sleep(0)
    return await asked


async def traced(store: SqliteStore) -> list[str]:
    statements: list[str] = []
    await store._batcher.read(lambda: store._connection.set_trace_callback(statements.append))
    return statements


@on_disk
async def test_many_commits_at_once_are_few_transactions(store: SqliteStore):
    statements = await traced(store)
    assert await gathered(store, *map(store.commit, map(fact, range(MANY)))) == [None] * MANY
    assert statements.count("BEGIN IMMEDIATE") == -(-MANY // call_batching.MOST)
    assert len(await store.states([resource(number) for number in range(MANY)])) == MANY
    assert await store.verify_chain() == MANY


@on_disk
async def test_claims_renewals_releases_and_reads_share_a_visit_with_commits(store: SqliteStore):
    one = await store.claim(resource(0), "me", 0.0, 10.0)
    two = await store.claim(resource(1), "me", 0.0, 10.0)
    assert one is not None
    assert two is not None
    statements = await traced(store)
    calls = (
        store.commit(fact(0)),
        store.claim(resource(2), "me", 0.0, 10.0),
        store.renew(one, 20.0),
        store.release(two),
        store.claims(),
        store.state(resource(0)),
    )
    _, claim, renewed, _, claims, state = await gathered(store, *calls)
    assert statements.count("BEGIN IMMEDIATE") == 1
    assert (claim.fence, renewed.until, state.declared.generation) == (1, 20.0, 1)
    assert [item.address for item in claims] == [resource(0), resource(2)]


@on_disk
async def test_what_changes_does_so_in_the_order_it_was_asked_for_and_a_read_sees_all_of_it(store: SqliteStore):
    versions = [VersionedRecord("matter", "one", {"n": number}, number) for number in range(1, 51)]
    calls = [store.commit(Transaction(records=RecordChanges(put=[version]))) for version in versions]
    *done, read = await gathered(store, *calls, store.record("matter", "one"))
    assert done == [None] * 50
    assert read == versions[-1]


FAILING = {
    ClaimLost: Transaction(writes=WriteChanges(fences={A: 7})),
    BudgetSpent: Transaction(
        governance=GovernanceChanges(
            corrections=[correction("c")], charges={"c": [BudgetCharge("bucket", limit=0, since=0.0)]}
        )
    ),
    VersionConflict: Transaction(records=RecordChanges(put=[VersionedRecord("matter", "one", {}, 5)])),
    StoreError: Transaction(revisions=[revision(1, content="another")]),
    ValueError: Transaction(documents={digest("wrong"): b"{}"}),
}


@pytest.mark.parametrize("error", FAILING)
def test_a_commit_that_fails_among_many_fails_alone_and_leaves_nothing(tmp_path, error):
    @on_disk
    async def whole(store: SqliteStore) -> None:
        await store.commit(Transaction(revisions=[revision(1)]))
        bad = FAILING[error]
        bad.events = [event()]
        bad.states = [full_state()]
        results = await gathered(
            store,
            *map(store.commit, map(fact, range(20))),
            store.commit(bad),
            *map(store.commit, map(fact, range(20, 40))),
        )
        assert [place for place, result in enumerate(results) if result is not None] == [20]
        assert type(results[20]) is error
        assert await store.state(A) is None
        assert await store.verify_chain() == 40
        told = [item.event.data["n"] async for item in store.events()]
        assert told == list(range(40))

    whole(tmp_path)


@on_disk
async def test_a_name_that_a_failing_commit_brought_in_is_known_again_when_it_is_met_again(store: SqliteStore):
    """It had a number in the part that was undone; somebody else may have that number now."""
    bad = fact(1)
    bad.writes.fences = {A: 7}
    good, claimed = fact(2), fact(1)
    results = await gathered(store, store.commit(bad), store.commit(good), store.commit(claimed))
    assert isinstance(results[0], ClaimLost)
    assert results[1:] == [None, None]
    states = await store.states([resource(1), resource(2)])
    assert {address: state.declared.generation for address, state in states.items()} == {resource(1): 2, resource(2): 3}
    assert [event.event.subject async for event in store.events()] == [str(resource(2)), str(resource(1))]


@on_disk
async def test_whoever_gives_up_while_waiting_harms_nobody(store: SqliteStore):
    async with Busy(store):
        tasks = [asyncio.ensure_future(store.commit(fact(number))) for number in range(10)]
        await asyncio.sleep(0)
        for task in tasks[::3]:
            task.cancel()
        await asyncio.sleep(0)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [number for number in range(10) if results[number] is None] == [1, 2, 4, 5, 7, 8]
    kept = {state.declared.generation - 1 for state in await listed(store.all_states())}
    assert kept == {1, 2, 4, 5, 7, 8}  # nobody's turn had come
    await store.verify_chain()


@on_disk
async def test_whoever_gives_up_during_his_visit_harms_nobody_and_it_may_be_done_all_the_same(store: SqliteStore):
    loop, given_up = asyncio.get_running_loop(), threading.Event()
    tasks: list[asyncio.Future[None]] = []

    def give_up() -> None:
        tasks[1].cancel()
        given_up.set()

    def interrupt(statement: str) -> None:
        if statement == "COMMIT" and tasks and not given_up.is_set():
            loop.call_soon_threadsafe(give_up)
            given_up.wait()

    await store._batcher.read(lambda: store._connection.set_trace_callback(interrupt))
    async with Busy(store):
        tasks += [asyncio.ensure_future(store.commit(fact(number))) for number in range(3)]
        await asyncio.sleep(0)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert given_up.is_set()
    assert isinstance(results[1], asyncio.CancelledError)
    assert (results[0], results[2]) == (None, None)
    assert await store.verify_chain() == 3


@on_disk
async def test_nobody_is_answered_before_another_process_could_see_it(store: SqliteStore):
    path, seen = store._database.path, []

    async def one(number: int) -> None:
        await store.commit(fact(number))
        with closing(sqlite3.connect(path)) as other:
            seen.append(other.execute("SELECT count(*) FROM event WHERE at = ?", (float(number),)).fetchone()[0])

    await asyncio.gather(*[one(number) for number in range(50)])
    assert seen == [1] * 50


def test_when_a_whole_transaction_fails_each_is_tried_by_itself(tmp_path):
    """One commit too large for the disk must not take the others with it."""

    @on_disk
    async def whole(store: SqliteStore) -> None:
        (pages,) = await store._batcher.read(lambda: store._connection.execute("PRAGMA page_count").fetchone())
        await store._batcher.read(lambda: store._connection.execute(f"PRAGMA max_page_count = {pages + 40}").fetchall())
        large = Transaction(events=[AuditEvent(0.0, "large", "", {"text": "x" * 1_000_000})])
        results = await gathered(store, store.commit(fact(0)), store.commit(large), store.commit(fact(1)))
        assert (results[0], results[2]) == (None, None)
        assert isinstance(results[1], StoreError)
        assert "disk is full" in str(results[1])
        assert [event.event.data["n"] async for event in store.events()] == [0, 1]
        assert await store.verify_chain() == 2

    whole(tmp_path)


def test_a_lock_that_is_never_released_is_told_to_all_who_wait_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("holdfast.store.sqlite.database.BUSY_SECONDS", 0.0)
    waits: list[float] = []
    monkeypatch.setattr("holdfast.store.sqlite.database.time.sleep", waits.append)

    @on_disk
    async def whole(store: SqliteStore) -> None:
        with closing(sqlite3.connect(store._database.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            results = await gathered(store, *map(store.commit, map(fact, range(10))), store.state(A))
            other.execute("ROLLBACK")
        assert [type(result) for result in results] == [StoreError] * 10 + [type(None)]
        assert "locked by another process" in str(results[0])
        await store.commit(fact(0))

    whole(tmp_path)
    assert len(waits) == 5  # for all of them together


@on_disk
async def test_closing_finishes_what_was_asked_before(store: SqliteStore):
    async with Busy(store):
        asked = asyncio.gather(*map(store.commit, map(fact, range(MANY))))
        await asyncio.sleep(0)
        closing_it = asyncio.ensure_future(store.close())
        await asyncio.sleep(0)
    await asked
    await closing_it
    with pytest.raises(StoreError, match="is closed"):
        await store.state(A)


@on_disk
async def test_questions_about_everything_are_put_to_the_file_once_a_visit(store: SqliteStore):
    await store.commit(fact(0))
    statements = await traced(store)
    calls = [call for _ in range(20) for call in (store.count_resources(), store.pauses(), store.quarantines())]
    answers = await gathered(store, *calls)
    assert answers == [{("prod", "Thing"): 1}, [], []] * 20
    assert len([statement for statement in statements if "SELECT" in statement]) == 3
    answers[0].clear()
    assert answers[3] == {("prod", "Thing"): 1}, "what one got is not shared with the next"
