"""Texts that databases disagree about: U+0000, lone surrogates, non-ASCII names, and their order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.model.address import Address
from holdfast.store.postgres import texts
from holdfast.store.protocol import Store
from holdfast.store.records import VersionedRecord
from holdfast.store.state import CheckRequest, Relink, UnchangedCheck
from holdfast.store.transaction import GovernanceChanges, PartialUpdates, RecordChanges, Transaction, WriteChanges
from tests.unit.store.examples import (
    A,
    acceptance,
    approval,
    changed_state,
    correction,
    decision,
    event,
    finding,
    full_state,
    listed,
    on_every_store,
    operation,
    pause,
    quarantine,
)

NUL = "a\x00b\x01c\x02\x00"
# By code point: an order that depends on a language would put `Ä` beside `a`, and `b` before `B`.
NAMES = ["B", "Z", "a", "a\x00", "a\x00b", "a\x01", "a\x02", "aa", "b", "z", "Ä", "Åb", "ß", "é", "中", "\uffff", "😀"]


@on_every_store
async def test_u0000_survives_in_every_text(store: Store):
    named = Address("c\x00", "K\x01", "n\x00", "s\x00")
    state = changed_state(
        full_state(named), provider_id=NUL, etag=NUL, reason=NUL, source=NUL, terminal=NUL, requested=NUL, handled=NUL,
        provider=NUL, raw_digest=NUL, labels={NUL: NUL},
    )  # fmt: skip
    governance = GovernanceChanges(
        corrections=[correction(NUL, named, who=NUL)],
        pauses=[pause(NUL, why=NUL)],
        approvals=[approval(NUL, named)],
        quarantines=[quarantine(NUL, named)],
        accepted=[acceptance(NUL, named, value=NUL)],
    )
    record = VersionedRecord(NUL, NUL, {NUL: NUL}, owner=NUL, due_at=1.0)
    await store.commit(
        Transaction(
            states=[state],
            findings={named: (finding(NUL, desired=NUL),)},
            decisions=[decision(NUL, named, summary=NUL)],
            events=[event(named, kind=NUL, said=NUL)],
            writes=WriteChanges(operations=[operation(NUL, named)]),
            governance=governance,
            records=RecordChanges(put=[record]),
        )
    )
    assert await store.state(named) == state
    assert [item.address for item in await store.due(200.0, 9, without=[NUL])] == [named]
    assert [record.finding.path for record in (await store.findings(named))[named]] == [(NUL,)]
    assert await store.decision(NUL) == decision(NUL, named, summary=NUL)
    assert await store.operations(named) == [operation(NUL, named)]
    assert await store.corrections([named]) == governance.corrections
    assert (await store.pauses(), await store.approvals()) == (governance.pauses, governance.approvals)
    assert (await store.quarantines(), await store.accepted_values()) == (governance.quarantines, governance.accepted)
    assert await store.record(NUL, NUL) == record
    assert await listed(store.records(NUL, owner=NUL)) == [record]
    [chained] = await listed(store.events(subject=str(named), type_prefix="a\x00"))
    assert chained.event == event(named, kind=NUL, said=NUL)
    assert await store.verify_chain() == 1


@on_every_store
async def test_u0000_in_updates_and_deletions(store: Store):
    await store.commit(
        Transaction(
            states=[full_state()],
            governance=GovernanceChanges(pauses=[pause(NUL)], quarantines=[quarantine(NUL)]),
            writes=WriteChanges(operations=[operation(NUL)]),
            records=RecordChanges(put=[VersionedRecord(NUL, NUL, {})]),
        )
    )
    updates = PartialUpdates(
        unchanged=[UnchangedCheck(A, 1.0, 2.0, NUL, NUL)],
        requested=[CheckRequest(A, NUL, 3.0)],
        relinked=[Relink(A, NUL)],
    )
    await store.commit(
        Transaction(
            updates=updates,
            governance=GovernanceChanges(resumed=[NUL], unquarantined=[(A, NUL)]),
            writes=WriteChanges(finished=[NUL]),
            records=RecordChanges(deleted=[(NUL, NUL)]),
        )
    )
    state = await store.state(A)
    assert state is not None
    assert (state.observed.provider_id, state.observed.etag, state.observed.raw_digest) == (NUL, NUL, NUL)
    assert (state.schedule.requested, state.schedule.due_at) == (NUL, 3.0)
    assert (await store.pauses(), await store.quarantines(), await store.operations()) == ([], [], [])
    assert await store.record(NUL, NUL) is None
    claim = await store.claim(Address("p", "K", NUL), NUL, 1.0, 2.0)
    assert claim is not None
    assert await store.claims() == [claim]
    assert await store.renew(claim, 3.0) == replace(claim, until=3.0)


@on_every_store
async def test_names_come_in_the_order_of_their_code_points(store: Store):
    addresses = [Address("prod", "K", name) for name in NAMES]
    shuffled = [addresses[place * 7 % len(addresses)] for place in range(len(addresses))]
    await store.commit(
        Transaction(
            states=[full_state(address) for address in shuffled],
            governance=GovernanceChanges(
                pauses=[pause(address.name) for address in shuffled],
                quarantines=[quarantine(address.name) for address in shuffled],
                accepted=[acceptance("x", address) for address in shuffled],
            ),
            records=RecordChanges(put=[VersionedRecord("r", address.name, {}, due_at=1.0) for address in shuffled]),
        )
    )
    assert [state.address for state in await listed(store.all_states())] == addresses
    assert await listed(store.unchecked("prod", "K", 11.0)) == addresses
    assert [item.scope for item in await store.pauses()] == NAMES
    assert [item.path for item in await store.quarantines()] == NAMES
    assert [item.address for item in await store.accepted_values()] == addresses
    assert [record.key for record in await listed(store.records("r"))] == NAMES
    assert [record.key for record in await store.due_records("r", 1.0, 99)] == NAMES


@on_every_store
async def test_a_lone_surrogate_in_one_of_many_commits_harms_no_other(store: Store):
    odd = Address("prod", "K", "odd \udcff")
    others = [Address("prod", "K", f"n{number}") for number in range(5)]
    for address in [*others[:2], odd, *others[2:]]:
        await store.commit(Transaction(states=[full_state(address)], events=[event(address)]))
    found = [state.address.name for state in await listed(store.all_states())]
    assert found == [*(address.name for address in others), "odd \\udcff"]
    assert await store.verify_chain() == 6


@on_every_store
async def test_a_clock_that_jumps_gives_no_claim_twice_and_no_fence_twice(store: Store):
    fences = []
    for now, is_free in [(100.0, True), (50.0, False), (104.9, False), (105.0, True), (1e9, True), (0.0, False)]:
        claim = await store.claim(A, f"worker at {now}", now, now + 5.0)
        assert (claim is not None) is is_free
        if claim is not None:
            fences.append(claim.fence)
    assert fences == [1, 2, 3]


@pytest.mark.parametrize("text", [*NAMES, NUL, "", "\x00", "\x01\x01", "\x01\x02"])
def test_an_escaped_text_has_no_u0000_and_comes_back(text):
    assert "\x00" not in texts.escape(text)
    assert texts.decode(texts.encode(text)) == text


def test_escaping_keeps_the_order_of_texts():
    assert sorted(NAMES, key=texts.escape) == NAMES
    assert sorted(NAMES, key=texts.encode) == NAMES
