"""The bugs of Flash's ResourceManager; the table in test_flash_bugs.py says which test is about which."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from holdfast.api import DeployError
from holdfast.errors import InputError
from holdfast.model.decision import Action
from holdfast.model.verdict import Status
from holdfast.providers.runpod import CpuServerlessEndpoint, NetworkVolume, ServerlessEndpoint
from holdfast_emulators.runpod import Fault, Habits, Wrong
from tests.unit.api.desk import at_desk, balancer


def test_a_manager_stays_with_its_folder(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()

    async def story(desk):
        monkeypatch.chdir(tmp_path / "here")
        desk.folder = Path()
        manager = desk.manager()
        first = await manager.deploy(balancer())
        monkeypatch.chdir(tmp_path / "there")
        return first.id, (await manager.deploy(balancer())).id

    first, second = at_desk(tmp_path, story)
    assert first == second
    assert [path.name for path in tmp_path.rglob(".holdfast")] == [".holdfast"]
    assert (tmp_path / "here/.holdfast").is_dir()


def test_deploying_the_same_twice_at_once_makes_one(tmp_path):
    async def story(desk):
        one, other = desk.manager(), desk.manager()
        found = await asyncio.gather(*[manager.deploy(balancer()) for manager in (one, one, other, other)])
        return {item.id for item in found}, len(desk.server.account.endpoints), len(await one.resources())

    ids, endpoints, records = at_desk(tmp_path, story)
    assert (len(ids), endpoints, records) == (1, 1, 1)


def test_a_restart_hides_no_change(tmp_path):
    async def story(desk):
        first = await desk.manager().deploy(balancer())
        (before,) = await desk.manager().resources()
        (seen,) = await desk.manager().check(balancer(imageName="user/image:2.0"))
        (after,) = await desk.manager().resources()
        second = await desk.manager().deploy(balancer(imageName="user/image:2.0"))
        (deployed,) = await desk.manager().resources()
        return first.id == second.id, seen.verdict.status, before.stamp, after.stamp, deployed.stamp, second.action

    same, status, before, after, deployed, action = at_desk(tmp_path, story)
    assert (same, status, action) == (True, Status.PENDING, Action.UPDATE)
    assert before == after != deployed


def test_a_create_whose_answer_was_lost_is_not_repeated(tmp_path):
    async def story(desk):
        desk.server.faults.append(Fault(Wrong.RESET_AFTER, "POST", "/v2/serverless"))
        first = await desk.manager().deploy(balancer())
        return list(desk.server.account.endpoints) == [first.id], (await desk.manager().deploy(balancer())).action

    assert at_desk(tmp_path, story) == (True, Action.NONE)


def with_volume(**fields: Any) -> ServerlessEndpoint:
    return ServerlessEndpoint(name="g", imageName="user/image:1.0", networkVolume=NetworkVolume(name="v", **fields))


def test_a_volume_grows_in_place(tmp_path):
    async def story(desk):
        first = await desk.manager().deploy(with_volume(size=50))
        second = await desk.manager().deploy(with_volume(size=80))
        (volume,) = desk.server.account.volumes.values()
        return first.id == second.id, volume.size, desk.live(second.id)["networkVolumeIds"] == [volume.id]

    assert at_desk(tmp_path, story) == (True, 80, True)


def test_a_volume_of_the_same_name_elsewhere_is_another(tmp_path):
    async def story(desk):
        first = await desk.manager().deploy(with_volume(size=50))
        second = await desk.manager().deploy(with_volume(size=50, dataCenterId="US-CA-2"))
        volumes = {volume.data_centre: volume.id for volume in desk.server.account.volumes.values()}
        return first.id == second.id, volumes, desk.live(second.id)["networkVolumeIds"]

    same, volumes, used = at_desk(tmp_path, story)
    assert (same, volumes.keys()) == (True, {"EU-RO-1", "US-CA-2"})
    assert used == [volumes["US-CA-2"]]


def test_a_volume_is_never_shrunk_by_making_it_anew(tmp_path):
    async def story(desk):
        await desk.manager().deploy(with_volume(size=50))
        (before,) = desk.server.account.volumes
        with pytest.raises(DeployError, match=r"what it needs failed.*size can only be increased"):
            await desk.manager().deploy(with_volume(size=20))
        return list(desk.server.account.volumes) == [before], (await desk.manager().deploy(with_volume(size=50))).action

    assert at_desk(tmp_path, story) == (True, Action.NONE)


def test_the_returned_object_knows_its_id_and_the_given_one_is_left_alone(tmp_path):
    async def story(desk):
        given = balancer(env={"A": "1"})
        before = given.model_copy(deep=True)
        returned = await desk.manager().get_or_deploy_resource(given)
        return given == before, returned.id in desk.server.account.endpoints, returned.config_hash == given.config_hash

    assert at_desk(tmp_path, story) == (True, True, True)


def test_a_check_names_the_fields_and_changes_nothing(tmp_path):
    async def story(desk):
        first = await desk.manager().deploy(balancer())
        desk.server.console("user_alice").edit(first.id, template={"imageName": "user/image:9"})
        desk.quiet()
        (seen,) = await desk.manager().check(balancer(workersMax=6))
        return seen, desk.server.writes()

    seen, writes = at_desk(tmp_path, story)
    found = {finding.path: finding.changed_by.value for finding in seen.verdict.findings}
    assert (found, writes) == ({("imageName",): "live", ("workersMax",): "declared"}, [])
    assert [actor.who for actor in seen.likely_actors] == ["user_alice"]
    assert (seen.is_in_sync, seen.decision.action) == (False, Action.UPDATE)


def test_what_was_done_is_in_the_log_by_field(tmp_path, caplog):
    caplog.set_level(logging.INFO, "holdfast")

    async def story(desk):
        await desk.manager().deploy(balancer())
        caplog.clear()
        await desk.manager().deploy(balancer(imageName="user/image:2.0"))

    at_desk(tmp_path, story)
    assert "/imageName" in caplog.text
    assert "inference-lb" in caplog.text


def test_the_health_of_an_endpoint_is_never_asked(tmp_path):
    async def story(desk):
        for fields in ({}, {"workersMax": 6}, {"workersMax": 6}):
            await desk.manager().deploy(balancer(**fields))
        await desk.manager().undeploy("inference-lb")
        return [entry.place for entry in desk.server.journal if entry.place.startswith("/ai/")]

    assert at_desk(tmp_path, story) == []


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_in_an_outage_undeploy_forgets_nothing(tmp_path, method):
    async def story(desk):
        first = await desk.manager().deploy(balancer())
        desk.server.faults.append(Fault(status=503, method=method, times=None))
        with pytest.raises(DeployError, match="stays tracked"):
            await desk.manager().undeploy(balancer())
        kept = [resource.id for resource in await desk.manager().resources()]
        desk.server.faults.clear()
        gone = await desk.manager().undeploy(balancer())
        return first.id, kept, gone.id, desk.names(), await desk.manager().resources()

    ident, kept, gone, names, tracked = at_desk(tmp_path, story)
    assert (kept, gone, names, tracked) == ([ident], ident, [], [])


def test_nothing_stays_behind(tmp_path):
    async def story(desk):
        await desk.manager().deploy(balancer())
        await desk.manager().deploy(balancer(imageName="user/image:2.0"))
        await desk.manager().undeploy(balancer())
        return desk.server.account.endpoints, desk.server.account.templates

    assert at_desk(tmp_path, story) == ({}, {})


def test_what_was_returned_can_be_undeployed_and_so_can_a_name(tmp_path):
    async def story(desk):
        returned = await desk.manager().get_or_deploy_resource(balancer())
        one = await desk.manager().undeploy(returned)
        again = await desk.manager().get_or_deploy_resource(balancer())
        other = await desk.manager().undeploy("inference-lb")
        return (one.id, other.id) == (returned.id, again.id), desk.names()

    assert at_desk(tmp_path, story) == (True, [])


@pytest.mark.parametrize("second", ["the old one", "the new one"])
def test_after_half_a_change_either_configuration_is_brought_about(tmp_path, second):
    old = CpuServerlessEndpoint(name="c", imageName="user/image:1.0", workersMax=3)
    new = CpuServerlessEndpoint(name="c", imageName="user/image:2.0", workersMax=4)

    async def story(desk):
        first = await desk.manager().deploy(old)
        desk.server.faults.append(Fault(status=500, method="POST", path="/graphql#saveTemplate", times=None))
        with pytest.raises(DeployError):
            await desk.manager().deploy(new)
        half = (desk.live(first.id)["workersMax"], desk.container(first.id)["imageName"])
        desk.server.faults.clear()
        config = old if second == "the old one" else new
        done = await desk.manager().deploy(config)
        whole = (desk.live(first.id)["workersMax"], desk.container(first.id)["imageName"])
        return half, whole, (config.workersMax, config.imageName), done.id == first.id, len(desk.names())

    half, whole, wanted, same, count = at_desk(tmp_path, story, Habits(breaks_cpu_patch=True))
    assert half == (4, "user/image:1.0")
    assert (whole, same, count) == (wanted, True, 1)


def test_an_object_may_be_changed_and_deployed_again(tmp_path):
    async def story(desk):
        config = balancer(env={"MODE": "fast"})
        manager = desk.manager()
        first = await manager.deploy(config)
        config.imageName = "user/image:2.0"
        config.env = {"MODE": "slow"}
        await manager.deploy(config)
        return desk.container(first.id)["imageName"], desk.container(first.id)["env"]["MODE"]

    assert at_desk(tmp_path, story) == ("user/image:2.0", "slow")


def test_an_object_with_an_id_is_checked_like_any_other(tmp_path):
    async def story(desk):
        returned = await desk.manager().get_or_deploy_resource(balancer())
        desk.server.console().edit(returned.id, workersMax=50)
        again = await desk.manager().deploy(returned)
        return again.action, again.id == returned.id, desk.live(returned.id)["workersMax"]

    assert at_desk(tmp_path, story) == (Action.UPDATE, True, 5)


@pytest.mark.parametrize("what", [balancer(), "inference-lb", "user_holdfast/Endpoint/inference-lb"])
def test_undeploying_the_unknown_is_an_error(tmp_path, what):
    async def story(desk):
        desk.server.console()
        with pytest.raises(InputError, match="tracked here"):
            await desk.manager().undeploy(what)

    at_desk(tmp_path, story)
