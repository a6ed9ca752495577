"""Why a write is made: drift, a deleted resource, a conflict, or an edited declaration.

Budgets and windows limit writes by motive. A decision carries a finer code for people; this is the coarse word behind
it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from holdfast.model.verdict import Status


class WriteReason(StrEnum):
    """The closed set of motives; a correction is any but the last."""

    DRIFT = "drift"
    MISSING = "missing"
    CONFLICT = "conflict"
    INTENT = "intent"  # the declaration moved, or a person asked


CORRECTIONS: Final = frozenset({WriteReason.DRIFT, WriteReason.MISSING, WriteReason.CONFLICT})
EVERY: Final = frozenset(WriteReason)

_BY_STATUS: Final = {
    Status.DRIFTED: WriteReason.DRIFT,
    Status.MISSING: WriteReason.MISSING,
    Status.CONFLICTED: WriteReason.CONFLICT,
    Status.PENDING: WriteReason.INTENT,
    Status.IN_SYNC: WriteReason.INTENT,
}
_BY_CODE: Final = {
    **{write_reason.value: write_reason for write_reason in WriteReason},
    "recreate": WriteReason.MISSING,
    "create": WriteReason.INTENT,
    "adopt": WriteReason.INTENT,
    "removed": WriteReason.INTENT,
    "undo": WriteReason.INTENT,
}


def of_status(status: Status) -> WriteReason:
    """Return the motive of a write that follows a verdict; nothing follows unknown, so it is the careful word."""
    return _BY_STATUS.get(status, WriteReason.DRIFT)


def of_code(code: str) -> WriteReason:
    """Return the motive behind a decision's code; a code that could be either counts as drift, which is limited.

    One is ambiguous: `immutable`. Who knows the verdict asks `of_status` instead.
    """
    return _BY_CODE.get(code, WriteReason.DRIFT)
