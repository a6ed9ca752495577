"""Due times and requests are facts of their own: who records a check, or moves a due time, leaves the rest alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.model.verdict import Status
from holdfast.store.protocol import Store
from holdfast.store.records import ClaimLost
from holdfast.store.state import (
    CheckRequest,
    DeclaredState,
    Relink,
    ResourceState,
    ScheduleState,
    UnchangedCheck,
    WithdrawnVerdict,
)
from holdfast.store.transaction import PartialUpdates, Transaction, WriteChanges
from tests.unit.store.examples import EVERY, A, B, C, D, changed_state, condition, full_state, on_every_store


@on_every_store
async def test_a_new_due_time_changes_nothing_else(store: Store):
    await store.commit(Transaction(states=[full_state(A), full_state(B)]))
    await store.commit(Transaction(updates=PartialUpdates(rescheduled=[(A, 7.0), (B, None)])))
    assert await store.state(A) == full_state(A, due_at=7.0)
    assert await store.state(B) == full_state(B, due_at=None)


@on_every_store
async def test_a_request_changes_its_token_and_the_due_time_and_nothing_else(store: Store):
    await store.commit(Transaction(states=[full_state(A)]))
    await store.commit(Transaction(updates=PartialUpdates(requested=[CheckRequest(A, "now", 7.0)])))
    assert await store.state(A) == full_state(A, due_at=7.0, requested="now")


@on_every_store
async def test_an_unknown_resource_is_neither_rescheduled_nor_asked_for(store: Store):
    await store.commit(
        Transaction(updates=PartialUpdates(rescheduled=[(A, 7.0)], requested=[CheckRequest(B, "now", 7.0)]))
    )
    assert await store.states([A, B]) == {}


@on_every_store
async def test_a_state_that_was_read_before_a_request_does_not_take_it_back(store: Store):
    before = full_state(A, requested=None, handled=None, due_at=5.0)
    await store.commit(Transaction(states=[before]))
    await store.commit(Transaction(updates=PartialUpdates(requested=[CheckRequest(A, "now", 7.0)])))
    await store.commit(Transaction(states=[full_state(A, requested=None, handled=None, due_at=900.0)]))
    kept = await store.state(A)
    assert kept is not None
    assert (kept.schedule.requested, kept.schedule.handled, kept.schedule.due_at) == ("now", None, 7.0)


@on_every_store
async def test_a_state_that_was_read_before_a_request_was_done_does_not_open_it_again(store: Store):
    await store.commit(Transaction(states=[full_state(A, requested="old", handled="old")]))
    await store.commit(Transaction(updates=PartialUpdates(requested=[CheckRequest(A, "now", 7.0)])))
    await store.commit(Transaction(states=[full_state(A, requested="now", handled="now", due_at=900.0)]))
    await store.commit(Transaction(states=[full_state(A, requested="old", handled="old", due_at=950.0)]))
    kept = await store.state(A)
    assert kept is not None
    assert (kept.schedule.requested, kept.schedule.handled, kept.schedule.due_at) == ("now", "now", 950.0)


@on_every_store
async def test_a_touch_does_not_put_off_what_was_asked_for_meanwhile(store: Store):
    await store.commit(Transaction(states=[full_state(A, requested=None, handled=None)]))
    await store.commit(Transaction(updates=PartialUpdates(requested=[CheckRequest(A, "now", 7.0)])))
    await store.commit(Transaction(updates=PartialUpdates(unchanged=[UnchangedCheck(A, 50.0, 900.0)])))
    kept = await store.state(A)
    assert kept is not None
    assert (kept.schedule.checked_at, kept.schedule.due_at) == (50.0, 7.0)


@on_every_store
async def test_a_transaction_renews_the_claim_it_relies_on(store: Store):
    claim = await store.claim(A, "one", 0.0, 10.0)
    assert claim is not None
    await store.commit(Transaction(writes=WriteChanges(fences={A: claim.fence}, renewed=[replace(claim, until=50.0)])))
    assert await store.claim(A, "two", 20.0, 30.0) is None
    assert await store.claim(A, "two", 51.0, 60.0) is not None


@on_every_store
async def test_a_claim_that_another_worker_took_or_that_was_given_back_cannot_be_renewed(store: Store):
    claim = await store.claim(A, "one", 0.0, 10.0)
    assert claim is not None
    await store.release(claim)
    with pytest.raises(ClaimLost):
        await store.commit(
            Transaction(states=[full_state(A)], writes=WriteChanges(renewed=[replace(claim, until=50.0)]))
        )
    assert await store.state(A) is None
    assert await store.claim(A, "two", 20.0, 30.0) is not None
    with pytest.raises(ClaimLost):
        await store.commit(Transaction(writes=WriteChanges(renewed=[replace(claim, until=50.0)])))


@pytest.mark.parametrize("due_at", [900.0, None])
@pytest.mark.parametrize("kind", EVERY)
def test_a_state_that_handled_the_request_is_due_when_it_says(kind, due_at, tmp_path):
    @on_every_store
    async def check(store: Store):
        await store.commit(Transaction(states=[ResourceState(A, declared=DeclaredState("file"))]))
        await store.commit(Transaction(updates=PartialUpdates(requested=[CheckRequest(A, "now", 7.0)])))
        await store.commit(
            Transaction(
                states=[
                    ResourceState(
                        A, declared=DeclaredState("file"), schedule=ScheduleState(handled="now", due_at=due_at)
                    )
                ]
            )
        )
        kept = await store.state(A)
        assert kept == ResourceState(
            A, declared=DeclaredState("file"), schedule=ScheduleState(requested="now", handled="now", due_at=due_at)
        )

    check(kind, tmp_path)


@on_every_store
async def test_a_relink_changes_the_provider_id_and_nothing_else(store: Store):
    await store.commit(Transaction(states=[full_state(A), full_state(B)]))
    await store.commit(Transaction(updates=PartialUpdates(relinked=[Relink(A, "new"), Relink(B, None)])))
    assert await store.state(A) == full_state(A, provider_id="new")
    assert await store.state(B) == full_state(B, provider_id=None)


@on_every_store
async def test_a_relink_of_an_unknown_resource_is_skipped(store: Store):
    await store.commit(Transaction(updates=PartialUpdates(relinked=[Relink(A, "new")])))
    assert await store.state(A) is None


@on_every_store
async def test_a_relink_survives_a_state_with_an_equal_detail(store: Store):
    await store.commit(Transaction(states=[full_state(A)]))
    await store.commit(Transaction(updates=PartialUpdates(relinked=[Relink(A, "new")])))
    await store.commit(Transaction(states=[full_state(A)]))
    assert await store.state(A) == full_state(A)


@on_every_store
async def test_a_withdrawn_verdict_changes_its_own_columns_and_nothing_else(store: Store):
    before = full_state(A, requested=None, handled=None)
    await store.commit(Transaction(states=[before]))
    withdrawn = WithdrawnVerdict(A, before.applied.revision, "not checked", (condition(at=8.0),), 12.0)
    await store.commit(Transaction(updates=PartialUpdates(withdrawn=[withdrawn])))
    after = changed_state(
        before, status=Status.UNKNOWN, reason="not checked", conditions=(condition(at=8.0),), checked_at=12.0
    )
    assert await store.state(A) == after


@on_every_store
async def test_a_withdrawn_verdict_may_end_the_schedule_but_keeps_a_requested_check(store: Store):
    await store.commit(Transaction(states=[full_state(A, requested=None, handled=None), full_state(B)]))
    withdrawn = [WithdrawnVerdict(address, 2, "not declared", (), is_scheduled=False) for address in (A, B)]
    await store.commit(Transaction(updates=PartialUpdates(withdrawn=withdrawn)))
    states = await store.states([A, B])
    assert (states[A].schedule.due_at, states[A].schedule.checked_at) == (None, 10.25)
    assert states[B].schedule.due_at == full_state(B).schedule.due_at


@on_every_store
async def test_a_verdict_that_a_write_made_meanwhile_is_not_withdrawn(store: Store):
    await store.commit(Transaction(states=[full_state(A)]))
    withdrawn = WithdrawnVerdict(A, full_state(A).applied.revision - 1, "not checked", ())
    await store.commit(Transaction(updates=PartialUpdates(withdrawn=[withdrawn])))
    assert await store.state(A) == full_state(A)


@on_every_store
async def test_an_outdated_reading_loses_its_tags_and_is_due(store: Store):
    await store.commit(Transaction(states=[full_state(A), full_state(B, due_at=3.0), full_state(C, due_at=None)]))
    await store.commit(Transaction(updates=PartialUpdates(outdated=[(A, 7.0), (B, 7.0), (C, 7.0), (D, 7.0)])))
    for address, due_at in ((A, 7.0), (B, 3.0), (C, 7.0)):
        assert await store.state(address) == full_state(address, etag=None, raw_digest=None, due_at=due_at)
    assert await store.state(D) is None


@on_every_store
async def test_a_check_that_is_set_back_is_dropped_and_due(store: Store):
    await store.commit(Transaction(states=[full_state(A)]))
    await store.commit(Transaction(updates=PartialUpdates(set_back=[(A, 7.0), (B, 7.0)])))
    assert await store.state(A) == full_state(A, checked_at=None, due_at=7.0)
    assert await store.state(B) is None
