"""From a reading to a verdict: a total function, and the only place where a status is chosen.

Only a successful answer may lead to *missing* or *drifted*; whatever could not be read is *unknown*.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from holdfast.compare import diff, paths
from holdfast.compare.rule_tree import RuleTree
from holdfast.model.absent import ABSENT
from holdfast.model.finding import ChangedBy, Finding, FindingClass
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadFailure, Reading
from holdfast.model.verdict import Status, Verdict

SHOWN_PATHS = 3


def judge(
    reading: Reading,
    desired: Json,
    rules: RuleTree,
    *,
    applied: Json = ABSENT,
    baseline: diff.Baseline | None = None,
) -> Verdict:
    """Say what is true of a resource, given what was read, declared, last applied and first seen after that."""
    match reading:
        case ReadFailure(trouble=trouble, detail=detail):
            return Verdict(Status.UNKNOWN, f"could not be read ({trouble.value}){': ' + detail if detail else ''}")
        case NotFound():
            if applied is ABSENT and baseline is None:
                return Verdict(Status.PENDING, "declared, not there yet")
            return Verdict(Status.MISSING, "was there, is gone")
        case Found(document=document):
            found = diff.findings(desired, document, rules, baseline)
            return conclude(found, intent_moved=baseline is None and _has_moved(desired, applied, rules))
        case _:
            assert_never(reading)


def without_removed(verdict: Verdict) -> Verdict:
    """Leave out what is declared no more, where nothing is ever written: nobody is going to remove it."""
    left = [
        each
        for each in verdict.findings
        if each.cls is not FindingClass.REMOVED or each.changed_by is not ChangedBy.DECLARED
    ]
    return verdict if len(left) == len(verdict.findings) else conclude(left)


def uncompared() -> Verdict:
    """Return what may be said of something that is there and is never compared: nothing."""
    return Verdict(Status.UNKNOWN, "there; not compared, because it is sent at every turn")


def _has_moved(desired: Json, applied: Json, rules: RuleTree) -> bool:
    return applied is not ABSENT and bool(diff.differences(desired, applied, rules))


def conclude(findings: Sequence[Finding], *, intent_moved: bool = False) -> Verdict:
    """Choose the status that the findings' sides add up to.

    Without a baseline nobody can say who moved; then the answer is *pending* if the declaration is known to differ
    from what was applied, else *drifted*.
    """
    if not findings:
        return Verdict(Status.IN_SYNC, "nothing differs that the declaration or the baseline does not explain")
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
    Status.PENDING: "the declaration moved",
    Status.DRIFTED: "changed outside Holdfast",
    Status.CONFLICTED: "both the declaration and changed outside Holdfast",
}


def _named(findings: Sequence[Finding]) -> str:
    shown = ", ".join(paths.format_path(finding.path) or "(document)" for finding in findings[:SHOWN_PATHS])
    more = len(findings) - SHOWN_PATHS
    return f"{shown} and {more} more" if more > 0 else shown
