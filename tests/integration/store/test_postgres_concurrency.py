"""Several processes on one PostgreSQL store: every interleaving is like one order of calls, and nothing deadlocks."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from holdfast.errors import StoreError
from holdfast.model.address import Address
from holdfast.model.budget_charge import BudgetCharge
from holdfast.store import blobs
from holdfast.store.governance import BudgetSpent
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.records import Claim, ClaimLost, VersionConflict, VersionedRecord
from holdfast.store.state import CheckRequest, Relink, UnchangedCheck
from holdfast.store.transaction import GovernanceChanges, PartialUpdates, RecordChanges, Transaction, WriteChanges
from tests import postgresql
from tests.unit.store import examples
from tests.unit.store.model import Model

pytestmark = [pytest.mark.server, pytest.mark.slow]

# 10,000 shows what the issue asks for; make test has less time.
IS_THOROUGH = "HOLDFAST_TRANSACTIONS" in os.environ
TRANSACTIONS = int(os.environ.get("HOLDFAST_TRANSACTIONS", "600"))
OUTCOMES = (ClaimLost, BudgetSpent, VersionConflict, StoreError)
Call = Callable[[Any], Awaitable[Any]]  # of a store or a model


async def open_stores(version: str, folder: Path, count: int) -> list[PostgresStore]:
    url = postgresql.store_url(version, folder)
    await postgresql.create_schema(url)
    return [await PostgresStore.open(url) for _ in range(count)]


async def outcome_of(call: Call, store: Any) -> Any:
    try:
        result = await call(store)
        return (result, result.revision) if isinstance(result, Claim) else result  # a claim is equal without it
    except OUTCOMES as error:
        return type(error)


# --- interleaving -----------------------------------------------------------------------------------------------------


class PausingConnection:
    """A connection that calls a function before its n-th statement."""

    def __init__(self, connection: asyncpg.Connection, before: Callable[[int], Coroutine[Any, Any, None]]) -> None:
        self._connection = connection
        self._before = before
        self.statements = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._connection, name)
        if name not in ("execute", "executemany", "fetch", "fetchrow", "fetchval"):
            return found

        async def paused(*values: Any) -> Any:
            self.statements += 1
            await self._before(self.statements)
            return await found(*values)

        return paused


def commits(**parts: Any) -> Call:
    return lambda store: store.commit(Transaction(**parts))


def operations_on(address: Address) -> dict[str, Call]:
    """Return every kind of operation, all on one resource, bucket and record that exist."""
    name = address.name
    held = Claim(address, "first", 1, 50.0)
    correction = examples.correction(f"second {name}", address)
    charge = {correction.id: [BudgetCharge(f"bucket {name}", 2, 0.0)]}
    other = examples.correction(f"third {name}", address)
    charge_of_other = {other.id: [BudgetCharge(f"bucket {name}", 2, 0.0)]}
    updates = {
        "request": PartialUpdates(requested=[CheckRequest(address, "now", 7.0)]),
        "unchanged": PartialUpdates(unchanged=[UnchangedCheck(address, 60.0, 160.0, "tag")]),
        "relink": PartialUpdates(relinked=[Relink(address, "new id")]),
    }
    checked = examples.full_state(address, generation=8, requested=None, handled=None, due_at=900.0)
    applied = examples.full_state(address, revision=3, requested=None, handled=None)
    return {
        "claim": lambda store: store.claim(address, "second", 60.0, 90.0),
        "renew": lambda store: store.renew(held, 200.0),
        "release": lambda store: store.release(held),
        "check": commits(
            states=[checked], checked={address}, findings={address: (examples.finding("x"),)}, findings_at=5.0,
            documents=dict([blobs.digest_of({"check": name})]), events=[examples.event(address, said="check")],
            decisions=[examples.decision(f"check {name}", address, is_news=False)],
        ),
        "apply": commits(
            states=[applied], revisions=[examples.revision(3, address)], events=[examples.event(address, said="apply")],
            documents=dict([blobs.digest_of({"check": name})]), writes=WriteChanges(fences={address: 1}),
        ),
        "charge": commits(governance=GovernanceChanges(corrections=[correction], charges=charge)),
        "charge of another": commits(governance=GovernanceChanges(corrections=[other], charges=charge_of_other)),
        "record": commits(records=RecordChanges(put=[VersionedRecord("r", name, {"by": "one"}, 2)])),
        "forget": commits(forgotten=[address], events=[examples.event(address, said="forget")]),
        **{kind: commits(updates=update) for kind, update in updates.items()},
    }  # fmt: skip


async def prepare(store: Any, address: Address) -> None:
    correction = examples.correction(f"first {address.name}", address)
    await store.commit(
        Transaction(
            states=[examples.full_state(address, requested=None, handled=None)],
            governance=GovernanceChanges(
                corrections=[correction], charges={correction.id: [BudgetCharge(f"bucket {address.name}", 2, 0.0)]}
            ),
            records=RecordChanges(put=[VersionedRecord("r", address.name, {})]),
        )
    )
    await store.claim(address, "first", 10.0, 50.0)


async def facts_of(store: Any, address: Address) -> list[Any]:
    claims = [claim for claim in await store.claims() if claim.address == address]
    return [
        await store.states([address]),
        await store.findings(address),
        await store.revisions(address),
        await store.decisions(address, 9),
        sorted(correction.id for correction in await store.corrections([address])),
        await store.count_charges([(f"bucket {address.name}", 0.0)]),
        await store.record("r", address.name),
        claims,
    ]


async def serial(address: Address, *calls: Call) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the outcomes, facts and events of calls one after the other."""
    model = Model()
    await prepare(model, address)
    outcomes = [await outcome_of(call, model) for call in calls]
    return outcomes, await facts_of(model, address), [event.data for event in model.facts.events]


INTERLEAVED = [
    name
    for name in operations_on(examples.A)
    if IS_THOROUGH or name in ("claim", "renew", "check", "apply", "charge", "record", "forget")
]


def test_every_interleaving_of_two_calls_is_like_one_after_the_other(tmp_path):
    """The second call begins before any statement of the first; it ends, or waits for a lock of the first."""

    async def whole() -> None:
        first, second = await open_stores("18", tmp_path, 2)
        watching = await asyncpg.connect(postgresql.store_url("18", tmp_path))
        try:
            number = 0
            for item, two in itertools.product(INTERLEAVED, repeat=2):
                for place in itertools.count(1):
                    number += 1
                    address = Address("prod", "Network", f"n{number}")
                    if not await interleave(first, second, watching, address, (item, two, place)):
                        break
        finally:
            await watching.close()
            await first.close()
            await second.close()

    asyncio.run(whole())


async def interleave(
    first: PostgresStore,
    second: PostgresStore,
    watching: asyncpg.Connection,
    address: Address,
    case: tuple[str, str, int],
) -> bool:
    """Run one call with another inside it; return False if it has fewer statements than the place."""
    one, two, place = case
    await prepare(first, address)
    calls = operations_on(address)
    others: list[asyncio.Task[Any]] = []
    assert second._database._writer is not None
    session = second._database._writer.get_server_pid()

    async def start_other(statement: int) -> None:
        if statement != place:
            return
        others.append(asyncio.create_task(outcome_of(calls[two], second)))
        while not others[0].done() and not await is_waiting(watching, session):  # noqa: ASYNC110 - a state of the server
            await asyncio.sleep(0.001)

    writer = first._database._writer
    first._database._writer = PausingConnection(writer, start_other)
    try:
        mine = await outcome_of(calls[one], first)
    finally:
        first._database._writer = writer
    if not others:
        return False
    theirs = await others[0]
    found = (
        await facts_of(first, address),
        [chained.event.data async for chained in first.events(subject=str(address))],
    )
    ours_first = await serial(address, calls[one], calls[two])
    theirs_first = await serial(address, calls[two], calls[one])
    expected = [
        (ours_first[0], ours_first[1], ours_first[2]),
        (theirs_first[0][::-1], theirs_first[1], theirs_first[2]),
    ]
    assert ([mine, theirs], *found) in expected, case
    return True


async def is_waiting(watching: asyncpg.Connection, session: int) -> bool:
    return await watching.fetchval("SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $1", session)


# --- deadlocks --------------------------------------------------------------------------------------------------------


class Chaos:
    """Random transactions over few resources, documents, records, buckets and ids."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.addresses = [Address("prod", kind, f"n{number}") for kind in ("Network", "Subnet") for number in range(4)]
        self.number = itertools.count()

    def some(self, values: Any, most: int = 3) -> list[Any]:
        return self.random.sample(list(values), self.random.randrange(most + 1))

    def transaction(self) -> Transaction:
        pick, addresses = self.random.choice, self.addresses
        corrections = [examples.correction(f"c{n}", pick(addresses)) for n in self.some(range(4), 2)]
        return Transaction(
            documents=dict(blobs.digest_of({"n": n}) for n in self.some(range(6), 4)),
            states=[examples.full_state(address, generation=pick(range(9))) for address in self.some(addresses, 4)],
            forgotten=self.some(addresses, 1),
            findings={address: (examples.finding("x"),) for address in self.some(addresses)},
            decisions=[examples.decision(f"d{next(self.number)}", a, is_news=False) for a in self.some(addresses)],
            events=[examples.event(address) for address in self.some(addresses, 2)],
            updates=PartialUpdates(
                unchanged=[UnchangedCheck(address, 1.0, 2.0, "t") for address in self.some(addresses)],
                requested=[CheckRequest(address, "now", 1.0) for address in self.some(addresses, 2)],
            ),
            writes=WriteChanges(
                operations=[examples.operation(f"o{n}", pick(addresses)) for n in self.some(range(4), 2)],
                finished=[f"o{n}" for n in self.some(range(4), 2)],
            ),
            governance=GovernanceChanges(
                corrections=corrections,
                charges={item.id: [BudgetCharge(pick("pq"), 10**9, 0.0)] for item in corrections},
                pauses=[examples.pause(scope) for scope in self.some("xyz", 2)],
                resumed=self.some("xyz", 1),
                approvals=[examples.approval(plan, pick(addresses)) for plan in self.some("xyz", 2)],
                quarantines=[examples.quarantine(path, pick(addresses)) for path in self.some("xyz", 2)],
            ),
            records=RecordChanges(deleted=[("r", key) for key in self.some("abc", 2)]),
        )


@pytest.mark.parametrize("version", postgresql.versions())
def test_random_concurrent_transactions_never_deadlock(version, tmp_path):
    chaos = Chaos(seed=int(os.environ.get("HOLDFAST_SEED", "1")))

    async def work(store: PostgresStore) -> None:
        for _ in range(TRANSACTIONS // 16):
            with suppress(*OUTCOMES[:-1]):
                if chaos.random.random() < 0.3:
                    address = chaos.random.choice(chaos.addresses)
                    claim = await store.claim(address, "me", 1.0, 0.0)
                    if claim is not None:
                        facts = chaos.transaction()
                        facts.writes.fences, facts.writes.released = {address: claim.fence}, [claim]
                        await store.commit(facts)
                else:
                    await store.commit(chaos.transaction())

    async def whole() -> int:
        stores = await open_stores(version, tmp_path, 4)
        try:
            await asyncio.gather(*(work(store) for store in stores for _ in range(4)))
            return await stores[0].verify_chain()
        finally:
            for store in stores:
                await store.close()

    assert asyncio.run(whole()) > 0
    log = (postgresql.shared_server(version).folder / "log").read_text(errors="replace")
    assert "deadlock detected" not in log
