"""Owners: the next write to what is kept of one, and what of it may be forgotten. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from holdfast.compare.hash_schemes import StampedHash
from holdfast.model.json import Json
from holdfast.rollouts.core import adoption, hash_epochs, template_groups, templates
from holdfast.rollouts.core.hash_epochs import RecordChange
from holdfast.rollouts.core.option1 import Stamp
from holdfast.rollouts.core.revisions import ChildOrigin, TemplateRevision
from holdfast.rollouts.core.template_groups import OwnerRecord, TemplateGroup
from holdfast.rollouts.core.templates import RESOURCE, Template


def step(template: Template, owned: OwnerRecord | None) -> tuple[RecordChange, OwnerRecord] | None:
    """Return the next write that brings an owner up to what is declared, or None if it is there.

    Which fields count is part of the scheme: another choice of them is a regime, never an edit.
    """
    policy = templates.policy_document(template.fields)
    ident = templates.scheme_id(policy)
    policies = {**(owned.policies if owned is not None else {}), ident: policy}
    known = template_groups.known_schemes(policies)
    found = hash_epochs.reconcile(owned.record if owned is not None else None, template.live(), ident, known)
    if found is None:
        return None
    if owned is None:
        return found.change, OwnerRecord(template, found.record, policies, known=known, version=1)
    after = dataclasses.replace(owned, record=found.record, policies=policies, known=known, due_at=None)
    return found.change, dataclasses.replace(after, version=owned.version + 1)


def with_generation(group: TemplateGroup) -> OwnerRecord | None:
    """Return the one that leads with the revisions that go together now, or None if it has these."""
    new = template_groups.next_generation(group.owners)
    if new is None:
        return None
    lead = group.lead
    return dataclasses.replace(lead, generations=(*lead.generations, new), version=lead.version + 1)


def with_live(owner: OwnerRecord, seen: Json, stamps: Iterable[Stamp]) -> OwnerRecord | None:
    """Return a part with what was seen of it as a revision, where a stamp of a child names that and nothing recorded.

    It is not what is declared, so it does not become the current one: children made from it are to be rolled.
    """
    known = owner.template.readable(owner.known)
    record = owner.record
    ordinal = max(each.ordinal for each in record.revisions) + 1
    live = TemplateRevision(ordinal, {**owner.template.live().content, RESOURCE: seen}, owner.template.schema)
    for stamp in set(stamps):
        named = StampedHash(stamp.version, stamp.digest)
        if adoption.named_by(record.revisions, named, known) is None and adoption.named_by([live], named, known):
            revisions = (*record.revisions, live.digested(owner.known))
            after = dataclasses.replace(record, revisions=revisions, version=record.version + 1)
            return dataclasses.replace(owner, record=after, version=owner.version + 1)
    return None


def forgetting(owner: OwnerRecord, users: Iterable[TemplateGroup], keep: int) -> OwnerRecord | None:
    """Return an owner without what nothing can ask for, or None if it has nothing of that.

    Pass every template group that the owner has children in. While one of them rolls nothing goes: it may turn round.
    """
    listed = list(users)
    if any(group.is_rolling for group in listed):
        return None
    found = hash_epochs.forget(owner.record, [each for group in listed for each in _records(group, owner.uid)], keep)
    if found is None:
        return None
    kept = {each.ordinal for each in found.record.revisions}
    used = {each.scheme for each in found.record.regimes}
    return dataclasses.replace(
        owner,
        record=found.record,
        generations=tuple(each for each in owner.generations if each.births.get(owner.uid) in kept),
        policies={ident: policy for ident, policy in owner.policies.items() if ident in used},
        version=owner.version + 1,
    )


def _records(group: TemplateGroup, uid: str) -> Iterable[ChildOrigin]:
    """Yield what children owe to an owner, and what rewritten ones owed to it before."""
    for child in group.children.values():
        yield child.record_of(uid)
        if child.before is not None and uid in child.before[1]:
            birth = child.before[1][uid]
            yield ChildOrigin(child.name, uid, birth.revision, birth.regime, birth.stamp)
