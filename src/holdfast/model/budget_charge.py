"""What a correction takes from a budget."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Charge:
    """A claim on a purse: at most `limit` charges since `since`; the purse's name says what it pays for."""

    purse: str
    limit: int
    since: float
