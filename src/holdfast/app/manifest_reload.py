"""Reading part of the manifests again: those of some resources, and of everything that these refer to."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from holdfast.app import template_groups
from holdfast.app.project import Options, Session, fleet_of
from holdfast.manifests import file_discovery, loader
from holdfast.manifests import project as projects
from holdfast.manifests.loader import Manifests
from holdfast.model.address import Address
from holdfast.policy.strategies import Strategy
from holdfast.reconcile.resolve import ResourceSet
from holdfast.rollouts.core.templates import Template
from holdfast.store.protocol import Store
from holdfast.store.state import ResourceState

_TEMPLATE: Final = re.compile(rb"""kind["']?\s*:\s*["']?Template\b|\btemplate["']?\s*:""")
_STRATEGY: Final = re.compile(rb"""kind["']?\s*:\s*["']?Strategy\b""")


async def fleet_for(
    session: Session, options: Options, addresses: Iterable[Address], templates: Sequence[Template]
) -> ResourceSet:
    """Read the files that declare some resources and what these refer to, near and far; nothing else is in the fleet.

    What else stands in those files is not asked about: whatever it refers to may be in files that are not read.
    """
    states = await _with_needs(session.store, addresses)
    files = {state.declared.source.rpartition(":")[0] for state in states.values() if state.declared.source}
    there = sorted(filter(os.path.exists, files))
    project = session.project
    manifests = loader.read(there, project, whole=False) if there else Manifests(project)
    manifests = await template_groups.with_chosen(session.store, manifests, states, templates)
    wanted = tuple(each for each in manifests.declarations if each.address in states)
    strategies = tuple(session.fleet.strategies)
    return fleet_of(replace(manifests, declarations=wanted, strategies=strategies), states, options)


async def _with_needs(store: Store, addresses: Iterable[Address]) -> dict[Address, ResourceState]:
    """Return what is known of some resources and of all that they need, as it was when they were last looked at."""
    out: dict[Address, ResourceState] = {}
    missing = set(addresses)
    while missing:
        found = await store.states(sorted(missing, key=str))
        out.update(found)
        needed = {Address.parse(text) for state in found.values() for text in state.declared.depends_on}
        missing = needed - out.keys() - missing
    return out


def strategies_in(files: Sequence[str], project: projects.Project) -> tuple[Strategy, ...]:
    """Return the strategies of the manifests, reading no more of these than it takes."""
    having = _having(files, project, _STRATEGY)
    return loader.read(having, project).strategies if having else ()


def templates_in(files: Sequence[str], project: projects.Project) -> tuple[Template, ...]:
    """Return the templates of the manifests, reading only files that have any."""
    having = _having(files, project, _TEMPLATE)
    return loader.read(having, project, whole=False).templates if having else ()


def _having(files: Sequence[str], project: projects.Project, pattern: re.Pattern[bytes]) -> list[str]:
    found, _ = file_discovery.find(files, project.profiles)
    return [source.name for source in found if pattern.search(file_discovery.load(source, None))]
