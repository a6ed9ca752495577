"""kill -9 at every step boundary of every action: after a restart the end state is right and nothing is done twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ACTIONS = ("create", "update", "replace", "recreate", "delete")
pytestmark = pytest.mark.slow


def child(folder: Path, action: str, kill_at: int = -1) -> subprocess.CompletedProcess[str]:
    runs = folder / "runs"
    runs.write_text(str(int(runs.read_text()) + 1 if runs.exists() else 0))
    return subprocess.run(
        [sys.executable, "-m", "tests.integration.reconcile.child", str(folder), action, str(kill_at)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def world(folder: Path):
    return json.loads((folder / "world.json").read_text())


def prepared(folder: Path, action: str) -> None:
    """Bring about what the action starts from."""
    folder.mkdir()
    if action == "create":
        return
    assert child(folder, "create").returncode == 0
    if action == "recreate":
        body = world(folder)
        body["things"] = {}
        (folder / "world.json").write_text(json.dumps(body))


def end_state(folder: Path) -> list[dict[str, object]]:
    return [{k: v for k, v in thing.items() if k != "name"} for thing in world(folder)["things"].values()]


EXPECTED = {
    "create": [{"color": "red", "kind": "round"}],
    "update": [{"color": "green", "kind": "round"}],
    "replace": [{"color": "red", "kind": "square"}],
    "recreate": [{"color": "red", "kind": "round"}],
    "delete": [],
}


@pytest.mark.parametrize("action", ACTIONS)
def test_a_kill_at_any_boundary_loses_nothing_and_doubles_nothing(tmp_path, action):
    straight = tmp_path / "straight"
    prepared(straight, action)
    done = child(straight, action)
    assert done.returncode == 0, done.stderr
    boundaries = json.loads(done.stdout)["boundaries"]
    usual = world(straight)["writes"]
    assert end_state(straight) == EXPECTED[action]
    assert boundaries >= 8
    for kill_at in range(boundaries):
        folder = tmp_path / str(kill_at)
        prepared(folder, action)
        killed = child(folder, action, kill_at)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        again = child(folder, action)
        assert again.returncode == 0, f"killed at {kill_at}: {again.stderr}"
        assert json.loads(again.stdout)["operations"] == 0, f"killed at {kill_at}"
        assert end_state(folder) == EXPECTED[action], f"killed at {kill_at}"
        writes = [verb for verb, _, _ in world(folder)["writes"]]
        for verb in ("create", "delete"):  # updates may be repeated, they are idempotent
            assert writes.count(verb) == [v for v, _, _ in usual].count(verb), f"killed at {kill_at}: {writes}"
        clean = child(folder, "create" if action == "recreate" else action)
        assert clean.returncode == 0
        assert [verb for verb, _, _ in world(folder)["writes"]] == writes, f"killed at {kill_at}: not clean afterwards"
