"""Watching a project: a first pass over all resources, then the resync loop, until its manifests are edited.

The loop keeps no declarations in memory. It reads the manifest of a resource again when the resource must be checked
closely. An edit of any manifest begins a new *manifest session* with a pass over all resources. Manifests from standard
input cannot be read again, so their declarations are kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import field, replace
from typing import Any, Final, Protocol

from holdfast.app import notifications, selection, single_resource, template_groups
from holdfast.app.assessment_task import Assessments
from holdfast.app.options import ProjectOptions
from holdfast.app.project import Project, open_project, resources_of
from holdfast.app.report import ApplyReport, CheckReport
from holdfast.app.rollout_task import Rollouts
from holdfast.app.sources.files import FileSource
from holdfast.errors import HoldfastError
from holdfast.manifests import loader
from holdfast.model.address import Address
from holdfast.model.record import dataclass
from holdfast.notify.deliver import Notifier
from holdfast.policy.strategies import Strategy
from holdfast.reconcile import unchecked, worker_identity
from holdfast.reconcile.action_result import ActionResult
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.connections import WritableConnections
from holdfast.reconcile.fleet_check import check_resources
from holdfast.reconcile.known_secrets import KnownSecrets
from holdfast.reconcile.mass_drift_scan import Scheduled
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolve import Blocked, ResourceSet
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.remediation.core.records import RemediationRecord
from holdfast.rollouts.core.template_groups import TemplateGroup
from holdfast.rollouts.core.templates import Template
from holdfast.schema.document import InputErrors
from holdfast.store import audit_head_file
from holdfast.watch import manifest_source
from holdfast.watch.edit_check import EditCheck
from holdfast.watch.list_scan import ListScanner
from holdfast.watch.loop import ResyncLoop
from holdfast.watch.manifest_source import DeclarationSource
from holdfast.watch.signal_watch import SignalWatch

LOOK_FOR_EDITS_SECONDS = 2.0
SEARCH_SECONDS: Final = 300.0  # after which manifests are searched for again, though nothing seems to be edited
PASS_SECONDS: Final = 5.0  # after which the loop begins beside the first pass, because one connection may hang


class WatchOutput(Protocol):
    """The output of a watch, which a door implements."""

    def first_pass(self, report: RunReport, shown: Collection[int]) -> None:
        """Show the pass over all resources; actions in `shown`, by their id, were shown when they ended."""

    def report(self, report: RunReport) -> None:
        """Show a round of checks."""

    def acted(self, acted: ActionResult) -> None:
        """Show an action that ended."""

    def rolled(self, group: TemplateGroup) -> None:
        """Show a rollout that advanced."""

    def assessed(self, record: RemediationRecord, now: float) -> None:
        """Show an assessment that ended."""

    def warn(self, *lines: str) -> None:
        """Show a warning."""

    def note(self, text: str) -> None:
        """Show a remark."""


@dataclass(frozen=True, slots=True)
class QuietOutput:
    """Shows nothing, and hands reports to a function."""

    when_checked: Callable[[CheckReport], None] | None = None

    def first_pass(self, report: RunReport, shown: Collection[int]) -> None:  # noqa: ARG002
        """Hand the report on."""
        self.report(report)

    def report(self, report: RunReport) -> None:
        """Hand the report on."""
        if self.when_checked is not None:
            self.when_checked(ApplyReport(report))

    def acted(self, acted: ActionResult) -> None:
        """Show nothing."""

    def rolled(self, group: TemplateGroup) -> None:
        """Show nothing."""

    def assessed(self, record: RemediationRecord, now: float) -> None:
        """Show nothing."""

    def warn(self, *lines: str) -> None:
        """Log the warning."""
        logging.getLogger("holdfast").warning("%s", "\n".join(lines))

    def note(self, text: str) -> None:
        """Show nothing."""


@dataclass(slots=True)
class Watch:
    """A watch over a project."""

    options: ProjectOptions
    output: WatchOutput
    stop: asyncio.Event
    known_secrets: KnownSecrets = field(default_factory=KnownSecrets)

    async def run(self, rounds: int | None = None) -> None:
        """Watch until stopped, or for a number of rounds; 0 rounds: only the pass over all resources.

        Raise the mistakes of the manifests if they cannot be read at the beginning. Later ones are warnings.
        """
        if rounds == 0 or "-" in self.options.files:
            async with self.open(self.options) as project, project.writable_connections() as connections:
                await check_all(project, connections, self.output, self.stop)
                if rounds != 0:
                    await ManifestSession(project, connections, self).run(rounds)
            return
        left, is_first = rounds, True
        while not self.stop.is_set() and (left is None or left > 0):
            source = FileSource.of(self.options)
            version = source.version()  # before anything is read, so that no edit is missed
            try:
                first = await FirstPass.begin(self, None if rounds is not None else PASS_SECONDS)
            except HoldfastError as error:
                if is_first:
                    raise
                self.warn(error, "manifests are invalid; checks are paused until they are fixed")
                await self._until_edited(source, version)
                continue
            is_first = False
            try:
                done = await self._session(source, version, first, left)
            finally:
                await first.end()
            left = None if left is None else left - done

    def open(self, options: ProjectOptions, beside: Sequence[str] = ()) -> AbstractAsyncContextManager[Project]:
        """Open the project; with `beside` without its declarations."""
        return open_project(
            options, reads="named" if beside else "project", beside=beside, known_secrets=self.known_secrets
        )

    async def _session(self, source: FileSource, version: str, first: FirstPass, rounds: int | None) -> int:
        async with self.open(replace(self.options, files=()), source.files) as project:
            used = {connection for connection, _ in await project.store.count_resources()}
            if not first.is_done:  # the store is still being filled
                used |= _openable(project)
            resources = replace(project.resources, strategies=first.strategies)
            project = replace(project, resources=resources, opened_connections=frozenset(used))  # noqa: PLW2901
            async with project.writable_connections() as connections:
                session = ManifestSession(
                    project,
                    connections,
                    self,
                    FileSource(source.files, project.config, project.store_file),
                    version,
                    first,
                )
                return await session.run(rounds)

    def warn(self, error: HoldfastError, remark: str) -> None:
        """Show the mistakes of the manifests."""
        lines = error.lines if isinstance(error, InputErrors) else (str(error),)
        self.output.warn(*lines, f"  {remark}")

    async def _until_edited(self, source: DeclarationSource, version: str) -> None:
        while not self.stop.is_set() and source.version() == version:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.stop.wait(), LOOK_FOR_EDITS_SECONDS)


def _openable(project: Project) -> set[str]:
    """Return the connections whose secrets can be fetched."""
    names = set()
    for name, spec in project.config.connections.items():
        with contextlib.suppress(HoldfastError):
            spec.fetch_secrets(project.secrets)
            names.add(name)
    return names


@dataclass(slots=True)
class FirstPass:
    """The check of all resources with which a manifest session begins; it may go on beside the loop."""

    _task: asyncio.Task[None]
    _stop: asyncio.Event
    strategies: Sequence[Strategy] = ()
    templates: tuple[Template, ...] = ()

    @classmethod
    async def begin(cls, watch: Watch, patience: float | None) -> FirstPass:
        """Start the pass and wait for its end, or for a while; raise the mistakes of the manifests."""
        stop = asyncio.Event()
        read: asyncio.Future[Project] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(_pass(watch, stop, read), name="first pass")
        stopping = asyncio.ensure_future(watch.stop.wait())
        await asyncio.wait({task, stopping}, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        self = cls(task, stop)
        if watch.stop.is_set():
            await self.end()
        elif task.done():
            task.result()
        else:
            waits: set[asyncio.Future[Any]] = {task, read}
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if read.done():
            self.strategies, self.templates = read.result().resources.strategies, read.result().templates
        return self

    @property
    def is_done(self) -> bool:
        """True once it ended."""
        return self._task.done()

    @property
    def has_failed(self) -> bool:
        """True if it ended with a mistake."""
        return self._task.done() and not self._task.cancelled() and self._task.exception() is not None

    async def end(self) -> None:
        """Stop it after in-flight writes, if it is running."""
        self._stop.set()
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            self._task.exception()


async def _pass(watch: Watch, stop: asyncio.Event, read: asyncio.Future[Project]) -> None:
    async with watch.open(watch.options) as project, project.writable_connections() as connections:
        # Another worker than the loop: only one of them may write a resource.
        engine = replace(project.engine, owner=worker_identity.name("first-pass"))
        project = replace(project, engine=engine)  # noqa: PLW2901
        # Only the small parts outlive the pass.
        small = replace(project.resources, declarations={})
        read.set_result(replace(project, resources=small, manual=(), groups=(), known=(), undeclared=()))
        await check_all(project, connections, watch.output, stop)
    del project, connections, small
    release_memory()


def release_memory() -> None:
    """Give the memory of a pass over all resources back to the system."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


async def check_all(
    project: Project, connections: WritableConnections, output: WatchOutput, stop: asyncio.Event
) -> None:
    """Check all selected resources, and correct those that may be corrected unattended."""
    if project.templates:
        project = await template_groups.settle(project, connections)
    shown: set[int] = set()

    def progress(step: CheckResult | ActionResult | Blocked) -> None:
        if isinstance(step, ActionResult):  # at once, because one connection may delay the rest
            output.acted(step)
            shown.add(id(step))

    applier = project.applier(connections, stop=stop, unattended=True, progress=progress)
    report = await applier.apply(project.selected)  # all at once, because mass drift is judged as a whole
    if project.templates:
        report = template_groups.merged(report, await template_groups.roll(project, connections, stop))
    report.undeclared = list(project.undeclared)
    await unchecked.no_longer_declared(
        project.store, [state.address for state in project.undeclared], project.clock.now()
    )
    output.first_pass(report, shown)
    await notifications.send(project, report, output.warn)


@dataclass(slots=True)
class ManifestSession:
    """The time during which the manifests stay as they are."""

    project: Project
    connections: WritableConnections
    watch: Watch
    source: FileSource | None = None  # None: the declarations are in the project, and cannot be edited
    version: str = ""
    first: FirstPass | None = None
    _edits_checked_at: float = 0.0
    _searched_at: float = 0.0
    _edit_check: EditCheck = field(default_factory=lambda: EditCheck(None))
    _notifier: Notifier | None = None
    _others: Scheduled | None = None
    _has_warned: bool = False

    async def run(self, rounds: int | None) -> int:
        """Watch until an edit, a stop, or for a number of rounds; return how many there were."""
        project, engine = self.project, self.project.engine
        scanner = ListScanner(project.store, self.connections, project.clock, engine.random01)
        self._others = Scheduled(scanner, self.check_others, project.clock)
        output = self.watch.output
        loop = ResyncLoop(
            project.store,
            self.correct,
            project.clock,
            engine.random01,
            scanner,
            self._report,
            self.watch.stop,
            self.complain,
            self._is_over,
            wait_at_most=LOOK_FOR_EDITS_SECONDS,
            look=self.check,
            besides=[
                Assessments(project, self.connections, self.resolve, output),
                Rollouts(project, self.connections, self.watch.stop, self.complain, output, self.source),
            ],
        )
        if rounds is not None:  # counted rounds are awaited one by one, so only periodic checks take part
            return await loop.run(rounds=rounds)
        signals = SignalWatch(project.store, self.connections, project.clock, engine.random01, output.warn)
        async with signals.running():
            return await loop.run()

    def complain(self, error: HoldfastError) -> None:
        """Show a mistake in the manifests."""
        self.watch.warn(error, "its declarations are not corrected until this is fixed")

    async def correct(self, addresses: Sequence[Address]) -> RunReport:
        """Read the manifests of some resources, check these and correct drift."""

        async def work(project: Project, selected: Sequence[Address]) -> RunReport:
            applier = project.applier(self.connections, stop=self.watch.stop, unattended=True, others=self._others)
            return await applier.apply(selected)

        return await self._with_resources(addresses, work)

    async def check(self, addresses: Sequence[Address]) -> RunReport:
        """Read the manifests of some resources and check these."""
        return await self._with_resources(addresses, self._check)

    async def check_others(self, addresses: Sequence[Address]) -> Sequence[CheckResult]:
        """Check the other resources of a kind; report those that this watch is about."""
        resources = await self._resources(addresses)
        declared = [address for address in addresses if address in resources.declarations]
        report = await self._check(replace(self.project, resources=resources), declared)
        selected = set(selection.with_needed(resources, self.project.options, strict=False))
        reported = RunReport([checked for checked in report.checked if checked.address in selected])
        if reported.checked:
            await self._report(reported)
        return report.checked

    async def _check(self, project: Project, addresses: Sequence[Address]) -> RunReport:
        return await check_resources(project.resolver(self.connections), project.checker(self.connections), addresses)

    async def _with_resources(
        self, addresses: Sequence[Address], work: Callable[[Project, Sequence[Address]], Awaitable[RunReport]]
    ) -> RunReport:
        """Do some work with the declarations of some resources, in a project of its own."""
        resources = await self._resources(addresses)
        allowed = set(selection.with_needed(resources, self.project.options, strict=False))
        selected = [address for address in addresses if address in allowed]
        report = await work(replace(self.project, resources=resources), selected)
        declared = resources.declarations
        report.out_of_scope += [address for address in addresses if address in declared and address not in allowed]
        return report

    async def _resources(self, addresses: Sequence[Address]) -> ResourceSet:
        """Return the declarations of some resources and of everything that they need, as the manifests are now."""
        if self.source is None:
            return self.project.resources
        return await resources_for(self.project, self.source, addresses, self.first.templates if self.first else ())

    async def resolve(self, address: Address) -> ResolvedResource | str:
        """Read the manifest of a resource and return it resolved, or the reason why it cannot be."""
        try:
            resources = await self._resources([address])
            if address not in resources.declarations:
                return f"{address} is not declared in the manifests given with -f"
            return await single_resource.resolve(replace(self.project, resources=resources), self.connections, address)
        except HoldfastError as error:
            return str(error)

    async def _report(self, report: RunReport) -> None:
        self.watch.output.report(report)
        if self._notifier is None:  # kept, because it knows which sinks failed lately
            self._notifier = notifications.notifier(self.project, self.watch.output.warn)
        await notifications.send_with(self._notifier, report)

    async def _is_over(self) -> bool:
        """Return True if the manifests were edited and can be read; otherwise the session goes on."""
        now = time.monotonic()
        if self.source is None or now - self._edits_checked_at < LOOK_FOR_EDITS_SECONDS:
            return False
        self._edits_checked_at = now
        await audit_head_file.keep(self.project.store, self.project.store_file, self.project.engine.key)
        is_search_due = now - self._searched_at >= SEARCH_SECONDS
        if not is_search_due and self._edit_check.is_unedited():
            self._warn_of_failed_pass()
            return False
        self._searched_at = now
        try:
            source = FileSource.of(self.watch.options)
            # Recorded before the search, so that an edit during it is noticed the next time.
            self._edit_check = EditCheck.of(source.files, source.other_files(), time.time())
            version = source.version()
            if version == self.version:
                self._warn_of_failed_pass()
                return False
            self.version = version
            known = [state.address async for state in self.project.store.all_states()]
            loader.graph(source.read(), known)
        except HoldfastError as error:
            self.complain(error)
            return False
        self.watch.output.note("manifests were edited; checking all resources")
        return True

    def _warn_of_failed_pass(self) -> None:
        """Warn, once, if the first pass failed after the loop began."""
        if self.first is not None and self.first.has_failed and not self._has_warned:
            self.watch.output.warn("the first pass failed; resources that it did not reach are checked when due")
            self._has_warned = True


async def resources_for(
    project: Project, source: DeclarationSource, addresses: Sequence[Address], templates: Sequence[Template]
) -> ResourceSet:
    """Return the declarations of some resources and of everything that they need."""
    states = await manifest_source.states_with_needs(project.store, addresses)
    manifests = source.read_declaring(states.values())
    manifests = await template_groups.with_chosen(project.store, manifests, states, templates)
    wanted = tuple(declaration for declaration in manifests.declarations if declaration.address in states)
    strategies = tuple(project.resources.strategies)
    return resources_of(replace(manifests, declarations=wanted, strategies=strategies), states, project.options)
