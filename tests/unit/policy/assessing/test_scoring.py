"""One number and one word for a remediation: weights, drift, the trail, and every combination of flags."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.remediation.core import audit_events, scoring, state, trail
from holdfast.remediation.core import state as state_module
from holdfast.remediation.core.audit_events import EventType, RemediationEvent, Workflow
from holdfast.remediation.core.state import EndReason, Flags, Progress
from holdfast.remediation.core.timing import Windows
from tests.unit.policy.assessing.course import CREATED, PRE, REMEDIATION

SCORES = st.none() | st.floats()
NAMES = [field.name for field in dataclasses.fields(Flags)]


@pytest.mark.parametrize(
    "there, weights",
    [
        ("ham", (0.40, 0.35, 0.25)),
        ("ha", (0.5333, 0.4667, 0)),
        ("hm", (0.6154, 0, 0.3846)),
        ("am", (0, 0.5833, 0.4167)),
        ("h", (1, 0, 0)),
        ("a", (0, 1, 0)),
        ("m", (0, 0, 1)),
    ],
)
def test_39_40_the_weight_of_what_is_missing_goes_to_the_rest(there, weights):
    for at, weight in enumerate(weights):
        scores = [float(which == at) if name in there else None for which, name in enumerate("ham")]
        assert scoring.weighted(*scores) == pytest.approx(weight, abs=5e-5)


def test_41_nothing_measured_is_no_score_and_not_zero():
    assert scoring.weighted(None, None, None) is None


@given(SCORES, SCORES, SCORES, st.none() | st.sampled_from(EndReason))
def test_a_score_is_none_or_from_zero_to_one_whatever_comes_in(health, alerts, metrics, reason):
    score = scoring.overall(reason, health, alerts, metrics)
    assert score is None or 0.0 <= score <= 1.0
    if reason is EndReason.SPEC_DRIFT:
        assert score == 0.0


# --- reasons ---------------------------------------------------------------------------------------------------------


def test_the_reason_is_total_over_all_combinations_of_flags():
    seen = set()
    for bits in itertools.product([False, True], repeat=6):
        for progress in itertools.product(Progress, repeat=3):
            given_flags: Json = dict(zip(NAMES, (*bits, *progress), strict=True))
            flags = Flags(**given_flags)
            reason = state_module.decide(flags)
            seen.add(reason)
            assert reason is None or isinstance(reason, EndReason)
            if flags.is_drifted:
                assert reason is EndReason.SPEC_DRIFT
            if flags.is_past_deadline:
                assert reason is not None
            if reason is EndReason.FULL:
                assert flags.is_hashed
                assert Progress.MISSING not in progress
            if reason is EndReason.EXPIRED:
                assert Progress.DONE not in progress
    assert seen == {None, *EndReason}


@pytest.mark.parametrize("reason", EndReason)
def test_45_both_spellings_are_read(reason):
    pascal = "".join(word.capitalize() for word in reason.value.split("_"))
    assert (
        state_module.parse(reason.value)
        is state_module.parse(pascal)
        is state_module.parse(f"Assessment{pascal}")
        is reason
    )


def test_an_unknown_reason_is_shown_as_it_is():
    assert state_module.parse("Cosmic") is None
    found = trail.summarise([{"event_type": "effectiveness.assessment.completed", "reason": "Cosmic"}])
    assert (found.status, found.score) == ("Cosmic", None)


# --- the trail -------------------------------------------------------------------------------------------------------


def told(kind, at=0.0, ident="a", **data):
    return RemediationEvent(kind, ident, at, "rr-1", "t", {"event_type": kind.value, **data})


HEALTH = told(EventType.HEALTH_ASSESSED, assessed=True, score=1.0)
DRIFT = told(EventType.COMPLETED, reason="spec_drift")
LEGACY = told(EventType.COMPLETED, reason="SpecDrift")
FULL = told(EventType.COMPLETED, reason="full")


@given(st.lists(st.sampled_from([HEALTH, FULL, LEGACY])), st.lists(st.sampled_from([HEALTH, FULL])))
def test_42_drift_absorbs_in_any_order(before, after):
    found = trail.summarise([event.data for event in (*before, DRIFT, *after)])
    assert (found.status, found.score) == ("spec_drift", 0.0)


def test_43_events_of_one_instant_are_ordered_by_id():
    first = told(EventType.HEALTH_ASSESSED, 5.0, "a", assessed=True, score=0.0)
    second = told(EventType.HEALTH_ASSESSED, 5.0, "b", assessed=True, score=1.0)
    for order in ([first, second], [second, first]):
        assert trail.summarise(trail.payloads(order)).score == 1.0


def test_44_the_last_answer_counts_and_a_failure_to_ask_takes_nothing_away():
    failed = {"event_type": "effectiveness.health.assessed", "assessed": False}
    assert trail.summarise([failed, HEALTH.data]).score == 1.0
    assert trail.summarise([HEALTH.data, failed]).score == 1.0
    assert trail.summarise([failed]).score is None


# --- events ----------------------------------------------------------------------------------------------------------


def test_a_remediation_is_told_with_the_state_before_it():
    event = audit_events.workflow_created(REMEDIATION, Workflow(id="restart", action_type="restart"), CREATED)
    assert event.data == {
        "event_type": "remediation.workflow_created",
        "correlation_id": "rr-1",
        "ea_name": "ea-rr-1",
        "pre_remediation_spec_hash": PRE,
        "target_resource": "prod/Deployment/web",
        "workflow_id": "restart",
        "action_type": "restart",
    }
    assert event.id == "rr-1/remediation.workflow_created"


def test_the_schedule_is_told_with_every_instant():
    begun = state.begin(REMEDIATION, Windows(hash_delay=240.0, alert_delay=60.0))
    told_ = audit_events.scheduled(begun.remediation, begun.windows, begun.timing, CREATED)
    assert {
        key: value for key, value in told_.data.items() if key not in ("event_type", "correlation_id", "ea_name")
    } == {
        "validity_deadline": "1970-01-12T14:26:40Z",
        "prometheus_check_after": "1970-01-12T13:55:40Z",
        "alertmanager_check_after": "1970-01-12T13:56:40Z",
        "validity_window": "36m",
        "stabilization_window": "5m",
        "validity_extended": True,
        "hash_compute_after": "1970-01-12T13:50:40Z",
        "hash_compute_delay": "4m",
        "alert_check_delay": "1m",
    }


@pytest.mark.parametrize(
    "lengths",
    [{"stabilisation": -1.0}, {"validity": 0.0}, {"interval": 0.0}, {"hash_delay": float("nan")}],
)
def test_windows_that_cannot_be_are_refused(lengths):
    with pytest.raises(InputError):
        Windows(**lengths)
