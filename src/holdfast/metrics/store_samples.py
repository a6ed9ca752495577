"""Reading the samples from the store: once, a page at a time, so that no more than a page is held at once.

Only a template whose rollout is under way has all its children in memory, as it has for rolling. Nothing is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from dataclasses import field
from typing import Final, TypeVar

from holdfast.metrics import definitions, governance, resources
from holdfast.metrics.families import Family, Samples
from holdfast.model.record import dataclass
from holdfast.rollouts.core.templates import Template
from holdfast.rollouts.metrics import RolloutSamples
from holdfast.store.governance import Pause
from holdfast.store.protocol import Store
from holdfast.store.state import UNCHECKED, ResourceState

Item = TypeVar("Item")

PAGE: Final = 500


async def gather(
    store: Store, now: float, version: str, *, templates: Sequence[Template] = (), per_resource: bool = False
) -> list[Family]:
    """Return every family. `templates` are those of the manifests, for values that only these have."""
    gatherer = _Gatherer(store, now)
    gatherer.readings.put(definitions.BUILD, version, value=1)
    gatherer.readings.put(definitions.GATHERED, value=now)
    await gatherer.resources(per_resource=per_resource)
    pauses = await gatherer.standing()
    await gatherer.trail()
    await RolloutSamples(
        store, now, gatherer.readings, {template.owner_id: template for template in templates}
    ).collect(pauses)
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
    readings: Samples = field(default_factory=Samples)

    async def resources(self, *, per_resource: bool) -> None:
        resources.count_none(self.readings, await self.store.count_resources())
        async for page in _pages(self.store.all_states()):
            for state in page:
                resources.count(self.readings, state, self.now)
                if per_resource:
                    status = UNCHECKED if state.observed.status is None else state.observed.status.value
                    self.readings.put(definitions.RESOURCE_STATUS, str(state.address), status, value=1)
            for address, element in (await self.store.findings_of([item.address for item in page])).items():
                resources.count_findings(self.readings, address, element)
            await self._held([item for item in page if resources.is_held(item)])

    async def _held(self, states: Sequence[ResourceState]) -> None:
        """Count the held resources by the code of their newest decision."""
        found = await asyncio.gather(*[self.store.decisions(item.address, 1) for item in states])
        newest = [decisions[0] for decisions in found if decisions]
        outputs = await self.store.documents(list({record.output for record in newest})) if newest else {}
        codes = {
            record.address: str(outputs[record.output]["reasons"][0]["code"])
            for record in newest
            if record.output in outputs
        }
        for state in states:
            where = (state.address.connection, state.address.kind)
            self.readings.add(definitions.BLOCKED, *where, codes.get(state.address, "unknown"))

    async def standing(self) -> list[Pause]:
        """Count running operations and decisions of people. Return the pauses in force."""
        pauses = governance.in_force(await self.store.pauses(), self.now)
        governance.count_operations(self.readings, await self.store.operations())
        governance.count_claims(self.readings, await self.store.claims(), self.now)
        governance.count_pauses(self.readings, pauses)
        governance.count_decisions(self.readings, await self.store.quarantines(), await self.store.approvals())
        return pauses

    async def trail(self) -> None:
        governance.count_no_events(self.readings)
        async for event in self.store.events():
            governance.count_event(self.readings, event.event)
