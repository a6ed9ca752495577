"""kill -9 in the middle of a deploy, at every request of it: the next process completes it, and makes nothing twice."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from holdfast import ResourceManager
from holdfast.api.results import Deployment
from holdfast.providers.runpod import CpuServerlessEndpoint
from holdfast_emulators.runpod import Console, Fault, Habits, RunPodServer, Script, World, Wrong, running
from tests.integration.providers.runpod_child import AheadClock
from tests.integration.providers.runpod_processes import NEW, OLD, Process, deployed, left, live

LATER_SECONDS = 1_000.0  # by then the claim of whoever was killed has run out
pytestmark = pytest.mark.slow


@contextmanager
def platform(folder: Path, *, halves: bool) -> Iterator[RunPodServer]:
    """Run an emulator; with `halves` a change of an endpoint takes two saves, as it once did for all on CPUs."""
    folder.mkdir(exist_ok=True)
    with running(RunPodServer(World(habits=Habits(breaks_cpu_patch=halves)))) as server:
        yield server


def killed(folder: Path, server: RunPodServer, fields: dict[str, Any], script: Script, ahead: float = 0.0) -> int:
    """Deploy in a process that is killed when the script's moment comes; return how it ended."""
    process = Process(folder, server, fields, ahead)

    def kill(_console: Console) -> None:
        os.kill(process.pid, signal.SIGKILL)
        if not script.after:
            server.faults.append(Fault(Wrong.RESET))  # what nobody waits for any more is not done either

    script.do = kill
    server.scripts.append(script)
    process.go()
    code, _ = process.ended()
    server.scripts.clear()
    server.faults.clear()
    return code


def test_a_kill_between_the_two_saves_is_resumed_and_completed(tmp_path):
    with platform(tmp_path, halves=True) as server:
        ident = deployed(tmp_path, server, OLD)["id"]
        place = "/graphql#saveTemplate"
        assert killed(tmp_path, server, NEW, Script(lambda _: None, "POST", place)) == -signal.SIGKILL
        assert live(server, ident) == {**OLD, "workersMax": NEW["workersMax"]}  # half a change
        (_, (operation,)) = left(tmp_path)
        assert operation.action == "update"

        said = deployed(tmp_path, server, NEW, ahead=LATER_SECONDS)
        assert (said["id"], said["action"], said["notes"]) == (ident, "update", [])
        assert live(server, ident) == NEW
        assert left(tmp_path)[1] == []
        server.journal.clear()
        assert deployed(tmp_path, server, NEW, ahead=LATER_SECONDS)["action"] == "none"
        assert server.writes() == []


def here(folder: Path, server: RunPodServer, fields: dict[str, Any], ahead: float = 0.0) -> Deployment[Any]:
    """Deploy in this process."""
    manager = ResourceManager(folder, clock=AheadClock(ahead))
    with mock.patch.dict(os.environ, server.environ):
        return asyncio.run(manager.deploy(CpuServerlessEndpoint(**fields)))


def moments(folder: Path, before: dict[str, Any] | None, wanted: dict[str, Any]) -> range:
    """Return the requests of a deploy, by number, from the one before its first write to its last."""
    with platform(folder, halves=before is not None) as server:
        if before is not None:
            here(folder, server, before)
        server.journal.clear()
        here(folder, server, wanted)
        first = next(number for number, entry in enumerate(server.journal) if entry.is_write)
        return range(first, len(server.journal) + 1)


@pytest.mark.parametrize("after", [False, True], ids=["before it is done", "after it was done"])
@pytest.mark.parametrize("before", [None, OLD], ids=["create", "update"])
def test_a_kill_at_any_request_loses_nothing_and_doubles_nothing(tmp_path, before, after):
    wanted = OLD if before is None else NEW
    numbers = moments(tmp_path / "straight", before, wanted)
    assert len(numbers) >= 3
    for number in numbers:
        folder = tmp_path / str(number)
        with platform(folder, halves=before is not None) as server:
            if before is not None:
                here(folder, server, before)
            assert killed(folder, server, wanted, Script(lambda _: None, nth=number, after=after)) == -signal.SIGKILL
            done = here(folder, server, wanted, ahead=LATER_SECONDS)
            assert list(server.account.endpoints) == [done.id], f"killed at request {number}"
            assert live(server, done.id) == wanted, f"killed at request {number}"
            states, operations = left(folder)
            assert ([state.observed.provider_id for state in states], operations) == ([done.id], [])
            server.journal.clear()
            here(folder, server, wanted, ahead=LATER_SECONDS)
            assert server.writes() == [], f"killed at request {number}: not clean afterwards"
