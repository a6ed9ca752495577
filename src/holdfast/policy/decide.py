"""The decision about a verdict: one pure function whose output is the plan that a person sees.

Policy applies path by path: some findings of a resource may be corrected while others are only reported or wait for
approval. Limits of the whole fleet (budgets, mass drift) are applied to these decisions later. See
`policy.fleet_limits`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import Final

from holdfast.compare import paths
from holdfast.model.absent import ABSENT
from holdfast.model.decision import Action, Decision, Reason
from holdfast.model.finding import ChangedBy, Finding, FindingClass, Op
from holdfast.model.path import Path
from holdfast.model.record import dataclass
from holdfast.model.resource import ManagementPolicy, OnDelete, OnDrift, Origin
from holdfast.model.verdict import Status, Verdict

WHOLE: Final = ""  # the path that stands for the whole resource and its existence


class Recreate(StrEnum):
    """When a resource that we created and that was deleted outside Holdfast is recreated."""

    WHEN_RESYNC = "when_resync"  # only if periodic checks are on; the original rule
    ALWAYS = "always"
    NEVER = "never"


class OnImmutable(StrEnum):
    """The action for a field that must change but is fixed at creation."""

    BLOCK = "block"
    REPLACE = "replace"


class ReconcileMode(StrEnum):
    """How checks of a resource lead to writes."""

    GET_PUT = "get_put"  # compare, and write the differences
    PUT_ONLY = "put_only"  # do not compare; write at every check
    OBSERVE = "observe"  # compare and report; write nothing
    SHADOW = "shadow"  # compare, and write in any case, to verify the comparison


class HoldReason(StrEnum):
    """Why a drifted path is not reverted now."""

    REPORT = "report_only"  # policy
    CONTENTION = "contention"  # another writer keeps changing it
    UNDONE = "undone"  # a person undid our correction
    APPROVAL = "approval"  # a person must approve it first
    DEBOUNCE = "debounce"  # not seen often enough or long enough yet
    BACKOFF = "backoff"  # corrected recently; the wait grows each time
    UNRESOLVED = "unresolved"  # our last write had no effect
    VOLATILE = "volatile"  # the value differs on every read, so no write can settle it
    PLATFORM = "platform"  # the platform itself changed it, and would change it again
    FUTILE = "futile"  # corrections did not help or did not hold, as often as policy allows

    @property
    def waits(self) -> bool:
        """True if the path is corrected after an approval or after some time."""
        return self in (HoldReason.APPROVAL, HoldReason.DEBOUNCE, HoldReason.BACKOFF, HoldReason.FUTILE)

    @property
    def yields(self) -> bool:
        """True if a person's approval of the plan lifts the hold."""
        return self in (HoldReason.APPROVAL, HoldReason.FUTILE)


@dataclass(frozen=True, slots=True)
class PathHold:
    """The reason why one path is not reverted, with a sentence for people."""

    restraint: HoldReason
    message: str = ""


@dataclass(frozen=True, slots=True)
class Handling:
    """How a resource is handled: its settings, its origin, and the abilities of its kind."""

    policy: ManagementPolicy = ManagementPolicy.MANAGED
    origin: Origin = Origin.CREATED
    on_drift: OnDrift = OnDrift.CORRECT
    on_immutable: OnImmutable = OnImmutable.BLOCK
    recreate: Recreate = Recreate.WHEN_RESYNC
    resyncs: bool = False  # periodic checks are not switched off
    imports: bool = False  # the declaration asks to import an existing resource
    whole_writes: bool = True  # an update sends the whole document, so it reverts undeclared drift
    mode: ReconcileMode = ReconcileMode.GET_PUT


@dataclass(frozen=True, slots=True)
class WriteRecord:
    """The facts about our writes of a resource."""

    applied: bool = False  # we have written or adopted it before
    edited: bool = False  # the declaration differs from the applied revision
    terminal: str | None = None  # why we stopped, if the declaration has not changed since
    damaged: bool = False  # its stored record is lost: it is written once, to capture the record again
    failed: str = ""  # the failure that the service reports for our last write of this declaration, if any
    unsure: str = ""  # why the result of our last create is unknown, and what to do
    uncompared: bool = False  # it probably exists but was not compared: the mode, or it cannot be read


@dataclass(frozen=True, slots=True)
class PathFacts:
    """The facts about the paths of the findings."""

    immutable: frozenset[str] = frozenset()  # fixed at creation
    declared_lists: frozenset[str] = frozenset()  # inside lists that are declared
    unresolved: frozenset[str] = frozenset()  # paths that our last write failed to revert
    pinnable: frozenset[str] = frozenset()  # those of them that may be reverted by sending their baseline value
    restrained: Mapping[str, PathHold] = field(default_factory=dict)  # all other paths follow on_drift
    free: frozenset[str] = frozenset()  # paths that policy corrects regardless of on_drift


@dataclass(frozen=True, slots=True)
class WriteLimits:
    """The limits that hold writes of a resource now, and a person's approval of them."""

    approved: bool = False  # a person approved exactly this plan
    paused: str | None = None  # who stopped all writes, and why
    source: str = ""  # which reference cannot be relied on now, and which resource has drifted
    frozen: str | None = None  # which window holds such a write, and until when


@dataclass(frozen=True, slots=True)
class DecisionInputs:
    """All inputs of a decision except the verdict."""

    handling: Handling = field(default_factory=Handling)
    record: WriteRecord = field(default_factory=WriteRecord)
    paths: PathFacts = field(default_factory=PathFacts)
    limits: WriteLimits = field(default_factory=WriteLimits)


def decide(verdict: Verdict, inputs: DecisionInputs) -> Decision:
    """Return the decision for a verdict. It is defined for every status and every combination of inputs."""
    if inputs.handling.policy is ManagementPolicy.UNMANAGED:
        return _decision(Action.NONE, "unmanaged", "unmanaged: read so that others can refer to it")
    if inputs.record.terminal is not None:
        return _decision(Action.BLOCK, "terminal", f"{STOPPED}: {inputs.record.terminal}")
    if inputs.handling.mode is ReconcileMode.OBSERVE:
        inputs = replace(inputs, handling=replace(inputs.handling, policy=ManagementPolicy.OBSERVED))
    decision = _in_mode(_BY_STATUS[verdict.status](verdict, inputs), verdict, inputs)
    if inputs.record.unsure and (decision.held or decision.action) in (Action.CREATE, Action.RECREATE):
        return _decision(Action.BLOCK, "unsure", inputs.record.unsure)
    if decision.action.is_write and inputs.limits.paused is not None:
        return hold(decision, Reason("paused", inputs.limits.paused))
    if decision.action.is_write and inputs.limits.source:
        return hold(decision, Reason("source", f"what it refers to cannot be relied on: {inputs.limits.source}"))
    if decision.action.is_write and inputs.limits.frozen is not None:
        return hold(decision, Reason("frozen", inputs.limits.frozen))
    return decision


def _in_mode(decision: Decision, verdict: Verdict, inputs: DecisionInputs) -> Decision:
    """Return an update instead of no action, in a mode that writes at every check."""
    if inputs.handling.policy is not ManagementPolicy.MANAGED:
        return decision
    if inputs.handling.mode is ReconcileMode.PUT_ONLY and inputs.record.uncompared:
        return _decision(Action.UPDATE, "put_only", "sent at every turn; this kind is not compared")
    if inputs.handling.mode is ReconcileMode.SHADOW and verdict.status is Status.IN_SYNC:
        return _decision(Action.UPDATE, "shadow", "as declared; sent all the same, to see whether that is so")
    return decision


STOPPED = "stopped until the declaration changes or is applied again"
CORRECTED = frozenset({Status.DRIFTED, Status.CONFLICTED, Status.MISSING})  # writes for these revert live state


def hold(decision: Decision, reason: Reason) -> Decision:
    """Return a hold of the write. The held action is kept next to the reason."""
    return Decision(Action.HOLD, (reason, *decision.reasons), decision.held or decision.action)


def _unknown(verdict: Verdict, _: DecisionInputs) -> Decision:
    return _decision(Action.NONE, "unknown", f"nothing is done on what {verdict.reason}")


def _in_sync(_: Verdict, inputs: DecisionInputs) -> Decision:
    if inputs.record.failed and inputs.handling.policy is ManagementPolicy.MANAGED:
        return _decision(Action.UPDATE, "failed", f"as declared, but the service calls it {inputs.record.failed}")
    if inputs.record.applied and inputs.record.edited:
        return _decision(
            Action.ADOPT, "converged", "the declaration says what is there now; remembered without a write"
        )
    if inputs.record.applied:
        return _decision(Action.NONE, "in_sync", "as declared")
    if inputs.record.damaged and inputs.handling.policy is ManagementPolicy.MANAGED:
        return _decision(Action.UPDATE, "recapture", "the stored baseline is damaged; written once to learn it again")
    return _decision(Action.ADOPT, "adopt", "exists as declared; taken over without a write")


def _pending(verdict: Verdict, inputs: DecisionInputs) -> Decision:
    if not verdict.findings:  # declared, not created yet
        if inputs.handling.imports:
            return _decision(Action.BLOCK, "import_missing", "to be imported, but there is no such thing")
        if inputs.handling.policy is ManagementPolicy.OBSERVED:
            return _decision(Action.REPORT, "observed", "declared but not there; observed resources are not created")
        return _decision(Action.CREATE, "create", "declared, not created yet")
    return _write(verdict.findings, inputs, "intent", "declaration changed")


def _missing(_: Verdict, inputs: DecisionInputs) -> Decision:
    if inputs.handling.policy is ManagementPolicy.OBSERVED:
        return _decision(Action.REPORT, "missing", "deleted outside Holdfast; observed resources are not recreated")
    if inputs.handling.origin is Origin.IMPORTED:
        message = "deleted outside Holdfast; imported resources are not recreated"
        return _decision(Action.BLOCK, "imported_deleted", message)
    if inputs.handling.recreate is Recreate.NEVER:
        return _decision(Action.REPORT, "missing", "deleted outside Holdfast; recreation is turned off")
    if inputs.handling.recreate is not Recreate.ALWAYS and not inputs.handling.resyncs:
        message = (
            "deleted outside Holdfast; not recreated, because resyncPeriod is 0: "
            "set another resyncPeriod, or apply with --recreate"
        )
        return _decision(Action.BLOCK, "deleted", message)
    recreated = _decision(Action.RECREATE, "recreate", "deleted outside Holdfast; will be recreated")
    restrained = _restraint(WHOLE, inputs)
    if restrained is None:
        return recreated
    reason = Reason(restrained.restraint.value, f"deleted outside Holdfast; {restrained.message}")
    return hold(recreated, reason) if restrained.restraint.waits else Decision(Action.REPORT, (reason,))


def _drifted(verdict: Verdict, inputs: DecisionInputs) -> Decision:
    return _by_path(verdict, inputs, "drift", "changed outside Holdfast")


def _conflicted(verdict: Verdict, inputs: DecisionInputs) -> Decision:
    return _by_path(verdict, inputs, "conflict", "both changed")


def _by_path(verdict: Verdict, inputs: DecisionInputs, code: str, message: str) -> Decision:
    """Apply policy to each finding. Write the permitted paths, and list the others with the reason that holds them."""
    if inputs.handling.policy is ManagementPolicy.OBSERVED:
        return _report(verdict.findings, "observed", f"{message}; observed resources are not written")
    to_write: list[Finding] = []
    restrained: dict[PathHold, list[Finding]] = {}
    hopeless: list[Finding] = []
    for finding in verdict.findings:
        why = None if finding.changed_by is ChangedBy.DECLARED else _restraint(paths.format_path(finding.path), inputs)
        if why is not None:
            restrained.setdefault(
                _BOTH if finding.changed_by is ChangedBy.BOTH and why is _REPORTED else why, []
            ).append(finding)
        elif _is_correctable(finding, inputs):
            to_write.append(finding)
        else:
            hopeless.append(finding)
    lists = {whole for item in restrained.values() for f in item if (whole := list_of(f.path)) is not None}
    tangled = [finding for finding in to_write if _is_entangled(finding, lists)]
    if tangled:  # elements of such a list have no identity, so the list can only be written as a whole
        to_write = [finding for finding in to_write if finding not in tangled]
        restrained.setdefault(_TANGLED, []).extend(tangled)
    others = [_reason(why.restraint.value, _account(message, why), item) for why, item in restrained.items()]
    if hopeless and not to_write:
        others.append(_reason("nothing_declared", "nothing declared could put it back", hopeless))
    if not to_write:
        return _restrained(restrained, others)
    decision = _write(to_write, inputs, code, message)
    if decision.action is Action.REPLACE and restrained:
        reason = others[0]
        together = Reason(reason.code, "replacing it would also revert what is not to be", reason.paths)
        return hold(decision, together)
    pinned = [finding for finding in to_write if paths.format_path(finding.path) in inputs.paths.pinnable]
    if pinned:
        said = "a write of the declaration did not put it back; this one also sends the value it had"
        others.append(_reason("pin", said, pinned))
    return Decision(decision.action, (*decision.reasons, *others), decision.held)


def _account(message: str, why: PathHold) -> str:
    """Return the reason why a path is not reverted.

    If our last write had no effect, the reason does not claim a change outside Holdfast, because none is known.
    """
    return why.message if why.restraint is HoldReason.UNRESOLVED else f"{message}; {why.message}"


def list_of(path: Path) -> Path | None:
    """Return the list that a path leads into, or None."""
    place = next((place for place, step in enumerate(path) if not isinstance(step, str)), None)
    return None if place is None else path[:place]


def _is_entangled(finding: Finding, lists: Collection[Path]) -> bool:
    """Return True if reverting a finding would also write a list element that must not change."""
    whole = list_of(finding.path)
    return whole is not None and whole in lists and any(isinstance(step, int) for step in finding.path)


def _restrained(restrained: Mapping[PathHold, list[Finding]], others: Sequence[Reason]) -> Decision:
    """Return a hold if at least one path is only waiting, else a report. No path can be written now."""
    if any(why.restraint.waits for why in restrained):
        first = sorted(others, key=lambda reason: not _WAITS.get(reason.code, False))
        return Decision(Action.HOLD, tuple(first), Action.UPDATE)
    return Decision(Action.REPORT, tuple(others))


_WAITS = {restraint.value: restraint.waits for restraint in HoldReason}
_ASKED = PathHold(HoldReason.APPROVAL, "correcting it needs approval")
_TANGLED = PathHold(HoldReason.REPORT, "it stands in a list with something that is not to be reverted")
_BOTH = PathHold(HoldReason.APPROVAL, "a person must decide")
_DID_NOT_TAKE = "not as declared: the last write had no effect; not retrying"
_REPORTED = PathHold(HoldReason.REPORT, "policy is to report")


def _restraint(path: str, inputs: DecisionInputs) -> PathHold | None:
    """Return the hold of a path, or None. A person's approval lifts every hold that only waits for one."""
    if path in inputs.paths.unresolved and path not in inputs.paths.pinnable:
        return PathHold(HoldReason.UNRESOLVED, _DID_NOT_TAKE)
    found = inputs.paths.restrained.get(path)
    if found is None and path not in inputs.paths.free:
        found = {OnDrift.REPORT: _REPORTED, OnDrift.APPROVE: _ASKED}.get(inputs.handling.on_drift)
    if found is not None and found.restraint.yields and inputs.limits.approved:
        return None
    return found


_BY_STATUS: dict[Status, Callable[[Verdict, DecisionInputs], Decision]] = {
    Status.UNKNOWN: _unknown,
    Status.IN_SYNC: _in_sync,
    Status.PENDING: _pending,
    Status.MISSING: _missing,
    Status.DRIFTED: _drifted,
    Status.CONFLICTED: _conflicted,
}


def _is_correctable(finding: Finding, inputs: DecisionInputs) -> bool:
    """Return True if a write of the declaration may revert this finding."""
    if finding.desired is not ABSENT or finding.cls is FindingClass.REMOVED:
        return True
    if paths.format_path(finding.path) in inputs.paths.pinnable:
        return True
    if finding.op in (Op.MISSING, Op.ELEMENT_MISSING):  # the value is not declared, so no write can restore it
        return False
    return inputs.handling.whole_writes or paths.format_path(finding.path) in inputs.paths.declared_lists


def _write(findings: Sequence[Finding], inputs: DecisionInputs, code: str, message: str) -> Decision:
    if inputs.handling.policy is ManagementPolicy.OBSERVED:
        return _report(findings, "observed", f"{message}; observed resources are not written")
    fixed = [finding for finding in findings if paths.format_path(finding.path) in inputs.paths.immutable]
    if fixed and inputs.handling.on_immutable is OnImmutable.REPLACE:
        return _paths(Action.REPLACE, "immutable", f"{message}, at a field that is fixed at birth", fixed)
    if fixed:
        return _paths(Action.BLOCK, "immutable", "cannot be changed in place; set onImmutable: replace", fixed)
    return _paths(Action.UPDATE, code, message, findings)


def _report(findings: Sequence[Finding], code: str, message: str) -> Decision:
    return _paths(Action.REPORT, code, message, findings)


def _paths(action: Action, code: str, message: str, findings: Sequence[Finding]) -> Decision:
    return Decision(action, (_reason(code, message, findings),))


def _reason(code: str, message: str, findings: Sequence[Finding]) -> Reason:
    return Reason(code, message, tuple(paths.format_path(finding.path) for finding in findings))


def _decision(action: Action, code: str, message: str) -> Decision:
    return Decision(action, (Reason(code, message),))


def decide_removal(policy: ManagementPolicy, origin: Origin, on_delete: OnDelete, *, exists: bool) -> Decision:
    """Return the decision for a live resource whose declaration was removed."""
    if policy is not ManagementPolicy.MANAGED:
        return _decision(Action.NONE, "not_ours", "never written by us; only forgotten")
    if on_delete is OnDelete.DETACH:
        return _decision(Action.NONE, "detach", "detached: the live thing stays, the record goes")
    if origin is Origin.IMPORTED and not exists:
        return _decision(Action.NONE, "absent", "already deleted")
    return _decision(Action.DELETE, "removed", "no longer declared")


NOTHING_TO_DO = _decision(Action.NONE, "in_sync", "as declared")  # for a resource that did not change
