"""The world changes while a correction is being taken back: nothing of theirs is lost, nothing false is remembered."""

from __future__ import annotations

import pytest

from holdfast.model.decision import Action
from holdfast.reconcile.undo import CannotUndo
from holdfast.store.governance import CorrectionOutcome
from tests.unit.reconcile.fixtures import Bench
from tests.unit.reconcile.meddling import (
    CHANGES,
    Meddler,
    Moment,
    Watched,
    bench_of,
    declared,
    deletion,
    drifted,
    other_field,
    run,
    same_field,
    sees_the_truth,
    settled,
    things,
)

BEFORE_THE_LOOK = (Moment.BEFORE_LOOK, Moment.BEFORE_CLAIM, Moment.BEFORE_GUARD)


def corrected(**options) -> tuple[Bench, list, str]:
    """Return a bench on which the color was just revert, and the id of that correction."""
    bench = bench_of(**options)
    fleet = drifted(bench)
    run(bench.apply(fleet))
    return bench, fleet, run(bench.store.corrections())[0].id


def made(**options) -> tuple[Bench, list, str]:
    bench = bench_of(**options)
    fleet = settled(bench)
    bench.clock.advance(86_400)  # what appears now is no late default of the service any more
    return bench, fleet, run(bench.store.corrections())[0].id


@pytest.mark.parametrize("conditional", [True, False])
@pytest.mark.parametrize("moment", BEFORE_THE_LOOK)
@pytest.mark.parametrize("change", [same_field, deletion])
def test_what_moved_where_it_is_to_be_undone_is_not_undone(change, moment, conditional):
    bench, fleet, ident = corrected(conditional=conditional)
    meddler = Meddler(bench, moment, change)
    with pytest.raises(CannotUndo):
        run(bench.undo(ident, fleet))
    assert meddler.is_kept()
    assert bench.live.writes == []
    assert run(bench.store.quarantines()) == []
    assert sees_the_truth(bench, fleet)


@pytest.mark.parametrize("moment", BEFORE_THE_LOOK)
def test_what_moved_elsewhere_stays_beside_what_is_undone(moment):
    bench, fleet, ident = corrected()
    Meddler(bench, moment, other_field)
    run(bench.undo(ident, fleet))
    assert (bench.live_thing("a")["color"], bench.live_thing("a")["size"]) == ("black", 9)
    assert sees_the_truth(bench, fleet)


@pytest.mark.parametrize("change", CHANGES)
def test_what_moves_before_the_write_is_refused_where_the_kind_is_conditional(change):
    bench, fleet, ident = corrected(conditional=True)
    meddler = Meddler(bench, Moment.BEFORE_WRITE, CHANGES[change])
    with pytest.raises(CannotUndo, match="refused"):
        run(bench.undo(ident, fleet))
    assert meddler.is_kept()
    assert bench.live.writes == []
    assert run(bench.store.correction(ident)).outcome is CorrectionOutcome.DONE
    assert run(bench.store.quarantines()) == [], "nothing was undone, so nothing waits for a person because of it"
    assert sees_the_truth(bench, fleet)


def test_without_a_precondition_undoing_touches_only_what_it_puts_back():
    bench, fleet, ident = corrected()
    Meddler(bench, Moment.BEFORE_WRITE, other_field)
    run(bench.undo(ident, fleet))
    assert (bench.live_thing("a")["color"], bench.live_thing("a")["size"]) == ("black", 9)
    assert sees_the_truth(bench, fleet)


@pytest.mark.parametrize("moment", [Moment.UNDER_WAY, Moment.BEFORE_SETTLE])
@pytest.mark.parametrize("change", CHANGES)
def test_what_moves_after_the_write_stays_as_it_is_and_the_undo_says_what_did_not_go_back(change, moment):
    bench, fleet, ident = corrected()
    bench.live.polls = 2 if moment is Moment.UNDER_WAY else 0
    meddler = Meddler(bench, moment, CHANGES[change])
    undone = run(bench.undo(ident, fleet))
    assert meddler.is_kept()
    is_back = change in ("other field", "undeclared field")
    assert (undone.message == "as it was before") is is_back
    assert undone.correction.outcome is (CorrectionOutcome.DONE if is_back else CorrectionOutcome.INEFFECTIVE)
    assert sees_the_truth(bench, fleet)


@pytest.mark.parametrize("moment", BEFORE_THE_LOOK)
@pytest.mark.parametrize("change", CHANGES)
def test_what_we_made_and_somebody_changed_since_is_not_removed(change, moment):
    bench, fleet, ident = made()
    meddler = Meddler(bench, moment, CHANGES[change])
    with pytest.raises(CannotUndo):
        run(bench.undo(ident, fleet))
    assert meddler.is_kept()
    assert bench.live.writes == []
    assert sees_the_truth(bench, fleet)


@pytest.mark.parametrize("change", ["same field", "other field", "undeclared field"])
def test_what_we_made_and_somebody_changes_now_is_not_removed_where_the_kind_is_conditional(change):
    bench, fleet, ident = made(conditional=True)
    meddler = Meddler(bench, Moment.BEFORE_WRITE, CHANGES[change])
    with pytest.raises(CannotUndo, match="refused"):
        run(bench.undo(ident, fleet))
    assert meddler.is_kept()
    assert bench.live.writes == []
    assert run(bench.store.quarantines()) == []
    assert sees_the_truth(bench, fleet)


def test_what_we_made_can_be_removed_though_the_declaration_was_edited_since():
    bench, _, ident = made()
    run(bench.undo(ident, declared(color="blue")))
    assert bench.live_thing("a") is None


def test_an_undo_that_takes_longer_than_a_claim_lasts_keeps_others_out():
    bench, fleet, ident = corrected()
    bench.live.polls = 2000  # seconds, one poll each
    store = bench.store
    claims = []

    async def try_to_claim():
        now = bench.clock.now()
        claims.append(await store.claim(fleet[0].address, "two", now, now + 10))

    bench.store = Watched(bench.store, "undo.done", try_to_claim)
    undone = run(bench.undo(ident, fleet))
    assert undone.message == "as it was before"
    assert claims == [None], "2000 s later the claim is still ours"
    assert bench.live_thing("a")["color"] == "black"


def test_who_takes_the_resource_over_in_the_middle_of_an_undo_makes_it_end_with_a_word():
    bench, fleet, ident = corrected()

    async def take_over():
        now = bench.clock.now() + 10_000  # as one who sees our claim long run out
        await bench.store.claim(fleet[0].address, "two", now, now + 10)

    bench.store = Watched(bench.store, "undo.intended", take_over)
    with pytest.raises(CannotUndo, match="took"):
        run(bench.undo(ident, fleet))


def test_after_an_undo_the_next_check_reports_and_does_not_correct():
    bench, fleet, ident = corrected(conditional=True)
    run(bench.undo(ident, fleet))
    before = things(bench)
    (one,) = run(bench.apply(fleet)).checked
    assert one.decision.action is Action.REPORT
    assert things(bench) == before
