"""Reports in other formats, and notifications, from the command as people and CI run it."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.acceptance.test_commands import run

MANIFESTS = """\
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: app}
spec:
  managedOptions: {resyncPeriod: 1h}
  resource:
    path: etc/app.yaml
    content:
      log: {level: info}
      workers: 4
---
apiVersion: file.holdfast.dev/v1
kind: Text
metadata: {name: motd}
spec:
  managedOptions: {resyncPeriod: 1h}
  resource: {path: etc/motd, content: "hello\\n"}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with manifests that were applied, in which somebody then changed a file."""
    repository = tmp_path / "repository"
    (repository / "infra").mkdir(parents=True)
    (repository / ".git").mkdir()
    (repository / "infra" / "all.yaml").write_text(MANIFESTS)
    (repository / "holdfast.yaml").write_text("notify: [{file: events.jsonl}]\n")
    assert run("apply", "-y", "-f", "infra", cwd=repository).returncode == 0
    live = repository / "infra/etc/app.yaml"
    live.write_text(live.read_text().replace("info", "debug"))
    return repository


def events(folder: Path) -> list[str]:
    file = folder / "events.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    return [json.loads(line)["type"].removeprefix("dev.holdfast.") for line in lines]


def test_one_run_fills_the_log_and_all_the_files_of_a_job(folder):
    wanted = {
        "sarif": "o.sarif",
        "junit": "o.xml",
        "markdown": "o.md",
        "html": "o.html",
        "json": "o.json",
        "yaml": "o.yaml",
    }
    files = [word for name, file in wanted.items() for word in ("--output-file", f"{name}={file}")]
    done = run("check", "-f", "infra", "--detailed-exitcode", *files, cwd=folder)
    assert done.returncode == 4, done.stderr
    assert "Checked 2: 1 in sync, 1 drifted." in done.stdout
    (result,) = json.loads((folder / "o.sarif").read_text())["runs"][0]["results"]
    physical = result["locations"][0]["physicalLocation"]
    assert physical == {
        "artifactLocation": {"uri": "infra/all.yaml", "uriBaseId": "SRCROOT"},
        "region": {"startLine": 9},
    }
    assert ET.parse(folder / "o.xml").getroot().attrib["failures"] == "1"
    assert "## Holdfast check: 1 drifted, 1 in sync" in (folder / "o.md").read_text()
    assert "<!doctype html>" in (folder / "o.html").read_text()
    assert json.loads((folder / "o.json").read_text())["summary"]["total"] == 2
    assert "summary:\n" in (folder / "o.yaml").read_text()
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == [".git", ".holdfast"]


@pytest.mark.parametrize("command", ["check", "plan"])
@pytest.mark.parametrize("name", ["markdown", "sarif", "junit", "html"])
def test_each_format_goes_to_standard_output_alone(folder, command, name):
    done = run(command, "-f", "infra", "-o", name, cwd=folder)
    assert done.returncode == 0, done.stderr
    first = {"markdown": f"## Holdfast {command}", "sarif": "{", "junit": "<?xml", "html": "<!doctype html>"}[name]
    assert done.stdout.startswith(first)


def test_lines_are_those_of_the_repository_from_any_folder_in_it(folder):
    done = run("check", "-f", "all.yaml", "-o", "sarif", cwd=folder / "infra")
    (result,) = json.loads(done.stdout)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "infra/all.yaml"


@pytest.mark.parametrize(
    "given, message", [("sarif", "is not FORMAT=FILE"), ("serif=x", "'serif' is not one of json,")]
)
def test_a_malformed_output_file_is_wrong_usage(folder, given, message):
    done = run("check", "-f", "infra", "--output-file", given, cwd=folder)
    assert done.returncode == 64
    assert message in done.stderr


def test_a_file_that_cannot_be_written_is_an_error_after_the_verdict(folder):
    done = run("check", "-f", "infra", "--output-file", "sarif=nowhere/o.sarif", cwd=folder)
    assert done.returncode == 1
    assert "1 drifted" in done.stdout
    assert "nowhere/o.sarif: cannot be written: No such file or directory" in done.stderr


def test_a_drift_is_told_once_and_its_correction_and_its_end(folder):
    for _ in range(2):
        assert run("check", "-f", "infra", cwd=folder).returncode == 0
    assert events(folder) == ["drift.detected.v1"]
    assert run("plan", "-f", "infra", cwd=folder).returncode == 0
    assert events(folder) == ["drift.detected.v1"]
    assert run("apply", "-y", "-f", "infra", cwd=folder).returncode == 0
    assert events(folder) == ["drift.detected.v1", "correction.done.v1", "drift.resolved.v1"]


def test_a_watch_tells_what_it_puts_back(folder):
    done = run("watch", "-f", "infra", "--rounds", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert events(folder) == ["correction.done.v1"]


def test_a_sink_that_fails_changes_neither_the_verdict_nor_the_exit_code(folder):
    (folder / "holdfast.yaml").write_text("notify: [{command: [./none]}, {webhook: 'http://127.0.0.1:1/t0ken'}]\n")
    done = run("check", "-f", "infra", "--detailed-exitcode", "-o", "json", cwd=folder)
    assert done.returncode == 4
    assert json.loads(done.stdout)["summary"]["byStatus"] == {"drifted": 1, "in_sync": 1}
    assert "1 of 1 notifications not delivered to command none: ./none cannot be run" in done.stderr
    assert "not delivered to webhook 127.0.0.1" in done.stderr
    assert "t0ken" not in done.stderr
    letters = (folder / ".holdfast/undelivered.jsonl").read_text().splitlines()
    assert {json.loads(letter)["sink"].partition(" ")[0] for letter in letters} == {"command", "webhook"}


def test_a_device_is_written_to_and_not_replaced(folder):
    done = run("check", "-f", "infra", "--output-file", "junit=/dev/null", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert Path("/dev/null").is_char_device()


def test_a_mistake_in_the_section_is_told_before_anything_is_touched(folder):
    (folder / "holdfast.yaml").write_text("notify:\n  - {file: x, on: [drift]}\n")
    done = run("check", "-f", "infra", cwd=folder)
    assert done.returncode == 1
    assert "holdfast.yaml:2:" in done.stderr
    assert "did you mean drifted?" in done.stderr


def test_the_program_of_a_sink_gets_the_event(folder):
    (folder / "page").write_text("#!/bin/sh\ncat > paged.json\n")
    (folder / "page").chmod(0o755)
    (folder / "holdfast.yaml").write_text("notify: [{command: [./page], on: drifted}]\n")
    assert run("check", "-f", "../infra", cwd=folder / "infra").returncode == 0
    paged = json.loads((folder / "paged.json").read_text())
    assert (paged["specversion"], paged["subject"]) == ("1.0", "local/Document/app")
