"""The engine at scale, beside the floors of `research/perf_anchors.md` re-measured in the same run.

A child process serves a list and single items of 4 KB; only the CPU time of this process counts. Run by `make bench`.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import aiohttp
import msgspec
import orjson

# Run as a script, Python would look for siblings in this folder only.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from holdfast.cli import GARBAGE
from holdfast.compare import canonical, comparators
from holdfast.manifests.secrets import Resolver
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.resource import Declaration
from holdfast.model.verdict import Status
from holdfast.policy import dependency_graph
from holdfast.providers import registry
from holdfast.providers.protocol import Connection
from holdfast.reconcile.check import Checker
from holdfast.reconcile.clock import SystemClock
from holdfast.reconcile.connections import Connections
from holdfast.reconcile.fleet_check import check_resources
from holdfast.reconcile.resolve import ResourceResolver, ResourceSet
from holdfast.reconcile.resolved_resource import ResolvedResource, digest_of, document_bytes
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.state import AppliedState, DeclaredState, ObservedState, ResourceState, ScheduleState
from holdfast.store.transaction import Transaction
from holdfast.watch.list_scan import ListScanner
from tests.benchmarks import harness, inputs

SERVER = """
import asyncio, sys
from tests.benchmarks.bench_engine import item, PAGE
class P(asyncio.Protocol):
    def connection_made(self, t): self.t = t; self.b = b""
    def data_received(self, d):
        self.b += d
        while b"\\r\\n\\r\\n" in self.b:
            head, self.b = self.b.split(b"\\r\\n\\r\\n", 1)
            path = head.split(b" ", 2)[1].decode()
            if path.startswith("/items/"):
                body = item(int(path.rsplit("/", 1)[1]))
            else:
                n, at = int(path.split("n=")[1].split("&")[0]), int(path.split("cursor=")[1] if "cursor=" in path else 0)
                end = min(at + PAGE, n)
                nxt = b'"%d"' % end if end < n else b"null"
                body = b'{"items":[' + b",".join(item(i) for i in range(at, end)) + b'],"next":' + nxt + b"}"
            self.t.write(b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
async def main():
    server = await asyncio.get_running_loop().create_server(P, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""
PAGE = 500
SINGLE = 2_000
SMALL, LARGE = 1_000, 100_000
_BODY = json.loads(inputs.compact(inputs.documents()["4 KB"]))
_RAW = inputs.compact(_BODY)[1:]


def item(number: int) -> bytes:
    """Return one item as the server sends it."""
    return b'{"id":"%d",' % number + _RAW


def document(number: int) -> Json:
    """Return the same, read."""
    return {"id": str(number), **_BODY}


def kinds(count: int) -> Json:
    """Describe the API."""
    return {
        "Item": {
            "read": {"path": "/items/{id}"},
            "create": {"method": "POST", "path": "/items", "id": "/id"},
            "update": {"method": "PUT", "path": "/items/{id}"},
            "delete": {"path": "/items/{id}"},
            "list": {
                "path": f"/items?n={count}",
                "items": "/items",
                "id": "/id",
                "next": {"cursor": {"pointer": "/next", "param": "cursor"}},
            },
            "profile": {"rules": [{"path": "/id", "class": "identity"}]},
        }
    }


class Setting:
    """A store full of resources at rest, and the world they are in."""

    def __init__(self, store: SqliteStore, port: int, count: int) -> None:
        self.store = store
        self.count = count
        self.clock = SystemClock()
        self.random = random.Random(1).random
        self.connection = Connection("api", "http", {"base_url": f"http://127.0.0.1:{port}", "kinds": kinds(count)})
        self.addresses = [Address("api", "Item", str(i)) for i in range(count)]

    def fingerprint(self, value: Json) -> str:
        return comparators.fingerprint(value, b"bench")

    def world(self) -> Connections:
        return Connections({"api": self.connection}, {"http": registry.get("http")}, {}, self.clock)

    def fleet(self, addresses: list[Address]) -> ResourceSet:
        listed = [Declaration(a, "http", "http.holdfast.dev/v1", _BODY) for a in addresses]
        graph, _ = dependency_graph.build(listed)
        return ResourceSet({item.address: item for item in listed}, graph)

    def looker(self, world: Connections, addresses: list[Address]) -> tuple[ResourceResolver, Checker]:
        preparer = ResourceResolver(self.store, world, self.fleet(addresses), self.fingerprint, lambda _d: Resolver({}))
        return preparer, Checker(self.store, world, self.clock, self.random, self.fingerprint)

    async def fill(self, drifted: int, *, raw_moved: bool = False) -> None:
        """Put resources at rest into the store; the last ones as if a default of theirs had vanished since."""
        async with self.world() as world:
            preparer, _ = self.looker(world, self.addresses[:1])
            (sample,), _ = await preparer.prepare(self.addresses[:1])
        rules = digest_of(sample.rules.document)
        shared = {digest_of(_BODY): document_bytes(_BODY), rules: document_bytes(sample.rules.document)}
        for start in range(0, self.count, 2_000):
            transaction = Transaction(documents=dict(shared))
            for i in range(start, min(start + 2_000, self.count)):
                body = document(i) if i < self.count - drifted else {**document(i), "filledIn": 1}
                digest = digest_of(body)
                transaction.documents[digest] = document_bytes(body)
                transaction.states.append(
                    ResourceState(
                        self.addresses[i],
                        declared=DeclaredState("http", document=digest_of(_BODY), options=sample.options),
                        applied=AppliedState(document=digest_of(_BODY), revision=1, baseline=digest, rules=rules),
                        observed=ObservedState(
                            document=digest,
                            provider_id=str(i),
                            status=Status.IN_SYNC,
                            raw_digest=_raw_digest(i) if i < self.count - drifted and not raw_moved else None,
                        ),
                        schedule=ScheduleState(checked_at=1.0, good_at=1.0, resync_seconds=3600.0, due_at=1.0),
                    )
                )
            await self.store.commit(transaction)


def _raw_digest(number: int) -> str:
    return "sha256:" + hashlib.sha256(item(number)).hexdigest()


async def cpu(call: Callable[[], Awaitable[object]]) -> float:
    """Return the CPU seconds of a call."""
    start = time.process_time()
    await call()
    return time.process_time() - start


async def floor_single(port: int, database: Path) -> None:
    """Fetch, parse, hash, compare and record, with nothing around it: the row of the anchors."""
    connection = sqlite3.connect(database)
    connection.execute("CREATE TABLE IF NOT EXISTS r (id INTEGER PRIMARY KEY, raw BLOB, digest BLOB, at REAL)")
    done: list[tuple[int, bytes, bytes, float]] = []
    queue = iter(range(SINGLE))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=32)) as session:

        async def worker() -> None:
            for number in queue:
                async with session.get(f"http://127.0.0.1:{port}/items/{number}") as response:
                    body = await response.read()
                raw = hashlib.sha256(body).digest()
                digest = hashlib.sha256(canonical.canonical_bytes(orjson.loads(body))).digest()
                done.append((number, raw, digest, 0.0))

        await asyncio.gather(*(worker() for _ in range(32)))
    for start in range(0, SINGLE, 500):
        with connection:
            connection.executemany("INSERT OR REPLACE INTO r VALUES (?, ?, ?, ?)", done[start : start + 500])
    connection.close()


class _Page(msgspec.Struct):
    items: list[msgspec.Raw]
    next: str | None = None


class _Id(msgspec.Struct):
    id: str


async def floor_list(port: int, database: Path, count: int) -> None:
    """Read a list in pages, slice it unparsed, digest every item and record: the row of the anchors."""
    connection = sqlite3.connect(database)
    connection.execute("CREATE TABLE IF NOT EXISTS l (id TEXT PRIMARY KEY, raw BLOB, at REAL)")
    pages, ids = msgspec.json.Decoder(_Page), msgspec.json.Decoder(_Id)
    cursor: str | None = "0"
    async with aiohttp.ClientSession() as session:
        while cursor is not None:
            async with session.get(f"http://127.0.0.1:{port}/items?n={count}&cursor={cursor}") as response:
                page = pages.decode(await response.read())
            rows = [(ids.decode(raw).id, hashlib.sha256(raw).digest(), 0.0) for raw in page.items]
            with connection:
                connection.executemany("INSERT OR REPLACE INTO l VALUES (?, ?, ?)", rows)
            cursor = page.next
    connection.close()


async def measure(port: int, folder: Path) -> list[dict[str, object]]:
    """Measure everything; one row a figure."""
    out: list[dict[str, object]] = []

    def row(what: str, value: float, unit: str) -> float:
        out.append({"what": what, "value": value, "unit": unit})
        return value

    store = await SqliteStore.open(folder / "small.db")
    small = Setting(store, port, SINGLE)
    await small.fill(drifted=0, raw_moved=True)  # so that everything is parsed, hashed and compared
    async with small.world() as world:
        preparer, checker = small.looker(world, small.addresses)
        ready, _ = await preparer.prepare(small.addresses)
    plain = [_without_lists(item) for item in ready]
    async with small.world() as world:
        _, checker = small.looker(world, small.addresses)
        assert not any(item.is_fast for item in await checker.check_all(plain))  # what is measured parses everything
        ours = min([await cpu(lambda: checker.check_all(plain)) for _ in range(5)])
        whole = min([await cpu(lambda: checker.check_all(plain, fresh=True)) for _ in range(3)])
    floor = min([await cpu(lambda: floor_single(port, folder / "floor.db")) for _ in range(5)])
    row("floor: fetch 4 KB, parse, hash, record", floor / SINGLE * 1e6, "us CPU")
    row("full check of 4 KB over http, recorded", ours / SINGLE * 1e6, "us CPU")
    row("full check / floor (promise: at most 1.5)", ours / floor, "times")
    row("the same, everything evaluated and written again", whole / SINGLE * 1e6, "us CPU")
    await store.close()

    costs = {}
    for count in (SMALL, LARGE):
        store = await SqliteStore.open(folder / f"{count}.db")
        setting = Setting(store, port, count)
        drifted = count // 100
        await setting.fill(drifted)
        before = _resident()
        async with setting.world() as world:
            sweeper = ListScanner(store, world, setting.clock, setting.random)
            started = time.perf_counter()
            used = await cpu(lambda: sweeper.sweep("api", "Item"))  # noqa: B023
            row(f"{count:,}: sweep by list reads, 1 % drifted", time.perf_counter() - started, "s")
            row(f"{count:,}: growth of memory, per resource", max(0, _resident() - before) / count, "bytes")
            used = min([used] + [await cpu(lambda: sweeper.sweep("api", "Item")) for _ in range(2)])  # noqa: B023
            costs[count] = row(f"{count:,}: the same, CPU per resource", used / count * 1e6, "us CPU")
        base = min([await cpu(lambda: floor_list(port, folder / "list.db", count)) for _ in range(2)])  # noqa: B023
        row(f"{count:,}: floor: list, items sliced unparsed, recorded", base / count * 1e6, "us CPU")
        row(f"{count:,}: sweep / floor (promise: at most 2)", used / base, "times")
        before = _resident()
        async with setting.world() as world:
            started = time.perf_counter()
            preparer, checker = setting.looker(world, setting.addresses)
            report = await check_resources(preparer, checker, record=False)
            row(f"{count:,}: plan, 1 % drifted", time.perf_counter() - started, "s")
            row(f"{count:,}: the same, memory per resource", max(0, _resident() - before) / count, "bytes")
            assert sum(item.verdict.status is not Status.IN_SYNC for item in report.checked) == drifted
            del report, preparer, checker
        async with setting.world() as world:
            preparer, checker = setting.looker(world, setting.addresses[count - drifted :])
            await check_resources(preparer, checker)  # so that `status` and `explain` have something to tell
        started = time.perf_counter()
        await store.count_statuses(time.time())
        row(f"{count:,}: status", (time.perf_counter() - started) * 1e3, "ms")
        started = time.perf_counter()
        await store.state(setting.addresses[-1])
        await store.findings(setting.addresses[-1])
        row(f"{count:,}: explain one", (time.perf_counter() - started) * 1e3, "ms")
        await store.close()
        row(
            f"{count:,}: database, per resource with its document",
            (folder / f"{count}.db").stat().st_size / count,
            "bytes",
        )
    row("cost per resource at 100,000 / at 1,000 (promise: at most 1.3)", costs[LARGE] / costs[SMALL], "times")
    return out


def _without_lists(prepared: ResolvedResource) -> ResolvedResource:
    return replace(prepared, kind=replace(prepared.kind, lists=False))


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def run() -> list[dict[str, object]]:
    """Start the server, measure, stop it."""
    gc.set_threshold(*GARBAGE)  # as every command does
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).resolve().parents[2]
    )
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        with tempfile.TemporaryDirectory() as folder:
            try:
                import uvloop

                with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                    return runner.run(measure(port, Path(folder)))
            except ImportError:
                return asyncio.run(measure(port, Path(folder)))
    finally:
        server.kill()
        server.wait()


def main() -> None:
    """Print the table."""
    print(harness.table(run()))


if __name__ == "__main__":
    main()
