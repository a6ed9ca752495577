"""The body of a server-side apply: every field that we own from now on. Pure.

Leaving out a field that only we own deletes it, and sending a field takes it. So a path that a change must leave as it
is goes into the body with its live value if it is ours or was written by updates, and is left out if another manager
applies it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from holdfast.compare import apply_patch, paths
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.path import Path
from holdfast.providers import minimal_patch
from holdfast.providers.kubernetes import objects, owners

# Keys of list elements that a server fills in. Servers before 1.21 refuse an apply that leaves them out.
_KEY_DEFAULTS: Final = {("Service", ("spec", "ports")): {"protocol": "TCP"}}
_HEAD: Final = (("apiVersion",), ("kind",), ("metadata",), ("metadata", "name"), ("metadata", "namespace"))


def for_create(desired: Mapping[str, Json]) -> dict[str, Json]:
    """Return the body of a create."""
    return with_keys(objects.declared(desired))


def with_keys(body: dict[str, Json]) -> dict[str, Json]:
    """Return a body whose list elements have the keys that tell them apart."""
    for (kind, path), defaults in _KEY_DEFAULTS.items():
        elements = paths.resolve(body, path) if body.get("kind") == kind else ABSENT
        if isinstance(elements, list):
            completed = [{**defaults, **item} if isinstance(item, dict) else item for item in elements]
            body = apply_patch.put(apply_patch.copied(body), path, completed)
    return body


def for_update(
    desired: Mapping[str, Json],
    live: Mapping[str, Json],
    left: Iterable[str],
    ours: Mapping[Path, str],
    others: Mapping[Path, str],
) -> dict[str, Json]:
    """Return the body of an update, from the paths that we apply and those that are left to other managers."""
    body: Json = apply_patch.copied(objects.declared(desired))
    for text in left:
        path = paths.parse_path(text)
        if not path or path in _HEAD or path[0] == "status" or path[:2] == ("metadata", objects.OWNERS):
            continue
        now = paths.resolve(live, path)
        is_sent = paths.resolve(body, path) is not ABSENT
        if owners.owner_of(path, others) is not None or now is ABSENT:
            body = apply_patch.remove(body, path) if is_sent else body
        elif is_sent or owners.owner_of(path, ours) is not None:
            body = apply_patch.put(body, path, now)
    assert isinstance(body, dict)
    return with_keys(objects.declared(body))


def corrections(changed: Iterable[str], body: Mapping[str, Json], live: Mapping[str, Json]) -> list[dict[str, Json]]:
    """Return the JSON patch that must go before an apply; empty if the apply corrects everything itself.

    Apply removes only fields without another owner, and a field that an update added belongs to its writer. So removals
    go first, together with the other corrections, because an object may not be valid halfway.
    """
    texts = tuple(changed)
    is_needed = any(
        paths.resolve(body, path) is ABSENT and paths.resolve(live, path) is not ABSENT
        for path in map(paths.parse_path, texts)
    )
    return (
        minimal_patch.json_patch(dict(live), minimal_patch.wanted(dict(body), dict(live), texts)) if is_needed else []
    )


def conflicts(changed: Iterable[str], others: Mapping[Path, str]) -> dict[str, str]:
    """Return the changed paths that another manager applies, each with the manager."""
    found = {}
    for text in changed:
        name = owners.owner_of(paths.parse_path(text), others)
        if name is not None:
            found[text] = name
    return found


def without_owner(managed: list[Json], given_up: Iterable[str], manager: str) -> list[Json] | None:
    """Return managedFields in which client-side apply no longer owns what we apply; None if nothing changes."""
    ours = next((item for item in managed if item.get("manager") == manager and item.get("operation") == "Apply"), None)
    if ours is None:
        return None
    names, changed, kept = set(given_up), False, []
    for item in managed:
        if item.get("operation") == "Update" and item.get("manager") in names and not item.get("subresource"):
            rest = _minus(item.get("fieldsV1", {}), ours.get("fieldsV1", {}))
            changed = changed or rest != item.get("fieldsV1")
            if rest:
                kept.append({**item, "fieldsV1": rest})
        else:
            kept.append(item)
    return kept if changed else None


def _minus(fields: Mapping[str, Json], others: Mapping[str, Json]) -> dict[str, Json]:
    """Return a set of fields without those of another set; parents without fields go too."""
    rest: dict[str, Json] = {}
    for key, below in fields.items():
        other = others.get(key)
        if other is None:
            rest[key] = below
        elif below:
            inner = _minus(below, other)
            if any(name != "." for name in inner):
                rest[key] = inner
    return rest
