"""The commands in this very process: as a person types them, without the start of an interpreter for each."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import traceback
from collections.abc import Iterator
from pathlib import Path

from click.testing import CliRunner

from holdfast.cli import command_group


def invoke(
    *args: str, stdin: str | bytes = b"", cwd: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run a command; whatever escapes it is a traceback on its standard error, as the interpreter would print it."""
    data = stdin.encode("utf-8", "surrogatepass") if isinstance(stdin, str) else stdin
    folder = contextlib.chdir(cwd) if cwd is not None else contextlib.nullcontext()
    runner = CliRunner()
    with folder, _usual_collector(), runner.isolation(data, {**os.environ, **env}) as (out, err, *_):
        try:
            code = command_group._outcome(list(args))
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        except BaseException:  # noqa: BLE001 - to be looked at by the test
            code = 1
            err.write(traceback.format_exc().encode())
        return subprocess.CompletedProcess(args, code, out.getvalue().decode(), err.getvalue().decode())


@contextlib.contextmanager
def _usual_collector() -> Iterator[None]:
    """Undo what a command does to the garbage collector of its process."""
    before = gc.get_threshold()
    try:
        yield
    finally:
        gc.set_threshold(*before)
