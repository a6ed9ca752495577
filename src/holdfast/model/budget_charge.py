"""A charge of a correction against a budget."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Charge:
    """A charge on a budget bucket, which takes at most `limit` charges since `since`."""

    purse: str
    limit: int
    since: float
