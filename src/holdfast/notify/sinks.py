"""Sending an event somewhere: into a file, to a program, to a webhook. Nothing here decides what is worth telling.

A sink either has the event or raises Undelivered with a sentence that holds neither the event nor an address that may
be a secret.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import Final, Protocol

import orjson

from holdfast.manifests import notify_spec
from holdfast.manifests.notify_spec import ToCommand, ToFile, ToWebhook
from holdfast.manifests.secrets import Resolver
from holdfast.model.record import dataclass
from holdfast.notify.cloudevents import CloudEvent, rfc3339
from holdfast.reconcile.clock import Clock
from holdfast.reconcile.retry import RetryPolicy

COMMAND_SECONDS: Final = 30.0
ATTEMPT_SECONDS: Final = 10.0


class Undelivered(Exception):  # noqa: N818 - an outcome, not a mistake
    """The event did not arrive, as far as anybody can tell; the message says why."""


class Sink(Protocol):
    """One place that takes events."""

    async def send(self, event: CloudEvent) -> None:
        """Deliver the event or raise Undelivered."""


@dataclass(frozen=True, slots=True)
class SinkContext:
    """The tools that sending needs in addition to the event."""

    clock: Clock
    random01: Callable[[], float]
    resolver: Resolver
    patience: RetryPolicy = field(default_factory=lambda: RetryPolicy(attempts=3))
    command_seconds: float = COMMAND_SECONDS
    attempt_seconds: float = ATTEMPT_SECONDS


def open_sink(spec: notify_spec.SinkSpec, means: SinkContext) -> Sink:
    """Return a sender for the target of a sink. Raise Undelivered if one of its secrets cannot be resolved."""
    match spec.target:
        case ToFile(path):
            return FileSink(path)
        case ToCommand(words, folder):
            return CommandSink(words, folder, means.command_seconds)
        case ToWebhook() as target:
            from holdfast.notify import webhook  # noqa: PLC0415 - an HTTP client takes long to import, and few need one

            return webhook.open_hook(target, means)


# -- files


@dataclass(frozen=True, slots=True)
class FileSink:
    """Appends a line an event, in one write, so that lines of several processes do not mix."""

    path: Path

    async def send(self, event: CloudEvent) -> None:
        """Append the event."""
        await asyncio.to_thread(append_line, self.path, event.dumps())


def append_line(path: Path, line: bytes) -> None:
    """Append one line to a file; raise Undelivered if that cannot be done."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, line + b"\n")
        finally:
            os.close(descriptor)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or error}"
        raise Undelivered(message) from None


def keep_letter(path: Path, sink: str, event: CloudEvent, why: str, now: float) -> None:
    """Keep an event that could not be delivered, with the reason, to be read or sent again later."""
    letter = {"at": rfc3339(now), "sink": sink, "why": why, "event": event.as_json()}
    append_line(path, orjson.dumps(letter))


# -- programs


@dataclass(frozen=True, slots=True)
class CommandSink:
    """Runs a program with the event on its standard input; exit code 0 means that it has it."""

    words: tuple[str, ...]
    folder: Path
    seconds: float = COMMAND_SECONDS

    async def send(self, event: CloudEvent) -> None:
        """Run the program once; what it prints is not repeated, it may hold anything."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self.words,
                cwd=self.folder,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,  # so that all of it can be ended, children included
            )
        except OSError as error:
            message = f"{self.words[0]} cannot be run: {error.strerror or error}"
            raise Undelivered(message) from None
        try:
            async with asyncio.timeout(self.seconds):
                await process.communicate(event.dumps())
        except TimeoutError:
            message = f"{self.words[0]} took longer than {self.seconds:g} seconds"
            raise Undelivered(message) from None
        finally:
            await _end(process)
        if process.returncode != 0:
            message = f"{self.words[0]} failed with exit code {process.returncode}"
            raise Undelivered(message)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a program that is still running, with all it started."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
