"""The http provider as a subject: the test API, described twice, as services that differ in every habit.

A Widget has the name it is declared by, takes merge patches and etags, and is there at once. A Gadget gets its id from
the service, is replaced whole, needs an idempotency key to be made once, and takes its time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final

from holdfast.compare import apply_patch
from holdfast.model.json import Json
from holdfast.model.path import Path
from holdfast.model.read_result import ReadError
from holdfast.providers import registry
from holdfast.providers.protocol import Connection
from holdfast.testing.conformance import CallType, ProviderUnderTest, Sample
from holdfast.testing.rest_server import Fault, RestServer, Shape, Wrong

_COLLECTIONS: Final = {"Widget": "widgets", "Gadget": "gadgets"}
_STAMPS: Final = ("id", "createdAt", "revision", "state")
_RULES: Final = [
    {"path": "/id", "class": "identity"},
    {"path": "/createdAt", "class": "read_only"},
    {"path": "/revision", "class": "read_only"},
    {"path": "/state", "class": "read_only"},
    {"path": "/tags", "list": "set"},
    {"path": "/region", "compare": "casefold"},
    {"path": "/name", "class": "create_only"},
    {"path": "/password", "class": "write_only"},
]
_WIDGET: Final[Json] = {
    "read": "/widgets/{id}",
    "create": {"method": "PUT", "path": "/widgets/{name}"},
    "update": {"method": "PATCH", "path": "/widgets/{id}", "body": "merge"},
    "delete": "/widgets/{id}",
    "list": {"path": "/widgets", "items": "/items", "id": "/id", "next": {"pointer": "/next"}},
    "etag": "header",
    "conditional": True,
    "profile": {"rules": _RULES},
}
_GADGET: Final[Json] = {
    "read": "/gadgets/{id}",
    "create": {"method": "POST", "path": "/gadgets"},
    "update": {"method": "PUT", "path": "/gadgets/{id}", "body": "whole"},
    "delete": "/gadgets/{id}",
    "list": {
        "path": "/gadgets",
        "items": "/items",
        "id": "/id",
        "next": {"cursor": {"pointer": "/nextCursor", "param": "cursor"}},
    },
    "find": {"by": ["/name"]},
    "idempotency_header": "Idempotency-Key",
    "operation": {"header": "Location", "id": "/resource/id", "poll_seconds": 0.1},
    "profile": {"rules": _RULES},
}
_SHAPES: Final = {
    "widgets": Shape(
        defaults={"size": "medium", "limits": {"cpu": 1, "burst": False}},
        stamps=_STAMPS,
        sorted_lists=("tags",),
        lowered=("region",),
        masked=("password",),
        page_size=4,
    ),
    "gadgets": Shape(
        defaults={"size": "medium", "replicas": 1},
        stamps=_STAMPS,
        masked=("password",),
        counted_ids=True,
        operation_polls=2,
        page_size=4,
    ),
}
_WAYS: Final = {
    ReadError.THROTTLED: Fault(status=429, headers={"Retry-After": "7"}),
    ReadError.SERVER_ERROR: Fault(status=503),
    ReadError.UNAUTHORISED: Fault(status=403),
    ReadError.MALFORMED: Fault(Wrong.GARBAGE, status=200),
    ReadError.UNREACHABLE: Fault(Wrong.RESET),
    ReadError.TIMEOUT: Fault(status=408),  # as a gateway says it; a real wait would depend on the machine
    ReadError.UNCONFIRMED: Fault(Wrong.HTML, status=404),
}
_MISTAKES: Final = {
    "an empty object": Fault(Wrong.BODY, status=200, body=b"{}"),
    "an error": Fault(Wrong.BODY, status=200, body=b'{"error": {"message": "try again"}}'),
    "a list": Fault(Wrong.BODY, status=200, body=b'{"items": [], "next": null}'),
    "another thing": Fault(Wrong.BODY, status=200, body=b'{"id": "another", "name": "another", "color": "green"}'),
    "a part": Fault(Wrong.BODY, status=206, body=b'{"color": "green"}'),
}


class RestDriftInjector:
    """Edits things behind the API: no default, no rewriting, no etag asked for."""

    def __init__(self, server: RestServer) -> None:
        self._server = server

    async def ids(self, kind: str) -> Collection[str]:
        """Return the ids of a collection."""
        return self._server.collections[_COLLECTIONS[kind]].ids()

    async def get(self, kind: str, ident: str) -> Json:
        """Return a thing with what the API hides."""
        collection = self._server.collections[_COLLECTIONS[kind]]
        return collection[ident] if ident in collection else None  # noqa: SIM401 - no mapping

    async def put(self, kind: str, ident: str, path: Path, value: Json) -> None:
        """Change a field."""
        collection = self._server.collections[_COLLECTIONS[kind]]
        collection.edit(ident, lambda document: apply_patch.put(document, path, value))

    async def delete(self, kind: str, ident: str) -> None:
        """Remove a thing."""
        collection = self._server.collections[_COLLECTIONS[kind]]
        if ident in collection:
            collection.drop(ident)


class RestFaults:
    """Lets the server answer wrongly: by status, by bytes, or not at all."""

    supported = tuple((call_type, trouble) for call_type in CallType for trouble in _WAYS)

    def __init__(self, server: RestServer) -> None:
        self._server = server

    def fail(self, call_type: CallType, trouble: ReadError, times: int | None = None) -> None:
        """Let the next requests be answered wrongly."""
        way = _WAYS[trouble]
        methods = ("GET",) if call_type is not CallType.WRITE else ("PUT", "POST", "PATCH", "DELETE")
        path = "/*s" if call_type is CallType.LIST else "/*s*" if call_type is CallType.WRITE else "/*s/*"
        for method in methods:
            fault = Fault(way.wrong, method, path, way.status, way.headers, times)
            self._server.faults.append(fault)

    @property
    def wrong_answers(self) -> Collection[str]:
        """The names of the wrong answers to a read of a resource."""
        return _MISTAKES.keys()

    def answer_wrongly(self, name: str) -> None:
        """Let every read of one thing be answered with something else."""
        self._server.faults.append(replace(_MISTAKES[name], method="GET", path="/*s/*", times=None))

    def clear(self) -> None:
        """Let everything work again."""
        self._server.faults.clear()


def _minimal(name: str) -> dict[str, Json]:
    return {"name": name}


def _full(name: str) -> dict[str, Json]:
    return {
        "name": name,
        "color": "red",
        "weight": 4,
        "enabled": True,
        "region": "West-EU",
        "login": {"user": "u", "shell": "sh"},
        "rules": [{"name": "ssh", "port": 22}, {"name": "web", "port": 80}],
        "tags": ["a", "b"],
        "password": "none",
    }


@asynccontextmanager
async def http() -> AsyncIterator[ProviderUnderTest]:
    """Open the provider on a server of this machine."""
    async with RestServer(_SHAPES) as server:
        settings = {
            "base_url": server.url,
            "kinds": {"Widget": _WIDGET, "Gadget": _GADGET},
        }
        samples = tuple(Sample(kind, _minimal, _full, sensitive_path="/password") for kind in _COLLECTIONS)
        connection = Connection("conformance", "http", settings)
        yield ProviderUnderTest(
            registry.get("http"), connection, samples, RestDriftInjector(server), RestFaults(server)
        )
