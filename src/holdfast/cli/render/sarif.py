"""SARIF 2.1.0: findings as code scanners show them, each at the line of the key that declares the field.

A result is identified by its address and path, never by a value, so that it stays the same result while live state
changes. An unchecked resource is a notification and makes the invocation unsuccessful, because an empty list of results
must not be taken for success.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

from holdfast.cli.render import report_view
from holdfast.cli.render.report_view import Around
from holdfast.cli.render.rule_help import RULES, SarifRule
from holdfast.compare import paths
from holdfast.model import path as model
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.finding import ChangedBy, Finding
from holdfast.model.json import Json
from holdfast.model.resource import Declaration
from holdfast.model.verdict import Status, Suppressed
from holdfast.reconcile import display_value
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolve import Blocked

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT: Final = "SRCROOT"
FINGERPRINT: Final = "holdfastAddressAndPath/v1"
# The one key that GitHub matches alerts by; without it the uploader hashes the line, which several findings may share.
GITHUB_FINGERPRINT: Final = "primaryLocationLineHash"
_WIDTH: Final = 120  # characters of a value in a message
_LINK = re.compile(r"\[([^\]]*)\](?=\()")

LEVELS: Final = {
    Status.DRIFTED: "error",
    Status.CONFLICTED: "error",
    Status.MISSING: "error",
    Status.UNKNOWN: "warning",
    Status.PENDING: "note",
    Status.IN_SYNC: "none",
}
_SUPPRESSED_LEVELS: Final = {
    ChangedBy.DECLARED: "note",
    ChangedBy.LIVE: "error",
    ChangedBy.BOTH: "error",
    ChangedBy.UNKNOWN: "error",
}

_RULE_INDEX: Final = {name: index for index, name in enumerate(RULES)}
_SEVERITY: Final = {"error": "error", "warning": "warning", "note": "recommendation"}
_NOT_CHECKED: Final = "not-checked"
_SUPPRESSED: Final = "suppressed"


def render(report: RunReport, around: Around) -> str:
    """Return the report as a SARIF log."""
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(report, around)]}
    text = json.dumps(log, ensure_ascii=False, indent=2)
    return display_value.utf8(text) + "\n"


def _run(report: RunReport, around: Around) -> dict[str, Json]:
    return {
        "tool": {"driver": _driver(around.version)},
        "automationDetails": {"id": f"holdfast/{around.command}/"},
        "originalUriBaseIds": {ROOT: {"description": {"text": "The top of the repository."}}},
        "invocations": [_invocation(report, around)],
        "results": list(_results(report, around)),
        "properties": {"coverage": _coverage(report)},
    }


def _driver(version: str) -> dict[str, Json]:
    return {
        "name": "Holdfast",
        "version": version,
        "semanticVersion": version,
        "rules": [_rule(name, rule) for name, rule in RULES.items()],
        "notifications": [
            {"id": _NOT_CHECKED, "shortDescription": {"text": "A resource could not be checked"}},
            {"id": _SUPPRESSED, "shortDescription": {"text": "A path does not count, by policy or by a person's word"}},
        ],
    }


def _rule(name: str, rule: SarifRule) -> dict[str, Json]:
    return {
        "id": name,
        "name": "".join(word.capitalize() for word in name.split("_")),
        "shortDescription": {"text": f"{rule.title}."},
        "fullDescription": {"text": rule.help},
        "help": {"text": rule.help, "markdown": rule.help},
        "defaultConfiguration": {"level": rule.level},
        "properties": {"tags": ["drift"], "problem.severity": _SEVERITY[rule.level]},
    }


def _coverage(report: RunReport) -> dict[str, Json]:
    found = report_view.coverage(report)
    return {"total": found.total, "judged": found.judged}


# -- results


def _results(report: RunReport, around: Around) -> Iterator[dict[str, Json]]:
    for result in report_view.by_address(report):
        yield from _of_resource(result, around)
        for suppressed in result.verdict.suppressed:
            if suppressed.finding is not None:
                yield _suppressed(result, suppressed, suppressed.finding, around)
    for waiting in report.waiting:
        yield _of_waiting(waiting, around)


def _of_resource(checked: CheckResult, around: Around) -> Iterator[dict[str, Json]]:
    status, level = checked.verdict.status, LEVELS[checked.verdict.status]
    if status is Status.IN_SYNC:
        return
    if not checked.verdict.findings:
        declaration = checked.prepared.declaration
        message = f"{declaration.address}: {checked.verdict.reason}"
        yield {**_result(status.value, level, message, declaration, around), "properties": _properties(checked)}
    for finding in checked.verdict.findings:
        yield _of_finding(checked, finding, level, around)


def _of_finding(checked: CheckResult, finding: Finding, level: str, around: Around) -> dict[str, Json]:
    declaration = checked.prepared.declaration
    what = f"{_change(finding)} ({report_view.WHO[finding.changed_by]})"
    message = f"{declaration.address}: {report_view.path_text(finding.path)} {what}"
    return {
        **_result(finding.cls.value, level, message, declaration, around, finding.path),
        "properties": {**_properties(checked), **_finding_properties(finding)},
    }


def _suppressed(checked: CheckResult, suppressed: Suppressed, finding: Finding, around: Around) -> dict[str, Json]:
    result = _of_finding(checked, finding, _SUPPRESSED_LEVELS[finding.changed_by], around)
    suppression = {
        "kind": "external",
        "status": "accepted",
        "justification": suppressed.note or suppressed.because.value,
    }
    properties = {**result["properties"], "suppressed": suppressed.because.value}
    return {**result, "suppressions": [suppression], "properties": properties}


def _of_waiting(waiting: Blocked, around: Around) -> dict[str, Json]:
    status = Status.UNKNOWN if waiting.is_error else Status.PENDING
    message = f"{waiting.declaration.address}: waits: {waiting.reason}"
    properties = {"address": str(waiting.declaration.address), "status": status.value}
    return {**_result(status.value, LEVELS[status], message, waiting.declaration, around), "properties": properties}


def _result(
    rule: str, level: str, message: str, declaration: Declaration, around: Around, path: model.Path | None = None
) -> dict[str, Json]:
    print_ = fingerprint(declaration.address, path or ())
    return {
        "ruleId": rule,
        "ruleIndex": _RULE_INDEX[rule],
        "level": level,
        "message": _message(message),
        "locations": [_location(declaration, around, path)],
        "partialFingerprints": {FINGERPRINT: print_, GITHUB_FINGERPRINT: f"{print_[:16]}:1"},
    }


def fingerprint(address: Address, path: model.Path) -> str:
    """Identify a finding by where it is, whatever the values there are."""
    text = f"{address}\0{paths.format_path(path)}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _change(finding: Finding) -> str:
    declared, live = report_view.before_and_after(finding, write=False)
    if declared is ABSENT:
        return f"is {_said(live)}, which is not declared"
    if live is ABSENT:
        return f"should be {_said(declared)} and is missing"
    if declared == live:
        return f"was {report_view.HOW[finding.op]}"
    return f"should be {_said(declared)} and is {_said(live)}"


def _said(value: Json) -> str:
    """Return a value as text for a sentence. Values other than scalars are in the properties."""
    if isinstance(value, dict):
        return f"a mapping of {len(value)}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return display_value.shortened(display_value.text(value), _WIDTH)


def _message(text: str) -> dict[str, Json]:
    """Return a message; braces would be placeholders and brackets before a parenthesis a link, so both are escaped."""
    escaped = text.replace("\\", "\\\\") if _LINK.search(text) else text
    escaped = _LINK.sub(r"\\[\1\\]", escaped)
    return {"text": escaped.replace("{", "{{").replace("}", "}}")}


def _location(declaration: Declaration, around: Around, path: model.Path | None) -> dict[str, Json]:
    address = declaration.address
    below = paths.format_path(path) if path else ""
    out: dict[str, Json] = {
        "logicalLocations": [{"name": address.name, "fullyQualifiedName": f"{address}{below}", "kind": "resource"}]
    }
    place = report_view.place_of(declaration, around, path)
    if place is not None:
        out["physicalLocation"] = {
            "artifactLocation": {"uri": quote(place.uri), "uriBaseId": ROOT}
            if place.is_below_root
            else {"uri": f"file://{quote(place.uri)}"},
            "region": {"startLine": place.line},
        }
    return out


def _properties(checked: CheckResult) -> dict[str, Json]:
    return {
        "address": str(checked.address),
        "status": checked.verdict.status.value,
        "action": checked.decision.action.value,
        "reason": checked.decision.reasons[0].message,
    }


def _finding_properties(finding: Finding) -> dict[str, Json]:
    out: dict[str, Json] = {
        "path": paths.format_path(finding.path),
        "changedBy": finding.changed_by.value,
        "op": finding.op.value,
        "rule": finding.rule,
    }
    for name in ("desired", "baseline", "observed"):
        value = getattr(finding, name)
        if value is not ABSENT:
            out[name] = report_view.for_programs(value)
    return out


# -- the invocation


def _invocation(report: RunReport, around: Around) -> dict[str, Json]:
    out: dict[str, Json] = {
        "executionSuccessful": report_view.coverage(report).is_complete,
        "endTimeUtc": around.at,
        "toolExecutionNotifications": list(_not_checked(report, around)),
    }
    suppress = list(_suppress(report, around))
    if suppress:
        out["toolConfigurationNotifications"] = suppress
    return out


def _not_checked(report: RunReport, around: Around) -> Iterator[dict[str, Json]]:
    for result in report_view.by_address(report):
        if result.verdict.status is Status.UNKNOWN:
            declaration = result.prepared.declaration
            yield _notification(_NOT_CHECKED, "error", f"{declaration.address}: {result.verdict.reason}") | {
                "locations": [_location(declaration, around, None)]
            }
    for waiting in report.waiting:
        level = "error" if waiting.is_error else "note"
        yield _notification(_NOT_CHECKED, level, f"{waiting.declaration.address}: {waiting.reason}") | {
            "locations": [_location(waiting.declaration, around, None)]
        }
    for address in report.not_reached:
        yield _notification(_NOT_CHECKED, "error", f"{address}: not reached, the run was stopped")


def _suppress(report: RunReport, around: Around) -> Iterator[dict[str, Json]]:
    for suppression, suppressed in report_view.suppressions(report):
        if suppressed.finding is None:
            declaration = suppression.prepared.declaration
            text = f"{declaration.address}: {suppressed.path} is {suppressed.because.value}: {suppressed.note}"
            path = report_view.path_of(suppressed)
            yield _notification(_SUPPRESSED, "note", text) | {"locations": [_location(declaration, around, path)]}


def _notification(name: str, level: str, text: str) -> dict[str, Json]:
    return {"descriptor": {"id": name}, "level": level, "message": _message(text)}
