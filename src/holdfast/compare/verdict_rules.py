"""The verdict of a read: a total function of the read result and the findings.

Only a successful answer leads to *missing* or *drifted*; a failed read is *unknown*.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from holdfast.compare import diff, paths
from holdfast.compare.rule_tree import RuleTree
from holdfast.model.absent import ABSENT
from holdfast.model.finding import ChangedBy, Finding, FindingClass
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadFailure, ReadResult
from holdfast.model.verdict import Status, Verdict

SHOWN_PATHS = 3


def judge(
    reading: ReadResult,
    desired: Json,
    rules: RuleTree,
    *,
    applied: Json = ABSENT,
    baseline: diff.Baseline | None = None,
) -> Verdict:
    """Return the verdict for a read result, the declaration, the applied revision and the baseline."""
    match reading:
        case ReadFailure(trouble=trouble, detail=detail):
            return Verdict(Status.UNKNOWN, f"could not be read ({trouble.value}){': ' + detail if detail else ''}")
        case NotFound():
            if applied is ABSENT and baseline is None:
                return Verdict(Status.PENDING, "declared, not created yet")
            return Verdict(Status.MISSING, "deleted outside Holdfast")
        case Found(document=document):
            found = diff.findings(desired, document, rules, baseline)
            return conclude(found, intent_moved=baseline is None and _has_moved(desired, applied, rules))
        case _:
            assert_never(reading)


def without_removed(verdict: Verdict) -> Verdict:
    """Return the verdict without removed declarations, for resources that are never written."""
    left = [
        finding
        for finding in verdict.findings
        if finding.cls is not FindingClass.REMOVED or finding.changed_by is not ChangedBy.DECLARED
    ]
    return verdict if len(left) == len(verdict.findings) else conclude(left)


def uncompared() -> Verdict:
    """Return the verdict for an existing resource that is never compared."""
    return Verdict(Status.UNKNOWN, "exists; not compared, because every apply sends it")


def _has_moved(desired: Json, applied: Json, rules: RuleTree) -> bool:
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
