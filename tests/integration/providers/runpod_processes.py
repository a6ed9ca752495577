"""Starting processes that deploy, and asking what they left."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from holdfast.store.records import WriteOperation
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.state import ResourceState
from holdfast_emulators.runpod import RunPodServer

ROOT = Path(__file__).resolve().parents[3]
LONGEST_SECONDS = 280.0

OLD: dict[str, Any] = {"name": "c", "imageName": "user/image:1.0", "workersMax": 3, "env": {"MODE": "fast"}}
NEW: dict[str, Any] = {**OLD, "imageName": "user/image:2.0", "workersMax": 4}


class Process:
    """A process that is ready to deploy."""

    def __init__(self, folder: Path, server: RunPodServer, fields: dict[str, Any], ahead: float = 0.0) -> None:
        command = [sys.executable, "-m", "tests.integration.providers.runpod_child", str(folder), str(ahead)]
        self._popen = subprocess.Popen(
            [*command, json.dumps(fields)],
            cwd=ROOT,
            env={**os.environ, **server.environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._popen.stdout is not None
        self.is_ready = self._popen.stdout.readline() == "ready\n"
        self.pid = self._popen.pid

    def go(self) -> None:
        assert self._popen.stdin is not None
        self._popen.stdin.write("go\n")
        self._popen.stdin.flush()

    def ended(self) -> tuple[int, dict[str, Any]]:
        """Wait for the end; return the exit code and what was said."""
        out, errors = self._popen.communicate(timeout=LONGEST_SECONDS)
        said = json.loads(out) if out.strip() else {"errors": errors}
        return self._popen.returncode, said


def deployed(folder: Path, server: RunPodServer, fields: dict[str, Any], ahead: float = 0.0) -> dict[str, Any]:
    """Deploy in a process of its own, which has to succeed."""
    process = Process(folder, server, fields, ahead)
    process.go()
    code, said = process.ended()
    assert code == 0, said
    return said


def left(folder: Path) -> tuple[list[ResourceState], list[WriteOperation]]:
    """Return the records and the unfinished writes of a folder; the audit trail must be whole."""

    async def look() -> tuple[list[ResourceState], list[WriteOperation]]:
        store = await SqliteStore.open(folder / ".holdfast/holdfast.db")
        try:
            await store.verify_chain()
            return [state async for state in store.all_states()], list(await store.operations())
        finally:
            await store.close()

    return asyncio.run(look())


def live(server: RunPodServer, ident: str) -> dict[str, Any]:
    """Return what the platform itself has of an endpoint, in the words it was declared in."""
    endpoint = server.account.endpoints[ident]
    container = server.account.template_of(endpoint).fields
    return {
        "name": endpoint.fields["name"],
        "workersMax": endpoint.fields["workersMax"],
        "imageName": container["imageName"],
        "env": container["env"],
    }
