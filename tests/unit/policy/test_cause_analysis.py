"""Every finding has one most likely cause with a confidence, and a beginning that can be told."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.confidence import Confidence
from holdfast.model.finding import ChangedBy, Finding, FindingClass, Op
from holdfast.policy import cause_analysis
from holdfast.policy.cause_analysis import Cause, CauseFacts, Onset
from holdfast.store.governance import CorrectionOutcome, CorrectionRecord, PathCorrection


def finding(changed_by=ChangedBy.LIVE, cls=FindingClass.SPECIFIED, desired=1, baseline=1, observed=2, op=Op.CHANGED):
    return Finding(("size",), op, cls, changed_by, desired, baseline, observed)


def wrote(before, *, took, at=1.0, path="/size", outcome=CorrectionOutcome.INEFFECTIVE):
    changed = PathCorrection(path, before=before, after=1, took=took)
    return CorrectionRecord(f"c{at}", Address("a", "B", "c"), at, "update", "drift", outcome, (changed,))


FAILED = wrote(2, took=False)


@pytest.mark.parametrize(
    "given_finding, evidence, cause, confidence",
    [
        (finding(), CauseFacts(), Cause.EXTERNAL_EDIT, Confidence.MEDIUM),
        (finding(ChangedBy.BOTH), CauseFacts(), Cause.EXTERNAL_EDIT, Confidence.MEDIUM),
        (finding(ChangedBy.UNKNOWN), CauseFacts(), Cause.EXTERNAL_EDIT, Confidence.LOW),
        (finding(cls=FindingClass.DEFAULTED), CauseFacts(), Cause.EXTERNAL_EDIT, Confidence.LOW),
        # intent
        (finding(ChangedBy.DECLARED), CauseFacts(), Cause.NOT_APPLIED, Confidence.HIGH),
        (
            finding(ChangedBy.DECLARED),
            CauseFacts(contested=True, rules_changed=True),
            Cause.NOT_APPLIED,
            Confidence.HIGH,
        ),
        # contention
        (finding(), CauseFacts(contested=True), Cause.OTHER_WRITER_CONTROLLER, Confidence.MEDIUM),
        (finding(), CauseFacts((FAILED,), contested=True), Cause.OTHER_WRITER_CONTROLLER, Confidence.MEDIUM),
        # our own writes
        (finding(), CauseFacts((FAILED,)), Cause.OUR_PARTIAL_WRITE, Confidence.HIGH),
        (finding(observed=3), CauseFacts((FAILED,)), Cause.OUR_PARTIAL_WRITE, Confidence.MEDIUM),
        (finding(), CauseFacts((wrote(2, took=True),)), Cause.EXTERNAL_EDIT, Confidence.MEDIUM),
        (finding(), CauseFacts((wrote(2, took=False, path="/b"),)), Cause.EXTERNAL_EDIT, Confidence.MEDIUM),
        (finding(), CauseFacts((FAILED, wrote(2, took=True, at=2.0))), Cause.EXTERNAL_EDIT, Confidence.MEDIUM),
        (finding(), CauseFacts((wrote(2, took=True, at=0.5), FAILED)), Cause.OUR_PARTIAL_WRITE, Confidence.HIGH),
        (
            finding(),
            CauseFacts((wrote(2, took=False, outcome=CorrectionOutcome.BEGUN),)),
            Cause.EXTERNAL_EDIT,
            Confidence.MEDIUM,
        ),
        (finding(observed=ABSENT), CauseFacts((wrote(ABSENT, took=False),)), Cause.OUR_PARTIAL_WRITE, Confidence.HIGH),
        (finding(observed=True), CauseFacts((wrote(1, took=False),)), Cause.OUR_PARTIAL_WRITE, Confidence.MEDIUM),
        # new rules
        (finding(baseline=2), CauseFacts(rules_changed=True), Cause.TOOL_UPGRADE, Confidence.HIGH),
        (
            finding(baseline="A b", observed="ab"),
            CauseFacts(rules_changed=True),
            Cause.TOOL_UPGRADE,
            Confidence.MEDIUM,
        ),
        (finding(baseline=5, observed="5"), CauseFacts(rules_changed=True), Cause.TOOL_UPGRADE, Confidence.MEDIUM),
        (
            finding(ChangedBy.UNKNOWN, desired="A", baseline=ABSENT, observed="a"),
            CauseFacts(rules_changed=True),
            Cause.TOOL_UPGRADE,
            Confidence.MEDIUM,
        ),
        (finding(op=Op.REORDERED), CauseFacts(rules_changed=True), Cause.TOOL_UPGRADE, Confidence.MEDIUM),
        (
            finding(cls=FindingClass.UNDECLARED),
            CauseFacts(rules_changed=True, alike=9),
            Cause.TOOL_UPGRADE,
            Confidence.LOW,
        ),
        (finding(), CauseFacts(rules_changed=True), Cause.EXTERNAL_EDIT, Confidence.MEDIUM),
        (finding(ChangedBy.BOTH, baseline=2), CauseFacts(rules_changed=True), Cause.EXTERNAL_EDIT, Confidence.MEDIUM),
        (finding(baseline=ABSENT), CauseFacts(rules_changed=True), Cause.EXTERNAL_EDIT, Confidence.MEDIUM),
        # new defaults
        (finding(cls=FindingClass.DEFAULTED), CauseFacts(alike=3), Cause.PROVIDER_DEFAULT_CHANGE, Confidence.MEDIUM),
        (finding(cls=FindingClass.UNDECLARED), CauseFacts(alike=3), Cause.PROVIDER_DEFAULT_CHANGE, Confidence.MEDIUM),
        (finding(cls=FindingClass.DEFAULTED), CauseFacts(alike=2), Cause.EXTERNAL_EDIT, Confidence.LOW),
        (finding(), CauseFacts(alike=99), Cause.EXTERNAL_EDIT, Confidence.MEDIUM),
    ],
)
def test_the_cause_follows_from_the_evidence(given_finding, evidence, cause, confidence):
    found = cause_analysis.explain(given_finding, evidence)
    assert (found.cause, found.confidence) == (cause, confidence)


def test_what_was_merged_but_not_applied_is_called_so():
    assert cause_analysis.explain(finding(ChangedBy.DECLARED), CauseFacts()).sentence.startswith(
        "merged but not applied: "
    )


values = st.sampled_from([1, 2, "2", True, None, ABSENT, "secret-value"])
findings = st.builds(
    finding,
    st.sampled_from(ChangedBy),
    st.sampled_from(FindingClass),
    values,
    values,
    values,
    st.sampled_from(Op),
)
evidences = st.builds(
    CauseFacts,
    st.lists(st.builds(wrote, values, took=st.booleans(), at=st.floats(0, 9)), max_size=3).map(tuple),
    st.booleans(),
    st.booleans(),
    st.integers(0, 9),
)


@given(findings, evidences)
def test_every_finding_has_a_cause_and_a_sentence_without_values(given_finding, evidence):
    found = cause_analysis.explain(given_finding, evidence)
    assert found.sentence
    assert "secret-value" not in found.sentence
    if given_finding.changed_by is ChangedBy.DECLARED:
        assert found.cause is Cause.NOT_APPLIED


@given(findings, evidences)
def test_the_order_of_the_records_changes_nothing(given_finding, evidence):
    turned = CauseFacts(evidence.corrections[::-1], evidence.rules_changed, evidence.contested, evidence.alike)
    stamps = [correction.at for correction in evidence.corrections]
    if len(set(stamps)) == len(stamps):
        assert cause_analysis.explain(given_finding, turned) == cause_analysis.explain(given_finding, evidence)


def utc(text):
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC).timestamp()


@pytest.mark.parametrize(
    "after, before, now, text",
    [
        ("14:02", "14:12", "17:20", "between 14:02 and 14:12 (10 min apart), 3 h ago"),
        ("14:02:00", "14:02:40", "14:03:20", "at 14:02, 40 s ago"),
        ("14:02:59", "14:03:01", "14:03:01", "between 14:02 and 14:03 (2 s apart), just now"),
        (None, "14:12", "14:13", "before 14:12, when it was first looked at, 1 min ago"),
    ],
)
def test_an_onset_is_told_in_plain_words(after, before, now, text):
    stamps = [None if item is None else utc(f"2026-03-05T{item}") for item in (after, before, now)]
    assert Onset(stamps[0], stamps[1] or 0).text(stamps[2] or 0) == text


def test_an_onset_on_another_day_names_the_day():
    onset = Onset(utc("2026-03-04T23:55"), utc("2026-03-05T00:05"))
    assert onset.text(utc("2026-03-05T09:00")) == (
        "between 2026-03-04 23:55 and 2026-03-05 00:05 (10 min apart), 8 h ago"
    )
    assert onset.text(utc("2026-03-08T09:00"), ZoneInfo("Europe/Berlin")) == (
        "between 2026-03-05 00:55 and 2026-03-05 01:05 (10 min apart), 3 d ago"
    )
    assert Onset(None, utc("2026-03-04T23:55")).text(utc("2026-03-05T09:00")).startswith("before 2026-03-04 23:55,")


@given(st.floats(0, 4e9), st.none() | st.floats(0, 1e7), st.floats(0, 1e8))
def test_every_onset_can_be_told(before, width, age):
    after = None if width is None else before - width
    assert Onset(after, before).text(before + age)
