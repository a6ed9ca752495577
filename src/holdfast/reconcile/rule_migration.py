"""Migration of rules: new rules replace those of the last evaluation without changing the verdict. Pure.

This is the rule of templates (`rollouts.core.hash_epochs`), for one resource: new rules begin with the state that was
last recorded under the old ones, never with live state. A difference under the new rules that the old ones did not show
is *newly visible*: it joins the baseline, and counts again as soon as either side changes. If only the default of an
undeclared field differs, it is a *changed default*. Both are shown as suppressed until they end. Findings of the old
rules remain if the new rules still compare them. Rules of a newer release that this one cannot read leave the verdict
*unknown*. A resource that is only observed has no baseline: the last observation takes its place.

Ignored paths are policy and not rules: a user who stops ignoring a path wants to see its findings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import orjson

from holdfast.compare import apply_patch, diff, known_differences, paths
from holdfast.compare.comparators import typed_equal
from holdfast.compare.profiles import build, stack
from holdfast.compare.rule_tree import RuleTree
from holdfast.errors import InputError
from holdfast.model.absent import ABSENT
from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.model.verdict import Status, Suppressed, SuppressionReason
from holdfast.reconcile.evaluate import inherited, told
from holdfast.reconcile.redact import secret_profile
from holdfast.reconcile.resolved_resource import POLICY, ResolvedResource, RuleMigration, digest_of
from holdfast.store.state import Digest, ResourceState

_NEWLY_VISIBLE = "only the rules of now see it, and it was so when they took over"
UNREADABLE = "it was last judged by rules of another release that this one cannot read; nothing is concluded"


@dataclass(frozen=True, slots=True)
class _Base:
    """The state that was last recorded under the old rules."""

    desired: Json
    observed: Json
    baseline: diff.Baseline | None  # None: it was only ever looked at

    def findings(self, rules: RuleTree) -> list[Finding]:
        return diff.findings(self.desired, self.observed, rules, self.baseline)


def wanted(item: ResolvedResource) -> set[Digest]:
    """Return the documents that a rule migration needs."""
    state = item.state
    if state is None or not (item.is_under_other_rules or (item.is_only_seen and inherited(state))):
        return set()
    found = (
        state.applied.rules,
        state.applied.document,
        state.applied.baseline,
        state.observed.document,
        state.declared.document,
    )
    return {digest for digest in found if digest is not None}


def succeeded(item: ResolvedResource, documents: Mapping[Digest, Json]) -> ResolvedResource:
    """Return a resource as the rules of now take it over; where nothing changes hands, as it is."""
    state = item.state
    if state is None or not item.is_under_other_rules or not wanted(item) <= documents.keys():
        return item
    if state.observed.status in {None, Status.UNKNOWN, Status.MISSING}:
        return item  # there is no verdict to keep
    before = documents[_digest(state.applied.rules)]
    if _without_policy(before) == _without_policy(item.rules.document):
        return item.with_state(replace(state, applied=replace(state.applied, rules=item.rules.digest)))
    baseline = (
        None
        if item.is_only_seen
        else diff.Baseline(documents[_digest(state.applied.document)], documents[_digest(state.applied.baseline)])
    )
    base = _Base(documents[_digest(state.declared.document)], documents[_digest(state.observed.document)], baseline)
    try:
        old = tree(item, [*_policy(item.rules.document), *_without_policy(before)], base.desired, base.observed)
    except RulesUnreadable:
        return replace(item, migration=RuleMigration(unreadable=UNREADABLE))
    return _taken_over(item, state, base, old)


def _taken_over(item: ResolvedResource, state: ResourceState, base: _Base, old: RuleTree) -> ResolvedResource:
    new = tree(item, item.rules.document, base.desired, base.observed)
    were = base.findings(old)
    known = {paths.format_path(pair.path) for pair in were}
    newly_visible = [finding for finding in base.findings(new) if paths.format_path(finding.path) not in known]
    suppressed = tuple(_suppressed(base, newly_visible, old, new))
    if base.baseline is None:
        return replace(
            item,
            state=replace(state, applied=replace(state.applied, rules=item.rules.digest)),
            migration=RuleMigration(suppressed),
        )
    applied, observed = (base.desired, base.observed) if not were else _absorbed(base, newly_visible)
    kept = {digest_of(document): document for document in (applied, observed)}
    after = replace(
        state,
        applied=replace(
            state.applied, document=digest_of(applied), baseline=digest_of(observed), rules=item.rules.digest
        ),
    )
    if not newly_visible:  # nothing comes in: what was written and first seen stays what it was
        after = replace(
            after, applied=replace(after.applied, document=state.applied.document, baseline=state.applied.baseline)
        )
    return replace(item, state=after, migration=RuleMigration(suppressed, kept))


def _suppressed(base: _Base, newly_visible: Sequence[Finding], old: RuleTree, new: RuleTree) -> list[Suppressed]:
    """Return the unchanged values that the new rules judge differently: as newly visible, or by a changed default."""
    seen = {
        pair.path: Suppressed(SuppressionReason.NEWLY_VISIBLE, paths.format_path(pair.path), _NEWLY_VISIBLE)
        for pair in newly_visible
    }
    for difference in diff.differences(base.desired, base.observed, new):
        was, now = (known_differences.node_at(rules, difference.path).default for rules in (old, new))
        if difference.desired is ABSENT and ABSENT not in (was, now) and not typed_equal(was, now):
            note = f"not declared; what stands for that was {_shown(was)}, and is {_shown(now)} by the rules of now"
            seen[difference.path] = Suppressed(
                SuppressionReason.DEFAULTS_CHANGED, paths.format_path(difference.path), note
            )
    return list(seen.values())


def _shown(value: Json) -> str:
    return orjson.dumps(value).decode()


def without_newly_visible(
    item: ResolvedResource, findings: Sequence[Finding], documents: Mapping[Digest, Json]
) -> Sequence[Finding]:
    """Return the findings without those that only the new rules see, in a resource that is only observed.

    They stay suppressed while both sides are as at the last check, since the rules took over.
    """
    state = item.state
    newly_visible = {
        path for path, suppressed in told(item).items() if suppressed.because is SuppressionReason.NEWLY_VISIBLE
    }
    if (
        not newly_visible
        or state is None
        or not item.is_only_seen
        or not {state.declared.document, state.observed.document} <= documents.keys()
    ):
        return findings
    desired, observed = documents[_digest(state.declared.document)], documents[_digest(state.observed.document)]

    def counts(finding: Finding) -> bool:
        was, shown = paths.resolve(desired, finding.path), paths.resolve(observed, finding.path)
        is_still = typed_equal(was, finding.desired) and typed_equal(shown, finding.observed)
        return not is_still or paths.format_path(finding.path) not in newly_visible

    return [finding for finding in findings if counts(finding)]


def _absorbed(base: _Base, newly_visible: list[Finding]) -> tuple[Json, Json]:
    """Add newly visible differences to a baseline that has changed otherwise."""
    assert base.baseline is not None
    applied, observed = apply_patch.copied(base.baseline.applied), apply_patch.copied(base.baseline.observed)
    for pair in newly_visible:
        applied = apply_patch.put(applied, pair.path, pair.desired)
        observed = apply_patch.put(observed, pair.path, pair.observed)
    return applied, observed


class RulesUnreadable(Exception):  # noqa: N818 - an outcome, not a mistake
    """Rules that this release does not understand."""


def tree(item: ResolvedResource, rules: Json, desired: Json, observed: Json) -> RuleTree:
    """Return some rules in force for two documents of a resource; raise Unreadable if they cannot be understood."""
    try:
        own = [build(rule) for rule in rules]
    except InputError as error:
        raise RulesUnreadable from error
    if item.secrets.paths:
        own = [build(secret_profile(item.secrets.patterns, observed, stack(own).tree(desired, observed))), *own]
    return stack(own).tree(desired, observed)


def _without_policy(rules: Json) -> list[Json]:
    return [rule for rule in rules if rule.get("profile") != POLICY]


def _policy(rules: Json) -> list[Json]:
    return [rule for rule in rules if rule.get("profile") == POLICY]


def _digest(digest: Digest | None) -> Digest:
    assert digest is not None
    return digest
