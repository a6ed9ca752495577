"""Reading over HTTP beside the plainest client that does the same: aiohttp, orjson, sha256, and nothing around them.

A server in a process of its own holds 500 documents of 4 KB; what counts is the CPU time of this process, the client.
Runs on uvloop where that is installed, for both sides alike. Run by `make bench`.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import msgspec
import orjson

# Run as a script, Python would look for siblings in this folder only.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from holdfast.model.read_result import Found
from holdfast.providers import registry
from holdfast.providers.protocol import Connection, Hint, Reader, Target, Unchanged
from tests.benchmarks import harness, inputs

COUNT, TASKS = 500, 32
PLAIN, FULL = "plain aiohttp + orjson + sha256", "read, parsed"
PLAIN_RAW, SAME = "plain aiohttp + sha256", "read, digest unchanged"
PLAIN_ETAG, ETAG = "plain aiohttp, If-None-Match, 304", "read, etag unchanged"
PLAIN_LIST, LIST = "plain aiohttp + msgspec.Raw + sha256, an item of a list", "an item of a list, digest unchanged"

Batch = Callable[[], Awaitable[None]]


@contextlib.contextmanager
def server() -> Iterator[str]:
    """Run the server on the last core, and this process on the first, where the system lets us choose."""
    things = {f"r{n}": {"id": f"r{n}", "spec": inputs.deployment(n, 2, 3, 2)} for n in range(COUNT)}
    with tempfile.TemporaryDirectory() as folder:
        seed = Path(folder, "things.json")
        seed.write_bytes(orjson.dumps({"things": things}))
        shape = {"things": {"page_size": COUNT}}
        command = [sys.executable, "-m", "holdfast.testing.rest_server"]
        arguments = ["--collections", json.dumps(shape), "--things", f"@{seed}"]
        with subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                port = json.loads(process.stdout.readline())["port"]
                _pin(process.pid)
                yield f"http://127.0.0.1:{port}"
            finally:
                process.terminate()


def _pin(other: int) -> None:
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        os.sched_setaffinity(other, {cores[-1]})
        os.sched_setaffinity(0, {cores[0]})


@dataclass(frozen=True)
class Bench:
    """Everything that is measured, ready to run: what the first read brought is the hint of the next."""

    url: str
    session: aiohttp.ClientSession
    reader: Reader
    conditional: Reader
    targets: list[Target]
    found: list[Found]
    digests: list[bytes]

    async def plain(self, number: int) -> None:
        async with self.session.get(f"{self.url}/things/r{number}") as response:
            body = await response.read()
        hashlib.sha256(body).digest()
        orjson.loads(body)

    async def plain_raw(self, number: int) -> None:
        async with self.session.get(f"{self.url}/things/r{number}") as response:
            body = await response.read()
        if hashlib.sha256(body).digest() != self.digests[number]:
            raise SystemExit("not the same bytes")

    async def plain_etag(self, number: int) -> None:
        etag = self.found[number].etag or ""
        async with self.session.get(f"{self.url}/things/r{number}", headers={"If-None-Match": etag}) as response:
            await response.read()
            if response.status != 304:
                raise SystemExit("sent again")

    async def full(self, number: int) -> None:
        if not isinstance(await self.reader.read(self.targets[number]), Found):
            raise SystemExit("not found")

    async def same(self, number: int) -> None:
        hint = Hint(None, self.found[number].raw_digest)
        if not isinstance(await self.reader.read(self.targets[number], hint), Unchanged):
            raise SystemExit("not unchanged")

    async def etag(self, number: int) -> None:
        hint = Hint(self.found[number].etag, self.found[number].raw_digest)
        if not isinstance(await self.conditional.read(self.targets[number], hint), Unchanged):
            raise SystemExit("not unchanged")

    async def plain_list(self) -> None:
        async with self.session.get(f"{self.url}/things") as response:
            body = await response.read()
        envelope = msgspec.json.decode(body, type=PlainPage)
        for item, digest in zip(envelope.items, self.digests, strict=True):
            if hashlib.sha256(bytes(item)).digest() != digest:
                raise SystemExit("not the same bytes")

    async def list(self) -> None:
        known = {target.id: element.raw_digest for target, element in zip(self.targets, self.found, strict=True)}
        async for item in self.reader.list("Thing"):
            if known[item.id] != item.raw_digest:
                raise SystemExit("not the same bytes")

    def variants(self) -> dict[str, Batch]:
        """Return all variants by name, each doing COUNT checks."""
        return {
            PLAIN: lambda: _spread(self.plain),
            FULL: lambda: _spread(self.full),
            PLAIN_RAW: lambda: _spread(self.plain_raw),
            SAME: lambda: _spread(self.same),
            PLAIN_ETAG: lambda: _spread(self.plain_etag),
            ETAG: lambda: _spread(self.etag),
            PLAIN_LIST: self.plain_list,
            LIST: self.list,
        }


class PlainPage(msgspec.Struct):
    """A page, for the plain client."""

    items: list[msgspec.Raw]


async def _spread(one: Callable[[int], Awaitable[None]]) -> None:
    numbers = iter(range(COUNT))

    async def work() -> None:
        for number in numbers:
            await one(number)

    await asyncio.gather(*(work() for _ in range(TASKS)))


@contextlib.asynccontextmanager
async def opened(url: str) -> AsyncIterator[Bench]:
    """Open both clients and read everything once."""
    kind = {"read": "/things/{id}", "list": {"path": "/things", "items": "/items", "next": {"pointer": "/next"}}}
    targets = [Target("Thing", f"r{n}", f"r{n}", {}) for n in range(COUNT)]
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=TASKS)))
        readers = []
        for extra in ({"etag": "header"}, {"etag": "header", "conditional": True}):
            connection = Connection("bench", "http", {"base_url": url, "kinds": {"Thing": {**kind, **extra}}})
            readers.append(await stack.enter_async_context(registry.get("http").reader(connection)))
        found = [seen for target in targets if isinstance(seen := await readers[0].read(target), Found)]
        digests = [bytes.fromhex((seen.raw_digest or "").removeprefix("sha256:")) for seen in found]
        yield Bench(url, session, readers[0], readers[1], targets, found, digests)


def run(rounds: int = 21) -> list[dict[str, object]]:
    """Measure; one row a variant, with its ratio to the plain client before it."""
    with server() as url, _runner() as runner:
        stack = AsyncExitStack()
        bench = runner.run(stack.enter_async_context(opened(url)))
        calls = {name: _call(runner, batch) for name, batch in bench.variants().items()}
        us = {name: value / COUNT for name, value in harness.medians(calls, rounds).items()}
        runner.run(stack.aclose())
    rows, base = [], 1.0
    for name, value in us.items():
        base = value if name.startswith("plain") else base
        rows.append({"a check of 4 KB": name, "CPU us": value, "times plain": value / base})
    return rows


def _call(runner: asyncio.Runner, batch: Batch) -> Callable[[], None]:
    async def once() -> None:
        await batch()

    return lambda: runner.run(once())


def _runner() -> asyncio.Runner:
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def bars(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return what was promised beside what was measured."""
    ratio = {str(row["a check of 4 KB"]): float(str(row["times plain"])) for row in rows}
    return [
        harness.bar("a full read: at most 1.2 times the plain client", ratio[FULL], most=1.2),
        harness.bar("an unchanged read: at most 1.3 times the plain client", ratio[SAME], most=1.3),
        harness.bar("an unchanged item of a list: at most 2 times the plain client", ratio[LIST], most=2.0),
    ]


def main() -> None:
    """Print both tables."""
    rows = run(int(sys.argv[1]) if len(sys.argv) > 1 else 21)
    print(harness.table(rows), harness.table(bars(rows)), sep="\n\n")


if __name__ == "__main__":
    main()
