"""Between plan and write comes another process, with an edited declaration or after a death; plans from files too."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.app.options import ProjectOptions
from holdfast.app.plan import Plan, PlanStale
from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.model.verdict import Status
from holdfast.policy.budgets import BudgetRule
from holdfast.policy.correction_limits import CorrectionRules
from holdfast.reconcile.action_result import ActionOutcome
from holdfast.reconcile.policy_evaluation import PolicyRules
from holdfast.store.records import OperationStep
from holdfast.testing.memory import UNREACHABLE
from tests.unit.reconcile.fixtures import Bench
from tests.unit.reconcile.meddling import (
    CHANGES,
    Meddler,
    Moment,
    Watched,
    appearance,
    bench_of,
    declared,
    drifted,
    removed,
    run,
    same_field,
    sees_the_truth,
    settled,
    things,
    to_create,
    to_replace,
)

WITHHELD = ReadFailure(ReadError.WITHHELD, "shown to nobody")
UNDER_THE_CLAIM = ("claimed", "write.intended", "write.sent", "write.accepted")


def other_process(bench: Bench) -> Bench:
    """Return another process on the same world and store."""
    return bench_of(live=bench.live, store=bench.store, clock=bench.clock, owner="two", seed=2)


# -- another process has a newer declaration


@pytest.mark.parametrize("make", [drifted, to_create, removed, to_replace])
def test_who_applied_an_edited_declaration_since_our_look_is_not_overwritten(make):
    bench = bench_of()
    fleet = make(bench)
    edit = declared(color="blue")
    other = other_process(bench)
    bench.store = Watched(bench.store, "claim", lambda: other.apply(edit))
    (acted,) = run(bench.apply(fleet)).acted
    assert acted.result is ActionOutcome.OVERTAKEN
    assert bench.live_thing("a")["color"] == "blue"
    assert sees_the_truth(other, edit)


@pytest.mark.parametrize("step", UNDER_THE_CLAIM)
@pytest.mark.parametrize("make", [drifted, to_create, removed, to_replace])
def test_who_comes_with_an_edited_declaration_during_our_write_waits_and_then_wins(make, step):
    bench = bench_of()
    bench.live.polls = 2
    fleet = make(bench)
    edit = declared(color="blue")
    other = other_process(bench)
    reports = []

    async def come():
        reports.append(await other.apply(edit))

    bench.store = Watched(bench.store, step, come)
    (acted,) = run(bench.apply(fleet)).acted
    assert acted.result is ActionOutcome.DONE
    assert {item.result for item in reports[0].acted} == {ActionOutcome.BUSY}
    assert bench.live_thing("a")["color"] == "red"
    assert sees_the_truth(other, edit), "the edit is pending, and nothing of it is lost"
    run(other.apply(edit))
    assert bench.live_thing("a")["color"] == "blue"


@pytest.mark.parametrize("step", ["claim", *UNDER_THE_CLAIM])
def test_who_only_looks_with_an_edited_declaration_sees_it_pending_whenever_they_look(step):
    bench = bench_of()
    bench.live.polls = 2
    fleet = drifted(bench)
    edit = declared(size=5)
    other = other_process(bench)
    bench.store = Watched(bench.store, step, lambda: other.check(edit))
    run(bench.apply(fleet))
    (one,) = run(other.check(edit)).checked
    assert one.verdict.status is Status.PENDING
    run(other.apply(edit))
    assert (bench.live_thing("a")["color"], bench.live_thing("a")["size"]) == ("red", 5)


# -- a plan from a file


def saved_plan(bench: Bench, fleet, folder: Path) -> Plan:
    file = folder / "plan.json"
    Plan.of(run(bench.check(fleet, record=False)), ProjectOptions()).save(file)
    return Plan.load(file)


def apply_saved(bench: Bench, fleet, saved: Plan):
    saved.require_current(run(bench.check(fleet, record=False)))
    return run(bench.apply(fleet, only=saved.allows))


SAVED = [(drifted, change) for change in CHANGES] + [(to_replace, change) for change in CHANGES]


@pytest.mark.parametrize("make, change", SAVED)
def test_what_moves_after_the_plan_was_saved_makes_it_stale(make, change, tmp_path):
    bench = bench_of()
    fleet = make(bench)
    saved = saved_plan(bench, fleet, tmp_path)
    meddler = Meddler(bench, Moment.BEFORE_LOOK, CHANGES[change])
    with pytest.raises(PlanStale, match="nothing was written"):
        apply_saved(bench, fleet, saved)
    assert meddler.is_kept()
    assert sees_the_truth(bench, fleet)


@pytest.mark.parametrize("make", [to_create, removed])
def test_what_appears_after_the_plan_was_saved_makes_it_stale(make, tmp_path):
    bench = bench_of()
    fleet = make(bench)
    saved = saved_plan(bench, fleet, tmp_path)

    def anew(bench):
        bench.live.things["Thing", "id-1"] = {"name": "a", "color": "white", "size": 7, "kind": "round"}

    meddler = Meddler(bench, Moment.BEFORE_LOOK, anew)
    with pytest.raises(PlanStale):
        apply_saved(bench, fleet, saved)
    assert meddler.is_kept()


def test_an_edited_declaration_makes_a_saved_plan_stale(tmp_path):
    bench = bench_of()
    saved = saved_plan(bench, drifted(bench), tmp_path)
    before = things(bench)
    with pytest.raises(PlanStale):
        apply_saved(bench, declared(size=5), saved)
    assert things(bench) == before


@pytest.mark.parametrize("change", CHANGES)
def test_what_moves_after_a_saved_plan_was_found_to_hold_is_left_out(change, tmp_path):
    bench = bench_of()
    fleet = drifted(bench)
    saved = saved_plan(bench, fleet, tmp_path)
    saved.require_current(run(bench.check(fleet, record=False)))
    meddler = Meddler(bench, Moment.BEFORE_LOOK, CHANGES[change])
    assert run(bench.apply(fleet, only=saved.allows)).acted == []
    assert meddler.is_kept()
    assert sees_the_truth(bench, fleet)


@pytest.mark.parametrize("moment", [Moment.BEFORE_CLAIM, Moment.BEFORE_GUARD])
@pytest.mark.parametrize("change", CHANGES)
def test_a_saved_plan_is_guarded_like_any_other(change, moment, tmp_path):
    bench = bench_of()
    fleet = drifted(bench)
    saved = saved_plan(bench, fleet, tmp_path)
    meddler = Meddler(bench, moment, CHANGES[change])
    (acted,) = apply_saved(bench, fleet, saved).acted
    assert acted.result is ActionOutcome.MOVED
    assert meddler.is_kept()
    assert sees_the_truth(bench, fleet)


def test_a_saved_plan_overtaken_by_an_edit_in_another_process_writes_nothing(tmp_path):
    bench = bench_of()
    fleet = drifted(bench)
    saved = saved_plan(bench, fleet, tmp_path)
    other = other_process(bench)
    bench.store = Watched(bench.store, "claim", lambda: other.apply(declared(color="blue")))
    (acted,) = apply_saved(bench, fleet, saved).acted
    assert acted.result is ActionOutcome.OVERTAKEN
    assert bench.live_thing("a")["color"] == "blue"


# -- a process that died between its intention and its write, and a world that went on without it


def die(_verb):
    raise KeyboardInterrupt


def left_behind(bench: Bench, act):
    """Let a process die just before its write reaches the world; return what it left."""
    bench.live.before_write = die
    with pytest.raises(KeyboardInterrupt):
        run(act)
    bench.live.before_write = lambda _verb: None
    bench.live.writes.clear()
    bench.clock.advance(1000)  # the claim of the dead has run out
    (operation,) = run(bench.store.operations())
    assert operation.step is OperationStep.INTENDED
    return operation


def resumed(bench: Bench, fleet, operation):
    async def resume():
        async with bench.world() as world:
            return await bench.applier(world, fleet).resume(operation)

    return run(resume())


@pytest.mark.parametrize("change", CHANGES)
def test_an_update_that_was_begun_is_not_sent_into_a_world_that_moved(change):
    bench = bench_of()
    fleet = drifted(bench)
    operation = left_behind(bench, bench.apply(fleet))
    CHANGES[change](bench)
    before = things(bench)
    assert resumed(bench, fleet, operation).message == "it moved since the write was begun"
    assert (things(bench), bench.live.writes) == (before, [])
    assert run(bench.store.operations()) == []
    assert sees_the_truth(bench, fleet)


@pytest.mark.parametrize("change", ["same field", "other field", "undeclared field"])
@pytest.mark.parametrize("conditional", [True, False])
def test_a_deletion_that_was_begun_does_not_take_what_changed_since(change, conditional):
    bench = bench_of(conditional=conditional)
    fleet = settled(bench)
    operation = left_behind(bench, bench.delete(fleet))
    CHANGES[change](bench)
    before = things(bench)
    assert resumed(bench, fleet, operation).result is ActionOutcome.FAILED
    assert (things(bench), bench.live.writes) == (before, [])
    assert sees_the_truth(bench, fleet)


def test_what_was_begun_and_finds_the_world_as_it_was_is_finished():
    bench = bench_of()
    fleet = drifted(bench)
    operation = left_behind(bench, bench.apply(fleet))
    assert resumed(bench, fleet, operation).result is ActionOutcome.DONE
    assert bench.live_thing("a")["color"] == "red"


def test_what_was_begun_and_finds_itself_written_is_only_recorded():
    bench = bench_of()
    fleet = drifted(bench)
    operation = left_behind(bench, bench.apply(fleet))
    bench.live_thing("a")["color"] = "red"
    assert resumed(bench, fleet, operation).result is ActionOutcome.DONE
    assert bench.live.writes == []


@pytest.mark.parametrize("make", [drifted, to_create])
def test_nothing_that_was_begun_is_sent_blindly(make):
    bench = bench_of()
    fleet = make(bench)
    operation = left_behind(bench, bench.apply(fleet))
    bench.live.faults.append(lambda call: UNREACHABLE if call.startswith("read") else None)
    assert resumed(bench, fleet, operation).result is ActionOutcome.FAILED
    assert bench.live.writes == []
    assert run(bench.store.operations()) == [operation], "it waits for somebody who can see"


def test_what_is_shown_to_nobody_is_not_waited_for_in_vain():
    bench = bench_of(lists=False)
    fleet = settled(bench)
    bench.live.faults.append(lambda call: WITHHELD if call.startswith("read") else None)
    left_behind(bench, bench.apply(fleet))
    run(bench.apply(fleet))
    assert run(bench.store.operations()) == []


def test_what_appears_where_a_creation_was_begun_is_not_doubled():
    bench = bench_of()
    fleet = to_create(bench)
    operation = left_behind(bench, bench.apply(fleet))
    appearance(bench)
    before = things(bench)
    assert resumed(bench, fleet, operation).result is ActionOutcome.FAILED
    assert things(bench) == before
    assert sees_the_truth(bench, fleet)


def test_a_write_that_was_begun_puts_right_what_it_was_begun_for_though_its_budget_is_spent_by_itself():
    bench = bench_of(rules=PolicyRules(CorrectionRules(mass_drift=None, budgets=(BudgetRule(1, 36_000.0),))))
    fleet = drifted(bench)
    operation = left_behind(bench, bench.apply(fleet))
    acted = resumed(bench, fleet, operation)
    assert (acted.result, acted.unresolved) == (ActionOutcome.DONE, ())
    assert bench.live_thing("a")["color"] == "red"


def test_a_moved_world_after_a_death_is_decided_upon_anew():
    bench = bench_of()
    fleet = drifted(bench)
    left_behind(bench, bench.apply(fleet))
    same_field(bench)
    given_up, corrected = run(bench.apply(fleet)).acted
    assert (given_up.result, corrected.result) == (ActionOutcome.FAILED, ActionOutcome.DONE)
    assert bench.live_thing("a")["color"] == "red"
