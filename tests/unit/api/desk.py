"""What the tests of the Python door share: an emulator, a folder, a clock that does not wait, and managers on them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

from holdfast.api import ResourceManager
from holdfast.model.json import Json
from holdfast.providers.runpod import CpuLoadBalancerSlsResource
from holdfast.reconcile.retry import RetryPolicy
from holdfast.testing.clock import FakeClock
from holdfast_emulators.runpod import Habits, RunPodServer, World

Result = TypeVar("Result")


@dataclass
class Desk:
    """Somebody with a folder and an account; each `manager` is another process as far as anybody can tell."""

    server: RunPodServer
    folder: Path
    clock: FakeClock = field(default_factory=FakeClock)

    def manager(self, **given: Any) -> ResourceManager:
        return ResourceManager(self.folder, clock=self.clock, patience=RetryPolicy(attempts=2), **given)

    def live(self, ident: str | None) -> dict[str, Json]:
        """Return what the platform itself has of an endpoint."""
        assert ident is not None
        return self.server.account.endpoints[ident].fields

    def container(self, ident: str | None) -> dict[str, Json]:
        assert ident is not None
        account = self.server.account
        return account.template_of(account.endpoints[ident]).fields

    def names(self) -> list[str]:
        return sorted(endpoint.fields["name"] for endpoint in self.server.account.endpoints.values())

    def quiet(self) -> RunPodServer:
        """Forget what was asked so far."""
        self.server.journal.clear()
        return self.server

    def kept(self) -> bytes:
        """Return every byte that is on disk."""
        return b"".join(path.read_bytes() for path in sorted(self.folder.rglob("*")) if path.is_file())


def balancer(**fields: Any) -> CpuLoadBalancerSlsResource:
    """Return the endpoint of the design's own example."""
    given = {"name": "inference-lb", "imageName": "user/image:1.0", "workersMin": 2, "workersMax": 5}
    return CpuLoadBalancerSlsResource(**{**given, **fields})


def at_desk(folder: Path, story: Callable[[Desk], Awaitable[Result]], habits: Habits | None = None) -> Result:
    async def run() -> Result:
        clock = FakeClock()
        async with RunPodServer(World(clock.now, habits=habits or Habits())) as server:
            with mock.patch.dict(os.environ, server.environ):
                return await story(Desk(server, folder, clock))

    return asyncio.run(run())
