"""Scores of health, alerts and metrics: each branch, and none of the original's known mistakes."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.model import health as pods_of
from holdfast.model.health import Container, Pod, Workload
from holdfast.remediation.core import alerts, health, metrics, scoring
from holdfast.remediation.core.alerts import Alert, AlertListing, Signal
from holdfast.remediation.core.health import Probe, ProbeAnswer
from holdfast.remediation.core.metrics import ComparedSpan, MetricChange, Series, Skipped

# --- health ----------------------------------------------------------------------------------------------------------

WELL = Workload(total=3, ready=3)


@pytest.mark.parametrize(
    "seen, score",
    [
        (WELL, 1.0),
        (replace(WELL, has_pods=False), None),
        (replace(WELL, exists=False), 0.0),
        (Workload(), 0.0),
        (Workload(is_scaled_to_zero=True), None),  # scaled down on purpose
        (Workload(exists=False, is_scaled_to_zero=True), None),
        (replace(WELL, is_crash_looping=True), 0.0),
        (replace(WELL, ready=0), 0.0),
        (replace(WELL, ready=2), 0.5),
        (replace(WELL, is_oom_killed=True), 0.25),
        (replace(WELL, restarts=2), 0.75),
        (replace(WELL, ready=2, is_crash_looping=True, is_oom_killed=True, restarts=9), 0.0),
        (replace(WELL, ready=2, is_oom_killed=True, restarts=9), 0.5),
        (replace(WELL, is_oom_killed=True, restarts=9), 0.25),
    ],
)
def test_46_the_first_line_that_applies_decides(seen, score):
    measured = health.assess(seen)
    assert (measured.is_assessed, measured.score) == (True, score)
    assert ("health_checks" in measured.payload) is (score is not None)


def test_47_a_pod_is_ready_when_all_its_containers_are_and_later_ones_are_looked_at():
    pod = Pod((Container(is_ready=True), Container(is_ready=False, restarts=4, is_crash_looping=True)), 200.0)
    seen = pods_of.tally([pod], 100.0)
    assert (seen.total, seen.ready, seen.restarts, seen.is_crash_looping) == (1, 0, 4, True)


def test_48_what_is_going_away_does_not_count_and_old_restarts_are_not_its_doing():
    ready = (Container(is_ready=True, restarts=5, is_oom_killed=True),)
    pods = [
        Pod(ready, 50.0),
        Pod(ready, 100.0),  # made in the very instant of the remediation
        Pod((Container(is_ready=False),), 200.0, is_terminating=True),
        Pod((Container(is_ready=False),), 200.0, phase="Succeeded"),
        Pod((Container(is_ready=False),), 200.0, phase="Failed"),
    ]
    assert health.assess(pods_of.tally(pods, 100.0)).score == 1.0
    assert pods_of.tally([*pods, Pod(ready, 101.0)], 100.0).restarts == 5


def test_no_live_pod_is_not_found():
    assert health.assess(pods_of.tally([], 0.0)).score == 0.0


@pytest.mark.parametrize(
    "answers, score",
    [("pp", 1.0), ("pf", 0.5), ("ff", 0.0), ("pu", None), ("", None)],
)
def test_generic_probes_score_like_pods_and_one_that_could_not_run_leaves_all_open(answers, score):
    by_letter = {"p": ProbeAnswer.PASSED, "f": ProbeAnswer.FAILED, "u": ProbeAnswer.UNKNOWN}
    measured = health.assess_probes([Probe(f"p{at}", by_letter[answer]) for at, answer in enumerate(answers)])
    assert measured.score == score
    assert measured.is_assessed is ("u" not in answers)


# --- alerts ----------------------------------------------------------------------------------------------------------

SIGNAL = Signal("HighMemory", {"namespace": "prod", "node": ""})


def alert(state="active", **more):
    return Alert({"alertname": "HighMemory", "namespace": "prod", **more}, state)


@pytest.mark.parametrize(
    "listing, score, count",
    [
        (AlertListing([]), 1.0, 0),
        (AlertListing([alert()]), 0.0, 1),
        (AlertListing([alert(), alert(pod="b")]), 0.0, 2),
        (AlertListing([alert("suppressed")]), 0.0, 1),  # a silence only stops the noise
        (AlertListing([alert("unprocessed")]), 0.0, 1),
        (AlertListing([alert(pod="old")], live_pods={"new"}), 1.0, 0),
        (AlertListing([alert(pod="new")], live_pods={"new"}), 0.0, 1),
        (AlertListing([alert()], live_pods=set()), 0.0, 1),  # names no pod
        (AlertListing([alert(pod="old")], live_pods=None), 0.0, 1),
        (AlertListing([alert(namespace="other")]), 1.0, 0),
        (AlertListing([alert(alertname="Other")]), 1.0, 0),
        (AlertListing([alert()], is_source_alive=False), 0.0, 1),
    ],
)
def test_51_an_alert_fires_or_has_gone(listing, score, count):
    measured = alerts.assess(SIGNAL, listing, 42.0)
    assert measured.score == score
    resolution = measured.payload["alert_resolution"]
    assert (resolution["alert_resolved"], resolution["active_count"]) == (score == 1.0, count)
    assert resolution.get("resolution_time_seconds") == (42.0 if score == 1.0 else None)


@pytest.mark.parametrize(
    "signal, listing",
    [(SIGNAL, AlertListing(None)), (SIGNAL, AlertListing([], is_source_alive=False)), (Signal(""), AlertListing([]))],
    ids=["alertmanager-down", "prometheus-down", "no-name"],
)
def test_51_what_cannot_be_known_is_no_answer(signal, listing):
    measured = alerts.assess(signal, listing, 42.0)
    assert (measured.is_assessed, measured.score) == (False, None)


# --- labels and queries ----------------------------------------------------------------------------------------------


def test_a_label_value_never_becomes_syntax():
    nasty = 'x"} or vector(1) #\\\n'
    assert alerts.filters(Signal(nasty, {"namespace": "p"})) == (
        'alertname="x\\"} or vector(1) #\\\\\\n"',
        'namespace="p"',
    )
    assert metrics.selector({"b": "2", "a": "1", "c": ""}) == '{a="1",b="2"}'
    with pytest.raises(InputError, match="is not the name of a label"):
        metrics.matchers({'a="1"} or b': "x"})


@given(st.text())
def test_an_escaped_value_reads_back_as_itself(value):
    text = metrics.quoted(value)
    inner, out, at = text[1:-1], "", 0
    while at < len(inner):
        assert inner[at] != '"'
        assert inner[at] != "\n"
        if inner[at] == "\\":
            at += 1
            out += {"\\": "\\", '"': '"', "n": "\n"}[inner[at]]
        else:
            out += inner[at]
        at += 1
    assert (text[0], text[-1], out) == ('"', '"', value)


def test_every_query_aggregates_to_one_series():
    asked = [*metrics.for_workload({"namespace": "p"}), *metrics.for_node("n"), *metrics.for_volume("v")]
    assert len({query.name for query in asked}) == len(asked) == 10
    for query in asked:
        assert query.expression.startswith(("sum(", "max(", "1000 * histogram_quantile(0.95, sum by (le) ("))
    assert {query.name for query in asked if not query.lower_is_better} == {"throughput_rps"}


def test_errors_of_everything_are_selected_without_a_stray_comma():
    error_rate = next(query for query in metrics.for_workload({}) if query.name == "error_rate")
    assert '{code=~"5.."}' in error_rate.expression


@given(st.integers(0, 10**9), st.integers(0, 10**8), st.integers(60, 10**7))
def test_a_range_is_never_more_points_than_prometheus_answers(created, elapsed, lookback):
    asked = metrics.time_range(float(created), float(created + elapsed), float(lookback))
    assert asked.start < asked.end
    assert asked.step >= 15
    assert (asked.end - asked.start) / asked.step + 1 <= 11_000


# --- metrics ---------------------------------------------------------------------------------------------------------

SPAN = ComparedSpan(remediated_at=1000.0, settled_at=1300.0, now=1600.0)


def series(*samples, **given_labels):
    return Series(given_labels, samples)


def test_before_is_up_to_the_remediation_and_after_is_once_it_has_settled():
    answer = [series((500, 1.0), (900, 8.0), (1000, 8.0), (1100, 99.0), (1300, 2.0), (1600, 2.0), (1700, 77.0))]
    assert metrics.compare("cpu", answer, SPAN, lower_is_better=True) == MetricChange("cpu", 8.0, 2.0, True)


def test_49_samples_that_are_no_numbers_do_not_exist():
    answer = [series((900, math.nan), (950, 4.0), (1400, math.inf), (1500, 1.0), (1600, -math.inf))]
    assert metrics.compare("cpu", answer, SPAN, lower_is_better=True) == MetricChange("cpu", 4.0, 1.0, True)
    only_nan = [series((950, math.nan), (1500, 1.0))]
    assert isinstance(metrics.compare("cpu", only_nan, SPAN, lower_is_better=True), Skipped)


@pytest.mark.parametrize(
    "before, after, lower, score",
    [
        (0.0, 0.0, True, 0.0),
        (0.0, 5.0, True, 0.0),
        (0.0, 5.0, False, 1.0),
        (0.0, 0.0, False, 0.0),
        (-0.0, 1.0, False, 1.0),
        (4.0, 9.0, True, 0.0),
        (4.0, 1.0, True, 0.75),
        (4.0, 40.0, False, 1.0),
        (5e-324, -1.7e308, True, 1.0),
    ],
)
def test_49_from_nothing_and_getting_worse(before, after, lower, score):
    assert metrics.improvement(MetricChange("x", before, after, lower)) == score


@pytest.mark.parametrize(
    "answer, why",
    [
        (None, "failed"),
        ([], "no series"),
        ([series((950, 1.0), pod="a"), series((1500, 9.0), pod="b")], "2 series"),
        ([series((1500, 1.0))], "before"),
        ([series((950, 1.0))], "after"),
        ([series()], "before"),
    ],
)
def test_50_a_metric_that_cannot_be_compared_with_itself_is_skipped(answer, why):
    found = metrics.compare("cpu", answer, SPAN, lower_is_better=True)
    assert isinstance(found, Skipped)
    assert why in found.why


def test_what_is_skipped_takes_nothing_from_the_rest():
    found: list[MetricChange | Skipped] = [Skipped("mem", "the query failed"), MetricChange("cpu", 4.0, 1.0, True)]
    measured = metrics.assess(found)
    assert (measured.score, measured.payload) == (0.75, {"metric_deltas": {"cpu_before": 4.0, "cpu_after": 1.0}})
    none = metrics.assess(found[:1])
    assert (none.is_assessed, none.details) == (False, "mem: the query failed")


@given(st.lists(st.builds(MetricChange, st.just("x"), st.floats(), st.floats(), st.booleans())))
def test_metrics_never_score_outside_of_zero_to_one(found):
    score = metrics.assess(found).score
    assert score is None or 0.0 <= score <= 1.0


# --- measurements ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", [-0.1, 1.1, math.nan, math.inf])
def test_a_score_that_is_none_is_refused(score):
    with pytest.raises(ValueError, match="from 0 to 1"):
        scoring.scored(score, "")


def test_what_was_not_assessed_has_no_score():
    with pytest.raises(ValueError, match="not assessed"):
        scoring.Measurement(is_assessed=False, score=0.0, details="")


@pytest.mark.parametrize(
    "one, other, score",
    [(1.0, 0.5, 0.5), (0.25, 1.0, 0.25), (0.0, 0.0, 0.0), (None, 0.5, 0.5), (0.5, None, 0.5), (None, None, None)],
)
def test_a_thing_is_as_well_as_its_worst_sign(one, other, score):
    def measured(value):
        return scoring.not_applicable("x") if value is None else scoring.scored(value, "x")

    found = health.together(measured(one), measured(other))
    assert (found.is_assessed, found.score) == (True, score)


def test_what_is_not_known_of_one_sign_leaves_all_open():
    for pair in ((scoring.unanswered("x"), scoring.scored(1.0, "y")),) * 2:
        assert not health.together(*pair).is_assessed
        assert not health.together(*reversed(pair)).is_assessed
