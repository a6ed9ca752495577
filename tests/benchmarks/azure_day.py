"""A day on Azure in virtual time: 300 resources of 12 types at the published limits, with people editing them.

The whole stack is real (engine, watcher, provider, azure-core's pipeline) but for the last step of the pipeline, which
calls the emulator. The limits are those Azure publishes: 1,200 writes and 12,000 reads an hour.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from holdfast.manifests.secrets import Resolver
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.resource import Declaration
from holdfast.policy import dependency_graph
from holdfast.providers.azure import references, type_catalog
from holdfast.providers.azure.provider import AzureProvider
from holdfast.providers.protocol import Connection
from holdfast.reconcile.apply import Applier
from holdfast.reconcile.check import Checker
from holdfast.reconcile.connections import WritableConnections
from holdfast.reconcile.policy_evaluation import PolicyRules
from holdfast.reconcile.rate_limit import RateLimits as Gates
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolve import ResourceResolver, ResourceSet
from holdfast.reconcile.write import ResourceWriter
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.transaction import Transaction
from holdfast.watch.list_scan import ListScanner
from holdfast.watch.loop import ResyncLoop
from holdfast_emulators.azure import Limits, World
from holdfast_emulators.azure.transport import ArmTransport
from holdfast_emulators.virtual_time import VirtualClock, run

PERIOD: Final = 900.0
GROUP: Final = "rg"
PER_TYPE: Final = 25


@dataclass(frozen=True, slots=True)
class Sort:
    """One of the twelve types: what is declared of it, and what people do to it in the portal."""

    kind: str
    body: Mapping[str, Json]
    edits: Mapping[str, Json]  # a pointer, and what somebody puts there


def _sort(named: str, edits: Mapping[str, Json], /, **body: Json) -> Sort:
    return Sort(named, {"location": "westus2", "tags": {"team": "a"}, **body}, {"/tags/team": "b", **edits})


# Declared fields and, where a PUT puts them back, defaults; Storage keeps what a PUT does not name.
SORTS: Final = (
    _sort(
        "StorageAccount",
        {"/properties/minimumTlsVersion": "TLS1_0"},
        kind="StorageV2",
        sku={"name": "Standard_LRS"},
        properties={"minimumTlsVersion": "TLS1_2"},
    ),
    _sort(
        "VirtualNetwork",
        {"/properties/addressSpace/addressPrefixes/0": "10.9.0.0/16"},
        properties={"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}},
    ),
    _sort("NetworkSecurityGroup", {"/tags/other": "x"}, properties={}),
    _sort(
        "PublicIPAddress",
        {"/properties/idleTimeoutInMinutes": 30},
        sku={"name": "Standard"},
        properties={"publicIPAllocationMethod": "Static"},
    ),
    _sort(
        "Disk",
        {"/properties/diskSizeGB": 64},
        sku={"name": "Standard_LRS"},
        properties={"creationData": {"createOption": "Empty"}, "diskSizeGB": 32},
    ),
    _sort(
        "KeyVault",
        {"/properties/enabledForDeployment": True},
        properties={
            "tenantId": "11111111-1111-4111-8111-111111111111",
            "sku": {"family": "A", "name": "standard"},
            "accessPolicies": [],
        },
    ),
    _sort("UserAssignedIdentity", {}),
    _sort(
        "CosmosAccount",
        {"/properties/enableAutomaticFailover": True},
        properties={"databaseAccountOfferType": "Standard", "locations": [{"locationName": "westus2"}]},
    ),
    _sort("ServiceBusNamespace", {}, sku={"name": "Standard"}, properties={}),
    _sort(
        "RedisCache",
        {"/properties/minimumTlsVersion": "1.0"},
        properties={"sku": {"name": "Standard", "family": "C", "capacity": 1}, "minimumTlsVersion": "1.2"},
    ),
    _sort("AppServicePlan", {}, sku={"name": "S1"}, properties={}),
    _sort("IotHub", {}, sku={"name": "S1", "capacity": 1}, properties={}),
)


@dataclass(slots=True)
class Day:
    """What a day came to."""

    mode: str
    hours: float
    resources: int
    puts: int = 0  # after the fleet was made
    needless: int = 0  # of them, those that changed nothing
    reads: int = 0  # with polls
    refused: int = 0  # 429s
    edits: int = 0
    found: int = 0  # within one period
    latest: float = 0.0  # seconds from an edit to the check that saw it, or to the PUT that undid it
    most_puts: int = 0  # in one hour
    most_reads: int = 0

    def row(self) -> dict[str, object]:
        """Return it as a row of a table."""
        return {
            "mode": self.mode,
            "PUTs": self.puts,
            "needless": self.needless,
            "most PUTs in an hour": self.most_puts,
            "reads": self.reads,
            "429s": self.refused,
            "edits": self.edits,
            "found within a period": self.found,
            "slowest, min": self.latest / 60,
        }


@dataclass(slots=True)
class Run:
    """The day itself."""

    mode: str
    hours: float = 24.0
    heeds_quota: bool = True  # False: as controllers do that do not read what Azure says is left
    per_type: int = PER_TYPE
    edits_per_hour: float = 10.0
    seed: int = 1
    clock: VirtualClock = field(default_factory=VirtualClock)
    store: SqliteStore = field(default_factory=SqliteStore.in_memory)
    world: World = field(init=False)
    made: list[tuple[float, str, str]] = field(default_factory=list)  # when, id, pointer
    seen: list[tuple[float, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world = World(self.clock, limits=Limits.hourly(reads=12_000, writes=1_200))
        self.world.journal.keep_bodies = False
        self.world.add_group(GROUP)

    def go(self) -> Day:
        """Live through it."""
        return run(self._go())

    async def _go(self) -> Day:
        chance = random.Random(self.seed)
        declared = self._declarations()
        async with self._world() as world:
            watcher, applier = self._watcher(world, declared, chance)
            await applier.apply()
            if not self.heeds_quota:
                world.gate("azure").quota = None
            await self._spread(list(declared))
            self.world.journal.clear()
            begin = self.clock.now()
            self._edit_later(chance)
            end = begin + 3600 * self.hours
            while self.clock.now() < end:
                if not await watcher.round():
                    following = await self.store.next_due()
                    assert following is not None
                    await self.clock.sleep(min(max(following - self.clock.now(), 0.05), end - self.clock.now()))
        return await self._figures(begin, len(declared))

    def _declarations(self) -> dict[Address, Declaration]:
        out = {}
        for sort in SORTS:
            for number in range(self.per_type):
                address = Address("azure", sort.kind, f"{sort.kind.lower()[:12]}{number:03}")
                desired, type_ = references.rewritten(sort.kind, dict(sort.body))
                options = {"resyncPeriod": "15m", "resyncJitter": 0, "reconcileMode": self.mode}
                out[address] = Declaration(
                    address, "azure", "azure.holdfast.dev/v1", desired, options=options, type=type_
                )
        return out

    def _world(self) -> WritableConnections:
        settings = {"subscription": self.world.subscription, "resource_group": GROUP, "auth": {"type": "token"}}
        connection = Connection("azure", "azure", settings, {"token": self.world.token})
        provider = AzureProvider(lambda: ArmTransport(self.world))
        gates = {"azure": Gates(concurrency=32)}
        return WritableConnections({"azure": connection}, {"azure": provider}, gates, self.clock)

    def _watcher(
        self, world: WritableConnections, declared: Mapping[Address, Declaration], chance: random.Random
    ) -> tuple[ResyncLoop, Applier]:
        graph, errors = dependency_graph.build(list(declared.values()))
        assert not errors
        preparer = ResourceResolver(
            self.store, world, ResourceSet(declared, graph), _fingerprint, lambda _: Resolver({})
        )
        checker = Checker(self.store, world, self.clock, chance.random, _fingerprint, rules=PolicyRules())
        writer = ResourceWriter(self.store, world, checker, self.clock, chance.random, "bench")
        applier = Applier(self.store, preparer, checker, writer)

        async def correct(addresses: Sequence[Address]) -> RunReport:
            report = await applier.apply(addresses)
            self._note(report)
            return report

        sweeper = ListScanner(self.store, world, self.clock, chance.random)
        return ResyncLoop(self.store, correct, self.clock, chance.random, sweeper), applier

    def _note(self, report: RunReport) -> None:
        for checked in report.checked:
            for finding in checked.verdict.findings:
                pointer = "/" + "/".join(map(str, finding.pointer))
                self.seen.append((checked.at, str(checked.state.observed.provider_id).casefold(), pointer))

    async def _spread(self, addresses: list[Address]) -> None:
        """Spread the checks over a period, as jitter does after a while."""
        now = self.clock.now()
        states = await self.store.states(addresses)
        step = PERIOD / len(states)
        moved = [
            replace(state, schedule=replace(state.schedule, due_at=now + number * step))
            for number, state in enumerate(states.values())
        ]
        await self.store.commit(Transaction(states=moved))

    def _edit_later(self, chance: random.Random) -> None:
        """Have people edit things at any time of the day, but for the last hour, so that all can be found."""
        kinds = {type_catalog.named(sort.kind).type.casefold(): sort for sort in SORTS}  # type: ignore[union-attr]
        everything = [ident for sort in kinds for ident in self.world.ids(sort)]
        free = dict.fromkeys(everything, 0.0)
        for _ in range(int(self.edits_per_hour * self.hours)):
            at = chance.uniform(60, 3600 * max(self.hours - 1, self.hours / 2))
            ident = chance.choice(everything)
            if at < free[ident]:
                continue
            free[ident] = at + 2 * PERIOD  # one at a time, so that each can be told from the others
            sort = next(sort for type_, sort in kinds.items() if f"/{type_}/" in ident.casefold())
            pointer, value = chance.choice(sorted(sort.edits.items()))
            self.world.later(at, functools.partial(self._edit, ident, pointer, value))

    def _edit(self, ident: str, pointer: str, value: Json) -> None:
        self.made.append((self.clock.now(), ident.casefold(), pointer))
        self.world.console("alice@example.com").edit(ident, {pointer: value})

    async def _figures(self, begin: float, resources: int) -> Day:
        journal = self.world.journal
        puts = [item for item in journal.find("PUT") if item.accepted]
        reads = [item for item in journal if item.method in ("GET", "HEAD") and item.status != 429]
        name = self.mode if self.heeds_quota else f"{self.mode}, blind to quota"
        day = Day(name, self.hours, resources, len(puts), edits=len(self.made))
        day.needless = len(journal.needless())
        day.reads, day.refused = len(reads), len(journal.throttled())
        day.most_puts, day.most_reads = _most(puts, begin), _most(reads, begin)
        for at, ident, pointer in self.made:
            delay = self._delay(at, ident, pointer, puts)
            day.found += delay <= PERIOD
            day.latest = max(day.latest, delay)
        return day

    def _delay(self, at: float, ident: str, pointer: str, puts: Sequence[Any]) -> float:
        """Return how long it took until an edit was seen; who does not look undoes it with the next PUT."""
        if self.mode == "put_only":
            times = [put.at for put in puts if put.path.casefold() == ident and put.at >= at]
        else:
            times = [when for when, which, path in self.seen if which == ident and path == pointer and when >= at]
        return min(times, default=float("inf")) - at


def _most(entries: Sequence[Any], begin: float) -> int:
    """Return the most of them in any one hour of the day."""
    hours: dict[int, int] = {}
    for entry in entries:
        hour = int((entry.at - begin) // 3600)
        hours[hour] = hours.get(hour, 0) + 1
    return max(hours.values(), default=0)


def _fingerprint(value: Json) -> str:
    return f"hmac-sha256:{hash(str(value))}"
