"""Finding things without their id: what a declaration means, and what a filter matches. Exactly, never by part.

Names are not unique in OpenStack, and some services filter by pattern, so every match is checked here again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.compare import paths
from holdfast.compare.comparators import typed_equal
from holdfast.model.absent import ABSENT
from holdfast.provider import Json, Path, ReadFailed, ReadFailure, Target
from holdfast.providers.http.client import Lost
from holdfast.providers.openstack import documents
from holdfast.providers.openstack.calls import Calls, ServiceDialect
from holdfast.providers.openstack.cloud import Params
from holdfast.providers.openstack.kind_definition import PROJECT_FIELD, Companion, Item, KindDefinition

_FEW: Final = 20  # things whose companions are asked for by name


@dataclass(frozen=True, slots=True)
class Finder:
    """Lists resources together with the further documents that they are made of."""

    calls: Calls

    async def everything(self, thing: KindDefinition) -> AsyncIterator[Item]:
        """Yield all resources of a kind: of our own project, or of all projects if the connection says so."""
        params = list(thing.listing.params)
        if self.calls.cloud.account.all_projects:
            params += thing.listing.all_projects
        elif thing.is_scoped and thing.listing.project_param:
            params.append((thing.listing.project_param, await self.project_id()))
        async for item in self._joined(thing, params):
            yield item

    async def matching(self, thing: KindDefinition, criteria: Mapping[str, Json], *, wide: bool) -> list[Item]:
        """Return the things whose fields have exactly these values; keys are names, or pointers."""
        wanted = {paths.parse_path(key if key.startswith("/") else f"/{key}"): value for key, value in criteria.items()}
        params = [*thing.listing.params, *thing.manner.filters(thing, criteria)]
        if wide and self.calls.cloud.account.all_projects:
            params += thing.listing.all_projects
        found = [item async for item in self._joined(thing, params)]
        return [item for item in found if _fits(documents.document(thing, item), wanted)]

    async def declared(self, target: Target, thing: KindDefinition) -> list[Item] | None:
        """Return the things that a declaration without an id may mean; None if it says nothing to find them by."""
        criteria = thing.manner.identity(thing, target)
        if criteria is None:
            return None
        if thing.is_scoped and PROJECT_FIELD not in criteria:
            criteria[PROJECT_FIELD] = target.desired.get(PROJECT_FIELD) or await self.project_id()
        return await self.matching(thing, criteria, wide=False)

    async def project_id(self) -> str:
        """Return our own project; raise ReadFailed if we cannot sign in."""
        found = await self.calls.cloud.project_id()
        if isinstance(found, Lost):
            raise ReadFailed(ReadFailure(found.trouble, found.detail))
        return found

    async def _joined(self, thing: KindDefinition, params: Params) -> AsyncIterator[Item]:
        bodies = await self.calls.everything(thing.place, thing.listing.path or thing.path, thing.many, params)
        few = len(bodies) <= _FEW
        idents = [str(thing.manner.body(entry).get("id")) for entry in bodies] if few else []
        more = (
            {companion.name: await self._grouped(companion, idents) for companion in thing.companions} if bodies else {}
        )
        for item in bodies:
            body = thing.manner.body(item)
            ident = str(body.get("id"))
            yield Item(body, {name: groups.get(ident, []) for name, groups in more.items()})

    async def _grouped(self, companion: Companion, idents: Sequence[str]) -> dict[str, list[Mapping[str, Json]]]:
        """Read the companions of these things, or of all where there are too many to name."""
        out: dict[str, list[Mapping[str, Json]]] = {}
        params = [*companion.params, *((companion.by, ident) for ident in idents)]
        if companion.is_scoped and not idents and not self.calls.cloud.account.all_projects:
            params.append(("project_id", await self.project_id()))
        found = self.calls.pages(ServiceDialect(companion.service), companion.path, companion.many, params)
        async for element in found:
            out.setdefault(str(element.get(companion.by)), []).append(element)
        return out


def _fits(found: Json, wanted: Mapping[Path, Json]) -> bool:
    for path, value in wanted.items():
        there = paths.resolve(found, path)
        if isinstance(value, list) and isinstance(there, list):
            if not _all_in(value, there):
                return False
        elif not typed_equal(there, value) and not (value is None and there is ABSENT):
            return False
    return True


def _all_in(wanted: Sequence[Json], there: Sequence[Json]) -> bool:
    """Return True if everything asked for is there, as with tags."""
    return all(any(typed_equal(item, other) for other in there) for item in wanted)
