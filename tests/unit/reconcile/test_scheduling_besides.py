"""What else comes due is done in its turn, and the watch wakes up for it."""

from __future__ import annotations

import asyncio
from typing import cast

from holdfast.store.sqlite.store import SqliteStore
from holdfast.testing.clock import FakeClock
from holdfast.watch.list_scan import ListScanner
from holdfast.watch.loop import ResyncLoop


class Alarm:
    """Something that comes due every five seconds."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.due = clock.now() + 5.0
        self.rung: list[float] = []

    async def run(self) -> bool:
        if self.clock.now() < self.due:
            return False
        self.rung.append(self.clock.now())
        self.due += 5.0
        return True

    async def next_at(self) -> float | None:
        return self.due


def test_the_watch_wakes_for_what_else_is_due_and_not_before():
    clock = FakeClock()
    begin, alarm = clock.now(), Alarm(clock)

    async def correct(_addresses):
        raise AssertionError("no resource is due")

    watcher = ResyncLoop(
        SqliteStore.in_memory(), correct, clock, lambda: 0.5, cast("ListScanner", None), besides=[alarm]
    )
    asyncio.run(watcher.run(rounds=6))
    assert [at - begin for at in alarm.rung] == [5.0, 10.0, 15.0]
