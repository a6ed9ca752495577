"""One process of Holdfast on a SQLite store and a world kept in a file; it kills itself where it is told to.

python -m tests.integration.reconcile.child FOLDER ACTION KILL_AT

A boundary is counted before and after every commit and every call of the provider that changes something. At the
boundary numbered KILL_AT the process gets SIGKILL; with -1 it runs to the end and prints how many there were.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from holdfast.model.json import Json
from holdfast.reconcile.action_result import ActionOutcome
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.transaction import Transaction
from holdfast.testing.memory import MemoryService
from tests.unit.reconcile.fixtures import Bench, declare

PROFILE = "profile: test/thing\nversion: 1\nrules:\n  - {path: /kind, class: create_only}\n"


class Boundaries:
    def __init__(self, kill_at: int) -> None:
        self.kill_at = kill_at
        self.count = 0

    def cross(self) -> None:
        if self.count == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        self.count += 1


class FileWorld(MemoryService):
    """A world that outlives the process: every change is on disk before the call returns."""

    def load(self, file: Path) -> None:
        self.file = file
        if file.exists():
            body = json.loads(file.read_text())
            self.things = {tuple(key.split("|")): value for key, value in body["things"].items()}
            self.seen_keys = body["keys"]
            self.ids = body["ids"]
            self.writes = [tuple(write) for write in body["writes"]]

    def save(self) -> None:
        things = {"|".join(key): value for key, value in self.things.items()}
        body = {"things": things, "keys": self.seen_keys, "ids": self.ids, "writes": self.writes}
        part = self.file.with_suffix(".part")
        part.write_text(json.dumps(body))
        part.replace(self.file)


class CrossingStore:
    def __init__(self, store: SqliteStore, boundaries: Boundaries) -> None:
        self._store = store
        self._boundaries = boundaries

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, transaction: Transaction) -> None:
        self._boundaries.cross()
        await self._store.commit(transaction)
        self._boundaries.cross()


def declared(action: str) -> list[Any]:
    base: Json = {"color": "red", "kind": "round"}
    options: dict[str, Json] = {"resyncPeriod": "1h", "onImmutable": "replace"}
    if action == "update":
        base = {**base, "color": "green"}
    if action == "replace":
        base = {**base, "kind": "square"}
    return [declare("a", base, **options)]


async def main(folder: Path, action: str, kill_at: int) -> None:
    boundaries = Boundaries(kill_at)
    live = FileWorld(polls=2)
    live.load(folder / "world.json")

    def before(_verb: str) -> None:
        boundaries.cross()

    def after(_verb: str) -> None:
        live.save()
        boundaries.cross()

    live.before_write, live.after_write = before, after
    store = await SqliteStore.open(folder / "store.db")
    bench = Bench(live=live, store=CrossingStore(store, boundaries), profile=PROFILE, seed=os.getpid())
    # Claims of the killed process run out by the clock; the next process comes later.
    bench.clock.advance(1000.0 * (int((folder / "runs").read_text()) if (folder / "runs").exists() else 0))
    bench.owner = str(os.getpid())
    if action == "delete":
        report = await bench_delete(bench)
    else:
        async with bench.world() as world:
            report = await bench.applier(world, declared(action)).apply()
    live.save()
    await store.verify_chain()
    operations = await store.operations()
    await store.close()
    bad = [item.message for item in report.acted if item.result is not ActionOutcome.DONE]
    sys.stdout.write(json.dumps({"boundaries": boundaries.count, "bad": bad, "operations": len(operations)}))


async def bench_delete(bench: Bench) -> Any:
    async with bench.world() as world:
        applier = bench.applier(world, declared("create"))
        for operation in await bench.store.operations():
            await applier.resume(operation)
        return await applier.delete([item.address for item in declared("create")])


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
