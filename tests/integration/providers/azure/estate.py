"""A whole engine on an emulated Azure: store, clock, provider and world, and what tests ask of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.resource import Declaration, Import, ManagementPolicy
from holdfast.model.verdict import Status
from holdfast.policy.contention_rules import ContentionRules
from holdfast.policy.correction_limits import CorrectionRules
from holdfast.policy.strategies import Strategy
from holdfast.providers.azure import references
from holdfast.providers.azure.provider import AzureProvider
from holdfast.providers.protocol import Connection, Provider
from holdfast.reconcile.policy_evaluation import PolicyRules
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolve import ResourceSet
from holdfast.store.records import AuditEvent
from holdfast.store.sqlite.store import SqliteStore
from holdfast.testing.clock import FakeClock
from holdfast_emulators.azure.service import World as Arm
from holdfast_emulators.azure.transport import ArmTransport
from tests.unit.reconcile.fixtures import Bench

GROUP = "rg"
WIDGET = "Contoso.Test/widgets"
HEARD: list[tuple[str, str, str, tuple[str, ...]]] = []  # every decision in the log: address, action, reason, paths
ASKED: set[str] = set()  # what the running test has asked for
VERSION = "2024-01-01"


def connection(world: Arm, **settings: Json) -> Connection:
    given = {"subscription": world.subscription, "resource_group": GROUP, "auth": {"type": "token"}, **settings}
    return Connection("azure", "azure", given, {"token": world.token})


def declare(
    name: str,
    desired: Json,
    kind: str = "Resource",
    *,
    policy: ManagementPolicy = ManagementPolicy.MANAGED,
    import_from: Import | None = None,
    **options: Json,
) -> Declaration:
    """Declare something; a plain dict of `Resource` is a widget unless it says another type."""
    if kind == "Resource":
        desired = {"type": WIDGET, "apiVersion": VERSION, **desired}
    found, type_ = references.rewritten(kind, desired)
    return Declaration(
        Address("azure", kind, name),
        "azure",
        "azure.holdfast.dev/v1",
        found,
        policy=policy,
        import_from=import_from,
        options={"resyncPeriod": "15m", **options},
        type=type_,
    )


def widget(name: str = "w", location: str = "westus2", **properties: Json) -> Declaration:
    """Declare a widget: a type that has only the habits a test gives it."""
    return declare(name, {"location": location, "properties": properties})


@dataclass
class Estate(Bench):
    """One process on one Azure; `restarted` is another on the same."""

    clock: Any = field(default_factory=FakeClock)
    store: Any = field(default_factory=SqliteStore.in_memory)
    arm: Arm = field(default=None)  # type: ignore[assignment]
    connection: Connection = field(default=None)  # type: ignore[assignment]
    strategies: Sequence[Strategy] = ()
    rules: PolicyRules = field(
        default_factory=lambda: PolicyRules(CorrectionRules(mass_drift=None, contention=ContentionRules(backoff=0)))
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.arm is None:
            self.arm = Arm(self.clock)
            self.arm.add_group(GROUP)
            self.arm.journal.clear()
        if self.connection is None:
            self.connection = connection(self.arm)
        self._azure = AzureProvider(lambda: ArmTransport(self.arm))

    def provider(self) -> Provider:
        return self._azure

    def fleet(self, declarations: Iterable[Declaration]) -> ResourceSet:
        return replace(super().fleet(declarations), strategies=self.strategies)

    def restarted(self, **changes: Any) -> Estate:
        """Return another process with the same store, clock and Azure."""
        given = {"arm": self.arm, "clock": self.clock, "store": self.store, "seed": self.seed + 1, **changes}
        given.setdefault("connection", self.connection)
        given.setdefault("rules", self.rules)
        return Estate(**given)

    # -- doing

    async def sync(self, *declarations: Declaration, times: int = 1, minutes: float = 15) -> RunReport:
        """Check and correct, as the loop does when the sync period is over."""
        report = RunReport()
        for _ in range(times):
            self.clock.advance(60 * minutes)
            report = await self.apply(list(declarations))
        return report

    def id(self, name: str = "w", type_: str = WIDGET) -> str:
        return f"/subscriptions/{self.arm.subscription}/resourceGroups/{GROUP}/providers/{type_}/{name}"

    def edit(self, changes: Any, name: str = "w", type_: str = WIDGET, who: str = "alice@example.com") -> None:
        """Let a third party change something."""
        self.arm.console(who).edit(self.id(name, type_), changes)

    # -- asking

    def puts(self, path: str = "*") -> int:
        """Return how many PUTs were accepted."""
        ASKED.add("puts")
        return self.arm.journal.count("PUT", path=path)

    def shown(self, name: str = "w", type_: str = WIDGET) -> Json:
        return self.arm.shown(self.id(name, type_))

    async def events(self, kind: str) -> list[AuditEvent]:
        return [event.event async for event in self.store.events(type_prefix=kind)]

    async def caused(self) -> list[tuple[str, tuple[str, ...]]]:
        """Return the reason and the paths of each write, in order: as the audit trail has them, and as the log does."""
        ASKED.add("reasons")
        written = [
            (event.subject, event.data["reason"], tuple(event.data["paths"]))
            for event in await self.events("write.intended")
            if "reason" in event.data
        ]
        told: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        for address, _, reason, paths in HEARD:
            told.setdefault(address, []).append((reason, paths))
        left = {address: iter(lines) for address, lines in told.items()}
        for address, *why in written:  # in the order of each resource, for they are written side by side
            assert tuple(why) in left.get(address, iter(())), f"no line in the log for {address}: {why}"
        return [(reason, paths) for _, reason, paths in written]

    def told(self, *actions: str) -> list[tuple[str, tuple[str, ...]]]:
        """Return the reason and the paths of each decision to do any of this, as the log has them."""
        ASKED.add("reasons")
        return [(reason, paths) for _, action, reason, paths in HEARD if action in actions]

    async def status(self, declaration: Declaration) -> Status | None:
        state = await self.store.state(declaration.address)
        return state.observed.status if state is not None else None

    async def known(self, declaration: Declaration) -> Json:
        """Return the known differences, by path."""
        state = await self.store.state(declaration.address)
        assert state is not None
        assert state.applied.known_differences is not None
        found = await self.store.document(state.applied.known_differences)
        return {item["path"]: item for item in found["known"]}

    async def unresolved(self, declaration: Declaration) -> list[str]:
        state = await self.store.state(declaration.address)
        assert state is not None
        assert state.applied.known_differences is not None
        return (await self.store.document(state.applied.known_differences))["unresolved"]


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    asyncio.run(coroutine)


def logged(caplog: Any, level: int = logging.INFO) -> list[str]:
    """Return the lines of the engine's log."""
    return [
        record.getMessage()
        for record in caplog.records
        if record.name == "holdfast.reconcile" and record.levelno >= level
    ]
