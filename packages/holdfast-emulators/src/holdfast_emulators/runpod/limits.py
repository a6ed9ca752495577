"""Rate limits as v2 has them: windows for each user, told in headers before they are exceeded."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

WINDOW_SECONDS = {"minute": 60, "hour": 3_600, "day": 86_400}


@dataclass(slots=True)
class Limits:
    """How many requests a user has in each window; windows that are not named have no limit."""

    quotas: Mapping[str, int] = field(default_factory=lambda: {"minute": 10_000, "hour": 100_000, "day": 1_000_000})
    _spent: dict[tuple[str, str, int], int] = field(default_factory=lambda: defaultdict(int))

    def spend(self, user: str, now: float) -> tuple[dict[str, str], str | None]:
        """Count a request; return the headers to send, and the window that is used up, if one is."""
        left: list[str] = []
        exceeded: str | None = None
        headers: dict[str, str] = {}
        for name, quota in self.quotas.items():
            seconds = WINDOW_SECONDS[name]
            slot = (user, name, int(now // seconds))
            self._spent[slot] += 1
            wait = math.ceil(seconds - now % seconds)
            left.append(f'"{name}";r={max(0, quota - self._spent[slot])};t={wait}')
            if self._spent[slot] > quota and exceeded is None:
                exceeded = name
                headers["Retry-After"] = str(wait)
        policy = ", ".join(f'"{name}";q={quota};w={WINDOW_SECONDS[name]}' for name, quota in self.quotas.items())
        return {"RateLimit": ", ".join(left), "RateLimit-Policy": policy, **headers}, exceeded
