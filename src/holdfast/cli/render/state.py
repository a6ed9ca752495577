"""The record of a resource for programs."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from holdfast.cli.render.text import when
from holdfast.metrics import resources
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.store.protocol import ResourceState

NOT_DECLARED: Final = "not_declared"


def state_as_json(state: ResourceState, now: float | None = None, missed: Collection[Address] = ()) -> dict[str, Json]:
    """Return the record of a resource. With `now` it says whether the record is stale."""
    return {
        "address": str(state.address),
        "status": NOT_DECLARED if state.address in missed else state.status.value if state.status else None,
        **({} if now is None else {"stale": state.address in missed or resources.is_stale(state, now)}),
        "reason": state.reason,
        "generation": state.generation,
        "revision": state.applied_revision,
        "id": state.provider_id,
        "origin": state.origin.value,
        "checkedAt": state.checked_at,
        "goodAt": state.good_at,
        "dueAt": state.due_at,
        "resyncSeconds": state.resync_seconds,
        "terminal": state.terminal,
        "requested": state.requested,
        "handled": state.handled,
        "source": state.source,
        "suppressed": [{"because": because, "path": path, "note": note} for because, path, note in state.suppressed],
        "conditions": [
            {
                "type": c.type.value,
                "status": c.status.value,
                "reason": c.reason,
                "message": c.message,
                "observedGeneration": c.observed_generation,
                "lastTransitionTime": when(c.last_transition),
            }
            for c in state.conditions
        ],
    }
