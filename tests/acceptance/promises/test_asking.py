"""apply asks before it writes: on the terminal, wherever its output goes; where nobody can be asked it refuses."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from tests.acceptance.test_commands import run

MANIFEST = """\
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: app}
spec: {resource: {path: live/app.yaml, content: {level: info}}}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "m.yaml").write_text(MANIFEST)
    return tmp_path


def at_terminal(folder, answer: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command with a terminal on standard input and pipes for the rest."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "holdfast", *arguments]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=theirs, stdout=pipe, stderr=pipe, cwd=folder, text=True)
    os.close(theirs)
    os.write(ours, f"{answer}\n".encode())
    told, complained = process.communicate(timeout=120)
    os.close(ours)
    return subprocess.CompletedProcess(command, process.returncode, told, complained)


def test_without_a_terminal_and_without_yes_apply_refuses(folder):
    done = run("apply", "-f", "m.yaml", cwd=folder)
    assert done.returncode == 1
    assert "--yes" in done.stderr
    assert not (folder / "live").exists()
    assert run("apply", "-f", "m.yaml", "-y", cwd=folder).returncode == 0
    assert (folder / "live/app.yaml").exists()


@pytest.mark.parametrize("format_", ["table", "json"])
def test_a_pipe_on_standard_output_does_not_skip_the_question(folder, format_):
    done = at_terminal(folder, "n", "apply", "-f", "m.yaml", "-o", format_)
    assert done.returncode == 1
    assert "Apply this?" in done.stderr
    assert "local/Document/app" in done.stdout + done.stderr
    assert not (folder / "live").exists()


def test_a_yes_at_the_terminal_applies(folder):
    done = at_terminal(folder, "y", "apply", "-f", "m.yaml")
    assert done.returncode == 0, done.stderr
    assert (folder / "live/app.yaml").exists()


def test_a_saved_plan_was_shown_already(folder):
    assert run("plan", "-f", "m.yaml", "--out", "plan.json", cwd=folder).returncode == 0
    assert run("apply", "plan.json", cwd=folder).returncode == 0
    assert (folder / "live/app.yaml").exists()
