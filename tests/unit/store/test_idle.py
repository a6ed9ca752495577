"""One meaning of "idle": the predicate on states, and the question that a list scan asks a store."""

from __future__ import annotations

import asyncio
import itertools

from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.verdict import Status
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.state import ResourceState, is_idle
from holdfast.store.transaction import Transaction
from tests.unit.store import examples
from tests.unit.store.examples import A, changed_state, digest, full_state

IDLE = changed_state(
    full_state(),
    status=Status.IN_SYNC,
    applied_document=digest("desired"),
    terminal=None,
    requested="done",
    handled="done",
)


async def found(state: ResourceState) -> bool:
    store = SqliteStore.in_memory()
    try:
        await store.commit(Transaction(states=[state]))
        assert state.observed.provider_id is not None
        assert state.observed.raw_digest is not None
        seen = [(state.observed.provider_id, state.observed.raw_digest)]
        return bool(await store.find_unchanged(A.connection, A.kind, seen))
    finally:
        await store.close()


def test_every_combination_of_facts_is_idle_for_both_or_for_neither():
    facts = {
        "status": [None, *Status],
        "baseline": [None, digest("baseline")],
        "declared_document": [None, digest("desired")],
        "applied_document": [None, digest("desired"), digest("applied")],
        "requested": [None, "now"],
        "handled": [None, "now"],
        "terminal": [None, "refused"],
    }
    answers = []
    for values in itertools.product(*facts.values()):
        state = changed_state(IDLE, **dict(zip(facts, values, strict=True)))
        answers.append(is_idle(state))
        assert asyncio.run(found(state)) == is_idle(state), values
    assert {True, False} == set(answers)


@given(examples.states(st.just(A)))
def test_any_scheduled_state_is_idle_for_both_or_for_neither(state: ResourceState):
    state = changed_state(state, provider_id="x", raw_digest="raw", due_at=1.0)
    assert asyncio.run(found(state)) == is_idle(state)


def test_a_resource_that_is_not_scheduled_is_left_out_of_list_scans():
    assert is_idle(IDLE)
    assert asyncio.run(found(IDLE))
    assert not asyncio.run(found(changed_state(IDLE, due_at=None)))
