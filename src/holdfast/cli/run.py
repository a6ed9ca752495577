"""Running a command: the event loop, interrupts, and the project that it opens."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from holdfast.app import project as app
from holdfast.app import selection
from holdfast.app.options import ProjectOptions, Reads
from holdfast.app.project import Project
from holdfast.app.selection import StoreSelection
from holdfast.cli import stdout, terminal_escape
from holdfast.cli.options import options_of
from holdfast.reconcile.known_secrets import KnownSecrets

GRACE_SECONDS: Final = 30.0  # for in-flight writes, after the first interrupt


@asynccontextmanager
async def open_project(
    options: ProjectOptions, *, reads: Reads = "project", needs_store: bool = False, beside: Sequence[str] = ()
) -> AsyncIterator[Project]:
    """Open a project; its secrets are hidden in all output from now on."""
    known = KnownSecrets()
    terminal_escape.hide_with(known.hidden)
    opened = app.open_project(options, reads=reads, needs_store=needs_store, beside=beside, known_secrets=known)
    async with opened as project:
        yield project


def run(main: Callable[[asyncio.Event], Awaitable[int]]) -> int:
    """Run a command. The first interrupt lets it finish in-flight writes, the second stops it at once."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(_guarded(main))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_guarded(main))


async def _guarded(main: Callable[[asyncio.Event], Awaitable[int]]) -> int:
    stop = asyncio.Event()
    received: list[int] = []
    stdout.when_broken(stop.set)
    task = asyncio.ensure_future(main(stop))
    loop = asyncio.get_running_loop()

    def interrupt(number: int) -> None:
        received.append(number)
        if stop.is_set():
            task.cancel()
            return
        stop.set()
        loop.call_later(GRACE_SECONDS, task.cancel)  # a call that never returns must not keep the command running
        print("Stopping after in-flight writes. Press Ctrl-C again to stop now.", file=sys.stderr)  # noqa: T201

    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError, ValueError):
            loop.add_signal_handler(number, interrupt, number)
    try:
        code = await task
    except asyncio.CancelledError:
        return 128 + (received[0] if received else signal.SIGINT)
    return 128 + received[0] if received else code


def in_project(
    arguments: dict[str, Any],
    body: Callable[[Project], Awaitable[int]],
    **how: Any,  # of open_project
) -> int:
    """Run the body of a command in the project that its options name."""
    options = options_of(arguments)

    async def main(_stop: asyncio.Event) -> int:
        async with open_project(options, **how) as project:
            return await body(project)

    return run(main)


def in_store(arguments: dict[str, Any], body: Callable[[Project, StoreSelection], Awaitable[int]]) -> int:
    """Run the body of a command that only reads the store, on all of it or the selected part."""

    async def scoped(project: Project) -> int:
        return await body(project, await selection.scope_of(project.store, project.options))

    return in_project(arguments, scoped, needs_store=True, reads="none")
