"""What every store does, continued: claims, findings, history and the audit trail."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from holdfast.errors import ChainBroken, StoreError, UnhashableError
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.audit import AuditHead
from holdfast.model.finding import Op
from holdfast.model.path import Selector
from holdfast.store.protocol import Store
from holdfast.store.records import (
    REVISIONS_KEPT,
    AuditEvent,
    ClaimLost,
    OperationStep,
    VersionConflict,
    VersionedRecord,
)
from holdfast.store.state import Digest, UnchangedCheck
from holdfast.store.transaction import PartialUpdates, RecordChanges, Transaction, WriteChanges
from tests.unit.store.examples import (
    A,
    B,
    C,
    D,
    decision,
    digest,
    event,
    finding,
    full_state,
    kept,
    listed,
    on_every_store,
    operation,
    revision,
)

# --- claims -----------------------------------------------------------------------------------------------------------


@on_every_store
async def test_one_claim_at_a_time_even_for_the_same_owner(store: Store):
    first = await store.claim(A, "me", 1.0, 10.0)
    assert first is not None
    assert first.fence == 1
    assert await store.claim(A, "you", 9.9, 20.0) is None
    assert await store.claim(A, "me", 9.9, 20.0) is None
    taken = await store.claim(A, "you", 10.0, 20.0)
    assert taken is not None
    assert (taken.owner, taken.fence, taken.until) == ("you", 2, 20.0)


@on_every_store
async def test_a_claim_can_be_prolonged_only_while_it_is_ours(store: Store):
    first = await store.claim(A, "me", 1.0, 10.0)
    assert first is not None
    longer = await store.renew(first, 30.0)
    assert longer == replace(first, until=30.0)
    assert await store.claim(A, "you", 29.0, 40.0) is None
    await store.claim(A, "you", 30.0, 40.0)
    assert await store.renew(first, 50.0) is None
    await store.release(first)  # lost, so nothing happens
    assert await store.claim(A, "she", 39.0, 50.0) is None


@on_every_store
async def test_a_claim_says_which_revision_was_applied_when_it_was_taken(store: Store):
    first = await store.claim(A, "one", now=0.0, until=10.0)
    assert first is not None
    assert first.revision == 0
    await store.commit(Transaction(states=[full_state(applied_revision=7)], writes=WriteChanges(released=[first])))
    second = await store.claim(A, "two", now=0.0, until=10.0)
    assert second is not None
    assert (second.fence, second.revision) == (2, 7)


@on_every_store
async def test_a_claim_is_given_back_with_what_a_transaction_makes_true_or_not_at_all(store: Store):
    claim = await store.claim(A, "one", now=0.0, until=10.0)
    assert claim is not None
    with pytest.raises(VersionConflict):
        await store.commit(
            Transaction(
                records=RecordChanges(put=[VersionedRecord("matter", "one", {}, 5)]),
                writes=WriteChanges(released=[claim]),
            )
        )
    assert await store.claims() == [claim]
    await store.commit(Transaction(events=[event()], writes=WriteChanges(fences={A: claim.fence}, released=[claim])))
    assert await store.claims() == []
    await store.release(claim)  # once more is harmless
    second = await store.claim(A, "two", now=0.0, until=10.0)
    assert second is not None
    assert second.fence == 2


@on_every_store
async def test_a_claim_that_was_lost_is_not_taken_from_whoever_has_it_now(store: Store):
    lost = await store.claim(A, "one", now=0.0, until=1.0)
    held = await store.claim(A, "two", now=2.0, until=10.0)
    assert lost is not None
    assert held is not None
    await store.commit(Transaction(events=[event()], writes=WriteChanges(released=[lost])))
    assert await store.claims() == [held]


@on_every_store
async def test_of_calls_at_the_same_time_each_succeeds_or_fails_by_itself_and_in_its_turn(store: Store):
    versions = [1, 2, 9, 3, 4]
    calls = [
        store.commit(
            Transaction(events=[event(n=n)], records=RecordChanges(put=[VersionedRecord("matter", "one", {}, n)]))
        )
        for n in versions
    ]
    *results, read = await asyncio.gather(*calls, store.record("matter", "one"), return_exceptions=True)
    assert [type(result) for result in results] == [type(None), type(None), VersionConflict, type(None), type(None)]
    assert isinstance(read, VersionedRecord)
    assert read.version == 4
    assert [item.event.data["n"] async for item in store.events()] == [1, 2, 3, 4]
    assert await store.verify_chain() == 4


@on_every_store
async def test_a_released_claim_is_free_at_once_and_its_fence_is_not_used_again(store: Store):
    first = await store.claim(A, "me", 1.0, 10.0)
    assert first is not None
    await store.release(first)
    assert await store.renew(first, 20.0) is None
    second = await store.claim(A, "me", 1.0, 10.0)
    assert second is not None
    assert second.fence == 2


@on_every_store
async def test_fences_go_on_growing_after_a_resource_was_forgotten(store: Store):
    first = await store.claim(A, "me", 1.0, 2.0)
    assert first is not None
    await store.commit(Transaction(states=[full_state()], writes=WriteChanges(fences={A: first.fence})))
    await store.commit(Transaction(forgotten=[A], writes=WriteChanges(fences={A: first.fence})))
    second = await store.claim(A, "me", 3.0, 4.0)
    assert second is not None
    assert second.fence == 2


@on_every_store
async def test_a_transaction_with_a_lost_fence_keeps_nothing(store: Store):
    claims = {address: await store.claim(address, "me", 1.0, 2.0) for address in (A, B)}
    await store.claim(B, "you", 2.0, 3.0)
    name, data = kept({"x": 1})
    lost = Transaction(
        documents={name: data},
        states=[full_state(A), full_state(B)],
        findings={A: (finding("x"),)},
        revisions=[revision(1)],
        decisions=[decision("d")],
        events=[event()],
        writes=WriteChanges(
            operations=[operation()],
            fences={address: claim.fence for address, claim in claims.items() if claim is not None},
        ),
    )
    with pytest.raises(ClaimLost):
        await store.commit(lost)
    assert await store.documents([name]) == {}
    assert await store.states([A, B]) == {}
    assert await store.findings() == {}
    assert await store.revisions(A) == []
    assert await store.decision("d") is None
    assert await store.operations() == []
    assert await store.verify_chain() == 0
    await store.commit(replace(lost, writes=replace(lost.writes, fences={A: 1, B: 2})))
    assert len(await store.states([A, B])) == 2


# --- findings ---------------------------------------------------------------------------------------------------------


@on_every_store
async def test_a_decision_that_is_no_news_is_kept_only_if_it_differs_from_the_last(store: Store):
    same: dict[str, Any] = {"inputs": digest("i"), "output": digest("o"), "is_news": False}
    for name, changes in {
        "first": same,
        "again": same,
        "of another": {**same, "address": B},
        "other output": {**same, "output": digest("p")},
        "back": same,
        "news": {**same, "is_news": True},
    }.items():
        await store.commit(Transaction(decisions=[decision(name, **{"address": A, **changes})]))
    await store.commit(Transaction(decisions=[decision(name, A, **same) for name in ("in one", "go")]))
    assert [item.id for item in await store.decisions(A, 10)] == ["news", "back", "other output", "first"]
    assert [item.id for item in await store.decisions(B, 10)] == ["of another"]


@on_every_store
async def test_the_head_is_found_in_the_trail_and_a_head_that_is_not_breaks_it(store: Store):
    assert await store.head() == AuditHead(0, "sha256:" + "0" * 64)
    await store.commit(Transaction(events=[event(n=n) for n in range(3)]))
    head = await store.head()
    assert head.length == 3
    await store.commit(Transaction(events=[event(n=n) for n in range(3)]))
    assert await store.has_head(head)
    assert await store.verify_chain([head, await store.head()]) == 6
    assert AuditHead.parse(str(head)) == head
    for wrong, says in ((AuditHead(3, (await store.head()).hash), "rewritten"), (AuditHead(9, head.hash), "cut")):
        assert not await store.has_head(wrong)
        with pytest.raises(ChainBroken, match=says):
            await store.verify_chain([head, wrong])


@on_every_store
async def test_a_finding_keeps_its_first_time_while_it_persists(store: Store):
    one, later = finding("size", observed=2), finding("size", observed=3)
    other = finding("tags", Selector((("name", "x"),)), op=Op.ELEMENT_ADDED)
    await store.commit(Transaction(findings={A: (one,), B: (one,)}, findings_at=1.0))
    await store.commit(Transaction(findings={A: (other, later)}, findings_at=2.0))
    found = (await store.findings(A))[A]
    assert [(record.finding, record.first_seen, record.last_seen) for record in found] == [
        (other, 2.0, 2.0),
        (later, 1.0, 2.0),
    ]
    assert [record.last_seen for record in (await store.findings(B))[B]] == [1.0]


@on_every_store
async def test_a_finding_that_went_away_and_came_back_is_new(store: Store):
    for at, findings in enumerate([(finding("size"),), (), (finding("size"),)]):
        await store.commit(Transaction(findings={A: findings}, findings_at=float(at)))
    assert (await store.findings(A))[A][0].first_seen == 2.0


@on_every_store
async def test_the_same_path_with_another_operation_is_another_finding(store: Store):
    for at, op in enumerate([Op.CHANGED, Op.MISSING]):
        await store.commit(Transaction(findings={A: (finding("size", op=op),)}, findings_at=float(at)))
    assert (await store.findings(A))[A][0].first_seen == 1.0


@on_every_store
async def test_findings_of_all_come_by_address_and_only_where_there_are_any(store: Store):
    await store.commit(Transaction(findings={D: (finding("x"),), B: (), A: (finding("y"), finding("z"))}))
    assert list(await store.findings()) == [A, D]
    assert await store.findings(B) == {}
    assert (await store.findings(D))[D][0].finding.desired is ABSENT


# --- the age of findings ----------------------------------------------------------------------------------------------


async def look(store: Store, at: float, *paths: str, **changes: Any) -> None:
    """Record a good check of A that found something."""
    state = full_state(A, checked_at=at, good_at=at, **changes)
    findings = {A: tuple(finding(path, observed=at) for path in paths)}
    await store.commit(Transaction(states=[state], findings=findings, findings_at=at, checked={A}))


async def ages(store: Store) -> dict[str, tuple[float | None, float, float, int]]:
    """Return the onset, the last sight and the number of sights of each finding of A."""
    records = (await store.findings(A)).get(A, [])
    return {
        str(record.finding.path[0]): (record.clean_at, record.first_seen, record.last_seen, record.times)
        for record in records
    }


@on_every_store
async def test_a_finding_of_the_first_look_has_no_time_without_it(store: Store):
    await look(store, 1.0, "size")
    assert await ages(store) == {"size": (None, 1.0, 1.0, 1)}


@on_every_store
async def test_the_onset_of_a_finding_lies_after_the_last_good_check_without_it(store: Store):
    await look(store, 1.0)
    await look(store, 2.0, "size")
    await look(store, 3.0, "name", "size")
    assert await ages(store) == {"size": (1.0, 2.0, 3.0, 2), "name": (2.0, 3.0, 3.0, 1)}


@on_every_store
async def test_a_check_that_failed_is_no_time_without_a_finding(store: Store):
    await look(store, 1.0)
    await store.commit(Transaction(states=[full_state(A, checked_at=2.0, good_at=1.0)]))
    await look(store, 3.0, "size")
    assert await ages(store) == {"size": (1.0, 3.0, 3.0, 1)}


@on_every_store
async def test_a_touch_is_a_good_check_but_not_one_of_the_same_transaction(store: Store):
    await look(store, 1.0)
    await store.commit(Transaction(updates=PartialUpdates(unchanged=[UnchangedCheck(A, 2.0, 9.0)])))
    await store.commit(
        Transaction(
            findings={A: (finding("size"),)},
            findings_at=3.0,
            checked={A},
            updates=PartialUpdates(unchanged=[UnchangedCheck(A, 3.0, 9.0)]),
        )
    )
    assert await ages(store) == {"size": (2.0, 3.0, 3.0, 1)}


@on_every_store
async def test_the_times_of_a_finding_grow_with_looks_only(store: Store):
    await look(store, 1.0, "size")
    await store.commit(Transaction(findings={A: (finding("size"), finding("name"))}, findings_at=2.0, checked={B}))
    assert await ages(store) == {"size": (None, 1.0, 2.0, 1), "name": (1.0, 2.0, 2.0, 1)}
    await look(store, 3.0, "size", "name")
    assert await ages(store) == {"size": (None, 1.0, 3.0, 2), "name": (1.0, 2.0, 3.0, 2)}


@on_every_store
async def test_a_finding_that_came_back_or_changed_its_operation_is_counted_anew(store: Store):
    for at, paths in enumerate([["size"], ["size"], [], ["size"]]):
        await look(store, float(at), *paths)
    assert await ages(store) == {"size": (2.0, 3.0, 3.0, 1)}
    other = finding("size", op=Op.MISSING)
    await store.commit(Transaction(findings={A: (other,)}, findings_at=4.0, checked={A}))
    assert await ages(store) == {"size": (3.0, 4.0, 4.0, 1)}


@on_every_store
async def test_a_look_that_was_overtaken_ages_nothing(store: Store):
    await look(store, 1.0, "size", applied_revision=2)
    await look(store, 2.0, "size", applied_revision=1)
    assert await ages(store) == {"size": (None, 1.0, 1.0, 1)}


@on_every_store
async def test_a_resource_begun_anew_knows_nothing_of_its_former_checks(store: Store):
    await look(store, 1.0, "size")
    await store.commit(
        Transaction(forgotten=[A], states=[full_state(A)], findings={A: (finding("size"),)}, findings_at=2.0)
    )
    assert await ages(store) == {"size": (None, 2.0, 2.0, 1)}


@on_every_store
async def test_findings_of_many_resources_come_at_once(store: Store):
    many = [Address("prod", "Network", f"n{n}") for n in range(450)]
    found = {address: (finding("x", observed=n), finding("y")) for n, address in enumerate(many)}
    await store.commit(Transaction(findings=found | {B: ()}, findings_at=1.0))
    answer = await store.findings_of([*reversed(many[1:]), A, B, Address("new", "Thing", "x"), many[1]])
    assert {address: tuple(record.finding for record in records) for address, records in answer.items()} == {
        address: found[address] for address in many[1:]
    }
    assert await store.findings_of([]) == {}


# --- history ----------------------------------------------------------------------------------------------------------


@on_every_store
async def test_revisions_come_newest_first_and_the_same_one_twice_is_one(store: Store):
    await store.commit(Transaction(revisions=[revision(1), revision(2, content="y"), revision(1, B)]))
    await store.commit(Transaction(revisions=[revision(2, content="y", at=9.0)]))
    assert await store.revisions(A) == [revision(2, content="y"), revision(1)]
    assert await store.revisions(C) == []


@on_every_store
async def test_old_revisions_are_forgotten_and_the_newest_hundred_stay(store: Store):
    for number in range(1, REVISIONS_KEPT + 6):
        await store.commit(Transaction(revisions=[revision(number), revision(1, B)]))
    assert [item.number for item in await store.revisions(A)] == list(range(REVISIONS_KEPT + 5, 5, -1))
    assert [item.number for item in await store.revisions(B)] == [1]


@on_every_store
async def test_a_revision_is_never_changed(store: Store):
    await store.commit(Transaction(revisions=[revision(1)]))
    for wrong in (revision(1, content="y"), replace(revision(1), stamp="another")):
        with pytest.raises(StoreError, match="revision 1 of prod/Network/a"):
            await store.commit(Transaction(states=[full_state()], revisions=[wrong]))
    assert await store.revisions(A) == [revision(1)]
    assert await store.state(A) is None


@on_every_store
async def test_decisions_come_newest_first_of_one_or_of_all(store: Store):
    await store.commit(Transaction(decisions=[decision("d1"), decision("d2", B)]))
    await store.commit(Transaction(decisions=[decision("d3"), decision("d1")]))
    assert [item.id for item in await store.decisions(None, 9)] == ["d3", "d2", "d1"]
    assert [item.id for item in await store.decisions(A, 9)] == ["d3", "d1"]
    assert [item.id for item in await store.decisions(None, 1)] == ["d3"]
    assert await store.decisions(C, 9) == []
    assert await store.decision("d2") == decision("d2", B)
    assert await store.decision("d9") is None


@on_every_store
async def test_a_decision_is_never_changed(store: Store):
    await store.commit(Transaction(decisions=[decision("d")]))
    with pytest.raises(StoreError, match="decision d"):
        await store.commit(Transaction(decisions=[decision("d", action="delete")]))
    with pytest.raises(StoreError, match="decision e"):
        await store.commit(Transaction(decisions=[decision("e"), decision("e", B)]))
    assert await store.decisions(None, 9) == [decision("d")]


@on_every_store
async def test_operations_are_kept_replaced_and_removed(store: Store):
    first, second, third = operation("1"), operation("2", B, started_at=3.0), operation("3", started_at=4.0)
    await store.commit(Transaction(writes=WriteChanges(operations=[first, second, third])))
    assert await store.operations() == [second, first, third]
    assert await store.operations(B) == [second]
    assert await store.operations(C) == []
    moved = replace(first, step=OperationStep.SETTLING, attempts=9, poll_at=None, drift=(), token={})
    await store.commit(Transaction(writes=WriteChanges(operations=[moved], finished=["2", "never heard of"])))
    assert await store.operations() == [moved, third]
    await store.commit(Transaction(writes=WriteChanges(operations=[moved], finished=["1", "3"])))
    assert await store.operations() == []


# --- audit trail ------------------------------------------------------------------------------------------------------


@on_every_store
async def test_events_are_chained_in_the_order_they_were_given(store: Store):
    given = [event(A, 1.0, n=n) for n in range(5)] + [event("", 0.5, "engine.started")]
    await store.commit(Transaction(events=given[:2]))
    await store.commit(Transaction(events=given[2:]))
    trail = await listed(store.events())
    assert [entry.event for entry in trail] == given
    assert [entry.sequence for entry in trail] == [1, 2, 3, 4, 5, 6]
    assert [entry.previous for entry in trail[1:]] == [entry.hash for entry in trail[:-1]]
    assert trail[0].previous == "sha256:" + "0" * 64
    assert await store.verify_chain() == 6


@on_every_store
async def test_events_can_be_narrowed_by_subject_type_and_time(store: Store):
    given = [
        event(A, 1.0, "check.started"),
        event(B, 2.0, "check.finished"),
        event(A, 3.0, "act.started"),
        event("", 4.0, "check"),
        event("not an address", 5.0, "check.x"),
    ]
    await store.commit(Transaction(events=given))

    async def sequences(**filters):
        return [entry.sequence async for entry in store.events(**filters)]

    assert await sequences(subject=str(A)) == [1, 3]
    assert await sequences(subject="") == [4]
    assert await sequences(subject="not an address") == [5]
    assert await sequences(subject="unheard/of/x") == []
    assert await sequences(type_prefix="check") == [1, 2, 4, 5]
    assert await sequences(type_prefix="check.") == [1, 2, 5]
    assert await sequences(since=3.0) == [3, 4, 5]
    assert await sequences(subject=str(A), type_prefix="act", since=3.0) == [3]
    whole = await listed(store.events())
    assert [entry async for entry in store.events(subject=str(B))] == [whole[1]]


@on_every_store
async def test_a_long_trail_is_read_page_by_page(store: Store):
    await store.commit(Transaction(events=[event(n=n) for n in range(1203)]))
    assert [entry.sequence async for entry in store.events()] == list(range(1, 1204))
    assert [entry.sequence async for entry in store.events(subject=str(A))] == list(range(1, 1204))
    assert await store.verify_chain() == 1203


@on_every_store
async def test_a_long_trail_is_read_from_its_end_page_by_page(store: Store):
    await store.commit(Transaction(events=[event(n=n) for n in range(1203)]))
    whole = [entry async for entry in store.events()]
    assert [entry async for entry in store.latest_events()] == whole[::-1]
    assert [entry async for entry in store.latest_events(str(A))] == whole[::-1]
    assert [entry async for entry in store.latest_events("unheard/of/x")] == []


@on_every_store
async def test_an_event_that_has_no_canonical_form_fails_the_whole_transaction(store: Store):
    with pytest.raises(UnhashableError):
        await store.commit(Transaction(states=[full_state()], events=[AuditEvent(1.0, "x", "", {"bad": {1, 2}})]))
    assert await store.state(A) is None
    assert await store.verify_chain() == 0


@on_every_store
async def test_an_empty_transaction_is_fine(store: Store):
    await store.commit(Transaction())
    assert await store.verify_chain() == 0


@on_every_store
async def test_digests_of_any_spelling_come_back(store: Store):
    odd = full_state(declared_document=Digest("md5:1"), raw_digest="A" * 64, state_hash=digest("x")[7:], etag="")
    await store.commit(Transaction(states=[odd]))
    assert await store.state(A) == odd
