"""The other side of bench_commands: the API that the commands talk to, and the floors that they are measured beside.

Run as `command_side.py serve`, `command_side.py floor-check PORT COUNT FOLDER`, `floor-apply`, or `scan FOLDER`.
"""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
import sys
from pathlib import Path

import aiohttp
import msgspec
import orjson

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

PAGE = 500
CONCURRENCY = 16  # as a connection of Holdfast has by default


class Api(asyncio.Protocol):
    """A collection of items in memory: POST, GET, PUT, and a list in pages."""

    items: dict[str, bytes] = {}  # noqa: RUF012 - one collection for all connections
    ids: list[str] = []  # noqa: RUF012 - in order of creation

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while b"\r\n\r\n" in self.buffer:
            head, rest = self.buffer.split(b"\r\n\r\n", 1)
            length = next(
                (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
            )
            if len(rest) < length:
                return
            body, self.buffer = rest[:length], rest[length:]
            method, path, _ = head.split(b" ", 2)
            status, answer = self.answer(method, path.decode(), body)
            self.transport.write(  # type: ignore[attr-defined]
                b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (status, len(answer))
                + answer
            )

    def answer(self, method: bytes, path: str, body: bytes) -> tuple[bytes, bytes]:
        """Return the status and the body of an answer."""
        if method == b"POST":
            ident = f"i{len(self.ids)}"
            self.ids.append(ident)
            self.items[ident] = b'{"id":"%s",' % ident.encode() + body.lstrip()[1:]
            return b"201 Created", self.items[ident]
        if path.startswith("/items/"):
            item = self.items.get(path.rsplit("/", 1)[1])
            return (b"404 Not Found", b"{}") if item is None else (b"200 OK", item)
        start = int(path.split("cursor=")[1]) if "cursor=" in path else 0
        end = min(start + PAGE, len(self.ids))
        following = b'"%d"' % end if end < len(self.ids) else b"null"
        page = b",".join(self.items[ident] for ident in self.ids[start:end])
        return b"200 OK", b'{"items":[' + page + b'],"next":' + following + b"}"


async def serve() -> None:
    """Serve until killed; print the port first."""
    server = await asyncio.get_running_loop().create_server(Api, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


class _Page(msgspec.Struct):
    items: list[msgspec.Raw]
    next: str | None = None


class _Id(msgspec.Struct):
    id: str


def _opened(database: Path) -> sqlite3.Connection:
    """Open a database as Holdfast opens its store."""
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


async def floor_check(port: int, database: Path) -> None:
    """Read the list in pages, slice it unparsed, digest every item and write one row each."""
    connection = _opened(database)
    connection.execute("CREATE TABLE IF NOT EXISTS l (id TEXT PRIMARY KEY, raw BLOB, at REAL)")
    pages, ids = msgspec.json.Decoder(_Page), msgspec.json.Decoder(_Id)
    cursor: str | None = "0"
    async with aiohttp.ClientSession() as session:
        while cursor is not None:
            async with session.get(f"http://127.0.0.1:{port}/items?cursor={cursor}") as response:
                page = pages.decode(await response.read())
            rows = [(ids.decode(raw).id, hashlib.sha256(raw).digest(), 0.0) for raw in page.items]
            with connection:
                connection.executemany("INSERT OR REPLACE INTO l VALUES (?, ?, ?)", rows)
            cursor = page.next
    connection.close()


async def floor_apply(port: int, count: int, database: Path) -> None:
    """Post every item, read it again, digest it and write one row each, as many at once as Holdfast."""
    connection = _opened(database)
    connection.execute("CREATE TABLE IF NOT EXISTS c (id TEXT PRIMARY KEY, name TEXT, raw BLOB, at REAL)")
    numbers = iter(range(count))
    url = f"http://127.0.0.1:{port}/items"
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=CONCURRENCY)) as session:

        async def work() -> None:
            for number in numbers:
                async with session.post(url, data=orjson.dumps({"name": f"r{number}", "size": "small"})) as response:
                    ident = orjson.loads(await response.read())["id"]
                async with session.get(f"{url}/{ident}") as response:
                    raw = await response.read()
                digest = hashlib.sha256(orjson.dumps(orjson.loads(raw), option=orjson.OPT_SORT_KEYS)).digest()
                with connection:
                    connection.execute(
                        "INSERT OR REPLACE INTO c VALUES (?, ?, ?, ?)", (ident, str(number), digest, 0.0)
                    )

        await asyncio.gather(*(work() for _ in range(CONCURRENCY)))
    connection.close()


async def scan(folder: Path) -> None:
    """Run the list scan of the engine over the store of a project."""
    from holdfast.app.options import ProjectOptions
    from holdfast.app.project import open_project
    from holdfast.watch.list_scan import ListScanner

    options = ProjectOptions((), str(folder / "holdfast.yaml"))
    async with open_project(options, reads="none") as project, project.connections() as connections:
        scanner = ListScanner(project.store, connections, project.clock, project.engine.random01)
        await scanner.sweep("api", "Item")


def main() -> None:
    """Do what the arguments say."""
    match sys.argv[1:]:
        case ["serve"]:
            asyncio.run(serve())
        case ["floor-check", port, _, folder]:
            asyncio.run(floor_check(int(port), Path(folder) / "floor.db"))
        case ["floor-apply", port, count, folder]:
            asyncio.run(floor_apply(int(port), int(count), Path(folder) / "floor.db"))
        case ["scan", folder]:
            asyncio.run(scan(Path(folder)))
        case other:
            sys.exit(f"unknown arguments {other}")


if __name__ == "__main__":
    main()
