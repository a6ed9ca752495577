"""The server for programs that have no event loop of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.testing.arm.server import ArmServer

_PATIENCE_SECONDS = 10.0


@contextmanager
def running(server: ArmServer | None = None) -> Iterator[ArmServer]:
    """Run a server on a thread of its own; its world may be disturbed from any thread."""
    server = server or ArmServer()
    started = threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def serve() -> None:
        async with server:
            started.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), name="arm emulator", daemon=True)
    thread.start()
    try:
        if not started.wait(_PATIENCE_SECONDS):
            raise RuntimeError("the emulator did not start")
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(_PATIENCE_SECONDS)
        loop.close()
