"""A full disk, a closed output, a store that may not be written: one line, a code, and nothing is lost."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.cli import command_group
from tests.acceptance.test_commands import run

MANY = "---\n".join(
    f"apiVersion: file.holdfast.dev/v1\nkind: Document\nmetadata: {{name: d{n}}}\n"
    f"spec: {{resource: {{path: live/d{n}.yaml, content: {{level: info, n: {n}}}}}}}\n"
    for n in range(40)
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "m.yaml").write_text(MANY)
    return tmp_path


def start(folder: Path, *arguments: str, stdout: int, before: Callable[[], None] | None = None):
    command = [sys.executable, "-m", "holdfast", *arguments]
    return subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        preexec_fn=before,  # noqa: PLW1509 - there are no threads here
    )


def ended(process) -> tuple[int, str]:
    _, complained = process.communicate(timeout=300)
    return process.returncode, complained.decode()


def is_one_line(text: str) -> bool:
    return text.startswith("Error: ") and text.count("\n") == 1 and "Traceback" not in text


@pytest.mark.parametrize("command", [("check", "--all"), ("plan", "-o", "json"), ("status",)], ids=lambda args: args[0])
def test_output_that_cannot_be_written_is_one_line_and_a_code(folder, command):
    assert run("check", "-f", "m.yaml", cwd=folder).returncode == 0
    with Path("/dev/full").open("wb") as full:
        code, complained = ended(start(folder, *command, "-f", "m.yaml", stdout=full.fileno()))
    assert code == 1
    assert is_one_line(complained)
    assert "No space left on device" in complained


def test_a_closed_standard_output_is_said_before_anything_is_done(folder):
    process = start(folder, "apply", "-y", "-f", "m.yaml", stdout=subprocess.PIPE, before=lambda: os.close(1))
    code, complained = ended(process)
    assert code == 1
    assert is_one_line(complained)
    assert "standard output is closed" in complained
    assert not (folder / "live").exists()


@pytest.mark.parametrize("sink", ["/dev/full", "pipe"])
def test_an_apply_whose_output_fails_finishes_what_is_in_hand(folder, sink):
    """Writes under way are carried through and recorded; the next apply has only the rest to do."""
    if sink == "pipe":
        reader, writer = os.pipe()
        os.close(reader)
    else:
        writer = os.open(sink, os.O_WRONLY)
    code, complained = ended(start(folder, "apply", "-y", "-f", "m.yaml", stdout=writer))
    os.close(writer)
    assert code != 0
    assert complained == "" if sink == "pipe" else is_one_line(complained)
    made = len(list((folder / "live").glob("*.yaml")))
    assert made >= 1
    done = run("apply", "-y", "-f", "m.yaml", cwd=folder)
    assert done.returncode == 0
    assert f"Apply: {40 - made} added" in done.stdout
    assert "unbroken" in run("audit", "verify", "-f", "m.yaml", cwd=folder).stdout


def test_a_store_that_cannot_grow_is_one_line_and_the_next_apply_goes_on(folder):
    """As on a full disk: files may not grow beyond what a store needs at once."""
    assert run("check", "-f", "m.yaml", cwd=folder).returncode == 0

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    code, complained = ended(start(folder, "apply", "-y", "-f", "m.yaml", stdout=subprocess.DEVNULL, before=limit))
    assert code == 1
    assert is_one_line(complained), complained
    assert "cannot use the store" in complained
    done = run("apply", "-y", "-f", "m.yaml", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list((folder / "live").glob("*.yaml"))) == 40
    assert "unbroken" in run("audit", "verify", "-f", "m.yaml", cwd=folder).stdout


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that another user may reach, which is not so below pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextmanager
def somebody_else() -> Iterator[None]:
    """Be a user who may not write everywhere; this process, because the interpreter may be out of that user's reach."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@pytest.mark.parametrize("locked", ["store", "folder"])
def test_a_store_or_folder_that_may_not_be_written_is_one_line(shared, folder, monkeypatch, capsys, locked):
    monkeypatch.chdir(folder)
    assert command_group._outcome(["apply", "-y", "-f", "m.yaml"]) == 0  # so that everything is imported by now
    monkeypatch.chdir(shared)
    (shared / "m.yaml").write_text(MANY)
    if locked == "store":
        assert command_group._outcome(["check", "-f", "m.yaml"]) == 0
        (shared / ".holdfast").chmod(0o555)
        for file in (shared / ".holdfast").iterdir():
            file.chmod(0o444)
    shared.chmod(0o555)
    capsys.readouterr()
    with somebody_else():
        code = command_group._outcome(["apply", "-y", "-f", "m.yaml"])
    shared.chmod(0o755)
    (shared / ".holdfast").chmod(0o755) if locked == "store" else None
    complained = capsys.readouterr().err
    assert code == 1
    assert is_one_line(complained), complained
    assert "store" in complained
    assert not (shared / "live").exists()
