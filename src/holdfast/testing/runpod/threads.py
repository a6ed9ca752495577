"""The server for programs that have no event loop of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.testing.runpod.server import RunPodServer

_PATIENCE_SECONDS = 10.0


@contextmanager
def running(server: RunPodServer | None = None) -> Iterator[RunPodServer]:
    """Run a server on a thread of its own. What tests do to its world they do while it is not being asked."""
    server = server or RunPodServer()
    started = threading.Event()
    loop = asyncio.new_event_loop()
    stop: asyncio.Event = asyncio.Event()

    async def serve() -> None:
        async with server:
            started.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), name="runpod emulator", daemon=True)
    thread.start()
    try:
        if not started.wait(_PATIENCE_SECONDS):
            raise RuntimeError("the emulator did not start")
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(_PATIENCE_SECONDS)
        loop.close()
