"""A clock that tests move by hand."""

from __future__ import annotations

import asyncio


class FakeClock:
    """A clock that moves only when a task sleeps, so that no test waits."""

    def __init__(self, start: float = 1_800_000_000.0) -> None:
        self._now = start
        self._elapsed = 0.0
        self.slept = 0.0

    def now(self) -> float:
        """Return the present."""
        return self._now

    def monotonic(self) -> float:
        """Return the seconds that have passed; a clock that is set back takes none of them away."""
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        """Move the clock, and let other tasks run."""
        self._now += max(0.0, seconds)
        self._elapsed += max(0.0, seconds)
        self.slept += max(0.0, seconds)
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        """Move the clock; backwards too, for clock jumps are what tests are for."""
        self._now += seconds
        self._elapsed += max(0.0, seconds)
