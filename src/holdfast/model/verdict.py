"""What may truthfully be said about a resource after a check."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from holdfast.model.finding import Finding


class Status(StrEnum):
    """The six verdicts; `stale` is a flag on any of them, never a seventh."""

    IN_SYNC = "in_sync"
    PENDING = "pending"  # intent moved
    DRIFTED = "drifted"  # changed outside Holdfast
    CONFLICTED = "conflicted"  # both changed
    MISSING = "missing"
    UNKNOWN = "unknown"


class SuppressionReason(StrEnum):
    """Why a difference does not count, though it is there."""

    WAIVED = "waived"  # somebody answers for it until a date
    BASELINED = "baselined"  # a person took the live value as the new normal
    IGNORED = "ignored"  # policy says that this path is not ours to compare
    NEWLY_VISIBLE = "newly-visible"  # only the rules of now see it, and it was so when they took over
    LATE = "late-default"  # the service filled it in some time after our write; told once, when it joins the baseline
    DEFAULTS_CHANGED = "defaults-changed"  # nobody declared or moved it; another value stands for saying nothing now


INHERITED = frozenset(
    {SuppressionReason.NEWLY_VISIBLE, SuppressionReason.DEFAULTS_CHANGED}
)  # from the rules of before; told until it is mended
LASTING = INHERITED | {SuppressionReason.IGNORED}  # does not lapse while nothing moves


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A difference that is seen, counted and shown, but does not decide the status."""

    because: SuppressionReason
    path: str
    note: str  # who, why, until when
    finding: Finding | None = None  # None: the path is not compared at all


@dataclass(frozen=True, slots=True)
class Verdict:
    """A status, the sentence that justifies it, the findings behind it, and what was suppressed."""

    status: Status
    reason: str
    findings: tuple[Finding, ...] = ()
    stale: bool = False
    suppressed: tuple[Suppressed, ...] = ()
