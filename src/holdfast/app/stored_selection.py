"""Which of the resources in the store a command is about: what --target and --selector leave of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from holdfast.app.project import Options
from holdfast.model.address import Address
from holdfast.policy import selectors
from holdfast.policy.selectors import LabelSelector, Targets
from holdfast.store.protocol import Store
from holdfast.store.state import ResourceState


@dataclass(frozen=True, slots=True)
class Scope:
    """A choice among the resources of the store; labels are those of the last check."""

    targets: Targets
    labels: LabelSelector
    is_all: bool = True  # nothing was asked for in particular
    states: Mapping[Address, ResourceState] = field(default_factory=dict)  # of the whole store, where a choice was made

    def covers(self, address: Address) -> bool:
        """Return True if a resource is asked for; one that the store has no record of bears no labels."""
        if self.is_all:
            return True
        state = self.states.get(address)
        return self.targets.matches(address) and self.labels.matches(state.declared.labels if state is not None else {})

    def covers_text(self, subject: str) -> bool:
        """Return True if the subject of an event is asked for; events about no resource belong to the whole only."""
        if self.is_all:
            return True
        try:
            return self.covers(Address.parse(subject))
        except ValueError:
            return False

    def chosen(self) -> list[ResourceState]:
        """Return the records of what is asked for, in order of address."""
        return [state for address, state in self.states.items() if self.covers(address)]

    def insist(self, more: Iterable[Address] = ()) -> None:
        """Raise InputError for a target that matches no resource; `more` are known beside those of the store."""
        mistaken = selectors.unmatched(self.targets, [*self.states, *more])
        if mistaken:
            raise mistaken[0]


async def scope_of(store: Store, options: Options) -> Scope:
    """Read the choice that a command was given; nothing is read from the store where it is everything."""
    targets = selectors.parse_targets(options.targets)
    labels = selectors.parse_labels(options.selector or "")
    if not options.targets and not options.selector:
        return Scope(targets, labels)
    states = {state.address: state async for state in store.all_states()}
    return Scope(targets, labels, is_all=False, states=states)
