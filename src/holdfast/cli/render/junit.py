"""JUnit: one test case a resource, so that any CI shows drift the way it shows failing tests.

A difference is a failure, an unreadable resource is an error, and an unchecked resource is skipped: silence is never
green.
"""

from __future__ import annotations

import re
from typing import Final
from xml.etree import ElementTree as ET

from holdfast.cli import terminal_escape
from holdfast.cli.render import report_view
from holdfast.cli.render.report_view import Around
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.finding import Finding
from holdfast.model.verdict import Status, Suppressed
from holdfast.reconcile import display_value
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolve import Blocked

_WIDTH: Final = 400  # characters of a value
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FAILED: Final = (Status.DRIFTED, Status.CONFLICTED, Status.MISSING, Status.PENDING)


def render(report: RunReport, around: Around) -> str:
    """Return the report as the XML that CI systems read."""
    cases = [_checked(result, around) for result in report_view.by_address(report)]
    cases += [_waiting(blocked, around) for blocked in report.waiting]
    cases += [_not_reached(address) for address in report.not_reached]
    counted = {
        "tests": str(len(cases)),
        "failures": _count(cases, "failure"),
        "errors": _count(cases, "error"),
        "skipped": _count(cases, "skipped"),
    }
    name = f"holdfast {around.command}"
    top = ET.Element("testsuites", {"name": name, **counted})
    suite = ET.SubElement(top, "testsuite", {"name": name, **counted, "timestamp": around.at})
    properties = ET.SubElement(suite, "properties")
    ET.SubElement(properties, "property", {"name": "holdfast.version", "value": _clean(around.version)})
    ET.SubElement(properties, "property", {"name": "holdfast.coverage", "value": str(report_view.coverage(report))})
    suite.extend(cases)
    ET.indent(top)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(top, encoding="unicode") + "\n"


def _count(cases: list[ET.Element], tag: str) -> str:
    return str(sum(case.find(tag) is not None for case in cases))


def _case(address: Address, place: report_view.SourcePlace | None) -> ET.Element:
    name = address.name if address.namespace is None else f"{address.namespace}/{address.name}"
    attributes = {"classname": _clean(f"{address.connection}.{address.kind}"), "name": _clean(name)}
    if place is not None:
        attributes |= {"file": _clean(place.uri), "line": str(place.line)}
    return ET.Element("testcase", attributes)


def _checked(checked: CheckResult, around: Around) -> ET.Element:
    declaration, verdict = checked.prepared.declaration, checked.verdict
    case = _case(declaration.address, report_view.place_of(declaration, around))
    if verdict.status is Status.UNKNOWN:
        _outcome(case, "error", verdict.status.value, verdict.reason, str(declaration.address))
    elif verdict.status in _FAILED:
        _outcome(case, "failure", verdict.status.value, verdict.reason, _body(checked, around))
    if verdict.suppressed:
        ET.SubElement(case, "system-out").text = _clean("\n".join(map(_suppressed, verdict.suppressed)))
    return case


def _waiting(waiting: Blocked, around: Around) -> ET.Element:
    case = _case(waiting.declaration.address, report_view.place_of(waiting.declaration, around))
    ET.SubElement(case, "skipped", {"message": _clean(f"not checked: {waiting.reason}")})
    return case


def _not_reached(address: Address) -> ET.Element:
    case = _case(address, None)
    ET.SubElement(case, "skipped", {"message": "not checked: the run was stopped before"})
    return case


def _outcome(case: ET.Element, tag: str, kind: str, message: str, body: str) -> None:
    ET.SubElement(case, tag, {"type": kind, "message": _clean(message)}).text = _clean(body)


def _body(checked: CheckResult, around: Around) -> str:
    declaration = checked.prepared.declaration
    place = report_view.place_of(declaration, around)
    head = f"{declaration.address}" + (f" ({place})" if place else "")
    decision = f"{checked.decision.action.value}: {checked.decision.reasons[0].message}"
    findings = (line for finding in checked.verdict.findings for line in _finding(finding))
    return "\n".join(map(terminal_escape.in_a_line, [head, decision, *findings]))


def _finding(finding: Finding) -> list[str]:
    declared, live = report_view.before_and_after(finding, write=False)
    change = f"{report_view.HOW[finding.op]}, {report_view.WHO[finding.changed_by]} ({finding.cls.value})"
    out = [f"{report_view.path_text(finding.path)}: {change}"]
    for name, value in zip(report_view.sides(write=False), (declared, live), strict=True):
        if value is not ABSENT:
            out.append(f"  {name}: {display_value.shortened(display_value.text(value), _WIDTH)}")
    return out


def _suppressed(suppressed: Suppressed) -> str:
    return terminal_escape.in_a_line(f"{suppressed.because.value} {suppressed.path}: {suppressed.note}")


def _clean(text: str) -> str:
    """Replace characters that XML cannot hold, not even escaped: control characters and halves of surrogate pairs."""
    return _NOT_XML.sub("\ufffd", text)
