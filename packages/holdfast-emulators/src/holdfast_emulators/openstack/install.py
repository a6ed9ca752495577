"""The services' own virtual environment: made once from the configured package index, and kept.

Apart from ours because the services bring some 160 distributions; the product needs none of them. One process makes it
while others wait; what was begun and not finished is recreated from the start.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Final

REQUIREMENTS: Final = (
    "keystone==30.0.0",
    "neutron==29.0.0",
    "glance==33.0.0",
    "openstack-placement==16.0.0",
    "nova==34.0.0",
    "cinder==29.0.0",
    "openstacksdk==4.22.0",
    "python-openstackclient",
    "waitress",
)
HOME_VARIABLE: Final = "HOLDFAST_OPENSTACK_HOME"
LONGEST_SECONDS: Final = 1500.0
ATTEMPTS: Final = 3
_PAUSE_SECONDS: Final = 5.0  # before the second attempt; twice as long before the third
_READY: Final = ".ready"

Say = Callable[[str], None]


class Unavailable(Exception):  # noqa: N818 - an outcome, not a mistake
    """The services cannot be had on this machine; the text says why."""


def silent(words: str) -> None:
    """Discard a message about progress."""
    del words


def home() -> Path:
    """Return where environments and prepared databases are kept between runs."""
    named = os.environ.get(HOME_VARIABLE)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(named) if named else cache / "holdfast" / "openstack"


def inside(name: str) -> Path:
    """Return a file that belongs inside the services' environment."""
    return Path(str(resources.files(__package__).joinpath("inside", name)))


def key() -> str:
    """Name what an environment is made of, so that another set of versions gets another environment."""
    pins = inside("constraints.txt").read_bytes()
    text = "\n".join([*REQUIREMENTS, sys.version.partition(" ")[0], sys.base_prefix]).encode()
    return hashlib.sha256(text + pins).hexdigest()[:12]


def environment(say: Say = silent) -> Path:
    """Return the interpreter of the services' environment, made first if it is not there; raise Unavailable."""
    folder = home() / f"env-{key()}"
    python = folder / "bin" / "python"
    with locked(home() / "install.lock"):
        if not _is_whole(folder, python):
            say(f"installing OpenStack's services into {folder}: once, some 160 packages, a minute or three")
            began = time.monotonic()
            _make(folder, python, say)
            say(f"installed in {time.monotonic() - began:.0f} s")
    return python


def _is_whole(folder: Path, python: Path) -> bool:
    """Return True if an environment is complete and still runs: its base interpreter may have been removed."""
    if not (folder / _READY).exists():
        return False
    try:
        return subprocess.run([str(python), "-c", ""], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold a lock among the processes of this machine."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _make(folder: Path, python: Path, say: Say) -> None:
    """Make it whole or not at all: the mark that says so comes last."""
    shutil.rmtree(folder, ignore_errors=True)
    # Without pip of its own: Debian splits ensurepip from python3, and our own pip can install into another place.
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)], "no virtual environment can be made")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--progress-bar", "off"]
    pins = ["--constraint", str(inside("constraints.txt"))]
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _run([*pip, *pins, *REQUIREMENTS], "the services cannot be installed")
            break
        except Unavailable as reason:
            if attempt == ATTEMPTS:
                raise
            say(f"attempt {attempt} of {ATTEMPTS} failed, trying again: {reason}")
            time.sleep(_PAUSE_SECONDS * attempt)
    (folder / _READY).touch()


def _run(command: list[str], failure: str) -> None:
    # What speaks of our own environment must not lead the new one astray.
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False, env=environ
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{failure}: {error}") from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        said = [line for line in lines if line.startswith("ERROR")] or lines[-3:]
        raise Unavailable(f"{failure}: {'; '.join(said)[:500] or f'exit code {done.returncode}'}")
