"""The known differences from the settled read after a write. Pure.

A change that the service made to our write is a known difference from then on. A change of ours that had no effect is
not: it is reported as ineffective, whatever the read shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holdfast.compare import apply_patch, diff, known_differences, paths
from holdfast.compare.known_differences import Capture
from holdfast.compare.rule_tree import RuleTree
from holdfast.model.absent import ABSENT
from holdfast.model.decision import Action
from holdfast.model.finding import ChangedBy, Finding, Op
from holdfast.model.json import Json
from holdfast.model.read_result import Found
from holdfast.model.record import dataclass
from holdfast.model.verdict import SuppressionReason
from holdfast.policy.decide import ReconcileMode
from holdfast.reconcile import serialize
from holdfast.reconcile.check import CheckResult
from holdfast.store.governance import CorrectionRecord
from holdfast.store.records import WriteOperation
from holdfast.store.state import AppliedState, DeclaredState, Digest, ObservedState, ResourceState, ScheduleState

_TOLD_AGAIN = (SuppressionReason.BASELINED, SuppressionReason.LATE)  # at the next check, if it is still so


@dataclass(frozen=True, slots=True)
class Learnt:
    """The results of a settled read."""

    reading: Found
    tree: RuleTree
    observed: Json  # redacted
    capture: Capture
    written: tuple[str, ...]  # the paths that the write was to change; of what was made nothing is listed
    stuck: tuple[str, ...]  # of these, what did not take
    kept: tuple[str, ...]  # no longer declared, and there all the same
    still: tuple[Finding, ...]  # what is to be told from now on

    @property
    def account(self) -> str:
        """Return the result of the write in one sentence."""
        if self.stuck:
            return f"written, but {', '.join(self.stuck)} did not take"
        said = f"written; {len(self.still)} left as policy says" if self.still else "as declared"
        return f"{said}; no longer declared, and kept by the service: {', '.join(self.kept)}" if self.kept else said


def learn(checked: CheckResult, operation: WriteOperation, begun: CorrectionRecord | None, reading: Found) -> Learnt:
    """Return the results of a write from its settled read."""
    item = checked.prepared
    tree, _ = item.rules_for(reading.document)
    observed = reading.document
    before = checked.evaluation.known.baseline
    capture = known_differences.capture(
        item.desired,
        observed,
        tree,
        before=before,
        drift=_before(checked, operation),
        adopted=operation.action == Action.ADOPT.value,
        chained=item.kind.conditional and reading.etag is not None,
        fills_in=item.kind.fills_in,
    )
    written = _written(operation, begun)
    left_edits = _left_edits(checked, operation, written or (), observed, tree) if operation.drift else []
    if before is not None and written is not None and left_edits:
        capture = _with_left(capture, before, left_edits)
    left = (paths.format_path(entry.path) for entry in capture.unresolved)
    waived = {
        suppressed.path for suppressed in checked.verdict.suppressed if suppressed.because is SuppressionReason.WAIVED
    }
    found = diff.findings(item.desired, observed, tree, capture.baseline)
    return Learnt(
        reading,
        tree,
        observed,
        capture,
        written if written is not None else _replaced(operation),
        tuple(path for path in left if written is None or any(is_part(name, path) for name in written)),
        tuple(serialize.finding_paths(known_differences.unremoved(operation.drift, item.desired, observed, tree))),
        tuple(pair for pair in found if paths.format_path(pair.path) not in waived),
    )


def _before(checked: CheckResult, operation: WriteOperation) -> tuple[Finding, ...]:
    """Return the findings before the write, including waived ones, because the service did not cause them.

    If the baseline is invalid there is nothing to compare with, and everything is learnt again.
    """
    invalid = checked.evaluation.known.invalid
    known = [pair for pair in operation.drift if pair.changed_by is not ChangedBy.UNKNOWN or not invalid]
    waived = [
        suppressed.finding
        for suppressed in checked.verdict.suppressed
        if suppressed.because is SuppressionReason.WAIVED and suppressed.finding
    ]
    return (*known, *waived)


def _left_edits(
    checked: CheckResult, operation: WriteOperation, written: Sequence[str], observed: Json, tree: RuleTree
) -> list[Finding]:
    """Return the findings that both sides changed and that the write left alone: their declared value was not sent.

    What stands in a list without a key, or in an element that is no longer declared, cannot be told apart in the
    documents, and counts as written.
    """
    tried = {*written, *checked.unresolved}
    return [
        finding
        for finding in operation.drift
        if finding.changed_by is ChangedBy.BOTH
        and paths.format_path(finding.path) not in tried
        and _is_same_place(finding, checked.prepared.desired)
        and not diff.equal_at(
            known_differences.node_at(tree, finding.path), finding.desired, paths.resolve(observed, finding.path)
        )
    ]


def _with_left(capture: Capture, before: diff.Baseline, left: Sequence[Finding]) -> Capture:
    """Return the capture with what was applied and seen before at the paths that the write left alone."""
    applied, settled = map(apply_patch.copied, (capture.baseline.applied, capture.baseline.observed))
    for finding in left:
        applied = apply_patch.put(applied, finding.path, paths.resolve(before.applied, finding.path))
        settled = apply_patch.put(settled, finding.path, paths.resolve(before.observed, finding.path))
    return replace(capture, baseline=diff.Baseline(applied, settled))


def _is_same_place(finding: Finding, desired: Json) -> bool:
    """Return True if the path of a finding leads to one place in the declaration of now and of before."""
    if finding.op is Op.REORDERED or any(isinstance(step, int) for step in finding.path):
        return False
    return (
        all(isinstance(step, str) for step in finding.path) or paths.resolve(desired, finding.path[:-1]) is not ABSENT
    )


def _written(operation: WriteOperation, begun: CorrectionRecord | None) -> tuple[str, ...] | None:
    """Return the paths that a write was to revert, None for all. Paths that policy left alone have not failed."""
    if begun is None or operation.action != Action.UPDATE.value:
        return None
    return tuple(path.path for path in begun.paths)


def _replaced(operation: WriteOperation) -> tuple[str, ...]:
    """Return everything that differed, where a replacement was made: it is written as a whole."""
    return tuple(serialize.finding_paths(operation.drift)) if operation.action == Action.REPLACE.value else ()


def is_part(path: str, whole: str) -> bool:
    """Return True if a path is another one or lies below it."""
    return path == whole or path.startswith((f"{whole}/", f"{whole}["))


def pinned_in_vain(checked: CheckResult, stuck: Sequence[str]) -> list[str]:
    """Return the paths that were not reverted though their baseline value was sent; it is not sent again."""
    tried = {path for reason in checked.decision.reasons if reason.code == "pin" for path in reason.paths}
    return [path for path in stuck if path in tried or path in checked.evaluation.known.pinned]


def shadow(checked: CheckResult, observed: Json, tree: RuleTree) -> dict[str, Json]:
    """Return, for a resource in shadow mode, whether our comparison called the write needed, and its changes."""
    if checked.prepared.settings.reconcile_mode is not ReconcileMode.SHADOW or checked.observed is ABSENT:
        return {}
    moved = diff.differences(checked.observed, observed, tree)
    changed = [
        difference
        for difference in moved
        if not known_differences.node_at(tree, difference.path).hidden_unless_declared
    ]
    needed = checked.decision.reasons[0].code != "shadow"
    return {"shadow": {"needed": needed, "changed": [paths.format_path(difference.path) for difference in changed]}}


def provider_id_after(checked: CheckResult, operation: WriteOperation, reading: Found) -> str:
    """Return the id of a resource after a write: from the answer, the read, or the name.

    The id from before is right only if nothing was written: a recreated resource has another one.
    """
    state = checked.prepared.state or checked.state
    known = state.observed.provider_id if operation.action == Action.ADOPT.value else None
    return operation.token.get("id") or reading.id or known or checked.address.name


def told_after(checked: CheckResult) -> tuple[tuple[str, str, str], ...]:
    """Return the suppressed differences that stay so after a write; the next check tells the others again."""
    return tuple(pair for pair in checked.state.observed.suppressed if pair[0] not in _TOLD_AGAIN)


def state_after(
    checked: CheckResult, document: Digest | None, applied: AppliedState, observed: ObservedState, now: float
) -> ResourceState:
    """Return the state of a written resource: as declared, and as the read after the write found it."""
    item, before = checked.prepared, checked.state
    schedule = (item.state or before).schedule
    return ResourceState(
        before.address,
        DeclaredState(
            item.declaration.provider,
            before.declared.generation,
            document,
            item.declaration.labels,
            item.options,
            item.depends_on,
            str(item.declaration.location) or None,
        ),
        applied,
        observed,
        ScheduleState(
            checked_at=now,
            good_at=now,
            resync_seconds=item.resync_seconds,
            due_at=before.schedule.due_at,
            requested=schedule.requested,
            handled=before.schedule.handled,
        ),
    )
