"""Succession: how new rules take over from those that a resource was judged by, without changing its verdict. Pure.

The same rule as for templates (`plan.rolling_out.regimes`), for one resource: new rules begin with what was last
recorded under the old ones, never with what is live. What differs there by the new rules and did not by the old ones is
*latent*: it joins the baseline, and counts again as soon as either side moves. Where only the value that stands for
saying nothing is another one, it is a *changed default*. Both are told, set aside, until they are gone. What the old
rules found stays found, if the new ones still look at it. Rules of a newer release that this one cannot read leave the
verdict *unknown*. What is only looked at has no baseline: there the last look takes its place.

Which paths policy ignores is no matter of rules: who stops ignoring something wants to hear of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import orjson

from holdfast.compare import apply_patch, diff, known_differences, paths
from holdfast.compare.comparators import typed_equal
from holdfast.compare.profiles import build, stack
from holdfast.compare.rule_tree import RuleTree
from holdfast.errors import InputError
from holdfast.model.absent import ABSENT
from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.model.verdict import Aside, SetAside, Status
from holdfast.reconcile.evaluate import inherited, told
from holdfast.reconcile.redact import secret_profile
from holdfast.reconcile.resolved_resource import POLICY, Prepared, Succession, digest_of
from holdfast.store.protocol import Digest, ResourceState

_LATENT = "only the rules of now see it, and it was so when they took over"
UNREADABLE = "it was last judged by rules of another release that this one cannot read; nothing is concluded"


@dataclass(frozen=True, slots=True)
class _Base:
    """What was last recorded under the old rules."""

    desired: Json
    observed: Json
    baseline: diff.Baseline | None  # None: it was only ever looked at

    def findings(self, rules: RuleTree) -> list[Finding]:
        return diff.findings(self.desired, self.observed, rules, self.baseline)


def wanted(item: Prepared) -> set[Digest]:
    """Return the documents that a succession is worked out from, or that tell whether what is latent still is so."""
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


def succeeded(item: Prepared, documents: Mapping[Digest, Json]) -> Prepared:
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
    except Unreadable:
        return replace(item, succession=Succession(unreadable=UNREADABLE))
    return _taken_over(item, state, base, old)


def _taken_over(item: Prepared, state: ResourceState, base: _Base, old: RuleTree) -> Prepared:
    new = tree(item, item.rules.document, base.desired, base.observed)
    were = base.findings(old)
    known = {paths.format_path(each.path) for each in were}
    latent = [each for each in base.findings(new) if paths.format_path(each.path) not in known]
    aside = tuple(_aside(base, latent, old, new))
    if base.baseline is None:
        return replace(
            item,
            state=replace(state, applied=replace(state.applied, rules=item.rules.digest)),
            succession=Succession(aside),
        )
    applied, observed = (base.desired, base.observed) if not were else _absorbed(base, latent)
    kept = {digest_of(document): document for document in (applied, observed)}
    after = replace(
        state,
        applied=replace(
            state.applied, document=digest_of(applied), baseline=digest_of(observed), rules=item.rules.digest
        ),
    )
    if not latent:  # nothing comes in: what was written and first seen stays what it was
        after = replace(
            after, applied=replace(after.applied, document=state.applied.document, baseline=state.applied.baseline)
        )
    return replace(item, state=after, succession=Succession(aside, kept))


def _aside(base: _Base, latent: Sequence[Finding], old: RuleTree, new: RuleTree) -> list[Aside]:
    """Tell what nobody moved and the new rules see otherwise: for the first time, or by another default."""
    seen = {each.path: Aside(SetAside.LATENT, paths.format_path(each.path), _LATENT) for each in latent}
    for each in diff.differences(base.desired, base.observed, new):
        was, now = (known_differences.node_at(rules, each.path).default for rules in (old, new))
        if each.desired is ABSENT and ABSENT not in (was, now) and not typed_equal(was, now):
            note = f"not declared; what stands for that was {_shown(was)}, and is {_shown(now)} by the rules of now"
            seen[each.path] = Aside(SetAside.DEFAULTS_CHANGED, paths.format_path(each.path), note)
    return list(seen.values())


def _shown(value: Json) -> str:
    return orjson.dumps(value).decode()


def without_latent(item: Prepared, findings: Sequence[Finding], documents: Mapping[Digest, Json]) -> Sequence[Finding]:
    """Return the findings without those that only the new rules see, in a resource that is only observed.

    They stay suppressed while both sides are what they were at the last check, since the rules took over.
    """
    state = item.state
    latent = {path for path, each in told(item).items() if each.because is SetAside.LATENT}
    if (
        not latent
        or state is None
        or not item.is_only_seen
        or not {state.declared.document, state.observed.document} <= documents.keys()
    ):
        return findings
    desired, observed = documents[_digest(state.declared.document)], documents[_digest(state.observed.document)]

    def counts(finding: Finding) -> bool:
        was, shown = paths.resolve(desired, finding.path), paths.resolve(observed, finding.path)
        is_still = typed_equal(was, finding.desired) and typed_equal(shown, finding.observed)
        return not is_still or paths.format_path(finding.path) not in latent

    return [finding for finding in findings if counts(finding)]


def _absorbed(base: _Base, latent: list[Finding]) -> tuple[Json, Json]:
    """Take what is latent into a baseline that something else has moved away from."""
    assert base.baseline is not None
    applied, observed = apply_patch.copied(base.baseline.applied), apply_patch.copied(base.baseline.observed)
    for each in latent:
        applied = apply_patch.put(applied, each.path, each.desired)
        observed = apply_patch.put(observed, each.path, each.observed)
    return applied, observed


class Unreadable(Exception):  # noqa: N818 - an outcome, not a mistake
    """Rules that this release does not understand."""


def tree(item: Prepared, rules: Json, desired: Json, observed: Json) -> RuleTree:
    """Return some rules in force for two documents of a resource; raise Unreadable if they cannot be understood."""
    try:
        own = [build(each) for each in rules]
    except InputError as error:
        raise Unreadable from error
    if item.secrets.paths:
        own = [build(secret_profile(item.secrets.patterns, observed, stack(own).tree(desired, observed))), *own]
    return stack(own).tree(desired, observed)


def _without_policy(rules: Json) -> list[Json]:
    return [each for each in rules if each.get("profile") != POLICY]


def _policy(rules: Json) -> list[Json]:
    return [each for each in rules if each.get("profile") == POLICY]


def _digest(digest: Digest | None) -> Digest:
    assert digest is not None
    return digest
