"""The components of one call: the store in `.holdfast/`, the connection, and the engine wired to both."""

from __future__ import annotations

import itertools
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import field
from typing import Any

import holdfast.store
from holdfast.api.account_connection import Chosen
from holdfast.app.wiring import Engine
from holdfast.manifests import user_profiles, waivers
from holdfast.manifests.project import ProjectFile
from holdfast.manifests.secrets import Resolver
from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration
from holdfast.policy import dependency_graph, settings
from holdfast.providers import registry
from holdfast.reconcile import finding_actions, worker_identity
from holdfast.reconcile.apply import Applier
from holdfast.reconcile.check import Checker, CheckResult
from holdfast.reconcile.clock import Clock
from holdfast.reconcile.connections import Connections, WritableConnections
from holdfast.reconcile.policy_evaluation import PolicyRules
from holdfast.reconcile.resolve import ResourceResolver, ResourceSet
from holdfast.reconcile.retry import RetryPolicy
from holdfast.schema.document import raise_all
from holdfast.store import audit_head_file, fingerprint_key
from holdfast.store.protocol import Store

_calls = itertools.count(1)


@dataclass(slots=True)
class Workbench:
    """Engine components wired to one project and connection."""

    project: ProjectFile
    store: Store
    chosen: Chosen
    key: bytes = field(repr=False)
    clock: Clock
    patience: RetryPolicy
    environ: Mapping[str, str] = field(repr=False)
    random01: Callable[[], float] = random.random
    # One owner per call: two calls of one process are two workers, and only one of them may write a resource.
    owner: str = field(default_factory=lambda: worker_identity.name(str(next(_calls))))

    @property
    def engine(self) -> Engine:
        """The engine on the store of the project."""
        waived = waivers.load(self.project.waivers, self.clock.now())
        assessment = self.project.assessment.rules if self.project.assessment is not None else None
        rules = PolicyRules(self.project.corrections, waived, assessment)
        return Engine(self.store, self.key, self.clock, self.random01, self.owner, rules, self.patience)

    def world(self) -> Connections:
        """Return the connection for reading only."""
        return Connections(**self._surroundings())

    def writable_world(self) -> WritableConnections:
        """Return the connection for reading and writing."""
        return WritableConnections(**self._surroundings())

    def _surroundings(self) -> dict[str, Any]:
        connection = self.chosen.connection
        return {
            "connections": {connection.name: connection},
            "providers": {connection.provider: registry.get(connection.provider)},
            "limits": {connection.name: self.chosen.limits},
            "clock": self.clock,
        }

    def preparer(
        self, world: Connections, declarations: Sequence[Declaration], known: Sequence[Address] = ()
    ) -> ResourceResolver:
        """Return the resolver of declarations. Raise InputErrors if their references are invalid."""
        graph, errors = dependency_graph.build(declarations, known)
        raise_all(errors)
        fleet = ResourceSet(
            {declaration.address: declaration for declaration in declarations},
            graph,
            outer=[settings.of_environment(self.environ), self.project.defaults],
            profiles=user_profiles.load(self.project),
        )
        return self.engine.resolver(world, fleet, lambda _: Resolver(self.environ))

    def checker(self, world: Connections) -> Checker:
        """Return the component that reads live state and reaches verdicts."""
        return self.engine.checker(world)

    def applier(self, world: WritableConnections, preparer: ResourceResolver) -> Applier:
        """Return the component that writes declarations to live state."""
        return self.engine.applier(world, preparer, reconsider=_tried_again)


def _tried_again(checked: CheckResult) -> CheckResult:
    """Return a blocked decision as a retry, because the caller asks for it and may have fixed the cause."""
    return finding_actions.recreated(checked) if checked.decision.action is Action.BLOCK else checked


@asynccontextmanager
async def memory(project: ProjectFile) -> AsyncIterator[Store]:
    """Open the store of a project."""
    store = await holdfast.store.open(project.store)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def opened(
    project: ProjectFile, chosen: Chosen, clock: Clock, patience: RetryPolicy, environ: Mapping[str, str]
) -> AsyncIterator[Workbench]:
    """Open the store of a project and yield the components wired to it."""
    async with memory(project) as store:
        key = fingerprint_key.key_in(project.store.parent)
        yield Workbench(project, store, chosen, key, clock, patience, environ)
        await audit_head_file.keep(store, project.store, key)
