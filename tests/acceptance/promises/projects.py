"""A project on a REST API, and a process of ours that can be ended at one chosen request."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from holdfast.store.sqlite.store import SqliteStore
from holdfast.testing.rest_server import RestServer, Shape
from tests.acceptance.promises import serving
from tests.acceptance.test_commands import run

GENEROUS_SECONDS = 120.0  # for conditions that come about at once on any machine that works


class Project:
    """Manifests of servers named s0, s1, ... on one connection, which takes one request at a time."""

    def __init__(self, path: Path, server: RestServer, kinds: str = serving.KINDS) -> None:
        self.path = path
        self.server = server
        connection = f"  shop:\n    provider: http\n    base_url: {server.url}\n    limits: {{concurrency: 1}}\n"
        (path / "holdfast.yaml").write_text(f"connections:\n{connection}    kinds:\n{kinds}")

    def declare(self, count: int, **fields: Any) -> None:
        texts = [
            "apiVersion: http.holdfast.dev/v1\nkind: Server\n"
            f"metadata: {{name: s{number}}}\n"
            f"spec: {{connection: shop, managedOptions: {{resyncPeriod: 1h}}, "
            f"resource: {json.dumps({'name': f's{number}', **fields})}}}\n"
            for number in range(count)
        ]
        (self.path / "m.yaml").write_text("---\n".join(texts))

    def __call__(self, *args: str, code: int | None = 0) -> str:
        done = run(*args, cwd=self.path)
        assert code is None or done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout + done.stderr

    def json(self, *args: str, code: int | None = 0) -> Any:
        done = run(*args, "-o", "json", cwd=self.path)
        assert code is None or done.returncode == code, done.stdout + done.stderr
        return json.loads(done.stdout)

    def begin(self, *args: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "holdfast", *args],
            cwd=self.path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ},
        )

    def at_request(self, method: str, number: int, act: Callable[[], object], *args: str) -> tuple[int, str]:
        """Run a command and do something while it waits for the answer to its nth request of a method."""
        came, done = threading.Event(), threading.Event()
        seen = [0]

        def before(given: str, _path: str) -> None:
            seen[0] += given == method
            if seen[0] == number and not came.is_set():
                came.set()
                assert done.wait(GENEROUS_SECONDS)

        self.server.before_request = before
        process = self.begin(*args)
        try:
            assert came.wait(GENEROUS_SECONDS), process.communicate(timeout=GENEROUS_SECONDS)[0]
            self.process = process
            act()
        finally:
            done.set()
        said, _ = process.communicate(timeout=GENEROUS_SECONDS)
        self.server.before_request = lambda _method, _path: None
        return process.returncode, said

    def killed_at(self, method: str, number: int, *args: str) -> None:
        """Run a command and end it as a power cut does, while it waits for an answer; the API does what was asked."""
        self.at_request(method, number, self._kill, *args)

    def _kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(GENEROUS_SECONDS)

    def things(self) -> dict[str, dict[str, Any]]:
        found = self.server.collections["servers"]
        return {ident: found[ident] for ident in found.ids()}

    def drift(self, **fields: Any) -> None:
        """Change every live server as a stranger would."""
        for ident in self.things():
            self.server.collections["servers"].merge(ident, fields, "a stranger")

    def events(self, kind: str) -> list[str]:
        """Return whom the events of a type in the audit trail are about."""

        async def read() -> list[str]:
            store = await SqliteStore.open(self.path / ".holdfast/holdfast.db")
            try:
                return [event.event.subject async for event in store.events(type_prefix=kind)]
            finally:
                await store.close()

        return asyncio.run(read())

    def requests(self, method: str) -> list[str]:
        return [entry.path for entry in self.server.journal if entry.method == method]


@contextmanager
def project(path: Path, kinds: str = serving.KINDS) -> Iterator[Project]:
    shape = Shape(stamps=("id",), counted_ids=True)
    with serving.served({"servers": shape, "networks": shape}) as server:
        yield Project(path, server, kinds)


def until(holds: Callable[[], bool]) -> None:
    """Wait for a condition that comes about at once on any machine that works."""
    end = time.monotonic() + GENEROUS_SECONDS
    while not holds():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.02)
