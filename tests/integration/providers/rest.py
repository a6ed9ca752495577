"""What the tests of the http provider share: a server, a description of it, and a story told with both halves open."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from holdfast.model.json import Json
from holdfast.providers.protocol import Connection, Reader, Target, Writer
from holdfast.testing.rest_server import RestServer, Shape
from tests.unit.providers.running import told

Result = TypeVar("Result")
Story = Callable[[RestServer, Reader, Writer], Awaitable[Result]]

KIND: Mapping[str, Json] = {
    "read": "/widgets/{id}",
    "create": {"method": "PUT", "path": "/widgets/{name}"},
    "update": {"method": "PATCH", "path": "/widgets/{id}", "body": "merge"},
    "delete": "/widgets/{id}",
    "list": {"path": "/widgets", "items": "/items", "id": "/name", "next": {"pointer": "/next"}},
    "etag": "header",
}


def connection(server: RestServer, kind: Mapping[str, Json] | None = None, **settings: Json) -> Connection:
    """Describe the server; what is given goes over the usual description, and null takes a word out of it."""
    whole = {**KIND, **(kind or {})}
    described = {name: value for name, value in whole.items() if value is not None}
    secrets = settings.pop("secrets", {})
    return Connection("api", "http", {"base_url": server.url, "kinds": {"Widget": described}, **settings}, secrets)


def with_server(
    story: Story[Result], *, shape: Shape | None = None, kind: Mapping[str, Json] | None = None, **settings: Json
) -> Result:
    """Start a server, open the provider on it, and run the story."""

    async def run() -> Result:
        async with RestServer({"widgets": shape}, authorization=settings.pop("authorization", None)) as server:
            return await told(
                connection(server, kind, **settings), lambda reader, writer: story(server, reader, writer)
            )

    return asyncio.run(run())


def widget(name: str = "w", ident: str | None = None, **fields: Json) -> Target:
    return Target("Widget", name, ident, {"name": name, **fields})
