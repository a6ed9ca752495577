"""Checks before a write is accepted: parents, names, locations, references, locks, other operations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast_emulators.azure import pointers, respelling
from holdfast_emulators.azure.calls import Call
from holdfast_emulators.azure.errors import RefusalError, gateway, group_not_found, parent_not_found
from holdfast_emulators.azure.ids import GROUP_TYPE, ArmId, parse
from holdfast_emulators.azure.state import Resource, State
from holdfast_emulators.azure.type_behaviour import Reference

LOCK_TYPE = "Microsoft.Authorization/locks"


def check_place(call: Call) -> None:
    """Check that the group and the parent are there, and ready for children."""
    id_, state = call.id, call.state
    if id_.group is not None and id_.namespace and not _group_exists(state, id_):
        raise group_not_found(id_.group)
    parent = id_.parent
    if parent is None or not parent.namespace:
        return
    found = state.find(parent)
    if found is None:
        raise parent_not_found(parent.name)
    if found.running is not None and call.habits.parent_busy is not None:
        raise RefusalError.as_described(call.habits.parent_busy, target=parent.text)


def _group_exists(state: State, id_: ArmId) -> bool:
    return f"/subscriptions/{id_.subscription}/resourcegroups/{id_.group}".casefold() in state.resources


def check_free(call: Call, existing: Resource | None) -> None:
    """Check that no other operation is running and the resource is not locked."""
    if existing is not None and existing.running is not None and call.habits.busy is not None:
        raise RefusalError.as_described(call.habits.busy, target=existing.id.text)
    level = _lock(call.state, call.id)
    if level == "readonly" or (level is not None and call.request.method == "DELETE"):
        raise gateway(
            409,
            "ScopeLocked",
            f"The scope '{call.id.text}' cannot perform this operation because it, or one above it, is locked.",
        )


def _lock(state: State, id_: ArmId) -> str | None:
    """Return the level of the lock on a resource or above it."""
    if id_.type.casefold() == LOCK_TYPE.casefold():
        return None
    levels = [
        str(pointers.get(resource.body, "/properties/level")).casefold()
        for resource in state.resources.values()
        if resource.id.type.casefold() == LOCK_TYPE.casefold()
        and f"{id_.key}/".startswith(f"{resource.id.scope.casefold()}/")
    ]
    return "readonly" if "readonly" in levels else next(iter(levels), None)


def check_name(call: Call) -> None:
    """Check that the name of a new resource is free, if names of its type are global."""
    refused = call.habits.global_name
    if refused is None:
        return
    wanted = (call.id.type.casefold(), call.id.name.casefold())
    for resource in call.state.resources.values():
        if (resource.id.type.casefold(), resource.id.name.casefold()) == wanted and resource.id.key != call.id.key:
            raise RefusalError.as_described(refused, name=call.id.name)


def check_location(call: Call, existing: Resource | None, sent: Mapping[str, Json]) -> None:
    """Check that there is a location where one is needed, and that the resource does not move."""
    given = sent.get("location")
    if existing is None:
        if given is None and call.habits.location == "required":
            raise gateway(400, "LocationRequired", "The location property is required for this definition.")
        return
    there = existing.body.get("location")
    if given is None or there is None or call.habits.location == "none":
        return
    if respelling.region_code(str(given)) != respelling.region_code(str(there)):
        code = "InvalidResourceGroupLocation" if call.id.type == GROUP_TYPE else "InvalidResourceLocation"
        raise gateway(
            409, code, f"The resource '{call.id.name}' already exists in location '{there}', not in '{given}'."
        )


def check_required(call: Call, sent: Mapping[str, Json]) -> None:
    """Check that nothing is missing that the type cannot do without."""
    for pointer in call.habits.required:
        if pointers.get(sent, pointer) in (ABSENT, None):
            name = pointer.rpartition("/")[2]
            message = f"Required parameter {name} is missing (null)."
            raise RefusalError(400, "MissingRequiredParameter", message, target=name)


def check_references(call: Call, sent: Mapping[str, Json]) -> None:
    """Check that what the document refers to is there, and finished: not ready is not the same as throttled."""
    for rule in call.habits.references:
        for target in _targets(rule, sent):
            found = call.state.find(target)
            if found is None or found.hidden:
                if rule.missing is not None and (target.subscription or "").casefold() in call.state.subscriptions:
                    raise RefusalError.as_described(rule.missing, target=target.text)
            elif found.running is not None and rule.not_ready is not None and found.id.key != call.id.key:
                raise RefusalError.as_described(rule.not_ready, target=target.text)


def check_unused(call: Call) -> None:
    """Check that nothing refers to a resource that is to go, where the type cares."""
    refused = call.habits.in_use
    if refused is None:
        return
    for resource in call.state.resources.values():
        rules = call.state.habits_of(resource.id.type).references
        if any(target.key == call.id.key for rule in rules for target in _targets(rule, resource.body)):
            raise RefusalError.as_described(refused, target=resource.id.text, name=call.id.name)


def _targets(rule: Reference, document: Mapping[str, Json]) -> Iterator[ArmId]:
    for spot in pointers.spots(document, rule.at):
        value = spot.value()
        target = parse(value) if isinstance(value, str) else None
        if target is not None and not target.is_collection:
            yield target
