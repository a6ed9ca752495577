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
import os
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import click

from holdfast.cli import assessors, output, reports, rolling, telling, templating
from holdfast.cli.rolling import Rollouts
from holdfast.cli.session import (
    Options,
    Session,
    chosen,
    common,
    fleet_of,
    named_files,
    opened,
    options_of,
    project_of,
    run,
)
from holdfast.engine.applying import Report, look
from holdfast.engine.fleet import Fleet
from holdfast.engine.notifying import Office
from holdfast.engine.opening import WritableWorld
from holdfast.engine.prepared import Prepared
from holdfast.engine.scheduling import Watcher
from holdfast.engine.sweeping import Sweeper
from holdfast.errors import HoldfastError
from holdfast.manifests import project as projects
from holdfast.manifests import reading, sources
from holdfast.manifests.reading import Manifests
from holdfast.model.address import Address
from holdfast.model.verdict import Status
from holdfast.plan.rolling_out.templates import Template
from holdfast.plan.strategies import Strategy
from holdfast.store import heads

LOOK_FOR_EDITS_SECONDS = 2.0
_TEMPLATE: Final = re.compile(rb"""kind["']?\s*:\s*["']?Template\b|\btemplate["']?\s*:""")
_STRATEGY: Final = re.compile(rb"""kind["']?\s*:\s*["']?Strategy\b""")


@click.command("watch")
@common
@click.option("--rounds", type=int, help="Stop after this many rounds; 0: after the first pass over everything.")
def watch_command(rounds: int | None, **rest: Any) -> int:
    """Run the resync loop in the foreground: check what is due, correct what drifted, follow edits of the manifests.

    \b
    Examples:
      holdfast watch -f infra/ --default-resync-period 10m
    """
    options = options_of(rest)

    async def main(stop: asyncio.Event) -> int:
        if rounds == 0:
            return await _pass(options, stop)
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
        code = await _pass_apart(options, stop)
        if code and is_first:
            return code
        is_first = False
        if code:
            output.warn("what was edited cannot be used; nothing is checked until it is mended")
            await _until_edited(files, project, seen, stop)
            continue
        async with opened(replace(options, files=()), needs_files=False, beside=files) as session:
            session.used = frozenset(connection for connection, _ in await session.store.sizes())
            session.fleet = replace(session.fleet, strategies=_strategies(files, session.project))
            async with session.writable_world() as world:
                done = await Era(session, options, world, stop, seen).run(left)
        left = None if left is None else left - done
    return 0


async def _watch_kept(options: Options, stop: asyncio.Event, rounds: int | None) -> int:
    """Watch what came from standard input: its declarations stay in memory, and cannot be edited."""
    async with opened(options) as session, session.writable_world() as world:
        await _look_at_everything(session, world, options, stop)
        await Era(session, options, world, stop, b"").run(rounds)
    return 0


# -- the pass over everything


async def _pass(options: Options, stop: asyncio.Event) -> int:
    async with opened(options) as session, session.writable_world() as world:
        await _look_at_everything(session, world, options, stop)
    return 0


async def _pass_apart(options: Options, stop: asyncio.Event) -> int:
    """Pass over everything in a process of its own, whose memory goes with it."""
    command = [sys.executable, "-m", "holdfast", "watch", "--rounds", "0", *_arguments(options)]
    # Of its own session, so that an interrupt from the terminal comes once, from us.
    process = await asyncio.create_subprocess_exec(*command, start_new_session=True)
    waiting = asyncio.ensure_future(process.wait())
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait({waiting, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not waiting.done():
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
    code = await waiting
    return 0 if stop.is_set() else code


def _arguments(options: Options) -> list[str]:
    """Return the options as the command line spells them."""
    out = [part for file in options.files for part in ("-f", file)]
    out += [part for target in options.targets for part in ("--target", target)]
    single = {
        "--project": options.project,
        "--store": options.store,
        "--selector": options.selector,
        "--default-resync-period": options.flags.get("resync_period"),
    }
    return [*out, *(part for name, value in single.items() if value is not None for part in (name, value))]


async def _look_at_everything(session: Session, world: WritableWorld, options: Options, stop: asyncio.Event) -> None:
    await templating.settle(session, world)
    applier = session.applier(world, stop=stop)
    report = await applier.apply(session.chosen)  # all at once: a storm is one only as a whole
    report = templating.merged(report, await templating.roll(session, world, stop))
    _show(report)
    rolling.show_all(report.broods)
    await telling.tell(report, telling.office(session, options))
    _line(Counter(one.verdict.status for one in report.checked))


def _strategies(files: Sequence[str], project: projects.Project) -> tuple[Strategy, ...]:
    """Return the strategies of the manifests, reading no more of these than it takes."""
    found, _ = sources.find(files, project.profiles)
    having = [source.name for source in found if _STRATEGY.search(sources.load(source, None))]
    try:
        return reading.read(having, project).strategies if having else ()
    except HoldfastError as error:  # edited since the pass; the era ends as soon as it can be read
        complain(error)
        return ()


def _templates(files: Sequence[str], project: projects.Project) -> tuple[Template, ...]:
    """Return the templates of the manifests, reading only files that have any."""
    found, _ = sources.find(files, project.profiles)
    having = [source.name for source in found if _TEMPLATE.search(sources.load(source, None))]
    return reading.read(having, project, whole=False).templates if having else ()


# -- the time between two edits


@dataclass(slots=True)
class Era:
    """The time during which the manifests stay as they are."""

    session: Session
    options: Options
    world: WritableWorld
    stop: asyncio.Event
    _seen: bytes  # the manifests as they were; nothing for those that cannot be edited
    _looked_at: float = 0.0
    _office: Office | None = None
    _templates: tuple[Template, ...] | None = None

    async def run(self, rounds: int | None) -> int:
        """Watch until an edit, a stop, or enough rounds; return how many there were."""
        session = self.session
        watcher = Watcher(
            session.store,
            self.correct,
            session.clock,
            session.random01,
            Sweeper(session.store, self.world, session.clock, session.random01),
            self._told,
            self.stop,
            complain,
            self._is_over,
            wait_at_most=LOOK_FOR_EDITS_SECONDS,
            look=self.look,
            besides=[
                assessors.Assessments(session, self.world, self.prepared),
                Rollouts(session, self.options, self.world, self.stop, complain),
            ],
        )
        return await watcher.run(rounds=rounds)

    async def correct(self, addresses: Sequence[Address]) -> Report:
        """Read the manifests of some resources again, look at these, and act."""
        return await self._with_fleet(addresses, self._apply)

    async def look(self, addresses: Sequence[Address]) -> Report:
        """Read the manifests of some resources again and look at these, without acting."""
        return await self._with_fleet(addresses, self._look)

    async def _apply(self, addresses: Sequence[Address]) -> Report:
        return await self.session.applier(self.world, stop=self.stop).apply(addresses)

    async def _look(self, addresses: Sequence[Address]) -> Report:
        session = self.session
        return await look(session.preparer(self.world), session.checker(self.world), addresses)

    async def _with_fleet(
        self, addresses: Sequence[Address], work: Callable[[Sequence[Address]], Awaitable[Report]]
    ) -> Report:
        """Do something with part of the fleet while its declarations are at hand."""
        kept = self.session.fleet
        fleet = kept if kept.declarations else await self._fleet_of(addresses)
        self.session.fleet = fleet
        try:
            allowed = set(chosen(fleet, self.options, strict=False))
            return await work([address for address in addresses if address in allowed])
        finally:
            self.session.fleet = kept

    async def _fleet_of(self, addresses: Sequence[Address]) -> Fleet:
        """Read the files that declare these resources; what they refer to is known to the store."""
        states = await self.session.store.states(addresses)
        files = {state.source.rpartition(":")[0] for state in states.values() if state.source}
        known = [Address.parse(text) for state in states.values() for text in state.depends_on]
        there = sorted(filter(os.path.exists, files))
        project = self.session.project
        manifests = reading.read(there, project, whole=False) if there else Manifests(project)
        manifests = await templating.with_chosen(self.session.store, manifests, addresses, self.templates())
        return fleet_of(replace(manifests, strategies=tuple(self.session.fleet.strategies)), known, self.options)

    def templates(self) -> tuple[Template, ...]:
        """Return the templates of the manifests as they are in this era, reading no more of these than it takes."""
        if self._templates is None:
            self._templates = _templates(named_files(self.options, self.session.project), self.session.project)
        return self._templates

    async def prepared(self, address: Address) -> Prepared | str:
        """Read the manifest of one resource again, and make it ready to be looked at."""
        kept = self.session.fleet
        try:
            fleet = kept if kept.declarations else await self._fleet_of([address])
        except HoldfastError as error:
            return str(error)
        return await assessors.Preparing(replace(self.session, fleet=fleet), self.world).one(address)

    async def _told(self, report: Report) -> None:
        _show(report)
        _line(Counter(one.verdict.status for one in report.checked))
        if self._office is None:  # one an era, because it remembers which sinks are to be left alone for a while
            self._office = telling.office(self.session, self.options)
        await telling.tell(report, self._office)

    async def _is_over(self) -> bool:
        """Tell whether the manifests were edited and can be read; if not, it goes on with what there was."""
        now = time.monotonic()
        if not self._seen or now - self._looked_at < LOOK_FOR_EDITS_SECONDS:
            return False
        self._looked_at = now
        await heads.keep(self.session.store, self.session.store_file, self.session.key)
        try:
            project = project_of(self.options)
            files = named_files(self.options, project)
            signature = _signature(files, project)
            if signature == self._seen:
                return False
            self._seen = signature
            known = [state.address async for state in self.session.store.all_states()]
            reading.graph(reading.read(files, project), known)
        except HoldfastError as error:
            complain(error)
            return False
        output.line("the manifests were edited; looking at everything", fg="bright_black")
        return True


async def _until_edited(files: Sequence[str], project: projects.Project, seen: bytes, stop: asyncio.Event) -> None:
    while not stop.is_set() and _signature(files, project) == seen:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), LOOK_FOR_EDITS_SECONDS)


def _signature(files: Sequence[str], project: projects.Project) -> bytes:
    """Return what tells one state of the files from another without reading them."""
    found, _ = sources.find(files, project.profiles)
    paths = [source.path for source in found if source.path is not None]
    digest = hashlib.sha256()
    for file in [*paths, *([project.file] if project.file is not None else []), *project.waivers]:
        with contextlib.suppress(OSError):
            stat = file.stat()
            digest.update(f"{file}\0{stat.st_mtime_ns}\0{stat.st_size}\0{stat.st_ino}\n".encode())
    return digest.digest()


def _show(report: Report) -> None:
    for one in report.checked:
        if reports.is_news(one):
            reports.show_checked(one)
    for acted in report.acted:
        reports.show_acted(acted)


def _line(counted: Counter[Status]) -> None:
    output.line(f"{time.strftime('%H:%M:%S')}  {reports.counted_line(counted)}", fg="bright_black")


def complain(error: HoldfastError) -> None:
    """Say what is wrong with the manifests, and go on."""
    output.warn(f"{error}\n  what it declares is not corrected until this is mended")
