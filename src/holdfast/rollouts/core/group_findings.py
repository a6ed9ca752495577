"""Findings of the owners of a template group about its children, and the findings that justify a rollout.

Most children of a template group come from a few revisions, so each revision is judged once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from holdfast.compat.karpenter import hash_annotations
from holdfast.compat.karpenter.hash_annotations import Stamp
from holdfast.model.address import Address
from holdfast.model.record import dataclass
from holdfast.rollouts.core import template_findings
from holdfast.rollouts.core.requirements import AT_ONCE, Predicate, RequirementDebounce
from holdfast.rollouts.core.slots import ChildState
from holdfast.rollouts.core.template_findings import FindingKind, Look, TemplateFinding
from holdfast.rollouts.core.template_groups import ChildRecord, OwnerRecord, OwnerRevision, TemplateGroup
from holdfast.rollouts.core.templates import Compatibility, RolloutMode


class Breach(NamedTuple):
    """A predicate that a child certainly breaks."""

    owner: str  # uid
    predicate: Predicate
    seen_at: float = 0.0  # when the evidence was read


Broken = Mapping[Address, tuple[Breach, ...]]
_LIVING = frozenset({ChildState.READY, ChildState.UNHEALTHY, ChildState.CREATING})


@dataclass(slots=True)
class _Judge:
    """Judge that computes the findings of each distinct origin once."""

    group: TemplateGroup
    now: float
    _seen: dict[tuple[str, OwnerRevision], tuple[TemplateFinding, ...]] = field(default_factory=dict)
    uids: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.uids = frozenset(owner.uid for owner in self.group.owners)

    def static(self, owner: OwnerRecord, child: ChildRecord) -> tuple[TemplateFinding, ...]:
        if owner.uid not in child.births and self.group.lead.uid in child.births:
            return ()  # a part that was added later; see `_other_owners`
        if owner.template.stamps.compatibility is Compatibility.OPTION1:
            return self._of_option1(owner, child)
        birth = child.births.get(owner.uid, OwnerRevision())
        found = self._seen.get((owner.uid, birth))
        if found is None:
            look = Look(owner.template.readable(owner.known), self.now, owner.template.stamps.unstamped)
            found = template_findings.findings(owner.record, child.record_of(owner.uid), look)
            self._seen[owner.uid, birth] = found
        return found

    def _of_option1(self, owner: OwnerRecord, child: ChildRecord) -> tuple[TemplateFinding, ...]:
        birth = child.births.get(owner.uid, OwnerRevision())
        mine = None if birth.stamp is None else Stamp(birth.stamp.digest, birth.stamp.scheme)
        theirs = None if owner.stamp is None else Stamp(*owner.stamp)
        if not hash_annotations.is_drifted(theirs, mine):
            return ()
        return (TemplateFinding(owner.uid, child.name, FindingKind.SPEC, "edited", self.now),)


def changed(group: TemplateGroup, now: float, broken: Broken | None = None) -> Iterator[ChildRecord]:
    """Yield the children whose findings changed, with the new findings. `first_seen` is kept."""
    judge = _Judge(group, now)
    for child in group.children.values():
        if child.state not in _LIVING:
            continue
        found = _of_child(judge, child, () if broken is None else broken.get(child.address, ()))
        if found != child.findings:
            yield dataclasses.replace(child, findings=found)


def _of_child(judge: _Judge, child: ChildRecord, broken: tuple[Breach, ...]) -> tuple[TemplateFinding, ...]:
    found = [finding for owner in judge.group.owners for finding in judge.static(owner, child)]
    found += _other_owners(judge, child)
    if not broken and _is_kept(found, child.findings):
        return child.findings
    seen = {finding.identity: finding.first_seen for finding in child.findings}
    out = {}
    for finding in (*found, *_dynamic(judge, child, broken)):
        identity = (finding.owner, child.name, finding.kind, finding.reason)
        out[identity] = dataclasses.replace(
            finding, child=child.name, first_seen=seen.get(identity, finding.first_seen)
        )
    unsure = {finding.owner for finding in found if finding.kind is FindingKind.UNKNOWN}
    for finding in child.findings:  # keep earlier findings of an owner that cannot judge now; they cause no action
        if finding.owner in unsure and finding.kind is not FindingKind.UNKNOWN:
            out.setdefault(finding.identity, finding)
    return tuple(out.values())


def _dynamic(judge: _Judge, child: ChildRecord, broken: tuple[Breach, ...]) -> Iterator[TemplateFinding]:
    """Yield broken predicates. Count each one until its debounce is over. After that the finding no longer changes."""
    before = {finding.identity: finding for finding in child.findings} if broken else {}
    for breach in broken:
        name, debounce = breach.predicate.name, breach.predicate.debounce
        new = TemplateFinding(breach.owner, child.name, FindingKind.DYNAMIC, name, judge.now)
        known = before.get(new.identity)
        if known is None:
            yield new if debounce == AT_ONCE else dataclasses.replace(new, last_seen=breach.seen_at)
        elif breach.seen_at <= known.last_seen or _is_over(debounce, known):
            yield known
        else:
            yield dataclasses.replace(known, times=known.times + 1, last_seen=breach.seen_at)


def _is_over(debounce: RequirementDebounce, finding: TemplateFinding) -> bool:
    return debounce.is_over(finding.times, finding.last_seen - finding.first_seen)


def is_debounced(group: TemplateGroup, finding: TemplateFinding) -> bool:
    """Return True if a broken predicate was not yet seen often and long enough."""
    if finding.kind is not FindingKind.DYNAMIC:
        return False
    owner = group.owner(finding.owner)
    rules = () if owner is None else owner.template.checks.requirements
    found = (rule.debounce for rule in rules if rule.name == finding.reason and rule.debounce != AT_ONCE)
    return any(not _is_over(debounce, finding) for debounce in found)


def _is_kept(found: Sequence[TemplateFinding], kept: Sequence[TemplateFinding]) -> bool:
    """Return True if the findings equal the stored ones, which holds for nearly all children in nearly all passes."""
    return len(found) == len(kept) and all(
        now.kind is not FindingKind.UNKNOWN
        and (now.owner, now.kind, now.reason, now.fields) == (then.owner, then.kind, then.reason, then.fields)
        for now, then in zip(found, kept, strict=True)
    )


def _other_owners(judge: _Judge, child: ChildRecord) -> Iterator[TemplateFinding]:
    """Yield findings about the owners: a part was added or removed after the child was created."""
    uids = judge.uids
    if judge.group.lead.uid not in child.births:
        return
    if uids == child.births.keys():
        return
    for owner in sorted(uids ^ child.births.keys()):
        reason = "part-added" if owner in uids else "part-removed"
        yield TemplateFinding(owner, child.name, FindingKind.SPEC, reason, judge.now)


def asking(group: TemplateGroup, child: ChildRecord) -> tuple[TemplateFinding, ...]:
    """Return the findings of a child that justify a rollout.

    A child that was created because of a broken predicate, from the current revision, and breaks the predicate again
    is left unchanged, because another child would have the same content.
    """
    return wanting(group, child) if group.template.rollout.mode is RolloutMode.ENFORCE else ()


def wanting(group: TemplateGroup, child: ChildRecord) -> tuple[TemplateFinding, ...]:
    """Return the findings that would justify a rollout if the mode of the template allowed one."""
    if not child.findings:
        return ()
    promoted = frozenset().union(*(owner.template.rollout.promoted for owner in group.owners))
    found = template_findings.asks_for_action(child.findings, promoted)
    was_for_it = child.reason == FindingKind.DYNAMIC.value and child.generation == group.current.number
    is_left = was_for_it and bool(child.made_by)
    return tuple(
        finding
        for finding in found
        if finding.kind is not FindingKind.DYNAMIC or not (is_left or is_debounced(group, finding))
    )
