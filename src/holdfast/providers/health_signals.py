"""Signs of life that a reading alone tells."""

from __future__ import annotations

from holdfast.model.health import Vital
from holdfast.model.read_result import Found, Gone, Reading, Trouble, Unreadable
from holdfast.providers.protocol import Unchanged


def of_reading(name: str, reading: Reading | Unchanged) -> Vital:
    """Tell whether a thing is there and at rest, its last operation having gone well; a failed read tells nothing."""
    match reading:
        case Found(failed=failed):
            return Vital(name, not failed)
        case Gone() | Unreadable(trouble=Trouble.UNSETTLED):
            return Vital(name, is_well=False)
        case _:
            return Vital(name, None)
