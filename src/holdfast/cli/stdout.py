"""Standard output that may fail: a full disk or a closed pipe is remembered, and stops no write that is under way."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

CLOSED = 128 + signal.SIGPIPE  # what a shell reports of a program whose reader went away


class Outlet(io.FileIO):
    """A descriptor to write to; after the first failure everything more is dropped."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self.failure: OSError | None = None
        self.when_broken: Callable[[], None] = lambda: None

    def write(self, data: ReadableBuffer, /) -> int:
        """Write to the descriptor, and remember the first failure."""
        if self.failure is None:
            try:
                return super().write(data)
            except OSError as error:
                self.failure = error
                self.when_broken()
        return memoryview(data).nbytes


_standard: Outlet | None = None


def install() -> bool:
    """Put outlets in place of standard output and error; return False if standard output is closed."""
    global _standard  # noqa: PLW0603 - there is one standard output
    if sys.stderr is not None:
        sys.stderr = _text(sys.stderr, Outlet(sys.stderr.fileno()))
    if sys.stdout is None:
        return False
    _standard = Outlet(sys.stdout.fileno())
    sys.stdout = _text(sys.stdout, _standard)
    return True


def _text(before: TextIO, outlet: Outlet) -> TextIO:
    before.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(outlet), before.encoding, before.errors, line_buffering=os.isatty(outlet.fileno())
    )


def when_broken(stop: Callable[[], None]) -> None:
    """Set the function that stops a run after its in-flight writes once standard output is broken."""
    if _standard is not None:
        _standard.when_broken = stop


def closing_code(code: int) -> tuple[int, str]:
    """Flush standard output. Return the exit code, and a message if some output was lost."""
    if _standard is None:
        return code, ""
    sys.stdout.flush()
    failure = _standard.failure
    if failure is None:
        return code, ""
    if failure.errno == errno.EPIPE:
        return code or CLOSED, ""
    return code or 1, f"standard output could not be written: {failure.strerror}; what is done is in `holdfast history`"
