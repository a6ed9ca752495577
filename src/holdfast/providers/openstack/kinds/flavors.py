"""Nova's flavours, key pairs and server groups: most of what they are is for life."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast.model.json import Json
from holdfast.providers.openstack.calls import ServiceDialect
from holdfast.providers.openstack.kind_definition import (
    NAME,
    KindDefinition,
    ListCall,
    Manner,
    fixed,
    mutable,
    read_only,
)
from holdfast.providers.openstack.subresources.maps import Entries

MICROVERSION: Final = "2.79"  # flavours with descriptions and extra specs, groups with one policy and its rules
_PLACE: Final = ServiceDialect("compute", MICROVERSION)

FLAVOR: Final = KindDefinition(
    kind="Flavor",
    place=_PLACE,
    path="/flavors",
    one="flavor",
    many="flavors",
    fields=(
        fixed("name", default=NAME),
        mutable("description", cleared=None),
        fixed("ram"),
        fixed("vcpus"),
        fixed("disk"),
        fixed("swap"),
        fixed("OS-FLV-EXT-DATA:ephemeral", "ephemeral"),
        fixed("rxtx_factor"),
        fixed("os-flavor-access:is_public", "isPublic"),
    ),
    subs=(Entries(_PLACE, "/flavors", "extraSpecs", "extra_specs", "/os-extra_specs", "extra_specs"),),
    is_scoped=False,
    listing=ListCall(path="/flavors/detail", params=(("is_public", "None"),), filters=()),
)


class _KeyManner(Manner):
    def body(self, found: Mapping[str, Json]) -> Mapping[str, Json]:
        """Unwrap one that a list wrapped, and know it by its name: the number it has elsewhere names nothing."""
        inner = found.get("keypair", found)
        return {**inner, "id": inner["name"]} if isinstance(inner, Mapping) and "name" in inner else {}


KEY_PAIR: Final = KindDefinition(
    kind="KeyPair",
    place=_PLACE,
    path="/os-keypairs",
    one="keypair",
    many="keypairs",
    fields=(
        fixed("name", default=NAME),
        fixed("public_key"),
        fixed("type"),
        read_only("fingerprint"),
    ),
    is_scoped=False,
    manner=_KeyManner(),
    listing=ListCall(filters=()),
)

SERVER_GROUP: Final = KindDefinition(
    kind="ServerGroup",
    place=_PLACE,
    path="/os-server-groups",
    one="server_group",
    many="server_groups",
    fields=(
        fixed("name", default=NAME),
        fixed("policy"),
        fixed("rules"),
        read_only("project_id"),
    ),
    listing=ListCall(all_projects=(("all_projects", "1"),), project_param=None, filters=()),
)
