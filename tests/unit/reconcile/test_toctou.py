"""The world changes between plan and write, in every order: the guard aborts, nothing is overwritten, and the next
check sees the truth. What cannot be had, on kinds without a precondition or without a past, is spelled out too."""

from __future__ import annotations

import pytest

from holdfast.model.verdict import Status
from holdfast.reconcile.action_result import ActionOutcome
from tests.unit.reconcile.meddling import (
    CHANGES,
    Meddler,
    Moment,
    appearance,
    applied,
    bench_of,
    deleted,
    deletion,
    drifted,
    edited,
    removed,
    run,
    same_field,
    sees_the_truth,
    settled,
    to_create,
    to_replace,
)

BEFORE_THE_GUARD = (Moment.BEFORE_CLAIM, Moment.BEFORE_GUARD)
AFTER_THE_WRITE = (Moment.UNDER_WAY, Moment.BEFORE_SETTLE)
ON_WHAT_IS_THERE = {
    "update of drift": (drifted, applied),
    "update of intent": (edited, applied),
    "replace": (to_replace, applied),
    "delete": (settled, deleted),
}
ON_WHAT_IS_NOT = {"create": (to_create, applied), "recreate": (removed, applied)}


# -- before the look: it is what the plan is made of


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("make", [drifted, edited, to_replace])
def test_what_moves_before_the_look_is_in_the_plan(make, change):
    bench = bench_of()
    fleet = make(bench)
    Meddler(bench, Moment.BEFORE_LOOK, CHANGES[change])
    assert applied(bench, fleet).result is ActionOutcome.DONE
    assert sees_the_truth(bench, fleet)


# -- before the second look: always noticed


@pytest.mark.parametrize("conditional", [True, False])
@pytest.mark.parametrize("moment", BEFORE_THE_GUARD)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("scene", ON_WHAT_IS_THERE)
def test_what_moves_before_the_second_look_stops_every_write(scene, change, moment, conditional):
    make, act = ON_WHAT_IS_THERE[scene]
    bench = bench_of(conditional=conditional)
    fleet = make(bench)
    meddler = Meddler(bench, moment, CHANGES[change])
    assert act(bench, fleet).result is ActionOutcome.MOVED
    assert meddler.is_kept()
    assert bench.live.writes == []
    assert sees_the_truth(bench, fleet)


@pytest.mark.parametrize("conditional", [True, False])
@pytest.mark.parametrize("moment", BEFORE_THE_GUARD)
@pytest.mark.parametrize("scene", ON_WHAT_IS_NOT)
def test_what_appears_before_the_second_look_is_neither_doubled_nor_overwritten(scene, moment, conditional):
    make, act = ON_WHAT_IS_NOT[scene]
    bench = bench_of(conditional=conditional)
    fleet = make(bench)
    meddler = Meddler(bench, moment, appearance)
    assert act(bench, fleet).result is ActionOutcome.MOVED
    assert meddler.is_kept()
    assert bench.live.writes == []
    assert sees_the_truth(bench, fleet)


# -- between the second look and the write: refused by the precondition, where there is one


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("scene", ON_WHAT_IS_THERE)
def test_what_moves_after_the_second_look_is_refused_where_the_kind_is_conditional(scene, change):
    make, act = ON_WHAT_IS_THERE[scene]
    bench = bench_of(conditional=True)
    fleet = make(bench)
    meddler = Meddler(bench, Moment.BEFORE_WRITE, CHANGES[change])
    result = act(bench, fleet).result
    if change == "deletion" and scene in ("delete", "replace"):
        assert result is ActionOutcome.DONE, "what was to be removed is gone, so nothing of theirs is lost"
    else:
        assert result is ActionOutcome.MOVED
        assert meddler.is_kept()
        assert bench.live.writes == []
    assert scene == "delete" or sees_the_truth(bench, fleet)


@pytest.mark.parametrize("scene", ON_WHAT_IS_NOT)
def test_what_appears_after_the_second_look_is_refused_where_the_kind_is_conditional(scene):
    make, act = ON_WHAT_IS_NOT[scene]
    bench = bench_of(conditional=True)
    fleet = make(bench)
    meddler = Meddler(bench, Moment.BEFORE_WRITE, appearance)
    assert act(bench, fleet).result is ActionOutcome.MOVED
    assert meddler.is_kept()
    assert bench.live.writes == []
    assert sees_the_truth(bench, fleet)


def test_what_appears_between_the_two_halves_of_a_replacement_is_refused_where_the_kind_is_conditional():
    bench = bench_of(conditional=True)
    fleet = to_replace(bench)
    meddler = Meddler(bench, Moment.BEFORE_WRITE, appearance, verb="create")
    assert applied(bench, fleet).result is ActionOutcome.MOVED
    assert meddler.is_kept()
    assert sees_the_truth(bench, fleet), "the id of what we removed is forgotten, so theirs is what is looked at"


# -- the same without a precondition: what holds all the same, and what does not


@pytest.mark.parametrize("change", ["other field", "undeclared field"])
@pytest.mark.parametrize("make", [drifted, edited])
def test_without_a_precondition_a_patch_still_touches_only_what_it_names(make, change):
    bench = bench_of()
    fleet = make(bench)
    Meddler(bench, Moment.BEFORE_WRITE, CHANGES[change])
    applied(bench, fleet)
    assert bench.live_thing("a")["color"] == fleet[0].desired["color"]
    name, theirs = {"other field": ("size", 9), "undeclared field": ("owner", "them")}[change]
    assert bench.live_thing("a")[name] == theirs
    assert sees_the_truth(bench, fleet)


@pytest.mark.parametrize("make", [drifted, edited])
def test_without_a_precondition_the_field_that_is_written_is_ours_and_theirs_is_lost(make):
    bench = bench_of()
    fleet = make(bench)
    Meddler(bench, Moment.BEFORE_WRITE, same_field)
    assert applied(bench, fleet).result is ActionOutcome.DONE
    assert bench.live_thing("a")["color"] == fleet[0].desired["color"]
    assert sees_the_truth(bench, fleet)


@pytest.mark.parametrize("make", [drifted, edited])
def test_without_a_precondition_what_was_deleted_is_not_brought_back_by_an_update(make):
    bench = bench_of()
    fleet = make(bench)
    meddler = Meddler(bench, Moment.BEFORE_WRITE, deletion)
    assert applied(bench, fleet).result is ActionOutcome.MOVED
    assert meddler.is_kept()
    assert sees_the_truth(bench, fleet)


@pytest.mark.parametrize("change", ["same field", "other field", "undeclared field"])
def test_without_a_precondition_a_deletion_takes_their_change_with_it(change):
    bench = bench_of()
    fleet = settled(bench)
    Meddler(bench, Moment.BEFORE_WRITE, CHANGES[change])
    assert deleted(bench, fleet).result is ActionOutcome.DONE
    assert bench.live_thing("a") is None


@pytest.mark.parametrize("scene", ON_WHAT_IS_NOT)
def test_without_a_precondition_ours_may_stand_beside_theirs_but_never_over_it(scene):
    make, act = ON_WHAT_IS_NOT[scene]
    bench = bench_of()
    fleet = make(bench)
    meddler = Meddler(bench, Moment.BEFORE_WRITE, appearance)
    assert act(bench, fleet).result is ActionOutcome.DONE
    assert meddler.left is not None
    assert bench.live.things["Thing", "theirs"] == meddler.left["Thing", "theirs"]
    (one,) = run(bench.check(fleet)).checked
    assert one.verdict.status is Status.IN_SYNC, "ours has its own id, and is what is looked at"


# -- after the write: left as it is, and seen


@pytest.mark.parametrize("conditional", [True, False])
@pytest.mark.parametrize("moment", AFTER_THE_WRITE)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("scene", ["update of drift", "replace"])
def test_what_moves_after_the_write_stays_as_it_is_and_is_seen(scene, change, moment, conditional):
    make, act = ON_WHAT_IS_THERE[scene]
    bench = bench_of(conditional=conditional)
    fleet = make(bench)
    bench.live.polls = 2 if moment is Moment.UNDER_WAY else 0
    meddler = Meddler(bench, moment, CHANGES[change], verb="create" if scene == "replace" else "")
    act(bench, fleet)
    assert meddler.is_kept()
    assert sees_the_truth(bench, fleet)


@pytest.mark.parametrize("moment", AFTER_THE_WRITE)
@pytest.mark.parametrize("change", ["other field", "undeclared field", "deletion"])
def test_after_an_edit_too_what_was_not_edited_is_seen_to_have_moved(change, moment):
    bench = bench_of()
    fleet = edited(bench)
    bench.live.polls = 2 if moment is Moment.UNDER_WAY else 0
    meddler = Meddler(bench, moment, CHANGES[change])
    applied(bench, fleet)
    assert meddler.is_kept()
    assert sees_the_truth(bench, fleet)


@pytest.mark.parametrize("moment", AFTER_THE_WRITE)
@pytest.mark.parametrize("make", [to_create, removed])
def test_what_vanishes_after_it_was_made_is_not_taken_for_made(make, moment):
    bench = bench_of()
    fleet = make(bench)
    bench.live.polls = 2 if moment is Moment.UNDER_WAY else 0
    meddler = Meddler(bench, moment, deletion)
    assert applied(bench, fleet).result is ActionOutcome.FAILED
    assert meddler.is_kept()
    assert sees_the_truth(bench, fleet)


@pytest.mark.parametrize("make", [to_create, edited])
def test_a_new_value_that_moves_before_it_was_ever_seen_is_learnt_as_the_services_own_and_shown_as_such(make):
    """Nobody can tell a stranger from the service where the value was never read back before: known, and visible."""
    bench = bench_of()
    fleet = make(bench)
    meddler = Meddler(bench, Moment.BEFORE_SETTLE, same_field)
    applied(bench, fleet)
    assert meddler.is_kept()
    state = run(bench.store.state(fleet[0].address))
    known = run(bench.store.document(state.applied.known_differences))["known"]
    assert [(item["path"], item["observed"]) for item in known] == [("/color", "white")]


def test_what_is_corrected_and_moved_to_a_third_value_at_once_is_drift_again_and_counts_towards_a_contention():
    bench = bench_of()
    fleet = drifted(bench)
    Meddler(bench, Moment.BEFORE_SETTLE, same_field)
    applied(bench, fleet)
    bench.live.after_write = lambda _verb: None
    assert applied(bench, fleet).result is ActionOutcome.DONE
    assert bench.live_thing("a")["color"] == "red"


# -- what is deleted, and comes back


def test_what_somebody_makes_anew_right_after_our_deletion_is_left_alone_and_said():
    bench = bench_of()
    fleet = settled(bench)
    ident = bench.id_of("a")

    def anew(bench):
        bench.live.things["Thing", ident] = {"name": "a", "color": "white", "size": 1, "kind": "round"}

    meddler = Meddler(bench, Moment.BEFORE_SETTLE, anew)
    acted = deleted(bench, fleet)
    assert (acted.result, acted.message) == (ActionOutcome.FAILED, "it was deleted, and another one was created")
    assert meddler.is_kept()
    assert run(bench.store.operations()) == [], "nobody waits any longer for it to go"
    assert sees_the_truth(bench, fleet)


def test_a_deletion_whose_effect_is_only_shown_late_is_waited_for():
    bench = bench_of()
    fleet = settled(bench)
    ident, before = bench.id_of("a"), dict(bench.live_thing("a"))
    reads = [3]

    def lag(call):
        if call.startswith("read") and bench.live.writes and reads[0]:
            reads[0] -= 1
            bench.live.things["Thing", ident] = dict(before)
            if not reads[0]:
                del bench.live.things["Thing", ident]

    bench.live.writes.clear()
    bench.live.faults.append(lag)
    assert deleted(bench, fleet).result is ActionOutcome.DONE
