"""Reading what is counted from the store: once, a page at a time, so that no more than a page is held at once.

Only a template whose rollout is under way has all its children in memory, as it has for rolling. Nothing is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from holdfast.metrics import definitions, governance, resources, rollouts, template_groups
from holdfast.metrics.families import Family, Samples
from holdfast.metrics.rollouts import Around
from holdfast.metrics.template_groups import Counting
from holdfast.rollouts import child_status, serialization
from holdfast.rollouts.core.records import OVER
from holdfast.rollouts.core.template_groups import OwnerRecord, RolloutRecord, TemplateGroup
from holdfast.rollouts.core.templates import Template
from holdfast.store.governance import Pause
from holdfast.store.protocol import Store
from holdfast.store.records import VersionedRecord
from holdfast.store.state import UNCHECKED, ResourceState

Item = TypeVar("Item")

PAGE: Final = 500


async def gather(
    store: Store, now: float, version: str, *, templates: Sequence[Template] = (), per_resource: bool = False
) -> list[Family]:
    """Return every family; `templates` are those of the manifests, for what only these say."""
    gatherer = _Gatherer(store, now, {each.owner_id: each for each in templates})
    gatherer.readings.put(definitions.BUILD, version, value=1)
    gatherer.readings.put(definitions.GATHERED, value=now)
    await gatherer.resources(per_resource=per_resource)
    pauses = await gatherer.standing()
    await gatherer.trail()
    await gatherer.templates(pauses)
    return gatherer.readings.families(definitions.ALL)


async def _pages(items: AsyncIterable[Item]) -> AsyncIterator[list[Item]]:
    page: list[Item] = []
    async for item in items:
        page.append(item)
        if len(page) == PAGE:
            yield page
            page = []
    if page:
        yield page


@dataclass(slots=True)
class _Gatherer:
    store: Store
    now: float
    declared: Mapping[str, Template]  # by uid
    readings: Samples = field(default_factory=Samples)

    async def resources(self, *, per_resource: bool) -> None:
        resources.count_none(self.readings, await self.store.count_resources())
        async for page in _pages(self.store.all_states()):
            for state in page:
                resources.count(self.readings, state, self.now)
                if per_resource:
                    status = UNCHECKED if state.observed.status is None else state.observed.status.value
                    self.readings.put(definitions.RESOURCE_STATUS, str(state.address), status, value=1)
            for address, found in (await self.store.findings_of([each.address for each in page])).items():
                resources.count_findings(self.readings, address, found)
            await self._held([each for each in page if resources.is_held(each)])

    async def _held(self, states: Sequence[ResourceState]) -> None:
        """Count what is held back by the code of its newest decision."""
        found = await asyncio.gather(*[self.store.decisions(each.address, 1) for each in states])
        newest = [decisions[0] for decisions in found if decisions]
        outputs = await self.store.documents(list({each.output for each in newest})) if newest else {}
        codes = {
            each.address: str(outputs[each.output]["reasons"][0]["code"]) for each in newest if each.output in outputs
        }
        for state in states:
            where = (state.address.connection, state.address.kind)
            self.readings.add(definitions.BLOCKED, *where, codes.get(state.address, "unknown"))

    async def standing(self) -> list[Pause]:
        """Count what is under way and what people said; return the pauses in force."""
        pauses = governance.in_force(await self.store.pauses(), self.now)
        governance.count_operations(self.readings, await self.store.operations())
        governance.count_claims(self.readings, await self.store.claims(), self.now)
        governance.count_pauses(self.readings, pauses)
        governance.count_decisions(self.readings, await self.store.quarantines(), await self.store.approvals())
        return pauses

    async def trail(self) -> None:
        governance.count_no_events(self.readings)
        async for each in self.store.events():
            governance.count_event(self.readings, each.event)

    async def templates(self, pauses: Sequence[Pause]) -> None:
        collection = self.store.records(serialization.TEMPLATES)
        owners = {each.data["uid"]: self._owned(each) async for each in collection}
        template_groups.count_owners(self.readings, owners)
        for owned in owners.values():
            if owned.generations:
                await self._group(owned, owners, pauses)

    def _owned(self, record: VersionedRecord) -> OwnerRecord:
        """Return an owner with the template that is declared, or else with as much of it as is recorded."""
        declared = self.declared.get(record.data["uid"])
        if declared is not None:
            return serialization.owner_of(declared, record)
        owned = serialization.owner_of(Template(record.key, {}), record)
        return replace(owned, template=owned.template.as_of(owned.record.latest))

    async def _group(self, lead: OwnerRecord, owners: Mapping[str, OwnerRecord], pauses: Sequence[Pause]) -> None:
        name, uids = lead.template.name, lead.generations[-1].births.keys()
        parts = [owned for uid, owned in owners.items() if uid in uids and uid != lead.uid]
        former = {uid: owned for uid, owned in owners.items() if uid not in uids}
        newest = await self._newest(name)
        group = TemplateGroup(lead.template, (*parts, lead), rollout=newest, former=former)
        is_rolling = newest is not None and newest.rollout.phase not in OVER
        counting = Counting(self.readings, group, owners)
        children, scopes = [], {""}
        async for record in self.store.records(serialization.CHILDREN, owner=name):
            child = serialization.child_of(record)
            counting.count(child)
            scopes |= {child.address.connection, f"{child.address.connection}/{child.address.kind}"}
            if is_rolling:
                children.append(child)
        group = group.with_children(children)
        around = (
            await self._around(group, is_paused=any(each.scope in scopes for each in pauses)) if is_rolling else None
        )
        rollouts.count(self.readings, group, around or Around(self.now))

    async def _newest(self, name: str) -> RolloutRecord | None:
        newest = None
        async for record in self.store.records(serialization.ROLLOUTS, owner=name):
            newest = record
        return None if newest is None else serialization.rollout_of(newest)

    async def _around(self, group: TemplateGroup, *, is_paused: bool) -> Around:
        return Around(
            self.now,
            (await child_status.condition(self.store, group)).unwell,
            is_paused=is_paused,
            has_unready_parts=bool(await child_status.unready_parts(self.store, group)),
            is_declared=group.lead.uid in self.declared,
            gates=await child_status.gates(self.store, group),
        )
