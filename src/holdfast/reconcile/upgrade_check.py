"""The check of an upgrade: the effect of this release's rules, or of other profiles, on all resources of the store.

Nothing is read from providers and nothing is written. Each resource is evaluated twice by its last observation: by the
rules of its last evaluation, and by the present ones after a migration. The verdicts must be equal, and each
difference is reported with its reason. Edited declarations are left out, because an edit is not an upgrade.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.compare import diff, paths, verdict_rules
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.read_result import Found
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration
from holdfast.model.verdict import Status, SuppressionReason, Verdict
from holdfast.reconcile import rule_migration
from holdfast.reconcile.resolved_resource import ResolvedResource, RuleMigration
from holdfast.rollouts.core import group_findings
from holdfast.rollouts.core.template_findings import FindingKind, TemplateFinding
from holdfast.rollouts.core.template_groups import TemplateGroup
from holdfast.rollouts.core.templates import Template
from holdfast.rollouts.repository import RolloutRepository
from holdfast.store.protocol import BlobStore
from holdfast.store.state import Digest, ResourceState

_JUDGED = frozenset({Status.IN_SYNC, Status.PENDING, Status.DRIFTED, Status.CONFLICTED})
_TOLD = (FindingKind.NEWLY_VISIBLE.value, FindingKind.DEFAULTS_CHANGED.value)
BATCH = 500


@dataclass(frozen=True, slots=True)
class UpgradeEffect:
    """The effect of an upgrade on one resource, or on one child of a template."""

    subject: str
    before: str
    after: str
    why: str = ""
    newly_visible: tuple[str, ...] = ()  # what the new rules see and do not count
    defaults: tuple[str, ...] = ()  # what would be told as a changed default

    @property
    def is_changed(self) -> bool:
        """True if the verdict would change."""
        return self.before != self.after


async def resources(store: BlobStore, prepared: Sequence[ResolvedResource]) -> list[UpgradeEffect]:
    """Rehearse declared resources that were judged before."""
    out: list[UpgradeEffect] = []
    for start in range(0, len(prepared), BATCH):
        batch = [resource for resource in prepared[start : start + BATCH] if resource.state is not None]
        wanted = {digest for resource in batch for digest in _wanted(resource)}
        documents = await store.documents(sorted(wanted))
        out += [found for resource in batch if (found := _rehearsed(resource, documents)) is not None]
    return out


def _wanted(item: ResolvedResource) -> set[Digest]:
    state = item.state
    assert state is not None
    found = (
        state.applied.rules,
        state.applied.document,
        state.applied.baseline,
        state.observed.document,
        state.declared.document,
    )
    return {digest for digest in found if digest is not None} | rule_migration.wanted(item)


def _rehearsed(item: ResolvedResource, documents: Mapping[Digest, Json]) -> UpgradeEffect | None:
    state = item.state
    assert state is not None
    if (
        state.observed.status not in _JUDGED
        or state.observed.document not in documents
        or state.declared.document not in documents
    ):
        return None
    taken = rule_migration.succeeded(item, documents)
    after_documents = {**documents, **(taken.migration.documents if taken.migration is not None else {})}
    after = _counted(taken, _verdict(taken, after_documents, taken.rules.document), documents)
    if taken.migration is not None and taken.migration.unreadable:
        after = verdict_rules.unknown(taken.migration.unreadable)
    rules = None if state.applied.rules is None else documents.get(state.applied.rules)
    before = None if rules is None else _counted(item, _verdict(item, documents, rules), documents)
    if before is None:  # never captured: all there is to go by is what was concluded then
        before = verdict_rules.recorded(state.observed.status, state.observed.reason)
        after = _without_suppressed(after, state)
    told = taken.migration or RuleMigration()
    return UpgradeEffect(
        str(item.declaration.address),
        before.status.value,
        after.status.value,
        _why(before, after),
        told.paths(SuppressionReason.NEWLY_VISIBLE),
        told.paths(SuppressionReason.DEFAULTS_CHANGED),
    )


def _verdict(item: ResolvedResource, documents: Mapping[Digest, Json], rules: Json) -> Verdict:
    """Return the verdict about the last observation by some rules."""
    state = item.state
    assert state is not None
    assert state.observed.document is not None
    assert state.declared.document is not None
    desired, observed = documents[state.declared.document], documents[state.observed.document]
    baseline = None
    if (
        state.applied.document is not None
        and state.applied.baseline is not None
        and {state.applied.document, state.applied.baseline} <= documents.keys()
    ):
        baseline = diff.Baseline(documents[state.applied.document], documents[state.applied.baseline])
    try:
        tree = rule_migration.tree(item, rules, desired, observed)
    except rule_migration.RulesUnreadable:
        return verdict_rules.unknown(rule_migration.UNREADABLE)
    return verdict_rules.judge(Found(observed), desired, tree, applied=desired, baseline=baseline)


def _counted(item: ResolvedResource, verdict: Verdict, documents: Mapping[Digest, Json]) -> Verdict:
    """Return a verdict without the findings that only the new rules see."""
    live = rule_migration.without_newly_visible(item, verdict.findings, documents)
    return verdict if len(live) == len(verdict.findings) else verdict_rules.conclude(live)


def _without_suppressed(verdict: Verdict, state: ResourceState) -> Verdict:
    suppressed = {path for _, path, _ in state.observed.suppressed}
    rest = tuple(finding for finding in verdict.findings if paths.format_path(finding.path) not in suppressed)
    return verdict if len(rest) == len(verdict.findings) else verdict_rules.conclude(rest)


def _why(before: Verdict, after: Verdict) -> str:
    if before.status is after.status:
        return ""
    if after.status is Status.UNKNOWN:
        return after.reason
    old = {paths.format_path(finding.path) for finding in before.findings}
    new = {paths.format_path(finding.path) for finding in after.findings}
    seen, unseen = sorted(new - old), sorted(old - new)
    parts = [f"now counts {', '.join(seen)}"] if seen else []
    parts += [f"no longer counts {', '.join(unseen)}"] if unseen else []
    return "; ".join(parts) or after.reason


# --- templates --------------------------------------------------------------------------------------------------------


async def children(
    repository: RolloutRepository, declared: Sequence[Template], around: Mapping[Address, Declaration]
) -> list[UpgradeEffect]:
    """Check the children of templates that were settled before, with the templates of that time."""
    as_recorded = []
    for template in declared:
        record = await repository.recorded(template)
        if record is not None:
            as_recorded.append(template.as_of(record.latest))
    known = {item.name for item in as_recorded}
    whole = [item for item in as_recorded if known.issuperset(item.uses)]
    out = []
    for after in await repository.look(whole, around):
        before = await repository.kept(after.template.name, whole)
        out += _compared(before, after) if before is not None else []
    return out


def _compared(before: TemplateGroup, after: TemplateGroup) -> list[UpgradeEffect]:
    out = []
    before = before.with_children(group_findings.changed(before, 0.0))  # by the scheme that judged last
    after = after.with_children(group_findings.changed(after, 0.0))
    bumped = [owner.template.name for owner in after.owners if _scheme(before, owner.uid) != _scheme(after, owner.uid)]
    why = f"another scheme judges {', '.join(bumped)}" if bumped else ""
    for address, child in before.children.items():
        then, now = _standing(child.findings), _standing(after.children[address].findings)
        told = [("template",) if kind in now and kind not in then else () for kind in _TOLD]
        out.append(UpgradeEffect(str(address), _acting(then), _acting(now), why if then != now else "", *told))
    return out


def _scheme(group: TemplateGroup, uid: str) -> str:
    return next((owner.record.regimes[-1].scheme for owner in group.owners if owner.uid == uid), "")


def _standing(findings: Sequence[TemplateFinding]) -> str:
    return ", ".join(sorted({finding.kind.value for finding in findings})) or "in_sync"


def _acting(standing: str) -> str:
    """Return a standing without the parts that are only reported."""
    parts = [part for part in standing.split(", ") if part not in _TOLD]
    return ", ".join(parts) or "in_sync"
