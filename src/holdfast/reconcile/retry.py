"""How long to wait before trying again: exponential, jittered, and never less than the API asked for."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.model.read_result import ReadError
from holdfast.model.record import dataclass

RETRIED = frozenset(
    {ReadError.TIMEOUT, ReadError.SERVER_ERROR, ReadError.UNREACHABLE, ReadError.THROTTLED, ReadError.UNSETTLED}
)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long to try within one run."""

    attempts: int = 4
    first_seconds: float = 0.5
    longest_seconds: float = 30.0

    def delay(self, attempt: int, asked: float | None, random01: Callable[[], float]) -> float:
        """Return the wait after the given attempt (counted from 1): full jitter over the upper half."""
        ceiling = min(self.longest_seconds, self.first_seconds * 2.0 ** (attempt - 1))
        return max(asked or 0.0, ceiling * (0.5 + 0.5 * random01()))
