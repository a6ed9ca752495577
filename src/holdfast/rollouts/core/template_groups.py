"""template groups: a template with its parts, its children, and its rollout, as they are remembered.

A child is made from one revision of each of its owners. Which of them go together is a *generation*, a number, and what
a rollout moves children to; the revisions themselves, and how a child stands to each, stay with the owners.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from holdfast.compare.hash_schemes import StampedHash
from holdfast.compat.karpenter.hash_annotations import Stamp
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.rollouts.core import hash_epochs, revisions, templates
from holdfast.rollouts.core.hash_epochs import RecordChange
from holdfast.rollouts.core.records import OVER, Rollout, RolloutPhase, RolloutTarget
from holdfast.rollouts.core.revisions import ChildOrigin, ParentRecord, TemplateRevision, named_by
from holdfast.rollouts.core.slots import ChildState
from holdfast.rollouts.core.template_findings import TemplateFinding
from holdfast.rollouts.core.template_schemes import Schemes, TemplateScheme
from holdfast.rollouts.core.templates import RESOURCE, Template


@dataclass(frozen=True, slots=True)
class OwnerRevision:
    """The revision of an owner that a child was created from, and its regime. Both None: unknown."""

    revision: int | None = None
    regime: int | None = None
    stamp: StampedHash | None = None


@dataclass(frozen=True, slots=True)
class ChildRecord:
    """All that is kept of one child."""

    address: Address
    slot: str
    births: Mapping[str, OwnerRevision]  # by owner
    generation: int = 0  # 0: of none that was recorded
    state: ChildState = ChildState.CREATING
    ready_since: float = 0.0
    made_by: str = ""
    attempt: int = 0
    reason: str = "spec"
    before: tuple[int, Mapping[str, OwnerRevision]] | None = None  # of a rewrite: what the child was, should it fail
    findings: tuple[TemplateFinding, ...] = ()
    since: float = 0.0
    note: str = ""  # what went wrong last
    version: int = 0  # of its versioned record; 0: not kept yet
    is_rewriting: bool = False  # it is there, and gets other content; `before` is what it was

    @property
    def name(self) -> str:
        """The name of the owner in findings."""
        return self.address.name

    def record_of(self, owner: str) -> ChildOrigin:
        """Return the debt to one owner, as regimes take it."""
        birth = self.births.get(owner, OwnerRevision())
        return ChildOrigin(self.name, owner, birth.revision, birth.regime, birth.stamp)


@dataclass(frozen=True, slots=True)
class RevisionSet:
    """A revision of each owner, to make children from."""

    number: int
    births: Mapping[str, int]  # owner -> ordinal


@dataclass(frozen=True, slots=True)
class OwnerRecord:
    """One owner: the template as declared, and as it is recorded."""

    template: Template
    record: ParentRecord
    policies: Mapping[str, Json]  # scheme id -> which fields counted
    generations: tuple[RevisionSet, ...] = ()  # of the one that leads
    stamp: tuple[str, str] | None = None  # Option 1 only: hash and version on the owner
    version: int = 0  # of its versioned record
    known: Schemes = field(default_factory=dict, compare=False)
    due_at: float | None = None  # when its predicates are to be asked again

    @property
    def uid(self) -> str:
        """The key of its record."""
        return self.record.uid


@dataclass(frozen=True, slots=True)
class RolloutRecord:
    """A rollout with what it was for: the target turns round when it goes back, the aim does not."""

    number: int
    aim: int  # generation
    rollout: Rollout
    who: str = ""
    due_at: float | None = None


@dataclass(frozen=True, slots=True)
class TemplateGroup:
    """One template that leads, and everything it leads."""

    template: Template
    owners: tuple[OwnerRecord, ...]  # the parts, then the template itself
    children: Mapping[Address, ChildRecord] = field(default_factory=dict)
    rollout: RolloutRecord | None = None  # the newest
    former: Mapping[str, OwnerRecord] = field(
        default_factory=dict
    )  # parts that it used before, and that children still have

    @property
    def lead(self) -> OwnerRecord:
        """The template's own record."""
        return self.owners[-1]

    @property
    def current(self) -> RevisionSet:
        """The generation that the declarations ask for."""
        return self.lead.generations[-1]

    def generation(self, number: int) -> RevisionSet | None:
        """Return a generation that is still kept."""
        return next((item for item in self.lead.generations if item.number == number), None)

    def owner(self, uid: str) -> OwnerRecord | None:
        """Return an owner, also one that was taken out."""
        return next((record for record in self.owners if record.uid == uid), self.former.get(uid))

    @property
    def is_rolling(self) -> bool:
        """True if a rollout is not over."""
        return self.rollout is not None and self.rollout.rollout.phase not in OVER

    def with_children(self, changed: Iterable[ChildRecord], gone: Iterable[Address] = ()) -> TemplateGroup:
        """Return the template group with some children changed and some forgotten."""
        children = {**self.children, **{record.address: record for record in changed}}
        for address in gone:
            children.pop(address, None)
        return dataclasses.replace(self, children=children)


def known_schemes(policies: Mapping[str, Json]) -> dict[str, TemplateScheme]:
    """Return the schemes of recorded policies that this release can compute."""
    made = (templates.scheme_of(policy, ident) for ident, policy in policies.items())
    return {scheme.id: scheme for scheme in made if scheme is not None}


def next_generation(owners: Sequence[OwnerRecord]) -> RevisionSet | None:
    """Return the generation to add, or None if the newest is what the owners' current revisions are."""
    births = {owner.uid: owner.record.current for owner in owners}
    kept = owners[-1].generations
    if kept and dict(kept[-1].births) == births:
        return None
    return RevisionSet(kept[-1].number + 1 if kept else 1, births)


def born(group: TemplateGroup, generation: RevisionSet) -> dict[str, OwnerRevision]:
    """Return the debts to each owner of a child that is created now from a generation."""
    out = {}
    for uid, ordinal in generation.births.items():
        owner = group.owner(uid)
        if owner is None:
            continue
        record = owner.record if owner.record.revision(ordinal) is None else _at(owner.record, ordinal)
        made = revisions.born("", record)
        out[uid] = OwnerRevision(made.birth, made.born_regime, made.stamp)
    return out


def _at(record: ParentRecord, ordinal: int) -> ParentRecord:
    """Return an owner as if a kept revision were its current one."""
    return record if record.current == ordinal else dataclasses.replace(record, current=ordinal)


def accepts(group: TemplateGroup, number: int) -> RolloutTarget:
    """Return a generation as a target, with those that equal it for every owner under the schemes of now."""
    wanted = group.generation(number)
    if wanted is None:
        return RolloutTarget(number, frozenset({number}))
    same = (generation.number for generation in group.lead.generations if is_same(group, generation, wanted))
    return RolloutTarget(number, frozenset({number, *same}))


def is_same(group: TemplateGroup, one: RevisionSet, other: RevisionSet) -> bool:
    """Return True if two generations make the same children, as far as anybody counts."""
    return one.births.keys() == other.births.keys() and all(
        hash_epochs.is_same(owner.record, (one.births.get(owner.uid), other.births.get(owner.uid)), owner.known)
        for owner in (*group.owners, *group.former.values())
        if owner.uid in one.births
    )


def fits(group: TemplateGroup, child: ChildRecord, generation: RevisionSet) -> bool | None:
    """Return True if a child is what a generation asks for, by the rule of every owner; None if that is unknown."""
    if group.lead.uid not in child.births:
        return None  # of another template that had the same name
    if child.births.keys() != generation.births.keys():
        return False
    owners = [group.owner(uid) for uid in generation.births]
    verdicts = [
        None
        if owner is None
        else hash_epochs.in_sync(
            _at(owner.record, generation.births[owner.uid]), child.record_of(owner.uid), owner.known
        )
        for owner in owners
    ]
    if False in verdicts:
        return False
    return None if None in verdicts else True


def needs_content_only(group: TemplateGroup, child: ChildRecord, generation: RevisionSet) -> bool:
    """Return True if a child differs from what a generation asks for in fields that are rewritten alone."""
    if child.births.keys() != generation.births.keys():
        return False
    for uid, ordinal in generation.births.items():
        owner, birth = group.owner(uid), child.births[uid].revision
        made = None if owner is None or birth is None else owner.record.revision(birth)
        wanted = None if owner is None else owner.record.revision(ordinal)
        if owner is None or made is None or wanted is None:
            return False
        hard = templates.hard_scheme(owner.template.fields)
        if not hard.digests(made.content, made.schema).matches(hard.digests(wanted.content, wanted.schema)):
            return False
    return True


def birth_generation(group: TemplateGroup) -> RevisionSet:
    """Return the generation of a new slot: the target of the rollout, unless the rollout was stopped."""
    file = group.rollout
    if file is None:
        return group.current
    rollout = file.rollout
    if rollout.phase is RolloutPhase.ROLLED_BACK or rollout.is_going_back:
        wanted = rollout.target.revision
    elif rollout.phase in {RolloutPhase.PAUSED, RolloutPhase.HALTED} and rollout.previous is not None:
        wanted = rollout.previous.revision
    else:
        return group.current
    return group.generation(wanted) or group.current


def step(template: Template, owned: OwnerRecord | None) -> tuple[RecordChange, OwnerRecord] | None:
    """Return the next write that brings an owner up to what is declared, or None if it is there.

    Which fields count is part of the scheme: another choice of them is a regime, never an edit.
    """
    policy = templates.policy_document(template.fields)
    ident = templates.scheme_id(policy)
    policies = {**(owned.policies if owned is not None else {}), ident: policy}
    known = known_schemes(policies)
    found = hash_epochs.reconcile(owned.record if owned is not None else None, template.live(), ident, known)
    if found is None:
        return None
    if owned is None:
        return found.change, OwnerRecord(template, found.record, policies, known=known, version=1)
    after = dataclasses.replace(owned, record=found.record, policies=policies, known=known, due_at=None)
    return found.change, dataclasses.replace(after, version=owned.version + 1)


def with_generation(group: TemplateGroup) -> OwnerRecord | None:
    """Return the one that leads with the revisions that go together now, or None if it has these."""
    new = next_generation(group.owners)
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
    ordinal = max(revision.ordinal for revision in record.revisions) + 1
    live = TemplateRevision(ordinal, {**owner.template.live().content, RESOURCE: seen}, owner.template.schema)
    for stamp in set(stamps):
        named = StampedHash(stamp.version, stamp.digest)
        if named_by(record.revisions, named, known) is None and named_by([live], named, known):
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
    found = hash_epochs.forget(
        owner.record, [record for group in listed for record in _records(group, owner.uid)], keep
    )
    if found is None:
        return None
    kept = {revision.ordinal for revision in found.record.revisions}
    used = {regime.scheme for regime in found.record.regimes}
    return dataclasses.replace(
        owner,
        record=found.record,
        generations=tuple(generation for generation in owner.generations if generation.births.get(owner.uid) in kept),
        policies={ident: policy for ident, policy in owner.policies.items() if ident in used},
        version=owner.version + 1,
    )


def _records(group: TemplateGroup, uid: str) -> Iterable[ChildOrigin]:
    """Yield the debts of children to an owner, and the earlier debts of rewritten ones."""
    for child in group.children.values():
        yield child.record_of(uid)
        if child.before is not None and uid in child.before[1]:
            birth = child.before[1][uid]
            yield ChildOrigin(child.name, uid, birth.revision, birth.regime, birth.stamp)
