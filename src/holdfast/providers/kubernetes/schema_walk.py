"""The way through an OpenAPI document from a kind to its leaves: list semantics, spellings, and kept zeros.

A list is keyed where the schema gives it map keys or a merge key, a set where the schema says so, and ordered
otherwise. Quantities, durations, times, bytes and int-or-string values are compared by what they mean. An empty mapping
with named fields says something (`emptyDir: {}`); an empty list, an empty map of free keys and null are absence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from holdfast.compare import paths
from holdfast.model.json import Json
from holdfast.providers.kubernetes import schema_document
from holdfast.providers.kubernetes.group_version_kind import GroupVersionKind
from holdfast.providers.kubernetes.schema_document import Schema

KEEPS_ZERO: Final = "x-holdfast-keeps-zero"  # of a schema in the shipped facts: its fields whose zero is not dropped
LIST_TYPE: Final = "x-kubernetes-list-type"
MAP_KEYS: Final = "x-kubernetes-list-map-keys"
MERGE_KEY: Final = "x-kubernetes-patch-merge-key"
STRATEGY: Final = "x-kubernetes-patch-strategy"
_MAP_TYPE: Final = "x-kubernetes-map-type"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_QUANTITY_PATTERN: Final = "[KMGTPE]i"  # what generated schemas of custom resources say of a quantity

_BY_DEFINITION: Final = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int_or_string",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Duration": "duration",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "timestamp",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "timestamp",
}
_BY_FORMAT: Final = {
    "int-or-string": "int_or_string",
    "quantity": "quantity",
    "duration": "duration",
    "date-time": "timestamp",
    "byte": "base64",
}
# Map keys that the server fills in; the documents of servers before 1.21 have no defaults.
_DEFAULTS: Final[Mapping[tuple[str, str], Json]] = {
    ("io.k8s.api.core.v1.ContainerPort", "protocol"): "TCP",
    ("io.k8s.api.core.v1.ServicePort", "protocol"): "TCP",
}
_NOT_COMPARED: Final = frozenset({"apiVersion", "kind", "status"})  # at the top of an object
_PLAIN_LISTS: Final = {"set": "set", "atomic": "ordered"}
_SCALARS: Final = (str, int, float, bool)

Saying = tuple[str, dict[str, Json]]  # a path, and the aspects of its rule


def rules_of(kind: GroupVersionKind, openapi: Schema, *, keeps_all: bool) -> list[Json] | None:
    """Return the rules of a profile for the paths of a kind. None if the document does not know the kind.

    With `keeps_all` the server keeps empty values as they are written, as it does for custom resources.
    """
    name = schema_document.kinds(openapi).get(kind)
    if name is None:
        return None
    walk = _Walk(schema_document.definitions(openapi), keeps_all=keeps_all)
    return [{"path": path, **says} for path, says in walk.rules_below(name) if says]


def list_rule(schema: Schema) -> Json:
    """Return the semantics of a list by its schema: `ordered`, `set`, or its keys."""
    keys, merge_key, list_type = schema.get(MAP_KEYS), schema.get(MERGE_KEY), str(schema.get(LIST_TYPE, ""))
    if list_type == "map" and keys:
        named = [str(key) for key in keys]
        return {"keyed": named, "keys_filled_in": True} if len(named) > 1 else {"keyed": named}
    if list_type in _PLAIN_LISTS:
        return _PLAIN_LISTS[list_type]
    if "merge" not in str(schema.get(STRATEGY, "")).split(","):
        return "ordered"
    return {"keyed": [merge_key]} if merge_key else "set"


class _Walk:
    """The way through the schemas of a document, from a kind to its leaves."""

    def __init__(self, named: Mapping[str, Schema], *, keeps_all: bool) -> None:
        self._named = named
        self._keeps_all = keeps_all

    def rules_below(self, name: str) -> Iterator[Saying]:
        """Yield the rules of each path below a named schema. A schema inside itself is not entered again."""
        yield from self._fields(name, self._named.get(name, {}), "", frozenset({name}))

    def _fields(self, name: str, schema: Schema, path: str, above: frozenset[str]) -> Iterator[Saying]:
        keeps_zero = frozenset(schema.get(KEEPS_ZERO, ()))
        for field, said in schema_document.as_schema(schema.get("properties")).items():
            if not path and field in _NOT_COMPARED:
                continue
            here = path + paths.format_path((field,))
            beside: dict[str, Json] = {}
            if field in keeps_zero:
                beside["adopt_presence"] = "empty"
            default = schema_document.as_schema(said).get("default", _DEFAULTS.get((name, field)))
            if isinstance(default, _SCALARS) and default:
                beside["default"] = default
            yield from self._value(said, here, above, beside)

    def _value(self, said: Json, path: str, above: frozenset[str], beside: dict[str, Json]) -> Iterator[Saying]:
        name, schema = schema_document.resolve(said, self._named)
        if name in above:
            yield path, beside
            return
        above = above | {name} if name else above
        comparator = _comparator(name, schema)
        if comparator is not None:
            yield path, {"compare": comparator, **beside}
        elif schema.get("type") == "array" or "items" in schema:
            says = list_rule(schema)
            yield path, {**({} if says == "ordered" else {"list": says}), **beside}
            yield from self._value(schema.get("items"), f"{path}/*", above, {})
        elif isinstance(schema.get("additionalProperties"), Mapping):
            is_whole = schema.get(_MAP_TYPE) == "atomic"
            drops_empty = {} if self._keeps_all else {"presence": "empty"}
            yield path, {**drops_empty, **({"map": {"whole": True}} if is_whole else {}), **beside}
            yield from self._value(schema["additionalProperties"], f"{path}/*", above, {})
        elif "properties" in schema:
            yield path, beside
            yield from self._fields(name, schema, path, above)
        else:
            yield path, beside


def _comparator(name: str, schema: Schema) -> str | None:
    named = _BY_DEFINITION.get(name) or _BY_FORMAT.get(schema.get("format", ""))
    if schema.get(_INT_OR_STRING) is True or named == "int_or_string":
        return "quantity" if _QUANTITY_PATTERN in str(schema.get("pattern", "")) else "int_or_string"
    return named
