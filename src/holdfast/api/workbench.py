"""What one call works with: the store in `.holdfast/`, the way to the account, and the engine put together on both."""

from __future__ import annotations

import itertools
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from holdfast.api.account_connection import Chosen
from holdfast.compare import comparators
from holdfast.manifests import user_profiles, waivers
from holdfast.manifests.project import Project
from holdfast.manifests.secrets import Resolver
from holdfast.manifests.validation import raise_all
from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.json import Json
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
from holdfast.reconcile.write import ResourceWriter
from holdfast.store import audit_head_file, fingerprint_key
from holdfast.store.protocol import Store
from holdfast.store.sqlite.store import SqliteStore

_calls = itertools.count(1)


@dataclass(slots=True)
class Workbench:
    """Everything that looks and acts."""

    project: Project
    store: Store
    chosen: Chosen
    key: bytes = field(repr=False)
    clock: Clock
    patience: RetryPolicy
    environ: Mapping[str, str] = field(repr=False)
    random01: Callable[[], float] = random.random
    # One for each call: two calls of one process are two workers, and only one of them may write a resource.
    owner: str = field(default_factory=lambda: worker_identity.name(str(next(_calls))))

    def fingerprint(self, value: Json) -> str:
        """Return the keyed fingerprint of a secret."""
        return comparators.fingerprint(value, self.key)

    def world(self) -> Connections:
        """Return the account for looking at."""
        return Connections(**self._surroundings())

    def writable_world(self) -> WritableConnections:
        """Return the account for changing."""
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
        """Return what makes declarations ready; raise InputErrors if they do not fit together."""
        graph, errors = dependency_graph.build(declarations, known)
        raise_all(errors)
        fleet = ResourceSet(
            {each.address: each for each in declarations},
            graph,
            outer=[settings.of_environment(self.environ), self.project.defaults],
            profiles=user_profiles.load(self.project),
        )
        return ResourceResolver(self.store, world, fleet, self.fingerprint, lambda _: Resolver(self.environ))

    def checker(self, world: Connections) -> Checker:
        """Return what looks and concludes."""
        waived = waivers.load(self.project.waivers, self.clock.now())
        rules = PolicyRules(self.project.corrections, waived, self.project.assessment.rules)
        return Checker(self.store, world, self.clock, self.random01, self.fingerprint, self.patience, rules)

    def applier(self, world: WritableConnections, preparer: ResourceResolver) -> Applier:
        """Return what brings the account to what is declared."""
        checker = self.checker(world)
        writer = ResourceWriter(self.store, world, checker, self.clock, self.random01, self.owner, self.patience)
        return Applier(self.store, preparer, checker, writer, reconsider=_tried_again)


def _tried_again(checked: CheckResult) -> CheckResult:
    """Try again what was refused for good: somebody asks for it, and may have put right what was in the way."""
    return finding_actions.recreated(checked) if checked.decision.action is Action.BLOCK else checked


@asynccontextmanager
async def memory(project: Project) -> AsyncIterator[Store]:
    """Open the store of a project."""
    store = await SqliteStore.open(project.store)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def opened(
    project: Project, chosen: Chosen, clock: Clock, patience: RetryPolicy, environ: Mapping[str, str]
) -> AsyncIterator[Workbench]:
    """Open the store of a project and put everything around it."""
    async with memory(project) as store:
        key = fingerprint_key.key_in(project.store.parent)
        yield Workbench(project, store, chosen, key, clock, patience, environ)
        await audit_head_file.keep(store, project.store, key)
