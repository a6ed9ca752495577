"""The shipped facts about the built-in kinds: a server's OpenAPI document, reduced to what rules are made of.

`tools/kubernetes_facts.py` makes the file from the document of a running server and from the Go types of the same
release, which alone show where a zero is kept. They are used where no document of the server is at hand, and they tell
which kinds are built-in. A kind that a newer server has in another version of the same group takes the facts of that.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Final

import orjson

from holdfast.model.json import Json
from holdfast.providers.kubernetes import schema_document, schema_walk
from holdfast.providers.kubernetes.group_version_kind import GroupVersionKind
from holdfast.providers.kubernetes.schema_document import Schema

FILE: Final = "kubernetes_types.json.gz"


@cache
def openapi() -> Schema:
    """Return the shipped document. It is read once, when the first kind is asked for."""
    packed = resources.files(__package__).joinpath("data", FILE).read_bytes()
    document: dict[str, Json] = orjson.loads(gzip.decompress(packed))
    return document


@cache
def _kinds() -> Mapping[GroupVersionKind, str]:
    return schema_document.kinds(openapi())


def known_kind(kind: GroupVersionKind) -> GroupVersionKind | None:
    """Return the kind whose facts hold for a kind: itself, or another version of it; None if there is none."""
    if kind in _kinds():
        return kind
    others = (known.version for known in _kinds() if (known.group, known.kind) == (kind.group, kind.kind))
    nearest = max(others, default=None)
    return None if nearest is None else replace(kind, version=nearest)


def with_kept_zeros(document: Schema) -> Schema:
    """Return a server's document with the fields whose zero is kept, which OpenAPI does not show."""
    shipped = schema_document.definitions(openapi())
    named = {
        name: {**schema_document.as_schema(schema), schema_walk.KEEPS_ZERO: shipped[name][schema_walk.KEEPS_ZERO]}
        if schema_walk.KEEPS_ZERO in shipped.get(name, {})
        else schema
        for name, schema in schema_document.definitions(document).items()
    }
    return {"definitions": named}
