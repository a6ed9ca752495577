"""The RunPod provider as the registry finds it; nothing here needs pydantic."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib import metadata

from holdfast.providers.http import client
from holdfast.providers.protocol import Connection, Kind, Reader, Writer
from holdfast.providers.runpod import hashing, kinds, settings
from holdfast.providers.runpod.calls import Calls
from holdfast.providers.runpod.listing import Shared
from holdfast.providers.runpod.reader import RunPodReader
from holdfast.providers.runpod.writer import RunPodWriter


class RunPodProvider:
    """Serverless endpoints, network volumes and templates of an account."""

    name = "runpod"

    def __init__(self) -> None:
        hashing.register()
        self._shared: dict[str, Shared] = {}

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """The kinds there are."""
        return kinds.shipped()

    def default_connection(self, environ: Mapping[str, str]) -> Connection:
        """Return the connection that RunPod's own variables describe; raise InputError if there is no key."""
        return settings.ambient(environ)

    @asynccontextmanager
    async def reader(self, connection: Connection) -> AsyncIterator[Reader]:
        """Open the reading half; raise InputError if the connection is not well described."""
        async with self._calls(connection) as calls:
            yield RunPodReader(calls, self._shared_of(connection))

    @asynccontextmanager
    async def writer(self, connection: Connection) -> AsyncIterator[Writer]:
        """Open the writing half; raise InputError if the connection is not well described."""
        async with self._calls(connection) as calls:
            yield RunPodWriter(calls, self._shared_of(connection))

    @asynccontextmanager
    async def _calls(self, connection: Connection) -> AsyncIterator[Calls]:
        account = settings.account(connection)
        async with client.opened(account.api, f"holdfast/{metadata.version('holdfast')}") as opened:
            yield Calls(opened, account)

    def _shared_of(self, connection: Connection) -> Shared:
        return self._shared.setdefault(connection.name, Shared())
