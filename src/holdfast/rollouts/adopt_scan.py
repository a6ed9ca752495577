"""Surveying: looking at what a selector finds, and at parts, before anybody decides what these were made from.

A selected child that we have no record of may be there already, made by somebody else; to take it for one of ours that
is to be made would write over it, and stamp it as clean. So it is looked at first, and adopted by what it bears.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from holdfast.manifests.validation import raise_all
from holdfast.model.address import Address
from holdfast.model.resource import Declaration, ManagementPolicy
from holdfast.policy import dependency_graph
from holdfast.reconcile.resolve import ResourceSet
from holdfast.rollouts import child_declarations, serialization
from holdfast.rollouts.core.templates import Template
from holdfast.rollouts.repository import RolloutRepository

Look = Callable[[Sequence[Declaration]], Awaitable[None]]  # looks at what is declared, and has the store remember it


async def survey(
    repository: RolloutRepository, templates: Sequence[Template], around: Mapping[Address, Declaration], look: Look
) -> bool:
    """Look at what was never written by us and has no record; return whether there was anything."""
    found = [address for each in templates for address in await _unrecorded(repository, each, around)]
    states = await repository.store.states(found) if found else {}
    new = {each for each in found if each not in states or states[each].applied.document is None}
    if not new:
        return False
    wanted = {each: around[each] for each in new}
    for group in await repository.look(templates, around):
        made = child_declarations.unrecorded(group, around)
        wanted |= {each.address: each for each in made if each.address in new}
    await look([replace(each, policy=ManagementPolicy.OBSERVED) for each in wanted.values()])
    return True


async def _unrecorded(
    repository: RolloutRepository, template: Template, around: Mapping[Address, Declaration]
) -> list[Address]:
    if template.address is not None:
        is_known = template.address not in around or await repository.owner(template) is not None
        return [] if is_known else [template.address]
    if template.selector is None:
        return []
    kept = repository.store.records(serialization.CHILDREN, owner=template.name)
    known = {each.key async for each in kept}
    return [address for address, each in around.items() if template.selects(each) and str(address) not in known]


def fleet_of(base: ResourceSet, wanted: Sequence[Declaration], known: Iterable[Address]) -> ResourceSet:
    """Return a fleet of these declarations; raise InputError for references that lead nowhere."""
    graph, errors = dependency_graph.build(wanted, known)
    raise_all(errors)
    return replace(base, declarations={each.address: each for each in wanted}, graph=graph)
