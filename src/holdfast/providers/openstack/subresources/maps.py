"""Maps whose entries are set and removed one by one: extra specs of flavours and volume types, metadata of servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.write_result import WriteFailure
from holdfast.providers import url_paths
from holdfast.providers.openstack import status_mapping
from holdfast.providers.openstack.calls import Calls, ServiceDialect
from holdfast.providers.openstack.kind_definition import Item


@dataclass(frozen=True, slots=True)
class Entries:
    """A map of texts."""

    place: ServiceDialect
    path: str  # of the kind
    name: str
    api: str  # the key of the map in a thing
    suffix: str  # the path below a thing
    key: str  # the key of the map in a request
    default: Json = field(default_factory=dict)

    def view(self, item: Item) -> Json:
        """Return the map; a service may keep it to itself."""
        found = item.body.get(self.api, ABSENT)
        return ABSENT if found is ABSENT else dict(found or {})

    def normal(self, value: Json) -> Json:
        """Return the declared values as strings, as the service stores them."""
        if not isinstance(value, Mapping):
            return value
        return {str(key): _text(item) for key, item in value.items()}

    async def before(self, calls: Calls, item: Item, wanted: Json) -> WriteFailure | bool:
        """Do nothing."""
        del calls, item, wanted
        return False

    async def after(self, calls: Calls, item: Item, wanted: Json) -> WriteFailure | bool:
        """Remove what is not wanted, then set what is not so."""
        live: Mapping[str, Json] = item.body.get(self.api) or {}
        want: Mapping[str, Json] = wanted or {}
        where = f"{self.path}/{url_paths.segment(item.id)}{self.suffix}"
        gone = [key for key in live if key not in want]
        for key in gone:
            answer = await calls.send(self.place, "DELETE", f"{where}/{url_paths.segment(key)}", None, item.id)
            if isinstance(answer, WriteFailure) and not status_mapping.is_gone(answer):
                return answer
        others = {key: value for key, value in want.items() if live.get(key) != value}
        if others:
            answer = await calls.send(self.place, "POST", where, {self.key: others}, item.id)
            if isinstance(answer, WriteFailure):
                return answer
        return bool(gone or others)


def _text(value: Json) -> Json:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value
