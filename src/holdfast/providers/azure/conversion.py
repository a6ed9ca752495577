"""From what Azure answers to what a declaration looks like: the ADR's "convert Status to Spec".

The envelope goes (id, name, type, etags): it says which thing this is, not how it is configured. Everything else stays,
read-only fields too, because other declarations may refer to them; the profile pack and the type's schema keep those
out of the comparison and out of the write. What decides where a thing stands (`owner`, `azureName`, `type`) is shown as
far as it is declared, so that an edit of it is a difference like any other, at a field that is fixed at birth.
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
    """Return where a live thing stands, in the words that the declaration uses for it."""
    try:
        live = ids.parse(ident) if isinstance(ident, str) else None
    except InputError:
        live = None
    if live is None:
        return {key: desired[key] for key in PLACEMENT if key in desired}
    shown = {"owner": live.parent, "azureName": live.name, "type": live.type}
    if isinstance(desired.get("azureName"), str):  # a name of several parts counts those it has
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
    """Return the tag of an answer: from its header, else from its body."""
    for found in (headers.get("ETag"), body.get("etag"), body.get("eTag")):
        if isinstance(found, str) and found:
            return found
    return None


def identity(body: Mapping[str, Json]) -> str | None:
    """Return the value that a resource keeps for life and its successor with the same id does not have.

    None where the type shows nothing of the kind; most show when they were made.
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
    """Return the word that says where the last operation on a thing stands, if it has one."""
    properties = body.get("properties")
    found = properties.get("provisioningState") if isinstance(properties, Mapping) else None
    return found if isinstance(found, str) and found else None


def seems_at_rest(word: str) -> bool:
    """Return True if a word that is not known to be a last one sounds like one: Ready, Created, Running, Online."""
    plain = word.casefold()
    return plain == "running" or not (plain.endswith("ing") or plain in _UNDER_WAY)


def failure(body: Mapping[str, Json]) -> str:
    """Return the word that says that the last operation on a thing did not end well; empty if it did."""
    word = state(body) or ""
    return word if word.casefold() in ("failed", "canceled", "cancelled") else ""


def is_settled(body: Mapping[str, Json], terminal: frozenset[str]) -> bool:
    """Return True if nobody is at work on a thing; one without a state is always at rest."""
    word = state(body)
    return word is None or word.casefold() in terminal
