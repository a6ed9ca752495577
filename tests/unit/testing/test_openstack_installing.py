"""The environment of OpenStack's services is made whole or recreated; the world's hiccups are ridden out."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from holdfast_emulators.openstack import install
from holdfast_emulators.openstack.install import Unavailable


class Machine:
    """Makes environments out of nothing; the first so many installations fail."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.installed = 0
        self.made = 0

    def run(self, command: list[str], failure: str) -> None:
        if "venv" in command:
            python = Path(command[-1]) / "bin" / "python"
            python.parent.mkdir(parents=True)
            python.symlink_to(sys.executable)
            self.made += 1
            return
        self.installed += 1
        if self.installed <= self.failures:
            raise Unavailable(f"{failure}: no route to the index")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setenv(install.HOME_VARIABLE, str(tmp_path))
    monkeypatch.setattr(install, "_run", made.run)
    monkeypatch.setattr(install, "_PAUSE_SECONDS", 0.0)
    return made


def test_it_is_made_once(machine: Machine):
    said: list[str] = []
    first = install.environment(said.append)
    assert install.environment(said.append) == first
    assert (machine.made, machine.installed) == (1, 1)
    assert [words.partition(" ")[0] for words in said] == ["installing", "installed"]


def test_a_hiccup_is_ridden_out(machine: Machine):
    machine.failures = install.ATTEMPTS - 1
    said: list[str] = []
    install.environment(said.append)
    assert machine.installed == install.ATTEMPTS
    assert "attempt 1 of 3 failed, trying again" in said[1]


def test_what_cannot_be_had_is_said_and_tried_again_the_next_time(machine: Machine):
    machine.failures = install.ATTEMPTS
    with pytest.raises(Unavailable, match="no route to the index"):
        install.environment()
    install.environment()
    assert machine.made == 2


def test_a_half_made_one_is_made_again(machine: Machine, tmp_path: Path):
    """Whoever made it was killed before it was whole."""
    python = install.environment()
    (python.parent.parent / ".ready").unlink()
    (python.parent / "left-over").touch()
    install.environment()
    assert machine.made == 2
    assert not (python.parent / "left-over").exists()


def test_one_whose_interpreter_is_gone_is_made_again(machine: Machine):
    python = install.environment()
    python.unlink()
    python.symlink_to("/nonexistent/python")
    install.environment()
    assert machine.made == 2


def test_the_cache_is_where_caches_are(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(install.HOME_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert install.home() == Path("/somewhere/holdfast/openstack")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert install.home() == Path("/home/me/.cache/holdfast/openstack")


def test_a_command_that_fails_is_told_in_its_own_words(monkeypatch: pytest.MonkeyPatch):
    complain = "import sys; print('noise', file=sys.stderr); sys.exit('ERROR: no matching distribution')"
    with pytest.raises(Unavailable, match="cannot be installed: ERROR: no matching distribution"):
        install._run([sys.executable, "-c", complain], "cannot be installed")
    with pytest.raises(Unavailable, match="No such file"):
        install._run(["/nonexistent/command"], "cannot be installed")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    silent = "import os, sys; sys.exit(any(name.startswith('PYTHON') for name in os.environ))"
    install._run([sys.executable, "-c", silent], "our own environment leads it astray")
    assert os.environ["PYTHONPATH"] == "/somewhere"
