"""The embedded store beside plain sqlite3: recording check results, taking due resources, size on disk, memory.

`plain` is what the research anchor measured: executemany of (id, hash, status, time) in batches of 1,000, WAL,
synchronous=NORMAL. Holdfast records the whole state and an event in the hash chain, so it is also shown beside plain
executemany of the very rows it writes. Run by `make bench`, or python tests/benchmarks/bench_store.py [rounds].
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import itertools
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path

# Run as a script, Python would look for siblings in this folder only.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from holdfast.model.address import Address
from holdfast.model.condition import Condition, ConditionType, Truth
from holdfast.model.verdict import Status
from holdfast.store.records import AuditEvent
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.state import (
    AppliedState,
    DeclaredState,
    Digest,
    ObservedState,
    ResourceState,
    ScheduleState,
    UnchangedCheck,
)
from holdfast.store.transaction import PartialUpdates, Transaction
from tests.benchmarks import harness

SMALL, LARGE, BATCH, DUE = 20_000, 100_000, 1_000, 500
NOW = 1.8e9
FAMILY = ("prod-cloud", "Network")

ANCHOR = "plain sqlite3: id, hash, status, time"
WITH_EVENT = "plain sqlite3: the same and an event"
SAME_ROWS = "plain sqlite3: the rows Holdfast writes, made beforehand"
TOUCH = "Holdfast: nothing new (touch)"
UNCHANGED = "Holdfast: state and chained event, only times new"
CHANGED = "Holdfast: state and chained event, details new too"
MEMORY = "memory of the process for each further resource"
DATA = b'{"findings":0,"status":"in_sync"}'

Call = Callable[[], None]
Rows = list[tuple[object, ...]]


def digest(*content: object) -> Digest:
    """Return some digest."""
    return Digest("sha256:" + hashlib.sha256(repr(content).encode()).hexdigest())


def provider_id(number: int) -> str:
    """Return what the provider calls a resource."""
    return f"0f1c2d3e-{number:012}"


def state(number: int) -> ResourceState:
    """Return an ordinary resource at rest: all digests and conditions, two labels, three options."""
    settled = digest("settled", number)
    return ResourceState(
        Address(*FAMILY, f"network-{number:06}", f"team-{number % 7}"),
        declared=DeclaredState(
            "openstack",
            generation=3,
            document=digest("desired", number),
            labels={"tier": "1", "app": "web"},
            options={"onDrift": "correct", "resyncPeriod": 3600, "policy": "managed"},
            source=f"infra/networks-{number % 50}.yaml:{number % 900}",
        ),
        applied=AppliedState(
            document=digest("desired", number),
            revision=2,
            baseline=settled,
            known_differences=digest("known", number),
            rules=digest("rules"),
        ),
        observed=ObservedState(
            document=settled,
            provider_id=provider_id(number),
            status=Status.IN_SYNC,
            reason="as declared",
            etag=f'W/"{number:08x}"',
            raw_digest=digest("raw", number),
            state_hash="spec-sha256/1:" + digest("state", number),
            conditions=tuple(
                Condition(kind, Truth.TRUE, "Success", "the resource is as declared", 3, NOW + number)
                for kind in ConditionType
            ),
        ),
        schedule=ScheduleState(checked_at=NOW, good_at=NOW, resync_seconds=3600.0, due_at=NOW + number * 0.01),
    )


def pages(count: int) -> Iterator[list[tuple[str, str]]]:
    """Return what list calls show of resources at rest: provider id and raw digest."""
    for start in range(0, count, BATCH):
        yield [(provider_id(number), digest("raw", number)) for number in range(start, start + BATCH)]


class Filled:
    """A store with resources in it, and the loop it is used from."""

    def __init__(self, folder: Path, count: int) -> None:
        self.path, self.count = folder / f"{count}.db", count
        self.runner = asyncio.Runner()
        self.store = self.runner.run(SqliteStore.open(self.path))
        self.later = itertools.count(NOW + count)
        for start in range(0, count, BATCH):
            self.commit(Transaction(states=[state(number) for number in range(start, start + BATCH)]))
        self.listed = list(pages(count))

    def commit(self, transaction: Transaction) -> None:
        """Record a batch."""
        self.runner.run(self.store.commit(transaction))

    def push_back(self) -> None:
        """Take what is due and put it at the end of the line."""
        due = self.runner.run(self.store.due(2 * NOW, DUE))
        self.commit(
            Transaction(
                updates=PartialUpdates(unchanged=[UnchangedCheck(item.address, NOW, next(self.later)) for item in due])
            )
        )

    def bytes_each(self) -> float:
        """Return the size on disk of each resource, indices and all."""
        connection = self.store._connection
        self.runner.run(
            self.store._batcher.read(lambda: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())
        )
        return self.path.stat().st_size / self.count

    def sweep(self) -> None:
        """Go through everything."""

        async def whole() -> int:
            return sum([1 async for _ in self.store.all_states()])

        self.require(self.runner.run(whole()))

    def ask_what_is_settled(self) -> None:
        """Do what a sweep by list calls does to the store: ask by pages what is settled, then what was left out."""

        async def whole() -> int:
            settled = [len(await self.store.find_unchanged(*FAMILY, page)) for page in self.listed]
            return sum(settled) + len([item async for item in self.store.unchecked(*FAMILY, NOW)])

        self.require(self.runner.run(whole()))

    def require(self, found: int) -> None:
        """Stop if resources were not met once each."""
        if found != self.count:
            raise SystemExit(f"{found} of {self.count} resources were met, so the speed means nothing")

    def close(self) -> None:
        """Let go of the file."""
        self.runner.run(self.store.close())
        self.runner.close()


class Plain:
    """The same work in plain sqlite3, on rows made beforehand."""

    SCHEMA = """
    PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    CREATE TABLE result (id INTEGER PRIMARY KEY, hash BLOB NOT NULL, status INTEGER NOT NULL, checked_at INTEGER);
    CREATE TABLE log (id INTEGER PRIMARY KEY, at REAL, type TEXT, subject INTEGER, data BLOB);
    CREATE TABLE full (
      id INTEGER PRIMARY KEY, status INTEGER, failures INTEGER, due_at REAL, checked_at REAL, good_at REAL, mark INTEGER
    );
    CREATE INDEX full_due ON full (due_at);
    CREATE TABLE chained (id INTEGER PRIMARY KEY, at REAL, type TEXT, subject INTEGER, data BLOB, hash BLOB);
    CREATE INDEX chained_subject ON chained (subject);
    """
    RESULT = """INSERT INTO result VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
      hash = excluded.hash, status = excluded.status, checked_at = excluded.checked_at"""
    LOG = "INSERT INTO log (at, type, subject, data) VALUES (?, ?, ?, ?)"
    FULL = """INSERT INTO full VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
      status = excluded.status, failures = excluded.failures, due_at = excluded.due_at,
      checked_at = excluded.checked_at, good_at = excluded.good_at, mark = excluded.mark"""
    CHAINED = "INSERT INTO chained (at, type, subject, data, hash) VALUES (?, ?, ?, ?, ?)"

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.executescript(self.SCHEMA)
        self.anchor(range(SMALL))()
        self.same_rows(range(SMALL))()

    def anchor(self, numbers: Sequence[int], *, logged: bool = False) -> Call:
        """Return a call that records results as the anchor does."""
        rows: Rows = [(number, bytes(32), 1, 1_700_000_000 + number) for number in numbers]
        log: Rows = [(NOW, "check.finished", number, DATA) for number in numbers]
        return partial(self._write, [(self.RESULT, rows), *([(self.LOG, log)] if logged else [])])

    def same_rows(self, numbers: Sequence[int]) -> Call:
        """Return a call that writes what Holdfast writes of checks that found nothing new."""
        rows: Rows = [(number, 1, 0, NOW + number * 0.01, NOW, NOW, 2**62 - number) for number in sorted(numbers)]
        log: Rows = [(NOW, "check.finished", number, DATA, bytes(32)) for number in numbers]
        return partial(self._write, [(self.FULL, rows), (self.CHAINED, log)])

    def _write(self, statements: list[tuple[str, Rows]]) -> None:
        self.connection.execute("BEGIN IMMEDIATE")
        for statement, rows in statements:
            self.connection.executemany(statement, rows)
        self.connection.execute("COMMIT")


def recording(filled: Filled, plain: Plain) -> dict[str, Call]:
    """Return the ways to record 1,000 check results; each call takes the next of a few random batches."""
    chance = random.Random(1)
    batches = [chance.sample(range(SMALL // 2), BATCH) for _ in range(4)]
    others = [chance.sample(range(SMALL // 2, SMALL), BATCH) for _ in range(4)]
    changed = [replace_all(batch, reason) for reason in ("as declared again", "as declared") for batch in others]
    touched = [
        [UnchangedCheck(item.address, NOW, item.schedule.due_at) for item in map(state, batch)] for batch in batches
    ]
    return {
        ANCHOR: in_turn(plain.anchor(batch) for batch in batches),
        WITH_EVENT: in_turn(plain.anchor(batch, logged=True) for batch in batches),
        SAME_ROWS: in_turn(plain.same_rows(batch) for batch in batches),
        TOUCH: in_turn(
            partial(filled.commit, Transaction(updates=PartialUpdates(unchanged=batch))) for batch in touched
        ),
        UNCHANGED: in_turn(partial(filled.commit, checked(list(map(state, batch)))) for batch in batches),
        CHANGED: in_turn(partial(filled.commit, checked(batch)) for batch in changed),
    }


def replace_all(numbers: list[int], reason: str) -> list[ResourceState]:
    """Return resources whose detail differs from what it was."""
    states = [state(number) for number in numbers]
    return [replace(item, observed=replace(item.observed, reason=reason)) for item in states]


def checked(states: list[ResourceState]) -> Transaction:
    """Return the record of checks, one event each."""
    data = {"status": "in_sync", "findings": 0}
    return Transaction(
        states=states, events=[AuditEvent(NOW, "check.finished", str(state.address), data) for state in states]
    )


def in_turn(calls: Iterable[Call]) -> Call:
    """Return a call that does the next of several each time."""
    turn = itertools.cycle(list(calls))

    def call() -> None:
        next(turn)()

    return call


def resident_bytes(filled: Filled) -> int:
    """Return how much memory a new process has in use once it has gone through a store."""
    command = [sys.executable, __file__, "--resident", str(filled.path)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


async def sweep_alone(path: str) -> int:
    """Be that process."""
    store = await SqliteStore.open(path)
    async for _ in store.all_states():
        pass
    for page in pages((await store.count_statuses(NOW)).total):
        await store.find_unchanged(*FAMILY, page)
    async for _ in store.unchecked(*FAMILY, NOW):
        pass
    await store.due(2 * NOW, DUE)
    resident = await asyncio.to_thread(Path("/proc/self/statm").read_text, encoding="ascii")
    await store.close()
    return int(resident.split()[1]) * os.sysconf("SC_PAGE_SIZE")


def row(what: str, value: float, unit: str, plain: float | None = None) -> dict[str, object]:
    """Return one line of the table."""
    return {"what": what, "value": value, "unit": unit, "times plain": "" if plain is None else value / plain}


def run(rounds: int = 9) -> list[dict[str, object]]:
    """Measure; times are CPU microseconds of one resource in batches, sizes include every index."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        small = stack.enter_context(closing(Filled(folder, SMALL)))
        plain = Plain(folder / "plain.db")
        stack.enter_context(closing(plain.connection))
        sizes = [row(f"{SMALL:,} resources", small.bytes_each(), "bytes each")]
        ways = recording(small, plain)
        gc.freeze()  # what was made beforehand is no part of the work, nor is looking through it for garbage
        us = harness.medians(ways, rounds)
        rows = [row(what, value / BATCH, "us", us[ANCHOR] / BATCH) for what, value in us.items()]
        large = stack.enter_context(closing(Filled(folder, LARGE)))
        sizes.append(row(f"{LARGE:,} resources", large.bytes_each(), "bytes each"))
        growth = resident_bytes(large) - resident_bytes(small)
        memory = row(MEMORY, max(0, growth) / (LARGE - SMALL), "bytes each")
        ways = {}
        for filled in (small, large):
            ways[f"take {DUE} due of {filled.count:,} and push back"] = filled.push_back
            ways[f"go through all {filled.count:,}"] = filled.sweep
            ways[f"ask which of {filled.count:,} are settled"] = filled.ask_what_is_settled
        took = harness.medians(ways, rounds)
        for what, value in took.items():
            filled = small if f"{SMALL:,}" in what else large
            rows.append(row(what, value / (DUE if what.startswith("take") else filled.count), "us"))
        return [*rows, *sizes, memory]


def bars(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return what was promised beside what was measured."""
    value = {str(row["what"]): float(str(row["value"])) for row in rows}
    sizes = [value[f"{count:,} resources"] for count in (SMALL, LARGE)]
    due = [value[f"take {DUE} due of {count:,} and push back"] for count in (SMALL, LARGE)]
    return [
        harness.bar(
            "state and chained event: at most 3.5 times the same rows", value[UNCHANGED] / value[SAME_ROWS], most=3.5
        ),
        harness.bar("an idle resource: under 1,000 bytes on disk", sizes[1], most=1000),
        harness.bar("and no more when there are five times as many", sizes[1] / sizes[0], most=1.05),
        harness.bar("taking due ones costs the same at five times as many", due[1] / due[0], most=1.5),
        harness.bar("memory: under 200 bytes for a further idle resource", value[MEMORY], most=200),
    ]


def main() -> None:
    """Print both tables."""
    if "--resident" in sys.argv:
        print(asyncio.run(sweep_alone(sys.argv[-1])))
        return
    rows = run(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
    print(harness.table(rows), harness.table(bars(rows)), sep="\n\n")


if __name__ == "__main__":
    main()
