"""What a service says is shown as values and nothing else: no escape sequence, no line, no command of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

from tests.secrecy import commands
from tests.secrecy.service import Service

LINE = "x\n::error file=app.js::injected\nChecked 1: 1 in sync.\n##vso[task.setvariable variable=a]b"
CONTROLS = "a\x1b]0;owned\x07b\x1b[2Jc\x9b31md\u202ee\u2028f\x7fg\u200bh\u2066i\x85j\r"
HTML = "<script>alert(1)</script><img src=x onerror=alert(1)>"
PROJECT = """\
connections:
  api:
    provider: http
    base_url: {url}
    kinds:
      Thing:
        read: {{path: "/things/{{id}}"}}
        create: {{method: POST, path: /things, id: /id}}
        update: {{method: PATCH, path: "/things/{{id}}", body: merge}}
        delete: {{path: "/things/{{id}}"}}
        list: {{path: /things, items: /items, id: /id}}
        error: /error/message
        profile: {{rules: [{{path: /id, class: identity}}]}}
notify: [{{file: events.jsonl}}]
"""
MANIFEST = """\
apiVersion: http.holdfast.dev/v1
kind: Thing
metadata: {name: door}
spec: {connection: api, managedOptions: {onDrift: report}, resource: {name: door, size: 1}}
"""
FORMATS = ("json", "yaml", "markdown", "junit", "sarif", "html")
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069]")
WORKFLOW = re.compile(r"^\s*::|##\w*\[", re.MULTILINE)
COMMANDS = [
    ["check", "-f", "infra"],
    ["plan", "-f", "infra"],
    ["watch", "--rounds", "0", "-f", "infra"],
    ["explain", "api/Thing/door", "-f", "infra"],
    ["explain", "api/Thing/door", "-f", "infra", "-o", "json"],
    ["accept", "api/Thing/door", "-f", "infra", "--dry-run"],
    ["revert", "api/Thing/door", "-f", "infra"],
    ["discover"],
    ["discover", "-o", "json"],
    ["status"],
    ["status", "-o", "json"],
    ["history"],
    ["events"],
    ["events", "-o", "jsonl"],
    ["corrections"],
    *(["check", "-f", "infra", "-o", format_] for format_ in FORMATS),
    *(["plan", "-f", "infra", "-o", format_] for format_ in FORMATS),
]


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.chdir(tmp_path)
    with Service() as made:
        (tmp_path / "infra").mkdir()
        (tmp_path / "holdfast.yaml").write_text(PROJECT.format(url=made.url))
        (tmp_path / "infra/door.yaml").write_text(MANIFEST)
        assert commands.run(["apply", "-y", "-f", "infra"])[0] == 0
        yield made


def said(arguments: list[str]) -> str:
    _, out, err = commands.run(arguments)
    return (out + err).decode()


@pytest.mark.parametrize("colour", [False, True], ids=["plain", "coloured"])
@pytest.mark.parametrize("hostile", [LINE, CONTROLS, "::error::at the beginning"], ids=["lines", "controls", "first"])
def test_no_output_holds_a_sequence_or_a_line_of_a_service(service, monkeypatch, hostile, colour):
    if colour:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.delenv("NO_COLOR", raising=False)
    service.state.things["door"] |= {hostile: hostile, "list": [{hostile: 1}], "size": hostile}
    service.state.things[hostile] = {"id": hostile, "name": hostile}
    for arguments in COMMANDS:
        text = re.sub("\x1b\\[[0-9;]*m", "", said(arguments)) if colour else said(arguments)
        assert not FORBIDDEN.search(text), (arguments, text)
        assert not WORKFLOW.search(text), (arguments, text)
        assert not re.search(r"^Checked 1: 1 in sync", text, re.MULTILINE), (arguments, text)


def test_an_error_of_a_service_is_one_line_of_ours(service):
    service.state.things["door"]["size"] = 2
    service.state.error, service.state.error_on = (422, LINE + CONTROLS), frozenset({"PATCH"})
    text = said(["revert", "api/Thing/door", "-f", "infra"])
    assert not FORBIDDEN.search(text)
    assert not WORKFLOW.search(text)


def test_formats_for_programs_hold_the_values_exactly(service):
    hostile = LINE + CONTROLS
    service.state.things["door"]["size"] = hostile
    for read, format_ in ((json.loads, "json"), (yaml.safe_load, "yaml")):
        (one,) = read(said(["check", "-f", "infra", "-o", format_]))["resources"]
        assert [finding["observed"] for finding in one["findings"]] == [hostile]
    assert json.loads(said(["check", "-f", "infra", "-o", "sarif"]))["version"] == "2.1.0"
    assert ET.fromstring(said(["check", "-f", "infra", "-o", "junit"])).attrib["failures"] == "1"


def test_no_html_of_a_service_stands_in_markdown(service):
    service.state.things["door"] |= {HTML: HTML, "size": HTML}
    for command in ("check", "plan"):
        text = said([command, "-f", "infra", "-o", "markdown"])
        assert not re.search(r"<(script|img)", text), text


def test_a_log_has_one_line_a_decision(service, caplog):
    service.state.things["door"] |= {LINE: CONTROLS, "size": CONTROLS}
    with caplog.at_level("DEBUG", logger="holdfast.reconcile"):
        said(["check", "-f", "infra"])
    lines = [record.getMessage() for record in caplog.records if record.name == "holdfast.reconcile"]
    assert lines
    assert not any("\n" in line or FORBIDDEN.search(line) for line in lines)
