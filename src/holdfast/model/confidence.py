"""How sure something is that cannot be proved."""

from __future__ import annotations

from enum import StrEnum


class Confidence(StrEnum):
    """How much speaks for it."""

    HIGH = "high"  # it follows from what was recorded, or the provider itself says so
    MEDIUM = "medium"
    LOW = "low"  # something else is as likely, or little speaks for anything else
