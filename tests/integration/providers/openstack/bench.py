"""The real engine and the real provider in a project of the real services, and a vandal behind their back."""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from holdfast.compare import paths
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.resource import Declaration, Import, ManagementPolicy
from holdfast.model.verdict import Status
from holdfast.providers import registry
from holdfast.providers.protocol import Connection, Reader, Writer
from holdfast.reconcile.action_result import ActionOutcome
from holdfast.reconcile.apply import Applier
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.connections import WritableConnections
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.write import ResourceWriter
from holdfast.store.protocol import Store
from holdfast.store.state import ResourceState
from holdfast.testing.conformance import ProviderUnderTest
from holdfast.testing.conformance.engine_process import PATIENCE, EngineProcess, RealClock
from holdfast.watch.list_scan import ListScanner
from holdfast.watch.loop import ResyncLoop
from holdfast_emulators.openstack import Client, ControlPlane, Request, Tenant, Tenants

T = TypeVar("T")
_counter = itertools.count(1)
_WORD = re.compile(r"\{(unique|project|data|elsewhere|qos)\}")
OPTIONS: Mapping[str, Json] = {"resyncPeriod": "1h"}


class BriskClock(RealClock):
    """The machine's clock, on which nobody sleeps long: the services here are quicker than those it is polite to."""

    async def sleep(self, seconds: float) -> None:
        really = min(seconds, 0.2)
        self.slept += seconds
        await asyncio.sleep(really)
        self.advance(seconds - really)


class Nobody:
    """A vandal who is never asked."""


@dataclass(slots=True)
class Bench:
    """One connection, one store, one project."""

    plane: ControlPlane
    tenants: Tenants
    tenant: Tenant
    connection: Connection
    process: EngineProcess
    drift_injector: Client  # an administrator in the same project
    reader: Reader
    writer: Writer
    _runner: asyncio.Runner
    _mark: int = 0

    @classmethod
    @contextmanager
    def opened(cls, plane: ControlPlane, tenants: Tenants, tenant: Tenant, **settings: Json) -> Iterator[Bench]:
        name = f"bench{next(_counter)}-{tenant.name}"
        auth = {key: value for key, value in tenant.auth.items() if key != "password"}
        given = {"auth": auth, "region": "RegionOne", "timeout": 120, **settings}
        connection = Connection(name, "openstack", given, {"password": tenant.auth["password"]})
        provider = registry.get("openstack")
        subject = ProviderUnderTest(provider, connection, (), cast("Any", Nobody()), real_time=True)
        drift_injector = Client(tenant.auth)
        with asyncio.Runner() as runner:
            stack = AsyncExitStack()
            # Open all the while, so that the runs of one test share a token.
            reader = runner.run(stack.enter_async_context(provider.reader(connection)))
            writer = runner.run(stack.enter_async_context(provider.writer(connection)))
            try:
                process = EngineProcess(subject, clock=BriskClock())
                yield cls(plane, tenants, tenant, connection, process, drift_injector, reader, writer, runner)
            finally:
                runner.run(stack.aclose())
                drift_injector.close()

    # -- declaring

    def declare(
        self,
        kind: str,
        name: str,
        desired: Mapping[str, Json] | None = None,
        *,
        import_from: Import | None = None,
        policy: ManagementPolicy = ManagementPolicy.MANAGED,
        **options: Json,
    ) -> Declaration:
        made = self.process.declare(kind, name, desired or {}, import_from)
        return replace(made, options={**OPTIONS, **options}, policy=policy)

    def filled(self, value: Json) -> Json:
        """Return a value with what is particular to this bench put into it."""
        if value == "{vlan}":
            return self.vlan()
        if isinstance(value, str):
            return _WORD.sub(lambda found: self.word(found[1]), value)
        if isinstance(value, Mapping):
            return {key: self.filled(item) for key, item in value.items()}
        return [self.filled(item) for item in value] if isinstance(value, list) else value

    def vlan(self) -> int:
        """Return a segment that nobody has; only one file of tests asks, so only one worker does."""
        taken = "/networks?provider:physical_network=physnet2&fields=provider:segmentation_id"
        found = self.drift_injector.get("network", taken)["networks"]
        return max((int(item["provider:segmentation_id"]) for item in found), default=99) + 1

    def word(self, name: str) -> str:
        """Return what is particular to this bench, made first if need be."""
        match name:
            case "unique":
                return self.tenant.name
            case "project":
                return self.tenant.project_id
            case "data":
                data = self.plane.layout.folder / "image.raw"
                if not data.exists():
                    data.write_bytes(b"no real image" * 100)
                return str(data)
            case "elsewhere":
                return self.tenants.project(f"elsewhere-{next(_counter)}-{self.tenant.name}")
            case _:
                return str(
                    self.drift_injector.post("network", "/qos/policies", {"policy": {"name": "q"}})["policy"]["id"]
                )

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait for something that a service takes its time over."""
        end = time.monotonic() + 240
        while not holds():
            assert time.monotonic() < end, f"in vain it was waited until {what}"
            time.sleep(0.2)

    # -- running

    def run(self, work: Awaitable[T]) -> T:
        async def awaited() -> T:
            return await work

        return self._runner.run(awaited())

    def check(self, *declarations: Declaration, only: Declaration | None = None) -> list[CheckResult]:
        """Check all of it, or one; what that one refers to is remembered."""
        report = self.run(self.process.check(declarations, _address(only)))
        assert not report.waiting, [item.reason for item in report.waiting]
        return report.checked

    def look(self, *declarations: Declaration) -> RunReport:
        return self.run(self.process.check(declarations))

    def apply(self, *declarations: Declaration, only: Declaration | None = None) -> RunReport:
        return self.run(self.process.apply(declarations, _address(only)))

    def watch(self, *declarations: Declaration, rounds: int = 1) -> list[RunReport]:
        """Run the resync loop for some rounds; what is due by the (movable) clock is looked at."""
        return self.run(self._watched(declarations, rounds))

    def remove(self, *declarations: Declaration) -> RunReport:
        """Delete, or detach, all of it."""
        return self.run(self._removed(declarations))

    async def _removed(self, declarations: Sequence[Declaration]) -> RunReport:
        process = self.process
        connections, providers = process._ways()
        async with WritableConnections(connections, providers, {}, process.clock) as world:
            checker = process._engine().checker(world)
            chance = process._chance.random
            writer = ResourceWriter(process._store, world, checker, process.clock, chance, "remove", PATIENCE)
            applier = Applier(process._store, process._preparer(world, declarations), checker, writer)
            return await applier.delete([declaration.address for declaration in declarations])

    def spread(self) -> None:
        """Begin to watch, as after a restart, and stop before anything is looked at."""
        self.run(self._watched((), 0))

    async def _watched(self, declarations: Sequence[Declaration], rounds: int) -> list[RunReport]:
        process, reports = self.process, list[RunReport]()
        connections, providers = process._ways()
        async with WritableConnections(connections, providers, {}, process.clock) as world:
            checker = process._engine().checker(world)
            chance = process._chance.random
            writer = ResourceWriter(process._store, world, checker, process.clock, chance, "watch", PATIENCE)

            async def correct(addresses: Sequence[Address]) -> RunReport:
                preparer = process._preparer(world, declarations)
                reports.append(await Applier(process._store, preparer, checker, writer).apply(addresses))
                return reports[-1]

            sweeper = ListScanner(process._store, world, process.clock, chance)
            watcher = ResyncLoop(process._store, correct, process.clock, chance, sweeper)
            if not rounds:
                await watcher.spread_backlog()
            for _ in range(rounds):
                await watcher.round()
        return reports

    def made(self, *declarations: Declaration, only: Declaration | None = None) -> None:
        """Apply, and see that all of it was done."""
        report = self.apply(*declarations, only=only)
        assert not report.waiting, [(str(item.declaration.address), item.reason) for item in report.waiting]
        failed = [
            (str(item.checked.address), item.message) for item in report.acted if item.result is not ActionOutcome.DONE
        ]
        assert not failed, failed
        stuck = [(str(item.checked.address), item.unresolved) for item in report.acted if item.unresolved]
        assert not stuck, stuck

    def took(self, declaration: Declaration) -> None:
        """See that everything declared is there as declared: no value was overridden by the service, or left out."""
        known = self.state(declaration).applied.known_differences
        assert known is not None
        entries = self.run(self.store.document(known))["known"]
        strange = [entry for entry in entries if entry["kind"] not in ("default", "adopted")]
        assert not strange, strange

    def clean(self, *declarations: Declaration, only: Declaration | None = None) -> None:
        """See that an apply, which begins with a check, finds nothing and asks the services for nothing but reads."""
        before = self.mark()
        report = self.apply(*declarations, only=only)
        assert not report.waiting, [item.reason for item in report.waiting]
        for checked in report.checked:
            assert checked.verdict.status is Status.IN_SYNC, (str(checked.address), named(checked), checked.verdict)
        assert len(report.checked) == (len(declarations) if only is None else 1)
        assert not report.acted
        assert not [request for request in self.requests(before) if request.is_write]

    def state(self, declaration: Declaration) -> ResourceState:
        return self.run(self.process.state(declaration))

    def id(self, declaration: Declaration) -> str:
        found = self.state(declaration).observed.provider_id
        assert found is not None
        return found

    @property
    def store(self) -> Store:
        return self.process.store

    # -- what reached the services

    def mark(self) -> int:
        return self.plane.disturber.place()

    def requests(self, since: int) -> list[Request]:
        """Return the requests of our own connection."""
        return self.plane.disturber.requests(f"connection/{self.connection.name}", since)


def _address(only: Declaration | None) -> list[Address] | None:
    return None if only is None else [only.address]


def named(checked: CheckResult) -> list[str]:
    """Name the paths of a verdict."""
    return [paths.format_path(finding.path) for finding in checked.verdict.findings]
