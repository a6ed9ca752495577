"""The shelves of templates: reading broods from the store, settling them, and committing what comes of it.

Every write is one transaction of dossiers with their events; whoever did not see the last version is refused and reads
again. `look` brings broods to where settling would, in memory: what a plan shows is what applying does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.resource import Declaration
from holdfast.reconcile.clock import Clock
from holdfast.rollouts import child_status, serialization
from holdfast.rollouts.core import group_findings, group_rollouts, option1_groups, owner_records
from holdfast.rollouts.core.template_groups import Brood, ChildFile, Owned, RolloutFile
from holdfast.rollouts.core.templates import Compatibility, Template
from holdfast.rollouts.stored_groups import Records
from holdfast.store.protocol import Dossier, DossierMoved, Event, RecordChanges, Transaction

ASK_AGAIN_SECONDS: Final = 60.0  # after which the predicates of a template are asked again
_TRIES: Final = 20


@dataclass(slots=True)
class Batch:
    """Changes to one brood that become true together."""

    owners: list[Owned] = field(default_factory=list)
    children: list[ChildFile] = field(default_factory=list)
    gone: list[Address] = field(default_factory=list)
    rollouts: list[RolloutFile] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    besides: list[Dossier] = field(default_factory=list)  # of no brood: who has which turns

    def __bool__(self) -> bool:
        return bool(self.owners or self.children or self.gone or self.rollouts or self.besides)


@dataclass(slots=True)
class Shelves(Records):
    """What is remembered of templates, for whoever takes it further."""

    clock: Clock

    # -- committing

    async def commit(self, brood: Brood, batch: Batch) -> Brood:
        """Make changes true, and return the brood with them; raise DossierMoved if somebody was faster."""
        name = brood.template.name
        children = [replace(each, version=each.version + 1) for each in batch.children]
        transaction = Transaction(events=batch.events)
        transaction.records.put += [serialization.owner_dossier(each) for each in batch.owners]
        transaction.records.put += [serialization.child_dossier(each, name) for each in children]
        transaction.records.put += [serialization.rollout_dossier(each, name) for each in batch.rollouts]
        transaction.records.put += batch.besides
        transaction.records.deleted += [(serialization.CHILDREN, str(address)) for address in batch.gone]
        await self.store.commit(transaction)
        return _with(brood.with_children(children, batch.gone), batch)

    def event(self, kind: str, subject: str, **data: Json) -> Event:
        """Return an event of now."""
        return Event(self.clock.now(), kind, subject, data)

    # -- reading

    async def look(self, declared: Sequence[Template], around: Mapping[Address, Declaration]) -> list[Brood]:
        """Return the broods as settling would make them; nothing is written."""
        owners = {}
        for template in declared:
            owned = await self.owner(template)
            while (step := owner_records.step(template, owned)) is not None:
                owned = step[1]
            assert owned is not None
            owners[template.name] = owned
        out = []
        for template in declared:
            if not template.is_part:
                brood = await self.brood(template, owners)
                lead = owner_records.with_generation(brood)
                brood = _with(brood, Batch(owners=[lead])) if lead is not None else brood
                for part in (self._children, self._verdicts, self._rollout, self._births):
                    batch = await part(brood, around)
                    brood = _with(brood.with_children(batch.children, batch.gone), batch)
                out.append(brood)
        return out

    # -- settling

    async def settle(self, declared: Sequence[Template], around: Mapping[Address, Declaration]) -> list[Brood]:
        """Bring what is remembered up to what is declared: revisions and regimes, births, findings, rollouts."""
        owners = {template.name: await self._settled(template) for template in declared}
        settled = [await self._settle_brood(each, owners, around) for each in declared if not each.is_part]
        return await self._forgotten(settled)

    async def _settled(self, template: Template) -> Owned:
        for _ in range(_TRIES):
            owned = await self.owner(template)
            step = owner_records.step(template, owned)
            if step is None:
                assert owned is not None
                return owned
            change, after = step
            event = self.event(f"template.{change.value}", template.name, revision=after.record.current)
            transaction = Transaction(events=[event], records=RecordChanges(put=[serialization.owner_dossier(after)]))
            try:
                await self.store.commit(transaction)
            except DossierMoved:
                continue
        raise DossierMoved(serialization.TEMPLATES, template.name)

    async def _settle_brood(
        self, template: Template, owners: Mapping[str, Owned], around: Mapping[Address, Declaration]
    ) -> Brood:
        """Settle one brood; on losing a race everything is read again."""
        for _ in range(_TRIES):
            brood = await self.brood(template, owners)
            try:
                lead = owner_records.with_generation(brood)
                brood = await self.commit(brood, Batch(owners=[lead])) if lead is not None else brood
                for part in (self._children, self._verdicts, self._rollout, self._births):
                    batch = await part(brood, around)
                    brood = await self.commit(brood, batch) if batch else brood
            except DossierMoved:
                owners = {name: (await self.owner(each.template)) or each for name, each in owners.items()}
                continue
            return brood
        raise DossierMoved(serialization.TEMPLATES, template.name)

    async def _children(self, brood: Brood, around: Mapping[Address, Declaration]) -> Batch:
        """Find selected children, and let go of those that are not selected any more; they are not ours to delete."""
        batch = Batch()
        if brood.template.compatibility is Compatibility.OPTION1:
            owner, children = option1_groups.propagated(brood)
            batch.owners += [replace(owner, version=owner.version + 1)] if owner is not None else []
            batch.children += children
        if brood.template.selector is None:
            return batch
        chosen = group_rollouts.selected(brood, around)
        new = [address for address in chosen if address not in brood.children]
        seen = await child_status.sighted(self.store, brood, new)
        batch.owners += await self._as_found(brood, seen)
        brood = _with(brood, batch)
        batch.children += group_rollouts.found(brood, seen.absent, seen.there, self.clock.now())
        bound = (group_rollouts.adopted(brood, each) for each in brood.children.values())
        batch.children += [each for each in bound if each is not brood.children[each.address]]
        batch.gone += await self._let_go(brood, around, chosen)
        batch.events += [
            self.event("child.found", str(each.address), template=brood.template.name) for each in batch.children
        ]
        return batch

    async def _as_found(self, brood: Brood, seen: child_status.Sighted) -> list[Owned]:
        """Return the parts with what they were in the world, where stamps name that and nothing recorded."""
        parts = {each.template.address: each for each in brood.owners if each.template.address is not None}
        if not parts or not any(seen.there.values()):
            return []
        live = await child_status.observed(self.store, list(parts))
        bearing = [stamps for stamps in seen.there.values() if stamps]
        named = ((parts[address], found) for address, found in live.items())
        made = (
            owner_records.with_live(owner, found, [each[owner.uid] for each in bearing if owner.uid in each])
            for owner, found in named
        )
        return [each for each in made if each is not None]

    async def _let_go(
        self, brood: Brood, around: Mapping[Address, Declaration], chosen: Collection[Address]
    ) -> list[Address]:
        """Return the children that are declared and not selected, and those of which nothing is left.

        One that is just not declared here may be declared in a file that was not named: it is kept.
        """
        unselected = [address for address in brood.children if address in around and address not in chosen]
        elsewhere = [address for address in brood.children if address not in around]
        states = await self.store.states(elsewhere) if elsewhere else {}
        return [*unselected, *(address for address in elsewhere if address not in states)]

    async def _verdicts(self, brood: Brood, _around: Mapping[Address, Declaration]) -> Batch:
        """Say what each owner finds about each child."""
        broken = await child_status.broken(self.store, brood)
        changed = list(group_findings.changed(brood, self.clock.now(), broken))
        events = [self._finding_event(each) for each in changed]
        return Batch(children=changed, events=events)

    async def judged(self, brood: Brood) -> Brood:
        """Say what each owner finds about each child now, after something was done about it."""
        batch = await self._verdicts(brood, {})
        return await self.commit(brood, batch) if batch else brood

    def _finding_event(self, child: ChildFile) -> Event:
        found = [f"{each.owner}: {each.kind.value} ({each.reason})" for each in child.findings]
        return self.event("child.findings", str(child.address), findings=found)

    async def _rollout(self, brood: Brood, _around: Mapping[Address, Declaration]) -> Batch:
        """Begin or supersede a rollout where the findings ask for that."""
        ended, new = group_rollouts.begun(brood, self.clock.now())
        batch = Batch()
        for file, kind in ((ended, "rollout.superseded"), (new, "rollout.started")):
            if file is not None:
                due = self.clock.now() if file is new else None
                batch.rollouts.append(replace(file, due_at=due))
                batch.events.append(self.event(kind, brood.template.name, rollout=file.number, aim=file.aim))
        return batch

    async def _births(self, brood: Brood, _around: Mapping[Address, Declaration]) -> Batch:
        """Fill the slots that replicas asks for, and mark what is too much."""
        if brood.template.replicas is None:
            return Batch()
        now, unborn = self.clock.now(), [each.address for each in group_rollouts.unborn(brood)]
        states = await self.store.states(unborn) if unborn else {}
        never = {address for address in unborn if address not in states or states[address].applied.document is None}
        busy = {each.address for each in await self.store.operations()} if never else set()
        batch = Batch(children=list(group_rollouts.reborn(brood, never - busy)))
        for child in group_rollouts.missing(brood, now):
            batch.children.append(child)
            data: dict[str, Json] = {"template": brood.template.name, "generation": child.generation}
            batch.events.append(self.event("child.born", str(child.address), **data))
        batch.children += group_rollouts.surplus(brood)
        return batch

    async def _forgotten(self, settled: Sequence[Brood]) -> list[Brood]:
        """Let go of revisions and regimes that nothing can ask for; a lost race leaves that to the next time."""
        out = list(settled)
        owners = {owner.template.name: owner for brood in settled for owner in brood.owners}
        for owner in owners.values():
            users = [each for each in out if each.owner(owner.uid) is not None]
            if owner.template.is_part and len(owner.record.revisions) > owner.template.kept:
                users.append(await self._everywhere(users[0], owner.uid))
            less = owner_records.forgetting(owner, users, owner.template.kept)
            if less is None:
                continue
            try:
                await self.commit(users[0], Batch(owners=[less]))
            except DossierMoved:
                continue
            out = [_with(each, Batch(owners=[less])) for each in out]
        return out

    async def _everywhere(self, user: Brood, uid: str) -> Brood:
        """Return all children of a part, also those of templates that are not declared here."""
        kept = self.store.dossiers(serialization.CHILDREN)
        children = [serialization.child_of(each) async for each in kept if uid in each.data["births"]]
        return replace(user, children={each.address: each for each in children})

    async def forget(
        self, known: Iterable[Brood], deleted: Collection[Address], declared: Sequence[Template] = ()
    ) -> None:
        """Forget children that were deleted with what they were declared by, and templates that have no more."""
        transaction = Transaction()
        parts = {each.name: each.owner_id for each in declared if each.address in deleted}
        for brood in known:
            name, gone = brood.template.name, [each for each in brood.children if each in deleted]
            transaction.records.deleted += [(serialization.CHILDREN, str(address)) for address in gone]
            if gone and len(gone) == len(brood.children):
                transaction.records.deleted.append((serialization.TEMPLATES, name))
                parts |= {each.template.name: each.uid for each in brood.owners[:-1]}
                old = await self.rollouts(name)
                transaction.records.deleted += [
                    (serialization.ROLLOUTS, serialization.rollout_key(name, each.number)) for each in old
                ]
                transaction.events.append(self.event("template.forgotten", name))
        if parts:
            transaction.records.deleted += await self._unused(parts, transaction.records.deleted)
        if transaction.records.deleted:
            await self.store.commit(transaction)

    async def _unused(self, parts: Mapping[str, str], closed: Collection[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return those of the parts, by name, that no child belongs to any more."""
        kept = self.store.dossiers(serialization.CHILDREN)
        used = {uid async for each in kept if (each.shelf, each.key) not in closed for uid in each.data["births"]}
        return [(serialization.TEMPLATES, name) for name, uid in parts.items() if uid not in used]


def _with(brood: Brood, batch: Batch) -> Brood:
    owners = {each.uid: each for each in batch.owners}
    return replace(
        brood,
        owners=tuple(owners.get(each.uid, each) for each in brood.owners),
        rollout=batch.rollouts[-1] if batch.rollouts else brood.rollout,
    )
