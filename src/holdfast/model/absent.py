"""The value of an absent field: neither null nor empty."""

from __future__ import annotations

from enum import Enum
from typing import Final


class Absent(Enum):
    """One member, so that `x is ABSENT` narrows types and survives copying and pickling."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


ABSENT: Final = Absent.ABSENT
