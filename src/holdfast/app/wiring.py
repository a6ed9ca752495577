"""The engine, wired to one store, clock and policy. Must not be here: manifests, project files, command lines.

The command line, the Python door, the conformance kit and the tests all build their engine here. The write path is
imported only by the methods that need it, so that a check never loads it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdfast.compare import comparators
from holdfast.manifests.secrets import Resolver
from holdfast.model.json import Json
from holdfast.model.resource import Declaration
from holdfast.reconcile import worker_identity
from holdfast.reconcile.check import Checker
from holdfast.reconcile.clock import Clock, SystemClock
from holdfast.reconcile.connections import World
from holdfast.reconcile.policy_evaluation import Rules
from holdfast.reconcile.resolve import Fleet, Preparer
from holdfast.reconcile.retry import Patience

if TYPE_CHECKING:
    from holdfast.reconcile.apply import Applier
    from holdfast.reconcile.connections import WritableWorld
    from holdfast.reconcile.undo import Undoer
    from holdfast.store.protocol import Store

SecretsFor = Callable[[Declaration], Resolver]


@dataclass(frozen=True, slots=True)
class Engine:
    """Everything the engine's components share."""

    store: Store
    key: bytes = field(repr=False)  # of the fingerprints of secrets
    clock: Clock = field(default_factory=SystemClock)
    random01: Callable[[], float] = random.random
    owner: str = field(default_factory=worker_identity.name)
    rules: Rules = field(default_factory=Rules)
    retry: Patience = field(default_factory=Patience)

    def fingerprint(self, value: Json) -> str:
        """Return the keyed fingerprint of a secret."""
        return comparators.fingerprint(value, self.key)

    def resolver(
        self, connections: World, resources: Fleet, secrets_for: SecretsFor, *, retries: bool = False
    ) -> Preparer:
        """Return the component that resolves references, secrets and settings of declarations."""
        return Preparer(self.store, connections, resources, self.fingerprint, secrets_for, retries)

    def checker(self, connections: World) -> Checker:
        """Return the component that reads live state and reaches verdicts."""
        return Checker(
            self.store, connections, self.clock, self.random01, self.fingerprint, self.retry, rules=self.rules
        )

    def applier(self, connections: WritableWorld, resolver: Preparer, **arguments: Any) -> Applier:  # noqa: ANN401 - fields of Applier
        """Return the component that writes declarations to live state."""
        from holdfast.reconcile.apply import Applier
        from holdfast.reconcile.write import Actor

        checker = self.checker(connections)
        writer = Actor(self.store, connections, checker, self.clock, self.random01, self.owner, self.retry)
        undoer = self.undoer(connections, checker)
        return Applier(self.store, resolver, checker, writer, undoer=undoer, **arguments)

    def undoer(self, connections: WritableWorld, checker: Checker) -> Undoer:
        """Return the component that undoes corrections."""
        from holdfast.reconcile.send import Sender
        from holdfast.reconcile.undo import Undoer

        sender = Sender(connections, self.clock, self.random01, self.retry)
        return Undoer(self.store, connections, checker, self.clock, self.random01, self.owner, sender)
