"""Conditions: the status of a resource for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from holdfast.model.record import dataclass


class ConditionType(StrEnum):
    """The conditions every resource has."""

    PROGRESSING = "Progressing"  # False: not checked again until an edit or the next resync
    AVAILABLE = "Available"
    DRIFTED = "Drifted"
    FRESH = "Fresh"  # the last successful check is recent enough
    CONFLICT = "Conflict"  # two controllers write one field


class Truth(StrEnum):
    """The value of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition with its reason; the transition time changes only with the status."""

    type: ConditionType
    status: Truth
    reason: str
    message: str
    observed_generation: int
    last_transition: float  # seconds since the epoch


def merge(old: Mapping[ConditionType, Condition], new: Iterable[Condition]) -> dict[ConditionType, Condition]:
    """Replace conditions, keeping the transition time of those whose status did not change."""
    out = dict(old)
    for condition in new:
        before = old.get(condition.type)
        if before is not None and before.status is condition.status:
            condition = Condition(  # noqa: PLW2901 - the point of the loop
                condition.type,
                condition.status,
                condition.reason,
                condition.message,
                condition.observed_generation,
                before.last_transition,
            )
        out[condition.type] = condition
    return out
