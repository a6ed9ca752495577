"""The commits of many claimed resources are written together, with the result of one after the other."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from holdfast.model.address import Address
from holdfast.model.verdict import Status
from holdfast.store.protocol import Store
from holdfast.store.records import Claim, ClaimLost, OperationStep
from holdfast.store.sqlite.merged_commits import Commit, merge_commits
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.sqlite.transaction_writer import PreparedTransaction
from holdfast.store.transaction import GovernanceChanges, PartialUpdates, RecordChanges, Transaction, WriteChanges
from tests.unit.store.examples import (
    A,
    B,
    correction,
    event,
    finding,
    full_state,
    kept,
    listed,
    operation,
    pause,
    revision,
)

ADDRESSES = [Address("prod", "Thing", f"t{number}") for number in range(40)]


def intent(claim: Claim) -> Transaction:
    """Return the transaction that begins a write."""
    address = claim.address
    return Transaction(
        documents=dict([kept({"name": address.name})]),
        events=[event(address, kind="write.intended")],
        writes=WriteChanges(
            operations=[operation(f"op-{address.name}", address)],
            fences={address: claim.fence},
            renewed=[Claim(address, claim.owner, claim.fence, 500.0)],
        ),
        governance=GovernanceChanges(corrections=[correction(f"op-{address.name}", address)]),
    )


def end(claim: Claim, at: float) -> Transaction:
    """Return the transaction that ends a write."""
    address = claim.address
    return Transaction(
        documents=dict([kept({"live": address.name})]),
        states=[full_state(address, status=Status.IN_SYNC, revision=1)],
        findings={address: (finding("size"),) if claim.address.name.endswith("3") else ()},
        findings_at=at,
        revisions=[revision(1, address, address.name)],
        events=[event(address, kind="write.done", at=at)],
        writes=WriteChanges(finished=[f"op-{address.name}"], fences={address: claim.fence}, released=[claim]),
        governance=GovernanceChanges(unaccepted=[(address, "size")]),
    )


async def contents(store: Store) -> dict[str, Any]:
    """Return everything that the writes touched; the trail without its order across resources."""
    trail = [chained.event async for chained in store.events()]
    return {
        "states": await listed(store.all_states()),
        "findings": await store.findings(),
        "revisions": [await store.revisions(address) for address in ADDRESSES],
        "operations": await store.operations(),
        "corrections": sorted(await store.corrections(), key=lambda one: one.id),
        "claims": await store.claims(),
        "events": sorted((item.subject, item.type, item.at) for item in trail),
        "length": await store.verify_chain(),
    }


def test_writes_at_once_leave_what_writes_in_turn_leave(tmp_path: Path):
    asyncio.run(_write_both_ways(tmp_path))


async def _write_both_ways(tmp_path: Path) -> None:
    together, in_turn = await SqliteStore.open(tmp_path / "one.db"), await SqliteStore.open(tmp_path / "two.db")

    async def write(store: Store, address: Address, at: float) -> None:
        claim = await store.claim(address, "me", 0.0, 100.0)
        assert claim is not None
        await store.commit(intent(claim))
        (begun,) = await store.operations(address)
        assert begun.step is OperationStep.SENT
        await store.commit(end(claim, at))

    await asyncio.gather(*[write(together, address, float(at)) for at, address in enumerate(ADDRESSES)])
    for at, address in enumerate(ADDRESSES):
        await write(in_turn, address, float(at))
    assert await contents(together) == await contents(in_turn)
    await together.close()
    await in_turn.close()


def test_a_lost_claim_among_many_fails_alone(tmp_path: Path):
    asyncio.run(_lose_one_claim(tmp_path))


async def _lose_one_claim(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "s.db")
    claims = [await store.claim(address, "me", 0.0, 100.0) for address in ADDRESSES]
    taken = await store.claim(ADDRESSES[7], "another", 200.0, 300.0)
    assert taken is not None
    results = await asyncio.gather(
        *[store.commit(intent(claim)) for claim in claims if claim is not None], return_exceptions=True
    )
    assert [place for place, result in enumerate(results) if isinstance(result, ClaimLost)] == [7]
    assert len(await store.operations()) == len(ADDRESSES) - 1
    assert await store.verify_chain() == len(ADDRESSES) - 1
    await store.close()


class Written:
    """Stands in for the writer: notes which facts were written together."""

    def __init__(self, told: list[list[str]], prepared: PreparedTransaction) -> None:
        self._told, self._prepared = told, prepared

    def write(self) -> None:
        self._told.append([str(address) for address in self._prepared.facts.writes.fences])


def commits(told: list[list[str]], *facts: Transaction) -> list[Commit]:
    return [Commit(lambda prepared: Written(told, prepared), PreparedTransaction(fact, [], [], {})) for fact in facts]  # type: ignore[arg-type,return-value]


def fenced(*addresses: Address, **parts: Any) -> Transaction:
    return Transaction(writes=WriteChanges(fences=dict.fromkeys(addresses, 1)), **parts)


def test_two_commits_about_one_resource_stay_in_their_order():
    told: list[list[str]] = []
    run = merge_commits(commits(told, fenced(A), fenced(B), fenced(A)))
    assert run is not None
    assert len(run()) == 3
    assert told == [[str(A), str(B)], [str(A)]]


def test_other_calls_are_not_overtaken():
    told: list[list[str]] = []
    first, second, third = commits(told, fenced(A), fenced(B), fenced(A))
    other = lambda: told.append(["other"])  # noqa: E731 - as the store queues calls
    run = merge_commits([first, second, other, third])
    assert run is not None
    assert len(run()) == 4
    assert told == [[str(A), str(B)], ["other"], [str(A)]]


@pytest.mark.parametrize(
    "odd",
    [
        Transaction(states=[full_state(A)]),
        fenced(A, B),
        fenced(A, states=[full_state(B)]),
        fenced(A, forgotten=[B]),
        fenced(A, governance=GovernanceChanges(pauses=[pause("prod")])),
        fenced(A, records=RecordChanges(deleted=[("c", "k")])),
        fenced(A, updates=PartialUpdates(outdated=[(A, 1.0)])),
    ],
)
def test_only_commits_about_one_claimed_resource_are_merged(odd: Transaction):
    assert merge_commits(commits([], fenced(B), odd)) is None
