"""A clock that tests can replace."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Source of time and of waits for the engine."""

    def now(self) -> float:
        """Return seconds since the epoch."""

    def monotonic(self) -> float:
        """Return seconds since a fixed moment. The value never decreases, even if the system clock is changed."""

    async def sleep(self, seconds: float) -> None:
        """Wait for a number of seconds."""


class SystemClock:
    """The clock of the machine."""

    def now(self) -> float:
        """Return seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds since a fixed moment, usually the start of the machine."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait for a number of seconds."""
        await asyncio.sleep(seconds)
