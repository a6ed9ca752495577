"""From what was sent to what is stored: kept, filled in, computed, spelled and ordered, as the type does it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast_emulators.azure import defaults, pointers, respelling
from holdfast_emulators.azure.errors import RefusalError
from holdfast_emulators.azure.state import Resource, State
from holdfast_emulators.azure.type_behaviour import Embedded, Fill, Habits

ENVELOPE = ("id", "name", "type", "etag", "eTag", "systemData")


@dataclass(frozen=True, slots=True)
class Shaped:
    """A document to be stored, what will appear in it later, and its children by the rule that embeds them."""

    body: dict[str, Json]
    late: tuple[Fill, ...]
    children: tuple[tuple[Embedded, Json], ...]  # ABSENT: the list was not sent


def shape(
    state: State, resource: Resource, before: Mapping[str, Json] | None, sent: Mapping[str, Json], *, partial: bool
) -> Shaped:
    """Make of what was sent what the service makes of it; `partial` says that what is to stay is in it already."""
    habits = state.habits_of(resource.id.type)
    bare = {key: copy.deepcopy(value) for key, value in sent.items() if key not in ENVELOPE}
    body = bare if partial else defaults.kept(before, bare, habits)
    children = tuple((rule, _taken(body, rule.at)) for rule in habits.embedded)
    for pointer in (habits.state_at, *(rule.at for rule in habits.computed if "*" not in rule.at)):
        if pointer:
            pointers.put(body, pointer, ABSENT)
    work = state.filling(resource, dict(before) if before is not None else None)
    work.fill(body, habits.defaults)
    work.add_elements(body, habits.elements)
    respelling.rewrite(body, habits, work.expanded)
    defaults.reorder(body, habits.orders, state.chance, reading=False)
    work.compute(body, habits.computed)
    _check_immutable(habits, before, body)
    return Shaped(body, tuple(work.late), children)


def settable(body: Mapping[str, Json], habits: Habits) -> Json:
    """Return a stored document without what is the service's own, to see whether a write changed anything."""
    out = copy.deepcopy(dict(body))
    for rule in habits.computed:
        pointers.put(out, rule.at, ABSENT)
    return out


def _taken(body: dict[str, Json], pointer: str) -> Json:
    found = pointers.get(body, pointer)
    pointers.put(body, pointer, ABSENT)
    return found


def _check_immutable(habits: Habits, before: Mapping[str, Json] | None, body: Mapping[str, Json]) -> None:
    for pointer in habits.immutable if before is not None else ():
        if pointers.get(before, pointer) != pointers.get(body, pointer):
            name = pointer.rpartition("/")[2]
            raise RefusalError(
                409, "PropertyChangeNotAllowed", f"Changing property '{name}' is not allowed.", target=name
            )
