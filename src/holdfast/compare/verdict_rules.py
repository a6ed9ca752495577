"""From a reading to a verdict: total functions, and the only place where a status is chosen or a Verdict is built.

Only a successful answer may lead to *missing* or *drifted*. A resource that could not be read is *unknown*.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

from holdfast.compare import paths
from holdfast.model.absent import ABSENT
from holdfast.model.finding import ChangedBy, Finding, FindingClass
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadFailure, ReadResult
from holdfast.model.verdict import Status, Verdict

if TYPE_CHECKING:
    from holdfast.compare import diff
    from holdfast.compare.rule_tree import RuleTree

SHOWN_PATHS = 3


UNCHANGED = Verdict(Status.IN_SYNC, "nothing changed since the last check")


def judge(
    reading: ReadResult,
    desired: Json,
    rules: RuleTree,
    *,
    applied: Json = ABSENT,
    baseline: diff.Baseline | None = None,
) -> Verdict:
    """Compare a reading three ways and conclude; nothing is suppressed but what the service was still to fill in."""
    if not isinstance(reading, Found):
        return not_found(reading, was_there=applied is not ABSENT or baseline is not None)
    from holdfast.compare import diff  # noqa: PLC0415 - a resource that did not change is not compared

    findings: Sequence[Finding] = diff.findings(desired, reading.document, rules, baseline)
    if baseline is not None and findings:
        from holdfast.compare import known_differences  # noqa: PLC0415 - only where something changed

        _, findings = known_differences.absorb_filled_in(baseline, findings, rules)
    return conclude(findings, intent_moved=baseline is None and has_moved(desired, applied, rules))


def not_found(reading: NotFound | ReadFailure, *, was_there: bool) -> Verdict:
    """Return the verdict of a reading without a document; `was_there` if we wrote the resource before."""
    match reading:
        case ReadFailure(trouble=trouble, detail=detail):
            return Verdict(Status.UNKNOWN, f"could not be read ({trouble.value}){': ' + detail if detail else ''}")
        case NotFound():
            if was_there:
                return Verdict(Status.MISSING, "deleted outside Holdfast")
            return Verdict(Status.PENDING, "declared, not created yet")
        case _:
            assert_never(reading)


def presence(reading: ReadResult) -> Verdict:
    """Return the verdict of an unmanaged resource, which is read and never compared."""
    if isinstance(reading, ReadFailure):
        return not_found(reading, was_there=False)
    if isinstance(reading, NotFound):
        return Verdict(Status.MISSING, "unmanaged, and not there")
    return Verdict(Status.IN_SYNC, "there; unmanaged resources are not compared")


def unknown(reason: str) -> Verdict:
    """Return the verdict that nothing can be said, with the reason."""
    return Verdict(Status.UNKNOWN, reason)


def recorded(status: Status, reason: str) -> Verdict:
    """Return a verdict of an earlier check, as far as the store keeps it."""
    return Verdict(status, reason)


def uncompared() -> Verdict:
    """Return the verdict of a resource that exists and is never compared."""
    return Verdict(Status.UNKNOWN, "exists; not compared, because every apply sends it")


def counted(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings without fields that are no longer declared, for a resource that is never written."""
    return [
        finding
        for finding in findings
        if finding.cls is not FindingClass.REMOVED or finding.changed_by is not ChangedBy.DECLARED
    ]


def has_moved(desired: Json, applied: Json, rules: RuleTree) -> bool:
    """Return True if the declaration differs from what was applied."""
    from holdfast.compare import diff  # noqa: PLC0415 - a resource that did not change is not compared

    return applied is not ABSENT and bool(diff.differences(desired, applied, rules))


def conclude(findings: Sequence[Finding], *, intent_moved: bool = False) -> Verdict:
    """Return the verdict that follows from the sides of the findings.

    Without a baseline the side that changed is unknown. The status is *pending* if the declaration differs from the
    applied revision, else *drifted*.
    """
    if not findings:
        return Verdict(Status.IN_SYNC, "no difference that the declaration or the baseline does not explain")
    sides = {finding.changed_by for finding in findings}
    if ChangedBy.UNKNOWN in sides:
        status = Status.PENDING if intent_moved else Status.DRIFTED
    elif sides == {ChangedBy.DECLARED}:
        status = Status.PENDING
    elif sides == {ChangedBy.LIVE}:
        status = Status.DRIFTED
    else:
        status = Status.CONFLICTED
    return Verdict(status, f"{_ACCOUNT[status]}: {_named(findings)}", tuple(findings))


_ACCOUNT = {
    Status.PENDING: "declaration changed",
    Status.DRIFTED: "changed outside Holdfast",
    Status.CONFLICTED: "both changed",
}


def _named(findings: Sequence[Finding]) -> str:
    shown = ", ".join(paths.format_path(finding.path) or "(document)" for finding in findings[:SHOWN_PATHS])
    more = len(findings) - SHOWN_PATHS
    return f"{shown} and {more} more" if more > 0 else shown
