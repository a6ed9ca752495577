"""Calls done together, by several processes or by one that is killed: nothing answered is lost, nothing is halved."""

from __future__ import annotations

import random

from holdfast.store.sqlite.store import SqliteStore
from tests.integration.store import worker
from tests.integration.store.test_processes import looked_at, started, together
from tests.unit.store.examples import listed

KILLS = 8


def test_processes_that_commit_many_at_once_lose_nothing_and_each_failure_stays_alone(tmp_path):
    path, owners, count = tmp_path / "s.db", ["p", "q", "r"], 600
    said = together("commit_at_once", path, owners, count)
    rounds = -(-count // worker.AT_ONCE)
    assert list(said.values()) == [[["failed", "1", "1"]] * rounds + [["done"]]] * len(owners)

    async def look(store: SqliteStore) -> None:
        assert await store.verify_chain() == len(owners) * count
        told: dict[str, list[int]] = {owner: [] for owner in owners}
        async for event in store.events():
            told[event.event.subject.split("/")[1]].append(event.event.data["n"])
        assert told == {owner: list(range(1, count + 1)) for owner in owners}  # in the order of asking
        states = await listed(store.all_states())
        assert {(state.declared.provider, state.declared.generation) for state in states} == {
            (owner, number) for owner in owners for number in range(1, count + 1)
        }

    looked_at(path, look)


def test_whatever_was_answered_is_there_after_kill_9(tmp_path):
    path, chance, answered = tmp_path / "s.db", random.Random(7), set[int]()
    for round_ in range(KILLS):
        with started("acknowledge_for_ever", path, "p", 1 + round_ * 100_000) as process:
            assert process.stdout is not None
            for _ in range(chance.randrange(1, 400)):
                answered.add(int(process.stdout.readline()))
            process.kill()
            answered.update(int(line) for line in process.stdout.read().split("\n")[:-1])
        assert answered <= looked_at(path, numbers_kept)
    assert len(answered) > KILLS


async def numbers_kept(store: SqliteStore) -> set[int]:
    """Return the numbers of what is kept, having checked that each is kept whole."""
    kept = {state.declared.generation async for state in store.all_states()}
    assert {event.event.data["n"] async for event in store.events()} == kept
    await store.verify_chain()
    return kept
