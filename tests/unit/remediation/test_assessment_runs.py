"""Did it hold, did it help: whole assessments by the real engine, on a clock that is moved by hand."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from holdfast.model.health import Workload
from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.model.write_result import WriteError, WriteFailure
from holdfast.reconcile.policy_evaluation import PolicyRules
from holdfast.remediation.core.alerts import Alert, Signal
from holdfast.remediation.core.records import RemediationEnding
from holdfast.remediation.core.rules import AssessmentRules
from holdfast.remediation.core.state import AssessmentConditionType, AssessmentPhase
from holdfast.remediation.core.timing import Windows
from holdfast.testing.memory import once
from tests.unit.reconcile.fixtures import declare
from tests.unit.remediation.assessment_fixtures import Ward

FIRING = Alert({"alertname": "HighMemory"})


def run(coroutine):
    return asyncio.run(coroutine)


def types(trail):
    return [event.type.removeprefix("effectiveness.").removeprefix("remediation.") for event in trail]


def test_a_correction_that_held_and_helped_is_full_with_the_expected_score():
    ward = Ward()
    ward.live.health_signals["running"] = True
    run(ward.correct())
    state = run(ward.finish()).assessment
    assert (state.phase, state.reason.value) == (AssessmentPhase.COMPLETED, "full")
    assert (state.measured.health.score, state.measured.alerts.score, state.measured.metrics.score) == (1.0, 1.0, 0.6)
    assert state.score == pytest.approx(0.40 + 0.35 + 0.25 * 0.6)


def test_53_the_trail_of_a_correction_is_in_order_each_event_once_and_all_correlated():
    ward = Ward()
    ward.live.health_signals["running"] = True
    record = run(ward.correct())
    run(ward.finish())
    trail = run(ward.trail())
    assert types(trail) == [
        "workflow_created",
        "workflow_completed",
        "assessment.scheduled",
        "hash.computed",
        "health.assessed",
        "alert.assessed",
        "metrics.assessed",
        "assessment.completed",
    ]
    assert {event.data["correlation_id"] for event in trail} == {record.correlation_id}
    assert {event.subject for event in trail} == {"mem/Thing/a"}
    first, *_, last = trail
    assert first.data["pre_remediation_spec_hash"] == record.pre.hash
    assert trail[3].data["pre_remediation_spec_hash"] == record.pre.hash
    assert trail[3].data["hash_match"] is False
    assert last.data["reason"] == "full"


def test_54_the_trail_is_part_of_the_hash_chain():
    ward = Ward()
    run(ward.correct())
    run(ward.finish())
    assert run(ward.store.verify_chain()) >= len(run(ward.trail()))


def test_every_write_tells_the_state_before_it_assessed_or_not():
    ward = Ward(declarations=[declare("a", {"color": "red"})])
    run(ward.apply(ward.declarations))
    ward.live_thing("a")["color"] = "black"
    run(ward.apply(ward.declarations))
    intended = run(ward.trail("write.intended"))
    assert [event.data["pre_remediation_spec_hash"][:7] for event in intended] == ["absent", "sha256:"]
    assert run(ward.all()) == []


@pytest.mark.parametrize("assess, found", [("off", 0), ("corrections", 1), ("writes", 2)])
def test_policy_says_which_writes_are_assessed(assess, found):
    ward = Ward(declarations=[declare("a", {"color": "red"}, assess=assess)])
    run(ward.apply(ward.declarations))
    ward.live_thing("a")["color"] = "black"
    run(ward.apply(ward.declarations))
    assert len(run(ward.all())) == found


def test_13_a_second_actor_in_the_window_is_spec_drift_and_neither_server_is_asked():
    ward = Ward()
    run(ward.correct())
    run(ward.look())
    ward.live_thing("a")["size"] = 9
    state = run(ward.finish()).assessment
    assert (state.reason.value, state.score) == ("spec_drift", 0.0)
    assert ward.servers.asked == []
    integrity = state.condition(AssessmentConditionType.SPEC_INTEGRITY)
    assert (integrity.status.value, integrity.reason) == ("False", "SpecDrifted")
    assert state.baseline.hash in integrity.message
    assert types(run(ward.trail()))[-1] == "assessment.completed"


def test_19_drift_of_what_alerted_alone_is_no_drift():
    """The guard is on the target; what alerted may change as it likes."""
    both = [declare("a", {"color": "red"}, assess="off"), declare("b", {"color": "blue"}, assess="off")]
    ward = Ward(declarations=both)
    run(ward.apply(both))
    run(ward.start(alerting=both[1].address, signal=Signal("HighMemory")))
    ward.live_thing("a")["color"] = "green"
    run(ward.complete())
    ward.live_thing("b")["color"] = "yellow"
    assert run(ward.finish()).assessment.reason.value == "full"


def test_11_a_target_that_cannot_be_read_is_no_drift_and_nothing_else_is_asked():
    ward = Ward()
    run(ward.correct())
    ward.live.faults.append(
        lambda call: ReadFailure(ReadError.UNAUTHORISED, "403") if call.startswith("read") else None
    )
    state = run(ward.finish()).assessment
    assert (state.reason.value, state.score) == ("expired", None)
    assert ward.servers.asked == []
    assert state.condition(AssessmentConditionType.SPEC_INTEGRITY).reason == "TargetUnreadable"


def test_12_a_confirmation_that_could_not_be_read_is_not_hashed():
    ward = Ward(declarations=[declare("a", {"color": "red"})])
    run(ward.apply(ward.declarations))
    run(ward.start(signal=Signal("HighMemory")))
    ward.live.faults.append(once("read *", ReadFailure(ReadError.UNAUTHORISED)))
    assert run(ward.complete()).assessment.baseline is None
    assert run(ward.finish()).assessment.reason.value == "full"
    hashed = run(ward.trail("effectiveness.hash.computed"))
    assert len(hashed) == 1


def test_18_a_state_before_that_could_not_be_read_is_none_and_nothing_fails():
    ward = Ward(declarations=[declare("a", {"color": "red"})])
    run(ward.apply(ward.declarations))
    ward.live.faults.append(once("read *", ReadFailure(ReadError.UNAUTHORISED, "no")))
    record = run(ward.start())
    assert (record.pre, "unauthorised" in record.pre_note) == (None, True)
    run(ward.complete())
    run(ward.finish())
    (told,) = run(ward.trail("effectiveness.hash.computed"))
    assert "hash_match" not in told.data


def test_17_a_restart_that_changes_no_spec_matches_and_is_assessed():
    ward = Ward(declarations=[declare("a", {"color": "red"})])
    run(ward.apply(ward.declarations))
    run(ward.start())
    run(ward.complete())
    assert run(ward.finish()).assessment.reason.value == "full"
    (told,) = run(ward.trail("effectiveness.hash.computed"))
    assert told.data["hash_match"] is True


def test_10_a_target_that_is_deleted_has_drifted():
    ward = Ward()
    run(ward.correct())
    ward.live.things.clear()
    assert run(ward.finish()).assessment.reason.value == "spec_drift"


def test_04_the_order_of_a_list_is_no_drift_and_20_the_next_one_begins_where_the_last_was_left():
    ward = Ward(declarations=[declare("a", {"color": "red", "tags": ["x", "y"]}, assess="corrections")])
    run(ward.correct())
    ward.live_thing("a")["tags"] = ["y", "x"]
    run(ward.look())
    ward.live_thing("a")["tags"] = ["z"]
    first = run(ward.finish())
    assert first.assessment.reason.value == "spec_drift"
    run(ward.start(correlation_id="rr-next"))
    (second,) = [record for record in run(ward.all()) if record.correlation_id == "rr-next"]
    assert second.pre.hash == first.assessment.current


def test_both_servers_down_is_partial_and_without_health_expired_and_never_a_score_of_theirs():
    for is_probed, reason, score in ((True, "partial", 1.0), (False, "expired", None)):
        ward = Ward()
        ward.servers.is_up = False
        if is_probed:
            ward.live.health_signals["running"] = True
        run(ward.correct())
        state = run(ward.finish()).assessment
        assert (state.reason.value, state.score) == (reason, score)
        assert (state.measured.alerts, state.measured.metrics) == (None, None)


def test_52_an_alert_that_decays_is_waited_for():
    ward = Ward()
    ward.live.health_signals["running"] = True
    ward.servers.firing = [FIRING]
    run(ward.correct())
    for _ in range(8):
        run(ward.sleep())
        run(ward.look())
    (record,) = run(ward.all())
    assert record.assessment.measured.decay_retries >= 2
    ward.servers.firing = []
    assert run(ward.finish()).assessment.reason.value == "full"
    assert types(run(ward.trail())).count("alert_decay.detected") == 1


def test_36_an_alert_that_never_goes():
    ward = Ward()
    ward.live.health_signals["running"] = True
    ward.servers.firing = [FIRING]
    run(ward.correct())
    state = run(ward.finish()).assessment
    assert (state.reason.value, state.measured.alerts) == ("alert_decay_timeout", None)


def test_14_drift_while_an_alert_decays_beats_it():
    ward = Ward()
    ward.live.health_signals["running"] = True
    ward.servers.firing = [FIRING]
    run(ward.correct())
    for _ in range(7):
        run(ward.sleep())
        run(ward.look())
    ward.live_thing("a")["color"] = "white"
    ward.servers.asked.clear()
    state = run(ward.finish()).assessment
    assert (state.reason.value, ward.servers.asked) == ("spec_drift", [])
    assert state.condition(AssessmentConditionType.ALERT_DECAY_DETECTED).status.value == "False"


def test_29_nobody_looked_until_after_the_deadline():
    ward = Ward()
    run(ward.correct())
    ward.clock.advance(3 * 3600.0)
    state = run(ward.finish()).assessment
    assert (state.reason.value, state.score, ward.servers.asked) == ("expired", None, [])


def test_15_drift_that_is_seen_only_after_the_deadline_is_still_drift():
    ward = Ward()
    run(ward.correct())
    ward.live_thing("a")["color"] = "white"
    ward.clock.advance(3 * 3600.0)
    assert run(ward.finish()).assessment.reason.value == "spec_drift"


def test_32_a_changed_setting_does_not_move_a_deadline():
    ward = Ward()
    before = run(ward.correct()).assessment.timing
    ward.with_rules(windows=Windows(stabilisation=1.0, validity=60.0))
    assert run(ward.finish()).assessment.timing == before


def test_27_what_propagates_is_looked_for_only_when_it_has_had_its_time():
    ward = Ward(declarations=[declare("a", {"color": "red"})])
    run(ward.apply(ward.declarations))
    run(ward.start(signal=Signal("HighMemory")))
    record = run(ward.complete(propagation=240.0))
    assert (record.assessment.phase, record.assessment.baseline) == (AssessmentPhase.WAITING, None)
    ward.live_thing("a")["color"] = "green"  # others bring it about
    state = run(ward.finish()).assessment
    assert state.reason.value == "full"


def test_37_a_remediation_that_was_never_executed_is_not_measured():
    ward = Ward(declarations=[declare("a", {"color": "red"})])
    run(ward.apply(ward.declarations))
    run(ward.start(signal=Signal("HighMemory")))
    run(ward.complete(RemediationEnding.NOT_EXECUTED))
    state = run(ward.finish()).assessment
    assert (state.reason.value, state.score, ward.servers.asked) == ("no_execution", None, [])


def test_38_one_that_failed_on_the_way_is_assessed_in_part_and_one_that_nobody_ends_too():
    for ending in (RemediationEnding.FAILED, None):
        ward = Ward(declarations=[declare("a", {"color": "red"})])
        ward.live.health_signals["running"] = True
        run(ward.apply(ward.declarations))
        run(ward.start(signal=Signal("HighMemory")))
        if ending is not None:
            run(ward.complete(ending))
        state = run(ward.finish()).assessment
        assert (state.reason.value, state.score, ward.servers.asked) == ("partial", 1.0, [])


def test_an_end_that_comes_after_everybodys_patience_is_still_heard():
    ward = Ward(declarations=[declare("a", {"color": "red"})])
    run(ward.apply(ward.declarations))
    run(ward.start(signal=Signal("HighMemory")))
    run(ward.sleep())
    run(ward.look())  # the patience is over, the assessment begins
    run(ward.complete())
    state = run(ward.finish()).assessment
    assert state.reason.value == "full"


def test_a_write_that_was_refused_was_not_executed():
    ward = Ward()
    run(ward.apply(ward.declarations))
    ward.live_thing("a")["color"] = "black"
    ward.live.faults.append(once("update *", WriteFailure(WriteError.TERMINAL, "no")))
    run(ward.apply(ward.declarations))
    assert run(ward.finish()).assessment.reason.value == "no_execution"


def test_34_without_servers_only_the_hash_and_health_are_measured():
    ward = Ward(rules=PolicyRules(given_assessment=AssessmentRules()))
    ward.live.health_signals["running"] = True
    run(ward.correct())
    state = run(ward.finish()).assessment
    assert (state.reason.value, state.score, ward.servers.asked) == ("full", 1.0, [])


def test_50_a_query_that_gives_several_series_is_not_compared():
    ward = Ward()
    ward.servers.series = 2
    run(ward.correct())
    state = run(ward.finish()).assessment
    assert (state.reason.value, state.measured.metrics) == ("metrics_timed_out", None)


def test_21_what_is_over_is_left_alone():
    ward = Ward()
    run(ward.correct())
    run(ward.finish())
    before = run(ward.trail())
    ward.clock.advance(86_400.0)
    assert run(ward.look()) == []
    assert run(ward.trail()) == before


def test_what_a_service_calls_failed_is_not_well_and_what_it_cannot_say_is_no_answer():
    for health_signal, reason, score in ((False, "full", 0.0), (None, "partial", None)):
        ward = Ward()
        ward.live.health_signals["running"] = health_signal
        run(ward.correct())
        state = run(ward.finish()).assessment
        assert (state.reason.value, None if state.measured.health is None else state.measured.health.score) == (
            reason,
            score,
        )


@pytest.mark.parametrize(
    "seen, score",
    [
        (Workload(total=3, ready=3), 1.0),
        (Workload(total=3, ready=1), 0.5),
        (Workload(total=3, ready=3, restarts=2), 0.75),
    ],
)
def test_46_the_pods_that_a_provider_tells_of_are_scored(seen, score):
    ward = Ward()
    ward.live.workload = seen
    run(ward.correct())
    assert run(ward.finish()).assessment.measured.health.score == score


def test_what_a_person_asks_for_is_a_correction_too():
    ward = Ward()
    run(ward.apply(ward.declarations))
    ward.live_thing("a")["color"] = "black"
    run(ward.apply(ward.declarations, reconsider=lambda checked: replace(checked, asked=True)))
    assert len(run(ward.all())) == 1


def test_what_is_removed_is_not_assessed():
    ward = Ward(declarations=[declare("a", {"color": "red"}, assess="writes")])
    run(ward.apply(ward.declarations))
    ward.live_thing("a")["color"] = "black"
    run(ward.delete(ward.declarations))
    assert [record.workflow.action_type for record in run(ward.all())] == ["create"]


def test_16_what_we_had_to_put_back_again_did_not_hold_though_it_is_back():
    ward = Ward()
    first = run(ward.correct())
    ward.live_thing("a")["color"] = "white"
    ward.clock.advance(30.0)
    run(ward.apply(ward.declarations))
    assert ward.live_thing("a")["color"] == "red"
    run(ward.finish())
    before, after = run(ward.all())
    assert before.correlation_id == first.correlation_id
    assert (before.assessment.reason.value, "revert since" in before.assessment.message) == ("spec_drift", True)
    assert after.assessment.reason.value == "full"


def test_an_edit_that_leaves_the_state_as_it_is_is_no_second_actor():
    ward = Ward()
    run(ward.correct())
    edited = [declare("a", {"color": "red", "size": 1, "name": "a"}, assess="corrections")]  # what is there agrees
    assert len(run(ward.apply(edited)).acted) == 1
    ward.declarations = edited
    assert run(ward.finish()).assessment.reason.value == "full"


@pytest.mark.parametrize("pod, score", [("a-old", 1.0), ("a-new", None)])
def test_51_an_alert_about_a_pod_that_is_gone_is_stale(pod, score):
    ward = Ward()
    ward.live.workload = Workload(total=1, ready=1, pods=frozenset({"a-new"}))
    ward.servers.firing = [Alert({"alertname": "HighMemory", "pod": pod})]
    run(ward.correct())
    state = run(ward.finish()).assessment
    assert (None if state.measured.alerts is None else state.measured.alerts.score) == score
