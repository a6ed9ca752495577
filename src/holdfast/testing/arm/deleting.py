"""DELETE: of resources, with all that is below them, and of whole groups."""

from __future__ import annotations

from holdfast.testing.arm import checking, operating, recovering
from holdfast.testing.arm.calls import Call
from holdfast.testing.arm.messages import Response
from holdfast.testing.arm.refusals import group_not_found
from holdfast.testing.arm.state import Resource, Stale, State


def delete(call: Call) -> Response:
    """Remove a resource, or promise to; what is not there is 204."""
    existing = call.state.find(call.id)
    if existing is None:
        if call.id.group is not None and not call.id.namespace:
            raise group_not_found(call.id.group)
        return Response.of(204)
    call.check_preconditions(existing)
    checking.check_free(call, existing)
    checking.check_unused(call)
    how = call.habits.operations.delete
    response = operating.begin_delete(call, existing, how, lambda: remove(call.state, existing))
    response.changed = True
    return response


def remove(state: State, resource: Resource) -> None:
    """Take a resource away, and what is below it; some keep their names for a while."""
    for each in (*state.below(resource.id), resource):
        recovering.bury(state, each)
    state.remove(resource.id)
    habits = state.habits_of(resource.id.type)
    if habits.lag_seconds:
        ghost = resource.snapshot()
        ghost.state = "Deleting"
        state.ghosts[resource.id.key] = Stale(ghost, state.now() + habits.lag_seconds, -1)
