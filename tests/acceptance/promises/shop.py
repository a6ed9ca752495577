"""A small API in a thread, with the faults a test asks for, and a project that describes it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml


class Shop:
    """Networks by id; `token` is what callers must bear, `refusal` what every write is answered while it is set."""

    def __init__(self) -> None:
        self.networks: dict[str, dict[str, Any]] = {}
        self.token = "right"
        self.refusal: int | None = None
        self.ignored: set[str] = set()  # fields that a creation does not take
        self.forced: dict[str, Any] = {}  # fields that the API sets as it likes
        self.calls: list[str] = []
        self.url = ""

    def answer(self, method: str, path: str, token: str, body: dict[str, Any]) -> tuple[int, Any]:
        self.calls.append(f"{method} {path}")
        if token != f"Bearer {self.token}":
            return 401, {"message": "who are you?"}
        if method != "GET" and self.refusal is not None:
            return self.refusal, {"message": "no"}
        ident = path.removeprefix("/networks").strip("/")
        if method == "POST":
            ident = f"net-{len(self.networks) + 1}"
            kept = {key: value for key, value in body.items() if key not in self.ignored}
            self.networks[ident] = {**kept, **self.forced, "id": ident}
            return 201, self.networks[ident]
        if not ident:
            return 200, {"items": list(self.networks.values())}
        if ident not in self.networks:
            return 404, {"message": "no such network"}
        if method == "PATCH":
            self.networks[ident] |= {key: value for key, value in body.items() if key not in self.ignored}
        elif method == "DELETE":
            return 200, self.networks.pop(ident)
        return 200, self.networks[ident]


def _handler(shop: Shop) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else {}
            status, value = shop.answer(self.command, self.path, self.headers.get("Authorization", ""), body)
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = do_DELETE = _serve  # noqa: N815 - http.server's names

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    return Handler


@contextmanager
def served() -> Iterator[Shop]:
    """Serve a shop until the end of the block."""
    shop = Shop()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(shop))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    shop.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield shop
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def project(folder: Path, shop: Shop, **more: Any) -> None:
    """Write a holdfast.yaml that describes the shop."""
    network = {
        "read": "/networks/{id}",
        "create": {"method": "POST", "path": "/networks", "id": "/id"},
        "update": {"method": "PATCH", "path": "/networks/{id}", "body": "merge"},
        "delete": "/networks/{id}",
        "list": {"path": "/networks", "items": "/items", "id": "/id"},
        "profile": {"rules": [{"path": "/id", "class": "identity"}]},
    }
    body = {
        "connections": {
            "shop": {
                "provider": "http",
                "base_url": shop.url,
                "auth": {"type": "bearer"},
                "secrets": {"token": {"env": "SHOP_TOKEN"}},
                "kinds": {"Network": network},
            }
        },
        **more,
    }
    (folder / "holdfast.yaml").write_text(yaml.safe_dump(body, sort_keys=False))


def network(name: str, import_id: str | None = None, **fields: Any) -> str:
    """Return the declaration of a network."""
    spec: dict[str, Any] = {"connection": "shop", "resource": {"name": name, **fields}}
    if import_id is not None:
        spec["import"] = {"id": import_id}
    body = {"apiVersion": "http.holdfast.dev/v1", "kind": "Network", "metadata": {"name": name}, "spec": spec}
    return str(yaml.safe_dump(body, sort_keys=False))
