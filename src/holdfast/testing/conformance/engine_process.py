"""One process of Holdfast around a subject: the real engine on a store; another one on the same store is a restart."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, cast

from holdfast.compare import comparators
from holdfast.manifests.secrets import Resolver
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.resource import Declaration, Import
from holdfast.policy import dependency_graph
from holdfast.reconcile.apply import Applier
from holdfast.reconcile.check import Checker, check_resources
from holdfast.reconcile.connections import Connections, WritableConnections
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolve import ResourceResolver, ResourceSet
from holdfast.reconcile.retry import RetryPolicy
from holdfast.reconcile.write import ResourceWriter
from holdfast.store.protocol import Store
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.state import DeclaredState, ResourceState
from holdfast.testing.clock import FakeClock
from holdfast.testing.conformance.call_recorder import Ledger, Life, MortalStore
from holdfast.testing.conformance.provider_under_test import Subject

OPTIONS: Final = {"resyncPeriod": "1h", "onImmutable": "replace"}
LATER_SECONDS: Final = 1000.0  # after which the claims of a dead process have run out
PATIENCE: Final = RetryPolicy(attempts=2)

_KEY: Final = b"conformance"
_seeds = itertools.count(1)  # no two processes draw the same numbers


class Clock(Protocol):
    """A clock that can be moved, and that says how long it was slept on."""

    slept: float

    def now(self) -> float:
        """Return the present."""

    def monotonic(self) -> float:
        """Return seconds since some moment, which never go back."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""

    def advance(self, seconds: float) -> None:
        """Move the clock."""


class RealClock:
    """The machine's clock, for providers whose world takes its time; it can still be moved forward."""

    def __init__(self) -> None:
        self.slept = 0.0
        self._ahead = 0.0

    def now(self) -> float:
        """Return the present."""
        return time.time() + self._ahead

    def monotonic(self) -> float:
        """Return seconds since some moment, which never go back."""
        return time.monotonic() + self._ahead

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        self.slept += seconds
        await asyncio.sleep(seconds)

    def advance(self, seconds: float) -> None:
        """Move the clock."""
        self._ahead += seconds


@dataclass(slots=True)
class Process:
    """The engine, opened anew for every run, as the command line does."""

    subject: Subject
    store: Store = field(default_factory=lambda: cast("Store", SqliteStore.in_memory()))
    clock: Clock = field(default_factory=FakeClock)
    life: Life = field(default_factory=Life)
    environ: Mapping[str, str] = field(default_factory=dict)
    ledger: Ledger = field(init=False)
    _store: Store = field(init=False)
    _seed: int = field(init=False)
    _chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        if self.subject.real_time and isinstance(self.clock, FakeClock):
            self.clock = RealClock()
        self.ledger = Ledger(self.subject.provider, self.life)
        self._store = cast("Store", MortalStore(self.store, self.life))
        self._seed = next(_seeds)
        self._chance = random.Random(self._seed)  # noqa: S311 - names of operations, not secrets

    def restarted(self) -> Process:
        """Return the process that comes after this one died: same store, same world, some time later."""
        self.clock.advance(LATER_SECONDS)
        return Process(self.subject, self.store, self.clock, environ=self.environ)

    def declare(
        self, kind: str, name: str, desired: Mapping[str, Json], import_from: Import | None = None
    ) -> Declaration:
        """Declare a resource of the subject."""
        provider = self.subject.connection.provider
        address = Address(self.subject.connection.name, kind, name)
        version = f"{provider}.holdfast.dev/v1"
        return Declaration(address, provider, version, desired, options=dict(OPTIONS), import_from=import_from)

    async def state(self, declaration: Declaration) -> ResourceState:
        """Return what is remembered of a resource."""
        found = await self.store.state(declaration.address)
        return found or ResourceState(declaration.address, declared=DeclaredState(declaration.provider))

    async def check(self, declarations: Sequence[Declaration], only: Sequence[Address] | None = None) -> RunReport:
        """Look at all of it, or at some, and remember what was seen."""
        connections, providers = self._ways()
        async with Connections(connections, providers, {}, self.clock) as world:
            return await check_resources(self._preparer(world, declarations), self._checker(world), only)

    async def apply(self, declarations: Sequence[Declaration], only: Sequence[Address] | None = None) -> RunReport:
        """Finish what was begun, then make all of it so, or some."""
        connections, providers = self._ways()
        async with WritableConnections(connections, providers, {}, self.clock) as world:
            checker = self._checker(world)
            writer = ResourceWriter(
                self._store,
                world,
                checker,
                self.clock,
                self._chance.random,
                f"process {self._seed}",
                PATIENCE,
            )
            return await Applier(self._store, self._preparer(world, declarations), checker, writer).apply(only)

    def _ways(self) -> tuple[dict[str, Json], dict[str, Json]]:
        connection = self.subject.connection
        return {connection.name: connection}, {connection.provider: self.ledger}

    def _preparer(self, world: Connections, declarations: Sequence[Declaration]) -> ResourceResolver:
        graph, errors = dependency_graph.build(list(declarations))
        if errors:
            raise errors[0]
        fleet = ResourceSet({each.address: each for each in declarations}, graph)
        return ResourceResolver(self._store, world, fleet, _fingerprint, lambda _: Resolver(self.environ))

    def _checker(self, world: Connections) -> Checker:
        return Checker(self._store, world, self.clock, self._chance.random, _fingerprint, PATIENCE)


def _fingerprint(value: Json) -> str:
    return comparators.fingerprint(value, _KEY)
