"""Names of workers, and the detection of dead ones.

A claim keeps others away from a resource until it expires, which takes minutes. That is right for a worker that may
only be slow, and needless for a killed process of this machine. So a name has the process, the time of its start, and
the realm in which the process number is unique: the boot of a machine and a PID namespace. The claims of a worker
whose death cannot be proved (another machine, another container, no /proc) are left to expire.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import socket
from functools import cache
from pathlib import Path
from typing import Final

from holdfast.store.protocol import ClaimStore

_PROC: Final = Path("/proc")
_NAME: Final = re.compile(r"^.*:(?P<process>\d+)#(?P<realm>[0-9a-f]+)\.(?P<began>\d+)(?:/.*)?$")
_BEGAN: Final = 19  # the field of /proc/PID/stat, counted after the name of the program


def name(part: str = "") -> str:
    """Return the name of this process, or of a part of it that works by itself."""
    process = os.getpid()
    known = f"#{realm}.{began}" if (realm := _realm()) and (began := _began(process)) else ""
    return f"{socket.gethostname()}:{process}{known}{'/' if part else ''}{part}"


def is_dead(worker: str) -> bool:
    """Return True if a worker is known to be dead."""
    found = _NAME.match(worker)
    return found is not None and found["realm"] == _realm() and _began(int(found["process"])) != found["began"]


async def bury(store: ClaimStore) -> int:
    """Release the claims of dead workers. Return the number of claims."""
    claims = await store.claims()
    dead = {owner for owner in {claim.owner for claim in claims} if is_dead(owner)}
    left = [claim for claim in claims if claim.owner in dead]
    await asyncio.gather(*[store.release(claim) for claim in left])
    return len(left)


@cache
def _realm() -> str:
    """Return the realm in which a process number is unique, or an empty string if it is unknown."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        space = (_PROC / "self/ns/pid").readlink()
    except OSError:
        return ""
    return hashlib.sha256(f"{boot} {space}".encode()).hexdigest()[:8]


def _began(process: int) -> str:
    """Return when a process began, in ticks since the boot; "" if there is none, or only its remains."""
    try:
        fields = (_PROC / str(process) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[_BEGAN]
