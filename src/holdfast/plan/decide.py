"""What to do about a verdict: one pure function, and the plan a person sees is its output.

It knows nothing of budgets, windows or approvals, which hold back what is decided here, and nothing of how a decision
is carried out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from holdfast.compare import paths
from holdfast.model.absent import ABSENT
from holdfast.model.decision import Action, Decision, Reason
from holdfast.model.finding import Finding, FindingClass, Op
from holdfast.model.resource import ManagementPolicy, OnDelete, OnDrift, Origin
from holdfast.model.verdict import Status, Verdict


class Recreate(StrEnum):
    """When something that we made and that somebody removed is made again."""

    WHEN_RESYNC = "when_resync"  # only where periodic checks are on; the seed's rule
    ALWAYS = "always"
    NEVER = "never"


class OnImmutable(StrEnum):
    """What to do when a field that is fixed at birth must change."""

    BLOCK = "block"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything a decision depends on besides the verdict."""

    policy: ManagementPolicy = ManagementPolicy.MANAGED
    origin: Origin = Origin.CREATED
    on_drift: OnDrift = OnDrift.CORRECT
    on_immutable: OnImmutable = OnImmutable.BLOCK
    recreate: Recreate = Recreate.WHEN_RESYNC
    resyncs: bool = False  # periodic checks are on
    applied: bool = False  # we have written it, or taken it over, before
    imports: bool = False  # the declaration says to take over something that exists
    whole_writes: bool = True  # an update sends the whole document, so undeclared drift is put back by it
    immutable: frozenset[str] = frozenset()  # paths among the findings that are fixed at birth
    declared_lists: frozenset[str] = frozenset()  # paths among the findings inside lists that are declared
    unresolved: frozenset[str] = frozenset()  # paths that our last write failed to revert
    terminal: str | None = None  # why we stopped, if the declaration has not changed since


def decide(verdict: Verdict, situation: Situation) -> Decision:
    """Choose the action for a verdict; total over every status and situation."""
    if situation.policy is ManagementPolicy.UNMANAGED:
        return _decision(Action.NONE, "unmanaged", "unmanaged: read so that others can refer to it")
    if situation.terminal is not None:
        return _decision(Action.BLOCK, "terminal", f"stopped until the declaration changes: {situation.terminal}")
    return _BY_STATUS[verdict.status](verdict, situation)


def _unknown(verdict: Verdict, _: Situation) -> Decision:
    return _decision(Action.NONE, "unknown", f"nothing is done on what {verdict.reason}")


def _in_sync(_: Verdict, situation: Situation) -> Decision:
    if situation.applied:
        return _decision(Action.NONE, "in_sync", "as declared")
    return _decision(Action.ADOPT, "adopt", "exists as declared; taken over without a write")


def _pending(verdict: Verdict, situation: Situation) -> Decision:
    if not verdict.findings:  # declared, not there yet
        if situation.imports:
            return _decision(Action.BLOCK, "import_missing", "to be imported, but there is no such thing")
        if situation.policy is ManagementPolicy.OBSERVED:
            return _decision(Action.REPORT, "observed", "declared but not there; observed resources are not created")
        return _decision(Action.CREATE, "create", "declared, not there yet")
    return _write(verdict.findings, situation, "intent", "the declaration moved")


def _missing(_: Verdict, situation: Situation) -> Decision:
    if situation.policy is ManagementPolicy.OBSERVED:
        return _decision(Action.REPORT, "missing", "gone; observed resources are not recreated")
    if situation.origin is Origin.IMPORTED:
        return _decision(Action.BLOCK, "imported_deleted", "gone, and it was imported: it is not ours to recreate")
    if situation.recreate is Recreate.NEVER:
        return _decision(Action.REPORT, "missing", "gone; recreation is switched off")
    if situation.recreate is Recreate.ALWAYS or situation.resyncs:
        return _decision(Action.RECREATE, "recreate", "gone; made by us, so it is made again")
    message = "gone; it is recreated only where periodic checks are on: set resyncPeriod, or apply with --recreate"
    return _decision(Action.BLOCK, "deleted", message)


def _drifted(verdict: Verdict, situation: Situation) -> Decision:
    if situation.on_drift is OnDrift.REPORT:
        return _report(verdict.findings, "report_only", "the world moved; policy is to report")
    if situation.on_drift is OnDrift.APPROVE:
        return _paths(Action.HOLD, "approval", "the world moved; correcting it needs approval", verdict.findings)
    correctable = [finding for finding in verdict.findings if _is_correctable(finding, situation)]
    if not correctable:
        stuck = [f for f in verdict.findings if paths.format_path(f.path) in situation.unresolved]
        if stuck:
            return _report(verdict.findings, "unresolved", "our last write did not take; it is not repeated in vain")
        return _report(verdict.findings, "nothing_declared", "nothing declared could put it back")
    return _write(correctable, situation, "drift", "the world moved")


def _conflicted(verdict: Verdict, situation: Situation) -> Decision:
    if situation.on_drift is not OnDrift.CORRECT:
        return _paths(Action.HOLD, "conflict", "both moved; a person must decide", verdict.findings)
    return _write(verdict.findings, situation, "conflict", "both the declaration and the world moved")


_BY_STATUS: dict[Status, Callable[[Verdict, Situation], Decision]] = {
    Status.UNKNOWN: _unknown,
    Status.IN_SYNC: _in_sync,
    Status.PENDING: _pending,
    Status.MISSING: _missing,
    Status.DRIFTED: _drifted,
    Status.CONFLICTED: _conflicted,
}


def _is_correctable(finding: Finding, situation: Situation) -> bool:
    """Tell whether a write of the declaration may put this back."""
    if paths.format_path(finding.path) in situation.unresolved:
        return False
    if finding.desired is not ABSENT or finding.cls is FindingClass.REMOVED:
        return True
    if paths.format_path(finding.path) in situation.declared_lists:
        return True
    vanished = finding.op in (Op.MISSING, Op.ELEMENT_MISSING)
    return situation.whole_writes and not vanished


def _write(findings: Sequence[Finding], situation: Situation, code: str, message: str) -> Decision:
    if situation.policy is ManagementPolicy.OBSERVED:
        return _report(findings, "observed", f"{message}; observed resources are not written")
    fixed = [finding for finding in findings if paths.format_path(finding.path) in situation.immutable]
    if fixed and situation.on_immutable is OnImmutable.REPLACE:
        return _paths(Action.REPLACE, "immutable", f"{message}, at a field that is fixed at birth", fixed)
    if fixed:
        return _paths(Action.BLOCK, "immutable", "cannot be changed in place; set onImmutable: replace", fixed)
    return _paths(Action.UPDATE, code, message, findings)


def _report(findings: Sequence[Finding], code: str, message: str) -> Decision:
    return _paths(Action.REPORT, code, message, findings)


def _paths(action: Action, code: str, message: str, findings: Sequence[Finding]) -> Decision:
    named = tuple(paths.format_path(finding.path) for finding in findings)
    return Decision(action, (Reason(code, message, named),))


def _decision(action: Action, code: str, message: str) -> Decision:
    return Decision(action, (Reason(code, message),))


def decide_removal(policy: ManagementPolicy, origin: Origin, on_delete: OnDelete, *, exists: bool) -> Decision:
    """Choose what happens to a live thing whose declaration goes."""
    if policy is not ManagementPolicy.MANAGED:
        return _decision(Action.NONE, "not_ours", "never written by us; only forgotten")
    if on_delete is OnDelete.DETACH:
        return _decision(Action.NONE, "detach", "detached: the live thing stays, the record goes")
    if origin is Origin.IMPORTED and not exists:
        return _decision(Action.NONE, "gone", "already gone")
    return _decision(Action.DELETE, "removed", "no longer declared")
