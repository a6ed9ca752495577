"""The scenarios of the research note that need no world, each on a virtual clock; the numbers are the note's."""

from __future__ import annotations

import pytest

from holdfast.compare import go_json, hash_schemes
from holdfast.compat.kubernaut.fingerprint import ConfigMapData, configmap_references, resource_fingerprint
from holdfast.model.condition import Truth
from holdfast.remediation.core import state_hash, state_machine, timing
from holdfast.remediation.core.state import (
    AssessmentConditionType,
    AssessmentPhase,
    AssessmentScope,
    EndReason,
    Execution,
)
from holdfast.remediation.core.state_hash import NO_TARGET, StateHash, StateUnknown
from holdfast.remediation.core.state_machine import Ask, AssessmentFacts, Wants
from holdfast.remediation.core.timing import AssessmentWindow, Windows
from tests.unit.remediation import trail
from tests.unit.remediation.course import (
    BETTER,
    CREATED,
    DOWN,
    FIRING,
    ILL,
    OTHER,
    POST,
    PRE,
    RESOLVED,
    WELL,
    WORSE,
    Course,
    World,
)

MEASURED = (Ask.HEALTH, Ask.ALERTS, Ask.METRICS)


def integrity(course):
    return course.state.condition(AssessmentConditionType.SPEC_INTEGRITY)


def captured(course):
    return course.state.condition(AssessmentConditionType.POST_HASH_CAPTURED)


def decay(course):
    return course.state.condition(AssessmentConditionType.ALERT_DECAY_DETECTED)


# --- the drift guard -------------------------------------------------------------------------------------------------


def test_01_without_a_stored_hash_the_guard_does_nothing():
    course = Course(Windows(hash_delay=60.0))
    course.look(at=30)
    assert (course.state.phase, integrity(course), course.world.asked) == (AssessmentPhase.WAITING, None, [])


def test_02_the_same_spec_is_integrity_and_the_assessment_goes_on():
    course = Course()
    course.until(120)
    assert (integrity(course).status, integrity(course).reason) == (Truth.TRUE, "SpecUnchanged")
    assert (course.state.current, course.state.phase) == (POST, AssessmentPhase.STABILISING)


def test_03_a_change_ends_it_at_once_with_both_hashes_in_the_message():
    course = Course()
    course.until(60)
    course.world.target = StateHash(OTHER)
    course.look(at=90)
    assert (course.state.reason, course.state.score) == (EndReason.SPEC_DRIFT, 0.0)
    assert (integrity(course).status, integrity(course).reason) == (Truth.FALSE, "SpecDrifted")
    assert integrity(course).message == f"{POST} -> {OTHER}"
    assert (course.state.completed_at, course.wake_at) == (CREATED + 90, None)
    assert course.state.current == OTHER
    assert course.told == ["assessment.scheduled", "hash.computed", "assessment.completed"]


SPEC = '{"replicas": 3, "containers": [{"name": "a"}, {"name": "b"}]}'


@pytest.mark.parametrize(
    "text, drifts",
    [
        ('{"containers":[{"name":"b"},{"name":"a"}],"replicas":3}', False),
        (SPEC.replace("3", "3.0"), False),
        (SPEC.replace("3", "4"), True),
        (SPEC.replace('"replicas"', '"revisionHistoryLimit": 10, "replicas"'), True),
    ],
    ids=["4-order-and-spaces", "4-spelling-of-numbers", "3-scalar", "7-defaulted-by-the-server"],
)
def test_04_07_spelling_is_no_drift_and_a_defaulted_field_is(text, drifts):
    hashes = [str(hash_schemes.SPEC.stamp_text(item)) for item in (SPEC, text)]
    course = Course(world=World(StateHash(hashes[0])))
    course.look()
    course.world.target = StateHash(hashes[1])
    course.sleep()
    assert (course.state.reason is EndReason.SPEC_DRIFT) is drifts


def deployment(*, level="info", annotations=None, status="x", configmaps=True, other="a", password="a"):
    pod = {
        "volumes": [{"configMap": {"name": "web"}}],
        "containers": [{"envFrom": [{"secretRef": {"name": "web"}}]}],  # what a secret holds is not looked at
    }
    template = {"metadata": {"annotations": annotations or {}}, "spec": pod}
    obj = {
        "metadata": {"resourceVersion": status},
        "spec": {"template": template},
        "status": status,
        "kind": "Deployment",
    }
    there = {"web": ConfigMapData({"level": level}, {}), "other": ConfigMapData({"x": other}, {}), "secret": password}
    names = configmap_references("Deployment", obj["spec"])
    held = {name: there[name] if configmaps else None for name in names}
    return resource_fingerprint(obj, configmaps=held)


@pytest.mark.parametrize(
    "changed, drifts",
    [
        ({"status": "y"}, False),
        ({"annotations": {"restartedAt": "now"}}, True),
        ({"level": "debug"}, True),
        ({"other": "b"}, False),
        ({"password": "b"}, False),
        ({"configmaps": False}, True),
    ],
    ids=["5-status-and-version", "6-restart", "8-configmap", "8-unreferenced", "8-secret", "9-configmap-deleted"],
)
def test_05_06_08_09_what_counts_as_the_state_of_a_workload(changed, drifts):
    course = Course(world=World(StateHash(deployment())))
    course.look()
    course.world.target = StateHash(deployment(**changed))
    course.sleep()
    assert (course.state.reason is EndReason.SPEC_DRIFT) is drifts


def test_10_a_target_that_is_deleted_has_drifted():
    course = Course()
    course.look()
    course.world.target = NO_TARGET
    assert course.sleep().reason is EndReason.SPEC_DRIFT


def test_10_a_deletion_that_holds_has_not():
    course = Course(world=World(NO_TARGET))
    assert course.finish().reason is EndReason.FULL


def test_11_a_read_that_fails_is_no_drift_and_is_tried_again_soon():
    course = Course()
    course.until(60)
    course.world.target = StateUnknown("403")
    course.sleep()
    assert (integrity(course).status, integrity(course).message) == (Truth.UNKNOWN, "403")
    assert (course.state.phase, course.wake_at) == (AssessmentPhase.STABILISING, course.now + 5)
    course.world.target = StateHash(POST)
    assert course.finish().reason is EndReason.FULL
    assert integrity(course).status is Truth.TRUE


def test_11_while_the_target_cannot_be_read_nothing_else_is_asked():
    course = Course()
    course.until(240)
    course.world.target = StateUnknown()
    course.world.asked.clear()
    state = course.finish()
    assert (state.reason, state.score) == (EndReason.EXPIRED, None)
    assert not set(course.world.asked) & set(MEASURED)
    assert state.message == ("not measured: health, alerts, metrics; the last read of the target failed")


def test_12_a_first_read_that_fails_leaves_no_hash():
    course = Course(world=World(StateUnknown("timeout")))
    course.look()
    assert (course.state.baseline, course.state.current) == (None, None)
    assert captured(course).status is Truth.FALSE
    course.world.target = StateHash(POST)
    course.sleep()
    assert course.state.baseline == StateHash(POST)
    assert captured(course).status is Truth.TRUE
    assert course.told == ["assessment.scheduled", "hash.computed"]


def test_13_after_drift_neither_alerts_nor_metrics_are_asked():
    course = Course()
    course.until(299)
    course.world.target = StateHash(OTHER)
    course.look(at=300)
    assert course.state.reason is EndReason.SPEC_DRIFT
    assert not set(course.world.asked) & set(MEASURED)


def test_13_drift_between_the_guard_and_the_last_answer_is_seen_by_the_closing_guard():
    course = Course(execution=Execution.COMPLETED)
    course.until(299)
    course.now = CREATED + 300
    course.state, wants = state_machine.step(course.state, AssessmentFacts(target=StateHash(POST)), course.now)
    assert wants.asks == MEASURED
    course.state, wants = state_machine.step(course.state, course.world.answer(wants.asks), course.now + 1)
    assert wants.asks == (Ask.TARGET,)
    course.state, wants = state_machine.step(course.state, AssessmentFacts(target=StateHash(OTHER)), course.now + 2)
    assert (course.state.reason, course.state.score, wants.asks) == (EndReason.SPEC_DRIFT, 0.0, ())


def test_14_drift_while_an_alert_decays():
    course = Course(world=World(alerts=FIRING))
    course.until(420)
    assert decay(course).status is Truth.TRUE
    course.world.target = StateHash(OTHER)
    course.sleep()
    assert (course.state.reason, course.state.score) == (EndReason.SPEC_DRIFT, 0.0)
    assert (decay(course).status, decay(course).reason) == (Truth.FALSE, "SpecDrifted")


@pytest.mark.parametrize("at", [1800, 1801, 90_000])
def test_15_drift_beats_the_deadline(at):
    course = Course(world=World(metrics=DOWN))
    course.until(1700)
    course.world.target = StateHash(OTHER)
    course.look(at=at)
    assert (course.state.reason, course.state.score) == (EndReason.SPEC_DRIFT, 0.0)


@pytest.mark.parametrize("revisions, drifts", [((None, None), False), (("7", "9"), True), (("7", "7"), False)])
def test_16_a_change_put_back_between_two_looks_shows_only_in_the_revision(revisions, drifts):
    course = Course(world=World(StateHash(POST, revisions[0])))
    course.look()
    course.world.target = StateHash(POST, revisions[1])
    course.sleep()
    assert (course.state.reason is EndReason.SPEC_DRIFT) is drifts


@pytest.mark.parametrize("pre, match", [(POST, True), (PRE, False), (None, None), ("md5:bb", None)])
def test_17_18_the_hash_before_is_information_and_never_drift(pre, match):
    course = Course(pre_hash=pre)
    assert course.finish().reason is EndReason.FULL
    told = next(event.data for event in course.events if event.type.value == "effectiveness.hash.computed")
    assert (told.get("hash_match"), told.get("pre_remediation_spec_hash")) == (match, pre)


def test_21_a_completed_assessment_looked_at_again_does_nothing():
    course = Course()
    done = course.finish()
    assert state_machine.step(done, AssessmentFacts(target=StateHash(OTHER), alerts=FIRING), course.now + 1) == (
        done,
        Wants(),
    )


def test_22_a_restart_between_hash_and_alert_goes_on_where_it_was():
    course = Course(world=World(alerts=DOWN))
    course.until(360)
    course.world.alerts = RESOLVED
    course.look(at=400)  # a new process, with the state it found
    assert course.state.reason is EndReason.FULL
    assert course.told.count("hash.computed") == course.told.count("health.assessed") == 1


def test_23_a_large_integer_that_changes_is_drift_where_integers_are_exact():
    texts = ['{"n":9007199254740993}', '{"n":9007199254740992}']
    for scheme, equal in ((hash_schemes.SPEC_INT64, False), (hash_schemes.SPEC, True)):
        one, other = (str(scheme.stamp(go_json.loads(text, scheme.numbers))) for text in texts)
        assert (one == other) is equal
        assert (state_hash.compare(StateHash(one), StateHash(other)) is hash_schemes.HashComparison.EQUAL) is equal


@pytest.mark.parametrize("other", ["sha512:bb", "spec-sha256/1:sha256:bb", "bb"])
def test_24_a_hash_made_in_another_way_is_incomparable_and_no_drift(other):
    course = Course()
    course.until(60)
    course.world.target = StateHash(other)
    state = course.finish()
    assert (state.reason, state.score, state.current) == (EndReason.EXPIRED, None, POST)
    assert (integrity(course).status, integrity(course).reason) == (Truth.UNKNOWN, "Incomparable")


# --- phases and time -------------------------------------------------------------------------------------------------


def test_25_each_boundary_belongs_to_what_begins_with_it():
    planned = timing.plan(0.0, Windows())
    table = [
        (299.999, AssessmentWindow.STABILISING),
        (300.0, AssessmentWindow.ACTIVE),
        (1799.999, AssessmentWindow.ACTIVE),
        (1800.0, AssessmentWindow.EXPIRED),
    ]
    assert [(at, timing.window(planned, at)) for at, _ in table] == table


def test_26_a_window_without_room_to_look_is_extended():
    planned = timing.plan(0.0, Windows(stabilisation=600.0, validity=300.0))
    assert (planned.is_extended, planned.deadline) == (True, 900.0)


def test_27_propagation_then_stabilisation_then_assessment():
    course = Course(Windows(stabilisation=300.0, validity=600.0, hash_delay=240.0), world=World(metrics=DOWN))
    seen = [course.look(at=at).phase for at in (0, 239.9, 240, 539.9, 540, 1139.9)]
    waiting, settling, looking = AssessmentPhase.WAITING, AssessmentPhase.STABILISING, AssessmentPhase.ASSESSING
    assert seen == [waiting, waiting, settling, settling, looking, looking]
    assert course.look(at=1140).reason is EndReason.METRICS_TIMED_OUT


def test_28_propagation_without_stabilisation_reaches_the_assessment():
    course = Course(Windows(stabilisation=0.0, hash_delay=60.0))
    assert course.finish().reason is EndReason.FULL
    assert course.state.completed_at == CREATED + 60


@pytest.mark.parametrize("windows", [Windows(), Windows(hash_delay=60.0)])
def test_29_a_first_look_after_the_deadline_is_expired_and_asks_nothing(windows):
    course = Course(windows)
    state = course.look(at=9000)
    assert (state.reason, state.score, state.baseline, course.world.asked) == (EndReason.EXPIRED, None, None, [])
    assert course.told == ["assessment.scheduled", "assessment.completed"]


@pytest.mark.parametrize("seen, reason", [(POST, EndReason.EXPIRED), (OTHER, EndReason.SPEC_DRIFT)])
def test_29_a_late_first_look_with_a_confirmed_state_still_sees_drift(seen, reason):
    course = Course(confirmed=StateHash(POST), world=World(StateHash(seen)))
    assert course.look(at=9000).reason is reason
    assert course.world.asked == [Ask.TARGET]


def test_30_a_first_look_after_stabilisation_still_tells_the_schedule_once():
    course = Course()
    course.look(at=400)
    assert course.told.count("assessment.scheduled") == 1
    assert course.state.reason is EndReason.FULL


@pytest.mark.parametrize("now, wake", [(0, 60), (1739, 1799), (1740, 1798), (1797, 1798), (1798, 1800), (1799.5, 1800)])
def test_31_the_next_look_stays_before_the_deadline(now, wake):
    assert timing.next_look(timing.plan(0.0, Windows()), now, 60.0) == wake


def test_32_the_instants_are_part_of_the_state():
    course = Course(Windows(validity=600.0))
    before = course.state.timing
    course.until(500)
    assert course.state.timing is before


def test_the_baseline_is_taken_at_confirmation_and_watched_while_it_settles():
    course = Course(confirmed=StateHash(POST), world=World(StateHash(OTHER)))
    assert course.look(at=1).reason is EndReason.SPEC_DRIFT
    watched = Course()
    watched.until(299)
    assert watched.world.asked.count(Ask.TARGET) == 5


def test_what_still_propagates_is_not_confirmed_by_an_early_read():
    course = Course(Windows(hash_delay=60.0), confirmed=StateHash(PRE))
    assert course.look().baseline is None
    assert course.finish().baseline == StateHash(POST)


def test_no_baseline_is_taken_after_the_deadline():
    late = state_machine.step(
        Course(execution=Execution.COMPLETED).state, AssessmentFacts(target=StateHash(POST)), CREATED + 1800
    )[0]
    assert (late.reason, late.baseline) == (EndReason.EXPIRED, None)


def test_a_clock_that_goes_back_moves_no_phase_back():
    course = Course(world=World(metrics=DOWN))
    course.look(at=400)
    assert course.look(at=10).phase is AssessmentPhase.ASSESSING


def test_a_remediation_without_a_correlation_id_fails_and_tells_nothing():
    course = Course(correlation_id="")
    assert (course.look().phase, course.told, course.wake_at) == (AssessmentPhase.FAILED, [], None)


def test_alerts_that_need_longer_are_asked_later():
    course = Course(Windows(alert_delay=300.0))
    course.until(599)
    assert Ask.METRICS in course.world.asked
    assert Ask.ALERTS not in course.world.asked
    assert course.sleep().reason is EndReason.FULL
    assert course.state.completed_at == CREATED + 600


# --- reasons ---------------------------------------------------------------------------------------------------------


def test_33_all_done_is_full():
    state = Course().finish()
    assert (state.reason, state.score, state.completed_at) == (EndReason.FULL, 0.40 + 0.35 + 0.25 * 0.5, CREATED + 300)


def test_34_full_without_what_nobody_asked_for():
    course = Course(scope=AssessmentScope(metrics=False))
    assert (course.finish().reason, course.state.score) == (EndReason.FULL, 1.0)
    assert Ask.METRICS not in course.world.asked


@pytest.mark.parametrize(
    "world, reason, score",
    [
        ({"metrics": DOWN}, EndReason.METRICS_TIMED_OUT, 1.0),
        ({"metrics": DOWN, "alerts": DOWN}, EndReason.PARTIAL, 1.0),
        ({"metrics": DOWN, "alerts": DOWN, "health": DOWN}, EndReason.EXPIRED, None),
        ({"health": DOWN}, EndReason.PARTIAL, (0.35 + 0.125) / 0.6),
    ],
)
def test_35_what_is_missing_at_the_deadline_decides(world, reason, score):
    course = Course(world=World(**world))
    assert course.finish().reason is reason
    assert course.state.score == pytest.approx(score)
    assert course.state.completed_at == CREATED + 1800
    missing = [name for name in ("health", "alerts", "metrics") if world.get(name) is DOWN]
    assert course.state.message == f"not measured: {', '.join(missing)}"


@pytest.mark.parametrize("metrics", [BETTER, DOWN])
def test_36_an_alert_that_never_stops_decaying(metrics):
    course = Course(world=World(alerts=FIRING, metrics=metrics))
    assert course.finish().reason is EndReason.ALERT_DECAY_TIMEOUT
    assert (decay(course).status, decay(course).reason) == (Truth.FALSE, "DecayTimeout")


def test_37_what_was_never_executed_is_not_assessed():
    course = Course(world=World(execution=Execution.NOT_STARTED))
    assert (course.finish().reason, course.state.score) == (EndReason.NO_EXECUTION, None)
    assert course.told == ["assessment.scheduled", "assessment.completed"]
    assert set(course.world.asked) == {Ask.EXECUTION}


def test_38_what_was_begun_and_did_not_end_gets_a_grace_and_then_hash_and_health():
    course = Course(world=World(execution=Execution.STARTED))
    assert (course.finish().reason, course.state.score) == (EndReason.PARTIAL, 1.0)
    assert course.state.completed_at == CREATED + 330
    assert course.told == ["assessment.scheduled", "hash.computed", "health.assessed", "assessment.completed"]


def test_38_an_end_within_the_grace_is_assessed_in_full():
    course = Course(world=World(execution=Execution.STARTED))
    course.until(300)
    course.world.execution = Execution.COMPLETED
    assert course.sleep().reason is EndReason.FULL


def test_38_when_nobody_can_say_nothing_is_held_against_it():
    assert Course(world=World(execution=Execution.UNKNOWN)).finish().reason is EndReason.FULL


# --- alerts that decay -----------------------------------------------------------------------------------------------


def test_52_lag_is_told_once_and_resolves():
    course = Course(world=World(alerts=FIRING))
    course.until(420)
    assert (course.state.measured.decay_retries, course.state.measured.alerts) == (3, None)
    course.world.alerts = RESOLVED
    assert (course.sleep().reason, course.state.score) == (EndReason.FULL, 0.875)
    assert course.told.count("alert_decay.detected") == 1
    assert course.told.count("health.assessed") == 1  # looked at again each time, and the same each time
    assert (decay(course).status, decay(course).reason) == (Truth.FALSE, "DecayResolved")


@pytest.mark.parametrize("world", [{"health": ILL}, {"metrics": WORSE}])
def test_52_evidence_against_accepts_the_firing_alert_at_once(world):
    course = Course(world=World(alerts=FIRING, **world))
    state = course.finish()
    assert (state.reason, state.measured.alerts, state.measured.decay_retries) == (EndReason.FULL, FIRING, 0)


@pytest.mark.parametrize("name, evidence", [("health", ILL), ("metrics", WORSE)])
def test_52_evidence_that_comes_later_ends_the_decay(name, evidence):
    course = Course(world=World(alerts=FIRING, metrics=DOWN if name == "metrics" else BETTER))
    course.until(360)
    assert course.state.measured.decay_retries == 2
    setattr(course.world, name, evidence)
    state = course.sleep()
    assert (state.reason, state.measured.alerts) == (EndReason.FULL, FIRING)
    assert decay(course).reason == "DecayRefuted"
    assert trail.summarise(trail.payloads(course.events)).score == state.score


# --- the trail -------------------------------------------------------------------------------------------------------


def test_53_events_come_in_order_each_once_and_all_correlated():
    course = Course()
    course.finish()
    assert course.told == [
        "assessment.scheduled",
        "hash.computed",
        "health.assessed",
        "alert.assessed",
        "metrics.assessed",
        "assessment.completed",
    ]
    assert {event.correlation_id for event in course.events} == {"rr-1"}
    assert len({event.id for event in course.events}) == len(course.events)
    assert course.events[-1].data == {
        "event_type": "effectiveness.assessment.completed",
        "correlation_id": "rr-1",
        "ea_name": "ea-rr-1",
        "reason": "full",
        "signal_name": "HighMemory",
        "components_assessed": ["hash", "health", "alert", "metrics"],
        "completed_at": "1970-01-12T13:51:40Z",
        "assessment_duration_seconds": 300.0,
        "score": 0.875,
        "details": "",
    }


def test_a_remediation_that_names_no_alert_is_assessed_without():
    course = Course(signal_name="")
    assert (course.finish().reason, course.state.measured.alerts) == (EndReason.FULL, None)
    assert Ask.ALERTS not in course.world.asked


def test_both_servers_down_never_makes_a_score_of_them():
    course = Course(world=World(alerts=DOWN, metrics=DOWN), scope=AssessmentScope(health=False))
    assert (course.finish().reason, course.state.score) == (EndReason.EXPIRED, None)
    assert WELL.score == 1.0
