"""Remaining quota of a subscription for reads, writes and deletes, learnt from the headers of Azure's answers.

Azure counts per subscription and principal, with separate counts for reads, writes and deletes. It has two models and
does not state which one applies: a fixed number per hour (12,000 reads, 1,200 writes), or buckets that refill (200
writes, 10 more per second). One estimate covers both: the remaining quota of the last answer, plus the expected refill,
minus the requests sent since. The refill rate is learnt too. It starts at the rate of the hourly model and is never
assumed to be lower.

Background checks stop at a reserve, so that a change that a person waits for still gets through. Urgent calls stop just
above zero, so that Azure never rejects a call. Pure: time is an argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

HOUR: Final = 3600.0
RESERVE: Final = 0.2  # share of the highest count seen: below it only urgent changes are sent
MARGIN: Final = 0.05  # share of the highest count seen: below it no request is sent
LONGEST_WAIT: Final = 60.0  # seconds until the estimate is checked again
_SAMPLE_SECONDS: Final = 10.0
_FEW: Final = 10.0
_MOMENT: Final = 1.0  # seconds
_FORGOTTEN: Final = 300.0  # seconds without an answer after which no call counts as in flight
_FIRST_PAUSE: Final = 5.0  # seconds, after a 429 without a Retry-After; doubles with each in a row
_LONGEST_PAUSE: Final = 300.0
_WORDS: Final = {"read": "reads", "write": "writes", "delete": "deletes"}
_HEADER: Final = "x-ms-ratelimit-remaining-subscription-"


@dataclass(slots=True)
class Bucket:
    """One count: reads, writes or deletes of one subscription and principal."""

    capacity: float  # the highest remaining count seen
    refill: float = field(init=False)  # per second, as learnt
    left: float = field(init=False)  # from the last answer, less the granted calls that have no answer yet
    at: float = 0.0  # time of that answer
    closed_until: float = 0.0
    refused: int = 0  # in a row
    granted: int = 0  # granted and not answered yet, because a granted call may still wait for a free connection
    _asked: float = 0.0  # time of the last granted call
    _since: float = 0.0  # start of the current refill sample
    _sampled: float = 0.0  # the remaining count at that start
    _sent: int = 0  # calls since that start
    _came: float = 0.0  # per second, in the previous sample

    def __post_init__(self) -> None:
        self.left = self._sampled = self.capacity
        self.refill = self.capacity / HOUR

    def estimate(self, now: float) -> float:
        """Return the remaining quota, as far as known."""
        return min(self.capacity, self.left + self.refill * max(0.0, now - self.at))

    def wait(self, now: float, *, urgent: bool) -> float:
        """Return the seconds to wait before one more call. 0 takes the share."""
        if now < self.closed_until:
            return self.closed_until - now
        if now - max(self.at, self._asked) > _FORGOTTEN:
            self.granted = 0
        floor = max(1.0, (MARGIN if urgent else RESERVE) * self.capacity)
        there = self.estimate(now)
        if there < floor:
            return min(LONGEST_WAIT, max(_MOMENT, (floor - there + 1.0) / self.refill))
        if self.left < floor and self.granted >= max(_FEW, MARGIN / 2 * self.capacity):
            return _MOMENT  # an expected refill is trusted for a few calls; their answers confirm or correct it
        self.granted += 1
        self.left -= 1.0
        self._asked = now
        return 0.0

    def answered(self) -> None:
        """Record that a granted call ended, whatever its result."""
        self.granted = max(0, self.granted - 1)
        self._sent += 1

    def learn(self, remaining: float, now: float) -> None:
        """Record the remaining count of an answer."""
        self.refused = 0
        self.capacity = max(self.capacity, remaining)
        self.refill = max(self.refill, self.capacity / HOUR)
        self._sample(remaining, now)
        self.left, self.at = remaining - self.granted, now

    def _sample(self, remaining: float, now: float) -> None:
        """Compare with an earlier count to learn the refill: the difference that our calls do not explain."""
        if self._since == 0.0:
            self._restart(remaining, now)
            return
        seconds = now - self._since
        if seconds < _SAMPLE_SECONDS:
            return
        if remaining < self.capacity:  # a full bucket does not refill, so it shows no rate
            came = (remaining - self._sampled + self._sent) / seconds
            # Two samples in a row must agree. A single rise may be the start of a new hour, without any refill until
            # the next hour.
            self.refill = max(self.capacity / HOUR, min(came, self._came))
            self._came = came
        self._restart(remaining, now)

    def _restart(self, remaining: float, now: float) -> None:
        self._since, self._sampled, self._sent = now, remaining, 0

    def refuse(self, retry_after: float | None, now: float) -> float:
        """Record a 429; return the seconds for which all calls should wait."""
        pause = retry_after or min(_FIRST_PAUSE * 2.0**self.refused, _LONGEST_PAUSE)
        self.refused += 1
        self.closed_until = max(self.closed_until, now + pause)
        self.left, self.at = 0.0, now
        return pause


def _buckets() -> dict[str, Bucket]:
    """Return the buckets with the limits that Azure publishes. The first answers correct wrong limits."""
    return {"read": Bucket(250.0), "write": Bucket(200.0), "delete": Bucket(200.0)}


@dataclass(slots=True)
class Quota:
    """The remaining quota of one subscription and principal."""

    buckets: dict[str, Bucket] = field(default_factory=_buckets)
    now: float = 0.0  # time of the last call; its answer follows soon after

    def wait(self, budget: str, now: float, *, urgent: bool) -> float:
        """Return the seconds to wait before one more call. 0 takes the share."""
        self.now = max(self.now, now)
        return self.buckets[budget].wait(now, urgent=urgent)

    def learn(self, method: str, status: int, headers: Mapping[str, str], retry_after: float | None) -> None:
        """Record the quota of an answer: the remaining count, or a rejection."""
        bucket = self.buckets[budget_of(method)]
        bucket.answered()
        if status == 429:
            bucket.refuse(retry_after, self.now)
            return
        remaining = remaining_in(headers, budget_of(method))
        if remaining is not None:
            bucket.learn(remaining, self.now)

    def lost(self, method: str) -> None:
        """Record that a call got no answer."""
        self.buckets[budget_of(method)].answered()


def budget_of(method: str) -> str:
    """Return the count that a request is taken from."""
    return {"GET": "read", "HEAD": "read", "DELETE": "delete"}.get(method, "write")


def remaining_in(headers: Mapping[str, str], budget: str) -> float | None:
    """Return the remaining quota of an answer: the smallest of its counts."""
    word = _WORDS[budget]
    found = (headers.get(f"{_HEADER}{scope}{word}") for scope in ("", "global-"))
    numbers = [float(name) for name in found if name is not None and name.strip().isdigit()]
    return min(numbers) if numbers else None
