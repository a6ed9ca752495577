"""A REST API beside the commands of a test, and the project that describes it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from holdfast.testing.rest_server import RestServer, Shape

KIND = """\
      {kind}:
        list: {{path: /{path}, items: /items, id: /id}}
        read: {{path: "/{path}/{{id}}"}}
        create: {{method: POST, path: /{path}, id: /id}}
        update: {{method: PATCH, path: "/{path}/{{id}}", body: merge}}
        delete: {{path: "/{path}/{{id}}"}}
        profile: {{rules: [{{path: /id, class: identity}}]}}
"""
KINDS = "".join(KIND.format(kind=kind, path=f"{kind.lower()}s") for kind in ("Network", "Server"))


def connection(name: str, url: str, more: str = "") -> str:
    """Return a connection of the project file."""
    return f"  {name}:\n    provider: http\n    base_url: {url}\n{more}    kinds:\n{KINDS}"


@contextmanager
def served(shapes: Mapping[str, Shape | None]) -> Iterator[RestServer]:
    """Serve collections from a thread of their own, because the commands run as processes."""
    server = RestServer(shapes)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(60)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()
