"""Health signals that follow from a read result alone."""

from __future__ import annotations

from holdfast.model.health import HealthSignal
from holdfast.model.read_result import Found, NotFound, ReadError, ReadFailure, ReadResult
from holdfast.providers.protocol import Unchanged


def of_reading(name: str, reading: ReadResult | Unchanged) -> HealthSignal:
    """Return True if a resource exists, is settled, and its last operation succeeded. A failed read gives no signal."""
    match reading:
        case Found(failed=failed):
            return HealthSignal(name, not failed)
        case NotFound() | ReadFailure(trouble=ReadError.UNSETTLED):
            return HealthSignal(name, is_well=False)
        case _:
            return HealthSignal(name, None)
