"""A server's OpenAPI document, version 2 or 3: the schema of a kind, and the schemas that it refers to.

Aggregated servers publish parts of it as they like, so what is not a schema where one should be says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from holdfast.model.json import Json
from holdfast.providers.kubernetes.group_version_kind import GroupVersionKind

Schema = Mapping[str, Json]

KINDS: Final = "x-kubernetes-group-version-kind"
_NOTHING: Final[Schema] = {}


def definitions(openapi: Schema) -> Mapping[str, Schema]:
    """Return the named schemas of a document: `definitions` of version 2, `components.schemas` of version 3."""
    named = openapi.get("definitions")
    if not isinstance(named, Mapping):
        components = openapi.get("components")
        named = components.get("schemas") if isinstance(components, Mapping) else None
    return named if isinstance(named, Mapping) else {}


def as_schema(said: Json) -> Schema:
    """Return the value as a schema, or an empty schema if it is none."""
    return said if isinstance(said, Mapping) else _NOTHING


def kinds(openapi: Schema) -> Mapping[GroupVersionKind, str]:
    """Return the kinds of a document, each with the name of its schema."""
    names: dict[GroupVersionKind, str] = {}
    for name, schema in definitions(openapi).items():
        said = as_schema(schema).get(KINDS)
        for item in said if isinstance(said, list) else ():
            if {"group", "version", "kind"} <= as_schema(item).keys():
                names.setdefault(GroupVersionKind(item["group"], item["version"], item["kind"]), name)
    return names


def resolve(said: Json, named: Mapping[str, Schema]) -> tuple[str, Schema]:
    """Return the name and the schema that a reference stands for; the name of a schema in place is empty.

    Version 3 wraps a reference into `allOf` where a default stands beside it.
    """
    schema = as_schema(said)
    reference = schema.get("$ref")
    parts = schema.get("allOf")
    if reference is None and isinstance(parts, Sequence) and len(parts) == 1:
        reference = as_schema(parts[0]).get("$ref")
    if not isinstance(reference, str):
        return "", schema
    name = reference.rsplit("/", 1)[-1]
    target = as_schema(named.get(name))
    beside = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
    return name, {**target, **beside}
