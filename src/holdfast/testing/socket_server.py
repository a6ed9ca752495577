"""A server on a free port of this machine, the base of emulators and the test API."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from aiohttp import web

Server = TypeVar("Server", bound=AbstractAsyncContextManager[Any])

_PATIENCE_SECONDS = 10.0


@dataclass(slots=True)
class Listener:
    """One handler for everything that is asked on one port."""

    stopping: asyncio.Event = field(default_factory=asyncio.Event)  # for handlers that hang until then
    _runner: web.AppRunner | None = None

    async def start(
        self,
        handle: Callable[[web.Request], Awaitable[web.StreamResponse]],
        port: int,
        context: ssl.SSLContext | None = None,
    ) -> int:
        """Listen, and return the port; 0 asks for any that is free."""
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{path:.*}", handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port, ssl_context=context).start()
        found: int = self._runner.addresses[0][1]
        return found

    async def stop(self) -> None:
        """Let who hangs go, and stop listening."""
        self.stopping.set()
        if self._runner is not None:
            await self._runner.cleanup()


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """Run a server on a thread of its own, for programs that have no event loop."""
    started = threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def serve() -> None:
        async with server:
            started.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), name="emulator", daemon=True)
    thread.start()
    try:
        if not started.wait(_PATIENCE_SECONDS):
            raise RuntimeError("the emulator did not start")
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(_PATIENCE_SECONDS)
        loop.close()
