"""The collections of templates: reading template groups from the store, settling them, and committing what comes of it.

Every write is one transaction of versioned records with their events; a writer with an old version is refused and reads
again. `look` brings template groups to where settling would, in memory: what a plan shows is what applying does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from holdfast.errors import SchemeError
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration
from holdfast.reconcile.clock import Clock
from holdfast.rollouts import child_status, serialization
from holdfast.rollouts.core import (
    group_findings,
    group_rollouts,
    hash_epochs,
    option1_groups,
    rendering,
    template_groups,
)
from holdfast.rollouts.core.revisions import ParentRecord
from holdfast.rollouts.core.template_groups import ChildRecord, OwnerRecord, RolloutRecord, TemplateGroup
from holdfast.rollouts.core.templates import Compatibility, Template
from holdfast.store.protocol import Store
from holdfast.store.records import AuditEvent, VersionConflict, VersionedRecord
from holdfast.store.transaction import RecordChanges, Transaction

ASK_AGAIN_SECONDS: Final = 60.0  # after which the predicates of a template are asked again
_TRIES: Final = 20


@dataclass(slots=True)
class Records:
    """The records of templates, for readers."""

    store: Store

    async def kept(self, name: str, declared: Sequence[Template]) -> TemplateGroup | None:
        """Return a template group just as it is remembered, or None if it was never settled."""
        by_name = {item.name: item for item in declared}
        template = by_name[name]
        found = {use: await self.owner(by_name[use]) for use in (*template.uses, name)}
        owners = {text: owned for text, owned in found.items() if owned is not None}
        return await self.group(template, owners) if len(owners) == len(found) else None

    async def recorded(self, template: Template) -> ParentRecord | None:
        """Return the record of one owner."""
        owned = await self.owner(template)
        return None if owned is None else owned.record

    async def some(self, declared: Sequence[Template], addresses: Iterable[Address]) -> list[TemplateGroup]:
        """Return the template groups of some children, with these children alone."""
        owners: dict[str, list[ChildRecord]] = {}
        for address in addresses:
            record = await self.store.record(serialization.CHILDREN, str(address))
            if record is not None:
                owners.setdefault(record.owner, []).append(serialization.child_of(record))
        by_name = {item.name: item for item in declared}
        out = []
        for name in owners.keys() & by_name.keys():
            template = by_name[name]
            found = [await self.owner(by_name[use]) for use in (*template.uses, name) if use in by_name]
            kept = tuple(item for item in found if item is not None)
            former = await self._former({uid for owner in owners[name] for uid in owner.births} - {e.uid for e in kept})
            out.append(TemplateGroup(template, kept, {owner.address: owner for owner in owners[name]}, former=former))
        return out

    async def owner(self, template: Template) -> OwnerRecord | None:
        """Return one owner; raise SchemeError if it was judged by a scheme that this release has lost."""
        record = await self.store.record(serialization.TEMPLATES, template.name)
        if record is None:
            return None
        owned = serialization.owner_of(template, record)
        lost = hash_epochs.removed_schemes((regime.scheme for regime in owned.record.regimes), owned.known)
        if lost:
            message = f"template {template.name} was judged by {', '.join(sorted(lost))}, which this release lost"
            raise SchemeError(f"{message}; run a release that knows it")
        return owned

    async def group(self, template: Template, owners: Mapping[str, OwnerRecord]) -> TemplateGroup:
        """Return a template group with owners that were read before."""
        used = tuple(owners[name] for name in (*template.uses, template.name))
        children = [
            serialization.child_of(record)
            async for record in self.store.records(serialization.CHILDREN, owner=template.name)
        ]
        newest = await self.rollouts(template.name)
        uids = {uid for child in children for uid in child.births} | {
            uid for generation in used[-1].generations for uid in generation.births
        }
        former = await self._former(uids - {record.uid for record in used})
        by_address = {child.address: child for child in children}
        return TemplateGroup(template, used, by_address, newest[-1] if newest else None, former)

    async def _former(self, uids: Iterable[str]) -> dict[str, OwnerRecord]:
        """Return parts that are not used any more, for children that were made with them."""
        found = {uid: await self.owner(Template(uid, {})) for uid in uids}
        return {uid: owned for uid, owned in found.items() if owned is not None and owned.uid == uid}

    async def rollouts(self, name: str) -> list[RolloutRecord]:
        """Return the rollouts of a template, oldest first."""
        found: list[VersionedRecord] = [
            record async for record in self.store.records(serialization.ROLLOUTS, owner=name)
        ]
        return [serialization.rollout_of(record) for record in found]


@dataclass(slots=True)
class GroupChanges:
    """Changes to one template group that become true together."""

    owners: list[OwnerRecord] = field(default_factory=list)
    children: list[ChildRecord] = field(default_factory=list)
    gone: list[Address] = field(default_factory=list)
    rollouts: list[RolloutRecord] = field(default_factory=list)
    events: list[AuditEvent] = field(default_factory=list)
    besides: list[VersionedRecord] = field(default_factory=list)  # of no template group: who has which turns

    def __bool__(self) -> bool:
        return bool(self.owners or self.children or self.gone or self.rollouts or self.besides)


@dataclass(slots=True)
class RolloutRepository(Records):
    """The records of templates, for the controller."""

    clock: Clock

    # -- committing

    async def commit(self, group: TemplateGroup, batch: GroupChanges) -> TemplateGroup:
        """Save changes and return the changed template group. Raise VersionConflict if another process was faster."""
        name = group.template.name
        children = [replace(child, version=child.version + 1) for child in batch.children]
        transaction = Transaction(events=batch.events)
        transaction.records.put += [serialization.owner_record(owner) for owner in batch.owners]
        transaction.records.put += [serialization.child_record(child, name) for child in children]
        transaction.records.put += [serialization.rollout_record(rollout, name) for rollout in batch.rollouts]
        transaction.records.put += batch.besides
        transaction.records.deleted += [(serialization.CHILDREN, str(address)) for address in batch.gone]
        await self.store.commit(transaction)
        return _with(group.with_children(children, batch.gone), batch)

    def event(self, kind: str, subject: str, **data: Json) -> AuditEvent:
        """Return an event of now."""
        return AuditEvent(self.clock.now(), kind, subject, data)

    # -- reading

    async def look(self, declared: Sequence[Template], around: Mapping[Address, Declaration]) -> list[TemplateGroup]:
        """Return the template groups as settling would make them; nothing is written."""
        owners = {}
        for template in declared:
            owned = await self.owner(template)
            while (step := template_groups.step(template, owned)) is not None:
                owned = step[1]
            assert owned is not None
            owners[template.name] = owned
        out = []
        for template in declared:
            if not template.is_part:
                group = await self.group(template, owners)
                lead = template_groups.with_generation(group)
                group = _with(group, GroupChanges(owners=[lead])) if lead is not None else group
                for part in (self._children, self._verdicts, self._rollout, self._births):
                    batch = await part(group, around)
                    group = _with(group.with_children(batch.children, batch.gone), batch)
                out.append(group)
        return out

    # -- settling

    async def settle(self, declared: Sequence[Template], around: Mapping[Address, Declaration]) -> list[TemplateGroup]:
        """Bring what is remembered up to what is declared: revisions and regimes, births, findings, rollouts."""
        owners = {template.name: await self._settled(template) for template in declared}
        settled = [await self._settle_group(item, owners, around) for item in declared if not item.is_part]
        return await self._forgotten(settled)

    async def _settled(self, template: Template) -> OwnerRecord:
        for _ in range(_TRIES):
            owned = await self.owner(template)
            step = template_groups.step(template, owned)
            if step is None:
                assert owned is not None
                return owned
            change, after = step
            event = self.event(f"template.{change.value}", template.name, revision=after.record.current)
            transaction = Transaction(events=[event], records=RecordChanges(put=[serialization.owner_record(after)]))
            try:
                await self.store.commit(transaction)
            except VersionConflict:
                continue
        raise VersionConflict(serialization.TEMPLATES, template.name)

    async def _settle_group(
        self, template: Template, owners: Mapping[str, OwnerRecord], around: Mapping[Address, Declaration]
    ) -> TemplateGroup:
        """Settle one template group; on losing a race everything is read again."""
        for _ in range(_TRIES):
            group = await self.group(template, owners)
            try:
                lead = template_groups.with_generation(group)
                group = await self.commit(group, GroupChanges(owners=[lead])) if lead is not None else group
                for part in (self._children, self._verdicts, self._rollout, self._births):
                    batch = await part(group, around)
                    group = await self.commit(group, batch) if batch else group
            except VersionConflict:
                owners = {name: (await self.owner(owner.template)) or owner for name, owner in owners.items()}
                continue
            return group
        raise VersionConflict(serialization.TEMPLATES, template.name)

    async def _children(self, group: TemplateGroup, around: Mapping[Address, Declaration]) -> GroupChanges:
        """Find selected children, and drop those that are no longer selected. They are not ours to delete."""
        batch = GroupChanges()
        if group.template.stamps.compatibility is Compatibility.OPTION1:
            owner, children = option1_groups.propagated(group)
            batch.owners += [replace(owner, version=owner.version + 1)] if owner is not None else []
            batch.children += children
        if group.template.selector is None:
            return batch
        chosen = rendering.selected(group, around)
        new = [address for address in chosen if address not in group.children]
        seen = await child_status.sighted(self.store, group, new)
        batch.owners += await self._as_found(group, seen)
        group = _with(group, batch)
        batch.children += group_rollouts.found(group, seen.absent, seen.there, self.clock.now())
        bound = (group_rollouts.adopted(group, child) for child in group.children.values())
        batch.children += [record for record in bound if record is not group.children[record.address]]
        batch.gone += await self._let_go(group, around, chosen)
        batch.events += [
            self.event("child.found", str(child.address), template=group.template.name) for child in batch.children
        ]
        return batch

    async def _as_found(self, group: TemplateGroup, seen: child_status.SelectionScan) -> list[OwnerRecord]:
        """Return the parts with their live origin, where stamps name it and no record exists."""
        parts = {record.template.address: record for record in group.owners if record.template.address is not None}
        if not parts or not any(seen.there.values()):
            return []
        live = await child_status.observed(self.store, list(parts))
        bearing = [stamps for stamps in seen.there.values() if stamps]
        named = ((parts[address], item) for address, item in live.items())
        made = (
            template_groups.with_live(owner, item, [entry[owner.uid] for entry in bearing if owner.uid in entry])
            for owner, item in named
        )
        return [record for record in made if record is not None]

    async def _let_go(
        self, group: TemplateGroup, around: Mapping[Address, Declaration], chosen: Collection[Address]
    ) -> list[Address]:
        """Return the children that are declared and not selected, and those of which nothing is left.

        One that is just not declared here may be declared in a file that was not named: it is kept.
        """
        unselected = [address for address in group.children if address in around and address not in chosen]
        elsewhere = [address for address in group.children if address not in around]
        states = await self.store.states(elsewhere) if elsewhere else {}
        return [*unselected, *(address for address in elsewhere if address not in states)]

    async def _verdicts(self, group: TemplateGroup, _around: Mapping[Address, Declaration]) -> GroupChanges:
        """Record the findings of each owner on each child."""
        broken = await child_status.broken(self.store, group)
        changed = list(group_findings.changed(group, self.clock.now(), broken))
        events = [self._finding_event(record) for record in changed]
        return GroupChanges(children=changed, events=events)

    async def judged(self, group: TemplateGroup) -> TemplateGroup:
        """Record the findings of each owner on each child after a step."""
        batch = await self._verdicts(group, {})
        return await self.commit(group, batch) if batch else group

    def _finding_event(self, child: ChildRecord) -> AuditEvent:
        found = [f"{finding.owner}: {finding.kind.value} ({finding.reason})" for finding in child.findings]
        return self.event("child.findings", str(child.address), findings=found)

    async def _rollout(self, group: TemplateGroup, _around: Mapping[Address, Declaration]) -> GroupChanges:
        """Begin or supersede a rollout where the findings ask for that."""
        ended, new = group_rollouts.begun(group, self.clock.now())
        batch = GroupChanges()
        for file, kind in ((ended, "rollout.superseded"), (new, "rollout.started")):
            if file is not None:
                due = self.clock.now() if file is new else None
                batch.rollouts.append(replace(file, due_at=due))
                batch.events.append(self.event(kind, group.template.name, rollout=file.number, aim=file.aim))
        return batch

    async def _births(self, group: TemplateGroup, _around: Mapping[Address, Declaration]) -> GroupChanges:
        """Fill the slots that replicas asks for, and mark what is too much."""
        if group.template.replicas is None:
            return GroupChanges()
        now, unborn = self.clock.now(), [record.address for record in group_rollouts.unborn(group)]
        states = await self.store.states(unborn) if unborn else {}
        never = {address for address in unborn if address not in states or states[address].applied.document is None}
        busy = {operation.address for operation in await self.store.operations()} if never else set()
        batch = GroupChanges(children=list(group_rollouts.reborn(group, never - busy)))
        for child in group_rollouts.missing(group, now):
            batch.children.append(child)
            data: dict[str, Json] = {"template": group.template.name, "revision": child.generation}
            batch.events.append(self.event("child.born", str(child.address), **data))
        batch.children += group_rollouts.surplus(group)
        return batch

    async def _forgotten(self, settled: Sequence[TemplateGroup]) -> list[TemplateGroup]:
        """Drop revisions and regimes that nothing can refer to. A lost race leaves that to the next time."""
        out = list(settled)
        owners = {owner.template.name: owner for group in settled for owner in group.owners}
        for owner in owners.values():
            users = [item for item in out if item.owner(owner.uid) is not None]
            if owner.template.is_part and len(owner.record.revisions) > owner.template.rollout.kept:
                users.append(await self._everywhere(users[0], owner.uid))
            less = template_groups.forgetting(owner, users, owner.template.rollout.kept)
            if less is None:
                continue
            try:
                await self.commit(users[0], GroupChanges(owners=[less]))
            except VersionConflict:
                continue
            out = [_with(item, GroupChanges(owners=[less])) for item in out]
        return out

    async def _everywhere(self, user: TemplateGroup, uid: str) -> TemplateGroup:
        """Return all children of a part, also those of templates that are not declared here."""
        kept = self.store.records(serialization.CHILDREN)
        children = [serialization.child_of(record) async for record in kept if uid in record.data["births"]]
        return replace(user, children={child.address: child for child in children})

    async def forget(
        self, known: Iterable[TemplateGroup], deleted: Collection[Address], declared: Sequence[Template] = ()
    ) -> None:
        """Forget children that were deleted with what they were declared by, and templates that have no more."""
        transaction = Transaction()
        parts = {template.name: template.owner_id for template in declared if template.address in deleted}
        for group in known:
            name, gone = group.template.name, [child for child in group.children if child in deleted]
            transaction.records.deleted += [(serialization.CHILDREN, str(address)) for address in gone]
            if gone and len(gone) == len(group.children):
                transaction.records.deleted.append((serialization.TEMPLATES, name))
                parts |= {owner.template.name: owner.uid for owner in group.owners[:-1]}
                old = await self.rollouts(name)
                transaction.records.deleted += [
                    (serialization.ROLLOUTS, serialization.rollout_key(name, record.number)) for record in old
                ]
                transaction.events.append(self.event("template.forgotten", name))
        if parts:
            transaction.records.deleted += await self._unused(parts, transaction.records.deleted)
        if transaction.records.deleted:
            await self.store.commit(transaction)

    async def _unused(self, parts: Mapping[str, str], closed: Collection[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return those of the parts, by name, that no child belongs to any more."""
        kept = self.store.records(serialization.CHILDREN)
        used = {
            uid
            async for record in kept
            if (record.collection, record.key) not in closed
            for uid in record.data["births"]
        }
        return [(serialization.TEMPLATES, name) for name, uid in parts.items() if uid not in used]


def _with(group: TemplateGroup, batch: GroupChanges) -> TemplateGroup:
    owners = {owner.uid: owner for owner in batch.owners}
    return replace(
        group,
        owners=tuple(owners.get(owner.uid, owner) for owner in group.owners),
        rollout=batch.rollouts[-1] if batch.rollouts else group.rollout,
    )
