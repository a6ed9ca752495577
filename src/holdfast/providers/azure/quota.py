"""Quota: what is left of a subscription's reads, writes and deletes, learnt from what Azure says with every answer.

Azure counts per subscription and principal, reads, writes and deletes apart. It has two models, and does not say which
holds: so many an hour (12,000 reads, 1,200 writes), or buckets that refill (200 writes, 10 more a second). Both are met
by the same estimate: what the last answer said was left, plus what seems to come back, minus what was sent since. How
much comes back is learnt too: at first as little as the hourly model grants, and never taken to be less.

Checks that nobody asked for stop at a reserve, so that a change a person waits for still gets through; those in turn
stop short of nothing, so that nobody is ever refused. Pure: time is an argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

HOUR: Final = 3600.0
RESERVE: Final = 0.2  # of the most that was ever left: below it only changes that somebody waits for go through
MARGIN: Final = 0.05  # of the most that was ever left: below it nothing does
LONGEST_WAIT: Final = 60.0  # seconds; then it is looked at again
_SAMPLE_SECONDS: Final = 10.0
_FEW: Final = 10.0
_MOMENT: Final = 1.0  # seconds
_FORGOTTEN: Final = 300.0  # seconds without a word after which nobody is on the way any more
_FIRST_PAUSE: Final = 5.0  # seconds, after a 429 that does not say how long; doubles with each in a row
_LONGEST_PAUSE: Final = 300.0
_WORDS: Final = {"read": "reads", "write": "writes", "delete": "deletes"}
_HEADER: Final = "x-ms-ratelimit-remaining-subscription-"


@dataclass(slots=True)
class Bucket:
    """One count: reads, writes or deletes of one subscription and principal."""

    capacity: float  # the most that was ever left
    refill: float = field(init=False)  # a second, as learnt
    left: float = field(init=False)  # by the last answer, less what was granted and is not answered yet
    at: float = 0.0  # when that answer came
    closed_until: float = 0.0
    refused: int = 0  # in a row
    granted: int = 0  # and not answered yet: who was let through may still wait for a free line
    _asked: float = 0.0  # when somebody was last let through
    _since: float = 0.0  # when the sample of the refill was begun
    _sampled: float = 0.0  # what was left then
    _sent: int = 0  # since then
    _came: float = 0.0  # a second, in the sample before

    def __post_init__(self) -> None:
        self.left = self._sampled = self.capacity
        self.refill = self.capacity / HOUR

    def estimate(self, now: float) -> float:
        """Return the remaining quota, as far as known."""
        return min(self.capacity, self.left + self.refill * max(0.0, now - self.at))

    def wait(self, now: float, *, urgent: bool) -> float:
        """Return how long to wait before one more may be sent; 0 takes it."""
        if now < self.closed_until:
            return self.closed_until - now
        if now - max(self.at, self._asked) > _FORGOTTEN:
            self.granted = 0
        floor = max(1.0, (MARGIN if urgent else RESERVE) * self.capacity)
        there = self.estimate(now)
        if there < floor:
            return min(LONGEST_WAIT, max(_MOMENT, (floor - there + 1.0) / self.refill))
        if self.left < floor and self.granted >= max(_FEW, MARGIN / 2 * self.capacity):
            return _MOMENT  # what should have come back is believed for a few; their answers tell whether it has
        self.granted += 1
        self.left -= 1.0
        self._asked = now
        return 0.0

    def answered(self) -> None:
        """Note that somebody who was let through is back, whatever came of it."""
        self.granted = max(0, self.granted - 1)
        self._sent += 1

    def learn(self, remaining: float, now: float) -> None:
        """Take in what an answer says is left."""
        self.refused = 0
        self.capacity = max(self.capacity, remaining)
        self.refill = max(self.refill, self.capacity / HOUR)
        self._sample(remaining, now)
        self.left, self.at = remaining - self.granted, now

    def _sample(self, remaining: float, now: float) -> None:
        """Compare with what was left a while ago: what was not sent by us came back, or somebody else took it."""
        if self._since == 0.0:
            self._restart(remaining, now)
            return
        seconds = now - self._since
        if seconds < _SAMPLE_SECONDS:
            return
        if remaining < self.capacity:  # a full bucket takes nothing in, so it tells nothing
            came = (remaining - self._sampled + self._sent) / seconds
            # Twice in a row, or it was the hour that began anew, and no more will come until the next.
            self.refill = max(self.capacity / HOUR, min(came, self._came))
            self._came = came
        self._restart(remaining, now)

    def _restart(self, remaining: float, now: float) -> None:
        self._since, self._sampled, self._sent = now, remaining, 0

    def refuse(self, retry_after: float | None, now: float) -> float:
        """Take in a 429; return for how long everybody should keep away."""
        pause = retry_after or min(_FIRST_PAUSE * 2.0**self.refused, _LONGEST_PAUSE)
        self.refused += 1
        self.closed_until = max(self.closed_until, now + pause)
        self.left, self.at = 0.0, now
        return pause


def _buckets() -> dict[str, Bucket]:
    """Return the buckets as Azure publishes them; the first answers correct what is wrong about that."""
    return {"read": Bucket(250.0), "write": Bucket(200.0), "delete": Bucket(200.0)}


@dataclass(slots=True)
class Quota:
    """The remaining quota of one subscription and principal."""

    buckets: dict[str, Bucket] = field(default_factory=_buckets)
    now: float = 0.0  # when somebody last asked; an answer comes soon after

    def wait(self, budget: str, now: float, *, urgent: bool) -> float:
        """Return how long to wait before one more call; 0 takes it."""
        self.now = max(self.now, now)
        return self.buckets[budget].wait(now, urgent=urgent)

    def learn(self, method: str, status: int, headers: Mapping[str, str], retry_after: float | None) -> None:
        """Take in what an answer says: what is left, or that there is nothing."""
        bucket = self.buckets[budget_of(method)]
        bucket.answered()
        if status == 429:
            bucket.refuse(retry_after, self.now)
            return
        remaining = remaining_in(headers, budget_of(method))
        if remaining is not None:
            bucket.learn(remaining, self.now)

    def lost(self, method: str) -> None:
        """Note that no answer came."""
        self.buckets[budget_of(method)].answered()


def budget_of(method: str) -> str:
    """Return from which count a request is taken."""
    return {"GET": "read", "HEAD": "read", "DELETE": "delete"}.get(method, "write")


def remaining_in(headers: Mapping[str, str], budget: str) -> float | None:
    """Return the remaining quota in an answer: the smallest of its counts."""
    word = _WORDS[budget]
    found = (headers.get(f"{_HEADER}{scope}{word}") for scope in ("", "global-"))
    numbers = [float(each) for each in found if each is not None and each.strip().isdigit()]
    return min(numbers) if numbers else None
