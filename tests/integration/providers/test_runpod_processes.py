"""Several real processes deploy from one folder at once: nothing is lost, and nothing is made twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast_emulators.runpod import RunPodServer, running
from tests.integration.providers.runpod_processes import NEW, OLD, Process, deployed, left, live

COUNT = 4
pytestmark = pytest.mark.slow


@pytest.fixture
def server():
    with running(RunPodServer()) as found:
        yield found


def together(folder: Path, server: RunPodServer, configs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    processes = [Process(folder, server, fields) for fields in configs]
    assert all(process.is_ready for process in processes)
    for process in processes:
        process.go()
    ends = [process.ended() for process in processes]
    assert [code for code, _ in ends] == [0] * len(configs), ends
    return [said for _, said in ends]


def test_four_processes_that_deploy_at_once_keep_four_records(tmp_path, server):
    configs = [{**OLD, "name": f"c{number}"} for number in range(COUNT)]
    said = together(tmp_path, server, configs)
    assert {item["action"] for item in said} == {"create"}
    assert {item["id"] for item in said} == set(server.account.endpoints)
    states, operations = left(tmp_path)
    assert {(state.address.name, state.observed.provider_id) for state in states} == {
        (config["name"], item["id"]) for config, item in zip(configs, said, strict=True)
    }
    assert operations == []
    server.journal.clear()
    again = together(tmp_path, server, configs)
    assert ({item["action"] for item in again}, server.writes()) == ({"none"}, [])


def test_four_processes_that_deploy_the_same_make_one(tmp_path, server):
    said = together(tmp_path, server, [OLD] * COUNT)
    (ident,) = server.account.endpoints
    assert [item["id"] for item in said] == [ident] * COUNT
    assert [item["action"] for item in said].count("create") == 1
    states, operations = left(tmp_path)
    assert ([state.observed.provider_id for state in states], operations) == ([ident], [])


def test_four_processes_that_change_the_same_leave_what_was_asked(tmp_path, server):
    ident = deployed(tmp_path, server, OLD)["id"]
    server.journal.clear()
    said = together(tmp_path, server, [NEW] * COUNT)
    assert {item["id"] for item in said} == {ident}
    assert live(server, ident) == NEW
    assert len(server.writes()) == 1
    assert left(tmp_path)[1] == []
