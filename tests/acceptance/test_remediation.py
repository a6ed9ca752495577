"""Did it help, and did it hold: remediations by the commands a person types, ours and those of others."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast import Remediations
from holdfast.cli.commands.remediation import remediation_command
from holdfast.manifests import project
from holdfast.remediation.core.records import RemediationEnding
from tests.acceptance.test_commands import run
from tests.acceptance.test_examples import accept, commands

pytestmark = pytest.mark.slow  # a process for each command

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/remediation"
PAGE = ROOT / "docs/remediation.md"

APP, DB = "files/Document/app", "files/Document/db"
MANIFEST = """\
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {{name: {name}}}
spec:
  connection: files
  managementPolicy: {policy}
  managedOptions: {{{options}}}
  resource:
    path: {name}.yaml
    content: {{log: info, workers: 4}}
"""
PROJECT = """\
connections:
  files: {provider: file, root: live}
assessment:
  windows: {stabilisation: 300ms, validity: 20m, interval: 200ms, retry: 100ms}
  targets:
    - target: files/Document/*
      probes: [{name: well, command: [grep, -q, "log: info", "live/$name.yaml"]}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "infra").mkdir()
    (tmp_path / "live").mkdir()
    (tmp_path / "holdfast.yaml").write_text(PROJECT)
    declared(tmp_path)
    (tmp_path / "infra/db.yaml").write_text(MANIFEST.format(name="db", policy="observed", options=""))
    (tmp_path / "live/db.yaml").write_text("log: info\nworkers: 4\n")
    assert holdfast(tmp_path, "apply", "-y").returncode == 0
    return tmp_path


def declared(folder: Path, options: str = "resyncPeriod: 1h") -> None:
    (folder / "infra/app.yaml").write_text(MANIFEST.format(name="app", policy="managed", options=options))


def holdfast(folder: Path, *words: str, **env: str):
    return run(*words, "-f", "infra", cwd=folder, **env)


def answer(result) -> Any:
    assert result.returncode == 0, result.stdout + result.stderr
    return json.loads(result.stdout)


def drift(folder: Path, before: str, after: str, name: str = "app") -> None:
    live = folder / f"live/{name}.yaml"
    assert before in live.read_text()
    live.write_text(live.read_text().replace(before, after))


def assessed(folder: Path, *which: str) -> list[dict[str, Any]]:
    return answer(holdfast(folder, "remediation", "assess", "--wait", *which, "-o", "json"))


def test_a_correction_of_ours_is_assessed_and_its_trail_is_there_as_cloudevents(folder):
    drift(folder, "workers: 4", "workers: 9")
    assert "1 correction is assessed by a running watch, or: holdfast rem" in holdfast(folder, "apply", "-y").stdout
    (record,) = assessed(folder)
    assert (record["source"], record["action"], record["target"]) == ("correction", "update", APP)
    assert (record["assessment"]["reason"], record["assessment"]["score"]) == ("full", 1.0)
    trail = answer(holdfast(folder, "events", "--target", APP, "--since", "1h", "-o", "json"))
    told = [event for event in trail if event.get("correlationid") == record["correlationId"]]
    kinds = [event["type"] for event in told if not event["type"].startswith("write.")]
    assert kinds == [
        "remediation.workflow_created",
        "remediation.workflow_completed",
        "effectiveness.assessment.scheduled",
        "effectiveness.hash.computed",
        "effectiveness.health.assessed",
        "effectiveness.assessment.completed",
    ]
    created = told[[event["type"] for event in told].index(kinds[0])]
    assert created["specversion"] == "1.0"
    assert created["subject"] == APP
    assert created["data"]["pre_remediation_spec_hash"] == record["preRemediationSpecHash"]
    assert len({event["id"] for event in told}) == len(told)
    assert holdfast(folder, "audit", "verify").returncode == 0
    shown = holdfast(folder, "remediations", APP).stdout
    assert "good; full, score 1.00" in shown
    assert "the target is in the state it left" in shown


def test_events_are_chosen_by_type_target_and_time(folder):
    assert answer(holdfast(folder, "events", "--type", "effectiveness.", "-o", "json")) == []
    assert len(answer(holdfast(folder, "events", "--type", "write.", "--target", "Document/app", "-o", "json"))) == 3
    assert answer(holdfast(folder, "events", "--type", "write.", "--target", DB, "-o", "json")) == []
    assert answer(holdfast(folder, "events", "--since", "2099-01-01", "-o", "json")) == []
    lines = holdfast(folder, "events", "--limit", "2", "-o", "jsonl").stdout.splitlines()
    assert [json.loads(line)["specversion"] for line in lines] == ["1.0", "1.0"]
    assert "2 events" in holdfast(folder, "events", "--limit", "2").stdout
    assert holdfast(folder, "events", "--since", "yesterday").returncode == 64


def test_one_that_somebody_else_makes_is_announced_and_assessed(folder):
    started = answer(
        holdfast(
            folder,
            *("remediation", "start", DB, "--action", "scale", "--workflow", "scaler", "--alerting", APP),
            *("--alert", "HighLatency", "--label", "service=app", "--who", "ada", "-o", "json"),
        )
    )
    assert (started["source"], started["alerting"], started["outcome"]) == ("external", APP, None)
    assert started["signal"] == {"name": "HighLatency", "labels": {"service": "app"}}
    drift(folder, "workers: 4", "workers: 8", "db")
    assert holdfast(folder, "remediation", "complete", DB).returncode == 0
    drift(folder, "workers: 4", "workers: 5")  # what alerted may change; only the target is guarded
    (record,) = assessed(folder, DB)
    assert (record["correlationId"], record["assessment"]["reason"]) == (started["correlationId"], "full")
    history = answer(holdfast(folder, "remediations", DB, "-o", "json"))
    (told,) = history["remediations"]
    assert (told["effect"], told["hashMatch"], history["regressionDetected"]) == ("good", "post_remediation", False)
    drift(folder, "workers: 8", "workers: 4", "db")
    history = answer(holdfast(folder, "remediations", DB, "-o", "json"))
    assert (history["remediations"][0]["hashMatch"], history["regressionDetected"]) == ("pre_remediation", True)


def test_what_somebody_changes_in_the_window_did_not_hold_and_the_exit_code_says_so(folder):
    holdfast(folder, "remediation", "start", DB, "--id", "rr-1")
    holdfast(folder, "remediation", "complete", DB)
    drift(folder, "workers: 4", "workers: 8", "db")
    done = holdfast(folder, "remediation", "assess", "--wait", "rr-1", "--fail-under", "0.7")
    assert done.returncode == 4, done.stdout + done.stderr
    assert "spec_drift, score 0.00" in done.stdout
    shown = holdfast(folder, "remediation", "show", "rr-1").stdout
    assert "SpecIntegrity False (SpecDrifted)" in shown
    assert "did not hold" in holdfast(folder, "remediations", DB).stdout


def test_the_other_exit_codes_of_an_assessment(folder):
    drift(folder, "log: info", "log: debug", "db")
    holdfast(folder, "remediation", "start", DB, "--id", "rr-ill")
    holdfast(folder, "remediation", "complete", DB)
    assert holdfast(folder, "remediation", "assess", "--wait", "rr-ill", "--fail-under", "0.7").returncode == 16
    holdfast(folder, "remediation", "start", DB, "--id", "rr-not")
    holdfast(folder, "remediation", "complete", DB, "--outcome", "not-executed")
    done = holdfast(folder, "remediation", "assess", "--wait", "rr-not", "--fail-under", "0.7")
    assert (done.returncode, "no_execution, score none" in done.stdout) == (8, True)


def test_a_remediation_that_failed_on_this_state_is_refused_with_a_code_and_a_reason(folder):
    (folder / "holdfast.yaml").write_text(PROJECT + "defaults: {refuseAfter: 1}\n")
    drift(folder, "log: info", "log: debug", "db")
    assert holdfast(folder, "remediation", "start", DB).returncode == 0
    assert holdfast(folder, "remediation", "complete", DB).returncode == 0
    (record,) = assessed(folder, DB)
    assert record["assessment"]["score"] == 0.0
    refused = holdfast(folder, "remediation", "start", DB)
    assert refused.returncode == 16
    assert "failed 1 times; refuseAfter is 1" in refused.stderr
    assert "Another one would be refused" in holdfast(folder, "remediations", DB).stdout
    assert len(answer(holdfast(folder, "events", "--type", "remediation.refused", "-o", "json"))) == 1
    assert holdfast(folder, "remediation", "start", DB, "--anyway").returncode == 0


ILL = PROJECT.replace("log: info", "log: never")  # whatever is done, it does not help


def test_our_own_correction_that_failed_on_this_state_is_held_until_somebody_says_yes(folder):
    (folder / "holdfast.yaml").write_text(ILL)
    declared(folder, "resyncPeriod: 1h, refuseAfter: 1")
    drift(folder, "workers: 4", "workers: 9")
    assert holdfast(folder, "apply", "-y").returncode == 0
    (record,) = assessed(folder)
    assert record["assessment"]["score"] == 0.0
    drift(folder, "workers: 4", "workers: 9")
    planned = holdfast(folder, "plan")
    assert "failed 1 times" in planned.stdout
    assert "holdfast approve " in planned.stdout
    holdfast(folder, "apply", "-y")
    assert "workers: 9" in (folder / "live/app.yaml").read_text()
    assert holdfast(folder, "approve", "--all", "--yes").returncode == 0
    holdfast(folder, "apply", "-y")
    assert "workers: 4" in (folder / "live/app.yaml").read_text()


def test_a_correction_that_did_not_help_is_taken_back_by_policy(folder):
    (folder / "holdfast.yaml").write_text(ILL)
    declared(folder, "resyncPeriod: 1h, undoBelow: 0.5")
    drift(folder, "workers: 4", "workers: 9")
    assert holdfast(folder, "apply", "-y").returncode == 0
    (record,) = assessed(folder)
    assert (record["undo"], record["undoNote"]) == ("done", "as it was before")
    assert "workers: 9" in (folder / "live/app.yaml").read_text()
    holdfast(folder, "apply", "-y")
    assert "workers: 9" in (folder / "live/app.yaml").read_text(), "it waits for a person's decision"
    assert APP in holdfast(folder, "contention").stdout


def test_a_running_watch_assesses_what_it_corrects(folder):
    declared(folder, "resyncPeriod: 1s, resyncJitter: 0")
    command = [sys.executable, "-u", "-m", "holdfast", "watch", "-f", "infra"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()  # it has looked at everything
            drift(folder, "workers: 4", "workers: 9")
            lines = iter(process.stdout.readline, "")
            assert any("full, score 1.00" in line for line in lines)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=240)


def test_a_watch_goes_on_without_the_token_that_assessing_needs_and_says_so_once(folder):
    text = PROJECT.replace("  windows:", "  prometheus: {url: 'http://127.0.0.1:1', token: {env: NO_SUCH}}\n  windows:")
    (folder / "holdfast.yaml").write_text(text)
    declared(folder, "resyncPeriod: 1s, resyncJitter: 0")
    drift(folder, "workers: 4", "workers: 9")
    done = holdfast(folder, "watch", "--rounds", "6")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("nothing is assessed:") == 1
    assert "NO_SUCH" in done.stderr
    assert "/assessment/prometheus" in done.stderr


def test_mistakes_are_told_with_what_to_do(folder):
    unknown = holdfast(folder, "remediation", "start", "files/Document/ap")
    assert (unknown.returncode, "did you mean files/Document/app?" in unknown.stderr) == (1, True)
    assert "is under way; announce one" in holdfast(folder, "remediation", "complete", DB).stderr
    assert "there is no remediation rr-9" in holdfast(folder, "remediation", "assess", "rr-9").stderr
    assert holdfast(folder, "remediation", "start", DB, "--label", "a=b").returncode == 64
    (folder / "holdfast.yaml").write_text(PROJECT.replace("validity: 20m", "validity: 20"))
    broken = holdfast(folder, "remediations")
    assert broken.returncode == 1
    assert "holdfast.yaml:4" in broken.stderr
    assert "/assessment/windows/validity" in broken.stderr


def test_doctor_names_servers_that_do_not_answer_and_rules_for_nothing(folder):
    unreachable = "  prometheus: {url: 'http://127.0.0.1:1', timeout: 1s}\n  windows:"
    text = PROJECT.replace("  windows:", unreachable).replace("files/Document/*", "files/Document/ap")
    (folder / "holdfast.yaml").write_text(text)
    found = holdfast(folder, "doctor")
    assert found.returncode == 1
    assert "assessment: prometheus: could not be reached" in found.stdout
    assert "assessment of files/Document/ap: covers nothing" in found.stdout


def test_all_remediations_are_listed_and_the_past_of_one_without_looking_at_it(folder):
    holdfast(folder, "remediation", "start", DB, "--id", "rr-1", "--action", "restart")
    shown = holdfast(folder, "remediations").stdout
    assert "rr-1" in shown
    assert "under way" in shown
    (folder / "live/db.yaml").unlink()
    offline = holdfast(folder, "remediations", DB, "--offline").stdout
    assert "not known (not looked at)" in offline
    assert "restart: under way" in offline


@pytest.mark.parametrize(
    "words", [("remediation",), *(("remediation", name) for name in ("start", "complete", "assess", "show"))]
)
def test_help_has_examples(words):
    shown = run(*words, "--help").stdout
    assert "Examples:" in shown
    assert "holdfast remediation" in shown


def test_the_same_from_python(folder):
    async def main():
        remediations = Remediations(folder / "infra")
        started = await remediations.start(DB, action="restart", alert="HighLatency", correlation_id="rr-py")
        again = await remediations.start(DB, action="restart", alert="HighLatency", correlation_id="rr-py")
        assert started == again
        ended = await remediations.complete(DB)
        assert ended.ending is RemediationEnding.COMPLETED
        (record,) = await remediations.assess(DB, wait=True, timeout=240.0)
        return record, await remediations.history(DB)

    record, history = asyncio.run(main())
    assert (record.correlation_id, record.assessment.score) == ("rr-py", 1.0)
    assert history["remediations"][0]["effect"] == "good"


def test_assessing_costs_an_ordinary_run_nothing(folder):
    """Without a wish to assess there is no record, no versioned record and no event of it."""
    (folder / "holdfast.yaml").write_text(PROJECT.partition("assessment:")[0])
    drift(folder, "workers: 4", "workers: 9")
    assert holdfast(folder, "apply", "-y").returncode == 0
    assert answer(holdfast(folder, "remediations", "-o", "json")) == []
    told = [event["type"] for event in answer(holdfast(folder, "events", "-o", "json"))]
    assert not [kind for kind in told if kind.startswith(("remediation.", "effectiveness."))]
    intended = answer(holdfast(folder, "events", "--type", "write.intended", "--target", APP, "-o", "json"))[-1]
    assert intended["data"]["pre_remediation_spec_hash"].startswith("sha256:")
    assert intended["correlationid"] == intended["data"]["operation"]


def test_the_example_runs_as_it_says(tmp_path):
    shutil.copytree(EXAMPLE, tmp_path / "example", ignore=shutil.ignore_patterns("live", ".*"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    for file in (tmp_path / "example").iterdir():
        file.write_text(file.read_text().replace("8944", port))
    environ = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(
        ["bash", "try.sh"], cwd=tmp_path / "example", env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "good; full, score 0.90" in done.stdout
    assert "did not hold; spec_drift, score 0.00" in done.stdout
    assert "unbroken" in done.stdout


def test_the_commands_and_the_section_on_the_page_are_ours(tmp_path):
    page = PAGE.read_text(encoding="utf-8")
    for words in commands(page.replace("$ holdfast", "holdfast")):
        if words[0] == "remediation":
            assert words[1] in remediation_command.commands
        else:
            accept(words)
    for section in re.findall(r"^```yaml\n(assessment:.*?)^```$", page, re.MULTILINE | re.DOTALL):
        project.parse(section.encode(), tmp_path / "holdfast.yaml", "holdfast.yaml")
