"""One job in three ways: a script with aiohttp and DeepDiff, Holdfast, and kopf for each event it receives.

The job: read 1,000 resources of 4 KB over HTTP and find the 10 that differ from what is declared. Holdfast also keeps a
baseline, records every verdict and writes the audit trail. kopf does less: an event is received and handed to a handler
that does nothing. CPU time of the client's process only. Run by `make bench`.
"""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import aiohttp
import deepdiff

# Run as a script, Python would look for siblings in this folder only.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from holdfast.cli import GARBAGE
from holdfast.model.verdict import Status
from holdfast.reconcile.fleet_check import check_resources
from holdfast.store.sqlite.store import SqliteStore
from tests.benchmarks import bench_engine, harness

ROOT = Path(__file__).resolve().parents[2]
COUNT, DRIFTED = 1_000, 10
EVENTS = 3_000
ROUNDS = 3

DEEPDIFF = "script: aiohttp, json, DeepDiff(ignore_order=True) of each"
QUICK = "script: aiohttp, json, == of each, DeepDiff where it differs"
SINGLE = "holdfast check, one read for each, recorded"
LISTED = "holdfast check, list call, recorded"
KOPF = "kopf, one watch event, a handler that does nothing"


async def script(port: int, *, compares_first: bool) -> None:
    """Do the job as a user would write it; the order of lists does not count."""
    declared = [bench_engine.document(i) if i < COUNT - DRIFTED else _drifted(i) for i in range(COUNT)]
    queue = iter(range(COUNT))
    differing: list[int] = []
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=32)) as session:

        async def worker() -> None:
            for number in queue:
                async with session.get(f"http://127.0.0.1:{port}/items/{number}") as response:
                    live = json.loads(await response.read())
                if compares_first and live == declared[number]:
                    continue
                if deepdiff.DeepDiff(declared[number], live, ignore_order=True):
                    differing.append(number)

        await asyncio.gather(*(worker() for _ in range(32)))
    assert len(differing) == DRIFTED


def _drifted(number: int) -> dict[str, object]:
    return {**bench_engine.document(number), "filledIn": 1}


async def ours(port: int, database: Path, *, lists: bool) -> float:
    """Return the CPU seconds of Holdfast for the job, preparation included."""
    store = await SqliteStore.open(database)
    setting = bench_engine.Setting(store, port, COUNT)
    if not lists:
        del setting.connection.settings["kinds"]["Item"]["list"]
    await setting.fill(DRIFTED)

    async def check() -> None:
        async with setting.world() as world:
            resolver, checker = setting.looker(world, setting.addresses)
            report = await check_resources(resolver, checker)
            assert sum(item.verdict.status is not Status.IN_SYNC for item in report.checked) == DRIFTED

    seconds = await bench_engine.cpu(check)
    await store.close()
    return seconds


def kopf_event() -> float | None:
    """Return the microseconds of an event in kopf, or None if it is not installed."""
    if importlib.util.find_spec("kopf") is None:
        return None
    command = [sys.executable, "-m", "tests.benchmarks.kopf_side"]
    server = subprocess.Popen([*command, "serve", str(EVENTS)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        done = subprocess.run([*command, "operate", port], cwd=ROOT, capture_output=True, text=True, check=True)
        return float(done.stdout)
    finally:
        server.kill()
        server.wait()


async def measure(port: int, folder: Path) -> dict[str, float]:
    """Return the microseconds for each resource, the least of the rounds, in turns."""
    us: dict[str, float] = {}

    def keep(name: str, value: float) -> None:
        us[name] = min(us.get(name, value), value)

    for turn in range(ROUNDS):
        keep(QUICK, await bench_engine.cpu(lambda: script(port, compares_first=True)) / COUNT * 1e6)
        keep(SINGLE, await ours(port, folder / f"single{turn}.db", lists=False) / COUNT * 1e6)
        keep(LISTED, await ours(port, folder / f"lists{turn}.db", lists=True) / COUNT * 1e6)
    keep(DEEPDIFF, await bench_engine.cpu(lambda: script(port, compares_first=False)) / COUNT * 1e6)
    return us


def run() -> list[dict[str, object]]:
    """Start the server, measure, stop it."""
    gc.set_threshold(*GARBAGE)  # as every command does
    server = subprocess.Popen([sys.executable, "-c", bench_engine.SERVER], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        with tempfile.TemporaryDirectory() as folder:
            us = asyncio.run(measure(port, Path(folder)))
    finally:
        server.kill()
        server.wait()
    event = kopf_event()
    if event is not None:
        us[KOPF] = event
    order = [name for name in (DEEPDIFF, QUICK, SINGLE, LISTED, KOPF) if name in us]
    return [
        {"the same job": name, "CPU us each": us[name], "times ours, listed": us[name] / us[LISTED]} for name in order
    ]


def main() -> None:
    """Print the table."""
    print(harness.table(run()))


if __name__ == "__main__":
    main()
