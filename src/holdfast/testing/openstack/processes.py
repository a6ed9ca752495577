"""Starting and stopping the services as processes, known by their pid files, so that any process can stop them."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from holdfast.testing.openstack.configuring import HOST, SERVICES, Layout
from holdfast.testing.openstack.installing import Unavailable

START_SECONDS: Final = 180.0
STOP_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.1
_TAIL: Final = 1500  # characters of a log that are worth showing
_PORTS: Final = range(20_000, 32_000)  # below those that systems give to outgoing connections

_children: list[subprocess.Popen[bytes]] = []  # kept: a process that outlives its Popen is a warning


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
    started: dict[str, subprocess.Popen[bytes]] = {}
    for name in services:
        with (layout.logs / f"{name}.out").open("w") as out:
            started[name] = subprocess.Popen(
                [
                    str(layout.python),
                    str(layout.plugins / "serve.py"),
                    name,
                    str(layout.port(name)),
                    str(layout.folder),
                ],
                env=variables(layout),
                start_new_session=True,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        _children.append(started[name])
        _pid_file(layout, name).write_text(str(started[name].pid))
    _await(layout, started)


def _await(layout: Layout, started: Mapping[str, subprocess.Popen[bytes]]) -> None:
    end = time.monotonic() + START_SECONDS
    for name, process in started.items():
        while not answers(layout, name):
            if process.poll() is not None or time.monotonic() > end:
                said = (layout.logs / f"{name}.out").read_text(errors="replace")[-_TAIL:]
                stop(layout, started)
                raise Unavailable(f"{name} does not start: {said}")
            time.sleep(_POLL_SECONDS)


def answers(layout: Layout, service: str) -> bool:
    """Tell whether a service answers at all; that it wants credentials is an answer, too."""
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
    for child in [child for child in _children if child.poll() is not None]:
        _children.remove(child)


def pid_of(layout: Layout, service: str) -> int | None:
    """Return the process of a service, if it was started."""
    try:
        return int(_pid_file(layout, service).read_text())
    except (OSError, ValueError):
        return None


def is_up(layout: Layout, service: str) -> bool:
    """Tell whether the process of a service runs."""
    pid = pid_of(layout, service)
    return pid is not None and is_alive(pid)


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; where nobody reaps, a dead one stays as a zombie, which counts as dead."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def _pid_file(layout: Layout, service: str) -> Path:
    return layout.var / f"{service}.pid"


def free_ports(count: int) -> int:
    """Return the first of a run of ports that nobody listens on, and that no outgoing connection is ever given."""
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
