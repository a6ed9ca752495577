"""Writes from end to end beside a bare loop that does the same: apply of creates, of corrections, and a delete.

A child process serves the API from memory; only the CPU time of this process counts, the store's thread included. The
bare loop uses the same HTTP client, as many tasks at once, and commits one SQLite row for each resource: it sends,
reads back what came of it, and records its hash. Run by `make bench`.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import orjson

# Run as a script, Python would look for siblings in this folder only.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import holdfast
from holdfast.app.report import ApplyReport
from holdfast.cli import GARBAGE
from holdfast.model.address import Address
from tests.benchmarks import harness

SERVER = """
import asyncio
import orjson
things = {}
class P(asyncio.Protocol):
    def connection_made(self, t): self.t = t; self.b = b""
    def data_received(self, d):
        self.b += d
        while b"\\r\\n\\r\\n" in self.b:
            head, rest = self.b.split(b"\\r\\n\\r\\n", 1)
            low = head.lower()
            size = int(low.split(b"content-length:")[1].split(b"\\r\\n")[0]) if b"content-length:" in low else 0
            if len(rest) < size: return
            body, self.b = rest[:size], rest[size:]
            method, path, _ = head.split(b" ", 2)
            name = path.rsplit(b"/", 1)[1].decode()
            status, answer = b"200 OK", b"{}"
            if method == b"POST":
                name = "t%d" % (len(things) + 1)
                answer = things[name] = orjson.dumps({"id": name, **orjson.loads(body)})
                status = b"201 Created"
            elif path == b"/items":
                answer = b'{"items":[' + b",".join(things.values()) + b"]}"
            elif name == "touch":
                for key, value in things.items():
                    things[key] = orjson.dumps({**orjson.loads(value), "size": 0})
            elif name not in things:
                status = b"404 Not Found"
            elif method == b"PUT":
                answer = things[name] = orjson.dumps({"id": name, **orjson.loads(body)})
            elif method == b"DELETE":
                del things[name]
            else:
                answer = things[name]
            self.t.write(b"HTTP/1.1 %s\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n" % (status, len(answer)) + answer)
async def main():
    server = await asyncio.get_running_loop().create_server(P, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""
TASKS = 16  # the concurrency that a connection has unless its limits say otherwise
COUNT = 10_000
CREATE, UPDATE, DELETE = "create", "update", "delete"
KINDS = {
    "Item": {
        "read": {"path": "/items/{id}"},
        "create": {"method": "POST", "path": "/items", "id": "/id"},
        "update": {"method": "PUT", "path": "/items/{id}"},
        "delete": {"path": "/items/{id}"},
        "list": {"path": "/items", "items": "/items", "id": "/id"},
        "profile": {"rules": [{"path": "/id", "class": "identity"}]},
    }
}


def body(number: int) -> dict[str, object]:
    """Return a declaration of some 250 bytes."""
    return {
        "name": f"item-{number}",
        "size": number % 7 + 1,
        "zone": f"zone-{number % 3}",
        "tags": {"team": f"team-{number % 11}", "tier": "gold", "owner": "platform"},
        "ports": [{"name": "http", "port": 80}, {"name": "metrics", "port": 9000 + number % 50}],
    }


@contextmanager
def server() -> Iterator[str]:
    """Run the API in a process of its own."""
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.terminate()


def declare(folder: Path, url: str, count: int) -> None:
    """Write a project of `count` declarations, a hundred to a file."""
    connection = {"provider": "http", "base_url": url, "kinds": KINDS}
    project = {"connections": {"api": connection}, "corrections": {"massDrift": "off"}}
    (folder / "holdfast.yaml").write_text(json.dumps(project))
    for start in range(0, count, 100):
        documents = [
            {
                "apiVersion": "http.holdfast.dev/v1",
                "kind": "Item",
                "metadata": {"name": f"item-{number}"},
                "spec": {"connection": "api", "resource": body(number)},
            }
            for number in range(start, min(start + 100, count))
        ]
        (folder / f"items-{start:06}.yaml").write_text("\n---\n".join(map(json.dumps, documents)))


async def cpu(work: Callable[[], Awaitable[object]]) -> float:
    """Return the CPU seconds of this process for one piece of work."""
    start = time.process_time()
    await work()
    return time.process_time() - start


class BareLoop:
    """Sends, reads back and records, with nothing around it."""

    def __init__(self, url: str, database: Path, session: aiohttp.ClientSession) -> None:
        self._url = url
        self._session = session
        self._rows = sqlite3.connect(database, isolation_level=None)
        self._rows.execute("PRAGMA journal_mode = WAL")
        self._rows.execute("PRAGMA synchronous = NORMAL")
        self._rows.execute("CREATE TABLE r (name TEXT PRIMARY KEY, id TEXT, digest BLOB, at REAL)")
        self.ids: dict[int, str] = {}

    async def create(self, number: int) -> None:
        async with self._session.post(f"{self._url}/items", data=orjson.dumps(body(number))) as response:
            self.ids[number] = orjson.loads(await response.read())["id"]
        await self._record(number)

    async def update(self, number: int) -> None:
        url = f"{self._url}/items/{self.ids[number]}"
        async with self._session.put(url, data=orjson.dumps(body(number))) as response:
            await response.read()
        await self._record(number)

    async def delete(self, number: int) -> None:
        async with self._session.delete(f"{self._url}/items/{self.ids[number]}") as response:
            await response.read()
        async with self._session.get(f"{self._url}/items/{self.ids[number]}") as response:
            await response.read()
        self._rows.execute("DELETE FROM r WHERE name = ?", (f"item-{number}",))

    async def _record(self, number: int) -> None:
        async with self._session.get(f"{self._url}/items/{self.ids[number]}") as response:
            live = await response.read()
        if {**body(number), "id": self.ids[number]} != orjson.loads(live):
            raise SystemExit("the API did not keep what was sent")
        row = (f"item-{number}", self.ids[number], hashlib.sha256(live).digest(), time.time())
        self._rows.execute("INSERT OR REPLACE INTO r VALUES (?, ?, ?, ?)", row)

    def close(self) -> None:
        self._rows.close()


async def floor(folder: Path, count: int) -> dict[str, float]:
    """Return the CPU seconds of the bare loop for each verb."""
    seconds: dict[str, float] = {}
    with server() as url:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=TASKS)) as session:
            loop = BareLoop(url, folder / "floor.db", session)
            for verb, act in ((CREATE, loop.create), (UPDATE, loop.update), (DELETE, loop.delete)):
                seconds[verb] = await cpu(lambda act=act: _spread(act, count))  # type: ignore[misc]
            loop.close()
    return seconds


async def _spread(act: Callable[[int], Awaitable[None]], count: int) -> None:
    numbers = iter(range(count))

    async def work() -> None:
        for number in numbers:
            await act(number)

    await asyncio.gather(*(work() for _ in range(TASKS)))


async def engine(folder: Path, count: int) -> dict[str, float]:
    """Return the CPU seconds of an apply that creates, one that corrects, and a delete; opening is apart."""
    seconds: dict[str, float] = {}
    with server() as url:
        declare(folder, url, count)

        async def apply(verb: str) -> None:
            async with holdfast.open(folder, store=folder / "state.db") as project:
                reports: list[ApplyReport] = []

                async def run() -> None:
                    reports.append(await project.apply())

                seconds[verb] = await cpu(run)
                done = [action.result.value for action in reports[0].run.acted]
                if done != ["done"] * count:
                    raise SystemExit(f"{verb}: {len(done)} of {count} written, {set(done)}")

        await apply(CREATE)
        async with aiohttp.ClientSession() as session, session.get(f"{url}/items/touch") as response:
            await response.read()
        await apply(UPDATE)
        async with holdfast.open(folder, store=folder / "state.db") as project:
            addresses = [Address("api", "Item", f"item-{number}") for number in range(count)]
            seconds[DELETE] = await cpu(lambda: project.delete(addresses))
    return seconds


def run(count: int) -> list[dict[str, object]]:
    """Measure; one row a verb."""
    random.seed(1)
    gc.set_threshold(*GARBAGE)
    with tempfile.TemporaryDirectory() as place:
        folders = [Path(place, name) for name in ("before", "infra", "after")]
        for folder in folders:
            folder.mkdir()
        before = asyncio.run(floor(folders[0], count))
        ours = asyncio.run(engine(folders[1], count))
        after = asyncio.run(floor(folders[2], count))  # the load of the machine may have changed meanwhile
    bare = {verb: (before[verb] + after[verb]) / 2 for verb in before}
    return [
        {
            f"{count:,} resources": verb,
            "bare loop, CPU us each": bare[verb] / count * 1e6,
            "Holdfast, CPU us each": ours[verb] / count * 1e6,
            "times the bare loop": ours[verb] / bare[verb],
        }
        for verb in bare
    ]


def bars(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return the promise beside the measurement."""
    ratio = float(str(rows[0]["times the bare loop"]))
    return [harness.bar("an apply that creates: at most 3 times the bare loop", ratio, most=3.0)]


def main() -> None:
    """Print both tables."""
    rows = run(int(sys.argv[1]) if len(sys.argv) > 1 else COUNT)
    print(harness.table(rows), harness.table(bars(rows)), sep="\n\n")


if __name__ == "__main__":
    main()
