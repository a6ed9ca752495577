"""DELETE: of resources, with all that is below them, and of whole groups."""

from __future__ import annotations

from holdfast_emulators.azure import admission, long_running, soft_delete
from holdfast_emulators.azure.calls import Call
from holdfast_emulators.azure.errors import group_not_found
from holdfast_emulators.azure.messages import Response
from holdfast_emulators.azure.state import Resource, Stale, State


def delete(call: Call) -> Response:
    """Remove a resource, or promise to; what is not there is 204."""
    existing = call.state.find(call.id)
    if existing is None:
        if call.id.group is not None and not call.id.namespace:
            raise group_not_found(call.id.group)
        return Response.of(204)
    call.check_preconditions(existing)
    admission.check_free(call, existing)
    admission.check_unused(call)
    how = call.habits.operations.delete
    response = long_running.begin_delete(call, existing, how, lambda: remove(call.state, existing))
    response.changed = True
    return response


def remove(state: State, resource: Resource) -> None:
    """Take a resource away, and what is below it; some keep their names for a while."""
    for item in (*state.below(resource.id), resource):
        soft_delete.bury(state, item)
    state.remove(resource.id)
    habits = state.habits_of(resource.id.type)
    if habits.lag_seconds:
        ghost = resource.snapshot()
        ghost.state = "Deleting"
        state.ghosts[resource.id.key] = Stale(ghost, state.now() + habits.lag_seconds, -1)
