"""Reading template groups from the store, just as they are remembered; nothing is worked out and nothing is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from holdfast.errors import SchemeError
from holdfast.model.address import Address
from holdfast.rollouts import serialization
from holdfast.rollouts.core import hash_epochs
from holdfast.rollouts.core.revisions import ParentRecord
from holdfast.rollouts.core.template_groups import ChildRecord, OwnerRecord, RolloutRecord, TemplateGroup
from holdfast.rollouts.core.templates import Template
from holdfast.store.protocol import Store
from holdfast.store.records import VersionedRecord


@dataclass(slots=True)
class Records:
    """What is remembered of templates, for whoever only reads."""

    store: Store

    async def kept(self, name: str, declared: Sequence[Template]) -> TemplateGroup | None:
        """Return a template group just as it is remembered, or None if it was never settled."""
        by_name = {each.name: each for each in declared}
        template = by_name[name]
        found = {each: await self.owner(by_name[each]) for each in (*template.uses, name)}
        owners = {each: owned for each, owned in found.items() if owned is not None}
        return await self.group(template, owners) if len(owners) == len(found) else None

    async def recorded(self, template: Template) -> ParentRecord | None:
        """Return what is recorded of one owner."""
        owned = await self.owner(template)
        return None if owned is None else owned.record

    async def some(self, declared: Sequence[Template], addresses: Iterable[Address]) -> list[TemplateGroup]:
        """Return the template groups of some children, with these children alone."""
        owners: dict[str, list[ChildRecord]] = {}
        for address in addresses:
            record = await self.store.record(serialization.CHILDREN, str(address))
            if record is not None:
                owners.setdefault(record.owner, []).append(serialization.child_of(record))
        by_name = {each.name: each for each in declared}
        out = []
        for name in owners.keys() & by_name.keys():
            template = by_name[name]
            found = [await self.owner(by_name[each]) for each in (*template.uses, name) if each in by_name]
            kept = tuple(each for each in found if each is not None)
            former = await self._former({uid for each in owners[name] for uid in each.births} - {e.uid for e in kept})
            out.append(TemplateGroup(template, kept, {each.address: each for each in owners[name]}, former=former))
        return out

    async def owner(self, template: Template) -> OwnerRecord | None:
        """Return one owner; raise SchemeError if it was judged by a scheme that this release has lost."""
        record = await self.store.record(serialization.TEMPLATES, template.name)
        if record is None:
            return None
        owned = serialization.owner_of(template, record)
        lost = hash_epochs.removed_schemes((each.scheme for each in owned.record.regimes), owned.known)
        if lost:
            message = f"template {template.name} was judged by {', '.join(sorted(lost))}, which this release lost"
            raise SchemeError(f"{message}; run a release that knows it")
        return owned

    async def group(self, template: Template, owners: Mapping[str, OwnerRecord]) -> TemplateGroup:
        """Return a template group with owners that were read before."""
        used = tuple(owners[name] for name in (*template.uses, template.name))
        children = [
            serialization.child_of(each)
            async for each in self.store.records(serialization.CHILDREN, owner=template.name)
        ]
        newest = await self.rollouts(template.name)
        uids = {uid for each in children for uid in each.births} | {
            uid for each in used[-1].generations for uid in each.births
        }
        former = await self._former(uids - {each.uid for each in used})
        by_address = {each.address: each for each in children}
        return TemplateGroup(template, used, by_address, newest[-1] if newest else None, former)

    async def _former(self, uids: Iterable[str]) -> dict[str, OwnerRecord]:
        """Return parts that are not used any more, for children that were made with them."""
        found = {uid: await self.owner(Template(uid, {})) for uid in uids}
        return {uid: owned for uid, owned in found.items() if owned is not None and owned.uid == uid}

    async def rollouts(self, name: str) -> list[RolloutRecord]:
        """Return the rollouts of a template, oldest first."""
        found: list[VersionedRecord] = [each async for each in self.store.records(serialization.ROLLOUTS, owner=name)]
        return [serialization.rollout_of(each) for each in found]
