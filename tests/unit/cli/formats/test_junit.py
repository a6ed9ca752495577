"""JUnit: one case a resource; what differs fails, what cannot be read is an error, what was not checked is skipped."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.cli.render import junit
from holdfast.reconcile.report import RunReport
from tests.unit.cli.formats import reporting

OUTCOMES = ("failure", "error", "skipped")
ALLOWED = {
    "testsuites": {"name", "tests", "failures", "errors", "skipped"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "timestamp"},
    "properties": set(),
    "property": {"name", "value"},
    "testcase": {"classname", "name", "file", "line"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"message"},
    "system-out": set(),
}


def suite_of(report: RunReport, folder: Path) -> ET.Element:
    """Read the text back, and hold it against what every reader of JUnit files knows."""
    top = ET.fromstring(junit.render(report, reporting.around(folder)).encode())
    for element in top.iter():
        assert set(element.attrib) <= ALLOWED[element.tag]
    (suite,) = top.findall("testsuite")
    cases = suite.findall("testcase")
    for item in (top, suite):
        assert int(item.attrib["tests"]) == len(cases)
        for tag, name in zip(OUTCOMES, ("failures", "errors", "skipped"), strict=True):
            assert int(item.attrib[name]) == sum(case.find(tag) is not None for case in cases)
    return suite


def test_each_resource_is_a_case_with_its_outcome(tmp_path):
    suite = suite_of(reporting.troubled(tmp_path), tmp_path)
    found = {}
    for case in suite.findall("testcase"):
        outcome = next((child for child in case if child.tag in OUTCOMES), None)
        found[case.attrib["name"]] = None if outcome is None else (outcome.tag, outcome.get("type"))
    assert found == {
        "drifted": ("failure", "drifted"),
        "missing": ("failure", "missing"),
        "pending": ("failure", "pending"),
        "unknown": ("error", "unknown"),
        "sound": None,
        "waiting": ("skipped", None),
        "space/later": ("skipped", None),
    }
    assert {case.attrib["classname"] for case in suite.findall("testcase")} == {"mem.Thing"}


def test_a_failure_says_what_differs_and_where_it_is_declared(tmp_path):
    case = suite_of(reporting.troubled(tmp_path), tmp_path).find("testcase[@name='drifted']")
    assert case is not None
    assert (case.attrib["file"], case.attrib["line"]) == ("infra/all.yaml", "1")
    body = case.findtext("failure") or ""
    assert '/colour: changed, changed outside Holdfast (specified)\n  declared: "red"\n  live: "blue"' in body
    assert "mem/Thing/drifted (infra/all.yaml:1)" in body


def test_what_is_suppress_passes_and_is_told(tmp_path):
    report = reporting.with_suppressions(reporting.troubled(tmp_path), reporting.waived(), reporting.ignored())
    case = suite_of(report, tmp_path).find("testcase[@name='drifted']")
    assert case is not None
    assert (case.findtext("system-out") or "").splitlines() == [
        "waived /rules[name=ssh]/port: ada: until the audit, 2026-12-31",
        "ignored /status/**: ignored by policy",
    ]


def test_a_report_of_nothing_is_a_suite_without_cases(tmp_path):
    assert suite_of(RunReport(), tmp_path).attrib["tests"] == "0"


def test_markup_in_values_stays_text(tmp_path):
    case = suite_of(reporting.troubled(tmp_path, reporting.NASTY), tmp_path).find("testcase[@name='drifted']")
    assert case is not None
    assert "</td></details><script>alert(1)</script>" in (case.findtext("failure") or "")


@given(st.text(alphabet=st.characters()))
def test_no_text_whatever_breaks_the_xml(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("xml")
    report = reporting.troubled(folder)
    told = [reporting.with_verdict(item, replace(item.verdict, reason=text)) for item in report.checked]
    suite_of(reporting.with_path(replace(report, checked=told), text), folder)


@pytest.mark.parametrize("text", ["\x00\x0b\x1f", "\ud800", "\ufffe\uffff"])
def test_what_xml_cannot_hold_is_replaced(text):
    assert re.fullmatch("\ufffd+", junit._clean(text))
