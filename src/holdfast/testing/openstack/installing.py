"""The services' own virtual environment: made once from the configured package index, and kept.

Apart from ours because the services bring some 160 distributions; the product needs none of them.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
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
_READY: Final = ".ready"


class Unavailable(Exception):  # noqa: N818 - an outcome, not a mistake
    """The services cannot be had on this machine; the text says why."""


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


def environment() -> Path:
    """Return the interpreter of the services' environment, made first if it is not there; raise Unavailable."""
    folder = home() / f"env-{key()}"
    python = folder / "bin" / "python"
    with locked(home() / "install.lock"):
        if not (folder / _READY).exists():
            shutil.rmtree(folder, ignore_errors=True)
            _make(folder, python)
            (folder / _READY).touch()
    return python


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Be the only process on this machine that is at it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _make(folder: Path, python: Path) -> None:
    # Without pip of its own: Debian splits ensurepip from python3, and our own pip can install into another place.
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)], "no virtual environment can be made")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--progress-bar", "off"]
    pins = ["--constraint", str(inside("constraints.txt"))]
    _run([*pip, *pins, *REQUIREMENTS], "the services cannot be installed")


def _run(command: list[str], failure: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{failure}: {error}") from error
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()[-3:]
        raise Unavailable(f"{failure}: {'; '.join(said)[:500]}")
