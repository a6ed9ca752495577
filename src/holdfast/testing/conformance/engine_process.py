"""One process of Holdfast around a provider under test: the real engine on a store. A second one is a restart."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, cast

from holdfast.app.wiring import Engine
from holdfast.manifests.secrets import Resolver
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.resource import Declaration, Import
from holdfast.policy import dependency_graph
from holdfast.reconcile.connections import Connections, WritableConnections
from holdfast.reconcile.fleet_check import check_resources
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolve import ResourceResolver, ResourceSet
from holdfast.reconcile.retry import RetryPolicy
from holdfast.store.protocol import Store
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.state import DeclaredState, ResourceState
from holdfast.testing.clock import FakeClock
from holdfast.testing.conformance.call_recorder import CallRecorder, CrashingStore, Lifetime
from holdfast.testing.conformance.provider_under_test import ProviderUnderTest

OPTIONS: Final = {"resyncPeriod": "1h", "onImmutable": "replace"}
LATER_SECONDS: Final = 1000.0  # after which the claims of a dead process have expired
PATIENCE: Final = RetryPolicy(attempts=2)

_KEY: Final = b"conformance"
_seeds = itertools.count(1)  # no two processes draw the same numbers


class SteppedClock(Protocol):
    """A clock that can be moved, and that counts its sleeps."""

    slept: float

    def now(self) -> float:
        """Return the current time."""

    def monotonic(self) -> float:
        """Return monotonic seconds."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""

    def advance(self, seconds: float) -> None:
        """Move the clock."""


class RealClock:
    """The clock of the machine, for providers whose service takes real time; it can be moved forward."""

    def __init__(self) -> None:
        self.slept = 0.0
        self._ahead = 0.0

    def now(self) -> float:
        """Return the current time."""
        return time.time() + self._ahead

    def monotonic(self) -> float:
        """Return monotonic seconds."""
        return time.monotonic() + self._ahead

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        self.slept += seconds
        await asyncio.sleep(seconds)

    def advance(self, seconds: float) -> None:
        """Move the clock."""
        self._ahead += seconds


@dataclass(slots=True)
class EngineProcess:
    """The engine, opened for every run, as the command line does."""

    subject: ProviderUnderTest
    store: Store = field(default_factory=lambda: cast("Store", SqliteStore.in_memory()))
    clock: SteppedClock = field(default_factory=FakeClock)
    life: Lifetime = field(default_factory=Lifetime)
    environ: Mapping[str, str] = field(default_factory=dict)
    ledger: CallRecorder = field(init=False)
    _store: Store = field(init=False)
    _seed: int = field(init=False)
    _chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        if self.subject.real_time and isinstance(self.clock, FakeClock):
            self.clock = RealClock()
        self.ledger = CallRecorder(self.subject.provider, self.life)
        self._store = cast("Store", CrashingStore(self.store, self.life))
        self._seed = next(_seeds)
        self._chance = random.Random(self._seed)  # noqa: S311 - names of operations, not secrets

    def restarted(self) -> EngineProcess:
        """Return the next process after a crash: same store, same service, some time later."""
        self.clock.advance(LATER_SECONDS)
        return EngineProcess(self.subject, self.store, self.clock, environ=self.environ)

    def declare(
        self, kind: str, name: str, desired: Mapping[str, Json], import_from: Import | None = None
    ) -> Declaration:
        """Return a declaration of a resource."""
        provider = self.subject.connection.provider
        address = Address(self.subject.connection.name, kind, name)
        version = f"{provider}.holdfast.dev/v1"
        return Declaration(address, provider, version, desired, options=dict(OPTIONS), import_from=import_from)

    async def state(self, declaration: Declaration) -> ResourceState:
        """Return the stored state of a resource."""
        found = await self.store.state(declaration.address)
        return found or ResourceState(declaration.address, declared=DeclaredState(declaration.provider))

    async def check(self, declarations: Sequence[Declaration], only: Sequence[Address] | None = None) -> RunReport:
        """Check all declarations, or some, and record the result."""
        connections, providers = self._ways()
        async with Connections(connections, providers, {}, self.clock) as world:
            return await check_resources(self._preparer(world, declarations), self._engine().checker(world), only)

    async def apply(self, declarations: Sequence[Declaration], only: Sequence[Address] | None = None) -> RunReport:
        """Finish interrupted writes, then apply all declarations, or some."""
        connections, providers = self._ways()
        async with WritableConnections(connections, providers, {}, self.clock) as world:
            return await self._engine().applier(world, self._preparer(world, declarations)).apply(only)

    def _ways(self) -> tuple[dict[str, Json], dict[str, Json]]:
        connection = self.subject.connection
        return {connection.name: connection}, {connection.provider: self.ledger}

    def _preparer(self, world: Connections, declarations: Sequence[Declaration]) -> ResourceResolver:
        graph, errors = dependency_graph.build(list(declarations))
        if errors:
            raise errors[0]
        fleet = ResourceSet({declaration.address: declaration for declaration in declarations}, graph)
        return self._engine().resolver(world, fleet, lambda _: Resolver(self.environ))

    def _engine(self) -> Engine:
        chance, owner = self._chance.random, f"process {self._seed}"
        return Engine(self._store, _KEY, self.clock, chance, owner, retry=PATIENCE)
