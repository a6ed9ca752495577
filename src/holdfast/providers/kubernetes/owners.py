"""Ownership of fields: from managedFields to the paths that each manager owns. Pure.

Documents hold the owners without times, so that a decision can be replayed and a document changes only when ownership
does:

    owners: {Apply: {holdfast: [/spec/replicas]}, Update: {kubectl-edit: ["/spec/containers[name=app]/image"]}}
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from holdfast.compare import paths
from holdfast.model.json import Json
from holdfast.model.path import Path, Selector

APPLY: Final = "Apply"
UPDATE: Final = "Update"
AUTOSCALER: Final = "Autoscaler"
REPLICAS: Final = ("spec", "replicas")


@dataclass(frozen=True, slots=True)
class Entry:
    """One manager of an object with the paths that it owns."""

    manager: str
    operation: str
    at: float | None
    paths: tuple[Path, ...]
    subresource: str = ""


def entries(managed: Json) -> list[Entry]:
    """Return the managers of an object from its managedFields, without those of its status."""
    found = []
    for item in managed if isinstance(managed, list) else ():
        fields = item.get("fieldsV1")
        if not isinstance(fields, dict) or item.get("subresource") == "status":
            continue
        owned = tuple(path for path in _leaves(fields, ()) if path[0] != "status")
        if owned:
            found.append(
                Entry(
                    str(item.get("manager", "")),
                    str(item.get("operation", "")),
                    moment(item.get("time")),
                    owned,
                    str(item.get("subresource", "")),
                )
            )
    return found


def _leaves(fields: Mapping[str, Json], here: Path) -> Iterator[Path]:
    for key, below in fields.items():
        if key == ".":
            continue
        step = _step(key)
        if step is None:  # an element of a set: the list stands for it
            yield here
        elif isinstance(below, dict) and any(name != "." for name in below):
            yield from _leaves(below, (*here, step))
        else:
            yield (*here, step)


def _step(key: str) -> str | int | Selector | None:
    sort, _, text = key.partition(":")
    if sort == "f":
        return text
    if sort == "k":
        named = orjson.loads(text)
        return Selector(tuple((name, paths.scalar_text(value)) for name, value in named.items()))
    return int(text) if sort == "i" else None


def as_document(found: Sequence[Entry]) -> dict[str, Json]:
    """Return the owners as a document shows them."""
    shown: dict[str, dict[str, set[str]]] = {}
    for entry in found:
        owned = shown.setdefault(entry.operation, {}).setdefault(entry.manager, set())
        owned.update(map(paths.format_path, entry.paths))
    return {sort: {name: sorted(owned) for name, owned in managers.items()} for sort, managers in shown.items()}


def applied_by_others(owners: Json, manager: str) -> dict[Path, str]:
    """Return the paths that another manager applies or an autoscaler sets, each with its name."""
    found: dict[Path, str] = {}
    for sort in (APPLY, AUTOSCALER):
        for name, owned in (owners.get(sort, {}) if isinstance(owners, Mapping) else {}).items():
            if name != manager:
                found |= {paths.parse_path(text): name for text in owned}
    return found


def applied_by(owners: Json, manager: str) -> dict[Path, str]:
    """Return the paths that a manager applies."""
    found = paths.resolve(owners, (APPLY, manager))
    return {paths.parse_path(text): manager for text in found} if isinstance(found, list) else {}


def owner_of(path: Path, owned: Mapping[Path, str]) -> str | None:
    """Return the manager that owns a path, something below it, or an atomic value around it."""
    for other, name in owned.items():
        shared = min(len(path), len(other))
        if all(_same(item, two) for item, two in zip(path[:shared], other[:shared], strict=True)):
            return name
    return None


def _same(one: object, two: object) -> bool:
    if isinstance(one, Selector) and isinstance(two, Selector):
        fewer, more = sorted((set(one.fields), set(two.fields)), key=len)
        return fewer <= more  # a declared element may lack a defaulted key
    return one == two if isinstance(one, Selector) or isinstance(two, Selector) else str(one) == str(two)


def moment(text: Json) -> float | None:
    """Return a time of the API in seconds since the epoch; None if there is none."""
    try:
        return dt.datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None
    except ValueError:
        return None
