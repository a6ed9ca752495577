"""Inputs of a decision other than the verdict, derived from the settings, the rules and the stored state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast.compare import known_differences, paths
from holdfast.compare.comparators import is_fingerprint
from holdfast.compare.rule_tree import RuleTree
from holdfast.model.absent import ABSENT
from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.model.read_result import Found, ReadError, ReadFailure
from holdfast.policy.decide import DecisionInputs, Handling, PathFacts, ReconcileMode, WriteLimits, WriteRecord
from holdfast.policy.settings import Level
from holdfast.reconcile import evaluate
from holdfast.reconcile.evaluation import Evaluation

_LIFTING: Final = ("onImmutable", "recreate", "resyncPeriod")


def inputs_of(evaluation: Evaluation) -> DecisionInputs:
    """Return the inputs of a decision other than the verdict, as far as the check knows them."""
    item, state, settings = evaluation.resource, evaluation.before, evaluation.resource.settings
    reading, applied = evaluation.observation.reading, state.applied.document
    mode = settings.reconcile_mode
    is_withheld = isinstance(reading, ReadFailure) and reading.trouble is ReadError.WITHHELD
    if is_withheld and mode is not ReconcileMode.OBSERVE:  # a withheld document is sent without a comparison
        mode = ReconcileMode.PUT_ONLY
    handling = Handling(
        item.declaration.policy,
        state.applied.origin,
        settings.on_drift,
        settings.on_immutable,
        settings.recreate,
        resyncs=settings.resync.period > 0 or not settings.is_resync_set,
        imports=item.declaration.import_from is not None,
        whole_writes=not item.kind.patches,
        mode=mode,
    )
    is_edited = state.declared.document != item.desired_digest or _is_set_otherwise(evaluation)
    is_new = applied != item.desired_digest  # a failed write was meant to apply this document
    record = WriteRecord(
        applied=applied is not None and not evaluation.known.invalid,
        edited=applied is not None and is_new,
        terminal=None if is_edited or item.is_retried else state.schedule.terminal,
        damaged=evaluation.known.invalid == evaluate.DAMAGED,
        failed=reading.failed if isinstance(reading, Found) and is_new else "",
        uncompared=is_withheld or (mode is ReconcileMode.PUT_ONLY and isinstance(reading, Found)),
    )
    return DecisionInputs(handling, record, _path_facts(evaluation), WriteLimits(source=item.held))


def _path_facts(evaluation: Evaluation) -> PathFacts:
    item, tree, known = evaluation.resource, evaluation.tree, evaluation.known
    findings, desired = evaluation.verdict.findings, item.desired
    if not findings:
        return PathFacts(unresolved=known.unresolved)
    assert tree is not None
    valued = {paths.format_path(finding.path) for finding in findings if _has_baseline_only(finding)}
    is_pinned = item.settings.pin_baseline
    return PathFacts(
        immutable=frozenset(paths.format_path(finding.path) for finding in findings if _is_fixed(finding, tree)),
        declared_lists=frozenset(
            paths.format_path(finding.path)
            for finding in findings
            if _is_in_list(finding, desired) or _is_in_whole_map(finding, desired, tree)
        ),
        unresolved=known.unresolved,
        pinnable=(known.unresolved - known.pinned) & valued if is_pinned else frozenset(),
    )


def _is_set_otherwise(evaluation: Evaluation) -> bool:
    """Return True if a setting that may lift a block has changed since the block.

    The message of a block asks a person to change such a setting. A change from one built-in value to another does not
    count, because `watch` and `plan` have different built-in periods.
    """
    before, now = evaluation.before.declared.options, evaluation.resource.options
    return any(
        before[name]["value"] != now[name]["value"] and not (_is_built_in(before[name]) and _is_built_in(now[name]))
        for name in _LIFTING
        if name in now and name in before
    )


def _is_built_in(option: Mapping[str, Json]) -> bool:
    return str(option.get("from", "")).startswith(Level.BUILT_IN)


def _has_baseline_only(finding: Finding) -> bool:
    """Return True if a value is only in the baseline. A fingerprint does not count because it cannot be sent."""
    value = finding.baseline
    return finding.desired is ABSENT and value is not ABSENT and not is_fingerprint(value)


def _is_fixed(finding: Finding, tree: RuleTree) -> bool:
    return finding.desired is not ABSENT and known_differences.node_at(tree, finding.path).create_only


def _is_in_list(finding: Finding, desired: Json) -> bool:
    """Return True if a finding is an element of a declared list, or inside such an element."""
    place = next((place for place, step in enumerate(finding.path) if not isinstance(step, str)), None)
    return place is not None and isinstance(paths.resolve(desired, finding.path[:place]), list)


def _is_in_whole_map(finding: Finding, desired: Json, tree: RuleTree) -> bool:
    """Return True if a finding is an entry of a declared map that the rules treat as declared as a whole."""
    rule = known_differences.node_at(tree, finding.path[:-1]).map_rule if finding.path else None
    return rule is not None and rule.whole and isinstance(paths.resolve(desired, finding.path[:-1]), dict)
