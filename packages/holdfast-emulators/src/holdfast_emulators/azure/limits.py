"""How much one may ask: per subscription and principal, separately for reads, writes and deletes.

Two models, for ARM has had both: so many an hour, and since 2024 buckets that refill by the second. What remains is
told in headers before it is used up; a 429 names when to come back, or does not, as was recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, Protocol, Self

KIND_OF = {"GET": "reads", "HEAD": "reads", "DELETE": "deletes"}  # everything else writes


def kind_of(method: str) -> str:
    """Return which allowance a method uses up."""
    return KIND_OF.get(method, "writes")


class Allowance(Protocol):
    """The remaining requests of one principal in one subscription."""

    def spend(self, now: float) -> tuple[int, float]:
        """Take one request. Return the remaining number and 0, or -1 and the seconds until one is available."""


@dataclass(slots=True)
class Window:
    """So many in each window of time; windows begin on the hour, or whatever they are long."""

    limit: int
    seconds: float = 3_600.0
    _window: float = -1.0
    _spent: int = 0

    def spend(self, now: float) -> tuple[int, float]:
        """Take one."""
        window = now // self.seconds
        if window != self._window:
            self._window, self._spent = window, 0
        if self._spent >= self.limit:
            return -1, (window + 1) * self.seconds - now
        self._spent += 1
        return self.limit - self._spent, 0.0


@dataclass(slots=True)
class Bucket:
    """A bucket of tokens that refills by the second."""

    size: float
    per_second: float
    _held: float = -1.0
    _at: float = 0.0

    def spend(self, now: float) -> tuple[int, float]:
        """Take one."""
        grown = self.size if self._held < 0 else self._held + max(0.0, now - self._at) * self.per_second
        self._held, self._at = min(self.size, grown), now
        if self._held < 1.0:
            return -1, (1.0 - self._held) / self.per_second
        self._held -= 1.0
        return int(self._held), 0.0


@dataclass(slots=True)
class Limits:
    """The allowances of all principals. Without `makers` there are none, and the headers have ARM's highest values.

    `providers` are limits of single namespaces in addition to those of ARM itself: they count all requests to one.
    """

    makers: dict[str, Callable[[], Allowance]] = field(default_factory=dict)  # by reads, writes, deletes
    providers: dict[str, Callable[[], Allowance]] = field(default_factory=dict)
    retry_after: Literal["always", "never", "alternate"] = "always"
    code: str = "SubscriptionRequestsThrottled"
    provider_code: str = "TooManyRequests"
    _held: dict[tuple[str, str, str], Allowance] = field(default_factory=dict)
    _refused: int = 0

    @classmethod
    def hourly(cls, reads: int = 12_000, writes: int = 1_200, deletes: int = 15_000) -> Self:
        """Limit as ARM did until 2024, and as the published numbers still say."""
        sizes = {"reads": reads, "writes": writes, "deletes": deletes}
        return cls({kind: partial(Window, size) for kind, size in sizes.items()})

    @classmethod
    def buckets(
        cls,
        reads: tuple[float, float] = (250, 25),
        writes: tuple[float, float] = (200, 10),
        deletes: tuple[float, float] = (200, 10),
    ) -> Self:
        """Limit as ARM does since 2024: the size of each bucket, and what it gains a second."""
        sizes = {"reads": reads, "writes": writes, "deletes": deletes}
        return cls({kind: partial(Bucket, *size) for kind, size in sizes.items()})

    def spend(self, subscription: str, principal: str, method: str, now: float) -> tuple[dict[str, str], bool]:
        """Count a request to ARM itself; return the headers to send, and whether it is to be refused."""
        headers, code = self.judge(subscription, principal, method, now)
        return headers, bool(code)

    def judge(
        self, subscription: str, principal: str, method: str, now: float, namespace: str = ""
    ) -> tuple[dict[str, str], str]:
        """Count a request; return the headers to send, and the code to refuse it with, empty if it is not refused."""
        kind = kind_of(method)
        header = f"x-ms-ratelimit-remaining-{'subscription' if subscription else 'tenant'}-{kind}"
        headers = {header: {"reads": "11999", "writes": "1199", "deletes": "14999"}[kind]}
        if kind in self.makers:
            remaining, wait = self._allowance((subscription, principal, kind), self.makers[kind]).spend(now)
            headers[header] = str(max(0, remaining))
            if remaining < 0:
                return {**headers, **self._when(wait)}, self.code
        maker = next((self.providers[name] for name in self.providers if name.casefold() == namespace.casefold()), None)
        if maker is None:
            return headers, ""
        remaining, wait = self._allowance((subscription, principal, namespace.casefold()), maker).spend(now)
        headers["x-ms-ratelimit-remaining-resource"] = f"{namespace}/{kind};{max(0, remaining)}"
        return (headers, "") if remaining >= 0 else ({**headers, **self._when(wait)}, self.provider_code)

    def _allowance(self, slot: tuple[str, str, str], maker: Callable[[], Allowance]) -> Allowance:
        slot = (slot[0].casefold(), *slot[1:])
        if slot not in self._held:
            self._held[slot] = maker()
        return self._held[slot]

    def _when(self, wait: float) -> dict[str, str]:
        """Return the Retry-After header, or none."""
        self._refused += 1
        says = self.retry_after == "always" or (self.retry_after == "alternate" and self._refused % 2 == 1)
        return {"Retry-After": str(max(1, math.ceil(wait)))} if says else {}
