"""Virtual time for a whole event loop: it stands still while a task works, and jumps when all tasks wait.

A FakeClock moves whenever a task sleeps, which is right for one task. If many sleep at once, as in a fleet whose
operations take minutes, time must pass for all of them together. Here the loop itself has the time: when nothing is
ready to run and nothing comes in from outside, it jumps to the next moment that a task waits for. A day takes as long
as the work in it.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

START = 1_800_000_000.0
Result = TypeVar("Result")


class _Jumping(selectors.DefaultSelector):
    """A selector that never waits: it moves the time by what it was to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("all tasks wait, and none for a time: in virtual time they would wait for ever")
        if not ready and timeout is not None and timeout > 0:
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time; not for programs that use threads or talk to other processes."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Return the virtual seconds since the loop was made."""
        return self._jumping.now


class VirtualClock:
    """The time of the loop it is asked in, as seconds since the epoch."""

    def now(self) -> float:
        """Return the present; before the loop runs that is the beginning."""
        try:
            return START + asyncio.get_running_loop().time()
        except RuntimeError:
            return START

    def monotonic(self) -> float:
        """Return the same time, because a virtual clock is never set back."""
        return self.now()

    async def sleep(self, seconds: float) -> None:
        """Wait, in virtual time."""
        await asyncio.sleep(max(0.0, seconds))


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
