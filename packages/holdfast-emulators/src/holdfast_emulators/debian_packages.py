"""Programs from Debian packages, unpacked into a folder without installing them, so that no root is needed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

FETCH_SECONDS = 600.0


class Unavailable(Exception):  # noqa: N818 - the reason why a server cannot be had
    """A program cannot be had on this machine."""


def unpack(packages: Iterable[str], room: Path, state: Path) -> Path:
    """Fetch packages and return the folder with their files below `room`; raise Unavailable if that fails.

    Where the machine has no list of packages, or an old one, a list of our own is kept in `state`.
    """
    missing = [tool for tool in ("apt-get", "dpkg-deb") if shutil.which(tool) is None]
    if missing:
        raise Unavailable(f"there is no {missing[0]} to fetch it with")
    names = list(packages)
    try:
        run(["apt-get", "download", *names], room)
    except Unavailable:
        for name in ("lists/partial", "cache/archives/partial"):
            (state / name).mkdir(parents=True, exist_ok=True)
        own = ["-o", f"Dir::State::lists={state}/lists", "-o", f"Dir::Cache={state}/cache"]
        run(["apt-get", *own, "update"], room)
        run(["apt-get", *own, "download", *names], room)
    whole = room / "whole"
    for package in sorted(room.glob("*.deb")):
        run(["dpkg-deb", "-x", str(package), str(whole)], room)
    return whole


def run(words: list[str], folder: Path) -> None:
    """Run a program in a folder; raise Unavailable with its last words if it fails."""
    try:
        done = subprocess.run(  # noqa: S603 - apt-get and dpkg-deb
            words,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=FETCH_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{' '.join(words[:2])}: {error}") from None
    if done.returncode != 0:
        raise Unavailable(f"{' '.join(words[:2])} failed: {(done.stderr or done.stdout).strip()[-400:]}")
