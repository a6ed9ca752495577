"""A second process at the same store; each command is one way of using it. Speaks to its parent on standard output."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from holdfast.model.address import Address
from holdfast.model.verdict import Status
from holdfast.store import blobs
from holdfast.store.records import AppliedRevision, AuditEvent, ClaimLost
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.state import DeclaredState, ObservedState, ResourceState, ScheduleState
from holdfast.store.transaction import Transaction, WriteChanges

BATCH = 40  # facts of each sort in one transaction


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def address(number: int) -> Address:
    return Address("prod", "Network", f"n{number}")


def account(owner: str) -> Address:
    """Return where an owner keeps a revision for every batch."""
    return Address("prod", "Owner", owner)


def batch(owner: str, number: int) -> Transaction:
    """Return a transaction all of whose facts carry the same number."""
    name, data = blobs.digest_of({"owner": owner, "batch": number, "text": "x" * 300})
    states = [
        ResourceState(
            address(n),
            declared=DeclaredState(owner, generation=number, document=name),
            observed=ObservedState(status=Status.IN_SYNC, reason="y" * n),
            schedule=ScheduleState(due_at=float(number)),
        )
        for n in range(BATCH)
    ]
    return Transaction(
        documents={name: data},
        states=states,
        revisions=[AppliedRevision(account(owner), number, name, "stamp", float(number))],
        events=[
            AuditEvent(float(number), "batch", str(state.address), {"owner": owner, "batch": number})
            for state in states
        ],
    )


async def commit_batches(store: SqliteStore, owner: str, count: int) -> None:
    """Commit batches, as fast as it goes."""
    for number in range(1, count + 1):
        await store.commit(batch(owner, number))
    say("done")


async def claim_all(store: SqliteStore, owner: str, count: int) -> None:
    """Try to claim every resource once, and say which were won."""
    for number in range(count):
        claim = await store.claim(address(number), owner, now=0.0, until=1.0)
        if claim is not None:
            await store.commit(
                Transaction(
                    events=[AuditEvent(0.0, "won", owner)], writes=WriteChanges(fences={claim.address: claim.fence})
                )
            )
            say("won", number, claim.fence)
    say("done")


async def count_up(store: SqliteStore, owner: str, count: int) -> None:
    """Raise one counter under claims that are taken over all the time; a fenced write must never be lost."""
    raised, clock = 0, itertools.count()
    while raised < count:
        now = float(next(clock))
        claim = await store.claim(address(0), owner, now, now + 1)  # runs out at the next look at the clock
        if claim is None:
            continue
        state = await store.state(address(0))
        value = state.declared.generation if state else 0
        try:
            await store.commit(
                Transaction(
                    states=[ResourceState(address(0), declared=DeclaredState(owner, generation=value + 1))],
                    events=[AuditEvent(now, "raised", owner, {"to": value + 1})],
                    writes=WriteChanges(fences={claim.address: claim.fence}),
                )
            )
        except ClaimLost:
            continue
        raised += 1
        await store.release(claim)
    say("done")


async def commit_for_ever(store: SqliteStore, owner: str, start: int) -> None:
    """Commit batches until somebody ends this process."""
    for number in itertools.count(start):
        say(number)
        await store.commit(batch(owner, number))


AT_ONCE = 60  # calls that are under way at the same time


def numbered(owner: str, number: int) -> Transaction:
    """Return a small transaction: a state and an event with the same number."""
    state = ResourceState(Address("prod", owner, f"n{number}"), declared=DeclaredState(owner, generation=number))
    return Transaction(states=[state], events=[AuditEvent(0.0, "numbered", str(state.address), {"n": number})])


async def commit_at_once(store: SqliteStore, owner: str, count: int) -> None:
    """Commit numbered facts, many at a time, with one among them that has to fail every time."""
    lost = Transaction(events=[AuditEvent(0.0, "lost", owner)], writes=WriteChanges(fences={address(0): 1000}))
    for start in range(1, count + 1, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, count + 1))
        calls = [store.commit(numbered(owner, number)) for number in numbers]
        calls.insert(len(calls) // 2, store.commit(lost))
        results = await asyncio.gather(*calls, return_exceptions=True)
        say("failed", sum(isinstance(result, ClaimLost) for result in results), sum(map(bool, results)))
    say("done")


async def acknowledge_for_ever(store: SqliteStore, owner: str, start: int) -> None:
    """Commit numbered facts, many at a time; say the number of each as soon as it is answered."""

    async def one(number: int) -> None:
        await store.commit(numbered(owner, number))
        say(number)

    for first in itertools.count(start, AT_ONCE):
        await asyncio.gather(*map(one, range(first, first + AT_ONCE)))


async def die_at_statement(store: SqliteStore, owner: str, number: int, statement: int) -> None:
    """Commit a batch and be killed as the n-th statement of it begins."""
    seen = itertools.count()

    def die(_: str) -> None:
        if next(seen) == statement:
            os.kill(os.getpid(), signal.SIGKILL)

    await store._batcher.read(lambda: store._connection.set_trace_callback(die))
    await store.commit(batch(owner, number))


def killed_at_every_statement(path: str, owner: str, start: int) -> None:
    """Fork once for each statement of a commit; say after each how the child ended, and wait for leave to go on."""
    for statement in itertools.count():
        child = os.fork()
        if not child:
            asyncio.run(opened(path, die_at_statement, owner, start + statement, statement))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        say("killed" if os.WIFSIGNALED(status) else "survived", start + statement)
        if not os.WIFSIGNALED(status):
            return
        sys.stdin.readline()


async def opened(path: str, work, *arguments: object) -> None:
    store = await SqliteStore.open(path)
    try:
        await work(store, *arguments)
    finally:
        await store.close()


if __name__ == "__main__":
    command, path, owner, number = sys.argv[1:]
    if command == "killed_at_every_statement":
        killed_at_every_statement(path, owner, int(number))
    else:
        asyncio.run(opened(path, globals()[command], owner, int(number)))
