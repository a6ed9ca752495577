"""What we corrected can be reverted as it was, guarded like any write, and is then left to a person."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.model.decision import Action
from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.model.write_result import WriteError, WriteFailure
from holdfast.reconcile.action_result import ActionOutcome
from holdfast.reconcile.undo import CannotUndo
from holdfast.store.governance import CorrectionOutcome, Pause
from holdfast.store.transaction import GovernanceChanges, Transaction
from holdfast.testing.memory import once
from tests.unit.reconcile.fixtures import Bench, declare


def run(coroutine):
    return asyncio.run(coroutine)


def corrected(**options):
    """Return a bench on which the color of one thing was just revert, and the id of that correction."""
    bench = Bench()
    fleet = [declare("a", {"color": "red", "size": 1}, **options)]
    run(bench.apply(fleet))
    bench.live_thing("a")["color"] = "black"
    run(bench.apply(fleet))
    return bench, fleet, newest(bench).id


def newest(bench):
    return run(bench.store.corrections())[0]


def test_undo_restores_the_pre_image_and_the_next_check_reports_without_correcting():
    bench, fleet, ident = corrected()
    undone = run(bench.undo(ident, fleet))
    assert undone.message == "as it was before"
    assert bench.live_thing("a") == {"color": "black", "size": 1, "name": "a"}
    assert run(bench.store.correction(ident)).outcome is CorrectionOutcome.UNDONE
    (one,) = run(bench.apply(fleet)).checked
    assert (one.decision.action, one.decision.reasons[0].code) == (Action.REPORT, "undone")
    assert bench.live_thing("a")["color"] == "black"


def test_other_fields_are_still_corrected_after_an_undo():
    bench, fleet, ident = corrected()
    run(bench.undo(ident, fleet))
    bench.live_thing("a")["size"] = 9
    run(bench.apply(fleet))
    assert (bench.live_thing("a")["color"], bench.live_thing("a")["size"]) == ("black", 1)


def test_what_somebody_moved_since_is_not_overwritten():
    bench, fleet, ident = corrected()
    bench.live_thing("a")["color"] = "white"
    with pytest.raises(CannotUndo, match="has moved since"):
        run(bench.undo(ident, fleet))
    assert bench.live_thing("a")["color"] == "white"


def test_what_cannot_be_read_is_not_undone():
    bench, fleet, ident = corrected()
    bench.live.faults.append(lambda call: ReadFailure(ReadError.UNREACHABLE) if call.startswith("read") else None)
    with pytest.raises(CannotUndo, match="could not be found"):
        run(bench.undo(ident, fleet))


def test_a_pause_holds_an_undo_too():
    bench, fleet, ident = corrected()
    run(
        bench.store.commit(
            Transaction(governance=GovernanceChanges(pauses=[Pause("mem", "ada", "incident", bench.clock.now())]))
        )
    )
    with pytest.raises(CannotUndo, match="incident"):
        run(bench.undo(ident, fleet))
    assert bench.live_thing("a")["color"] == "red"


def test_undoing_twice_is_refused_and_undoing_an_undo_is_a_correction_of_its_own():
    bench, fleet, ident = corrected()
    second = run(bench.undo(ident, fleet)).correction
    with pytest.raises(CannotUndo, match="already"):
        run(bench.undo(ident, fleet))
    run(bench.undo(second.id, fleet))
    assert bench.live_thing("a")["color"] == "red"


def test_what_we_made_is_removed_and_not_made_again():
    bench = Bench()
    fleet = [declare("a", {"color": "red"}, recreate="always")]
    run(bench.apply(fleet))
    run(bench.undo(newest(bench).id, fleet))
    assert bench.live_thing("a") is None
    (one,) = run(bench.apply(fleet)).checked
    assert one.decision.action is Action.REPORT
    assert bench.live_thing("a") is None


def test_a_refused_undo_changes_nothing_and_says_so():
    bench, fleet, ident = corrected()
    bench.live.faults.append(once("update *", WriteFailure(WriteError.TERMINAL, "no")))
    with pytest.raises(CannotUndo, match="refused"):
        run(bench.undo(ident, fleet))
    assert newest(bench).outcome is CorrectionOutcome.FAILED
    assert bench.live_thing("a")["color"] == "red"


@pytest.mark.parametrize("finisher", ["undo", "apply"])
def test_an_undo_that_was_killed_after_its_write_is_finished_by_the_next(finisher):
    bench, fleet, ident = corrected()

    def die(_verb):
        raise KeyboardInterrupt

    bench.live.after_write = die
    with pytest.raises(KeyboardInterrupt):
        run(bench.undo(ident, fleet))
    bench.live.after_write = lambda _verb: None
    bench.clock.advance(1000)  # the claim of the dead has run out
    run(bench.apply(fleet) if finisher == "apply" else bench.undo(ident, fleet))
    assert bench.live_thing("a")["color"] == "black", "a check after the crash does not correct it again"
    assert run(bench.store.correction(ident)).outcome is CorrectionOutcome.UNDONE
    assert run(bench.store.operations()) == []
    assert CorrectionOutcome.BEGUN not in {item.outcome for item in run(bench.store.corrections())}


def test_policy_may_undo_by_itself_what_did_not_take_everywhere():
    bench = Bench()
    fleet = [declare("a", {"color": "red", "size": 1}, onFailedVerify="undo")]
    run(bench.apply(fleet))
    bench.live_thing("a").update(color="black", size=9)
    stubborn = [True]

    def after(_verb):
        if stubborn.pop() if stubborn else False:
            bench.live_thing("a")["size"] = 9  # the service keeps its own idea of the size, once

    bench.live.after_write = after
    (acted,) = run(bench.apply(fleet)).acted
    assert acted.result is ActionOutcome.UNDONE, acted.message
    assert (bench.live_thing("a")["color"], bench.live_thing("a")["size"]) == ("black", 9)
