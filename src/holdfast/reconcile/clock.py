"""Time, as something that can be replaced."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Where the engine gets its time from, and how it waits."""

    def now(self) -> float:
        """Return seconds since the epoch."""

    def monotonic(self) -> float:
        """Return seconds since some moment; it never goes back, whatever becomes of the machine's clock."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Return seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds since the machine started, or thereabouts."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
