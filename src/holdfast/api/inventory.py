"""The tracked resources: records of the store, found by the names that people use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from holdfast.api import object_declarations
from holdfast.errors import InputError
from holdfast.model.address import Address
from holdfast.model.record import dataclass
from holdfast.model.verdict import Status
from holdfast.schema import did_you_mean
from holdfast.store.state import ResourceState


@dataclass(frozen=True, slots=True)
class Tracked:
    """One resource that this store tracks."""

    address: Address
    id: str | None
    status: Status | None
    stamp: str | None = None  # the hash of the configuration that was last given to deploy
    labels: Mapping[str, str] = field(default_factory=dict)


def tracked(state: ResourceState) -> Tracked:
    """Return the public description of a stored resource."""
    return Tracked(
        state.address,
        state.observed.provider_id,
        state.observed.status,
        state.declared.labels.get(object_declarations.STAMP),
        state.declared.labels,
    )


def named(name: str, states: Sequence[ResourceState]) -> ResourceState:
    """Return the only resource with a name or an address. Raise InputError if there is none, or several."""
    exact = [state for state in states if str(state.address) == name]
    found = exact or [state for state in states if name in (state.address.name, state.address.name.partition("@")[0])]
    if len(found) == 1:
        return found[0]
    if not found:
        names = {state.address.name for state in states}
        raise InputError(f"nothing called {name!r} is tracked here{did_you_mean.hint(name, sorted(names))}")
    listed = ", ".join(str(state.address) for state in found[:4])
    raise InputError(f"{name!r} may be any of {len(found)}: {listed}; give the address")
