"""The body of a PUT: the declaration, the required live fields, and no field that must not be written.

- What says where a thing stands is in the URL and not in the body; read-only fields and etags are never sent.
- What drifted and is to be left alone (policy says report, a person took it over) is sent as it is live: a PUT replaces
  the whole, so leaving it out or sending the declared value would write it.
- Children that other resources own are sent as they are live, or a PUT of the parent would remove them.
- A list or map that is not declared any more is emptied in so many words where the type needs that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from holdfast.compare import apply_patch, paths
from holdfast.model.absent import ABSENT
from holdfast.provider import Change, Json, Path
from holdfast.providers.azure.conversion import UNSENT
from holdfast.providers.azure.type_catalog import Children, Clears, Habits

_SERVERS: Final = frozenset({"provisioningState", "etag", "eTag", "resourceGuid"})


def declared(desired: Mapping[str, Json]) -> dict[str, Json]:
    """Return the part of a declaration that is the body of a PUT."""
    return {key: value for key, value in desired.items() if key not in UNSENT}


def needs_live(change: Change | None, habits: Habits) -> bool:
    """Return True if the live state is required to write the body."""
    return bool(habits.children) or (change is not None and bool(change.left))


def for_update(change: Change, live: Mapping[str, Json] | None, habits: Habits) -> dict[str, Json]:
    """Return the body of a PUT for an update. `live` is the document of a GET, if it is required."""
    body: Json = apply_patch.copied(declared(change.desired))
    body = _cleared(body, change, habits.clears)
    if live is not None:
        body = _left_alone(body, change.left, live)
        body = with_children(body, live, habits.children)
    assert isinstance(body, dict)
    return body


def _cleared(body: Json, change: Change, clears: Clears) -> Json:
    """Set removed lists and maps to empty values where leaving them out would not remove them."""
    if clears is Clears.OMIT:
        return body
    for text in change.paths:
        path = paths.parse_path(text)
        was = paths.resolve(change.observed, path)
        if paths.resolve(body, path) is ABSENT and isinstance(was, dict | list) and _is_reachable(path):
            empty: Json = None if clears is Clears.NULL else type(was)()
            body = apply_patch.put(body, path, empty)
    return body


def _left_alone(body: Json, left: Sequence[str], live: Mapping[str, Json]) -> Json:
    for text in left:
        path = paths.parse_path(text)
        if not path or path[0] in UNSENT or path[-1] in _SERVERS:
            continue
        now = paths.resolve(live, path)
        if now is not ABSENT or paths.resolve(body, path) is not ABSENT:
            body = apply_patch.put(body, path, now)
    return body


def _is_reachable(path: Path) -> bool:
    return all(isinstance(step, str) for step in path) and path[0] not in UNSENT


def with_children(body: Json, live: Mapping[str, Json], children: Iterable[Children]) -> Json:
    """Add the live children that the declaration does not name, without their read-only fields."""
    for child in children:
        there = paths.resolve(live, child.path)
        if not isinstance(there, list) or not there:
            continue
        mine = paths.resolve(body, child.path)
        mine = mine if isinstance(mine, list) else []
        named = {_key(item, child.key) for item in mine}
        others = [_sendable(item) for item in there if _key(item, child.key) not in named]
        if others:
            body = apply_patch.put(body, child.path, [*mine, *others])
    return body


def _key(item: Json, key: str) -> str | None:
    found = item.get(key) if isinstance(item, Mapping) else None
    return found.casefold() if isinstance(found, str) else None


def _sendable(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {key: _sendable(item) for key, item in value.items() if key not in _SERVERS}
    return [_sendable(item) for item in value] if isinstance(value, list) else value
