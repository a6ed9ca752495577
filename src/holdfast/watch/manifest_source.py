"""Where a watch gets declarations from, a few at a time. Must not be here: any particular source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from holdfast.manifests.loader import Manifests
from holdfast.model.address import Address
from holdfast.store.protocol import StateStore
from holdfast.store.state import ResourceState


class DeclarationSource(Protocol):
    """Declarations with a version. Every answer is an immutable set."""

    def version(self) -> str:
        """Return a text that changes whenever a declaration may have changed; must be cheap."""

    def read(self) -> Manifests:
        """Return all declarations; raise InputErrors with every mistake in them."""

    def read_declaring(self, states: Iterable[ResourceState]) -> Manifests:
        """Return the declarations of some resources, as far as they are still declared where they were."""


async def states_with_needs(store: StateStore, addresses: Iterable[Address]) -> dict[Address, ResourceState]:
    """Return the records of some resources and of everything that they needed at their last check."""
    states: dict[Address, ResourceState] = {}
    missing = set(addresses)
    while missing:
        batch = await store.states(sorted(missing, key=str))
        states.update(batch)
        needed = {Address.parse(text) for state in batch.values() for text in state.declared.depends_on}
        missing = needed - states.keys() - missing
    return states
