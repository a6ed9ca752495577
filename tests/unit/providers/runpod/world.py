"""What the tests of the RunPod provider share: an emulator, both halves open on it, and short ways to say things."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from holdfast.model.json import Json
from holdfast.model.read_result import Found
from holdfast.model.write_result import Done
from holdfast.providers import registry
from holdfast.providers.protocol import Change, Connection, Target
from holdfast.providers.runpod.reader import RunPodReader
from holdfast.providers.runpod.writer import RunPodWriter
from holdfast.testing.clock import FakeClock
from holdfast_emulators.runpod import Habits, Limits, RunPodServer, World

Result = TypeVar("Result")

GPU: dict[str, Json] = {
    "imageName": "user/image:1.0",
    "gpus": ["AMPERE_80", "ADA_24"],
    "workersMin": 0,
    "workersMax": 5,
    "idleTimeout": 30,
    "scalerType": "QUEUE_DELAY",
    "scalerValue": 4,
    "flashboot": True,
    "env": {"A": "1"},
}


@dataclass
class Desk:
    """Both halves of a connection to an emulator."""

    server: RunPodServer
    reader: RunPodReader
    writer: RunPodWriter

    async def found(self, target: Target) -> Found:
        seen = await self.reader.read(target)
        assert isinstance(seen, Found), seen
        return seen

    async def made(self, target: Target, key: str = "k1") -> Target:
        done = await self.writer.create(target, key)
        assert isinstance(done, Done), done
        return known(target, done.id)

    async def put_right(self, target: Target, *paths: str) -> Json:
        """Update some paths from the declaration, and return what is there then."""
        seen = await self.found(target)
        done = await self.writer.update(target, Change(target.desired, seen.document, paths), "k2")
        assert isinstance(done, Done), done
        return (await self.found(target)).document

    def live(self, target: Target) -> dict[str, Json]:
        """Return what the platform itself has of an endpoint."""
        assert target.id is not None
        return self.server.account.endpoints[target.id].fields

    def container(self, target: Target) -> dict[str, Json]:
        assert target.id is not None
        account = self.server.account
        return account.template_of(account.endpoints[target.id]).fields


def endpoint(name: str = "e", kind: str = "ServerlessEndpoint", namespace: str | None = None, **fields: Json) -> Target:
    desired = {key: value for key, value in {**GPU, **fields}.items() if value is not None}
    return Target(kind, name, None, desired, namespace)


def cpu(name: str = "c", kind: str = "CpuServerlessEndpoint", **fields: Json) -> Target:
    return endpoint(name, kind, **{"gpus": None, "instanceIds": ["cpu3g-2-8"], **fields})


def known(target: Target, ident: str | None) -> Target:
    return Target(target.kind, target.name, ident, target.desired, target.namespace)


def wanting(target: Target, **fields: Json) -> Target:
    """Return the same with another declaration; None takes a field out."""
    desired = {key: value for key, value in {**target.desired, **fields}.items() if value is not None}
    return Target(target.kind, target.name, target.id, desired, target.namespace)


def connection(server: RunPodServer, token: str | None = None, **settings: Json) -> Connection:
    return Connection("prod", "runpod", {"base_url": server.url, **settings}, {"api_key": token or server.token})


def at_desk(
    story: Callable[[Desk], Awaitable[Result]],
    habits: Habits | None = None,
    limits: Limits | None = None,
    token: str | None = None,
    **settings: Json,
) -> Result:
    async def run() -> Result:
        world = World(FakeClock().now, habits=habits or Habits())
        provider = registry.get("runpod")
        async with RunPodServer(world, limits=limits or Limits()) as server:
            described = connection(server, token, **settings)
            async with provider.reader(described) as reader, provider.writer(described) as writer:
                assert isinstance(reader, RunPodReader)
                assert isinstance(writer, RunPodWriter)
                return await story(Desk(server, reader, writer))

    return asyncio.run(run())
