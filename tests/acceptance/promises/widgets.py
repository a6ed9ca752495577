"""A REST API that keeps a journal and answers as it is told, and a project that describes it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from tests.acceptance.test_commands import run

Reply = tuple[int, dict[str, str], bytes]
KIND: dict[str, Any] = {
    "read": "/widgets/{id}",
    "create": {"method": "PUT", "path": "/widgets/{name}"},
    "update": {"method": "PATCH", "path": "/widgets/{id}", "body": "merge"},
    "delete": "/widgets/{id}",
    "list": {"path": "/widgets", "items": "/items", "id": "/name"},
}


class Api:
    """Widgets by name; `answer` may answer a GET in place of the API."""

    def __init__(self) -> None:
        self.things: dict[str, dict[str, Any]] = {}
        self.writes: list[tuple[str, str]] = []
        self.reads: list[str] = []
        self.answer: Callable[[str], Reply | None] = lambda _path: None
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                api.reads.append(self.path)
                self.reply(*(api.answer(self.path) or api.get(self.path)))

            def do_PUT(self) -> None:
                self.reply(*api.write("PUT", self.path, self.body()))

            def do_POST(self) -> None:
                body = self.body()
                self.reply(*api.write("POST", f"{self.path}/{body['name']}", body))

            def do_PATCH(self) -> None:
                self.reply(*api.write("PATCH", self.path, self.body()))

            def body(self) -> dict[str, Any]:
                return dict(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def reply(self, status: int, headers: dict[str, str], body: bytes) -> None:
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def get(self, path: str) -> Reply:
        name = path.partition("?")[0].rpartition("/")[2]
        if name == "widgets":
            return ok({"items": list(self.things.values())})
        return ok(self.things[name]) if name in self.things else (404, {}, b'{"error": "none"}')

    def write(self, method: str, path: str, body: dict[str, Any]) -> Reply:
        name = path.rpartition("/")[2]
        self.writes.append((method, name))
        self.things[name] = {"name": name, **(self.things.get(name, {}) if method == "PATCH" else {}), **body}
        return ok(self.things[name])


def ok(value: object) -> Reply:
    """Answer 200 with a value."""
    return 200, {}, json.dumps(value).encode()


class Project:
    """A folder with widgets declared, all the same but for their names."""

    def __init__(self, path: Path, api: Api, count: int, **kind: Any) -> None:
        described = {word: value for word, value in {**KIND, **kind}.items() if value is not None}
        settings = {
            "connections": {"api": {"provider": "http", "base_url": api.url, "kinds": {"Widget": described}}},
            "corrections": {"massDrift": "off"},
        }
        path.joinpath("holdfast.yaml").write_text(json.dumps(settings))
        self.path, self.names = path, [f"w{number}" for number in range(count)]
        documents = [
            {
                "apiVersion": "http.holdfast.dev/v1",
                "kind": "Widget",
                "metadata": {"name": name},
                "spec": {"connection": "api", "resource": {"name": name, "color": "blue", "size": 3}},
            }
            for name in self.names
        ]
        path.joinpath("widgets.yaml").write_text("\n---\n".join(map(json.dumps, documents)))

    def __call__(self, *args: str, code: int | None = 0) -> str:
        done = run(*args, "-f", "widgets.yaml", cwd=self.path)
        assert code is None or done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout + done.stderr

    def statuses(self) -> dict[str, str]:
        """Check, and return the verdict on each widget."""
        told = json.loads(run("check", "-o", "json", "-f", "widgets.yaml", cwd=self.path).stdout)
        return {resource["address"].rpartition("/")[2]: resource["status"] for resource in told["resources"]}
