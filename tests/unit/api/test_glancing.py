"""A glance suffices for what moved neither here nor there, and for nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.model.json import Json
from holdfast.model.verdict import Status
from holdfast.providers.runpod import CpuLoadBalancerSlsResource, NetworkVolume, ServerlessEndpoint
from holdfast.providers.runpod import declaration as runpod_declaring
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.state import CheckRequest
from holdfast.store.transaction import PartialUpdates, Transaction
from holdfast_emulators.runpod import Fault
from tests.unit.api.desk import Desk, at_desk, balancer

COUNT = 6
SAME = "nothing changed since the last check"


def fleet(**fields: Any) -> list[CpuLoadBalancerSlsResource]:
    return [balancer(name=f"e{number}", **fields) for number in range(COUNT)]


async def deployed(desk: Desk, **fields: Any) -> list[CpuLoadBalancerSlsResource]:
    manager = desk.manager()
    return [await manager.get_or_deploy_resource(config) for config in fleet(**fields)]


@pytest.fixture
def documents(monkeypatch) -> list[object]:
    """Count the documents that are made of objects."""
    made: list[object] = []
    build = runpod_declaring.endpoint

    def counted(*given: Any) -> Json:
        made.append(given)
        return build(*given)

    monkeypatch.setattr(runpod_declaring, "endpoint", counted)
    return made


def test_what_moved_nowhere_costs_one_list_and_no_document(tmp_path, documents):
    async def story(desk):
        await deployed(desk)
        desk.quiet()
        documents.clear()
        return await desk.manager().check(*fleet()), desk.server.counts()

    seen, requests = at_desk(tmp_path, story)
    assert {item.verdict.reason for item in seen} == {SAME}
    assert all(item.is_in_sync for item in seen)
    assert (requests["GET /v2/serverless"], requests["GET /v2/serverless/*"]) == (1, 0)
    assert len(documents) == 1  # one that stands for all


def test_an_edit_here_and_an_edit_there_are_both_seen(tmp_path):
    async def story(desk):
        await deployed(desk)
        desk.server.console().edit("e1", workersMax=50)
        desk.server.console().delete("e2")
        configs = fleet()
        configs[3].imageName = "user/image:2.0"
        configs[4].env = {"A": "1"}
        return {item.resource.name: item.verdict.status for item in await desk.manager().check(*configs)}

    assert at_desk(tmp_path, story) == {
        "e0": Status.IN_SYNC,
        "e1": Status.DRIFTED,
        "e2": Status.MISSING,
        "e3": Status.PENDING,
        "e4": Status.PENDING,
        "e5": Status.IN_SYNC,
    }


class Another(CpuLoadBalancerSlsResource):
    pass


def test_other_options_or_another_class_are_looked_at_closely(tmp_path, documents):
    async def story(desk):
        await deployed(desk)
        documents.clear()
        ignoring = desk.manager(options={"onDriftPaths": {"/idleTimeout": "ignore"}})
        found = await ignoring.check(*fleet())
        with_options = len(documents)
        others = [Another(**config.model_dump(exclude_unset=True)) for config in fleet()]
        documents.clear()
        found += await desk.manager().check(*others)
        return with_options, len(documents), {item.verdict.status for item in found}

    with_options, with_class, statuses = at_desk(tmp_path, story)
    assert (with_options, with_class, statuses) == (COUNT + 1, COUNT, {Status.IN_SYNC})


def test_a_look_that_somebody_asked_for_is_one(tmp_path):
    async def story(desk):
        await deployed(desk)
        store = await SqliteStore.open(desk.folder / ".holdfast/holdfast.db")
        requests = [CheckRequest(state.address, "now", 0.0) async for state in store.all_states()]
        await store.commit(Transaction(updates=PartialUpdates(requested=requests)))
        await store.close()
        return {item.verdict.reason for item in await desk.manager().check(*fleet())}

    assert SAME not in at_desk(tmp_path, story)


def test_what_refers_to_others_depends_on_them_too(tmp_path):
    def using(number: int) -> ServerlessEndpoint:
        volume = NetworkVolume(name="v", size=50)
        return ServerlessEndpoint(name=f"g{number}", imageName="user/image:1.0", networkVolume=volume)

    async def story(desk):
        manager = desk.manager()
        configs = [using(number) for number in range(COUNT)]
        for config in configs:
            await manager.deploy(config)
        (volume,) = desk.server.account.volumes
        desk.server.console().delete_volume(volume)
        await manager.deploy(NetworkVolume(name="v", size=50))  # another, under another id
        return {item.verdict.status for item in await manager.check(*configs)}

    assert Status.IN_SYNC not in at_desk(tmp_path, story)


@pytest.mark.parametrize(
    "fault", [Fault(status=503, method="GET", times=None), Fault(status=401, method="GET", times=None)]
)
def test_where_the_list_cannot_be_read_nothing_is_green(tmp_path, fault):
    async def story(desk):
        await deployed(desk)
        manager = desk.manager()
        await manager.check(balancer(name="e0"))
        desk.server.faults.append(fault)
        return {item.verdict.status for item in await manager.check(*fleet())}

    assert at_desk(tmp_path, story) == {Status.UNKNOWN}


def test_a_release_of_ours_that_declares_something_else_is_not_overlooked(tmp_path, monkeypatch):
    async def story(desk):
        await deployed(desk)
        build = runpod_declaring.endpoint
        monkeypatch.setattr(runpod_declaring, "endpoint", lambda *given: {**build(*given), "idleTimeout": 61})
        return {item.verdict.status for item in await desk.manager().check(*fleet())}

    assert at_desk(tmp_path, story) == {Status.PENDING}
