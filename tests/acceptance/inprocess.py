"""The commands in this very process: as a person types them, without the start of an interpreter for each."""

from __future__ import annotations

import contextlib
import os
import subprocess
import traceback
from pathlib import Path

from click.testing import CliRunner

from holdfast.cli import app


def invoke(*args: str, cwd: Path, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command; whatever escapes it is a traceback on its standard error, as the interpreter would print it."""
    runner = CliRunner()
    with contextlib.chdir(cwd), runner.isolation(stdin, {**os.environ, **env}) as (out, err, *_):
        try:
            code = app._outcome(list(args))
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        except BaseException:  # noqa: BLE001 - to be looked at by the test
            code = 1
            err.write(traceback.format_exc().encode())
        return subprocess.CompletedProcess(args, code, out.getvalue().decode(), err.getvalue().decode())
