"""A `watch` that runs beside a test, and what a test waits for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE_SECONDS = 180.0  # generous: what is waited for happens sooner on any machine


@contextmanager
def watch(folder: Path, *args: str, **env: str) -> Iterator[subprocess.Popen[str]]:
    """Run `watch` as a process of its own until the block ends."""
    with (folder / "watch.out").open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "holdfast", "watch", *args],
            cwd=folder,
            stdout=out,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **env},
        )
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(PATIENCE_SECONDS)
            finally:
                process.kill()
                process.wait()


def said(folder: Path) -> str:
    """Return what the watch has printed so far."""
    return (folder / "watch.out").read_text()


def until(is_so: Callable[[], bool], folder: Path, what: str) -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < end, f"{what}: not within {PATIENCE_SECONDS:.0f} s\n{said(folder)}"
        time.sleep(0.1)
