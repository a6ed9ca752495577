"""Every list of every built-in kind: another order is drift exactly where the schema says that order counts.

The walk here is the test's own; it shares nothing with the code that makes the rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.providers.kubernetes.documents import is_unchanged, rules, server

DEFINITIONS = server()["definitions"]
LEFT_OUT = {"status", "metadata"}  # of the object itself: the API machinery's own
NOT_COMPARED = {
    ("Namespace", "/spec/finalizers"),
    ("StatefulSet", "/spec/volumeClaimTemplates/*/status/accessModes"),
    ("StatefulSet", "/spec/volumeClaimTemplates/*/status/conditions"),
}
# The server itself writes these in another order than it was given.
SORTED_BY_THE_SERVER = {
    ("HorizontalPodAutoscaler", "/spec/metrics"),
    ("Endpoints", "/subsets"),
    ("Endpoints", "/subsets/*/addresses"),
    ("Endpoints", "/subsets/*/notReadyAddresses"),
    ("Endpoints", "/subsets/*/ports"),
}


def kinds() -> Iterator[tuple[str, str]]:
    for name, schema in DEFINITIONS.items():
        fields = schema.get("properties", {})
        for said in schema.get("x-kubernetes-group-version-kind", ()):
            if "metadata" in fields and "items" not in fields and {"apiVersion", "kind"} <= fields.keys():
                group = f"{said['group']}/" if said["group"] else ""
                yield f"{group}{said['version']}/{said['kind']}", name


def resolved(schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    name = schema.get("$ref", "").rsplit("/", 1)[-1]
    return (name, DEFINITIONS[name]) if name else ("", schema)


def lists(schema: dict[str, Any], path: tuple[Any, ...], above: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of the lists below a schema, each step with the schema of the list that it leaves, if any."""
    name, schema = resolved(schema)
    if name and name in above:
        return
    above = (*above, name)
    for field, said in schema.get("properties", {}).items():
        if not path and field in LEFT_OUT:
            continue
        yield from lists(said, (*path, field), above)
    if "additionalProperties" in schema:
        yield from lists(schema["additionalProperties"], (*path, "any"), above)
    if schema.get("type") == "array":
        yield (*path, schema)
        yield from lists(schema["items"], (*path, schema), above)


def is_ordered(schema: dict[str, Any]) -> bool:
    kind, strategy = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-patch-strategy", "")
    return kind == "atomic" or (kind not in ("map", "set") and "merge" not in strategy.split(","))


def keys(schema: dict[str, Any]) -> list[str]:
    merge_key = schema.get("x-kubernetes-patch-merge-key")
    return schema.get("x-kubernetes-list-map-keys") or ([merge_key] if merge_key else [])


def element(schema: dict[str, Any], number: int) -> Any:
    """Return an element with its keys; others are told apart by a name, which must not be taken for a key."""
    _, item = resolved(schema["items"])
    if "properties" not in item:
        return (
            number if item.get("type") in ("integer", "number") else [f"v{number}"] if "items" in item else f"v{number}"
        )
    if keys(schema):
        return dict.fromkeys(keys(schema), f"v{number}")
    return {"name": f"v{number}"}


def document(path: tuple[Any, ...], *, is_reversed: bool) -> Any:
    """Return an object with two elements in the last list of a path, and one in those above."""
    *steps, last = path
    value: Any = [element(last, 1), element(last, 2)]
    if is_reversed:
        value.reverse()
    for step in reversed(steps):
        if isinstance(step, str):
            value = {step: value}
        else:
            value = [{**element(step, 1), **value}] if isinstance(value, dict) else [value]
    return value


def text(path: tuple[Any, ...]) -> str:
    return "".join(f"/{step}" if isinstance(step, str) else "/*" for step in path[:-1])


@pytest.mark.parametrize("from_server", [True, False], ids=["openapi", "facts"])
def test_another_order_is_drift_exactly_where_the_schema_says_that_order_counts(from_server):
    counted: Counter[str] = Counter()
    for kind, name in kinds():
        found = rules(kind, from_server=from_server)
        for path in lists({"$ref": f"#/{name}"}, (), ()):
            place = (kind.rsplit("/", 1)[-1], text(path))
            if place in NOT_COMPARED:
                continue
            expected = is_ordered(path[-1]) and place not in SORTED_BY_THE_SERVER
            before, now = document(path, is_reversed=False), document(path, is_reversed=True)
            assert is_unchanged(found, before, before, before)
            assert is_unchanged(found, before, before, now) is not expected, (kind, place)
            assert is_unchanged(found, {}, before, now) is not expected, (kind, place, "not declared")
            counted["ordered" if expected else "unordered"] += 1
        counted["kinds"] += 1
    assert counted == {"kinds": 86, "ordered": 1164, "unordered": 224}, "1388 lists, or the document changed"
