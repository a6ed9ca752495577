"""The http provider as the registry finds it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib import metadata

from holdfast.providers.base import Connection, Kind, Reader, Writer
from holdfast.providers.http import client, describing
from holdfast.providers.http.description import Described
from holdfast.providers.http.reading import HttpReader
from holdfast.providers.http.writing import HttpWriter


class HttpProvider:
    """REST APIs described by their connections; which kinds there are, only a reader knows."""

    name = "http"
    kinds: Mapping[str, Kind] = {}

    @asynccontextmanager
    async def reader(self, connection: Connection) -> AsyncIterator[Reader]:
        """Open the reading half; raise InputError if the description is wrong."""
        api = describing.describe(connection)
        async with client.opened(api, _agent()) as opened:
            yield HttpReader(opened, api, {name: _kind(described) for name, described in api.kinds.items()})

    @asynccontextmanager
    async def writer(self, connection: Connection) -> AsyncIterator[Writer]:
        """Open the writing half; raise InputError if the description is wrong."""
        api = describing.describe(connection)
        async with client.opened(api, _agent()) as opened:
            yield HttpWriter(opened, api)


def _agent() -> str:
    return f"holdfast/{metadata.version('holdfast')}"


def _kind(described: Described) -> Kind:
    listing = described.list
    lists_all = listing is not None and not listing.call.path.names  # needs no value of a single declaration
    return Kind(
        described.name,
        patches=described.update is not None and described.update.body.is_patch,
        lists=lists_all and listing is not None and not listing.is_partial,
        conditional=described.is_conditional,
        profiles=(described.profile,) if described.profile is not None else (),
        discovers=lists_all,
    )
