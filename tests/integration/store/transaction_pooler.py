"""A pooler in transaction mode, as small as one can be: all clients take turns on one session of the server."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

_LENGTH = struct.Struct("!I")


async def _message(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readexactly(5)
    return head + await reader.readexactly(_LENGTH.unpack(head[1:])[0] - 4)


async def _until_ready(reader: asyncio.StreamReader) -> list[bytes]:
    """Return messages up to ReadyForQuery."""
    messages = [await _message(reader)]
    while messages[-1][:1] != b"Z":
        messages.append(await _message(reader))
    return messages


class TransactionPooler:
    """Gives every transaction of any client the same session."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, greeting: bytes) -> None:
        self._reader = reader
        self._writer = writer
        self._greeting = greeting
        self._turn = asyncio.Lock()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client until it leaves."""
        try:
            size = _LENGTH.unpack(await reader.readexactly(4))[0]
            await reader.readexactly(size - 4)  # the startup message; every client is let in
            writer.write(self._greeting)
            asked = asyncio.create_task(_message(reader))
            while True:
                asked = await self._serve_transaction(asked, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _serve_transaction(
        self, asked: asyncio.Task[bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> asyncio.Task[bytes]:
        """Pass messages to and fro until the session is idle; return the task that reads the client's next message."""
        await asyncio.wait([asked])
        async with self._turn:
            unanswered = 0
            answered = asyncio.create_task(_message(self._reader))
            while True:
                await asyncio.wait([asked, answered], return_when=asyncio.FIRST_COMPLETED)
                if asked.done():
                    message = asked.result()
                    if message[:1] == b"X":
                        answered.cancel()
                        raise ConnectionResetError
                    unanswered += message[:1] in b"QS"
                    self._writer.write(message)
                    asked = asyncio.create_task(_message(reader))
                    continue
                message = answered.result()
                writer.write(message)
                unanswered -= message[:1] == b"Z"
                if message[:1] == b"Z" and message[5:] == b"I" and unanswered == 0:
                    return asked
                answered = asyncio.create_task(_message(self._reader))


@asynccontextmanager
async def run_pooler(server: Path, folder: Path) -> AsyncIterator[None]:
    """Run a pooler on a socket in `folder` for the server on a socket."""
    reader, writer = await asyncio.open_unix_connection(str(server))
    content = struct.pack("!I", 196608) + b"user\0postgres\0database\0postgres\0\0"
    writer.write(_LENGTH.pack(len(content) + 4) + content)
    pooler = TransactionPooler(reader, writer, b"".join(await _until_ready(reader)))
    listening = await asyncio.start_unix_server(pooler.serve, str(folder / ".s.PGSQL.5432"))
    try:
        yield
    finally:
        listening.close()
        writer.close()
