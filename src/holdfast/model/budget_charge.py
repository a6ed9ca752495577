"""What a correction takes from a budget."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BudgetCharge:
    """A claim on a bucket: at most `limit` charges since `since`; the bucket's name says what it pays for."""

    bucket: str
    limit: int
    since: float
