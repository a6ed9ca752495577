"""Due times. Pure."""

from __future__ import annotations


def earlier(one: float | None, other: float | None) -> float | None:
    """Return the earlier of two due times; None is never."""
    return min((at for at in (one, other) if at is not None), default=None)
