"""Ports and waiting, for servers that are started on this machine."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable


def free_port() -> int:
    """Return a port without a listener."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(condition: Callable[[], bool], seconds: float, failure: str) -> None:
    """Wait until a condition is true; raise AssertionError with the failure after the given time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(failure)
        time.sleep(0.1)
