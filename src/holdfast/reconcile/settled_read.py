"""What the settled read after a write teaches. Pure.

What the service made of our write is a known difference from then on. What the write was to change and has not changed
is not: it did not take, and is told, however the read looks afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from holdfast.compare import diff, known_differences, paths
from holdfast.compare.known_differences import Capture
from holdfast.compare.rule_tree import RuleTree
from holdfast.model.absent import ABSENT
from holdfast.model.decision import Action
from holdfast.model.finding import ChangedBy, Finding
from holdfast.model.json import Json
from holdfast.model.read_result import Found
from holdfast.model.verdict import SuppressionReason
from holdfast.policy.decide import ReconcileMode
from holdfast.reconcile import serialize
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.resolved_resource import origin_of
from holdfast.store.governance import CorrectionRecord
from holdfast.store.records import WriteOperation
from holdfast.store.state import ResourceState

_TOLD_AGAIN = (SuppressionReason.BASELINED, SuppressionReason.LATE)  # at the next check, if it is still so


@dataclass(frozen=True, slots=True)
class Learnt:
    """What a settled read brought."""

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
        """Say in a sentence what came of the write."""
        if self.stuck:
            return f"written, but {', '.join(self.stuck)} did not take"
        said = f"written; {len(self.still)} left as policy says" if self.still else "as declared"
        return f"{said}; no longer declared, and kept by the service: {', '.join(self.kept)}" if self.kept else said


def learn(checked: CheckResult, operation: WriteOperation, begun: CorrectionRecord | None, reading: Found) -> Learnt:
    """Say what became of a write."""
    item = checked.prepared
    tree, _ = item.rules_for(reading.document)
    observed = reading.document
    capture = known_differences.capture(
        item.desired,
        observed,
        tree,
        before=checked.evaluation.known.baseline,
        drift=_before(checked, operation),
        adopted=operation.action == Action.ADOPT.value,
        chained=item.kind.conditional and reading.etag is not None,
        fills_in=item.kind.fills_in,
    )
    written = _written(operation, begun)
    left = (paths.format_path(entry.path) for entry in capture.unresolved)
    waived = {each.path for each in checked.verdict.suppressed if each.because is SuppressionReason.WAIVED}
    found = diff.findings(item.desired, observed, tree, capture.baseline)
    return Learnt(
        reading,
        tree,
        observed,
        capture,
        written if written is not None else _replaced(operation),
        tuple(path for path in left if written is None or any(is_part(each, path) for each in written)),
        tuple(serialize.finding_paths(known_differences.unremoved(operation.drift, item.desired, observed, tree))),
        tuple(each for each in found if paths.format_path(each.path) not in waived),
    )


def _before(checked: CheckResult, operation: WriteOperation) -> tuple[Finding, ...]:
    """Return what differed before the write, also what somebody answers for: none of it is the service's doing.

    Where what was known counts no more there is nothing to compare with, and everything is learnt anew.
    """
    invalid = checked.evaluation.known.invalid
    known = [each for each in operation.drift if each.changed_by is not ChangedBy.UNKNOWN or not invalid]
    waived = [
        each.finding for each in checked.verdict.suppressed if each.because is SuppressionReason.WAIVED and each.finding
    ]
    return (*known, *waived)


def _written(operation: WriteOperation, begun: CorrectionRecord | None) -> tuple[str, ...] | None:
    """Return the paths that a write was to put right, None for all: what policy left alone has not failed."""
    if begun is None or operation.action != Action.UPDATE.value:
        return None
    return tuple(each.path for each in begun.paths)


def _replaced(operation: WriteOperation) -> tuple[str, ...]:
    """Return everything that differed, where a replacement was made: it is written as a whole."""
    return tuple(serialize.finding_paths(operation.drift)) if operation.action == Action.REPLACE.value else ()


def is_part(path: str, whole: str) -> bool:
    """Tell whether a path is another one, or leads into what stands there."""
    return path == whole or path.startswith((f"{whole}/", f"{whole}["))


def pinned_in_vain(checked: CheckResult, stuck: Sequence[str]) -> list[str]:
    """Return the paths that were not reverted though their baseline value was sent; it is not sent again."""
    tried = {path for reason in checked.decision.reasons if reason.code == "pin" for path in reason.paths}
    return [path for path in stuck if path in tried or path in checked.evaluation.known.pinned]


def shadow(checked: CheckResult, observed: Json, tree: RuleTree) -> dict[str, Json]:
    """Return, for a resource in shadow mode, whether the write was needed by our comparison, and what it changed."""
    if checked.prepared.settings.reconcile_mode is not ReconcileMode.SHADOW or checked.observed is ABSENT:
        return {}
    moved = diff.differences(checked.observed, observed, tree)
    changed = [each for each in moved if not known_differences.node_at(tree, each.path).hidden_unless_declared]
    needed = checked.decision.reasons[0].code != "shadow"
    return {"shadow": {"needed": needed, "changed": [paths.format_path(each.path) for each in changed]}}


def state_after(checked: CheckResult, operation: WriteOperation, reading: Found, now: float) -> ResourceState:
    """Return the state of a written resource, apart from its documents and its verdict."""
    item = checked.prepared
    state = item.state or checked.state
    return replace(
        state,
        declared=replace(
            state.declared,
            provider=item.declaration.provider,
            generation=checked.state.declared.generation,
            labels=item.declaration.labels,
            options=item.options,
            depends_on=item.depends_on,
            source=str(item.declaration.location) or None,
        ),
        observed=replace(
            state.observed,
            provider_id=operation.token.get("id")
            or reading.id
            or state.observed.provider_id
            or item.declaration.address.name,
            suppressed=tuple(each for each in checked.state.observed.suppressed if each[0] not in _TOLD_AGAIN),
            missing_checks=1,
        ),
        applied=replace(
            state.applied,
            revision=checked.state.applied.revision + 1,
            origin=origin_of(item.declaration, state),
            identity=reading.identity,
            api_version=reading.version,
        ),
        schedule=replace(
            state.schedule,
            checked_at=now,
            good_at=now,
            resync_seconds=item.resync_seconds,
            due_at=checked.state.schedule.due_at,
            handled=checked.state.schedule.handled,
            terminal=None,
            failures=0,
        ),
    )
