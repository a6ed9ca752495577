"""A service that says too much: it repeats secrets in fields, keys, errors and headers, and people edit it."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Self
from urllib.parse import unquote, urlsplit

Document = dict[str, Any]


@dataclass(slots=True)
class State:
    """What the service holds during one history, and how it misbehaves."""

    things: dict[str, Document] = field(default_factory=dict)
    hooked: list[bytes] = field(default_factory=list)  # what the webhook received, headers included
    etag: str = ""  # a text that every etag repeats
    header: str = ""  # a text that another header repeats
    error: tuple[int, str] | None = None  # the status and the words of every answer to come
    error_on: frozenset[str] = frozenset()  # methods
    garbage: str = ""  # what an answer is instead of JSON
    hook_fails: bool = False


class Service:
    """The server, one for many histories."""

    def __init__(self) -> None:
        self.state = State()
        handler = type("Handler", (_Handler,), {"service": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    service: ClassVar[Service]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _body(self) -> Any:
        length = int(self.headers.get("Content-Length") or 0)
        data = self.rfile.read(length)
        return json.loads(data) if data else None

    def _answer(self, status: int, value: Any = None, headers: Mapping[str, str] | None = None) -> None:
        state = self.service.state
        data = b"" if value is None else json.dumps(value).encode()
        if state.garbage and self.command == "GET" and status == 200:
            data = state.garbage.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if state.header:
            self.send_header("X-Note", state.header.encode("ascii", "replace").decode())
        for name, text in (headers or {}).items():
            self.send_header(name, text.encode("ascii", "replace").decode())
        self.end_headers()
        self.wfile.write(data)

    def _is_wrong(self) -> bool:
        state = self.service.state
        if state.error is None or self.command not in state.error_on:
            return False
        self._answer(state.error[0], {"error": {"message": state.error[1]}})
        return True

    def _thing(self) -> str:
        return unquote(urlsplit(self.path).path.removeprefix("/things/"))

    def _show(self, status: int, ident: str) -> None:
        document = self.service.state.things[ident]
        mark = abs(hash(json.dumps(document, sort_keys=True)))
        self._answer(status, document, {"ETag": f'"{mark}{self.service.state.etag}"'})

    def do_GET(self) -> None:
        if self._is_wrong():
            return
        things = self.service.state.things
        if urlsplit(self.path).path == "/things":
            self._answer(200, {"items": list(things.values())})
        elif self._thing() in things:
            self._show(200, self._thing())
        else:
            self._answer(404, {"error": {"message": "no such thing"}})

    def do_POST(self) -> None:
        body = self._body()
        state = self.service.state
        if self.path.startswith("/hook"):
            state.hooked.append(str(self.headers).encode() + json.dumps(body).encode())
            self._answer(500 if state.hook_fails else 200, {})
        elif not self._is_wrong():
            ident = str(body["name"])
            state.things[ident] = {**copy.deepcopy(body), "id": ident}
            self._show(201, ident)

    def do_PUT(self) -> None:
        body = self._body()
        if not self._is_wrong():
            self.service.state.things[self._thing()] = {**body, "id": self._thing()}
            self._show(200, self._thing())

    def do_PATCH(self) -> None:
        body = self._body()
        if not self._is_wrong():
            self.service.state.things[self._thing()] = _merged(self.service.state.things.get(self._thing(), {}), body)
            self._show(200, self._thing())

    def do_DELETE(self) -> None:
        if not self._is_wrong():
            self.service.state.things.pop(self._thing(), None)
            self._answer(204)


def _merged(document: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    out = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = _merged(out.get(key), value)
    return out
