"""The command line, run inside this process as a process of its own would run it: what it prints, and how it ends."""

from __future__ import annotations

import contextlib
import io
import sys
import traceback
from collections.abc import Sequence

from holdfast.cli import main


def run(arguments: Sequence[str]) -> tuple[int | str, bytes, bytes]:
    """Run `holdfast` with arguments; return its exit code, or what it crashed with, its output and its errors."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape", write_through=True) for _ in range(2))
    code: int | str = 0
    before = sys.argv, sys.excepthook
    sys.argv = ["holdfast", *arguments]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        except BaseException as error:  # noqa: BLE001 - what would end a process with a traceback
            code = type(error).__name__
            sys.excepthook(type(error), error, error.__traceback__)
            if not _written(err):
                err.write("".join(traceback.format_exception(error)))
    sys.argv, sys.excepthook = before
    return code, _written(out), _written(err)


def _written(stream: io.TextIOWrapper) -> bytes:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue()
