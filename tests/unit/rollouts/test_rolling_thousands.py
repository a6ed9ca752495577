"""Ten thousand children, one edit, a budget of 5 %, 3 % failing, killed with signal 9 thrice: the end is exact."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import orjson
import pytest

from holdfast.model.verdict import Status
from holdfast.store.sqlite.store import SqliteStore
from tests.unit.rollouts import thousands

START = 1_800_000_000.0


def size(folder: Path) -> int:
    return (folder / "journal").stat().st_size


def run(folder: Path, start: float, kill_at: int | None) -> bool:
    """Let a process roll, and kill itself when its journal has grown so far. Return whether it came to the end."""
    command = [sys.executable, "-m", "tests.unit.rollouts.thousands", str(folder), str(start), "debug"]
    environ = {**os.environ, **({} if kill_at is None else {"KILL_AT": str(kill_at)})}
    code = subprocess.run(command, env=environ, check=False).returncode
    assert code in (0, -signal.SIGKILL)
    return code == 0


@pytest.mark.slow
def test_the_budget_holds_it_halts_when_told_and_goes_on_after_every_kill(tmp_path):
    many = thousands.MANY
    asyncio.run(thousands.seed(tmp_path, START))
    seeded = size(tmp_path)
    start, kills = START + 10_000, 0
    for share in (0.2, 0.8, 1.5):  # of what the seed has written
        start += 10_000
        kills += not run(tmp_path, start, seeded + int(seeded * share))
    assert kills == 3
    assert run(tmp_path, start + 10_000, None)
    _the_world_is_exact(tmp_path, many)
    asyncio.run(_the_records_are_exact(tmp_path, many))


def _the_world_is_exact(folder: Path, many: int) -> None:
    """Go through every write in order: never too many at once, never a slot without a child."""
    slots, most = Counter[str](), 0
    names: dict[str, str] = {}
    for place, (verb, _, ident, _, body) in enumerate(thousands.lines(folder)):
        if verb == "create":
            names[ident] = body["name"]
            slots[_slot(body["name"])] += 1
        else:
            slot = _slot(names.pop(ident))
            slots[slot] -= 1
            assert slots[slot] >= 1, f"{slot} was left without a child"
        if place >= many:
            most = max(most, len(names) - many)
    assert 0 < most <= many // 20, "children beyond one a slot"
    assert len(names) == many
    assert set(slots.values()) == {1}
    assert all("-r1" in name and not thousands.is_failing(name) for name in names.values())


def _slot(name: str) -> str:
    return name.partition("-r")[0]


async def _the_records_are_exact(folder: Path, many: int) -> None:
    store = await SqliteStore.open(folder / "holdfast.db")
    try:
        assert orjson.loads((folder / "end-debug").read_bytes()) == {"children": {"ready": many}}
        assert (await store.count_statuses(0.0)).by_status == {Status.IN_SYNC.value: many}
        assert await store.operations() == [], "what a kill interrupted was finished"
        assert await store.claims() == []
        told = Counter([event.event.type async for event in store.events(type_prefix="rollout.")])
        assert told["rollout.halted"] >= 1, "it halts when told"
        assert told["rollout.complete"] == 1
        failed = {event.event.subject async for event in store.events(type_prefix="child.failed")}
        assert all(thousands.is_failing(subject.rpartition("/")[2]) for subject in failed)
        assert len(failed) >= many * 0.02
        await store.verify_chain()
    finally:
        await store.close()
