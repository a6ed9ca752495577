"""How times look to a person."""

from __future__ import annotations

from datetime import UTC, datetime

from holdfast.policy import durations


def when(seconds: float | None) -> str:
    """Write a time in UTC."""
    return "never" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def ago(seconds: float | None, now: float) -> str:
    """Write how long ago, or in how long."""
    if seconds is None:
        return "never"
    distance = abs(now - seconds)
    text = durations.format_seconds(float(int(distance))) if distance >= 1 else "now"
    return text if text == "now" else f"{text} ago" if now >= seconds else f"in {text}"
