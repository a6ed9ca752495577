"""What may truthfully be said about a resource after a check."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from holdfast.model.finding import Finding


class Status(StrEnum):
    """The six verdicts; `stale` is a flag on any of them, never a seventh."""

    IN_SYNC = "in_sync"
    PENDING = "pending"  # intent moved
    DRIFTED = "drifted"  # the world moved
    CONFLICTED = "conflicted"  # both moved
    MISSING = "missing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A status, the sentence that justifies it, and the findings behind it."""

    status: Status
    reason: str
    findings: tuple[Finding, ...] = ()
    stale: bool = False
