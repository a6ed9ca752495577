"""Properties of images: the fields of an image in addition to Glance's own attributes.

The notes of clients and of the service (`owner_specified.*` of openstacksdk, stores, locations) are left out, because
they are never declared and change by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.write_result import WriteFailure
from holdfast.providers import url_paths
from holdfast.providers.openstack.calls import Calls, ServiceDialect
from holdfast.providers.openstack.kind_definition import Item

PLACE: Final = ServiceDialect("image")
PATCH: Final = {"Content-Type": "application/openstack-images-v2.1-json-patch"}
_OWN: Final = frozenset(
    {
        "checksum",
        "container_format",
        "created_at",
        "direct_url",
        "disk_format",
        "file",
        "id",
        "locations",
        "min_disk",
        "min_ram",
        "name",
        "owner",
        "protected",
        "schema",
        "self",
        "size",
        "status",
        "stores",
        "tags",
        "updated_at",
        "virtual_size",
        "visibility",
    }
)
_PREFIXES: Final = ("owner_specified.", "os_hash_", "os_glance_")


def is_property(name: str) -> bool:
    """Return True if an attribute is a property that people set."""
    return name not in _OWN and name != "os_hidden" and not name.startswith(_PREFIXES)


@dataclass(frozen=True, slots=True)
class Properties:
    """The properties of an image; where none are declared, they are left to others."""

    name: str = "properties"
    default: Json = ABSENT

    def view(self, item: Item) -> Json:
        """Return the properties."""
        return {key: value for key, value in item.body.items() if is_property(key)}

    def normal(self, value: Json) -> Json:
        """Return the declared values as strings, as Glance stores them."""
        if not isinstance(value, Mapping):
            return value
        return {key: str(item) if isinstance(item, bool | int | float) else item for key, item in value.items()}

    async def before(self, calls: Calls, item: Item, wanted: Json) -> WriteFailure | bool:
        """Do nothing."""
        del calls, item, wanted
        return False

    async def after(self, calls: Calls, item: Item, wanted: Json) -> WriteFailure | bool:
        """Set what is not so, and remove what is not wanted."""
        live, want = self.view(item), wanted or {}
        steps = [{"op": "remove", "path": pointer(key)} for key in live if key not in want]
        steps += [
            {"op": "add", "path": pointer(key), "value": value} for key, value in want.items() if live.get(key) != value
        ]
        if not steps:
            return False
        answer = await calls.send(PLACE, "PATCH", f"/images/{url_paths.segment(item.id)}", steps, item.id, PATCH)
        return answer if isinstance(answer, WriteFailure) else True


def pointer(name: str) -> str:
    """Return an attribute's place in a JSON patch."""
    return "/" + name.replace("~", "~0").replace("/", "~1")
