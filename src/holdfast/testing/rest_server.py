"""A small REST API that really speaks HTTP, for tests, demonstrations and measurements: ours and yours.

    async with RestServer({"widgets": Shape(defaults={"colour": "red"})}) as server:
        ...                                              # talk to server.url
        server.collections["widgets"].edit("w1", lambda widget: widget.update(colour="blue"))
        server.faults.append(Fault(Wrong.STATUS, "GET", "/widgets/*", 503))
        assert server.writes() == []

Things are at /<collection>/<id>, with GET, PUT, PATCH (merge, or JSON Patch by content type) and DELETE; lists and POST
at /<collection>. Etags, If-Match, If-None-Match, Idempotency-Key and operations under /operations/<id> work as they do
in real services; X-Actor says who writes, where the stamp `updated_by` is kept. It is run as a process of its own by
`python -m holdfast.testing.rest_server`, which prints its port and is
steered through /_control/.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import orjson
from aiohttp import web

from holdfast.model.json import Json
from holdfast.testing.rest_data import ANONYMOUS, Collection, Shape
from holdfast.testing.rest_faults import Fault, Wrong
from holdfast.testing.socket_server import Listener

__all__ = ["Collection", "Fault", "JournalEntry", "RestServer", "Shape", "Wrong"]

_READING = frozenset({"GET", "HEAD"})
_PAGING = frozenset({"page", "limit", "cursor"})


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One request in the journal."""

    method: str
    path: str
    status: int


@dataclass(slots=True)
class _Operation:
    """A write that takes its time: what it will do, and how many polls until then."""

    effect: Callable[[], object]
    resource: str
    polls: int
    status: str = "running"
    fails: bool = False


@dataclass(slots=True)
class _Item:
    """The meaning of a path."""

    collection: Collection
    ident: str | None = None


@dataclass(slots=True)
class RestServer:
    """The server; entering it starts it on a free port of this machine, leaving it stops it."""

    shapes: Mapping[str, Shape | None] = field(default_factory=dict)
    port: int = 0
    authorization: str | None = None  # what the Authorization header must be; None: anybody may
    faults: list[Fault] = field(default_factory=list)
    journal: list[JournalEntry] = field(default_factory=list)
    failing_operations: bool = False
    before_request: Callable[[str, str], None] = lambda _method, _path: None  # for who comes in between
    collections: dict[str, Collection] = field(default_factory=dict)
    _operations: dict[str, _Operation] = field(default_factory=dict)
    _answered: dict[str, web.Response] = field(default_factory=dict)
    _listener: Listener = field(default_factory=Listener)

    def __post_init__(self) -> None:
        for name, shape in self.shapes.items():
            self.collections.setdefault(name, Collection(name, shape))

    async def __aenter__(self) -> Self:
        self.port = await self._listener.start(self._handle, self.port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._listener.stop()

    @property
    def url(self) -> str:
        """The address to give to clients."""
        return f"http://127.0.0.1:{self.port}"

    def writes(self) -> list[JournalEntry]:
        """Return the journal without reads and without what was refused."""
        return [entry for entry in self.journal if entry.method not in _READING and entry.status < 400]

    # -- answering

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.path.startswith("/_control/"):
            return await self._control(request)
        self.before_request(request.method, request.path)
        response = await self._respond(request)
        self.journal.append(JournalEntry(request.method, request.path, response.status))
        return response

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        fault = next((fault for fault in self.faults if fault.strikes(request.method, request.path)), None)
        if fault is None:
            return await self._proper(request)
        if fault.delay_seconds:
            await asyncio.sleep(fault.delay_seconds)
        if fault.wrong is Wrong.HANG:
            await self._listener.stopping.wait()
        return await fault.answer(request, await self._proper(request) if fault.comes_after else None)

    async def _proper(self, request: web.Request) -> web.Response:
        if self.authorization is not None and request.headers.get("Authorization") != self.authorization:
            return _error(401, "who are you?")
        key = request.headers.get("Idempotency-Key")
        if key is not None and key in self._answered and request.method not in _READING:
            before = self._answered[key]
            return web.Response(body=before.body, status=before.status, headers=before.headers.copy())
        response = await self._routed(request)
        if key is not None and response.status < 400 and request.method not in _READING:
            self._answered[key] = response
        return response

    async def _routed(self, request: web.Request) -> web.Response:
        path = request.match_info["path"]
        above, _, last = path.rpartition("/")
        if above == "operations":
            return self._operation(last)
        if path in self.collections:
            return await self._on_collection(request, self.collections[path])
        if above in self.collections:
            return await self._on_thing(request, _Item(self.collections[above], last))
        return _error(404, "there is nothing here")

    async def _on_collection(self, request: web.Request, collection: Collection) -> web.Response:
        if request.method == "GET":
            return self._list(request, collection)
        if request.method != "POST":
            return _error(405, "lists are read, and added to")
        document = await _sent(request, collection)
        if document is None or not isinstance(document, dict):
            return _error(400, "a JSON object is needed")
        ident = collection.new_id(document)
        if ident is None:
            return _error(422, "it needs a name")
        if ident in collection:
            return _error(409, "there is one already")
        item, actor = _Item(collection, ident), _actor(request)
        return self._written(request, item, lambda: collection.write(ident, document, actor), document)

    async def _on_thing(self, request: web.Request, item: _Item) -> web.Response:
        collection, ident = item.collection, item.ident or ""
        if request.method == "GET":
            return _thing(request, collection, ident)
        refused = _precondition(request, collection.etag(ident))
        if refused is not None:
            return refused
        if request.method == "DELETE":
            if ident not in collection:
                return _error(404, "there is no such thing")
            return self._written(request, item, lambda: collection.remove(ident), None)
        document = await _sent(request, collection)
        if request.method == "PUT" and isinstance(document, dict):
            actor = _actor(request)
            return self._written(request, item, lambda: collection.write(ident, document, actor), document)
        if request.method == "PATCH" and document is not None:
            return self._patch(request, item, document)
        return _error(400, "a JSON document is needed")

    def _patch(self, request: web.Request, item: _Item, document: Json) -> web.Response:
        collection, ident, actor = item.collection, item.ident or "", _actor(request)
        if ident not in collection:
            return _error(404, "there is no such thing")
        if isinstance(document, list):
            return self._written(request, item, lambda: collection.patch(ident, document, actor), None)
        return self._written(request, item, lambda: collection.merge(ident, document, actor), None)

    def _written(self, request: web.Request, item: _Item, effect: Callable[[], object], document: Json) -> web.Response:
        """Do a write, or promise to."""
        collection, ident = item.collection, item.ident or ""
        missing = [name for name in collection.shape.required if document is not None and name not in document]
        if missing:
            return _error(422, f"{missing} missing in {orjson.dumps(document).decode()}")
        location = f"/{collection.name}/{ident}"
        if collection.shape.operation_polls:
            name = str(len(self._operations) + 1)
            polls = collection.shape.operation_polls
            self._operations[name] = _Operation(effect, ident, polls, fails=self.failing_operations)
            body = {"id": ident, "operation": f"/operations/{name}"}
            return web.json_response(body, status=202, headers={"Location": f"/operations/{name}"})
        existed = ident in collection
        effect()
        if request.method == "DELETE":
            return web.Response(status=204)
        shown = collection.shown(ident) if not collection.shape.lag_reads else None
        headers = {"Location": location, "ETag": collection.etag(ident) or ""}
        return _json(shown[0] if shown else b"{}", 200 if existed else 201, headers)

    def _operation(self, name: str) -> web.Response:
        operation = self._operations.get(name)
        if operation is None:
            return _error(404, "there is no such operation")
        if operation.status == "running":
            operation.polls -= 1
            if operation.polls <= 0:
                operation.status = "failed" if operation.fails else "succeeded"
                if not operation.fails:
                    operation.effect()
        body = {"id": name, "status": operation.status, "resource": {"id": operation.resource}}
        return web.json_response(body, status=202 if operation.status == "running" else 200)

    def _list(self, request: web.Request, collection: Collection) -> web.Response:
        """Answer one page, with every usual way to the next one."""
        wanted = {key: value for key, value in request.query.items() if key not in _PAGING}
        ids = [i for i in collection.ids() if all(str(collection[i].get(k)) == v for k, v in wanted.items())]
        size = int(request.query.get("limit", collection.shape.page_size))
        page = int(request.query.get("page", "1"))
        start = int(request.query.get("cursor", (page - 1) * size))
        items = [shown[0] for ident in ids[start : start + size] if (shown := collection.shown(ident)) is not None]
        if collection.shape.envelope:
            items = [orjson.dumps(orjson.loads(item)[collection.shape.envelope]) for item in items]
        cursor = str(start + size) if start + size < len(ids) else None
        following = str(request.rel_url.update_query(cursor=cursor)) if cursor else None
        headers = {"Link": f'<{following}>; rel="next"'} if following else {}
        joined = b"[" + b",".join(items) + b"]"
        if collection.shape.bare_list:
            return _json(joined, 200, headers)
        tail = orjson.dumps({"next": following, "nextCursor": cursor, "total": len(ids)})
        return _json(b'{"items":' + joined + b"," + tail[1:], 200, headers)

    # -- steering from another process

    async def _control(self, request: web.Request) -> web.Response:
        """Answer what tests in other processes ask for: the journal, faults, and edits behind the API's back."""
        what, _, rest = request.path.removeprefix("/_control/").partition("/")
        if what == "journal":
            return web.json_response([asdict(entry) for entry in self.journal])
        if what == "faults":
            self.faults.clear()
            self.faults.extend(Fault(**fault) for fault in await request.json())
            return web.json_response(len(self.faults))
        if what == "things":
            name, _, ident = rest.rpartition("/")
            collection = self.collections[name]
            if request.method == "DELETE":
                collection.drop(ident)
            elif request.method == "PUT":
                collection.put(ident, await request.json(), _actor(request))
            return web.json_response(collection.ids())
        return _error(404, "journal, faults and things can be steered")


def _thing(request: web.Request, collection: Collection, ident: str) -> web.Response:
    shown = collection.shown(ident)
    if shown is None:
        return _error(404, "there is no such thing")
    raw, etag = shown
    if request.headers.get("If-None-Match") == etag:
        return web.Response(status=304, headers={"ETag": etag})
    return _json(raw, 200, {"ETag": etag})


def _precondition(request: web.Request, etag: str | None) -> web.Response | None:
    match = request.headers.get("If-Match")
    if (match is not None and match != etag) or (request.headers.get("If-None-Match") == "*" and etag is not None):
        return _error(412, "it is not what you think it is")
    return None


def _actor(request: web.Request) -> str:
    return request.headers.get("X-Actor", ANONYMOUS)


async def _sent(request: web.Request, collection: Collection) -> Json:
    """Return the document of a request, out of its envelope; None if there is none."""
    try:
        document = orjson.loads(await request.read())
    except orjson.JSONDecodeError:
        return None
    if collection.shape.envelope and isinstance(document, dict):
        return document.get(collection.shape.envelope)
    return document


def _json(body: bytes, status: int, headers: Mapping[str, str]) -> web.Response:
    return web.Response(body=body, status=status, headers=headers, content_type="application/json")


def _error(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message}}, status=status)


async def serve(port: int, shapes: Mapping[str, Shape], seed: Mapping[str, Mapping[str, Json]]) -> None:
    """Run until the process is ended; the first line of the output is the port, as JSON."""
    async with RestServer(shapes, port) as server:
        for name, things in seed.items():
            for ident, document in things.items():
                server.collections[name].put(ident, document)
        sys.stdout.write(orjson.dumps({"port": server.port}).decode() + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main(arguments: list[str] | None = None) -> None:
    """Run the server from the command line."""
    parser = argparse.ArgumentParser(prog="holdfast.testing.rest_server", description="A REST API to test against.")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--collections", default='{"widgets": {}}', help="JSON: the shape of each collection")
    parser.add_argument("--things", default="{}", help="JSON: the things in each collection by id, or @file")
    options = parser.parse_args(arguments)
    things = Path(options.things[1:]).read_bytes() if options.things.startswith("@") else options.things
    shapes = {name: Shape(**shape) for name, shape in orjson.loads(options.collections).items()}
    try:
        asyncio.run(serve(options.port, shapes, orjson.loads(things)))
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
