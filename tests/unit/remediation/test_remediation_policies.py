"""What policy does with what was learnt: take back what did not help, and refuse what failed often enough."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from holdfast.errors import InputError
from holdfast.model.decision import Action
from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.policy.correction_limits import CorrectionRules
from holdfast.policy.windows import Mode, Window
from holdfast.remediation import repository
from holdfast.remediation.attempt_history import account
from holdfast.remediation.core.alerts import Alert, Signal
from holdfast.remediation.core.audit_events import Workflow
from holdfast.remediation.core.past_attempts import AttemptEffect, AttemptLimits, StateMatch
from holdfast.remediation.core.records import RemediationEnding, Undo
from holdfast.remediation.core.state import AssessmentPhase
from holdfast.remediation.core.state_hash import StateHash, StateUnknown
from holdfast.remediation.intake import RemediationRefused
from holdfast.store.governance import Approval, CorrectionOutcome, Pause
from holdfast.store.transaction import GovernanceChanges, Transaction
from holdfast.testing.memory import once
from tests.unit.reconcile.fixtures import declare
from tests.unit.remediation.assessment_fixtures import TARGET, Ward


def run(coroutine):
    return asyncio.run(coroutine)


def failing(**options):
    """Return a ward in which corrections hold and do not help."""
    ward = Ward(declarations=[declare("a", {"color": "red", "size": 1}, assess="corrections", **options)])
    ward.live.health_signals["running"] = False
    ward.servers.firing = [Alert({"alertname": "HighMemory"})]
    ward.servers.after = ward.servers.before
    return ward


# --- undo ------------------------------------------------------------------------------------------------------------


def test_a_correction_under_the_threshold_is_taken_back_and_left_to_a_person():
    ward = failing(undoBelow=0.5)
    run(ward.correct())
    record = run(ward.finish())
    assert (record.assessment.score, record.undo) == (0.0, Undo.DONE)
    assert ward.live_thing("a")["color"] == "black"
    corrections = run(ward.store.corrections())
    assert [correction.outcome for correction in corrections[:2]] == [CorrectionOutcome.DONE, CorrectionOutcome.UNDONE]
    (one,) = run(ward.apply(ward.declarations)).checked
    assert one.decision.action is Action.REPORT
    assert [event.type for event in run(ward.trail())][-1] == "remediation.undone"


def test_the_undo_is_not_assessed_and_nothing_goes_round_in_circles():
    ward = failing(undoBelow=0.5)
    run(ward.correct())
    run(ward.finish())
    writes = len(ward.live.writes)
    for _ in range(5):
        ward.clock.advance(7200.0)
        run(ward.apply(ward.declarations))
        run(ward.finish())
    assert (len(ward.live.writes), len(run(ward.all()))) == (writes, 1)


@pytest.mark.parametrize("below, undo", [(0.0, Undo.NONE), (0.1, Undo.DONE)])
def test_without_a_threshold_nothing_is_taken_back(below, undo):
    ward = failing(undoBelow=below)
    run(ward.correct())
    assert run(ward.finish()).undo is undo


def test_what_scores_at_the_threshold_stays():
    ward = failing(undoBelow=0.5)
    ward.live.health_signals["running"] = True
    ward.servers.firing = []
    run(ward.correct())
    record = run(ward.finish())
    assert (record.assessment.score, record.undo) == (pytest.approx(0.75), Undo.NONE)


def test_what_somebody_moved_in_the_window_did_not_hold_and_is_not_undone():
    ward = failing(undoBelow=0.9)
    run(ward.correct())
    ward.live_thing("a")["color"] = "white"
    record = run(ward.finish())
    assert (record.assessment.reason.value, record.undo) == ("spec_drift", Undo.NONE)
    assert ward.live_thing("a")["color"] == "white"


def test_what_somebody_moves_between_the_verdict_and_the_undo_is_not_undone():
    ward = failing(undoBelow=0.9)
    run(ward.correct())
    while run(ward.all())[-1].undo is not Undo.WANTED:
        run(ward.look())
        run(ward.sleep())
    ward.live_thing("a")["color"] = "white"
    record = run(ward.finish())
    assert (record.undo, "has moved since" in record.undo_attempts.note) == (Undo.REFUSED, True)
    assert ward.live_thing("a")["color"] == "white"


def test_an_undo_waits_for_the_end_of_a_pause_and_is_given_up_at_last():
    ward = failing(undoBelow=0.9)
    run(ward.correct())
    run(
        ward.store.commit(
            Transaction(governance=GovernanceChanges(pauses=[Pause("", "ada", "incident", ward.clock.now())]))
        )
    )
    record = run(ward.finish())
    assert (record.undo, "incident" in record.undo_attempts.note) == (Undo.REFUSED, True)
    assert ward.live_thing("a")["color"] == "red"


def test_an_undo_that_waited_is_done_when_the_pause_ends():
    ward = failing(undoBelow=0.9)
    run(ward.correct())
    run(
        ward.store.commit(
            Transaction(governance=GovernanceChanges(pauses=[Pause("", "ada", "incident", ward.clock.now())]))
        )
    )
    while run(ward.all())[-1].undo_attempts.tries < 2:
        run(ward.look())
        run(ward.sleep())
    run(ward.store.commit(Transaction(governance=GovernanceChanges(resumed=[""]))))
    assert run(ward.finish()).undo is Undo.DONE
    assert ward.live_thing("a")["color"] == "black"


def test_a_freeze_holds_back_an_undo_until_it_is_over():
    ward = failing(undoBelow=0.9)
    run(ward.correct())
    opens = ward.clock.now() + 86_400.0
    freeze = Window(Mode.FREEZE, start=ward.clock.now() - 1.0, end=opens, reason="holidays")
    calm, ward.rules = (
        ward.rules,
        replace(ward.rules, given_corrections=CorrectionRules(mass_drift=None, windows=(freeze,))),
    )
    for _ in range(12):
        run(ward.look())
        if ward.clock.now() >= opens or run(ward.all())[-1].undo_attempts.note:
            break
        run(ward.sleep())
    record = run(ward.all())[-1]
    assert (record.undo, "holidays" in record.undo_attempts.note, record.undo_attempts.tries) == (
        Undo.WANTED,
        True,
        0,
    )
    assert ward.live_thing("a")["color"] == "red"
    ward.rules = calm
    assert run(ward.finish()).undo is Undo.DONE
    assert ward.clock.now() >= opens


def test_a_thing_that_was_made_again_is_never_removed_by_policy():
    ward = failing(undoBelow=0.9, recreate="always")
    run(ward.apply(ward.declarations))
    ward.live.things.clear()
    run(ward.apply(ward.declarations))
    record = run(ward.finish())
    assert (record.workflow.action_type, record.undo) == ("recreate", Undo.NONE)
    assert ward.live_thing("a") is not None


def test_what_others_did_is_never_taken_back():
    ward = failing(undoBelow=0.9)
    run(ward.apply(ward.declarations))
    run(ward.start(signal=Signal("HighMemory")))
    run(ward.complete())
    assert run(ward.finish()).undo is Undo.NONE


# --- refusing --------------------------------------------------------------------------------------------------------


def failed(ward, times):
    """Have a correction fail so many times on the same state, an hour apart."""
    for _ in range(times):
        ward.live_thing("a")["color"] = "black"
        run(ward.apply(ward.declarations))
        run(ward.finish())
        ward.clock.advance(1200.0)


def refusing(**options):
    ward = failing(**options)
    run(ward.apply(ward.declarations))
    return ward.with_rules(refusal=AttemptLimits(same_state=99, chained=99, total=99, within=100_000.0))


def test_our_correction_is_held_once_it_failed_so_often_on_this_state_and_a_yes_lets_it_go():
    ward = refusing(refuseAfter=2)
    failed(ward, 2)
    ward.live_thing("a")["color"] = "black"
    (one,) = run(ward.apply(ward.declarations)).checked
    assert (one.decision.action, one.decision.held) == (Action.HOLD, Action.UPDATE)
    assert (one.decision.reasons[0].code, "failed 2 times" in one.decision.reasons[0].message) == ("futile", True)
    assert ward.live_thing("a")["color"] == "black"
    yes = Approval(one.plan, one.address, "ada", "seen", ward.clock.now())
    run(ward.store.commit(Transaction(governance=GovernanceChanges(approvals=[yes]))))
    run(ward.apply(ward.declarations))
    assert ward.live_thing("a")["color"] == "red"


def test_what_is_only_reported_is_not_held():
    ward = refusing(refuseAfter=1)
    failed(ward, 1)
    ward.live_thing("a")["color"] = "black"
    reported = [declare("a", {"color": "red", "size": 1}, onDrift="report", refuseAfter=1)]
    (one,) = run(ward.apply(reported)).checked
    assert (one.decision.action, one.decision.reasons[0].code) == (Action.REPORT, "report_only")


def test_another_state_is_another_matter():
    ward = refusing(refuseAfter=2)
    failed(ward, 2)
    ward.live_thing("a")["color"] = "green"
    (one,) = run(ward.apply(ward.declarations)).checked
    assert one.decision.action is Action.UPDATE


def test_one_that_helped_ends_the_count():
    ward = refusing(refuseAfter=2)
    failed(ward, 1)
    ward.live.health_signals["running"] = True
    ward.servers.firing = []
    failed(ward, 1)
    ward.live_thing("a")["color"] = "black"
    (one,) = run(ward.apply(ward.declarations)).checked
    assert one.decision.action is Action.UPDATE


def test_a_held_correction_replays_as_it_was_decided():
    from holdfast.reconcile import serialize

    ward = refusing(refuseAfter=1)
    failed(ward, 1)
    ward.live_thing("a")["color"] = "black"
    run(ward.apply(ward.declarations))
    (newest, *_) = run(ward.store.decisions(TARGET, 10))
    stored, again = run(serialize.replay(ward.store, newest))
    assert (stored["action"], stored) == ("hold", again)


def test_an_announced_remediation_is_refused_and_that_is_told():
    ward = refusing(refuseAfter=2)
    for _ in range(2):
        run(ward.start(signal=Signal("HighMemory")))
        run(ward.complete())
        run(ward.finish())
    with pytest.raises(RemediationRefused, match="failed 2 times; refuseAfter is 2"):
        run(ward.start(signal=Signal("HighMemory")))
    with pytest.raises(RemediationRefused):
        run(ward.start(signal=Signal("HighMemory")))
    refused = run(ward.trail("remediation.refused"))
    assert len({event.data["id"] for event in refused}) == 2
    assert run(ward.start(signal=Signal("HighMemory"), anyway=True)).is_open


def test_57_the_limits_of_the_section_hold_for_announced_ones():
    ward = failing()
    run(ward.apply(ward.declarations))
    ward.with_rules(refusal=AttemptLimits(total=3, same_state=99, chained=99))
    for _ in range(3):
        run(ward.start())
        run(ward.complete())
    with pytest.raises(RemediationRefused, match="3 remediations of this target"):
        run(ward.start())


def test_57_a_target_that_cannot_be_read_is_not_refused():
    ward = refusing(refuseAfter=1)
    failed(ward, 1)
    ward.live.faults.append(once("read *", ReadFailure(ReadError.UNAUTHORISED)))
    assert run(ward.start()).pre is None


# --- announcing ------------------------------------------------------------------------------------------------------


def test_an_announcement_that_is_repeated_changes_nothing():
    ward = failing()
    run(ward.apply(ward.declarations))
    first = run(ward.start(correlation_id="rr-1"))
    ward.live_thing("a")["color"] = "green"
    assert run(ward.start(correlation_id="rr-1")) == first
    assert len(run(ward.trail("remediation.workflow_created"))) == 1


def test_an_end_needs_a_beginning_and_a_name_where_there_are_two():
    ward = failing()
    run(ward.apply(ward.declarations))
    with pytest.raises(InputError, match="is under way; announce one"):
        run(ward.complete())
    run(ward.start(correlation_id="rr-1"))
    run(ward.start(correlation_id="rr-2"))
    with pytest.raises(InputError, match="say which with --id: rr-1, rr-2"):
        run(ward.complete())
    run(ward.complete(ident="rr-2"))
    with pytest.raises(InputError, match="over already"):
        run(ward.complete(ident="rr-2"))
    with pytest.raises(InputError, match="there is no remediation rr-9"):
        run(ward.complete(ident="rr-9"))


def test_an_end_that_meets_a_pass_is_recorded_all_the_same():
    ward = failing()
    run(ward.apply(ward.declarations))
    run(ward.start(correlation_id="rr-1"))
    run(ward.sleep())

    async def both(announcer, item):
        found = await announcer.open_on(TARGET)
        await ward.look()  # everybody's patience is over, and the record has moved on
        return await announcer.complete(found, item, RemediationEnding.COMPLETED)

    assert run(ward.announcing(both)).ending is RemediationEnding.COMPLETED
    assert run(ward.finish()).assessment.phase is AssessmentPhase.COMPLETED


# --- history ---------------------------------------------------------------------------------------------------------


def test_55_56_an_account_tells_not_holding_from_not_helping_and_what_a_state_goes_back_to():
    ward = refusing()
    failed(ward, 1)  # did not help
    run(ward.start(workflow=Workflow(action_type="scale"), correlation_id="rr-drift"))
    ward.live_thing("a")["size"] = 5
    run(ward.complete(ident="rr-drift"))
    ward.live_thing("a")["size"] = 6  # did not hold
    run(ward.finish())
    run(ward.start(workflow=Workflow(action_type="scale"), correlation_id="rr-next"))
    ward.live_thing("a").update({"size": 1, "color": "black"})

    async def told():
        async def today(announcer, item):
            return await announcer.look(item)

        seen = await ward.announcing(today)
        return await account(ward.store, str(TARGET), seen, ward.clock.now())

    found = run(told())
    first, second, third = found.told
    assert (first.effect, first.match) == (AttemptEffect.POOR, StateMatch.BEFORE)
    assert (second.effect, second.led_to, second.match) == (AttemptEffect.NOT_HELD, "rr-next", StateMatch.NONE)
    assert third.record.is_open
    assert found.is_regression


def test_declining_and_recurring_chains_are_named():
    ward = refusing()
    ward.live.health_signals["running"] = True
    for after in (400.0, 600.0, 900.0):
        ward.servers.after = after
        run(ward.start(signal=Signal("Other"), workflow=Workflow(action_type="restart")))
        run(ward.complete())
        run(ward.finish())
        ward.clock.advance(60.0)
    found = run(account(ward.store, str(TARGET), StateUnknown("offline"), ward.clock.now()))
    assert found.unassessed == 1  # it was created once
    assert found.declining == ("restart",)
    ((action, times, stop),) = [(item.action, item.times, item.must_stop) for item in found.recurring]
    assert (action, times, stop) == ("restart", 3, False)
    assert [item.match for item in found.told] == [None, None, None]


def test_1802_another_target_with_the_same_spec_has_another_past():
    ward = refusing()
    failed(ward, 1)
    other = run(account(ward.store, "mem/Thing/b", StateHash(run(ward.all())[0].pre.hash), ward.clock.now()))
    assert (other.told, other.is_regression) == ((), False)


def test_a_record_is_the_same_after_it_was_kept():
    ward = failing()
    run(ward.correct())
    record = run(ward.finish())
    found = run(repository.find(ward.store, record.correlation_id))
    assert found is not None
    assert repository.kept(found.next_version(None)).record == record
