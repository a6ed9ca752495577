"""Learning: what the settled read after a write says of it. Pure.

What the service made of our write is a known difference from then on. What the write was to change and has not changed
is not: it did not take, and is told, however the read looks afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.compare import diff, known_differences, paths
from holdfast.compare.known_differences import Capture
from holdfast.compare.rule_tree import RuleTree
from holdfast.model.decision import Action
from holdfast.model.finding import ChangedBy, Finding
from holdfast.model.json import Json
from holdfast.model.read_result import Found
from holdfast.model.verdict import SuppressionReason
from holdfast.reconcile import serialize
from holdfast.reconcile.check import CheckResult
from holdfast.store.governance import CorrectionRecord
from holdfast.store.records import WriteOperation


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
        before=checked.baseline,
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
    known = [each for each in operation.drift if each.changed_by is not ChangedBy.UNKNOWN or not checked.invalid]
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
