"""Whose, and where: accounts and environments are kept apart, whatever the key in the environment is today."""

from __future__ import annotations

import os
from unittest import mock

import pytest

from holdfast.api import DeployError
from holdfast.errors import InputError
from holdfast.model.decision import Action
from holdfast.providers.runpod import NetworkVolume, PodTemplate
from holdfast_emulators.runpod import Fault
from tests.unit.api.desk import at_desk, balancer


def second_key(desk) -> dict[str, str]:
    """Return the environment of somebody else with an account of their own."""
    desk.server.world.add_account("user_other")
    return {"RUNPOD_API_KEY": desk.server.world.add_key("user_other")}


def test_another_key_is_another_account_and_moves_nothing(tmp_path):
    async def story(desk):
        mine = await desk.manager().deploy(balancer())
        with mock.patch.dict(os.environ, second_key(desk)):
            theirs = await desk.manager().deploy(balancer())
        again = await desk.manager().deploy(balancer())
        accounts = {user: list(account.endpoints) for user, account in desk.server.world.accounts.items()}
        return mine, theirs, again, accounts, await desk.manager().resources()

    mine, theirs, again, accounts, tracked = at_desk(tmp_path, story)
    assert (again.id, again.action) == (mine.id, Action.NONE)
    assert accounts == {"user_holdfast": [mine.id], "user_other": [theirs.id]}
    assert {str(item.address) for item in tracked} == {
        "user_holdfast/Endpoint/inference-lb",
        "user_other/Endpoint/inference-lb",
    }


def test_a_rotated_key_of_the_same_account_changes_nothing(tmp_path):
    async def story(desk):
        mine = await desk.manager().deploy(balancer())
        with mock.patch.dict(os.environ, {"RUNPOD_API_KEY": desk.server.world.add_key("user_holdfast")}):
            again = await desk.manager().deploy(balancer())
        return mine.id == again.id, again.action

    assert at_desk(tmp_path, story) == (True, Action.NONE)


PROJECT = """\
connections:
  prod:
    provider: runpod
    base_url: {url}
    secrets: {{api_key: {{env: RUNPOD_API_KEY}}}}
    limits: {{concurrency: 4}}
  other: {{provider: runpod, base_url: "{url}", secrets: {{api_key: {{env: OTHER_KEY}}}}}}
"""


def test_a_connection_that_opens_another_account_now_is_refused(tmp_path):
    async def story(desk):
        (desk.folder / "holdfast.yaml").write_text(PROJECT.format(url=desk.server.url))
        await desk.manager(connection="prod").deploy(balancer())
        with mock.patch.dict(os.environ, second_key(desk)):
            for call in ("deploy", "check", "undeploy"):
                with pytest.raises(InputError, match=r"the account user_holdfast, and the key .* opens user_other"):
                    await getattr(desk.manager(connection="prod"), call)(balancer())
        return {user: len(account.endpoints) for user, account in desk.server.world.accounts.items()}

    assert at_desk(tmp_path, story) == {"user_holdfast": 1, "user_other": 0}


def test_which_connection_is_meant_must_be_plain(tmp_path):
    async def story(desk):
        file = desk.folder / "holdfast.yaml"
        file.write_text(PROJECT.format(url=desk.server.url))
        with pytest.raises(InputError, match=r"say which connection.*prod, other"):
            await desk.manager().deploy(balancer())
        with pytest.raises(InputError, match=r"no connection 'pord'.*prod"):
            await desk.manager(connection="pord").deploy(balancer())
        with pytest.raises(InputError, match="OTHER_KEY"):
            await desk.manager(connection="other").deploy(balancer())
        file.write_text(PROJECT.format(url=desk.server.url) + "defaults: {connection: prod}\n")
        return str((await desk.manager().deploy(balancer())).address)

    assert at_desk(tmp_path, story) == "prod/Endpoint/inference-lb"


def test_without_a_key_nothing_begins(tmp_path):
    async def story(desk):
        with mock.patch.dict(os.environ):
            del os.environ["RUNPOD_API_KEY"]
            with pytest.raises(InputError, match="RUNPOD_API_KEY is not set"):
                await desk.manager().deploy(balancer())
        return list(desk.folder.iterdir())

    assert at_desk(tmp_path, story) == []


def test_where_it_cannot_be_asked_whose_account_it_is_nothing_is_done(tmp_path):
    async def story(desk):
        desk.server.faults.append(Fault(status=503, method="POST", path="/graphql*", times=None))
        with pytest.raises(DeployError, match="whose account this is could not be asked"):
            await desk.manager().deploy(balancer())
        return desk.server.writes()

    assert at_desk(tmp_path, story) == []


def test_volumes_and_templates_have_environments_too(tmp_path):
    async def story(desk):
        for environment in (None, "staging"):
            manager = desk.manager(environment=environment)
            await manager.deploy(NetworkVolume(name="v", size=50))
            await manager.deploy(PodTemplate(name="t", imageName="user/image:1.0"))
        account = desk.server.account
        volumes = sorted(volume.name for volume in account.volumes.values())
        return volumes, sorted(template.fields["name"] for template in account.templates.values())

    assert at_desk(tmp_path, story) == (["v", "v@staging"], ["t", "t@staging"])


def test_only_its_own_environment_is_seen_where_a_manager_has_one(tmp_path):
    async def story(desk):
        await desk.manager().deploy(balancer())
        staging = await desk.manager(environment="staging").deploy(balancer())
        with pytest.raises(InputError, match=r"may be any of 2: .*inference-lb.*give the address"):
            await desk.manager().undeploy("inference-lb")
        mine = await desk.manager(environment="staging").resources()
        gone = await desk.manager(environment="staging").undeploy("inference-lb")
        last = await desk.manager().undeploy("user_holdfast/Endpoint/inference-lb")
        return [item.id for item in mine] == [staging.id] == [gone.id], last.id, desk.names()

    is_mine, last, names = at_desk(tmp_path, story)
    assert is_mine
    assert last
    assert names == []


def test_what_is_in_another_connection_is_not_undeployed_from_here(tmp_path):
    async def story(desk):
        await desk.manager().deploy(balancer())
        (desk.folder / "holdfast.yaml").write_text(
            PROJECT.format(url=desk.server.url) + "defaults: {connection: prod}\n"
        )
        with pytest.raises(InputError, match="is not in prod"):
            await desk.manager().undeploy("inference-lb")
        return desk.names()

    assert at_desk(tmp_path, story) == ["inference-lb"]
