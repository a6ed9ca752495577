"""Signs of life that a reading alone tells."""

from __future__ import annotations

from holdfast.model.health import HealthSignal
from holdfast.model.read_result import Found, NotFound, ReadError, ReadFailure, ReadResult
from holdfast.providers.protocol import Unchanged


def of_reading(name: str, reading: ReadResult | Unchanged) -> HealthSignal:
    """Tell whether a thing is there and at rest, its last operation having gone well; a failed read tells nothing."""
    match reading:
        case Found(failed=failed):
            return HealthSignal(name, not failed)
        case NotFound() | ReadFailure(trouble=ReadError.UNSETTLED):
            return HealthSignal(name, is_well=False)
        case _:
            return HealthSignal(name, None)
