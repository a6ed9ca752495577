"""A claim of a process that was killed does not keep anybody waiting; one of a process that may live does."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from holdfast.model.address import Address
from holdfast.reconcile import worker_identity
from holdfast.store.sqlite.store import SqliteStore
from tests.unit.reconcile.fixtures import Bench, declare

THING = Address("prod", "Thing", "a")
SAY = "from holdfast.reconcile import worker_identity; print(worker_identity.name('7'), flush=True); input()"


@pytest.fixture
def child():
    with subprocess.Popen(
        [sys.executable, "-c", SAY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def name_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_who_was_killed_is_known_to_be_dead(child):
    name = name_of(child)
    assert not worker_identity.is_dead(name)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert worker_identity.is_dead(name)


def test_a_process_that_ended_and_was_not_waited_for_is_dead(child):
    name = name_of(child)
    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # its remains stay in the table
    assert worker_identity.is_dead(name)


def test_another_process_under_the_same_number_is_another_one():
    name, _, began = worker_identity.name().rpartition(".")
    assert worker_identity.is_dead(f"{name}.{int(began) - 1}")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(worker_identity.name(), id="this process"),
        pytest.param(worker_identity.name("3"), id="a part of this process"),
        pytest.param("elsewhere:1#00000000.5", id="of another boot, machine or container"),
        "elsewhere:1",
        "a person",
        "",
    ],
)
def test_of_whom_cannot_be_told_nobody_says_they_are_dead(name):
    assert not worker_identity.is_dead(name)


def test_without_proc_nobody_is_known_to_be_dead(monkeypatch, tmp_path, child):
    name = name_of(child)
    child.kill()
    child.wait()
    monkeypatch.setattr(worker_identity, "_PROC", tmp_path)
    worker_identity._realm.cache_clear()
    try:
        assert not worker_identity.is_dead(name)
        assert "#" not in worker_identity.name()
    finally:
        worker_identity._realm.cache_clear()


def test_only_the_claims_of_the_dead_are_given_back(child):
    name = name_of(child)
    child.kill()
    child.wait()

    async def story() -> list[str]:
        store = SqliteStore.in_memory()
        for thing, owner in (("a", name), ("b", worker_identity.name()), ("c", "elsewhere:1")):
            assert await store.claim(Address("prod", "Thing", thing), owner, 0.0, 300.0)
        assert await worker_identity.bury(store) == 1
        return [claim.address.name for claim in await store.claims()]

    assert asyncio.run(story()) == ["b", "c"]


def test_what_a_killed_process_had_claimed_is_applied_at_once(child):
    name = name_of(child)
    child.kill()
    child.wait()
    bench = Bench()
    fleet = [declare("a", {"color": "red"})]
    address = fleet[0].address
    claim = asyncio.run(bench.store.claim(address, name, bench.clock.now(), bench.clock.now() + 300))
    assert claim is not None
    asyncio.run(bench.apply(fleet))
    assert bench.live_thing("a")["color"] == "red"
