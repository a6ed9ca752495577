"""References in declarations, in every form people write them; each becomes the id it means, at the same place.

    {armId: /subscriptions/...}                        the id itself
    {group: network.azure.com, kind: Subnet, name: a}  another declaration; the group may be that of ASO, or ours
    {kind: ResourceGroup, name: platform}              the same, for `owner`, where nothing else can be meant
    {wellKnownName: Contributor}                       something Azure itself has, such as a built-in role
    ${Subnet/a.id}                                     Holdfast's own form; left as it is

A reference to a declaration becomes `${Kind/name.id}`, so that order, waiting and a missing referent are the engine's
business, as for every other provider; nothing is ever sent with a hole in it. Done when manifests are read.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Final

from holdfast.compare import paths
from holdfast.errors import InputError, Location
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.providers.azure import ids, type_catalog, validation

OWNER: Final = "owner"
_GROUPS: Final = (".azure.com", ".holdfast.dev")
_ROLE: Final = "/providers/Microsoft.Authorization/roleDefinitions/"

# The built-in roles that declarations name most often. Their ids are the same in every tenant.
ROLES: Final[Mapping[str, str]] = {
    "Owner": "8e3af657-a8ff-443c-a75c-2fe8c4bcb635",
    "Contributor": "b24988ac-6180-42a0-ab88-20f7382dd24c",
    "Reader": "acdd72a7-3385-48ef-bd42-f606fba81ae7",
    "User Access Administrator": "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9",
    "AcrPull": "7f951dda-4ed3-4680-a7ca-43fe172d538d",
    "AcrPush": "8311e382-0749-4cb8-b61a-304f252e45ec",
    "Key Vault Administrator": "00482a5a-887f-4fb3-b363-3b7fe8e74483",
    "Key Vault Reader": "21090545-7ca7-4776-b22c-e363652d74d2",
    "Key Vault Secrets User": "4633458b-17de-408a-b874-0445c86b69e6",
    "Key Vault Secrets Officer": "b86a8fe4-44ce-4948-aee5-eccb2c155cd7",
    "Managed Identity Operator": "f1a07417-d97a-45cb-824c-7a7467783830",
    "Network Contributor": "4d97b98b-1d4f-4787-a291-c67834d212e7",
    "Storage Account Contributor": "17d1049b-9a84-46fb-8f53-869881c3d3ab",
    "Storage Blob Data Contributor": "ba92f5b4-2d11-453d-a403-e96b0029c9fe",
    "Storage Blob Data Owner": "b7e6dc6d-f1e8-4753-8033-0f276bb0955b",
    "Storage Blob Data Reader": "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1",
    "Virtual Machine Contributor": "9980e02c-c2be-4d73-94e8-173b1dc7cf3c",
}
_ROLE_IDS: Final = {name.casefold(): ident for name, ident in ROLES.items()}


def rewritten(kind: str, desired: Mapping[str, Json]) -> tuple[dict[str, Json], str | None]:
    """Return a desired document with its references as ids, and its type; raise InputError with the field."""
    filled = {key: _filled(value, (key,)) for key, value in desired.items()}
    type_ = type_of(kind, filled)
    validation.require(kind, filled, type_)
    return filled, type_


def type_of(kind: str, desired: Mapping[str, Json]) -> str | None:
    """Return the ARM type of a declaration: the declared type, else the type of its kind."""
    said = desired.get("type")
    if isinstance(said, str) and said:
        return said
    found = type_catalog.named(kind)
    return found.type if found is not None else None


def _filled(value: Json, pointer: Pointer) -> Json:
    if isinstance(value, Mapping):
        form = _form(value, pointer)
        if form is None:
            return {key: _filled(item, (*pointer, key)) for key, item in value.items()}
        try:
            return form(value)
        except InputError as error:
            raise error.at(Location(field=paths.format_path(pointer))) from None
    if isinstance(value, list):
        return [_filled(item, (*pointer, index)) for index, item in enumerate(value)]
    return value


def _form(value: Mapping[str, Json], pointer: Pointer) -> Callable[[Mapping[str, Json]], str] | None:
    """Return the function that resolves a mapping if it is a reference; None for plain data."""
    keys = set(value)
    if keys == {"armId"}:
        return _by_id
    if keys == {"wellKnownName"}:
        return _by_well_known_name
    is_named = {"kind", "name"} <= keys <= {"group", "kind", "name", "namespace"}
    if is_named and (pointer == (OWNER,) or _is_group(value.get("group"))):
        return _by_name
    if pointer == (OWNER,) and keys == {"name"}:
        return _by_group_name
    return None


def _is_group(group: Json) -> bool:
    return isinstance(group, str) and group.endswith(_GROUPS)


def _by_id(value: Mapping[str, Json]) -> str:
    text = value["armId"]
    if isinstance(text, str) and "${" in text:  # another reference, which the engine resolves
        return text
    if not isinstance(text, str) or not ids.is_id(text):
        raise InputError("armId needs a whole resource id: /subscriptions/.../providers/Namespace/type/name")
    return text


def _by_well_known_name(value: Mapping[str, Json]) -> str:
    name = value["wellKnownName"]
    found = _ROLE_IDS.get(name.casefold()) if isinstance(name, str) else None
    if found is None:
        near = difflib.get_close_matches(str(name), ROLES, n=1)
        guess = f"; did you mean {near[0]}?" if near else "; write {armId: ...} instead"
        raise InputError(f"{name!r} is not a name that Holdfast knows{guess}")
    return f"{_ROLE}{found}"


def _by_name(value: Mapping[str, Json]) -> str:
    parts = [value["kind"], value.get("namespace"), value["name"]]
    if not all(isinstance(item, str) and item for item in (value["kind"], value["name"])):
        raise InputError("a reference needs the kind and the name of a declaration: {kind: Subnet, name: a}")
    return "${" + "/".join(str(part) for part in parts if part is not None) + ".id}"


def _by_group_name(value: Mapping[str, Json]) -> str:
    return _by_name({"kind": "ResourceGroup", "name": value["name"]})
