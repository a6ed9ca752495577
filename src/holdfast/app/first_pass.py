"""The pass over everything with which a watch begins, in a process of its own whose memory goes with it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from holdfast.app import notifications, rollout_task, template_groups, undeclared
from holdfast.app.project import Options, Session, opened
from holdfast.cli import console
from holdfast.cli.render import reports
from holdfast.model.verdict import Status
from holdfast.policy import durations, settings
from holdfast.reconcile import unchecked
from holdfast.reconcile.action_result import ActionResult
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.connections import WritableConnections
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolve import Blocked
from holdfast.reconcile.resolved_resource import ResolvedResource

_SHOWN = 5


@dataclass(slots=True)
class Pass:
    """A pass over everything that was begun as a process."""

    _process: asyncio.subprocess.Process
    _waiting: asyncio.Future[int]

    @classmethod
    async def begin(cls, options: Options) -> Self:
        """Start the process; of its own session, so that an interrupt from the terminal comes once, from us."""
        command = [sys.executable, "-m", "holdfast", "watch", "--rounds", "0", *_arguments(options)]
        process = await asyncio.create_subprocess_exec(*command, start_new_session=True)
        return cls(process, asyncio.ensure_future(process.wait()))

    @property
    def code(self) -> int | None:
        """How it ended; None while it is under way."""
        return self._process.returncode

    async def ended(self, stop: asyncio.Event, patience: float | None) -> int:
        """Wait until it has ended, or for a while; a stop ends it. Return its code, 0 while it is under way."""
        stopping = asyncio.ensure_future(stop.wait())
        waits: set[asyncio.Future[Any]] = {self._waiting, stopping}
        await asyncio.wait(waits, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if stop.is_set():
            await self.end()
            return 0
        return self.code or 0

    async def end(self) -> None:
        """Interrupt it if it is under way: it finishes what is in hand."""
        if not self._waiting.done():
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGINT)
        await self._waiting


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


async def run(options: Options, stop: asyncio.Event) -> int:
    """Pass over everything once."""
    async with opened(options) as session, session.writable_world() as world:
        await look_at_everything(session, world, options, stop)
    return 0


async def look_at_everything(
    session: Session, world: WritableConnections, options: Options, stop: asyncio.Event
) -> None:
    """Check and correct everything that may be checked without being asked for, and say what is not."""
    await template_groups.settle(session, world)
    shown: set[int] = set()

    def progress(what: CheckResult | ActionResult | Blocked) -> None:
        if isinstance(what, ActionResult):  # at once, because one connection may keep the rest waiting
            reports.show_acted(what)
            shown.add(id(what))

    applier = session.applier(world, stop=stop, unattended=True, progress=progress)
    report = await applier.apply(session.chosen)  # all at once: mass drift is one only as a whole
    report = template_groups.merged(report, await template_groups.roll(session, world, stop))
    await unchecked.no_longer_declared(session.store, [s.address for s in session.undeclared], session.clock.now())
    show(report, shown)
    rollout_task.show_all(report.groups)
    undeclared.show(session.undeclared)
    await notifications.tell(report, notifications.office(session, options))
    line(Counter(one.verdict.status for one in report.checked))
    _show_periods([*(one.prepared for one in report.checked), *report.left_alone])


def _show_periods(items: Sequence[ResolvedResource]) -> None:
    """Say what a watch is not going to check, and what it checks though nobody said how often."""
    never = [str(item.declaration.address) for item in items if item.resync_seconds <= 0]
    if never:
        named = ", ".join(sorted(never)[:_SHOWN]) + (", ..." if len(never) > _SHOWN else "")
        console.line(f"{len(never)} of {len(items)} not checked by watch, resyncPeriod is 0: {named}", fg="yellow")
    assumed = sum(item.resync_seconds > 0 and not item.settings.is_resync_set for item in items)
    if assumed:
        every = durations.format_seconds(settings.WATCH_PERIOD_SECONDS)
        console.line(f"{assumed} of {len(items)} set no resyncPeriod: checked every {every}", fg="bright_black")


def show(report: RunReport, shown: Sequence[int] | set[int] = ()) -> None:
    """Print what there is to say about a run; actions that were shown when they ended are not shown again."""
    for one in report.checked:
        if reports.is_news(one):
            reports.show_checked(one)
    for acted in report.acted:
        if id(acted) not in shown:
            reports.show_acted(acted)


def line(counted: Counter[Status]) -> None:
    """Print how many were checked, and when."""
    console.line(f"{time.strftime('%H:%M:%S')}  {reports.counted_line(counted)}", fg="bright_black")
