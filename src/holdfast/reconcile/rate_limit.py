"""Per-connection limits: how much at once, how often, and a pause for everybody when the API says slow down."""

from __future__ import annotations

import asyncio
import math
from enum import StrEnum
from types import TracebackType

from holdfast.model.record import dataclass
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
    """The limits of one connection. An infinite rate means no limit of ours."""

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
        self._free_at = max(self._free_at, now - 1.0) + 1.0 / self._per_second
        return max(0.0, self._free_at - now)


class _Turn:
    """One call through a connection's limits. A class, because every read and write of a fleet goes through it."""

    __slots__ = ("_budget", "_limiter", "_urgent")

    def __init__(self, limiter: RateLimiter, budget: CallKind | None, *, urgent: bool = True) -> None:
        self._limiter = limiter
        self._budget = budget  # None: the token was taken before
        self._urgent = urgent

    async def __aenter__(self) -> None:
        limiter, budget = self._limiter, self._budget
        if limiter.quota is not None and budget is not None:
            await limiter.share(budget, urgent=self._urgent)
        await limiter.slots.acquire()
        try:
            await limiter.open(budget)
        except BaseException:
            limiter.slots.release()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._limiter.slots.release()


class RateLimiter:
    """The one way to a connection's API."""

    def __init__(self, limits: RateLimits, clock: Clock) -> None:
        self._clock = clock
        self.slots = asyncio.Semaphore(limits.concurrency)
        now = clock.monotonic()  # pauses and rates must outlive a machine clock that is set back
        rates = {
            CallKind.READ: limits.reads_per_second,
            CallKind.WRITE: limits.writes_per_second,
            CallKind.DELETE: limits.deletes_per_second,
        }
        self._buckets = {budget: _Bucket(rate, now) for budget, rate in rates.items() if not math.isinf(rate)}
        self._closed_until = now
        self.quota: SupportsQuota | None = None  # what the API itself has left for us, where its reader knows

    def turn(self, budget: CallKind, *, urgent: bool = True) -> _Turn:
        """Return a context that waits for a slot, a token and the end of any pause, then lets one call through.

        A call that is not urgent waits first for its share of the quota, and takes no slot while it does.
        """
        return _Turn(self, budget, urgent=urgent)

    async def token(self, budget: CallKind, *, urgent: bool = True) -> None:
        """Wait for the limits other than `slot`: a share of the quota, the end of a pause and the rate limit.

        The owner of a token holds nothing that others wait for, so it may claim and check before it asks for a slot.
        """
        await self.share(budget, urgent=urgent)
        await self.open(budget)

    def slot(self) -> _Turn:
        """Return a context that waits for a slot and the end of any pause; its token was taken before."""
        return _Turn(self, None)

    async def open(self, budget: CallKind | None) -> None:
        """Wait for the end of any pause, and take a token of a budget."""
        while (pause := self._closed_until - self._clock.monotonic()) > 0:
            await self._clock.sleep(pause)
        bucket = self._buckets.get(budget) if budget is not None else None
        wait = bucket.wait(self._clock.monotonic()) if bucket is not None else 0.0
        if wait > 0:
            await self._clock.sleep(wait)

    async def share(self, budget: CallKind, *, urgent: bool) -> None:
        """Wait for a share of the quota of the API."""
        while self.quota is not None:
            wait = self.quota.wait(budget.value, self._clock.now(), urgent=urgent)
            if wait <= 0:
                return
            await self._clock.sleep(wait)

    def throttled(self, retry_after_seconds: float | None) -> None:
        """Close the gate for everybody on this connection, not just for the one that was told."""
        pause = min(retry_after_seconds or DEFAULT_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
        self._closed_until = max(self._closed_until, self._clock.monotonic() + pause)
