"""Why we write: because the world moved, because something is gone, because both moved, or because we were told to.

Budgets and windows limit writes by motive. A decision carries a finer code for people; this is the coarse word behind
it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from holdfast.model.verdict import Status


class Motive(StrEnum):
    """The closed set of motives; a correction is any but the last."""

    DRIFT = "drift"
    MISSING = "missing"
    CONFLICT = "conflict"
    INTENT = "intent"  # the declaration moved, or a person asked


CORRECTIONS: Final = frozenset({Motive.DRIFT, Motive.MISSING, Motive.CONFLICT})
EVERY: Final = frozenset(Motive)

_BY_STATUS: Final = {
    Status.DRIFTED: Motive.DRIFT,
    Status.MISSING: Motive.MISSING,
    Status.CONFLICTED: Motive.CONFLICT,
    Status.PENDING: Motive.INTENT,
    Status.IN_SYNC: Motive.INTENT,
}
_BY_CODE: Final = {
    **{motive.value: motive for motive in Motive},
    "recreate": Motive.MISSING,
    "create": Motive.INTENT,
    "adopt": Motive.INTENT,
    "removed": Motive.INTENT,
    "undo": Motive.INTENT,
}


def of_status(status: Status) -> Motive:
    """Return the motive of a write that follows a verdict; nothing follows unknown, so it is the careful word."""
    return _BY_STATUS.get(status, Motive.DRIFT)


def of_code(code: str) -> Motive:
    """Return the motive behind a decision's code; a code that could be either counts as drift, which is limited.

    One is ambiguous: `immutable`. Who knows the verdict asks `of_status` instead.
    """
    return _BY_CODE.get(code, Motive.DRIFT)
