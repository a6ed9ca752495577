"""SARIF: valid by the schema of the standard, at the right lines, and with an identity that no value changes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from holdfast.cli.render import rule_help, sarif
from holdfast.model.finding import FindingClass
from holdfast.model.json import Json
from holdfast.model.verdict import Status
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolve import Blocked
from tests.unit.cli.formats import reporting

SCHEMA = json.loads((Path(__file__).parents[3] / "data" / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))


def rendered(report: RunReport, folder: Path, command: str = "check") -> Json:
    """Return the run, after holding the whole log against the schema."""
    log = json.loads(sarif.render(report, reporting.around(folder, command)))
    jsonschema.Draft7Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(log)
    return log["runs"][0]


def by_name(run: Json) -> dict[str, list[Json]]:
    out: dict[str, list[Json]] = {}
    for result in run["results"]:
        out.setdefault(result["properties"]["address"].rpartition("/")[2], []).append(result)
    return out


def line(result: Json) -> int:
    return result["locations"][0]["physicalLocation"]["region"]["startLine"]


@pytest.mark.parametrize("command", ["check", "plan"])
def test_a_report_with_one_of_everything_is_valid(tmp_path, command):
    report = reporting.with_suppressions(
        reporting.troubled(tmp_path, reporting.NASTY), reporting.waived(), reporting.ignored()
    )
    run = rendered(report, tmp_path, command)
    assert run["automationDetails"]["id"] == f"holdfast/{command}/"
    assert run["invocations"][0]["endTimeUtc"] == reporting.AT


def test_an_empty_report_is_valid(tmp_path):
    run = rendered(RunReport(), tmp_path)
    assert run["results"] == []
    assert run["invocations"][0]["executionSuccessful"]


def test_each_finding_is_a_result_of_its_class_at_the_line_of_its_key(tmp_path):
    results = by_name(rendered(reporting.troubled(tmp_path), tmp_path))
    found = [(item["ruleId"], item["level"], item["properties"]["path"], line(item)) for item in results["drifted"]]
    assert found == [
        ("specified", "error", "/colour", 7),
        ("undeclared", "error", "/extra`|`<b>", 6),
        ("specified", "error", "/text", 8),
        ("specified", "error", "/rules[name=web]/port", 13),
        ("element", "error", "/rules[name=new]", 9),
    ]


def test_where_there_is_no_finding_the_status_is_the_rule_at_the_line_of_the_document(tmp_path):
    results = by_name(rendered(reporting.troubled(tmp_path), tmp_path))
    said = {
        name: (result["ruleId"], result["level"], line(result))
        for name, (result, *_) in results.items()
        if name != "drifted"
    }
    assert said == {
        "missing": ("missing", "error", 15),
        "pending": ("pending", "note", 20),
        "unknown": ("unknown", "warning", 25),
        "waiting": ("pending", "note", 35),
    }


def test_files_are_named_relative_to_the_repository(tmp_path):
    run = rendered(reporting.troubled(tmp_path), tmp_path)
    named = {json.dumps(result["locations"][0]["physicalLocation"]["artifactLocation"]) for result in run["results"]}
    assert named == {'{"uri": "infra/all.yaml", "uriBaseId": "SRCROOT"}'}
    assert "SRCROOT" in run["originalUriBaseIds"]


def test_a_name_with_blanks_is_a_uri_and_a_file_elsewhere_an_absolute_one(tmp_path):
    report = reporting.troubled(tmp_path)

    def moved(file: str) -> RunReport:
        one = report.checked[0]
        declaration = replace(one.prepared.declaration, location=replace(one.prepared.declaration.location, file=file))
        return RunReport(checked=[one.with_resource(replace(one.prepared, declaration=declaration))])

    def uri(file: str) -> Json:
        return rendered(moved(file), tmp_path)["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]

    assert uri("my infra/a#1.yaml") == {"uri": "my%20infra/a%231.yaml", "uriBaseId": "SRCROOT"}
    assert uri("/etc/else where.yaml") == {"uri": "file:///etc/else%20where.yaml"}
    assert "physicalLocation" not in rendered(moved("<stdin>"), tmp_path)["results"][0]["locations"][0]


def test_the_fingerprint_is_of_the_address_and_path_and_of_no_value(tmp_path):
    def prints(value: Json) -> list[Json]:
        run = rendered(reporting.troubled(tmp_path, value), tmp_path)
        return [result["partialFingerprints"] for result in run["results"]]

    assert prints("blue") == prints({"a": ["b"]})
    assert len({json.dumps(item) for item in prints("blue")}) == len(prints("blue"))
    assert set(prints("blue")[0]) == {sarif.FINGERPRINT, "primaryLocationLineHash"}


def test_values_side_and_op_are_properties(tmp_path):
    first = rendered(reporting.troubled(tmp_path), tmp_path)["results"][0]["properties"]
    assert {key: first[key] for key in ("changedBy", "op", "desired", "observed", "status", "action")} == {
        "changedBy": "live",
        "op": "changed",
        "desired": "red",
        "observed": "blue",
        "status": "drifted",
        "action": "update",
    }


def test_what_is_suppress_is_suppressed_with_its_note(tmp_path):
    report = reporting.with_suppressions(reporting.troubled(tmp_path), reporting.waived())
    (found,) = [result for result in rendered(report, tmp_path)["results"] if "suppressions" in result]
    assert found["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": "ada: until the audit, 2026-12-31"}
    ]
    assert (found["properties"]["suppressed"], line(found)) == ("waived", 11)


def test_a_path_that_does_not_count_is_a_note_about_the_configuration(tmp_path):
    report = reporting.with_suppressions(reporting.troubled(tmp_path), reporting.ignored(), reporting.ignored("/rules"))
    told = rendered(report, tmp_path)["invocations"][0]["toolConfigurationNotifications"]
    assert [(item["descriptor"]["id"], item["level"]) for item in told] == [("suppressed", "note")] * 2
    lines = [item["locations"][0]["physicalLocation"]["region"]["startLine"] for item in told]
    assert lines == [1, 9]


def test_what_could_not_be_checked_makes_the_invocation_unsuccessful(tmp_path):
    report = reporting.troubled(tmp_path)
    invocation = rendered(report, tmp_path)["invocations"][0]
    assert not invocation["executionSuccessful"]
    said = [
        (toolExecutionNotification["level"], toolExecutionNotification["message"]["text"].partition(":")[0])
        for toolExecutionNotification in invocation["toolExecutionNotifications"]
    ]
    assert said == [("error", "mem/Thing/unknown"), ("note", "mem/Thing/waiting"), ("error", "mem/Thing/space/later")]


def test_what_only_waits_for_an_apply_is_no_gap(tmp_path):
    waiting = Blocked(reporting.declared(tmp_path)["waiting"], "for what is not there yet")
    assert rendered(RunReport(waiting=[waiting]), tmp_path)["invocations"][0]["executionSuccessful"]
    lost = rendered(RunReport(waiting=[replace(waiting, is_error=True)]), tmp_path)
    assert not lost["invocations"][0]["executionSuccessful"]
    assert (lost["results"][0]["ruleId"], lost["results"][0]["level"]) == ("unknown", "warning")


def test_every_class_and_every_status_with_trouble_has_a_rule_with_help(tmp_path):
    rules = rendered(RunReport(), tmp_path)["tool"]["driver"]["rules"]
    expected = {item.value for item in FindingClass} | {"missing", "pending", "unknown"}
    assert {rule["id"] for rule in rules} == expected == set(rule_help.RULES)
    assert all(rule["help"]["text"] and rule["shortDescription"]["text"] for rule in rules)
    assert set(sarif.LEVELS) == set(Status)


def test_the_index_of_a_result_is_that_of_its_rule(tmp_path):
    run = rendered(reporting.troubled(tmp_path), tmp_path)
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])


@pytest.mark.parametrize(
    "text, escaped",
    [
        ("plain [x] text", "plain [x] text"),
        ("${a.b} {0}", "${{a.b}} {{0}}"),
        ("see [this](http://x)", "see \\[this\\](http://x)"),
    ],
)
def test_a_message_holds_no_placeholder_and_no_link(text, escaped):
    assert sarif._message(text)["text"] == escaped


def test_a_large_value_is_shown_by_its_beginning(tmp_path):
    first = rendered(reporting.troubled(tmp_path, "x" * 100_000), tmp_path)["results"][0]
    assert first["properties"]["observed"]["characters"] == 100_002
    assert len(json.dumps(first)) < 10_000


def test_half_a_surrogate_pair_and_a_number_that_is_none_do_not_break_it(tmp_path):
    report = reporting.with_values(reporting.troubled(tmp_path), "\ud800", float("nan"))
    text = sarif.render(report, reporting.around(tmp_path))
    text.encode()
    assert json.loads(text, parse_constant=pytest.fail)
