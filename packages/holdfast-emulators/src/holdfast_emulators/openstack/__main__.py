"""A control plane from the command line.

python -m holdfast_emulators.openstack up DIR [SERVICE ...]      start it; it stays up when this process ends
python -m holdfast_emulators.openstack status DIR
python -m holdfast_emulators.openstack client DIR                where the ordinary `openstack` command is
python -m holdfast_emulators.openstack down DIR                  stop it, and remove the folder
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from holdfast_emulators.openstack.configuration import SERVICES
from holdfast_emulators.openstack.control_plane import NETWORKING, ControlPlane
from holdfast_emulators.openstack.install import Unavailable


def main(arguments: list[str] | None = None) -> int:
    """Start or stop a control plane that stays up when this process ends."""
    parser = argparse.ArgumentParser(
        prog="python -m holdfast_emulators.openstack",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("verb", choices=list(_VERBS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("service", nargs="*", choices=[*SERVICES, []], help="all, or only these")
    options = parser.parse_args(arguments)
    try:
        return _VERBS[options.verb](options.folder, tuple(options.service) or SERVICES)
    except (Unavailable, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _up(folder: Path, services: tuple[str, ...]) -> int:
    began = time.monotonic()
    wanted = tuple(dict.fromkeys((*NETWORKING[:1], *services)))
    plane = ControlPlane.open(folder, wanted, keep=True, say=lambda words: _tell(f"{words}\n"))
    sys.stdout.write(f"up in {time.monotonic() - began:.0f} s; export OS_CLIENT_CONFIG_FILE={plane.layout.folder}")
    sys.stdout.write("/clouds.yaml OS_CLOUD=local\n")
    return 0


def _tell(words: str) -> None:
    sys.stderr.write(words)
    sys.stderr.flush()


def _down(folder: Path, _services: tuple[str, ...]) -> int:
    ControlPlane.at(folder).down()
    return 0


def _status(folder: Path, services: tuple[str, ...]) -> int:
    plane = ControlPlane.at(folder)
    for name in services:
        sys.stdout.write(f"{name:10} {plane.url(name)} {'up' if plane.is_up(name) else 'down'}\n")
    return 0


def _client(folder: Path, _services: tuple[str, ...]) -> int:
    sys.stdout.write(f"{ControlPlane.at(folder).layout.python.parent / 'openstack'}\n")
    return 0


_VERBS = {"up": _up, "down": _down, "status": _status, "client": _client}

if __name__ == "__main__":
    sys.exit(main())
