"""Counts and times as a person reads them; every output uses these."""

from __future__ import annotations

from datetime import UTC, datetime

from holdfast.policy import durations


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: "1 resource", "2 resources"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def when(seconds: float | None) -> str:
    """Return a time in UTC."""
    return "never" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def ago(seconds: float | None, now: float) -> str:
    """Return the distance of a time: "3m12s ago", "in 5s", "now"."""
    if seconds is None:
        return "never"
    text = _distance(seconds, now)
    return text if text == "now" else f"{text} ago" if now >= seconds else f"in {text}"


def due(seconds: float, now: float) -> str:
    """Return the distance of a time that something is due at: "in 5s", "now", "overdue by 3m10s"."""
    text = _distance(seconds, now)
    return text if text == "now" else f"overdue by {text}" if now >= seconds else f"in {text}"


def _distance(seconds: float, now: float) -> str:
    distance = abs(now - seconds)
    return durations.format_seconds(float(int(distance))) if distance >= 1 else "now"
