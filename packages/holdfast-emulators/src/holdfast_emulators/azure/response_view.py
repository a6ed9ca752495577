"""How a resource looks from outside: with its envelope, its children, its etag; without its secrets."""

from __future__ import annotations

import copy
import re

import orjson

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast_emulators.azure import defaults, pointers
from holdfast_emulators.azure.ids import ArmId
from holdfast_emulators.azure.state import Resource, State, timestamp
from holdfast_emulators.azure.type_behaviour import Embedded, Habits

_GROUP = re.compile(r"(?i)(/resourceGroups/)([^/]+)")


def document(state: State, resource: Resource, api_version: str = "", asked: ArmId | None = None) -> dict[str, Json]:
    """Return a resource as GET shows it."""
    habits = state.habits_of(resource.id.type)
    body = copy.deepcopy(resource.body)
    for rule in habits.embedded:
        pointers.put(body, rule.at, children(state, resource, rule))
    if habits.state_at and (word := resource.state or habits.state_done):
        pointers.put(body, habits.state_at, word)
    state.filling(resource, None).refresh(body, habits.computed)
    defaults.reorder(body, habits.orders, state.chance, reading=True)
    _hide(body, habits, api_version)
    return {**_envelope(state, resource, habits, asked), **body, **_system_data(resource, habits)}


def rendered(state: State, resource: Resource, api_version: str, asked: ArmId | None = None) -> bytes:
    """Return a resource as the bytes of an answer; the same ones until it changes."""
    habits = state.habits_of(resource.id.type)
    if any(rule.renewed == "read" for rule in habits.computed) or any(rule.each_read for rule in habits.orders):
        return orjson.dumps(document(state, resource, api_version, asked))
    slot = f"{api_version if habits.since else ''} {asked.text if asked and habits.id_style == 'requested' else ''}"
    if slot not in resource.cache:
        resource.cache[slot] = orjson.dumps(document(state, resource, api_version, asked))
    return resource.cache[slot]


def children(state: State, resource: Resource, rule: Embedded) -> list[Json]:
    """Return the children of one type, as elements of a list in their parent."""
    shown = []
    for child in state.in_collection(resource.id.child(rule.child, "").collection()):
        whole = document(state, child)
        whole.pop("systemData", None)
        shown.append({"name": whole["name"], **whole.get("properties", {})} if rule.flat else whole)
    return shown


def etag(state: State, resource: Resource) -> str:
    """Return the etag of a resource as headers have it."""
    quoted = f'"{resource.etag}"'
    return f"W/{quoted}" if state.habits_of(resource.id.type).etag.weak else quoted


def headers(state: State, resource: Resource) -> dict[str, str]:
    """Return the headers that go with a resource."""
    return {"ETag": etag(state, resource)} if state.habits_of(resource.id.type).etag.header else {}


def spelled(id_: ArmId, style: str, asked: ArmId | None = None) -> str:
    """Return an id in the spelling of its type."""
    match style:
        case "lower":
            return id_.text.lower()
        case "lower_groups":
            return _GROUP.sub(lambda found: f"/resourcegroups/{found[2]}", id_.text)
        case "upper_group":
            return _GROUP.sub(lambda found: found[1] + found[2].upper(), id_.text)
        case "requested":
            return (asked or id_).text
        case _:
            return id_.text


def _envelope(state: State, resource: Resource, habits: Habits, asked: ArmId | None) -> dict[str, Json]:
    envelope = {
        "id": spelled(resource.id, habits.id_style, asked),
        "name": resource.id.name,
        "type": habits.type_shown or habits.type,
    }
    if not habits.etag.body:
        return envelope
    return {**envelope, habits.etag.body: resource.etag if habits.etag.bare else etag(state, resource)}


def _system_data(resource: Resource, habits: Habits) -> dict[str, Json]:
    if not habits.system_data:
        return {}
    made, moved = resource.created, resource.modified
    return {
        "systemData": {
            "createdBy": made.by,
            "createdByType": made.kind,
            "createdAt": timestamp(made.at),
            "lastModifiedBy": moved.by,
            "lastModifiedByType": moved.kind,
            "lastModifiedAt": timestamp(moved.at),
        }
    }


def _hide(body: dict[str, Json], habits: Habits, api_version: str) -> None:
    for secret in habits.secrets:
        for spot in reversed(list(pointers.spots(body, secret.at))):
            if spot.value() is not ABSENT:
                spot.put({"absent": ABSENT, "null": None, "text": secret.text}[secret.shown])
    for pointer, version in habits.since.items():
        if api_version and api_version < version:
            pointers.put(body, pointer, ABSENT)
