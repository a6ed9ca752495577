"""The engine, wired to one store, clock and policy. Must not be here: manifests, project files, command lines.

The command line, the Python door, the conformance kit and the tests all build their engine here. The write path is
imported only by the methods that need it, so that a check never loads it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any

from holdfast.compare import comparators
from holdfast.manifests.secrets import Resolver
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration
from holdfast.reconcile.check import Checker
from holdfast.reconcile.clock import Clock, SystemClock
from holdfast.reconcile.connections import Connections
from holdfast.reconcile.policy_evaluation import PolicyRules
from holdfast.reconcile.resolve import ResourceResolver, ResourceSet
from holdfast.reconcile.retry import RetryPolicy

if TYPE_CHECKING:
    from holdfast.reconcile.apply import Applier
    from holdfast.reconcile.connections import WritableConnections
    from holdfast.reconcile.undo import CorrectionUndo
    from holdfast.reconcile.write import ResourceWriter
    from holdfast.store.protocol import Store

SecretsFor = Callable[[Declaration], Resolver]


@dataclass(frozen=True, slots=True)
class Engine:
    """Everything the engine's components share."""

    store: Store
    key: bytes = field(repr=False)  # of the fingerprints of secrets
    clock: Clock = field(default_factory=SystemClock)
    random01: Callable[[], float] = random.random
    owner: str = ""  # of the claims that its writers take; empty: this process
    rules: PolicyRules = field(default_factory=PolicyRules)
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    @property
    def claimant(self) -> str:
        """The owner of the claims that writers take."""
        from holdfast.reconcile import worker_identity

        return self.owner or worker_identity.name()

    def fingerprint(self, value: Json) -> str:
        """Return the keyed fingerprint of a secret."""
        return comparators.fingerprint(value, self.key)

    def resolver(
        self, connections: Connections, resources: ResourceSet, secrets_for: SecretsFor, *, retries: bool = False
    ) -> ResourceResolver:
        """Return the component that resolves references, secrets and settings of declarations."""
        return ResourceResolver(self.store, connections, resources, self.fingerprint, secrets_for, retries)

    def checker(self, connections: Connections) -> Checker:
        """Return the component that reads live state and reaches verdicts."""
        return Checker(
            self.store, connections, self.clock, self.random01, self.fingerprint, self.retry, rules=self.rules
        )

    def applier(self, connections: WritableConnections, resolver: ResourceResolver, **arguments: Any) -> Applier:  # noqa: ANN401 - fields of Applier
        """Return the component that writes declarations to live state."""
        from holdfast.reconcile.apply import Applier

        checker = self.checker(connections)
        return Applier(self.store, resolver, checker, self._writer(connections, checker), **arguments)

    def undoer(self, connections: WritableConnections, checker: Checker) -> CorrectionUndo:
        """Return the component that undoes corrections."""
        from holdfast.reconcile.undo import CorrectionUndo

        return CorrectionUndo(self._writer(connections, checker))

    def _writer(self, connections: WritableConnections, checker: Checker) -> ResourceWriter:
        from holdfast.reconcile.write import ResourceWriter

        return ResourceWriter(self.store, connections, checker, self.clock, self.random01, self.claimant, self.retry)
