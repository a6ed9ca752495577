"""Conversion of Azure's answers to the shape of a declaration: the ADR's "convert Status to Spec".

The envelope (id, name, type, etags) is removed because it identifies the resource and does not configure it. All other
fields stay, including read-only fields, because other declarations may refer to them. The profile pack and the schema
of the type keep read-only fields out of the comparison and out of the write. The fields that place a resource (`owner`,
`azureName`, `type`) are shown as far as they are declared. An edit of them is then an ordinary difference, at a field
that cannot change after creation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.providers.azure import ids

ENVELOPE: Final = frozenset({"id", "name", "type", "etag", "eTag"})
PLACEMENT: Final = ("owner", "azureName", "type")
UNSENT: Final = frozenset({*ENVELOPE, *PLACEMENT, "apiVersion", "systemData"})
_UNDER_WAY: Final = frozenset({"accepted", "pending", "inprogress", "enqueued", "dequeued", "queued", "registeringdns"})
_BIRTH: Final = (
    "resourceGuid",
    "uniqueId",
    "vmId",
    "createdAt",
    "creationTime",
    "creationDate",
    "timeCreated",
    "createTime",
    "CreationDate",
)


def document(body: Mapping[str, Json], desired: Mapping[str, Json] | None = None) -> dict[str, Json]:
    """Return an answer in the shape of a declaration."""
    out = {key: value for key, value in body.items() if key not in ENVELOPE}
    return {**out, **placement(body.get("id"), desired)} if desired else out


def placement(ident: Json, desired: Mapping[str, Json]) -> dict[str, Json]:
    """Return the placement of a live resource in the fields that its declaration uses."""
    try:
        live = ids.parse(ident) if isinstance(ident, str) else None
    except InputError:
        live = None
    if live is None:
        return {key: desired[key] for key in PLACEMENT if key in desired}
    shown = {"owner": live.parent, "azureName": live.name, "type": live.type}
    if isinstance(desired.get("azureName"), str):  # a name of several parts: compare as many parts
        depth = desired["azureName"].count("/") + 1
        shown["azureName"] = "/".join(live.names[-depth:])
        shown["owner"] = _owner(live, depth)
    return {key: value for key, value in shown.items() if key in desired}


def _owner(live: ids.ArmId, depth: int) -> str:
    if depth >= len(live.names):
        return live.scope
    type_ = "/".join(live.type.split("/")[: len(live.names) - depth + 1])
    return str(ids.ArmId(live.scope, type_, live.names[:-depth]))


def etag(headers: Mapping[str, str], body: Mapping[str, Json]) -> str | None:
    """Return the etag of an answer: from its header, else from its body."""
    for name in (headers.get("ETag"), body.get("etag"), body.get("eTag")):
        if isinstance(name, str) and name:
            return name
    return None


def identity(body: Mapping[str, Json]) -> str | None:
    """Return the value that a resource keeps for life and a successor with the same id does not have.

    None if the type shows no such value. Most types show their creation time.
    """
    system = body.get("systemData")
    if isinstance(system, Mapping) and isinstance(system.get("createdAt"), str):
        return f"systemData.createdAt={system['createdAt']}"
    properties = body.get("properties")
    if isinstance(properties, Mapping):
        for name in _BIRTH:
            if isinstance(properties.get(name), str) and properties[name]:
                return f"properties.{name}={properties[name]}"
    return None


def state(body: Mapping[str, Json]) -> str | None:
    """Return the provisioning state of a resource, if it has one."""
    properties = body.get("properties")
    found = properties.get("provisioningState") if isinstance(properties, Mapping) else None
    return found if isinstance(found, str) and found else None


def seems_at_rest(word: str) -> bool:
    """Return True if a state that is not known to be final sounds final: Ready, Created, Running, Online."""
    plain = word.casefold()
    return plain == "running" or not (plain.endswith("ing") or plain in _UNDER_WAY)


def failure(body: Mapping[str, Json]) -> str:
    """Return the state if the last operation on a resource failed, else an empty string."""
    word = state(body) or ""
    return word if word.casefold() in ("failed", "canceled", "cancelled") else ""


def is_settled(body: Mapping[str, Json], terminal: frozenset[str]) -> bool:
    """Return True if no operation runs on a resource. A resource without a state is always settled."""
    word = state(body)
    return word is None or word.casefold() in terminal
