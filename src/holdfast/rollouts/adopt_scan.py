"""Scan of selected children and of parts that have no record yet, before their origin is decided.

A selected child without a record may already exist because another tool created it. Treating it as a child to create
would overwrite it and stamp it as clean. The scan therefore reads it first, and it is adopted by its stamps.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from holdfast.model.address import Address
from holdfast.model.resource import Declaration, ManagementPolicy
from holdfast.policy import dependency_graph
from holdfast.reconcile.resolve import ResourceSet
from holdfast.rollouts import serialization
from holdfast.rollouts.core import rendering
from holdfast.rollouts.core.templates import Template
from holdfast.rollouts.repository import RolloutRepository
from holdfast.schema.document import raise_all

Look = Callable[[Sequence[Declaration]], Awaitable[None]]  # reads the declared resources and stores the result


async def survey(
    repository: RolloutRepository, templates: Sequence[Template], around: Mapping[Address, Declaration], look: Look
) -> bool:
    """Check resources that have no record and were never written by Holdfast. Return True if there were any."""
    found = [address for template in templates for address in await _unrecorded(repository, template, around)]
    states = await repository.store.states(found) if found else {}
    new = {item for item in found if item not in states or states[item].applied.document is None}
    if not new:
        return False
    wanted = {item: around[item] for item in new}
    for group in await repository.look(templates, around):
        made = rendering.unrecorded(group, around)
        wanted |= {declaration.address: declaration for declaration in made if declaration.address in new}
    await look([replace(declaration, policy=ManagementPolicy.OBSERVED) for declaration in wanted.values()])
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
    known = {record.key async for record in kept}
    return [
        address
        for address, declaration in around.items()
        if template.selects(declaration) and str(address) not in known
    ]


def fleet_of(base: ResourceSet, wanted: Sequence[Declaration], known: Iterable[Address]) -> ResourceSet:
    """Return a resource set of these declarations. Raise InputError for references without a target."""
    graph, errors = dependency_graph.build(wanted, known)
    raise_all(errors)
    return replace(base, declarations={declaration.address: declaration for declaration in wanted}, graph=graph)
