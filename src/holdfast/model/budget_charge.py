"""A charge of a correction against a budget."""

from __future__ import annotations

from holdfast.model.record import dataclass


@dataclass(frozen=True, slots=True)
class BudgetCharge:
    """A charge on a budget bucket, which takes at most `limit` charges since `since`."""

    bucket: str
    limit: int
    since: float
