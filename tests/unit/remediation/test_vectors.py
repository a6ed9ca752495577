"""Every scoring, timing, health and metrics vector of the original passes through the public functions."""

from __future__ import annotations

import pytest

from holdfast.model.health import Workload
from holdfast.remediation.core import health, metrics, scoring, timing
from holdfast.remediation.core.metrics import MetricChange
from holdfast.remediation.core.timing import Windows
from tests.unit.remediation import trail
from tests.vectors.load import by_name, vectors

CASES = vectors("scoring_go")


def cases(operation):
    found = [case for case in CASES if case["op"] == operation]
    assert found
    return found


def test_every_operation_of_the_file_is_tested_here():
    assert {case["op"] for case in CASES} == {
        "weighted",
        "weighted_flags",
        "metrics",
        "health",
        "timing",
        "effectiveness",
    }


@pytest.mark.parametrize("case", cases("weighted"), ids=by_name)
def test_weighted(case):
    assert scoring.weighted(case["health"], case["alert"], case["metrics"]) == case["score"]


@pytest.mark.parametrize("case", cases("weighted_flags"), ids=by_name)
def test_what_was_not_assessed_has_no_weight(case):
    scores = [case[name] if case[f"{name}_assessed"] else None for name in ("health", "alert", "metrics")]
    assert scoring.weighted(*scores) == case["score"]


@pytest.mark.parametrize("case", cases("metrics"), ids=by_name)
def test_metrics(case):
    found = [
        MetricChange(comparison["name"], comparison["pre"], comparison["post"], comparison["lower_is_better"])
        for comparison in case["comparisons"]
    ]
    measured = metrics.assess(found)
    assert (measured.is_assessed, measured.score, measured.details) == (
        case["assessed"],
        case["score"],
        case["details"],
    )
    assert [{"name": item.name, "score": metrics.improvement(item)} for item in found] == [
        {"name": item["name"], "score": item["score"]} for item in case["per_metric"]
    ]
    assert [metrics.improvement(item) > 0 for item in found] == [item["improved"] for item in case["per_metric"]]


@pytest.mark.parametrize("case", cases("health"), ids=by_name)
def test_health(case):
    status = case["status"]
    measured = health.assess(
        Workload(
            exists=status["exists"],
            has_pods=not status["not_applicable"],
            total=status["total_replicas"],
            ready=status["ready_replicas"],
            pending=status["pending"],
            restarts=status["restarts"],
            is_crash_looping=status["crash_loops"],
            is_oom_killed=status["oom_killed"],
        )
    )
    assert (measured.is_assessed, measured.score, measured.details) == (
        case["assessed"],
        case["score"],
        case["details"],
    )


@pytest.mark.parametrize("case", cases("timing"), ids=by_name)
def test_timing(case):
    windows = Windows(
        stabilisation=case["stabilization_s"],
        validity=case["validity_s"],
        hash_delay=case.get("hash_compute_delay_s", 0),
        alert_delay=case.get("alert_check_delay_s", 0),
    )
    planned = timing.plan(1000.0, windows)
    assert planned.check_after == 1000 + case["check_after_s"]
    assert planned.alert_check_after == 1000 + case["alert_check_after_s"]
    assert planned.deadline == 1000 + case["validity_deadline_s"]
    assert planned.effective_validity == case["effective_validity_s"]
    assert planned.is_extended is case["extended"]


@pytest.mark.parametrize("case", cases("effectiveness"), ids=by_name)
def test_a_trail_of_events(case):
    found = trail.summarise(case["events"])
    assert (found.status, found.score, found.hashes) == (
        case["assessment_status"],
        case["score"],
        case["hash_comparison"],
    )
