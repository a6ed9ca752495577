"""Soft delete: names that deleted resources keep, and the ways back from there."""

from __future__ import annotations

import copy
from collections.abc import Mapping

from holdfast.model.json import Json
from holdfast_emulators.azure import pointers
from holdfast_emulators.azure.calls import Call
from holdfast_emulators.azure.errors import RefusalError, not_found
from holdfast_emulators.azure.ids import ArmId
from holdfast_emulators.azure.messages import Response
from holdfast_emulators.azure.state import Deleted, Resource, State, timestamp
from holdfast_emulators.azure.type_behaviour import Habits


def bury(state: State, resource: Resource) -> None:
    """Keep a resource that is being deleted, where the type does that."""
    habits = state.habits_of(resource.id.type)
    if habits.soft_delete is None:
        return
    slot = (resource.id.type.casefold(), resource.id.name.casefold())
    until = state.now() + habits.soft_delete.seconds
    state.deleted[slot] = Deleted(resource.snapshot(), state.now(), until)
    state.schedule(until, lambda: state.deleted.pop(slot, None))


def recover(call: Call, sent: Mapping[str, Json]) -> Resource | None:
    """Bring a deleted resource back if that is asked for; refuse its name otherwise."""
    rule = call.habits.soft_delete
    slot = (call.id.type.casefold(), call.id.name.casefold())
    found = call.state.deleted.get(slot)
    if rule is None or found is None:
        return None
    if not rule.recover or not pointers.holds(sent, rule.recover) or found.resource.id.key != call.id.key:
        raise RefusalError.as_described(rule.refused, name=call.id.name)
    del call.state.deleted[slot]
    back = found.resource
    resource = Resource(back.id, copy.deepcopy(back.body), back.created, call.who, back.revision)
    call.state.add(resource)
    call.state.touch(resource, call.who)
    return resource


def habits_below(state: State, id_: ArmId) -> Habits | None:
    """Return the type whose deleted resources a path is about: .../deletedVaults, .../locations/l/deletedVaults/n."""
    words = [item.casefold() for item in id_.types[-2:]]
    if not any(word.startswith("deleted") for word in words):
        return None
    for habits in state.habits.values():
        rule = habits.soft_delete
        is_near = habits.type.casefold().startswith(f"{id_.namespace.casefold()}/")
        if rule is not None and is_near and rule.collection.casefold() in words:
            return habits
    return None


def answer(call: Call, habits: Habits) -> Response:
    """List, show or purge what is deleted."""
    state, type_ = call.state, habits.type.casefold()
    listed = [item for (kind, _), item in state.deleted.items() if kind == type_]
    if call.id.is_collection and call.request.method == "GET":
        return Response.of(200, {"value": [_shown(item) for item in listed]})
    slot = (type_, call.id.names[-1].casefold())
    if slot not in state.deleted:
        raise not_found(call.id.type, call.id.names[-1], None)
    if call.request.method in ("DELETE", "POST"):
        del state.deleted[slot]
        return Response.of(200)
    return Response.of(200, _shown(state.deleted[slot]))


def _shown(deleted: Deleted) -> dict[str, Json]:
    id_ = deleted.resource.id
    dates = {"deletionDate": timestamp(deleted.at), "scheduledPurgeDate": timestamp(deleted.until)}
    location = deleted.resource.body.get("location")
    return {"name": id_.name, "properties": {"vaultId": id_.text, "location": location, **dates}}
