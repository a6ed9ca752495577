"""What to do about a verdict: one pure function, and the plan a person sees is its output.

Policy is asked path by path: some findings of a resource may be corrected while others are only reported or wait for
somebody. Limits of the whole fleet (budgets, mass drift) hold back afterwards what is decided here; see `plan.holding`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from holdfast.compare import paths
from holdfast.model.absent import ABSENT
from holdfast.model.decision import Action, Decision, Reason
from holdfast.model.finding import ChangedBy, Finding, FindingClass, Op
from holdfast.model.path import Path
from holdfast.model.resource import ManagementPolicy, OnDelete, OnDrift, Origin
from holdfast.model.verdict import Status, Verdict

WHOLE: Final = ""  # the path that stands for the whole resource: for its being there


class Recreate(StrEnum):
    """When something that we made and that somebody removed is recreated."""

    WHEN_RESYNC = "when_resync"  # only where periodic checks are on; the seed's rule
    ALWAYS = "always"
    NEVER = "never"


class OnImmutable(StrEnum):
    """What to do when a field that is fixed at birth must change."""

    BLOCK = "block"
    REPLACE = "replace"


class ReconcileMode(StrEnum):
    """How looking at a resource leads to writing it."""

    GET_PUT = "get_put"  # compare, and write what differs
    PUT_ONLY = "put_only"  # do not compare; write at every turn
    OBSERVE = "observe"  # compare and report; write nothing
    SHADOW = "shadow"  # compare, and write all the same, to see whether the comparison would have been right


class HoldReason(StrEnum):
    """Why a path that drifted is not simply revert."""

    REPORT = "report_only"  # policy
    CONTENTION = "contention"  # somebody keeps putting it back
    UNDONE = "undone"  # a person took our correction back
    APPROVAL = "approval"  # a person must say yes first
    DEBOUNCE = "debounce"  # not seen often or long enough yet
    BACKOFF = "backoff"  # corrected a moment ago; each time we wait longer
    UNRESOLVED = "unresolved"  # our last write did not take
    VOLATILE = "volatile"  # it has another value each time: no write can settle it
    PLATFORM = "platform"  # the platform itself did it, and would do it again
    FUTILE = "futile"  # putting it back did not help, or not hold, as often as policy allows

    @property
    def waits(self) -> bool:
        """Whether it will be corrected once somebody agrees or time has passed."""
        return self in (HoldReason.APPROVAL, HoldReason.DEBOUNCE, HoldReason.BACKOFF, HoldReason.FUTILE)

    @property
    def yields(self) -> bool:
        """Whether a person's yes to the plan lifts it."""
        return self in (HoldReason.APPROVAL, HoldReason.FUTILE)


@dataclass(frozen=True, slots=True)
class PathHold:
    """One path that is not revert, and the sentence that says why."""

    restraint: HoldReason
    message: str = ""


@dataclass(frozen=True, slots=True)
class Handling:
    """How a resource is handled: its settings, its origin, and what its kind can do."""

    policy: ManagementPolicy = ManagementPolicy.MANAGED
    origin: Origin = Origin.CREATED
    on_drift: OnDrift = OnDrift.CORRECT
    on_immutable: OnImmutable = OnImmutable.BLOCK
    recreate: Recreate = Recreate.WHEN_RESYNC
    resyncs: bool = False  # periodic checks are not switched off
    imports: bool = False  # the declaration says to take over something that exists
    whole_writes: bool = True  # an update sends the whole document, so undeclared drift is reverted by it
    mode: ReconcileMode = ReconcileMode.GET_PUT


@dataclass(frozen=True, slots=True)
class WriteRecord:
    """What is known of our writes of a resource."""

    applied: bool = False  # we have written it, or taken it over, before
    edited: bool = False  # what is declared is not what was last applied
    terminal: str | None = None  # why we stopped, if the declaration has not changed since
    damaged: bool = False  # what was known of it is lost: it is written once, and learnt again
    failed: str = ""  # how the service says that our last write of this declaration ended, if not well
    unsure: str = ""  # why nobody knows whether our last create made it, and what to do
    uncompared: bool = False  # it exists, as far as can be told, and was not compared: the mode, or it cannot be read


@dataclass(frozen=True, slots=True)
class PathFacts:
    """What is known of the paths among the findings."""

    immutable: frozenset[str] = frozenset()  # fixed at birth
    declared_lists: frozenset[str] = frozenset()  # inside lists that are declared
    unresolved: frozenset[str] = frozenset()  # that our last write failed to revert
    pinnable: frozenset[str] = frozenset()  # of these, that may be reverted by sending their baseline value
    restrained: Mapping[str, PathHold] = field(default_factory=dict)  # the others are as on_drift says
    free: frozenset[str] = frozenset()  # that policy corrects whatever on_drift says


@dataclass(frozen=True, slots=True)
class WriteLimits:
    """What holds back the writes of a resource now, and what a person said to them."""

    approved: bool = False  # a person said yes to exactly this plan
    paused: str | None = None  # who stopped all writes, and why
    source: str = ""  # which reference cannot be relied on now, and whose drift that is
    frozen: str | None = None  # which window holds back such a write, and until when


@dataclass(frozen=True, slots=True)
class DecisionInputs:
    """Everything a decision depends on beside the verdict."""

    handling: Handling = field(default_factory=Handling)
    record: WriteRecord = field(default_factory=WriteRecord)
    paths: PathFacts = field(default_factory=PathFacts)
    limits: WriteLimits = field(default_factory=WriteLimits)


def decide(verdict: Verdict, inputs: DecisionInputs) -> Decision:
    """Choose the action for a verdict; total over every status and situation."""
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
    """Write where the comparison would have left it, in a mode that writes at every turn."""
    if inputs.handling.policy is not ManagementPolicy.MANAGED:
        return decision
    if inputs.handling.mode is ReconcileMode.PUT_ONLY and inputs.record.uncompared:
        return _decision(Action.UPDATE, "put_only", "sent at every turn; this kind is not compared")
    if inputs.handling.mode is ReconcileMode.SHADOW and verdict.status is Status.IN_SYNC:
        return _decision(Action.UPDATE, "shadow", "as declared; sent all the same, to see whether that is so")
    return decision


STOPPED = "stopped until the declaration changes or somebody applies it again"
CORRECTED = frozenset({Status.DRIFTED, Status.CONFLICTED, Status.MISSING})  # acting on these is correcting the world


def hold(decision: Decision, reason: Reason) -> Decision:
    """Hold a write back; what it would have been is kept beside the reason."""
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
        return _decision(Action.UPDATE, "recapture", "what was known of it is damaged; written once, to learn it anew")
    return _decision(Action.ADOPT, "adopt", "exists as declared; taken over without a write")


def _pending(verdict: Verdict, inputs: DecisionInputs) -> Decision:
    if not verdict.findings:  # declared, not there yet
        if inputs.handling.imports:
            return _decision(Action.BLOCK, "import_missing", "to be imported, but there is no such thing")
        if inputs.handling.policy is ManagementPolicy.OBSERVED:
            return _decision(Action.REPORT, "observed", "declared but not there; observed resources are not created")
        return _decision(Action.CREATE, "create", "declared, not created yet")
    return _write(verdict.findings, inputs, "intent", "declaration changed")


def _missing(_: Verdict, inputs: DecisionInputs) -> Decision:
    if inputs.handling.policy is ManagementPolicy.OBSERVED:
        return _decision(Action.REPORT, "missing", "gone; observed resources are not recreated")
    if inputs.handling.origin is Origin.IMPORTED:
        return _decision(Action.BLOCK, "imported_deleted", "gone, and it was imported: it is not ours to recreate")
    if inputs.handling.recreate is Recreate.NEVER:
        return _decision(Action.REPORT, "missing", "gone; recreation is switched off")
    if inputs.handling.recreate is not Recreate.ALWAYS and not inputs.handling.resyncs:
        message = "gone; with resyncPeriod: 0 it is not recreated: set another resyncPeriod, or apply with --recreate"
        return _decision(Action.BLOCK, "deleted", message)
    recreated = _decision(Action.RECREATE, "recreate", "gone; made by us, so it is recreated")
    restrained = _restraint(WHOLE, inputs)
    if restrained is None:
        return recreated
    reason = Reason(restrained.restraint.value, f"gone; {restrained.message}")
    return hold(recreated, reason) if restrained.restraint.waits else Decision(Action.REPORT, (reason,))


def _drifted(verdict: Verdict, inputs: DecisionInputs) -> Decision:
    return _by_path(verdict, inputs, "drift", "changed outside Holdfast")


def _conflicted(verdict: Verdict, inputs: DecisionInputs) -> Decision:
    return _by_path(verdict, inputs, "conflict", "both changed")


def _by_path(verdict: Verdict, inputs: DecisionInputs, code: str, message: str) -> Decision:
    """Ask policy about each finding; write what may be written, and name the rest with what holds it back."""
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
    lists = {whole for found in restrained.values() for f in found if (whole := list_of(f.path)) is not None}
    tangled = [finding for finding in to_write if _is_entangled(finding, lists)]
    if tangled:  # the elements of such a list cannot be told apart, so it can only be written as a whole
        to_write = [finding for finding in to_write if finding not in tangled]
        restrained.setdefault(_TANGLED, []).extend(tangled)
    others = [_reason(why.restraint.value, _account(message, why), found) for why, found in restrained.items()]
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
    """Say why something is not revert; of what did not take, nobody can say that changed outside Holdfast."""
    return why.message if why.restraint is HoldReason.UNRESOLVED else f"{message}; {why.message}"


def list_of(path: Path) -> Path | None:
    """Return the list that a path leads into, if it does."""
    place = next((place for place, step in enumerate(path) if not isinstance(step, str)), None)
    return None if place is None else path[:place]


def _is_entangled(finding: Finding, lists: Collection[Path]) -> bool:
    """Tell whether putting a finding back would also write an element that is to be left alone."""
    whole = list_of(finding.path)
    return whole is not None and whole in lists and any(isinstance(step, int) for step in finding.path)


def _restrained(restrained: Mapping[PathHold, list[Finding]], others: Sequence[Reason]) -> Decision:
    """Nothing can be written now: hold if something will be, else report."""
    if any(why.restraint.waits for why in restrained):
        first = sorted(others, key=lambda reason: not _WAITS.get(reason.code, False))
        return Decision(Action.HOLD, tuple(first), Action.UPDATE)
    return Decision(Action.REPORT, tuple(others))


_WAITS = {restraint.value: restraint.waits for restraint in HoldReason}
_ASKED = PathHold(HoldReason.APPROVAL, "correcting it needs approval")
_TANGLED = PathHold(HoldReason.REPORT, "it stands in a list with something that is not to be reverted")
_BOTH = PathHold(HoldReason.APPROVAL, "a person must decide")
_DID_NOT_TAKE = "not as declared: our last write did not take, and is not repeated in vain"
_REPORTED = PathHold(HoldReason.REPORT, "policy is to report")


def _restraint(path: str, inputs: DecisionInputs) -> PathHold | None:
    """Return what keeps a path from being reverted; a person's yes lifts everything that only waits for one."""
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
    """Tell whether a write of the declaration may put this back."""
    if finding.desired is not ABSENT or finding.cls is FindingClass.REMOVED:
        return True
    if paths.format_path(finding.path) in inputs.paths.pinnable:
        return True
    if finding.op in (Op.MISSING, Op.ELEMENT_MISSING):  # nobody declares it, so no write can bring it back
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
    """Choose what happens to a live thing whose declaration goes."""
    if policy is not ManagementPolicy.MANAGED:
        return _decision(Action.NONE, "not_ours", "never written by us; only forgotten")
    if on_delete is OnDelete.DETACH:
        return _decision(Action.NONE, "detach", "detached: the live thing stays, the record goes")
    if origin is Origin.IMPORTED and not exists:
        return _decision(Action.NONE, "gone", "already gone")
    return _decision(Action.DELETE, "removed", "no longer declared")


NOTHING_TO_DO = _decision(Action.NONE, "in_sync", "as declared")  # for a resource that did not change
