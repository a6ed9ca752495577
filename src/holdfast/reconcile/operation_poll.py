"""Following operations that take their time: for so long, and no longer once somebody says stop.

An operation that is not ended is recorded with its token, so that any later run can ask again.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass

from holdfast.policy import durations
from holdfast.reconcile.clock import Clock


class StillInProgress(Exception):  # noqa: N818 - an outcome, not a mistake
    """The API has not ended an operation; it is asked again by a later run."""


@dataclass(slots=True)
class PollPolicy:
    """How long one operation is followed at a time."""

    clock: Clock
    stop: asyncio.Event | None
    seconds: float = math.inf
    _began: float | None = None

    async def wait(self, seconds: float) -> None:
        """Wait before asking again; raise StillUnderWay if that would take too long, or somebody says stop."""
        now = self.clock.monotonic()
        self._began = now if self._began is None else self._began
        if now - self._began >= self.seconds:
            followed = durations.format_seconds(float(int(now - self._began)))
            raise StillInProgress(f"the API has not ended the operation after {followed}; the next run asks again")
        await self._sleep(seconds)
        if self.stop is not None and self.stop.is_set():
            raise StillInProgress("the API has not ended the operation; the next run asks again")

    async def _sleep(self, seconds: float) -> None:
        if self.stop is None:
            await self.clock.sleep(seconds)
            return
        waits = [asyncio.ensure_future(self.clock.sleep(seconds)), asyncio.ensure_future(self.stop.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
