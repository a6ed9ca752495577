"""A whole engine in memory: store, world, clock; everything a test may break."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.app.wiring import Engine
from holdfast.compare import comparators, profiles
from holdfast.manifests.secrets import Resolver
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.resource import Declaration, Import, ManagementPolicy
from holdfast.policy import dependency_graph
from holdfast.policy.correction_limits import CorrectionRules
from holdfast.providers.protocol import Connection, Provider
from holdfast.reconcile.apply import Applier
from holdfast.reconcile.check import Checker
from holdfast.reconcile.connections import Connections, WritableConnections
from holdfast.reconcile.fleet_check import check_resources
from holdfast.reconcile.policy_evaluation import PolicyRules
from holdfast.reconcile.rate_limit import RateLimits
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolve import ResourceSet
from holdfast.reconcile.retry import RetryPolicy
from holdfast.reconcile.undo import CorrectionUndo, Undone
from holdfast.store.protocol import Store
from holdfast.testing.clock import FakeClock
from holdfast.testing.memory import MemoryProvider, MemoryService

KEY = b"a test key"


def _memory_store() -> Store:
    from holdfast.store.sqlite.store import SqliteStore

    return SqliteStore.in_memory()


def declare(
    name: str,
    desired: Json,
    *,
    policy: ManagementPolicy = ManagementPolicy.MANAGED,
    import_from: Import | None = None,
    **options: Json,
) -> Declaration:
    return Declaration(
        Address("mem", "Thing", name),
        "memory",
        "memory.holdfast.dev/v1",
        desired,
        policy=policy,
        options=options,
        import_from=import_from,
    )


@dataclass
class Bench:
    """One process: build another on the same store and world to have a restart."""

    live: MemoryService = field(default_factory=MemoryService)
    store: Store = field(default_factory=_memory_store)
    clock: Any = field(default_factory=FakeClock)  # or a VirtualClock, where time is that of the loop
    seed: int = 1
    patches: bool = False
    lists: bool = True
    conditional: bool = False
    watches: bool = False
    connection: Connection = field(default_factory=lambda: Connection("mem", "memory"))
    profile: str = ""
    patience: RetryPolicy = field(default_factory=lambda: RetryPolicy(attempts=2))
    owner: str = "one"
    environ: dict[str, str] = field(default_factory=dict)
    rules: PolicyRules = field(default_factory=lambda: PolicyRules(CorrectionRules(mass_drift=None)))

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed).random

    def provider(self) -> Provider:
        rules = tuple(profiles.parse(self.profile)) if self.profile else ()
        return MemoryProvider(
            self.live,
            profiles=rules,
            patches=self.patches,
            lists=self.lists,
            conditional=self.conditional,
            watches=self.watches,
        )

    def fleet(self, declarations: Iterable[Declaration]) -> ResourceSet:
        listed = list(declarations)
        graph, errors = dependency_graph.build(listed)
        assert not errors, errors
        return ResourceSet({item.address: item for item in listed}, graph)

    def fingerprint(self, value: Json) -> str:
        return comparators.fingerprint(value, KEY)

    def secrets(self, _declaration: Declaration) -> Resolver:
        return Resolver(self.environ)

    async def check(self, declarations: Sequence[Declaration], *, record: bool = True) -> RunReport:
        connections, providers = {self.connection.name: self.connection}, {self.connection.provider: self.provider()}
        async with Connections(connections, providers, {}, self.clock) as world:
            preparer = self.engine().resolver(world, self.fleet(declarations), self.secrets)
            return await check_resources(preparer, self.engine().checker(world), record=record)

    def applier(self, world: WritableConnections, declarations: Sequence[Declaration], **options: object) -> Applier:
        preparer = self.engine().resolver(world, self.fleet(declarations), self.secrets)
        return self.engine().applier(world, preparer, **options)

    def engine(self) -> Engine:
        return Engine(self.store, KEY, self.clock, self.random, self.owner, self.rules, self.patience)

    def undoer(self, world: WritableConnections, checker: Checker) -> CorrectionUndo:
        return self.engine().undoer(world, checker)

    async def undo(self, correction_id: str, declarations: Sequence[Declaration]) -> Undone:
        async with self.world() as world:
            applier = self.applier(world, declarations)
            correction = await self.store.correction(correction_id)
            assert correction is not None
            (item,), _ = await applier.preparer.prepare([correction.address])
            return await self.undoer(world, applier.checker).undo(correction, item, "ada", "a mistake")

    def world(self) -> WritableConnections:
        connections, providers = {self.connection.name: self.connection}, {self.connection.provider: self.provider()}
        return WritableConnections(
            connections, providers, {self.connection.name: RateLimits(concurrency=8)}, self.clock
        )

    async def apply(self, declarations: Sequence[Declaration], **options: object) -> RunReport:
        async with self.world() as world:
            return await self.applier(world, declarations, **options).apply()

    async def delete(self, declarations: Sequence[Declaration]) -> RunReport:
        async with self.world() as world:
            return await self.applier(world, declarations).delete([declaration.address for declaration in declarations])

    def id_of(self, name: str) -> str:
        found = self.live.find("Thing", name)
        assert found is not None
        return found

    def live_thing(self, name: str) -> Json:
        ident = self.live.find("Thing", name)
        return None if ident is None else self.live.things["Thing", ident]
