"""What every store does, in memory or on disk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from holdfast.errors import StoreError
from holdfast.model.address import Address
from holdfast.model.verdict import Status
from holdfast.store import blobs
from holdfast.store.governance import Pause
from holdfast.store.protocol import Store
from holdfast.store.state import UNCHECKED, DeclaredState, ResourceState, UnchangedCheck, UnchangedResource
from holdfast.store.transaction import GovernanceChanges, PartialUpdates, Transaction
from tests.unit.store.examples import (
    EVERY,
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
    revision,
)

# --- documents --------------------------------------------------------------------------------------------------------


@on_every_store
async def test_a_document_comes_back_as_it_was(store: Store):
    value = {"b": [1, 2.5, None, True, "<é\u2028>"], "a": {"n": 2**63, "long": "x" * 5000}}
    name, data = kept(value)
    await store.commit(Transaction(documents={name: data}))
    assert await store.document(name) == value


@on_every_store
async def test_many_documents_come_at_once_and_missing_ones_are_left_out(store: Store):
    names = dict(kept({"n": n}) for n in range(450))
    await store.commit(Transaction(documents=names))
    asked = [*names, digest("never kept")]
    assert await store.documents(asked) == {name: {"n": n} for n, name in enumerate(names)}
    with pytest.raises(KeyError):
        await store.document(digest("never kept"))


@on_every_store
async def test_a_document_is_not_shared_with_its_reader(store: Store):
    name, data = kept({"list": [1]})
    await store.commit(Transaction(documents={name: data}))
    (await store.document(name))["list"].append(2)
    assert await store.document(name) == {"list": [1]}


@on_every_store
async def test_bytes_under_a_wrong_digest_are_refused_and_nothing_is_kept(store: Store):
    with pytest.raises(ValueError, match="another digest"):
        await store.commit(Transaction(documents={digest("other"): b"{}"}, states=[full_state()]))
    assert await store.state(A) is None


@on_every_store
async def test_a_very_deep_document_can_be_kept(store: Store):
    value: object = []
    for _ in range(3000):
        value = [value]
    name, data = kept(value)
    await store.commit(Transaction(documents={name: data}))
    assert kept(await store.document(name)) == (name, data)


# --- resources --------------------------------------------------------------------------------------------------------


@on_every_store
async def test_a_state_comes_back_field_by_field(store: Store):
    bare, full = ResourceState(B, declared=DeclaredState("file")), full_state(A)
    await store.commit(Transaction(states=[bare, full]))
    assert await store.state(A) == full
    assert await store.state(B) == bare
    assert type((await store.states([A]))[A].declared.options["f"]) is float


@on_every_store
async def test_a_state_replaces_the_whole_one_before_it(store: Store):
    await store.commit(Transaction(states=[full_state(requested=None, handled=None)]))
    await store.commit(Transaction(states=[ResourceState(A, declared=DeclaredState("file"))]))
    assert await store.state(A) == ResourceState(A, declared=DeclaredState("file"))


FIELDS = [
    (part, leaf)
    for part in ResourceState.__slots__
    if part != "address"
    for leaf in getattr(full_state(), part).__slots__
]


@pytest.mark.parametrize("part, leaf", [field for field in FIELDS if field != ("schedule", "requested")])
@pytest.mark.parametrize("kind", EVERY)
def test_a_change_of_any_one_field_is_kept(kind, part, leaf, tmp_path):
    bare = ResourceState(A, declared=DeclaredState("file"))
    value = getattr(getattr(full_state(), part), leaf)
    changed = replace(bare, **{part: replace(getattr(bare, part), **{leaf: value})})
    assert changed != bare

    @on_every_store
    async def check(store: Store):
        for state in (bare, changed):
            await store.commit(Transaction(states=[state]))
            assert await store.state(A) == state

    check(kind, tmp_path)


@on_every_store
async def test_a_text_that_utf8_cannot_carry_is_kept_in_some_form_and_harms_nobody_else(store: Store):
    odd = "odd \ud800 text"
    states = [full_state(A, reason=odd, provider_id=odd, etag=odd), full_state(B)]
    pause = Pause("", "ada", "from a broken terminal \udcff", 1.0)
    await store.commit(
        Transaction(states=states, events=[event(said=odd)], governance=GovernanceChanges(pauses=[pause]))
    )
    kept = await store.states([A, B])
    assert kept[B] == full_state(B)
    assert kept[A] == full_state(A, reason="odd \\ud800 text", provider_id="odd \\ud800 text", etag="odd \\ud800 text")
    assert await store.verify_chain() == 1
    assert [item.why for item in await store.pauses()] == ["from a broken terminal \\udcff"]


@on_every_store
async def test_of_two_states_of_a_resource_in_one_transaction_the_later_wins(store: Store):
    await store.commit(Transaction(states=[full_state(generation=1), full_state(B), full_state(generation=2)]))
    assert (await store.states([A]))[A].declared.generation == 2


@on_every_store
async def test_a_state_is_not_shared_with_writer_or_reader(store: Store):
    options = {"list": [1]}
    await store.commit(Transaction(states=[full_state(options=options)]))
    options["list"].append(2)
    (await store.states([A]))[A].declared.options["list"].append(3)
    assert (await store.states([A]))[A].declared.options == {"list": [1]}


@on_every_store
async def test_states_returns_those_that_are_known(store: Store):
    many = [Address("prod", "Network", f"n{n}") for n in range(700)]
    await store.commit(Transaction(states=[full_state(address) for address in many]))
    found = await store.states([*many, Address("prod", "Nothing", "x"), Address("prod", "Network", "x")])
    assert found == {address: full_state(address) for address in many}
    assert await store.states([]) == {}


@on_every_store
async def test_all_states_come_in_address_order_and_can_be_narrowed(store: Store):
    odd = [Address("prod", "Network", "a-b"), Address("prod", "Network", "z", "a"), Address("prod-2", "Network", "a")]
    await store.commit(Transaction(states=[full_state(address) for address in (D, C, B, A, *odd)]))
    in_order = [A, odd[0], odd[1], B, C, odd[2], D]
    assert [state.address async for state in store.all_states()] == in_order
    assert [state.address async for state in store.all_states(connection="prod")] == in_order[:5]
    assert [state.address async for state in store.all_states(kind="Subnet")] == [C]
    assert [state.address async for state in store.all_states(connection="test", kind="Network")] == [D]
    assert [state.address async for state in store.all_states(connection="test", kind="Subnet")] == []


@on_every_store
async def test_all_states_pages_through_more_than_a_page(store: Store):
    many = [Address("prod", "Network", f"n{n:04}") for n in range(1100)]
    await store.commit(Transaction(states=[full_state(address) for address in many]))
    assert [state.address async for state in store.all_states()] == many
    assert await listed(store.unchecked("prod", "Network", 11.0)) == many


def at_rest(address: Address, **changes: Any) -> ResourceState:
    """Return a state that a sweep may pass over."""
    peaceful = {"status": Status.IN_SYNC, "applied_document": digest("desired"), "handled": "token-1", "terminal": None}
    return full_state(address, **({"provider_id": address.name, "raw_digest": "raw"} | peaceful | changes))


@on_every_store
async def test_settled_are_those_at_rest_that_are_listed_with_the_digest_they_had(store: Store):
    moved, gone = (Address("prod", "Network", name) for name in ("moved", "gone"))
    states = [at_rest(A, raw_digest=str(digest("raw"))), at_rest(B), at_rest(moved), at_rest(gone)]
    await store.commit(Transaction(states=[*states, at_rest(C), at_rest(D)]))
    seen = [("a", str(digest("raw"))), ("b", "raw"), ("moved", "new"), ("unheard of", "raw")]
    assert set(await store.find_unchanged("prod", "Network", seen)) == {
        UnchangedResource(A, 3600.0),
        UnchangedResource(B, 3600.0),
    }
    assert await store.find_unchanged("prod", "Nothing", seen) == []
    assert await store.find_unchanged("prod", "Network", []) == []


@on_every_store
async def test_states_are_found_by_the_ids_of_the_provider_within_a_kind(store: Store):
    await store.commit(Transaction(states=[at_rest(A), at_rest(B), at_rest(C), at_rest(D)]))
    found = await store.states_with_ids("prod", "Network", ["a", "a", "b", "unheard of"])
    assert sorted((state.address for state in found), key=str) == [A, B]
    assert await store.states_with_ids("prod", "Network", []) == []
    assert await store.states_with_ids("prod", "Nothing", ["a"]) == []
    many = [f"x{number}" for number in range(1000)]
    assert [state.address for state in await store.states_with_ids("prod", "Network", [*many, "b"])] == [B]


@pytest.mark.parametrize(
    "unrest",
    [
        {"status": None},
        *[{"status": status} for status in Status if status is not Status.IN_SYNC],
        {"due_at": None},
        {"applied_document": None},
        {"applied_document": digest("applied")},
        {"declared_document": None},
        {"requested": "token-2"},
        {"requested": None},
        {"handled": None},
        {"terminal": "quota"},
        {"raw_digest": None},
        {"raw_digest": "other"},
        {"provider_id": None},
        {"provider_id": "other"},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", EVERY)
def test_whoever_waits_for_a_look_is_not_settled(kind, unrest, tmp_path):
    @on_every_store
    async def check(store: Store):
        await store.commit(Transaction(states=[at_rest(A), at_rest(B, **unrest)]))
        assert await store.find_unchanged("prod", "Network", [("a", "raw"), ("b", "raw")]) == [
            UnchangedResource(A, 3600.0)
        ]

    check(kind, tmp_path)


@on_every_store
async def test_a_resource_that_was_never_asked_for_can_be_settled_but_not_one_that_was_never_declared(store: Store):
    await store.commit(Transaction(states=[at_rest(A, requested=None, handled=None)]))
    assert await store.find_unchanged("prod", "Network", [("a", "raw")]) == [UnchangedResource(A, 3600.0)]
    await store.commit(Transaction(states=[at_rest(A, declared_document=None, applied_document=None)]))
    assert await store.find_unchanged("prod", "Network", [("a", "raw")]) == []


@on_every_store
async def test_of_a_thing_that_is_listed_twice_the_later_digest_counts(store: Store):
    await store.commit(Transaction(states=[at_rest(A), at_rest(B)]))
    seen = [("a", "raw"), ("b", "old"), ("a", "new"), ("b", "raw")]
    assert await store.find_unchanged("prod", "Network", seen) == [UnchangedResource(B, 3600.0)]


@on_every_store
async def test_two_declarations_of_one_thing_are_both_settled(store: Store):
    await store.commit(Transaction(states=[at_rest(A, provider_id="same"), at_rest(B, provider_id="same")]))
    assert {item.address for item in await store.find_unchanged("prod", "Network", [("same", "raw")])} == {A, B}


@on_every_store
async def test_many_are_settled_at_once(store: Store):
    many = [Address("prod", "Network", f"n{n:04}") for n in range(1100)]
    await store.commit(Transaction(states=[at_rest(address) for address in many]))
    found = await store.find_unchanged("prod", "Network", [(address.name, "raw") for address in many])
    assert sorted(item.address.name for item in found) == [address.name for address in many]


@on_every_store
async def test_a_list_is_compared_with_the_digests_of_resources_at_rest(store: Store):
    await store.commit(
        Transaction(states=[at_rest(A), at_rest(B, status=Status.DRIFTED), at_rest(C, provider_id=None)])
    )
    unheard_of = Address("prod", "Network", "unheard-of")
    assert await store.listed_digests([A, B, C, unheard_of]) == {"a": blobs.pack_digest("raw"), "b": None}
    assert await store.listed_digests([A]) == {"a": blobs.pack_digest("raw")}


@on_every_store
async def test_sources_are_those_of_the_last_check_by_address(store: Store):
    many = [Address("prod", "Network", f"n{n:04}") for n in range(1100)]
    states = [at_rest(address, source=f"net.yaml:{n}") for n, address in enumerate(many)]
    await store.commit(Transaction(states=[*states, at_rest(D, source=None)]))
    found = [source async for source in store.sources()]
    assert found == sorted(found, key=lambda each: (each[0].connection, each[0].kind, each[0].name))
    assert dict(found) == {D: None} | {address: f"net.yaml:{n}" for n, address in enumerate(many)}


@on_every_store
async def test_declaring_files_have_the_earliest_check_of_what_they_declare(store: Store):
    unknown = at_rest(C, source="b.yaml:1", status=Status.UNKNOWN, checked_at=1.0)
    states = [at_rest(A, source="a.yaml:12", checked_at=7.0), at_rest(B, source="a.yaml:30", checked_at=5.0), unknown]
    await store.commit(Transaction(states=[*states, at_rest(D, source=None)]))
    assert await store.declaring_files(without=Status.UNKNOWN) == {"a.yaml": 5.0}
    assert await store.declaring_files(without=Status.DRIFTED) == {"a.yaml": 5.0, "b.yaml": 1.0}


@on_every_store
async def test_a_touch_with_a_new_digest_settles_what_had_moved(store: Store):
    await store.commit(Transaction(states=[at_rest(A)]))
    assert await store.find_unchanged("prod", "Network", [("a", "new")]) == []
    await store.commit(Transaction(updates=PartialUpdates(unchanged=[UnchangedCheck(A, 50.0, 60.0, raw_digest="new")])))
    assert await store.find_unchanged("prod", "Network", [("a", "new")]) == [UnchangedResource(A, 3600.0)]


@on_every_store
async def test_unlooked_are_the_scheduled_ones_whose_last_check_is_older(store: Store):
    times = {"a": 9.0, "b": 10.0, "c": None, "d": 9.5}
    states = [full_state(Address("prod", "Network", name), checked_at=at) for name, at in times.items()]
    unscheduled = full_state(Address("prod", "Network", "e"), checked_at=1.0, due_at=None)
    await store.commit(Transaction(states=[*reversed(states), unscheduled, full_state(C), full_state(D)]))
    assert [address.name async for address in store.unchecked("prod", "Network", 10.0)] == ["a", "c", "d"]
    assert [address.name async for address in store.unchecked("prod", "Network", 0.0)] == ["c"]
    assert await listed(store.unchecked("prod", "Nothing", 10.0)) == []


@on_every_store
async def test_what_is_looked_at_while_going_through_the_unlooked_is_not_met_twice(store: Store):
    many = [Address("prod", "Network", f"n{n:04}") for n in range(1100)]
    await store.commit(Transaction(states=[full_state(address, checked_at=1.0) for address in many]))
    met = []
    async for address in store.unchecked("prod", "Network", 10.0):
        met.append(address)
        await store.commit(Transaction(updates=PartialUpdates(unchanged=[UnchangedCheck(address, 10.0, 20.0)])))
    assert met == many
    assert await listed(store.unchecked("prod", "Network", 10.0)) == []


@on_every_store
async def test_a_touch_moves_the_times_of_a_good_check_and_nothing_else(store: Store):
    done = {"handled": "token-1"}
    await store.commit(Transaction(states=[full_state(A, **done), full_state(B, **done)]))
    await store.commit(
        Transaction(
            updates=PartialUpdates(
                unchanged=[UnchangedCheck(A, 50.0, 60.0), UnchangedCheck(B, 51.0, None, 'W/"2"', "raw-2")]
            )
        )
    )
    assert await store.state(A) == full_state(A, checked_at=50.0, good_at=50.0, due_at=60.0, failures=0, **done)
    tagged = {"etag": 'W/"2"', "raw_digest": "raw-2", **done}
    assert await store.state(B) == full_state(B, checked_at=51.0, good_at=51.0, due_at=None, failures=0, **tagged)


@on_every_store
async def test_a_state_after_a_touch_replaces_what_the_touch_changed(store: Store):
    state = full_state(handled="token-1")
    await store.commit(Transaction(states=[state]))
    await store.commit(Transaction(updates=PartialUpdates(unchanged=[UnchangedCheck(A, 50.0, 60.0, "new")])))
    await store.commit(Transaction(states=[state]))
    assert await store.state(A) == state


@on_every_store
async def test_touching_an_unknown_resource_does_nothing(store: Store):
    await store.commit(Transaction(updates=PartialUpdates(unchanged=[UnchangedCheck(A, 50.0, 60.0)])))
    assert await store.state(A) is None


@on_every_store
async def test_forgetting_takes_state_findings_and_revisions_and_leaves_history(store: Store):
    facts = Transaction(
        states=[full_state()],
        findings={A: (finding("size"),)},
        revisions=[revision(1)],
        decisions=[decision("d")],
        events=[event()],
    )
    await store.commit(facts)
    await store.commit(Transaction(forgotten=[A, B]))
    assert await store.state(A) is None
    assert await store.findings() == {}
    assert await store.revisions(A) == []
    assert await store.next_due() is None
    assert await store.decision("d") == decision("d")
    assert [entry.event async for entry in store.events(subject=str(A))] == [event()]


@on_every_store
async def test_a_resource_can_be_forgotten_and_begun_anew_in_one_transaction(store: Store):
    await store.commit(Transaction(states=[full_state()], revisions=[revision(1, content="old")]))
    await store.commit(
        Transaction(
            forgotten=[A],
            states=[ResourceState(A, declared=DeclaredState("file"))],
            revisions=[revision(1, content="new")],
        )
    )
    assert await store.state(A) == ResourceState(A, declared=DeclaredState("file"))
    assert await store.revisions(A) == [revision(1, content="new")]


@on_every_store
async def test_what_was_only_looked_at_gives_way_to_a_newer_revision(store: Store):
    await store.commit(Transaction(states=[full_state(A, applied_revision=2), full_state(B, applied_revision=1)]))
    seen = [full_state(address, applied_revision=1, reason="seen before the write") for address in (A, B, C)]
    await store.commit(
        Transaction(states=seen, findings=dict.fromkeys((A, B), (finding("x"),)), checked={A, B, C}, events=[event()])
    )
    assert await store.states([A, B, C]) == {A: full_state(A, applied_revision=2), B: seen[1], C: seen[2]}
    assert list(await store.findings()) == [B]
    assert await store.verify_chain() == 1


@on_every_store
async def test_a_connection_met_first_in_a_transaction_that_failed_is_met_again_later(store: Store):
    first, second = Address("new", "Thing", "x"), Address("other", "Thing", "x")
    await store.commit(Transaction(revisions=[revision(1)]))
    with pytest.raises(StoreError):
        await store.commit(Transaction(states=[full_state(first)], revisions=[revision(1, content="y")]))
    await store.commit(Transaction(states=[full_state(second)]))
    await store.commit(Transaction(states=[full_state(first)]))
    assert [state.address async for state in store.all_states()] == [first, second]


# --- schedule ---------------------------------------------------------------------------------------------------------


@on_every_store
async def test_due_gives_the_longest_overdue_first_and_no_more_than_asked(store: Store):
    due_times = {A: 30.0, B: 10.0, C: 20.0, D: None}
    await store.commit(Transaction(states=[full_state(address, due_at=at) for address, at in due_times.items()]))
    assert [state.address for state in await store.due(30.0, 10)] == [B, C, A]
    assert [state.address for state in await store.due(29.0, 1)] == [B]
    assert await store.due(9.0, 10) == []
    assert await store.next_due() == 10.0


@on_every_store
async def test_a_claimed_resource_is_not_due_until_the_claim_runs_out_or_is_released(store: Store):
    await store.commit(Transaction(states=[full_state(A), full_state(B)]))
    await store.claim(A, "me", 100.0, 110.0)
    second = await store.claim(B, "me", 100.0, 110.0)
    assert second is not None
    assert await store.due(105.0, 9) == []
    await store.release(second)
    assert [state.address for state in await store.due(105.0, 9)] == [B]
    assert [state.address for state in await store.due(110.0, 9)] == [A, B]


@on_every_store
async def test_the_tally_counts_by_status_and_what_is_overdue(store: Store):
    statuses = [Status.IN_SYNC, Status.IN_SYNC, Status.UNKNOWN, None]
    states = [
        full_state(address, status=status, due_at=at)
        for address, status, at in zip((A, B, C, D), statuses, (1.0, 2.0, None, 3.0), strict=True)
    ]
    await store.commit(Transaction(states=states))
    tally = await store.count_statuses(2.0)
    assert tally.by_status == {"in_sync": 2, "unknown": 1, UNCHECKED: 1}
    assert (tally.total, tally.overdue) == (4, 2)


@on_every_store
async def test_sizes_count_by_connection_and_kind(store: Store):
    await store.commit(Transaction(states=[full_state(address) for address in (A, B, C, D)], events=[event("x/Y/z")]))
    await store.commit(Transaction(forgotten=[D]))
    assert await store.count_resources() == {("prod", "Network"): 2, ("prod", "Subnet"): 1}


@on_every_store
async def test_resources_of_a_status_come_in_address_order(store: Store):
    later = Address("prod-2", "Network", "a")
    await store.commit(Transaction(states=[full_state(item, status=Status.MISSING) for item in (later, D, C, A)]))
    await store.commit(Transaction(states=[full_state(B, status=Status.IN_SYNC), full_state(D, status=None)]))
    assert await store.addresses_with_status(Status.MISSING) == [A, C, later]
    assert await store.addresses_with_status(Status.DRIFTED) == []


@on_every_store
async def test_an_empty_store_has_nothing_of_anything(store: Store):
    tally = await store.count_statuses(1.0)
    assert (tally.by_status, tally.total, tally.overdue) == ({}, 0, 0)
    assert await store.next_due() is None
    assert await store.count_resources() == {}
    assert await listed(store.all_states()) == []
    assert await listed(store.events()) == []
    assert await store.operations() == []
    assert await store.decisions(None, 5) == []
    assert await store.verify_chain() == 0


@on_every_store
async def test_claims_that_were_not_given_back_are_listed(store):
    mine = await store.claim(B, "me", 0.0, 10.0)
    theirs = await store.claim(A, "them", 0.0, 20.0)
    assert await store.claims() == [theirs, mine]
    await store.release(mine)
    assert await store.claims() == [theirs]
