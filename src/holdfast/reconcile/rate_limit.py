"""Per-connection limits: how much at once, how often, and a pause for everybody when the API says slow down."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum

from holdfast.providers.protocol import SupportsQuota
from holdfast.reconcile.clock import Clock

DEFAULT_PAUSE_SECONDS = 5.0  # where an API throttles without saying for how long
LONGEST_PAUSE_SECONDS = 300.0


class CallKind(StrEnum):
    """Reads, writes and deletes are paid from separate buckets, as the APIs count them."""

    READ = "read"
    WRITE = "write"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class RateLimits:
    """What one connection may use; infinite rates mean no limit of ours."""

    concurrency: int = 16
    reads_per_second: float = math.inf
    writes_per_second: float = math.inf
    deletes_per_second: float = math.inf


class _Bucket:
    """A token bucket of one second's worth; callers are told how long to wait, and come in turn."""

    def __init__(self, per_second: float, now: float) -> None:
        self._per_second = per_second
        self._free_at = now

    def wait(self, now: float) -> float:
        """Take one token; return the seconds until it is there."""
        if math.isinf(self._per_second):
            return 0.0
        self._free_at = max(self._free_at, now - 1.0) + 1.0 / self._per_second
        return max(0.0, self._free_at - now)


class RateLimiter:
    """The one way to a connection's API."""

    def __init__(self, limits: RateLimits, clock: Clock) -> None:
        self._clock = clock
        self._slots = asyncio.Semaphore(limits.concurrency)
        now = clock.monotonic()  # pauses and rates must outlive a machine clock that is set back
        self._buckets = {
            CallKind.READ: _Bucket(limits.reads_per_second, now),
            CallKind.WRITE: _Bucket(limits.writes_per_second, now),
            CallKind.DELETE: _Bucket(limits.deletes_per_second, now),
        }
        self._closed_until = now
        self.quota: SupportsQuota | None = None  # what the API itself has left for us, where its reader knows

    @asynccontextmanager
    async def turn(self, budget: CallKind, *, urgent: bool = True) -> AsyncIterator[None]:
        """Wait for a slot, a token and the end of any pause, then let one call through.

        What is not urgent waits first for its share of the quota, and takes no slot while it does.
        """
        if self.quota is not None:
            await self._share(budget, urgent=urgent)
        async with self._slots:
            await self._open()
            wait = self._buckets[budget].wait(self._clock.monotonic())
            if wait > 0:
                await self._clock.sleep(wait)
            yield

    async def token(self, budget: CallKind, *, urgent: bool = True) -> None:
        """Wait for what is not waited for in `slot`: a share of the quota, the end of a pause and the rate limit.

        Who has a token holds nothing that others wait for, so it may claim and look before it asks for a slot.
        """
        await self._share(budget, urgent=urgent)
        await self._open()
        wait = self._buckets[budget].wait(self._clock.monotonic())
        if wait > 0:
            await self._clock.sleep(wait)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a slot and the end of any pause, then let one call through; its token was taken before."""
        async with self._slots:
            await self._open()
            yield

    async def _open(self) -> None:
        while (pause := self._closed_until - self._clock.monotonic()) > 0:
            await self._clock.sleep(pause)

    async def _share(self, budget: CallKind, *, urgent: bool) -> None:
        while self.quota is not None:
            wait = self.quota.wait(budget.value, self._clock.now(), urgent=urgent)
            if wait <= 0:
                return
            await self._clock.sleep(wait)

    def throttled(self, retry_after_seconds: float | None) -> None:
        """Close the gate for everybody on this connection, not just for the one that was told."""
        pause = min(retry_after_seconds or DEFAULT_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
        self._closed_until = max(self._closed_until, self._clock.monotonic() + pause)
