"""Confidence in a conclusion that cannot be proved."""

from __future__ import annotations

from enum import StrEnum


class Confidence(StrEnum):
    """The strength of the evidence."""

    HIGH = "high"  # recorded, or stated by the provider
    MEDIUM = "medium"
    LOW = "low"  # another explanation is as likely
