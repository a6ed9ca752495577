"""The body of a server-side apply: every field that we own from now on. Pure.

Leaving out a field that only we own deletes it, and sending a field takes it. So a path that a change must leave as it
is goes into the body with its live value if it is ours or was written by updates, and is left out if another manager
applies it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from holdfast.compare import apply_patch, paths
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.path import Path, Pointer, Selector
from holdfast.providers.kubernetes import objects, owners
from holdfast.providers.minimal_patch import rfc6901

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


def removals(changed: Iterable[str], body: Mapping[str, Json], live: Mapping[str, Json]) -> list[dict[str, Json]]:
    """Return the JSON patch that removes what is still there at changed paths and not in the body, the last first.

    Apply removes only fields that nobody else owns. A field that an update added belongs to its writer.
    """
    keys = _list_keys(live["metadata"].get("managedFields"))
    pointers = set()
    for text in changed:
        path = paths.parse_path(text)
        pointer = _pointer(live, path)
        wanted = paths.resolve(body, path)
        if pointer is None:
            continue
        if wanted is ABSENT:
            pointers.add(pointer)
        else:
            pointers.update(_surplus(wanted, paths.resolve(live, path), pointer, keys))
    ordered = sorted(
        pointers, key=lambda pointer: [(1, step, "") if isinstance(step, int) else (0, 0, step) for step in pointer]
    )
    return [{"op": "remove", "path": rfc6901(pointer)} for pointer in reversed(ordered)]


Keys = Mapping[Pointer, tuple[str, ...]]


def _list_keys(managed: Json) -> Keys:
    """Return the keys of the elements of associative lists; the path of a list leaves out the elements around it."""
    found: dict[Pointer, tuple[str, ...]] = {}
    for entry in owners.entries(managed):
        for path in entry.paths:
            for index, step in enumerate(path):
                if isinstance(step, Selector):
                    found[_names(path[:index])] = tuple(name for name, _ in step.fields)
    return found


def _names(path: Path | Pointer) -> Pointer:
    return tuple(step for step in path if isinstance(step, str))


def _surplus(wanted: Json, live: Json, pointer: Pointer, keys: Keys) -> Iterator[Pointer]:
    """Yield the elements of associative lists that are not wanted."""
    if not isinstance(wanted, list) or not isinstance(live, list):
        return
    names = keys.get(_names(pointer))
    for index, element in enumerate(live) if names else ():
        if not any(_is_same(element, other, names or ()) for other in wanted):
            yield (*pointer, index)


def _is_same(element: Json, other: Json, names: Iterable[str]) -> bool:
    """Return True if two elements have the same keys; a key that is not declared has its default."""
    if not isinstance(element, dict) or not isinstance(other, dict):
        return False
    return all(name not in other or other[name] == element.get(name) for name in names)


def _pointer(live: Json, path: Path) -> Pointer | None:
    """Return the place of a path in a live object, with indices for selectors; None if nothing is there."""
    here, found = live, []
    for step in path:
        place: str | int
        if isinstance(here, list):
            index = _index(here, step)
            if index is None:
                return None
            place = index
        elif isinstance(here, dict) and str(step) in here:
            place = str(step)
        else:
            return None
        found.append(place)
        here = here[place]
    return tuple(found)


def _index(here: list[Json], step: object) -> int | None:
    if isinstance(step, Selector):
        return next((index for index, element in enumerate(here) if paths.selects(step, element)), None)
    index = int(str(step)) if str(step).isdigit() else -1
    return index if 0 <= index < len(here) else None


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
