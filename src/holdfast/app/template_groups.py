"""Templates in a session: their children among what is declared, and what rolls them."""

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
from holdfast.reconcile.check import check_resources
from holdfast.reconcile.clock import Clock, SystemClock
from holdfast.reconcile.connections import Connections, WritableConnections
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
    from holdfast.app.project import Session


async def look(store: Store, clock: Clock, manifests: Manifests) -> list[TemplateGroup]:
    """Return the template groups as applying would settle them; nothing is written."""
    if not manifests.templates:
        return []
    around = {each.address: each for each in manifests.declarations}
    return await RolloutRepository(store, clock).look(manifests.templates, around)


def with_children(manifests: Manifests, groups: Iterable[TemplateGroup]) -> Manifests:
    """Return what is declared, with the children of templates; selected ones as their templates make them."""
    declared = {each.address: each for each in manifests.declarations}
    by_hand = dict(declared)
    for group in groups:
        declared |= {each.address: each for each in rendering.declarations(group, by_hand)}
    return replace(manifests, declarations=tuple(declared[address] for address in sorted(declared, key=str)))


async def with_chosen(
    store: Store, manifests: Manifests, addresses: Iterable[Address], templates: Sequence[Template]
) -> Manifests:
    """Return part of what is declared, with those of the addresses that are children of templates."""
    if not templates:
        return manifests
    return with_children(manifests, await RolloutRepository(store, SystemClock()).some(templates, addresses))


def around(session: Session) -> dict[Address, Declaration]:
    """Return what is declared by hand."""
    return {each.address: each for each in session.by_hand}


def roller(
    session: Session,
    world: WritableConnections,
    stop: asyncio.Event,
    progress: Callable[[RunReport], None] | None = None,
) -> RolloutController:
    """Return what rolls the templates of a session."""

    def applier(fleet: ResourceSet) -> Applier:
        made = session.applier(world, stop=stop)
        made.preparer.fleet = fleet
        return made

    repository = RolloutRepository(session.store, session.clock)
    known = [*session.fleet.declarations]
    at_once = session.project.rollouts_at_once
    return RolloutController(
        repository, session.templates, around(session), session.fleet, applier, known, stop, progress, at_once
    )


async def turns(session: Session) -> str:
    """Return who has the turns, where there is a limit over all templates and none is left; else nothing."""
    at_once = session.project.rollouts_at_once
    if at_once is None:
        return ""
    found = await concurrency.read(session.store)
    allowed = found.allowed(at_once, {each.template.name: concurrency.slots(each) for each in session.groups})
    return "" if found.working < allowed else found.text(allowed)


def in_scope(session: Session) -> list[TemplateGroup]:
    """Return the template groups of which something was chosen; one that has no children yet is always meant."""
    wanted = set(session.chosen)
    return [each for each in session.groups if not each.children or wanted & each.children.keys()]


async def survey(session: Session, world: Connections) -> None:
    """Look at what templates select and nobody has a record of, so that what is shown of it is what it is."""
    if not session.templates:
        return

    async def look_at(wanted: Sequence[Declaration]) -> None:
        preparer = session.preparer(world)
        preparer.fleet = adopt_scan.fleet_of(session.fleet, wanted, session.fleet.graph.addresses)
        await check_resources(preparer, session.checker(world))

    repository = RolloutRepository(session.store, session.clock)
    if await adopt_scan.survey(repository, session.templates, around(session), look_at):
        _refresh(session, await repository.look(session.templates, around(session)))


async def settle(session: Session, world: WritableConnections) -> None:
    """Write down what is declared of templates, so that the children to be applied are those that are remembered."""
    if session.templates:
        _refresh(session, await roller(session, world, asyncio.Event()).settle())


def _refresh(session: Session, found: list[TemplateGroup]) -> None:
    """Have a session go by template groups that were looked at, or settled, since it was opened."""
    manifests = Manifests(session.project, session.by_hand, templates=session.templates)
    declared = with_children(manifests, found).declarations
    known = [*session.fleet.graph.addresses, *session.known]
    session.groups = found
    session.fleet = adopt_scan.fleet_of(session.fleet, declared, known)
    session.chosen = [each for each in session.chosen if each in session.fleet.declarations]


async def roll(
    session: Session,
    world: WritableConnections,
    stop: asyncio.Event,
    progress: Callable[[RunReport], None] | None = None,
    only: frozenset[str] | None = None,
) -> RolloutResult:
    """Roll as far as it goes without waiting; with `only` these templates, whatever else is in scope."""
    if not session.templates:
        return RolloutResult()
    names = {each.template.name for each in in_scope(session)}
    if only is not None:
        names &= only
    return await roller(session, world, stop, progress).run(names)


async def forget(session: Session, report: RunReport) -> None:
    """Forget the children that were deleted, and a template with its rollouts once it has none."""
    done = {each.checked.address for each in report.acted if each.result is ActionOutcome.DONE}
    await RolloutRepository(session.store, session.clock).forget(session.groups, done, session.templates)


def merged(report: RunReport, rolled: RolloutResult) -> RunReport:
    """Return a run with what its rollouts did."""
    acted = [each for one in rolled.reports for each in one.acted]
    reached: Sequence[Address] = [each for one in rolled.reports for each in one.not_reached]
    return replace(
        report,
        acted=[*report.acted, *acted],
        not_reached=[*report.not_reached, *reached],
        groups=rolled.groups or report.groups,
    )
