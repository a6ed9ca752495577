"""From what a service says to the shape of a declaration, and back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final

import orjson

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.providers.openstack import naming
from holdfast.providers.openstack.kind_definition import Field, Item, KindDefinition, Role

_UNTOLD: Final = frozenset({Role.BIRTH_ONLY, Role.WRITE_ONLY})
_BORN_WITH: Final = frozenset({Role.MUTABLE, Role.FIXED, Role.BIRTH_ONLY, Role.WRITE_ONLY})


def document(thing: KindDefinition, item: Item) -> dict[str, Json]:
    """Return the document of a resource in the shape of a declaration; unknown fields are left out."""
    out: dict[str, Json] = {}
    for field in thing.fields:
        if field.role not in _UNTOLD and field.api in item.body:
            out[field.name] = _decoded(field, item.body[field.api])
    for sub in thing.subs:
        value = sub.view(item)
        if value is not ABSENT:
            out[sub.name] = value
    return out


def birth(thing: KindDefinition, desired: Mapping[str, Json]) -> dict[str, Json]:
    """Return the body that makes a thing."""
    return {
        field.api: _encoded(field, desired[field.name])
        for field in thing.fields
        if field.role in _BORN_WITH and not field.is_late and desired.get(field.name) is not None
    }


def late(thing: KindDefinition, desired: Mapping[str, Json]) -> list[str]:
    """Return the declared fields that can be set only after the create."""
    return [field.name for field in thing.fields if field.is_late and desired.get(field.name) is not None]


def changes(thing: KindDefinition, wanted: Mapping[str, Json], names: Iterable[str]) -> dict[str, Json]:
    """Return the body that changes some fields; what is wanted no more is sent as what its absence means."""
    out: dict[str, Json] = {}
    for name in names:
        each = thing.field(name)
        if each is None or each.role not in (Role.MUTABLE, Role.WRITE_ONLY):
            continue
        if name in wanted and wanted[name] is not ABSENT:
            out[each.api] = _encoded(each, wanted[name])
        elif each.released is not ABSENT:
            out[each.api] = _encoded(each, each.released)
    return out


def _decoded(each: Field, value: Json) -> Json:
    if each.decode is not None:
        return each.decode(value)
    return value if each.is_opaque else naming.to_camel(value)


def _encoded(each: Field, value: Json) -> Json:
    if each.encode is not None:
        return each.encode(value)
    return value if each.is_opaque else naming.to_snake(value)


def etag(thing: KindDefinition, item: Item) -> str | None:
    """Return the etag of a resource: its revision, if the kind has one."""
    revision = item.body.get("revision_number") if thing.revision is not None else None
    return str(revision) if revision is not None else None


def digest(thing: KindDefinition, item: Item, *, trusts_revision: bool) -> str:
    """Return the digest of a resource.

    The revision, where it was found to grow with everything that is compared; else a hash over just that, so that a
    status or a time stamp which moves by itself is no news.
    """
    revision = etag(thing, item)
    if trusts_revision and thing.revision is not None and thing.revision.covers_all and revision is not None:
        uncovered = (f"{name}={item.body.get(name)}" for name in thing.revision.uncovered)
        return " ".join([f"revision:{revision}", *uncovered])
    return state_hash(document(thing, item))


def state_hash(found: Mapping[str, Json]) -> str:
    """Return the hash over what is compared."""
    return "sha256:" + hashlib.sha256(orjson.dumps(found, option=orjson.OPT_SORT_KEYS)).hexdigest()


def packed(item: Item) -> bytes:
    """Return a thing as the bytes that a list hands over."""
    return orjson.dumps({"body": item.body, "more": item.more})


def unpacked(raw: bytes) -> Item:
    """Return the thing that was packed."""
    found = orjson.loads(raw)
    return Item(found["body"], found["more"])
