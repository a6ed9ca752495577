"""The resources that --target and --selector choose, among declared ones and among those of the store."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final

from holdfast.app.options import ProjectOptions
from holdfast.app.sources.declarations import StoredDeclarations
from holdfast.errors import InputError
from holdfast.model.address import Address
from holdfast.model.record import dataclass
from holdfast.policy import selectors
from holdfast.policy.selectors import LabelSelector, Targets
from holdfast.reconcile.resolve import ResourceSet
from holdfast.store.protocol import StateStore
from holdfast.store.state import ResourceState

_FEW: Final = 200  # that are looked up by themselves, rather than among all
_GLOB = re.compile(r"[*?\[]")


def with_needed(resources: ResourceSet, options: ProjectOptions, *, strict: bool = True) -> list[Address]:
    """Return the selected addresses and everything that they need.

    A target that matches nothing is a mistake, unless the set is only part of the declarations.
    """
    if not options.targets and not options.selector:
        return list(resources.graph.addresses)
    needed = resources.graph.needed_by(selected(resources, options, strict=strict))
    if isinstance(resources.declarations, StoredDeclarations) and len(needed) < _FEW:
        return sorted((address for address in needed if address in resources.declarations), key=str)
    return [address for address in resources.graph.addresses if address in needed]


def selected(resources: ResourceSet, options: ProjectOptions, *, strict: bool = True) -> list[Address]:
    """Return the addresses that --target and --selector choose."""
    targets = selectors.parse_targets(options.targets)
    declared = resources.declarations
    candidates = _candidates(resources, targets)
    mistakes = selectors.unmatched(targets, candidates)
    if mistakes and strict:  # the message names what is near among all
        raise selectors.unmatched(targets, resources.graph.addresses)[0]
    labels = selectors.parse_labels(options.selector or "")
    chosen = [address for address in candidates if targets.matches(address)]
    if not labels.requirements:
        return chosen
    if isinstance(declared, StoredDeclarations):
        of_all = len(chosen) == len(declared)
        labelled = {entry.address: entry.head.labels for entry in declared.heads(None if of_all else chosen)}
        return [address for address in chosen if labels.matches(labelled[address])]
    return [address for address in chosen if labels.matches(declared[address].labels)]


def _candidates(resources: ResourceSet, targets: Targets) -> Sequence[Address]:
    """Return all addresses, or those with the names of the targets where an index finds them by name."""
    declared, every = resources.declarations, (*targets.included, *targets.excluded)
    names = [target.parts[-1] for target in every]
    if not isinstance(declared, StoredDeclarations) or not targets.included or any(map(_GLOB.search, names)):
        return resources.graph.addresses
    return sorted(declared.named(names), key=str)


def parse_addresses(texts: Sequence[str]) -> list[Address]:
    """Return the addresses that texts name; raise InputError for one that is none."""
    try:
        return [Address.parse(text) for text in texts]
    except ValueError as error:
        raise InputError(str(error)) from None


@dataclass(frozen=True, slots=True)
class StoreSelection:
    """A selection among the resources of the store; labels are those of the last check."""

    targets: Targets
    labels: LabelSelector
    is_all: bool = True  # nothing was selected in particular
    states: Mapping[Address, ResourceState] = field(default_factory=dict)  # of the whole store, where a part is chosen

    def covers(self, address: Address) -> bool:
        """Return True if a resource is selected. A resource without a record has no labels."""
        if self.is_all:
            return True
        state = self.states.get(address)
        return self.targets.matches(address) and self.labels.matches(state.declared.labels if state is not None else {})

    def covers_text(self, subject: str) -> bool:
        """Return True if the subject of an event is selected. Events about no resource belong to all only."""
        if self.is_all:
            return True
        try:
            return self.covers(Address.parse(subject))
        except ValueError:
            return False

    def chosen(self) -> list[ResourceState]:
        """Return the records of the selected resources, in order of address."""
        return [state for address, state in self.states.items() if self.covers(address)]

    def require_matches(self, more: Iterable[Address] = ()) -> None:
        """Raise InputError for a target that matches no resource of the store and none of `more`."""
        mistakes = selectors.unmatched(self.targets, [*self.states, *more])
        if mistakes:
            raise mistakes[0]


async def scope_of(store: StateStore, options: ProjectOptions) -> StoreSelection:
    """Return the selection of the options. The store is read only if it is a part."""
    targets = selectors.parse_targets(options.targets)
    labels = selectors.parse_labels(options.selector or "")
    if not options.targets and not options.selector:
        return StoreSelection(targets, labels)
    states = {state.address: state async for state in store.all_states()}
    return StoreSelection(targets, labels, is_all=False, states=states)
