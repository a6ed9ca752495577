"""Correction within limits, by the commands a person types: the four verbs, holds, contention, undo, explain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.test_commands import run

MANIFEST = """\
# our application
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: app}
spec:
  managedOptions: {resyncPeriod: 1h}
  resource:
    path: app.yaml
    content:
      log: info      # keep it quiet
      workers: 4
      tags: {team: web}
"""
APP = "files/Document/app"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "infra").mkdir()
    (tmp_path / "live").mkdir()
    (tmp_path / "infra" / "app.yaml").write_text(MANIFEST.replace("spec:\n", "spec:\n  connection: files\n"))
    project(tmp_path)
    assert holdfast(tmp_path, "apply", "-y").returncode == 0
    return tmp_path


def project(folder: Path, corrections: str = "") -> None:
    base = "connections:\n  files: {provider: file, root: live}\n"
    (folder / "holdfast.yaml").write_text(base + (f"corrections:\n{corrections}" if corrections else ""))


def holdfast(folder: Path, command: str, *args: str):
    files = ("-f", "infra") if command not in ("pause", "resume", "contention", "corrections") else ()
    return run(command, *args, *files, cwd=folder)


def drift(folder: Path, before: str = "info", after: str = "debug") -> None:
    live = folder / "live/app.yaml"
    live.write_text(live.read_text().replace(before, after))


def live(folder: Path) -> str:
    return (folder / "live/app.yaml").read_text()


def answer(result) -> Any:
    return json.loads(result.stdout)


def test_accept_edits_the_manifest_keeps_its_comments_and_the_next_plan_is_empty(folder):
    drift(folder, "workers: 4", "workers: 8")
    accepted = holdfast(folder, "accept", APP, "/content/workers")
    assert accepted.returncode == 0, accepted.stderr
    manifest = (folder / "infra/app.yaml").read_text()
    assert manifest == MANIFEST.replace("spec:\n", "spec:\n  connection: files\n").replace("workers: 4", "workers: 8")
    planned = holdfast(folder, "plan", "--detailed-exitcode")
    assert (planned.returncode, "0 to change" in planned.stdout) == (0, True)


def test_accept_with_dry_run_shows_the_change_and_writes_nothing(folder):
    drift(folder)
    before = (folder / "infra/app.yaml").read_text()
    shown = holdfast(folder, "accept", APP, "--dry-run")
    assert "+      log: debug      # keep it quiet" in shown.stdout
    assert (folder / "infra/app.yaml").read_text() == before


@pytest.mark.parametrize("verb", ["accept", "revert"])
def test_where_nothing_differs_there_is_nothing_to_settle(folder, verb):
    refused = holdfast(folder, verb, APP, "/content/log")
    assert refused.returncode == 1
    assert "has no finding at /content/log" in refused.stderr


def test_revert_puts_back_one_field_and_leaves_the_others(folder):
    drift(folder)
    drift(folder, "workers: 4", "workers: 8")
    assert holdfast(folder, "revert", APP, "/content/log").returncode == 0
    assert "log: info" in live(folder)
    assert "workers: 8" in live(folder)


def test_baseline_takes_the_live_value_and_shows_it_ever_after(folder):
    drift(folder)
    assert holdfast(folder, "baseline", APP, "/content/log", "--why", "for now").returncode == 0
    checked = holdfast(folder, "check", "--detailed-exitcode")
    assert checked.returncode == 0
    assert "baselined" in checked.stdout
    assert "Suppressed: 1 baselined." in checked.stdout
    assert answer(holdfast(folder, "check", "-o", "json"))["summary"]["suppressed"] == {"baselined": 1}


def test_waive_writes_a_reviewable_file_and_a_mistyped_path_is_refused(folder):
    drift(folder)
    common = ("--owner", "ada", "--reason", "load test", "--expires", "2099-12-01", "--ticket", "OPS-1")
    refused = holdfast(folder, "waive", APP, "/content/lgo", *common)
    assert refused.returncode == 1
    assert "did you mean /content/log?" in refused.stderr
    assert holdfast(folder, "waive", APP, "/content/log", *common).returncode == 0
    assert "owner: ada" in (folder / "waivers.yaml").read_text()
    assert holdfast(folder, "check", "--detailed-exitcode").returncode == 0
    past = holdfast(folder, "waive", APP, "/content/log", *common[:4], "--expires", "2020-01-01")
    assert (past.returncode, "is past" in past.stderr) == (1, True)


def test_an_expired_waiver_is_drift_again_and_doctor_names_it(folder):
    drift(folder)
    entry = f"waivers:\n- {{resource: {APP}, path: /content/log, owner: ada, reason: x, expires: 2020-01-01}}\n"
    (folder / "waivers.yaml").write_text(entry)
    checked = holdfast(folder, "check", "--detailed-exitcode")
    assert checked.returncode == 4
    assert "the waiver of ada for /content/log expired on 2020-01-01" in checked.stdout
    assert "waivers.yaml:2" in holdfast(folder, "doctor").stdout


def test_a_pause_is_met_with_who_and_why_and_ends_with_resume(folder):
    drift(folder)
    assert holdfast(folder, "pause", "--why", "incident 4711", "--who", "ada").returncode == 0
    applied = holdfast(folder, "apply", "-y")
    assert "incident 4711" in applied.stdout
    assert "ada" in applied.stdout
    assert "log: debug" in live(folder)
    assert holdfast(folder, "pause", "fiels", "--why", "x").returncode == 1, "a mistyped scope would be no pause"
    assert holdfast(folder, "resume").returncode == 0
    assert holdfast(folder, "apply", "-y").returncode == 0
    assert "log: info" in live(folder)


def test_approve_binds_to_the_plan_that_was_shown(folder):
    manifest = folder / "infra/app.yaml"
    manifest.write_text(manifest.read_text().replace("resyncPeriod: 1h", "resyncPeriod: 1h, onDrift: approve"))
    drift(folder)
    (held,) = answer(holdfast(folder, "plan", "-o", "json"))["resources"]
    assert (held["action"], held["held"]) == ("hold", "update")
    drift(folder, "debug", "trace")
    stale = holdfast(folder, "approve", held["plan"])
    assert (stale.returncode, "changed outside Holdfast" in stale.stderr) == (1, True)
    (held,) = answer(holdfast(folder, "plan", "-o", "json"))["resources"]
    assert holdfast(folder, "approve", held["plan"], "--why", "seen").returncode == 0
    assert holdfast(folder, "apply", "-y").returncode == 0
    assert "log: info" in live(folder)


def test_a_contention_is_listed_and_a_person_decides(folder):
    project(folder, "  contention: {reverts: 2, backoff: 0s}\n")
    for _ in range(3):
        drift(folder)
        holdfast(folder, "apply", "-y")
    assert "log: debug" in live(folder)
    (contention,) = answer(holdfast(folder, "contention", "-o", "json"))["contention"]
    assert (contention["path"], contention["ours"], contention["theirs"]) == ("/content/log", "info", ["debug"])
    assert "waits for a person" in holdfast(folder, "apply", "-y").stdout
    assert holdfast(folder, "revert", APP, "/content/log").returncode == 0
    assert "No contention." in holdfast(folder, "contention").stdout


def test_undo_puts_back_what_was_there_and_refuses_what_moved_since(folder):
    drift(folder)
    holdfast(folder, "apply", "-y")
    newest = answer(holdfast(folder, "corrections", "-o", "json"))[0]
    assert newest["paths"] == [{"path": "/content/log", "before": "debug", "after": "info", "took": True}]
    drift(folder, "info", "trace")
    refused = holdfast(folder, "undo", newest["id"][:10])
    assert (refused.returncode, "has moved since" in refused.stderr) == (1, True)
    drift(folder, "trace", "info")
    assert holdfast(folder, "undo", newest["id"][:10]).returncode == 0
    assert "log: debug" in live(folder)
    assert "undone" in holdfast(folder, "apply", "-y").stdout
    assert "log: debug" in live(folder)


def test_a_freeze_window_holds_the_correction_while_the_check_sees_the_drift(folder):
    project(folder, "  windows:\n  - {freeze: {from: 2020-01-01, until: 2099-01-01}, reason: holidays}\n")
    drift(folder)
    assert "holidays" in holdfast(folder, "apply", "-y").stdout
    assert "log: debug" in live(folder)
    assert holdfast(folder, "check", "--detailed-exitcode").returncode & 4


def test_a_wrong_limit_is_named_with_file_line_and_field(folder):
    project(folder, "  budgets:\n  - {max: ten, per: 1h}\n")
    result = holdfast(folder, "check")
    assert result.returncode == 1
    assert "holdfast.yaml:5" in result.stderr
    assert "Traceback" not in result.stderr


def test_explain_tells_values_rule_cause_age_what_next_and_how_to_settle_it(folder):
    drift(folder)
    project(folder, "  windows:\n  - {freeze: {from: 2020-01-01, until: 2099-01-01}, reason: holidays}\n")
    holdfast(folder, "check")
    told = holdfast(folder, "explain", APP, "/content/log").stdout
    for part in ("info", "debug", "rule", "cause", "began", "holidays", "next:", f"holdfast accept {APP} /content/log"):
        assert part in told, part
    body = answer(holdfast(folder, "explain", APP, "/content/log", "-o", "json"))
    (finding,) = body["findings"]
    assert finding["cause"]["class"] == "external_edit"
    assert (body["next"]["action"], body["next"]["held"]) == ("hold", "update")


def test_explain_names_the_rule_that_hides_a_path(folder):
    manifest = folder / "infra/app.yaml"
    ignored = "resyncPeriod: 1h, onDriftPaths: {/content/log: ignore}"
    manifest.write_text(manifest.read_text().replace("resyncPeriod: 1h", ignored).replace("workers: 4", "workers: 5"))
    holdfast(folder, "apply", "-y")
    drift(folder)
    assert holdfast(folder, "check", "--detailed-exitcode").returncode == 0
    assert "ignored" in holdfast(folder, "check", "--all").stdout
    told = holdfast(folder, "explain", APP, "/content/log").stdout
    assert "hidden (ignore): neither compared nor written" in told
    assert "policy/ignored" in told
