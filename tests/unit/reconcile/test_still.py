"""Short looks: where nothing moved, a check says and remembers what a whole one would, and does less for it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from holdfast.model.verdict import Status, SuppressionReason
from holdfast.store.governance import AcceptedValue
from holdfast.store.state import CheckRequest, ResourceState
from holdfast.store.transaction import GovernanceChanges, PartialUpdates, Transaction
from tests.unit.reconcile.fixtures import Bench, declare
from tests.unit.store.examples import changed_state


def run(coroutine):
    return asyncio.run(coroutine)


def at_rest(**options) -> tuple[Bench, list]:
    """Return a fleet of one that was applied and checked once, and whose next answer will be other bytes."""
    bench = Bench(lists=False)
    bench.live.defaults = {"size": "small"}
    fleet = [declare("a", {"color": "red"}, resyncPeriod="1h", **options)]
    run(bench.apply(fleet))
    run(bench.check(fleet))
    remember(bench, raw_digest="of an answer with its keys in another order", etag=None)
    return bench, fleet


def state(bench: Bench) -> ResourceState:
    (found,) = run(bench.store.states([declare("a", {}).address])).values()
    return found


def remember(bench: Bench, **changes) -> None:
    asked = [CheckRequest(state(bench).address, changes.pop("requested"), 0.0)] if "requested" in changes else []
    run(
        bench.store.commit(
            Transaction(states=[changed_state(state(bench), **changes)], updates=PartialUpdates(requested=asked))
        )
    )


def test_an_answer_that_says_the_same_in_other_bytes_is_parsed_hashed_and_found_unmoved():
    bench, fleet = at_rest()
    bench.clock.advance(60.0)
    (checked,) = run(bench.check(fleet)).checked
    assert checked.verdict.status is Status.IN_SYNC
    assert checked.is_still
    assert not checked.is_fast
    after = state(bench)
    assert (after.schedule.checked_at, after.schedule.good_at) == (bench.clock.now(), bench.clock.now())
    assert run(bench.check(fleet)).checked[0].is_fast, "the new tags are remembered"


def test_a_short_look_leaves_the_store_as_a_whole_one_does():
    left = []
    for state_hash in (True, False):  # without it everything is compared
        bench, fleet = at_rest(stateHash=state_hash)
        bench.clock.advance(60.0)
        (checked,) = run(bench.check(fleet)).checked
        assert checked.is_still is state_hash
        left.append(changed_state(state(bench), options={}, reason=""))
    assert left[0] == left[1]


@pytest.mark.parametrize(
    "moved", [{"color": "black"}, {"size": "large"}, {"new": 1}], ids=["declared", "filled in", "added"]
)
def test_what_moved_is_never_taken_for_still(moved):
    bench, fleet = at_rest()
    bench.clock.advance(86400.0)  # the service fills in nothing more
    bench.live_thing("a").update(moved)
    (checked,) = run(bench.check(fleet)).checked
    assert checked.verdict.status is Status.DRIFTED
    assert not checked.is_still


@pytest.mark.parametrize(
    "before",
    [
        {"status": Status.DRIFTED},
        {"terminal": "it cannot be"},
        {"requested": "look, please"},
        {"baseline": None},
        {"observed_document": "sha256:" + "0" * 64},
        {"suppressed": ((SuppressionReason.WAIVED.value, "/color", "until Monday"),)},
    ],
    ids=str,
)
def test_what_was_not_at_rest_is_looked_at_whole(before):
    bench, fleet = at_rest()
    remember(bench, **before)
    (checked,) = run(bench.check(fleet)).checked
    assert not checked.is_still
    assert state(bench).observed.status is Status.IN_SYNC or before.get("terminal")


def test_what_a_person_accepted_is_counted_at_every_look():
    bench, fleet = at_rest()
    accepted = AcceptedValue(fleet[0].address, "/size", "small", "ada", "it is fine", 1.0)
    run(bench.store.commit(Transaction(governance=GovernanceChanges(accepted=[accepted]))))
    for _ in range(2):
        (checked,) = run(bench.check(fleet)).checked
        assert [item.because for item in checked.verdict.suppressed] == [SuppressionReason.BASELINED]


@pytest.mark.parametrize("edit", ["labels", "settings"])
def test_an_edit_beside_the_content_is_remembered_though_nothing_moved(edit):
    bench, fleet = at_rest()
    run(bench.check(fleet))
    change = {"labels": {"tier": "1"}} if edit == "labels" else {"options": {"resyncPeriod": "2h"}}
    fleet = [replace(fleet[0], **change)]
    run(bench.check(fleet))
    after = state(bench)
    if edit == "labels":
        assert after.declared.labels == {"tier": "1"}
    else:
        assert after.schedule.resync_seconds == 7200.0
        assert after.declared.options["resyncPeriod"]["value"] != "1h"
    assert run(bench.check(fleet)).checked[0].is_fast, "and once it is, looks are short again"
