"""What every store does, continued: corrections, and what holds them back."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.compare.normalize import Digest as ValueDigest
from holdfast.errors import StoreError
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.budget_charge import BudgetCharge
from holdfast.store.governance import BudgetSpent, CorrectionOutcome, PathCorrection
from holdfast.store.protocol import Store
from holdfast.store.records import ClaimLost
from holdfast.store.transaction import GovernanceChanges, Transaction
from tests.unit.store.examples import (
    EVERY,
    A,
    B,
    C,
    D,
    acceptance,
    approval,
    correction,
    event,
    finding,
    full_state,
    on_every_store,
    on_shared_stores,
    open_store,
    opened,
    pause,
    quarantine,
    revision,
)

ODD_VALUES = [
    ABSENT,
    None,
    False,
    1.0,
    "",
    ValueDigest("sha256:1"),
    {"$": "absent"},
    {"a": [ABSENT, {"b": ValueDigest("x")}]},
    "long " * 500,
]

# --- corrections ------------------------------------------------------------------------------------------------------


@on_every_store
async def test_a_correction_comes_back_field_by_field(store: Store):
    bare = correction("c1", paths=(), pre_image=None, post_image=None, undoes=None, who="")
    full = correction("c2", B, outcome=CorrectionOutcome.UNDONE)
    await store.commit(Transaction(governance=GovernanceChanges(corrections=[bare, full])))
    assert await store.correction("c1") == bare
    assert await store.correction("c2") == full
    assert await store.correction("c3") is None


@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("kind", EVERY)
def test_values_come_back_as_what_they_were(kind, value, tmp_path):
    @on_every_store
    async def check(store: Store):
        paths = (PathCorrection("a", value, ABSENT, took=False), PathCorrection("b[name=x]", ABSENT, value))
        taken, put_down = acceptance("size", value=value), quarantine("size", data={"values": [value], "$": value})
        corrected = correction("c", paths=paths)
        await store.commit(
            Transaction(governance=GovernanceChanges(corrections=[corrected], accepted=[taken], quarantines=[put_down]))
        )
        assert await store.correction("c") == corrected
        assert await store.accepted_values() == [taken]
        assert await store.quarantines() == [put_down]
        assert type((await store.accepted_values())[0].value) is type(value)

    check(kind, tmp_path)


@on_every_store
async def test_corrections_come_newest_first_of_some_or_of_all(store: Store):
    given = [
        correction("c1", at=2.0),
        correction("c2", B, at=3.0),
        correction("c3", C, at=1.0),
        correction("c4", at=2.0),
    ]
    await store.commit(Transaction(governance=GovernanceChanges(corrections=given[:2])))
    await store.commit(Transaction(governance=GovernanceChanges(corrections=given[2:])))

    async def chosen(*asked: Any, **filters: Any) -> list[str]:
        return [correction.id for correction in await store.corrections(*asked, **filters)]

    assert await chosen() == ["c2", "c4", "c1", "c3"]
    assert await chosen(since=2.0, limit=2) == ["c2", "c4"]
    assert await chosen(limit=0) == []
    assert await chosen([A, C, A]) == ["c4", "c1", "c3"]
    assert await chosen([A, C], since=2.0) == ["c4", "c1"]
    assert await chosen([A, B], limit=1) == ["c2"]
    assert await chosen([D]) == []
    assert await chosen([]) == []


@on_every_store
async def test_the_corrections_of_many_resources_come_in_one_order(store: Store):
    many = [Address("prod", "Network", f"n{n}") for n in range(450)]
    given = [correction(f"c{n}", address, at=float(n * 7 % 450)) for n, address in enumerate(many)]
    await store.commit(Transaction(governance=GovernanceChanges(corrections=given)))
    newest_first = sorted(given, key=lambda one: one.at, reverse=True)
    assert await store.corrections(many) == newest_first
    assert await store.corrections(many, limit=300) == newest_first[:300]
    assert await store.corrections() == newest_first


@on_every_store
async def test_a_correction_is_replaced_by_one_of_its_id_and_keeps_its_place(store: Store):
    first, second = correction("c1", outcome=CorrectionOutcome.BEGUN), correction("c2")
    await store.commit(Transaction(governance=GovernanceChanges(corrections=[first, second])))
    ended = replace(
        first, outcome=CorrectionOutcome.INEFFECTIVE, paths=(PathCorrection("x", 1, 2, took=False),), who="she"
    )
    await store.commit(Transaction(governance=GovernanceChanges(corrections=[ended])))
    assert await store.corrections() == [second, ended]


@on_every_store
async def test_what_is_kept_is_not_shared_with_writer_or_reader(store: Store):
    values = [1]
    facts = Transaction(
        governance=GovernanceChanges(
            corrections=[correction("c", paths=(PathCorrection("x", values),))],
            accepted=[acceptance("x", value=values)],
            quarantines=[quarantine("x", data={"values": values})],
        )
    )
    await store.commit(facts)
    values.append(2)
    for _ in range(2):
        corrected, taken = (await store.corrections())[0], (await store.accepted_values())[0]
        lists = [corrected.paths[0].before, taken.value, (await store.quarantines())[0].data["values"]]
        single = await store.correction("c")
        assert single is not None
        lists.append(single.paths[0].before)
        assert lists == [[1]] * 4
        for item in lists:
            item.append(3)


# --- buckets ---------------------------------------------------------------------------------------------------------


def charging(name: str, at: float, *buckets: str, limit: int = 2, since: float = 0.0) -> Transaction:
    """Return a correction that is charged to buckets."""
    charges = [BudgetCharge(bucket, limit, since) for bucket in buckets]
    return Transaction(governance=GovernanceChanges(corrections=[correction(name, at=at)], charges={name: charges}))


@on_every_store
async def test_a_bucket_gives_as_often_as_its_limit_says_and_again_when_time_has_passed(store: Store):
    await store.commit(charging("c1", 10.0, "p"))
    await store.commit(charging("c2", 20.0, "p", since=10.0))
    with pytest.raises(BudgetSpent) as caught:
        await store.commit(charging("c3", 20.0, "p", since=10.0))
    assert caught.value.bucket == "p"
    await store.commit(charging("c3", 20.5, "p", since=10.5))
    asked = [("p", 20.5), ("p", 10.5), ("p", 0.0), ("other", 0.0), ("p", 21.0)]
    assert await store.count_charges(asked) == [1, 2, 3, 0, 0]
    assert await store.count_charges([]) == []


@on_every_store
async def test_a_transaction_that_finds_a_bucket_empty_keeps_nothing(store: Store):
    await store.commit(charging("c1", 1.0, "full", limit=1))
    new = Address("new", "Thing", "x")
    facts = charging("c2", 2.0, "other", "full", limit=1)
    facts.states, facts.events, facts.revisions = [full_state(new)], [event()], [revision(1)]
    facts.governance.pauses, facts.governance.approvals = [pause("")], [approval("p")]
    facts.governance.quarantines, facts.governance.accepted = [quarantine("x")], [acceptance("x")]
    with pytest.raises(BudgetSpent, match="full"):
        await store.commit(facts)
    assert await store.count_charges([("other", 0.0), ("full", 0.0)]) == [0, 1]
    assert [correction.id for correction in await store.corrections()] == ["c1"]
    assert await store.states([new]) == {}
    assert await store.revisions(A) == []
    assert await store.pauses() == []
    assert (await store.approvals(), await store.quarantines(), await store.accepted_values()) == ([], [], [])
    assert await store.verify_chain() == 0
    facts.governance.charges = {}
    await store.commit(facts)
    assert list(await store.states([new])) == [new]


@on_every_store
async def test_a_correction_is_charged_to_a_bucket_once_even_when_the_bucket_is_empty(store: Store):
    await store.commit(charging("c1", 1.0, "p", "p", limit=1))
    await store.commit(charging("c1", 5.0, "p", limit=1))  # asked again after a crash, at another time
    await store.commit(Transaction(governance=GovernanceChanges(charges={"c1": [BudgetCharge("p", 0, 0.0)]})))
    assert await store.count_charges([("p", 0.0), ("p", 1.5)]) == [1, 0]


@on_every_store
async def test_charges_of_one_transaction_count_each_other(store: Store):
    facts = Transaction(
        governance=GovernanceChanges(
            corrections=[correction(f"c{n}", at=1.0) for n in range(3)],
            charges={f"c{n}": [BudgetCharge("p", 2, 0.0)] for n in range(3)},
        )
    )
    with pytest.raises(BudgetSpent):
        await store.commit(facts)
    assert await store.count_charges([("p", 0.0)]) == [0]
    del facts.governance.charges["c2"]
    await store.commit(facts)
    assert await store.count_charges([("p", 0.0)]) == [2]


@on_every_store
async def test_a_correction_that_is_kept_can_be_charged_later_at_its_own_time(store: Store):
    await store.commit(Transaction(governance=GovernanceChanges(corrections=[correction("c1", at=3.0)])))
    await store.commit(Transaction(governance=GovernanceChanges(charges={"c1": [BudgetCharge("p", 1, 0.0)]})))
    assert await store.count_charges([("p", 3.0), ("p", 3.5)]) == [1, 0]


@on_every_store
async def test_charging_an_unknown_correction_is_a_mistake_and_nothing_is_kept(store: Store):
    with pytest.raises(ValueError, match="correction c9"):
        await store.commit(
            Transaction(
                states=[full_state()], governance=GovernanceChanges(charges={"c9": [BudgetCharge("p", 1, 0.0)]})
            )
        )
    assert await store.state(A) is None
    assert await store.count_charges([("p", 0.0)]) == [0]


@on_every_store
async def test_a_bucket_with_nothing_in_it_gives_nothing(store: Store):
    with pytest.raises(BudgetSpent):
        await store.commit(charging("c1", 1.0, "p", limit=0))
    await store.commit(charging("c1", 1.0))
    assert len(await store.corrections()) == 1


@on_every_store
async def test_a_lost_claim_or_a_broken_fact_takes_nothing_from_a_bucket(store: Store):
    await store.commit(Transaction(revisions=[revision(1)]))
    facts = charging("c1", 1.0, "p")
    with pytest.raises(ClaimLost):
        await store.commit(replace(facts, writes=replace(facts.writes, fences={A: 7})))
    with pytest.raises(StoreError):
        await store.commit(replace(facts, revisions=[revision(1, content="y")]))
    assert await store.count_charges([("p", 0.0)]) == [0]


@on_shared_stores
def test_two_processes_never_take_more_than_a_bucket_holds(kind, tmp_path):
    async def take(store: Store, name: str, at: float) -> None:
        with contextlib.suppress(BudgetSpent):
            await store.commit(charging(name, at, "own " + name[0], "shared", limit=7, since=at - 10.0))

    async def whole() -> None:
        stores = [await open_store(kind, tmp_path) for _ in range(2)]
        try:
            # What was taken at 100 still counts at 110 and no longer at 111.
            for at, total in [(100.0, 7), (110.0, 7), (111.0, 14)]:
                tries = [take(store, f"{n}-{at}-{turn}", at) for turn in range(10) for n, store in enumerate(stores)]
                by_both = [take(store, f"2-{at}-{turn}", at) for turn in range(5) for store in stores]
                await asyncio.gather(*by_both, *tries)
                for store in stores:
                    assert await store.count_charges([("shared", at - 10.0), ("shared", 0.0)]) == [7, total]
                    assert sum(await store.count_charges([(f"own {n}", 0.0) for n in range(3)])) == total
                    assert len(await store.corrections()) == total
        finally:
            for store in stores:
                await store.close()

    asyncio.run(whole())


tries = st.lists(
    st.tuples(st.integers(0, 12), st.lists(st.sampled_from("pq"), max_size=2), st.integers(0, 30)), max_size=25
)


@pytest.mark.parametrize("kind", EVERY)
@settings(max_examples=60)
@given(tries=tries, limit=st.integers(1, 3), width=st.integers(0, 8))
def test_no_window_ever_holds_more_charges_than_the_limit(kind, tries, limit, width):
    """Whatever is asked for, in whatever order of time, and however often for the same correction."""

    async def whole() -> None:
        with tempfile.TemporaryDirectory() as folder:
            async with opened(kind, Path(folder)) as store:
                for bucket, charged in (await spend(store)).items():
                    for start in range(31):
                        assert sum(start <= at <= start + width for at in charged.values()) <= limit
                    counts = [sum(at >= since for at in charged.values()) for since in range(31)]
                    assert await store.count_charges([(bucket, float(since)) for since in range(31)]) == counts

    async def spend(store: Store) -> dict[str, dict[int, int]]:
        """Return when which bucket was charged for which correction, and see that nothing was refused for no reason."""
        taken: dict[str, dict[int, int]] = defaultdict(dict)
        for number, buckets, at in tries:
            empty = await refusing(store, charging(f"c{number}", at, *buckets, limit=limit, since=at - width))
            if empty is None:
                for bucket in buckets:
                    taken[bucket].setdefault(number, at)
            else:
                assert sum(item >= at - width for item in taken[empty].values()) >= limit
                assert number not in taken[empty]
        return taken

    asyncio.run(whole())


async def refusing(store: Store, facts: Transaction) -> str | None:
    """Commit; return the bucket that was empty."""
    try:
        await store.commit(facts)
    except BudgetSpent as spent:
        return spent.bucket
    return None


# --- pauses, approvals, quarantines, acceptances ---------------------------------------------------------------------


@on_every_store
async def test_pauses_are_kept_by_scope_until_resumed(store: Store):
    given = [pause("prod/Network/a"), pause("prod", until=9.0), pause(""), pause("prod/Network")]
    await store.commit(Transaction(governance=GovernanceChanges(pauses=given)))
    in_order = [given[2], given[1], given[3], given[0]]
    assert await store.pauses() == in_order
    longer = pause("prod", until=None, why="longer than thought")
    await store.commit(
        Transaction(governance=GovernanceChanges(pauses=[longer], resumed=["", "prod/Network/a", "never paused"]))
    )
    assert await store.pauses() == [longer, given[3]]


@on_every_store
async def test_a_scope_can_be_resumed_and_paused_anew_at_once(store: Store):
    await store.commit(Transaction(governance=GovernanceChanges(pauses=[pause("prod")])))
    anew = pause("prod", at=9.0)
    await store.commit(Transaction(governance=GovernanceChanges(pauses=[anew], resumed=["prod"])))
    assert await store.pauses() == [anew]


@on_every_store
async def test_an_approval_is_there_until_it_is_used(store: Store):
    given = [approval("p2"), approval("p1"), approval("p3", B), approval("p4", D, used_at=3.0)]
    await store.commit(Transaction(governance=GovernanceChanges(approvals=given)))
    assert await store.approvals() == [given[1], given[0], given[2]]
    assert await store.approvals([B, D, C]) == [given[2]]
    assert await store.approvals([]) == []
    await store.commit(
        Transaction(
            governance=GovernanceChanges(approvals=[replace(given[1], used_at=5.0), replace(given[0], who="she")])
        )
    )
    assert await store.approvals([A]) == [replace(given[0], who="she")]


@on_every_store
async def test_quarantines_are_kept_by_address_and_path_until_promoted(store: Store):
    given = [quarantine("size", B), quarantine("size"), quarantine("name"), quarantine("size", C)]
    await store.commit(Transaction(governance=GovernanceChanges(quarantines=given)))
    assert await store.quarantines() == [given[2], given[1], given[0], given[3]]
    assert await store.quarantines([C, A, D]) == [given[2], given[1], given[3]]
    assert await store.quarantines([]) == []
    undone = quarantine("size", cause="undone", data={})
    unknown = Address("new", "Thing", "x")
    await store.commit(
        Transaction(
            governance=GovernanceChanges(
                quarantines=[undone], unquarantined=[(A, "name"), (B, "x"), (C, "size"), (unknown, "x")]
            )
        )
    )
    assert await store.quarantines() == [undone, given[0]]
    anew = quarantine("size", B, since=99.0)
    await store.commit(
        Transaction(governance=GovernanceChanges(quarantines=[anew], unquarantined=[(A, "size"), (B, "size")]))
    )
    assert await store.quarantines() == [anew]


@on_every_store
async def test_acceptances_are_kept_by_address_and_path_until_taken_back(store: Store):
    given = [acceptance("size", B), acceptance("size"), acceptance("name"), acceptance("size", C)]
    await store.commit(Transaction(governance=GovernanceChanges(accepted=given)))
    assert await store.accepted_values() == [given[2], given[1], given[0], given[3]]
    assert await store.accepted_values([C, A, D]) == [given[2], given[1], given[3]]
    assert await store.accepted_values([]) == []
    other = acceptance("size", value=7, who="she")
    unknown = Address("new", "Thing", "x")
    await store.commit(
        Transaction(
            governance=GovernanceChanges(
                accepted=[other], unaccepted=[(A, "name"), (B, "x"), (C, "size"), (unknown, "x")]
            )
        )
    )
    assert await store.accepted_values() == [other, given[0]]


@on_every_store
async def test_what_is_asked_of_many_resources_comes_in_address_order(store: Store):
    many = [Address("prod", kind, f"n{n:03}") for kind in ("Network", "Subnet") for n in range(250)]
    quarantined, accepted = (
        [quarantine("x", address) for address in many],
        [acceptance("x", address) for address in many],
    )
    approved = [approval(f"plan of {address}", address) for address in many]
    await store.commit(
        Transaction(
            governance=GovernanceChanges(
                quarantines=quarantined[::-1], accepted=accepted[::-1], approvals=approved[::-1]
            )
        )
    )
    for asked in (None, many, many[::-1]):
        assert await store.quarantines(asked) == quarantined
        assert await store.accepted_values(asked) == accepted
        assert await store.approvals(asked) == approved


@on_every_store
async def test_forgetting_takes_what_was_decided_about_a_resource_and_leaves_what_was_done(store: Store):
    used = approval("used", used_at=2.0)
    facts = charging("c1", 1.0, "p")
    facts.states, facts.findings = [full_state(A), full_state(B)], {A: (finding("x"),), B: (finding("x"),)}
    facts.governance.approvals = [approval("unused"), used, approval("other", B)]
    facts.governance.quarantines, facts.governance.accepted = (
        [quarantine("x"), quarantine("x", B)],
        [acceptance("x"), acceptance("x", B)],
    )
    facts.governance.pauses = [pause(str(A))]
    await store.commit(facts)
    await store.commit(Transaction(forgotten=[A]))
    assert list(await store.findings()) == [B]
    assert await store.approvals() == [approval("other", B)]
    assert await store.quarantines() == [quarantine("x", B)]
    assert await store.accepted_values() == [acceptance("x", B)]
    assert await store.corrections([A]) == facts.governance.corrections
    assert await store.count_charges([("p", 0.0)]) == [1]
    assert await store.pauses() == facts.governance.pauses
    with pytest.raises(BudgetSpent):
        await store.commit(charging("c2", 1.0, "p", limit=1))


@on_every_store
async def test_a_resource_can_be_forgotten_and_decided_about_anew_in_one_transaction(store: Store):
    await store.commit(
        Transaction(
            governance=GovernanceChanges(quarantines=[quarantine("x"), quarantine("y")], accepted=[acceptance("x")])
        )
    )
    anew = Transaction(
        forgotten=[A], governance=GovernanceChanges(quarantines=[quarantine("x", since=9.0)], approvals=[approval("p")])
    )
    await store.commit(anew)
    assert await store.quarantines() == anew.governance.quarantines
    assert await store.approvals() == anew.governance.approvals
    assert await store.accepted_values() == []


@on_every_store
async def test_a_new_store_holds_nothing_back(store: Store):
    assert await store.corrections() == []
    assert await store.pauses() == []
    assert (await store.approvals(), await store.quarantines(), await store.accepted_values()) == ([], [], [])
    assert await store.findings_of([A]) == {}
    assert await store.count_charges([("p", 0.0)]) == [0]


@on_shared_stores
def test_what_holds_corrections_back_is_there_after_opening_again(kind, tmp_path):
    facts = charging("c1", 1.0, "p")
    facts.governance.pauses, facts.governance.approvals = [pause("")], [approval("p")]
    facts.governance.quarantines, facts.governance.accepted = [quarantine("x")], [acceptance("x")]
    facts.findings, facts.checked = {A: (finding("x"),)}, {A}

    async def whole() -> None:
        for turn in range(3):
            async with opened(kind, tmp_path) as store:
                if turn < 2:
                    await store.commit(facts)
                assert await store.corrections() == facts.governance.corrections
                assert await store.count_charges([("p", 0.0)]) == [1]
                assert (await store.pauses(), await store.approvals()) == (
                    facts.governance.pauses,
                    facts.governance.approvals,
                )
                assert (await store.quarantines(), await store.accepted_values()) == (
                    facts.governance.quarantines,
                    facts.governance.accepted,
                )
                assert (await store.findings(A))[A][0].times == min(turn + 1, 2)

    asyncio.run(whole())
