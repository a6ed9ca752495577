"""The http provider as the registry finds it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib import metadata

import orjson

from holdfast.compare import paths
from holdfast.model.absent import ABSENT
from holdfast.provider import Connection, Declaration, Json, Kind, Reader, Writer
from holdfast.providers.http import client, description_parser
from holdfast.providers.http.description import Described
from holdfast.providers.http.reader import HttpReader
from holdfast.providers.http.writer import HttpWriter


class HttpProvider:
    """REST APIs described by their connections; which kinds there are, only a reader knows."""

    name = "http"
    kinds: Mapping[str, Kind] = {}

    def identity(self, connection: Connection, declaration: Declaration) -> str | None:
        """Return the identity of a resource: the declared id, or the API's address with the fields of `find`."""
        kind = declaration.address.kind
        base = str(connection.settings.get("base_url", "")).rstrip("/")
        if declaration.import_from is not None:
            ident = declaration.import_from.id
            return None if ident is None else orjson.dumps([base, kind, ident]).decode()
        kinds = connection.settings.get("kinds")
        described = kinds.get(kind) if isinstance(kinds, dict) else None
        find = described.get("find") if isinstance(described, dict) else None
        by = find.get("by") if isinstance(find, dict) else None
        if not isinstance(by, list) or not by or not all(isinstance(text, str) for text in by):
            return None
        values = [paths.resolve(declaration.desired, paths.parse_path(text)) for text in by]
        if ABSENT in values or any(_is_open(value) for value in values):
            return None
        return orjson.dumps([base, kind, dict(zip(by, values, strict=True))], option=orjson.OPT_SORT_KEYS).decode()

    @asynccontextmanager
    async def reader(self, connection: Connection) -> AsyncIterator[Reader]:
        """Open the reading half; raise InputError if the description is wrong."""
        api = description_parser.describe(connection)
        async with client.opened(api, _agent()) as opened:
            yield HttpReader(opened, api, {name: _kind(described) for name, described in api.kinds.items()})

    @asynccontextmanager
    async def writer(self, connection: Connection) -> AsyncIterator[Writer]:
        """Open the writing half; raise InputError if the description is wrong."""
        api = description_parser.describe(connection)
        async with client.opened(api, _agent()) as opened:
            yield HttpWriter(opened, api)


def _is_open(value: Json) -> bool:
    """Return True for a value that is known only later: a reference, or anything that may hold one."""
    return not isinstance(value, str | int | float) or (isinstance(value, str) and "${" in value)


def _agent() -> str:
    return f"holdfast/{metadata.version('holdfast')}"


def _repeats_create(described: Described) -> bool:
    """Return True if a create that is sent twice makes one thing: by an idempotency key, or to a place of its own."""
    create = described.create
    return create is None or described.idempotency_header is not None or create.call.method == "PUT"


def _kind(described: Described) -> Kind:
    listing = described.list
    lists_all = listing is not None and not listing.call.path.names  # needs no value of a single declaration
    return Kind(
        described.name,
        patches=described.update is not None and described.update.body.is_patch,
        lists=lists_all and listing is not None and not listing.is_partial,
        conditional=described.etag.is_conditional,
        profiles=(described.profile,) if described.profile is not None else (),
        discovers=lists_all,
        repeats_create=_repeats_create(described),
        finds=described.find is not None or described.ident(None, described.name) is not None,
    )
