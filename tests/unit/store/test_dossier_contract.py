"""What every store does, continued: matters that go on for a while, each taken further by one at a time."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from holdfast.store.protocol import Store
from holdfast.store.records import VersionConflict, VersionedRecord
from holdfast.store.transaction import RecordChanges, Transaction
from tests.unit.store.examples import event, on_every_store, on_shared_stores, open_store

PLAN = VersionedRecord("rollout", "web/7", {"phase": "canary", "of": [1, None, {"x": 2.5}], "long": "x" * 900})


async def keys(store: Store, collection: str, owner: str | None = None) -> list[str]:
    return [record.key async for record in store.records(collection, owner=owner)]


@on_every_store
async def test_a_matter_comes_back_as_it_was(store):
    full = replace(PLAN, owner="template web", due_at=12.5)
    await store.commit(Transaction(records=RecordChanges(put=[full])))
    assert await store.record("rollout", "web/7") == full
    assert await store.record("rollout", "web/8") is None
    assert await store.record("other", "web/7") is None


@on_every_store
async def test_only_who_saw_the_last_version_takes_it_further(store):
    await store.commit(Transaction(records=RecordChanges(put=[PLAN])))
    second = replace(PLAN, data={"phase": "waves"}, version=2)
    await store.commit(Transaction(records=RecordChanges(put=[second])))
    for version in (1, 2, 4):
        late = Transaction(events=[event("x")], records=RecordChanges(put=[replace(PLAN, version=version)]))
        with pytest.raises(VersionConflict) as caught:
            await store.commit(late)
        assert (caught.value.collection, caught.value.key) == ("rollout", "web/7")
    assert await store.record("rollout", "web/7") == second
    assert [item async for item in store.events()] == []


@on_every_store
async def test_a_new_matter_is_begun_once(store):
    await store.commit(Transaction(records=RecordChanges(put=[PLAN])))
    with pytest.raises(VersionConflict):
        await store.commit(Transaction(records=RecordChanges(put=[PLAN])))
    with pytest.raises(VersionConflict):
        await store.commit(Transaction(records=RecordChanges(put=[replace(PLAN, key="never begun", version=2)])))


@on_every_store
async def test_a_transaction_takes_a_matter_several_steps(store):
    await store.commit(Transaction(records=RecordChanges(put=[replace(PLAN, version=1), replace(PLAN, version=2)])))
    found = await store.record("rollout", "web/7")
    assert found is not None
    assert found.version == 2


@on_every_store
async def test_what_is_closed_is_gone_and_can_begin_anew(store):
    await store.commit(Transaction(records=RecordChanges(put=[PLAN, replace(PLAN, version=2)])))
    await store.commit(Transaction(records=RecordChanges(put=[PLAN], deleted=[("rollout", "web/7")])))
    assert await store.record("rollout", "web/7") == PLAN
    await store.commit(Transaction(records=RecordChanges(deleted=[("rollout", "web/7"), ("rollout", "nothing")])))
    assert await store.record("rollout", "web/7") is None


@on_every_store
async def test_a_collection_is_gone_through_in_order_and_by_owner(store):
    mixed = [VersionedRecord("child", f"{number:04}", {}, owner=f"t{number % 2}") for number in (*range(1200), 5000)]
    await store.commit(
        Transaction(
            records=RecordChanges(
                put=[*mixed[::-1], VersionedRecord("childish", "a", {}), VersionedRecord("child", "zz", {})]
            )
        )
    )
    assert await keys(store, "child") == [*sorted(item.key for item in mixed), "zz"]
    assert await keys(store, "child", "t1") == [item.key for item in mixed if item.owner == "t1"]
    assert await keys(store, "child", "t") == []


@on_every_store
async def test_what_is_due_comes_with_the_longest_overdue_first(store):
    times = {"a": 30.0, "b": 10.0, "c": None, "d": 10.0, "e": 50.0}
    await store.commit(
        Transaction(records=RecordChanges(put=[VersionedRecord("s", key, {}, due_at=at) for key, at in times.items()]))
    )
    assert [record.key for record in await store.due_records("s", 30.0, 9)] == ["b", "d", "a"]
    assert [record.key for record in await store.due_records("s", 30.0, 1)] == ["b"]
    assert await store.next_due_record("s") == 10.0
    assert await store.next_due_record("t") is None
    await store.commit(
        Transaction(
            records=RecordChanges(
                put=[VersionedRecord("s", "b", {}, version=2), VersionedRecord("s", "d", {}, version=2)]
            )
        )
    )
    assert await store.next_due_record("s") == 30.0


@on_every_store
async def test_what_is_done_to_an_answer_is_not_done_to_the_store(store):
    data = {"list": [1]}
    await store.commit(Transaction(records=RecordChanges(put=[VersionedRecord("s", "k", data)])))
    data["list"].append(2)
    found = await store.record("s", "k")
    assert found is not None
    found.data["list"].append(3)
    again = await store.record("s", "k")
    assert again is not None
    assert again.data == {"list": [1]}


@on_shared_stores
def test_of_two_processes_one_takes_the_step(kind, tmp_path):
    async def race() -> list[str]:
        one, other = [await open_store(kind, tmp_path) for _ in range(2)]
        try:
            await one.commit(Transaction(records=RecordChanges(put=[PLAN])))

            async def step(store: Store, name: str) -> str:
                try:
                    await store.commit(
                        Transaction(records=RecordChanges(put=[replace(PLAN, data={"by": name}, version=2)]))
                    )
                except VersionConflict:
                    return "refused"
                return name

            took = await asyncio.gather(step(one, "one"), step(other, "other"))
            kept = await one.record("rollout", "web/7")
            assert kept is not None
            assert kept.data["by"] in took
            return sorted(took)
        finally:
            await one.close()
            await other.close()

    assert "refused" in asyncio.run(race())
