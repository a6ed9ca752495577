"""The content of an update, and the paths that it must not change. Pure.

A provider that writes whole documents would revert more than was decided: paths that policy only reports, paths that a
person quarantined, paths that are not compared. These go with the change, so that it can send their live values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from holdfast.compare import apply_patch, paths
from holdfast.compare.rule_tree import Node, RuleTree
from holdfast.compare.rules import FieldClass
from holdfast.model.finding import ChangedBy
from holdfast.model.json import Json
from holdfast.model.path import Path
from holdfast.model.read_result import Found, ReadResult
from holdfast.model.verdict import Verdict
from holdfast.policy import decide
from holdfast.providers.protocol import Change, Unchanged
from holdfast.reconcile.check import CheckResult
from holdfast.store.governance import CorrectionRecord, PathCorrection

_KEPT_OUT = frozenset({FieldClass.IGNORE, FieldClass.READ_ONLY})
_EDITED = (ChangedBy.DECLARED, ChangedBy.BOTH)


def change_of(checked: CheckResult, begun: CorrectionRecord | None, reading: ReadResult | Unchanged) -> Change:
    """Return the change that an update sends: the decided paths, even if another process began it."""
    caused = {path.path for path in begun.paths} if begun is not None else set(checked.decision.reasons[0].paths)
    observed = reading.document if isinstance(reading, Found) else None
    exact = tuple(sorted(caused))
    return Change(_pinned(checked), observed, _written_paths(checked, caused), None, _left(checked), exact)


def corrected_paths(checked: CheckResult) -> tuple[PathCorrection, ...]:
    """Return the paths that a write was decided on, with the values before and after it."""
    caused = set(checked.decision.reasons[0].paths)
    return tuple(
        PathCorrection(path, finding.observed, finding.desired, asked=finding.changed_by in _EDITED)
        for finding in checked.verdict.findings
        if (path := paths.format_path(finding.path)) in caused
    )


def _pinned(checked: CheckResult) -> Json:
    """Return the declaration, with the baseline value at the paths that the declaration alone did not revert."""
    pins = {path for reason in checked.decision.reasons if reason.code == "pin" for path in reason.paths}
    wanted = checked.prepared.clear
    for finding in checked.verdict.findings if pins else ():
        if paths.format_path(finding.path) in pins:
            wanted = apply_patch.put(apply_patch.copied(wanted), finding.path, finding.baseline)
    return wanted


def _written_paths(checked: CheckResult, caused: Collection[str]) -> tuple[str, ...]:
    """Return the paths that an update may change: those that caused it.

    A list is written as a whole, unless a part of it must not change. Then only the elements with keys are written.
    """
    left_alone = {decide.list_of(f.path) for f in checked.verdict.findings if paths.format_path(f.path) not in caused}
    written: dict[str, None] = {}
    for finding in checked.verdict.findings:
        path = paths.format_path(finding.path)
        if path in caused:
            whole = decide.list_of(finding.path)
            written[path if whole is None or whole in left_alone else paths.format_path(whole)] = None
    return tuple(written)


def _left(checked: CheckResult) -> tuple[str, ...]:
    if checked.tree is None:
        return ()
    caused = {path for reason in checked.decision.reasons[:1] for path in reason.paths}
    documents = (checked.prepared.desired, checked.observed)
    return left_alone(checked.verdict, caused, checked.unresolved, documents, checked.tree)


def left_alone(
    verdict: Verdict, caused: Collection[str], unresolved: Collection[str], documents: Collection[Json], rules: RuleTree
) -> tuple[str, ...]:
    """Return the paths that a write must not touch: drift that was not decided on, and paths that are not compared.

    A path that an earlier write could not revert is not among them, because to send it would be to declare it.
    """
    left: dict[str, None] = {}
    for finding in verdict.findings:
        path = paths.format_path(finding.path)
        if finding.changed_by is not ChangedBy.DECLARED and path not in caused and path not in unresolved:
            left[path] = None
    for document in documents:
        for hidden in _hidden(document, rules.root, ()):
            left[paths.format_path(hidden)] = None
    return tuple(left)


def _hidden(value: Json, node: Node, path: Path) -> Iterator[Path]:
    """Go through the places of a document that are kept out of comparison and write."""
    if node.cls in _KEPT_OUT:
        yield path
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _hidden(item, node.child(key), (*path, key))
