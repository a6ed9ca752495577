"""The command line, in virtual processes: real commands, real store, real providers, on a machine that is not real.

Replaced are only the rims: the clock, threads, sockets, child processes, standard output and the numbers of processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import importlib.metadata
import io
import json
import os
import random
import shlex
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import aiohttp
import click

from holdfast.app import watch
from holdfast.cli import command_group
from holdfast.cli import run as cli_run
from holdfast.errors import HoldfastError
from holdfast.reconcile import worker_identity
from holdfast.store.sqlite import store as sqlite
from tests.simulation.kernel import CURRENT, InPlace, Kernel, Process
from tests.simulation.wire import Session

USAGE = 64


class _Captured(BaseException):
    """Carries what a command would have run on an event loop of its own."""

    def __init__(self, main: Callable[[asyncio.Event], Any]) -> None:
        self.main = main


class _Stream(io.TextIOBase):
    """Standard output or error of whichever process runs."""

    def __init__(self, name: str) -> None:
        self._name = name

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError  # so that click knows that this takes text
        process = CURRENT.get()
        if process is not None:
            getattr(process, self._name).append(text)
        return len(text)

    def isatty(self) -> bool:
        return False


class _NoInput(io.StringIO):
    def isatty(self) -> bool:
        return False


class Child:
    """What `create_subprocess_exec` returns, for a command that runs in the same virtual process."""

    def __init__(self, machine: Machine, arguments: Sequence[str]) -> None:
        self.returncode: int | None = None
        self._stop = asyncio.Event()
        self._task = asyncio.ensure_future(machine.outcome(list(arguments), self._stop))

    async def wait(self) -> int:
        """Wait for its end."""
        self.returncode = await asyncio.shield(self._task)
        return self.returncode

    def send_signal(self, _number: int) -> None:
        """Ask it to finish what is in hand."""
        self._stop.set()


class Machine:
    """Runs commands."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.connections: list[Any] = []  # of SQLite, to be closed when all is over
        self.machines = 0

    def start(self, arguments: str | Sequence[str], *, machine: str = "here") -> Process:
        """Start a command, and return the process."""
        words = shlex.split(arguments) if isinstance(arguments, str) else list(arguments)
        number = 1000 + len(self.kernel.processes)
        process = Process(number, machine, words, self.kernel.elapsed)
        process.stop = asyncio.Event()
        return self.kernel.spawn(process, self._lived(process))

    async def _lived(self, process: Process) -> int:
        assert process.stop is not None
        try:
            process.code = await self.outcome(process.arguments, process.stop)
        except BaseException as error:  # noqa: BLE001 - the oracle judges it
            process.error = error
            process.code = 99
        process.ended = self.kernel.elapsed
        return process.code

    async def outcome(self, arguments: list[str], stop: asyncio.Event) -> int:
        """Run a command to its exit code, as holdfast.cli.command_group does."""
        try:
            try:
                code = command_group.cli.main(list(arguments), prog_name="holdfast", standalone_mode=False)
            except _Captured as captured:
                code = await captured.main(stop)
        except click.UsageError as error:
            error.show()
            return USAGE
        except click.ClickException as error:
            error.show()
            return 1
        except HoldfastError as error:
            click.echo(f"Error: {error}", err=True)
            return 1
        return code if isinstance(code, int) else 0

    async def run(
        self, arguments: str | Sequence[str], *, at_most: float = 100_000.0, machine: str = "here"
    ) -> Process:
        """Run a command to its end, or for as long as a person would wait."""
        process = self.start(arguments, machine=machine)
        await self.finished(process, at_most)
        return process

    async def finished(self, process: Process, at_most: float = 100_000.0) -> None:
        """Wait for the end of a process; one that is killed or never ends is left alone."""
        assert process.task is not None
        until = self.kernel.elapsed + at_most
        pause = 0.05
        while process.is_running and self.kernel.elapsed < until:
            await asyncio.wait({process.task}, timeout=pause)
            pause = min(pause * 2, 60.0)

    async def subprocess(self, *command: str, **_: Any) -> Child:
        """Stand for asyncio.create_subprocess_exec: our own command line again, or a program that takes anything."""
        if "holdfast" in command:
            return Child(self, command[command.index("holdfast") + 1 :])
        raise FileNotFoundError(command[0])


def parsed(process: Process) -> Any:
    """Return what a command printed with -o json; None if it printed none."""
    try:
        return json.loads(process.text)
    except ValueError:
        return None


_entry_points = functools.cache(importlib.metadata.entry_points)  # nothing is installed meanwhile


@contextlib.contextmanager
def replaced(kernel: Kernel, machine: Machine, world: Any, seed: int) -> Iterator[None]:
    """Put the virtual machine in place of the real one."""
    original = cli_run.run
    for command in command_group.COMMANDS:
        if command not in ("demo", "bench"):
            importlib.import_module(command_group.module_of(command))

    def captured(main: Callable[[asyncio.Event], Any]) -> int:
        raise _Captured(main)

    def name(part: str = "") -> str:
        process = CURRENT.get()
        own = process.name if process is not None else "sim:0@here"
        return f"{own}{'/' if part else ''}{part}"

    def is_dead(worker: str) -> bool:
        number = int(worker.partition(":")[2].partition("@")[0])
        asking = CURRENT.get()
        found = [process for process in kernel.processes if process.number == number]
        same = asking is not None and all(item.machine == asking.machine for item in found)
        return same and not any(item.is_running for item in found)

    real_connect = sqlite3.connect

    def connect(*arguments: Any, **options: Any) -> Any:
        connection = real_connect(*arguments, **options)
        machine.connections.append(connection)
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    def our_session(**options: Any) -> Session:
        return Session(world, **options)

    state = random.getstate()
    random.seed(seed)
    with contextlib.ExitStack() as stack:
        put = lambda target, attribute, value: stack.enter_context(mock.patch.object(target, attribute, value))  # noqa: E731
        for module_name, module in list(sys.modules.items()):
            if module_name.startswith("holdfast.cli.") and vars(module).get("run") is original:
                put(module, "run", captured)
        put(importlib.metadata, "entry_points", _entry_points)
        put(worker_identity, "name", name)
        put(worker_identity, "is_dead", is_dead)
        put(sqlite, "ThreadPoolExecutor", InPlace)
        put(sqlite3, "connect", connect)
        put(aiohttp, "ClientSession", our_session)
        put(aiohttp, "TCPConnector", lambda **_: None)
        put(asyncio, "create_subprocess_exec", machine.subprocess)
        put(sys, "stdout", _Stream("out"))
        put(sys, "stderr", _Stream("err"))
        put(sys, "stdin", _NoInput())
        put(time, "time", kernel.wall_time)
        put(time, "monotonic", lambda: kernel.elapsed)
        put(time, "sleep", lambda _: None)
        put(watch, "LOOK_FOR_EDITS_SECONDS", world.edits_every)
        stack.enter_context(mock.patch.dict(os.environ, world.environment))
        try:
            yield
        finally:
            for connection in machine.connections:
                with contextlib.suppress(Exception):
                    connection.close()
            random.setstate(state)
