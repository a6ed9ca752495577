"""Starting and stopping the services as processes, known by their pid files, so that any process can stop them."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from holdfast_emulators.openstack.configuration import HOST, SERVICES, Layout
from holdfast_emulators.openstack.install import Unavailable

START_SECONDS: Final = 180.0
STOP_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.1
_TAIL: Final = 1500  # characters of a log that are worth showing
_PORTS: Final = range(20_000, 32_000)  # below those that systems give to outgoing connections


def variables(layout: Layout) -> dict[str, str]:
    """Return the environment that the services run in."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("OS_")},
        "PYTHONWARNINGS": "ignore",
        "PYTHONPATH": str(layout.plugins),
        "OS_NEUTRON_CONFIG_FILES": "neutron.conf",
        "OS_GLANCE_CONFIG_FILES": "glance-api.conf",
        "OS_CINDER_DISABLE_EVENTLET_PATCHING": "1",
        **{f"OS_{name.upper()}_CONFIG_DIR": str(layout.etc / name) for name in SERVICES},
    }


def spawn(layout: Layout, services: Iterable[str]) -> None:
    """Start services, all at once, and wait until each answers; raise Unavailable if one does not."""
    started: dict[str, int] = {}
    for name in services:
        command = [str(layout.python), str(layout.plugins / "serve.py"), name, str(layout.port(name))]
        started[name] = _detached([*command, str(layout.folder)], variables(layout), layout.logs / f"{name}.out")
        _pid_file(layout, name).write_text(str(started[name]))
    _await(layout, started)


def _detached(command: list[str], environ: Mapping[str, str], out: Path) -> int:
    """Start a process that outlives this one and needs no wait. Return its id."""
    write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(out), write, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    return os.posix_spawn(command[0], command, environ, file_actions=actions, setsid=True)


def _await(layout: Layout, started: Mapping[str, int]) -> None:
    end = time.monotonic() + START_SECONDS
    for name, pid in started.items():
        while not answers(layout, name):
            if not is_alive(pid) or time.monotonic() > end:
                said = (layout.logs / f"{name}.out").read_text(errors="replace")[-_TAIL:]
                stop(layout, started)
                raise Unavailable(f"{name} does not start: {said}")
            time.sleep(_POLL_SECONDS)


def answers(layout: Layout, service: str) -> bool:
    """Return True if a service answers at all; that it wants credentials is an answer, too."""
    try:
        urllib.request.urlopen(layout.url(service) + "/", timeout=30).close()  # noqa: S310 - our own loopback address
    except urllib.error.HTTPError as error:
        error.close()
    except OSError:
        return False
    return True


def stop(layout: Layout, services: Iterable[str] = SERVICES) -> None:
    """Stop services, first politely; those that are not there are stopped."""
    pids = {name: pid for name in services if (pid := pid_of(layout, name)) is not None}
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in filter(is_alive, pids.values()):
            os.kill(pid, number)
        end = time.monotonic() + STOP_SECONDS
        while any(map(is_alive, pids.values())) and time.monotonic() < end:
            time.sleep(0.02)
    for name in pids:
        _pid_file(layout, name).unlink(missing_ok=True)
    for pid in pids.values():
        with contextlib.suppress(ChildProcessError):  # the child of another process
            os.waitpid(pid, os.WNOHANG)


def pid_of(layout: Layout, service: str) -> int | None:
    """Return the process of a service, if it was started."""
    try:
        return int(_pid_file(layout, service).read_text())
    except (OSError, ValueError):
        return None


def is_up(layout: Layout, service: str) -> bool:
    """Return True if the process of a service runs."""
    pid = pid_of(layout, service)
    return pid is not None and is_alive(pid)


def is_alive(pid: int) -> bool:
    """Return True if a process runs. Without a reaper a dead one stays as a zombie, which counts as dead."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def _pid_file(layout: Layout, service: str) -> Path:
    return layout.var / f"{service}.pid"


def free_ports(count: int) -> int:
    """Return the first of a run of free ports that no outgoing connection is ever given."""
    for _ in range(200):
        first = _PORTS.start + secrets.randbelow(len(_PORTS) - count)
        if all(map(_is_free, range(first, first + count))):
            return first
    raise Unavailable(f"there are no {count} free ports in a row")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
