"""The command line, run inside this process as a process of its own would run it: what it prints, and how it ends."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from holdfast.cli import main


def run(arguments: Sequence[str]) -> tuple[int | str, bytes, bytes]:
    """Run `holdfast` with arguments; return its exit code, or what it crashed with, its output and its errors."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with _streams(out, err):
            code = _ended(arguments, err)
        return code, _written(out), _written(err)


def _ended(arguments: Sequence[str], err: BinaryIO) -> int | str:
    sys.argv = ["holdfast", *arguments]
    try:
        main()
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1
    except BaseException as error:  # noqa: BLE001 - what would end a process with a traceback
        sys.excepthook(type(error), error, error.__traceback__)
        sys.stderr.flush()
        if not os.fstat(err.fileno()).st_size:
            sys.stderr.write("".join(traceback.format_exception(error)))
        return type(error).__name__
    return 0


@contextlib.contextmanager
def _streams(out: BinaryIO, err: BinaryIO) -> Iterator[None]:
    """Give the command files for a terminal, and this process back what it had."""
    before = sys.stdout, sys.stderr, sys.argv, sys.excepthook
    sys.stdout, sys.stderr = (_text(item) for item in (out, err))
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        sys.stdout, sys.stderr, sys.argv, sys.excepthook = before


def _text(file: BinaryIO) -> io.TextIOWrapper:
    """Return a stream that writes to a file at once, and leaves it open."""
    raw = io.FileIO(file.fileno(), "w", closefd=False)
    return io.TextIOWrapper(io.BufferedWriter(raw), "utf-8", "surrogateescape", write_through=True)


def _written(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()
