"""Templates of a project: their children among its declarations, and their rollouts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast.manifests.loader import Manifests
from holdfast.model.address import Address
from holdfast.model.resource import Declaration
from holdfast.reconcile.action_result import ActionOutcome
from holdfast.reconcile.apply import Applier
from holdfast.reconcile.clock import Clock, SystemClock
from holdfast.reconcile.connections import Connections, WritableConnections
from holdfast.reconcile.fleet_check import check_resources
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolve import ResourceSet
from holdfast.rollouts import adopt_scan, concurrency
from holdfast.rollouts.controller import RolloutController, RolloutResult
from holdfast.rollouts.core import rendering
from holdfast.rollouts.core.template_groups import TemplateGroup
from holdfast.rollouts.core.templates import Template
from holdfast.rollouts.repository import RolloutRepository
from holdfast.store.protocol import Store

if TYPE_CHECKING:
    from holdfast.app.project import Project


async def look(store: Store, clock: Clock, manifests: Manifests) -> list[TemplateGroup]:
    """Return the template groups as applying would settle them; nothing is written."""
    if not manifests.templates:
        return []
    around = {declaration.address: declaration for declaration in manifests.declarations}
    return await RolloutRepository(store, clock).look(manifests.templates, around)


def with_children(manifests: Manifests, groups: Iterable[TemplateGroup]) -> Manifests:
    """Return the manifests with the children of templates. Selected children are rendered by their templates."""
    declared = {declaration.address: declaration for declaration in manifests.declarations}
    by_hand = dict(declared)
    for group in groups:
        declared |= {declaration.address: declaration for declaration in rendering.declarations(group, by_hand)}
    return replace(manifests, declarations=tuple(declared[address] for address in sorted(declared, key=str)))


async def with_chosen(
    store: Store, manifests: Manifests, addresses: Iterable[Address], templates: Sequence[Template]
) -> Manifests:
    """Return the manifests with those of the addresses that are children of templates."""
    if not templates:
        return manifests
    return with_children(manifests, await RolloutRepository(store, SystemClock()).some(templates, addresses))


def manual_declarations(project: Project) -> dict[Address, Declaration]:
    """Return the declarations that no template makes."""
    return {declaration.address: declaration for declaration in project.manual}


def roller(
    project: Project,
    connections: WritableConnections,
    stop: asyncio.Event,
    progress: Callable[[RunReport], None] | None = None,
) -> RolloutController:
    """Return the controller of the rollouts of a project."""

    def applier(resources: ResourceSet) -> Applier:
        return replace(project, resources=resources).applier(connections, stop=stop)

    return RolloutController(
        RolloutRepository(project.store, project.clock),
        project.templates,
        manual_declarations(project),
        project.resources,
        applier,
        [*project.resources.declarations],
        stop,
        progress,
        project.config.rollouts_at_once,
    )


async def concurrency_note(project: Project) -> str:
    """Return a note about the holders of the shared concurrency budget if it is exhausted, else an empty string."""
    at_once = project.config.rollouts_at_once
    if at_once is None:
        return ""
    budget = await concurrency.read(project.store)
    slots = {group.template.name: concurrency.slots(group) for group in project.groups}
    allowed = budget.allowed(at_once, slots)
    return "" if budget.working < allowed else budget.text(allowed)


async def survey(project: Project, connections: Connections) -> Project:
    """Check the resources that templates select and the store does not know. Return the project with the results."""

    async def check(declarations: Sequence[Declaration]) -> None:
        resources = adopt_scan.fleet_of(project.resources, declarations, project.resources.graph.addresses)
        await check_resources(project.resolver(connections, resources), project.checker(connections))

    repository, manual = RolloutRepository(project.store, project.clock), manual_declarations(project)
    if not await adopt_scan.survey(repository, project.templates, manual, check):
        return project
    return _with_groups(project, await repository.look(project.templates, manual))


async def settle(project: Project, connections: WritableConnections) -> Project:
    """Record the templates, so that the children to apply are those of the store; return the project with them."""
    return _with_groups(project, await roller(project, connections, asyncio.Event()).settle())


def _with_groups(project: Project, groups: Sequence[TemplateGroup]) -> Project:
    """Return a project with template groups that were read or recorded since it was opened."""
    manifests = Manifests(project.config, project.manual, templates=project.templates)
    declared = with_children(manifests, groups).declarations
    known = [*project.resources.graph.addresses, *project.known]
    resources = adopt_scan.fleet_of(project.resources, declared, known)
    selected = tuple(address for address in project.selected if address in resources.declarations)
    return replace(project, groups=tuple(groups), resources=resources, selected=selected)


async def roll(
    project: Project,
    connections: WritableConnections,
    stop: asyncio.Event,
    progress: Callable[[RunReport], None] | None = None,
    only: frozenset[str] | None = None,
) -> RolloutResult:
    """Advance rollouts as far as possible without waiting. With `only`, no others than these templates."""
    if not project.templates:
        return RolloutResult()
    names = {group.template.name for group in project.selected_groups()}
    if only is not None:
        names &= only
    return await roller(project, connections, stop, progress).run(names)


async def forget(project: Project, report: RunReport) -> None:
    """Drop the records of deleted children, and of templates that have none left."""
    deleted = {acted.checked.address for acted in report.acted if acted.result is ActionOutcome.DONE}
    await RolloutRepository(project.store, project.clock).forget(project.groups, deleted, project.templates)


def merged(report: RunReport, rolled: RolloutResult) -> RunReport:
    """Return the report of a run with the writes of its rollouts."""
    acted = [acted for part in rolled.reports for acted in part.acted]
    not_reached = [address for part in rolled.reports for address in part.not_reached]
    return replace(
        report,
        acted=[*report.acted, *acted],
        not_reached=[*report.not_reached, *not_reached],
        groups=rolled.groups or report.groups,
    )
