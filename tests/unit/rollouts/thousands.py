"""A process that rolls ten thousand children, to be killed at any moment: `python -m tests.unit.rollouts.thousands`.

Everything is real, from the rollout to the store on disk: checks, claims, intents, ledger, audit trail. Only the world
and the time are not.

Its world is a journal: every write of the provider is a line that outlives the process. Its clock is a fake one that
begins where it is told, after everything the one before it claimed has run out.
"""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import os
import signal
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import orjson

from holdfast.cli import GARBAGE
from holdfast.model.write_result import WriteError, WriteFailure
from holdfast.policy.budgets import Percent
from holdfast.rollouts import serialization
from holdfast.rollouts.core import group_rollouts
from holdfast.rollouts.core.records import RolloutPhase
from holdfast.rollouts.core.rollout_limits import HaltRules, RolloutLimits, Waves
from holdfast.rollouts.core.templates import Template
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.transaction import Transaction
from holdfast.testing.clock import FakeClock
from holdfast.testing.memory import MemoryService
from tests.unit.rollouts.group_fixtures import Nursery, template

MANY = int(os.environ.get("MANY", "10000"))
KILL_AT = int(os.environ["KILL_AT"]) if "KILL_AT" in os.environ else None  # bytes of the journal
BUDGET = MANY // 20  # 5 %
HALT_AFTER = max(2, MANY // 100)  # of about three times as many that fail
FAILING = 3  # of a hundred


def lines(folder: Path) -> Iterator[list]:
    """Go through the journal; the last line may have been cut off by a kill."""
    journal = folder / "journal"
    if journal.exists():
        for line in journal.read_bytes().split(b"\n"):
            if line.endswith(b"]"):
                yield orjson.loads(line)


class Indexed(MemoryService):
    """A world that finds by an index: to go through ten thousand things ten thousand times would be the whole test."""

    def find(self, kind: str, name: str) -> str | None:
        index = self.__dict__.setdefault("names", {})
        if not index:
            index.update({(k, body["name"]): ident for (k, ident), body in self.things.items()})
        ident = index.get((kind, name))
        return ident if (kind, ident) in self.things else None


def world(folder: Path) -> MemoryService:
    """Return the world as the journal left it, writing on in it."""
    live = Indexed()
    for verb, kind, ident, key, body in lines(folder):
        if verb == "delete":
            live.things.pop((kind, ident), None)
        else:
            live.things[kind, ident] = body
            live.seen_keys[key] = ident
        live.ids = max(live.ids, int(ident.removeprefix("id-")))
    stream = os.open(folder / "journal", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(_verb: str) -> None:
        if not live.writes:  # to delete what is not there is no write
            return
        verb, kind, ident = live.writes.pop()
        body = live.things.get((kind, ident))
        if body is not None:
            live.__dict__.setdefault("names", {})[kind, body["name"]] = ident
        key = next(reversed(live.seen_keys)) if verb == "create" else ""
        os.write(stream, orjson.dumps([verb, kind, ident, key, body]) + b"\n")
        if KILL_AT is not None and os.fstat(stream).st_size >= KILL_AT:
            os.kill(os.getpid(), signal.SIGKILL)

    live.after_write = note
    live.faults.append(_failing)
    return live


def is_failing(name: str) -> bool:
    """Tell whether a replacement is one of the three in a hundred that fail."""
    return "-r" in name and zlib.crc32(name.encode()) % 100 < FAILING


def _failing(call: str) -> WriteFailure | None:
    verb, _, target = call.partition(" ")
    if verb == "create" and is_failing(target.partition("/")[2]):
        return WriteFailure(WriteError.TERMINAL, "this one never starts")
    return None


def wanted(level: str) -> Template:
    limits = RolloutLimits(
        max_surge=Percent(5),
        budgets={"*": Percent(5)},
        retry_base=30.0,
        retry_max=60.0,
        waves=Waves(canary=10),
        halt=HaltRules(after=HALT_AFTER),
    )
    return template({"level": level}, MANY, limits=limits)


async def seed(folder: Path, start: float) -> None:
    """Fill store and world as if ten thousand births had gone before: one is made, the others are its copies."""
    store = await SqliteStore.open(folder / "holdfast.db")
    live = world(folder)
    nursery = Nursery(live, store, FakeClock(start))
    (group,) = (await nursery.roll(dataclasses.replace(wanted("info"), replicas=1))).groups
    (child,) = group.children.values()
    state = await store.state(child.address)
    assert state is not None
    body = live.things["Thing", "id-1"]
    for first in range(1, MANY, 1000):
        transaction = Transaction()
        for index in range(first, min(first + 1000, MANY)):
            name, ident = f"web-{index}", f"id-{index + 1}"
            address = dataclasses.replace(child.address, name=name)
            transaction.states.append(
                dataclasses.replace(
                    state, address=address, observed=dataclasses.replace(state.observed, provider_id=ident)
                )
            )
            copy = dataclasses.replace(child, address=address, slot=name, version=1)
            transaction.records.put.append(serialization.child_record(copy, "web"))
            live.things["Thing", ident] = {**body, "name": name}
            live.writes.append(("create", "Thing", ident))
            live.seen_keys[f"seed-{index}"] = ident
            live.after_write("create")
        await store.commit(transaction)
    await store.close()


async def main(folder: Path, start: float, level: str) -> None:
    """Roll to the end, resuming at every halt, as a person would."""
    store = await SqliteStore.open(folder / "holdfast.db")
    nursery = Nursery(world(folder), store, FakeClock(start), os.getpid(), lists=False, owner=str(os.getpid()))
    while True:
        (group,) = (await nursery.roll(wanted(level))).groups
        file = group.rollout
        if file is None or file.rollout.phase is RolloutPhase.COMPLETE:
            break
        if file.rollout.phase is RolloutPhase.HALTED:
            await nursery.turn(wanted(level), group_rollouts.resumed)
        nursery.clock.advance(30.0)
    left = Counter(child.state.value for child in group.children.values())
    (folder / f"end-{level}").write_bytes(orjson.dumps({"children": dict(left)}))
    await store.close()


if __name__ == "__main__":
    gc.set_threshold(*GARBAGE)  # as every command does
    asyncio.run(main(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3]))
