"""The record of a resource for programs."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from holdfast.cli.render.text import when
from holdfast.metrics import resources
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.store.state import ResourceState

NOT_DECLARED: Final = "not_declared"


def state_as_json(state: ResourceState, now: float | None = None, missed: Collection[Address] = ()) -> dict[str, Json]:
    """Return the record of a resource. With `now` it says whether the record is stale."""
    return {
        "address": str(state.address),
        "status": NOT_DECLARED
        if state.address in missed
        else state.observed.status.value
        if state.observed.status
        else None,
        **({} if now is None else {"stale": state.address in missed or resources.is_stale(state, now)}),
        "reason": state.observed.reason,
        "generation": state.declared.generation,
        "revision": state.applied.revision,
        "id": state.observed.provider_id,
        "origin": state.applied.origin.value,
        "checkedAt": state.schedule.checked_at,
        "goodAt": state.schedule.good_at,
        "dueAt": state.schedule.due_at,
        "resyncSeconds": state.schedule.resync_seconds,
        "terminal": state.schedule.terminal,
        "requested": state.schedule.requested,
        "handled": state.schedule.handled,
        "source": state.declared.source,
        "suppressed": [
            {"because": because, "path": path, "note": note} for because, path, note in state.observed.suppressed
        ],
        "conditions": [
            {
                "type": c.type.value,
                "status": c.status.value,
                "reason": c.reason,
                "message": c.message,
                "observedGeneration": c.observed_generation,
                "lastTransitionTime": when(c.last_transition),
            }
            for c in state.observed.conditions
        ],
    }
