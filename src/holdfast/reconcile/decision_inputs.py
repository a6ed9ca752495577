"""The situation of a resource: all that a decision depends on besides the verdict, from settings, rules and memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from holdfast.compare import known_differences, paths
from holdfast.compare.comparators import is_fingerprint
from holdfast.compare.rule_tree import RuleTree
from holdfast.model.absent import ABSENT
from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.model.read_result import Found, Trouble, Unreadable
from holdfast.policy.decide import ReconcileMode, Situation
from holdfast.policy.settings import Level
from holdfast.reconcile import evaluate
from holdfast.reconcile.evaluate import Evaluation

_LIFTING: Final = ("onImmutable", "recreate", "resyncPeriod")


def situation_of(evaluation: Evaluation) -> Situation:
    """Gather everything that a decision depends on besides the verdict, as far as looking tells."""
    item, verdict, tree, state = evaluation.resource, evaluation.verdict, evaluation.tree, evaluation.before
    assert tree is not None
    settings = item.settings
    fixed = frozenset(paths.format_path(finding.path) for finding in verdict.findings if _is_fixed(finding, tree))
    edited = state.declared.document != item.desired_digest or _is_set_otherwise(evaluation)
    return Situation(
        policy=item.declaration.policy,
        origin=state.applied.origin,
        on_drift=settings.on_drift,
        on_immutable=settings.on_immutable,
        recreate=settings.recreate,
        resyncs=settings.resync_period > 0 or not settings.is_resync_set,
        applied=state.applied.document is not None and not evaluation.known.invalid,
        edited=state.applied.document is not None and state.applied.document != item.desired_digest,
        imports=item.declaration.import_from is not None,
        whole_writes=not item.kind.patches,
        immutable=fixed,
        declared_lists=frozenset(
            paths.format_path(f.path)
            for f in verdict.findings
            if _is_in_list(f, item.desired) or _is_in_whole_map(f, item.desired, tree)
        ),
        unresolved=evaluation.known.unresolved,
        source=item.held,
        terminal=None if edited or item.is_retried else state.schedule.terminal,
        **_mode(evaluation),
    )


def _is_set_otherwise(evaluation: Evaluation) -> bool:
    """Return True if a setting that may lift a block is another one than when it was blocked: it was told to set it.

    A built-in value is nobody's setting: `watch` has another period than `plan` where nothing sets one.
    """
    before, now = evaluation.before.declared.options, evaluation.resource.options
    return any(
        before[name]["value"] != now[name]["value"] and not (_is_built_in(before[name]) and _is_built_in(now[name]))
        for name in _LIFTING
        if name in now and name in before
    )


def _is_built_in(option: Mapping[str, Json]) -> bool:
    return str(option.get("from", "")).startswith(Level.BUILT_IN)


def _mode(evaluation: Evaluation) -> dict[str, Any]:
    """Return how looking leads to writing here: as the settings say, and without comparing what nobody can see."""
    settings, reading = evaluation.resource.settings, evaluation.observation.reading
    mode = settings.reconcile_mode
    withheld = isinstance(reading, Unreadable) and reading.trouble is Trouble.WITHHELD
    if withheld and mode is not ReconcileMode.OBSERVE:
        mode = ReconcileMode.PUT_ONLY
    uncompared = withheld or (mode is ReconcileMode.PUT_ONLY and isinstance(reading, Found))
    pinnable = evaluation.known.unresolved - evaluation.known.pinned if settings.pin_baseline else frozenset[str]()
    known = {paths.format_path(f.path) for f in evaluation.verdict.findings if _has_baseline_only(f)}
    is_ours = (
        evaluation.before.applied.document != evaluation.resource.desired_digest
    )  # what failed was to bring this about
    return {
        "mode": mode,
        "uncompared": uncompared,
        "damaged": evaluation.known.invalid == evaluate.DAMAGED,
        "failed": reading.failed if isinstance(reading, Found) and is_ours else "",
        "pinnable": pinnable & known,
    }


def _has_baseline_only(finding: Finding) -> bool:
    """Tell whether a value is not declared but known; a fingerprint is not a value that could be sent."""
    value = finding.baseline
    return finding.desired is ABSENT and value is not ABSENT and not is_fingerprint(value)


def _is_fixed(finding: Finding, tree: RuleTree) -> bool:
    return finding.desired is not ABSENT and known_differences.node_at(tree, finding.path).create_only


def _is_in_list(finding: Finding, desired: Json) -> bool:
    """Tell whether a finding is an element, or inside one, of a list that the declaration has."""
    place = next((place for place, step in enumerate(finding.path) if not isinstance(step, str)), None)
    return place is not None and isinstance(paths.resolve(desired, finding.path[:place]), list)


def _is_in_whole_map(finding: Finding, desired: Json, tree: RuleTree) -> bool:
    """Tell whether a finding is an entry of a declared map whose rules say that it is declared as a whole."""
    rule = known_differences.node_at(tree, finding.path[:-1]).map_rule if finding.path else None
    return rule is not None and rule.whole and isinstance(paths.resolve(desired, finding.path[:-1]), dict)
