"""References as OpenStack Resource Controller has them: `networkRef: core` is `networkId: ${Network/core.id}`.

At any depth, and for lists: `securityGroupRefs: [web, ssh]` is `securityGroups` with the two ids. Done when manifests
are read, so that order, waiting and a missing referent are the engine's business, as for every other provider; a field
that a kind does not have is told with its line at the same time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast.compare import paths
from holdfast.errors import InputError, Location
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.providers.openstack import defaults, kind_registry

# What stands before Ref -> the field that it becomes, and the kind that it names.
ONE: Final[Mapping[str, tuple[str, str]]] = {
    "network": ("networkId", "Network"),
    "floatingNetwork": ("floatingNetworkId", "Network"),
    "subnet": ("subnetId", "Subnet"),
    "port": ("portId", "Port"),
    "router": ("routerId", "Router"),
    "project": ("projectId", "Project"),
    "defaultProject": ("defaultProjectId", "Project"),
    "remoteGroup": ("remoteGroupId", "SecurityGroup"),
    "image": ("imageId", "Image"),
    "flavor": ("flavorId", "Flavor"),
    "keypair": ("keyName", "KeyPair"),
    "serverGroup": ("serverGroupId", "ServerGroup"),
    "volume": ("volumeId", "Volume"),
    "volumeType": ("volumeType", "VolumeType"),
}
_BY_NAME: Final = frozenset({"VolumeType"})  # what the service itself calls by name
MANY: Final[Mapping[str, tuple[str, str]]] = {"securityGroup": ("securityGroups", "SecurityGroup")}


def rewritten(kind: str, desired: Mapping[str, Json]) -> tuple[dict[str, Json], str | None]:
    """Return a wanted document with its references as ids; raise InputError with the field that is wrong."""
    filled = _filled(desired, ())
    thing = kind_registry.BY_KIND.get(kind)
    if thing is not None:
        defaults.refuse_unknown(thing, filled)
    return filled, None


def _filled(value: Json, pointer: Pointer) -> Json:
    if isinstance(value, list):
        return [_filled(item, (*pointer, index)) for index, item in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    out: dict[str, Json] = {}
    for key, item in value.items():
        field, found = _resolved(key, item, (*pointer, key))
        if field in out or (field != key and field in value):
            raise InputError(f"{key} and {field} say the same; give one of them", _at((*pointer, key)))
        out[field] = found
    return out


def _resolved(key: str, item: Json, pointer: Pointer) -> tuple[str, Json]:
    if key.endswith("Ref") and key[:-3] in ONE:
        field, kind = ONE[key[:-3]]
        return field, _reference(kind, item, pointer)
    if key.endswith("Refs") and key[:-4] in MANY:
        field, kind = MANY[key[:-4]]
        if not isinstance(item, list):
            raise InputError(f"{key} needs a list of names", _at(pointer))
        return field, [_reference(kind, name, (*pointer, index)) for index, name in enumerate(item)]
    return key, _filled(item, pointer)


def _reference(kind: str, name: Json, pointer: Pointer) -> str:
    if not isinstance(name, str) or not name:
        raise InputError(f"the name of a {kind} is needed here", _at(pointer))
    return f"${{{kind}/{name}.{'name' if kind in _BY_NAME else 'id'}}}"


def _at(pointer: Pointer) -> Location:
    return Location(field=paths.format_path(pointer))
