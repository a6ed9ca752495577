"""Tags of Neutron's things: a second call, which replaces them all and grows the revision a second time."""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.write_result import WriteFailure
from holdfast.providers import url_paths
from holdfast.providers.openstack.calls import Calls, ServiceDialect
from holdfast.providers.openstack.kind_definition import Item


@dataclass(frozen=True, slots=True)
class Tags:
    """The tags of a kind."""

    place: ServiceDialect
    path: str  # of the kind
    name: str = "tags"
    default: Json = field(default_factory=list)

    def view(self, item: Item) -> Json:
        """Return them in order, as the service has none."""
        found = item.body.get("tags", ABSENT)
        return ABSENT if found is ABSENT else sorted(found or ())

    def normal(self, value: Json) -> Json:
        """Return each once, in order."""
        return sorted(set(value)) if isinstance(value, list) and all(isinstance(tag, str) for tag in value) else value

    async def before(self, calls: Calls, item: Item, wanted: Json) -> WriteFailure | bool:
        """Do nothing."""
        del calls, item, wanted
        return False

    async def after(self, calls: Calls, item: Item, wanted: Json) -> WriteFailure | bool:
        """Replace the tags, if they are others."""
        if sorted(item.body.get("tags") or ()) == sorted(wanted or ()):
            return False
        path = f"{self.path}/{url_paths.segment(item.id)}/tags"
        answer = await calls.send(self.place, "PUT", path, {"tags": list(wanted or ())}, item.id)
        return answer if isinstance(answer, WriteFailure) else True
