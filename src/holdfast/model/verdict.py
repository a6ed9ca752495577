"""The verdict about a resource after a check."""

from __future__ import annotations

from enum import StrEnum

from holdfast.model.finding import Finding
from holdfast.model.record import dataclass


class Status(StrEnum):
    """The six verdicts; `stale` is a flag on any of them, never a seventh."""

    IN_SYNC = "in_sync"
    PENDING = "pending"  # declaration changed
    DRIFTED = "drifted"  # changed outside Holdfast
    CONFLICTED = "conflicted"  # both changed
    MISSING = "missing"
    UNKNOWN = "unknown"


class SuppressionReason(StrEnum):
    """The reason that a difference does not decide the status."""

    WAIVED = "waived"  # has an owner, a reason and an expiry date
    BASELINED = "baselined"  # a person accepted the live value into the baseline
    IGNORED = "ignored"  # policy excludes the path from the comparison
    NEWLY_VISIBLE = "newly-visible"  # only the current rules see it, and it was there when they took effect
    LATE = "late-default"  # filled in by the service after our write; reported once, when it joins the baseline
    DEFAULTS_CHANGED = "defaults-changed"  # not declared and not changed; the current rules have another default


INHERITED = frozenset(
    {SuppressionReason.NEWLY_VISIBLE, SuppressionReason.DEFAULTS_CHANGED}
)  # from a rule migration; reported until resolved
LASTING = INHERITED | {SuppressionReason.IGNORED}  # stays while nothing changes


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A difference that is counted and shown, but does not decide the status."""

    because: SuppressionReason
    path: str
    note: str  # who, why, until when
    finding: Finding | None = None  # None: the path is not compared at all


@dataclass(frozen=True, slots=True)
class Verdict:
    """A status, the sentence that justifies it, the findings behind it, and the suppressed differences."""

    status: Status
    reason: str
    findings: tuple[Finding, ...] = ()
    stale: bool = False
    suppressed: tuple[Suppressed, ...] = ()
