"""The command `watch`: the resync loop in the foreground.

It keeps no declaration in memory. The pass over everything with which it begins runs in a process of its own; after
that, what must be looked at closely has its manifest read again, just that file. An edit of any manifest ends the
*era*, and the next one begins with a pass over everything. Manifests from standard input cannot be read again: these
are kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import click

from holdfast.app import assessment_task, first_pass, manifest_reload, notifications
from holdfast.app.first_pass import Pass
from holdfast.app.project import Options, Session, chosen, common, named_files, opened, options_of, project_of, run
from holdfast.app.rollout_task import Rollouts
from holdfast.cli import console
from holdfast.errors import HoldfastError
from holdfast.manifests import file_discovery, loader
from holdfast.manifests import project as projects
from holdfast.manifests.validation import InputErrors
from holdfast.model.address import Address
from holdfast.notify.deliver import Notifier
from holdfast.policy.strategies import Strategy
from holdfast.reconcile.check import CheckResult, check_resources
from holdfast.reconcile.connections import WritableConnections
from holdfast.reconcile.mass_drift_scan import Scheduled
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolve import ResourceSet
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.rollouts.core.templates import Template
from holdfast.store import audit_head_file
from holdfast.watch.list_scan import ListScanner
from holdfast.watch.loop import ResyncLoop

LOOK_FOR_EDITS_SECONDS = 2.0
PASS_SECONDS = 5.0  # after which a pass over everything goes on beside the watch: one connection may hang


@click.command("watch")
@common
@click.option("--rounds", type=int, help="Stop after this many rounds; 0: after the first pass over everything.")
def watch_command(rounds: int | None, **rest: Any) -> int:
    """Run the resync loop in the foreground: check what is due, correct what drifted, follow edits of the manifests.

    \b
    Examples:
      holdfast watch -f infra/ --default-resync-period 10m
    """
    options = replace(options_of(rest), watches=True)

    async def main(stop: asyncio.Event) -> int:
        if rounds == 0:
            return await first_pass.run(options, stop)
        if "-" in options.files:
            return await _watch_kept(options, stop, rounds)
        return await _watch(options, stop, rounds)

    return run(main)


async def _watch(options: Options, stop: asyncio.Event, rounds: int | None) -> int:
    """Watch era after era; what cannot be read at the very beginning ends it, later edits only end in a warning."""
    left, is_first = rounds, True
    while not stop.is_set() and (left is None or left > 0):
        project = project_of(options)
        files = named_files(options, project)
        seen = _signature(files, project)  # before anything is read, so that no edit is missed
        whole = await Pass.begin(options)
        code = await whole.ended(stop, None if rounds is not None else PASS_SECONDS)
        if code and is_first:
            return code
        is_first = False
        if code:
            console.warn("what was edited cannot be used; nothing is checked until it is mended")
            await _until_edited(files, project, seen, stop)
            continue
        async with opened(replace(options, files=()), needs_files=False, beside=files) as session:
            session.used = await _used(session, whole)
            session.fleet = replace(session.fleet, strategies=_strategies(files, session.project))
            try:
                async with session.writable_world() as world:
                    done = await ManifestSession(session, options, world, stop, seen, whole).run(left)
            finally:
                await whole.end()
        left = None if left is None else left - done
    return 0


async def _used(session: Session, whole: Pass) -> frozenset[str]:
    """Return the connections to open: those of the store and, while it is being filled, all that can be opened."""
    used = {connection for connection, _ in await session.store.count_resources()}
    if whole.code is None:
        for name, spec in session.project.connections.items():
            with contextlib.suppress(HoldfastError):
                spec.fetch_secrets(session.resolver)
                used.add(name)
    return frozenset(used)


async def _watch_kept(options: Options, stop: asyncio.Event, rounds: int | None) -> int:
    """Watch what came from standard input: its declarations stay in memory, and cannot be edited."""
    async with opened(options) as session, session.writable_world() as world:
        await first_pass.look_at_everything(session, world, options, stop)
        await ManifestSession(session, options, world, stop, b"").run(rounds)
    return 0


def _strategies(files: Sequence[str], project: projects.Project) -> tuple[Strategy, ...]:
    try:
        return manifest_reload.strategies_in(files, project)
    except HoldfastError as error:  # edited since the pass; the era ends as soon as it can be read
        complain(error)
        return ()


# -- the time between two edits


@dataclass(slots=True)
class ManifestSession:
    """The time during which the manifests stay as they are."""

    session: Session
    options: Options
    world: WritableConnections
    stop: asyncio.Event
    _seen: bytes  # the manifests as they were; nothing for those that cannot be edited
    _whole: Pass | None = None  # the pass over everything, which may still be under way
    _looked_at: float = 0.0
    _office: Notifier | None = None
    _templates: tuple[Template, ...] | None = None

    _others: Scheduled | None = None

    async def run(self, rounds: int | None) -> int:
        """Watch until an edit, a stop, or enough rounds; return how many there were."""
        session = self.session
        sweeper = ListScanner(session.store, self.world, session.clock, session.random01)
        self._others = Scheduled(sweeper, self.look_around, session.clock)
        watcher = ResyncLoop(
            session.store,
            self.correct,
            session.clock,
            session.random01,
            sweeper,
            self._told,
            self.stop,
            complain,
            self._is_over,
            wait_at_most=LOOK_FOR_EDITS_SECONDS,
            look=self.look,
            besides=[
                assessment_task.Assessments(session, self.world, self.prepared),
                Rollouts(session, self.options, self.world, self.stop, complain),
            ],
        )
        return await watcher.run(rounds=rounds)

    async def correct(self, addresses: Sequence[Address]) -> RunReport:
        """Read the manifests of some resources again, look at these, and act."""
        return await self._with_fleet(addresses, self._apply)

    async def look(self, addresses: Sequence[Address]) -> RunReport:
        """Read the manifests of some resources again and look at these, without acting."""
        return await self._with_fleet(addresses, self._look)

    async def look_around(self, addresses: Sequence[Address]) -> Sequence[CheckResult]:
        """Look at the others of a kind, meant by this watch or not, and tell of those that are."""
        fleet = await self._fleet_of(addresses)
        session = replace(self.session, fleet=fleet)
        report = await self._look(session, [each for each in addresses if each in fleet.declarations])
        meant = set(chosen(fleet, self.options, strict=False))
        told = RunReport([one for one in report.checked if one.address in meant])
        if told.checked:
            await self._told(told)
        return report.checked

    async def _apply(self, session: Session, addresses: Sequence[Address]) -> RunReport:
        applier = session.applier(self.world, stop=self.stop, unattended=True, others=self._others)
        return await applier.apply(addresses)

    async def _look(self, session: Session, addresses: Sequence[Address]) -> RunReport:
        return await check_resources(session.preparer(self.world), session.checker(self.world), addresses)

    async def _with_fleet(
        self, addresses: Sequence[Address], work: Callable[[Session, Sequence[Address]], Awaitable[RunReport]]
    ) -> RunReport:
        """Do something with part of the fleet while its declarations are at hand, in a session of its own."""
        fleet = await self._fleet_of(addresses)
        allowed = set(chosen(fleet, self.options, strict=False))
        report = await work(replace(self.session, fleet=fleet), [each for each in addresses if each in allowed])
        declared = fleet.declarations
        report.out_of_scope += [each for each in addresses if each in declared and each not in allowed]
        return report

    async def _fleet_of(self, addresses: Sequence[Address]) -> ResourceSet:
        kept = self.session.fleet
        if kept.declarations:
            return kept
        return await manifest_reload.fleet_for(self.session, self.options, addresses, self.templates())

    def templates(self) -> tuple[Template, ...]:
        """Return the templates of the manifests as they are in this era, reading no more of these than it takes."""
        if self._templates is None:
            files = named_files(self.options, self.session.project)
            self._templates = manifest_reload.templates_in(files, self.session.project)
        return self._templates

    async def prepared(self, address: Address) -> ResolvedResource | str:
        """Read the manifest of one resource again, and make it ready to be looked at."""
        try:
            fleet = await self._fleet_of([address])
        except HoldfastError as error:
            return str(error)
        return await assessment_task.Preparing(replace(self.session, fleet=fleet), self.world).one(address)

    async def _told(self, report: RunReport) -> None:
        first_pass.show(report)
        first_pass.line(Counter(one.verdict.status for one in report.checked))
        if self._office is None:  # one an era, because it remembers which sinks are to be left alone for a while
            self._office = notifications.office(self.session, self.options)
        await notifications.tell(report, self._office)

    async def _is_over(self) -> bool:
        """Tell whether the manifests were edited and can be read; if not, it goes on with what there was."""
        now = time.monotonic()
        if not self._seen or now - self._looked_at < LOOK_FOR_EDITS_SECONDS:
            return False
        self._looked_at = now
        await audit_head_file.keep(self.session.store, self.session.store_file, self.session.key)
        try:
            project = project_of(self.options)
            files = named_files(self.options, project)
            signature = _signature(files, project)
            if signature == self._seen:
                self._ask_the_pass()
                return False
            self._seen = signature
            known = [state.address async for state in self.session.store.all_states()]
            loader.graph(loader.read(files, project), known)
        except HoldfastError as error:
            complain(error)
            return False
        console.line("the manifests were edited; looking at everything", fg="bright_black")
        return True

    def _ask_the_pass(self) -> None:
        """Say it, once, if the pass over everything went wrong after the era began."""
        if self._whole is not None and self._whole.code:
            console.warn("the pass over everything failed; what it did not reach is checked when it is due")
            self._whole = None


async def _until_edited(files: Sequence[str], project: projects.Project, seen: bytes, stop: asyncio.Event) -> None:
    while not stop.is_set() and _signature(files, project) == seen:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), LOOK_FOR_EDITS_SECONDS)


def _signature(files: Sequence[str], project: projects.Project) -> bytes:
    """Return what tells one state of the files from another without reading them."""
    found, _ = file_discovery.find(files, project.profiles)
    paths = [source.path for source in found if source.path is not None]
    digest = hashlib.sha256()
    for file in [*paths, *([project.file] if project.file is not None else []), *project.waivers]:
        with contextlib.suppress(OSError):
            stat = file.stat()
            digest.update(f"{file}\0{stat.st_mtime_ns}\0{stat.st_size}\0{stat.st_ino}\n".encode())
    return digest.digest()


def complain(error: HoldfastError) -> None:
    """Say what is wrong with the manifests, and go on."""
    lines = error.lines if isinstance(error, InputErrors) else (str(error),)
    console.warn(*lines, "  what it declares is not corrected until this is mended")
