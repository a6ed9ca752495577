"""A folder of manifests, the real command, real files: plan, apply, check, explain, break, mend."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.test_commands import run

MANIFESTS = """\
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: app, labels: {tier: "1"}}
spec:
  managedOptions: {resyncPeriod: 1h}
  resource:
    path: etc/app.yaml
    content: {log: {level: info}, workers: 4}
---
apiVersion: file.holdfast.dev/v1
kind: Text
metadata: {name: motd}
spec:
  managedOptions: {resyncPeriod: 1h}
  resource: {path: etc/motd, content: "workers: ${Document/app.content.workers}\\n"}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "infra").mkdir()
    (tmp_path / "infra" / "all.yaml").write_text(MANIFESTS)
    return tmp_path


def holdfast(folder: Path, *args: str, **env: str):
    return run(*args, cwd=folder, **env)


def test_apply_makes_it_so_and_the_second_plan_is_empty(folder):
    planned = holdfast(folder, "plan", "-f", "infra", "--detailed-exitcode")
    assert planned.returncode == 2
    assert "Plan: 2 to add" in planned.stdout
    applied = holdfast(folder, "apply", "-y", "-f", "infra")
    assert applied.returncode == 0, applied.stderr
    assert "Apply: 2 added" in applied.stdout
    assert (folder / "infra/etc/motd").read_text() == "workers: 4\n"
    again = holdfast(folder, "plan", "-f", "infra", "--detailed-exitcode")
    assert again.returncode == 0
    assert "Plan: 0 to add, 0 to change" in again.stdout


def test_drift_is_found_explained_and_corrected_with_comments_kept(folder):
    holdfast(folder, "apply", "-y", "-f", "infra")
    live = folder / "infra/etc/app.yaml"
    live.write_text(live.read_text().replace("info", "debug").replace("workers: 4", "workers: 4  # ours"))
    checked = holdfast(folder, "check", "-f", "infra", "--detailed-exitcode", "-o", "json")
    assert checked.returncode == 4
    body = json.loads(checked.stdout)
    (drifted,) = [r for r in body["resources"] if r["status"] == "drifted"]
    assert [f["path"] for f in drifted["findings"]] == ["/content/log/level"]
    explained = holdfast(folder, "explain", "local/Document/app", "/content/log", "-f", "infra")
    assert '"debug"' in explained.stdout
    assert (
        "resource (infra/all.yaml:5)"
        in holdfast(folder, "explain", "--settings", "local/Document/app", "-f", "infra").stdout
    )
    assert holdfast(folder, "apply", "-y", "-f", "infra").returncode == 0
    assert "level: info" in live.read_text()
    assert "# ours" in live.read_text()


def test_what_cannot_be_read_makes_coverage_incomplete_and_is_not_drift(folder):
    holdfast(folder, "apply", "-y", "-f", "infra")
    live = folder / "infra/etc/app.yaml"
    live.write_text("log: [unclosed\n")
    checked = holdfast(folder, "check", "-f", "infra", "--detailed-exitcode")
    assert checked.returncode == 8
    assert "Coverage incomplete: 1 of 2" in checked.stdout
    assert holdfast(folder, "check", "-f", "infra").returncode == 1
    assert holdfast(folder, "apply", "-y", "-f", "infra").returncode == 1
    assert live.read_text() == "log: [unclosed\n"


def test_a_saved_plan_is_applied_exactly_or_refused(folder):
    holdfast(folder, "plan", "-f", "infra", "--out", "plan.json")
    (folder / "infra/etc").mkdir()
    (folder / "infra/etc/app.yaml").write_text("log: {level: trace}\n")
    refused = holdfast(folder, "apply", "plan.json")
    assert refused.returncode == 1
    assert "the plan is outdated" in refused.stderr
    assert (folder / "infra/etc/app.yaml").read_text() == "log: {level: trace}\n"
    holdfast(folder, "plan", "-f", "infra", "--out", "plan.json")
    text = (folder / "plan.json").read_text()
    (folder / "plan.json").write_text(text.replace('"update"', '"create"'))
    assert "edited after it was saved" in holdfast(folder, "apply", "plan.json").stderr
    (folder / "plan.json").write_text(text)
    assert holdfast(folder, "apply", "plan.json").returncode == 0


def test_deletion_asks_first_and_then_deletes_dependents_first(folder):
    holdfast(folder, "apply", "-y", "-f", "infra")
    assert holdfast(folder, "delete", "-f", "infra").returncode == 1
    assert (folder / "infra/etc/motd").exists()

    assert holdfast(folder, "delete", "-f", "infra", "--yes").returncode == 0
    assert not (folder / "infra/etc/motd").exists()
    assert not (folder / "infra/etc/app.yaml").exists()


def test_status_history_audit_and_replay_tell_what_happened(folder):
    holdfast(folder, "apply", "-y", "-f", "infra")
    assert json.loads(holdfast(folder, "status", "-f", "infra", "-o", "json").stdout)["tally"] == {"in_sync": 2}
    assert "unbroken" in holdfast(folder, "audit", "verify", "-f", "infra").stdout
    rows = json.loads(holdfast(folder, "history", "-f", "infra", "-o", "json").stdout)
    decisions = [row["what"].split()[1] for row in rows if row["what"].startswith("decision ")]
    assert decisions
    for decision in decisions:
        assert "agrees, byte for byte" in holdfast(folder, "replay", decision, "-f", "infra").stdout
    assert "no problems found" in holdfast(folder, "doctor", "-f", "infra").stdout


def test_targets_bring_along_what_they_need(folder):
    applied = holdfast(folder, "apply", "-y", "-f", "infra", "--target", "local/Document/*")
    assert "Apply: 1 added" in applied.stdout
    assert not (folder / "infra/etc/motd").exists()
    assert "Apply: 1 added" in holdfast(folder, "apply", "-y", "-f", "infra", "--target", "local/Text/motd").stdout


MISTAKES = {
    "unknown field": ("spec:\n  resouce: {path: x, content: y}\n", "resouce"),
    "bad duration": (
        "spec:\n  managedOptions: {resyncPeriod: soon}\n  resource: {path: x, content: y}\n",
        "resyncPeriod",
    ),
    "unknown connection": ("spec:\n  connection: nowhere\n  resource: {path: x, content: y}\n", "nowhere"),
    "reference to nothing": ("spec:\n  resource: {path: x, content: '${Text/nobody.path}'}\n", "nobody"),
}


@pytest.mark.parametrize("body, says", MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_in_a_manifest_names_file_line_and_field_and_changes_nothing(tmp_path, body, says):
    (tmp_path / "m.yaml").write_text("apiVersion: file.holdfast.dev/v1\nkind: Text\nmetadata: {name: t}\n" + body)
    done = holdfast(tmp_path, "apply", "-y", "-f", "m.yaml")
    assert done.returncode == 1
    assert "m.yaml:" in done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != ".holdfast") == ["m.yaml"]


def test_two_processes_applying_the_same_folder_both_end_clean(folder):
    many = "---\n".join(
        f"apiVersion: file.holdfast.dev/v1\nkind: Text\nmetadata: {{name: t{i}}}\n"
        f"spec:\n  resource: {{path: out/t{i}, content: 'x{i}'}}\n"
        for i in range(30)
    )
    (folder / "infra/all.yaml").write_text(many)
    command = [sys.executable, "-m", "holdfast", "apply", "-y", "-f", "infra", "-o", "json"]
    both = [
        subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in both:
        out, err = process.communicate(timeout=240)
        assert "Traceback" not in err, err
        assert json.loads(out)["summary"]["total"] == 30
        assert process.returncode == 0, out
    done = holdfast(folder, "apply", "-y", "-f", "infra", "-o", "json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["acted"] == []
    assert len(list((folder / "infra/out").iterdir())) == 30
    assert "unbroken" in holdfast(folder, "audit", "verify", "-f", "infra").stdout
    rows = json.loads(holdfast(folder, "history", "-f", "infra", "--limit", "10000", "-o", "json").stdout)
    created = [row["address"] for row in rows if row["what"] == "write.done" and row["data"]["action"] == "create"]
    assert len(created) == len(set(created))


def test_watch_corrects_what_is_due_and_stops_when_told(folder):
    command = [sys.executable, "-u", "-m", "holdfast", "watch", "-f", "infra"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if "Checked 2" in line:
            break
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=240)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert (folder / "infra/etc/motd").exists()


def test_watch_follows_edits_and_survives_broken_ones(folder):
    """An edit is applied without a restart; a broken one is named, and watching goes on with what there was."""
    command = [sys.executable, "-u", "-m", "holdfast", "watch", "-f", "infra"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    manifest = next((folder / "infra").glob("*.yaml"))
    good = manifest.read_text()
    try:
        wait_for(process.stdout, "Checked 2")
        manifest.write_text(good + "\nkind: [")
        assert manifest.name in wait_for(process.stdout, "Warning")
        manifest.write_text(good.replace("workers: 4", "workers: 5"))
        wait_for(process.stdout, "manifests were edited")
        wait_for(process.stdout, "update local/")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=240)
    assert "workers: 5" in (folder / "infra/etc/app.yaml").read_text()


def test_another_place_for_the_implied_connection_is_refused(folder):
    """Where `local` begins follows from -f; another -f would make everything look gone, and be made elsewhere."""
    holdfast(folder, "apply", "-y", "-f", "infra")
    (folder / "other").mkdir()
    (folder / "other/one.yaml").write_text((folder / "infra/all.yaml").read_text())
    refused = holdfast(folder, "plan", "-f", "other", "--store", "infra/.holdfast/holdfast.db")
    assert refused.returncode == 1
    assert "`local` now resolves to" in refused.stderr


def wait_for(lines, text):
    for line in lines:
        if text in line:
            return line
    raise AssertionError(f"the output ended without {text!r}")
