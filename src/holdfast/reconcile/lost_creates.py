"""Creates whose answer was lost: search for the resource, and report an unknown outcome if the search cannot decide.

A create is safe to repeat if its kind takes an idempotency key, or if it goes to a name. Every other create may make a
second resource, so the first is searched for: by a read that finds it, or in the list of its kind. If neither decides,
a person must.
"""

from __future__ import annotations

from typing import Final

from holdfast.compare import diff
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadFailure, ReadResult
from holdfast.model.record import dataclass
from holdfast.providers.protocol import ReadFailed, Unchanged
from holdfast.reconcile.check import Checker
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.store.protocol import StateStore

LOOKS: Final = 3  # with growing waits, before a create is sent again: a list may lag behind a write


@dataclass(frozen=True, slots=True)
class Unsure:
    """The outcome of a create is unknown. `candidates` are the ids of resources that it may have made."""

    why: str
    candidates: tuple[str, ...] = ()

    def as_token(self) -> dict[str, Json]:
        """Return it as an operation keeps it."""
        return {"why": self.why, "candidates": list(self.candidates)}


async def look_for(checker: Checker, store: StateStore, item: ResolvedResource) -> ReadResult | Unsure:
    """Search for the resource that a create may have made. Return NotFound only if the search can exclude it."""
    if item.kind.finds:
        reading = await checker.read(item, None)
        assert not isinstance(reading, Unchanged)
        return reading
    if not item.kind.lists:
        return Unsure("this kind can neither be found by its fields nor listed")
    try:
        found = await _candidates(checker, store, item)
    except ReadFailed as error:
        return error.reading if isinstance(error.reading, ReadFailure) else NotFound()
    return Unsure("the list shows similar resources that are not declared", tuple(found)) if found else NotFound()


async def _candidates(checker: Checker, store: StateStore, item: ResolvedResource) -> list[str]:
    """Return the ids of listed things that are as declared, or cannot be read, and are not another resource."""
    address = item.declaration.address
    states = store.all_states(connection=address.connection, kind=address.kind)
    bound = {state.observed.provider_id async for state in states if state.address != address}
    reader = await checker.reader(address.connection)
    return [
        listed.id
        async for listed in reader.list(address.kind)
        if listed.id not in bound and _may_be(item, await checker.parsed(item, listed))
    ]


def _may_be(item: ResolvedResource, reading: ReadResult | Unchanged) -> bool:
    """Return True unless the reading differs from the declaration."""
    if not isinstance(reading, Found):
        return isinstance(reading, ReadFailure)
    tree, _ = item.rules_for(reading.document)
    return all(finding.desired is ABSENT for finding in diff.findings(item.desired, reading.document, tree))
