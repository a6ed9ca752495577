"""Every bug that was found in Flash, and the tests that would fail if we had it too.

Numbers are of research/flash.md: 0.n is the nth of its "ten things to know first", 2.n the nth that its section about
the ResourceManager tells, in order. Tests stand as `file::test`, from the folder `tests`; those without a file are here
or in test_flash_manager.py.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import HoldfastError, StoreError
from holdfast.model.decision import Action
from holdfast.model.verdict import Status
from holdfast.providers.runpod import (
    CpuInstanceType,
    CpuLoadBalancerSlsResource,
    CpuServerlessEndpoint,
    EnvPolicy,
    LiveServerless,
    LoadBalancerSlsResource,
    NetworkVolume,
    ServerlessEndpoint,
)
from holdfast_emulators.runpod import Fault, Wrong
from tests.unit.api.desk import at_desk, balancer

TESTS = Path(__file__).resolve().parents[3]

BUGS: dict[str, tuple[str, tuple[str, ...]]] = {
    "0.1": (
        "the remote is never read: an edit at the console is invisible",
        ("test_an_edit_at_the_console_is_found_and_put_back",),
    ),
    "0.2": (
        "nothing is ever redeployed, whatever changed",
        ("test_what_can_be_changed_is_changed_in_place", "test_what_cannot_be_changed_is_replaced"),
    ),
    "0.3": (
        "env counts, though every text says that it does not",
        (
            "test_a_changed_environment_is_drift_and_reaches_the_endpoint",
            "test_the_switch_has_the_environment_ignored",
            "unit/providers/runpod/test_kind_registry.py::test_env_is_ignored_where_the_switch_says_so_and_counts_otherwise",
        ),
    ),
    "0.4": (
        "most changes of CPU queue endpoints are silently ignored",
        ("test_every_change_of_a_cpu_queue_endpoint_reaches_it",),
    ),
    "0.5": (
        "what the server spells differently is written again on every run",
        ("test_what_the_service_makes_of_a_configuration_is_not_written_again",),
    ),
    "0.6": (
        "every error means gone, and gone means a second endpoint",
        ("test_trouble_is_never_taken_for_absence",),
    ),
    "0.7": (
        "state is lost between processes, overwritten after an error, and holds secrets in clear",
        (
            "integration/providers/test_runpod_processes.py::test_four_processes_that_deploy_at_once_keep_four_records",
            "test_a_store_that_cannot_be_read_is_an_error_and_stays_as_it_is",
            "test_no_secret_is_kept",
        ),
    ),
    "0.8": (
        "deploying to production moves the staging endpoint there",
        (
            "test_staging_and_production_of_one_account_are_two_endpoints",
            "test_flash_environments_are_two_endpoints_of_one_name",
            "unit/api/test_scopes.py::test_another_key_is_another_account_and_moves_nothing",
        ),
    ),
    "0.9": (
        "what the platform does by itself is invisible",
        ("test_what_the_platform_scaled_down_is_told_and_left",),
    ),
    "0.10": ("a retired API is called", ("test_the_retired_api_is_never_called",)),
    "2.1": ("state is looked for wherever the process happens to be", ("test_a_manager_stays_with_its_folder",)),
    "2.2": (
        "loading state runs whatever it holds",
        ("unit/providers/runpod/test_flash_state.py::test_nothing_in_the_file_is_run",),
    ),
    "2.3": (
        "no lock spans reading and writing state",
        (
            "integration/providers/test_runpod_processes.py::test_four_processes_that_deploy_the_same_make_one",
            "test_deploying_the_same_twice_at_once_makes_one",
        ),
    ),
    "2.4": (
        "state that cannot be loaded counts as none",
        ("test_a_store_that_cannot_be_read_is_an_error_and_stays_as_it_is",),
    ),
    "2.5": (
        "records under old keys are not found again",
        (
            "unit/providers/runpod/test_flash_state.py::test_old_keys_are_read_as_what_they_mean",
            "test_what_cannot_be_changed_is_replaced",
        ),
    ),
    "2.6": ("the stored hash is rewritten at each start", ("test_a_restart_hides_no_change",)),
    "2.7": (
        "what was made although the answer was lost is recreated",
        ("test_a_create_whose_answer_was_lost_is_not_repeated",),
    ),
    "2.8": (
        "resizing a volume, or one of its name elsewhere, breaks every later deploy",
        (
            "test_a_volume_grows_in_place",
            "test_a_volume_of_the_same_name_elsewhere_is_another",
            "test_a_volume_is_never_shrunk_by_making_it_anew",
        ),
    ),
    "2.9": (
        "the caller's object is changed, or does not learn its id",
        ("test_the_returned_object_knows_its_id_and_the_given_one_is_left_alone",),
    ),
    "2.10": (
        "nothing shows what would be done, or that anything was",
        ("test_a_check_names_the_fields_and_changes_nothing", "test_what_was_done_is_in_the_log_by_field"),
    ),
    "2.11": (
        "whether it is there is asked of the data plane, blocking everything",
        ("test_the_health_of_an_endpoint_is_never_asked",),
    ),
    "2.12": ("in an outage undeploy forgets what still lives", ("test_in_an_outage_undeploy_forgets_nothing",)),
    "2.13": ("templates stay behind", ("test_nothing_stays_behind",)),
    "2.14": (
        "a resource cannot undeploy itself, because it is looked up under another key",
        ("test_what_was_returned_can_be_undeployed_and_so_can_a_name",),
    ),
    "2.15": (
        "after half a change, going back to the old configuration does nothing",
        (
            "test_after_half_a_change_either_configuration_is_brought_about",
            "integration/providers/test_runpod_killed.py::test_a_kill_between_the_two_saves_is_resumed_and_completed",
        ),
    ),
    "2.16": (
        "an object that is used again sends neither image nor env",
        ("test_an_object_may_be_changed_and_deployed_again",),
    ),
    "2.17": ("an object with an id is not checked for drift", ("test_an_object_with_an_id_is_checked_like_any_other",)),
    "2.18": (
        "failing to undeploy is told as a result and not as an error",
        ("test_undeploying_the_unknown_is_an_error",),
    ),
}


def exists(name: str) -> bool:
    file, _, test = name.rpartition("::")
    paths = [TESTS / file] if file else [Path(__file__), Path(__file__).with_name("test_flash_manager.py")]
    texts = [path.read_text(encoding="utf-8") for path in paths if path.is_file()]
    return any(re.search(rf"^def {test}\(", text, re.MULTILINE) for text in texts)


def test_the_table_is_complete_and_every_test_in_it_exists():
    assert [number for number in BUGS if number.startswith("0.")] == [f"0.{n}" for n in range(1, 11)]
    assert [number for number in BUGS if number.startswith("2.")] == [f"2.{n}" for n in range(1, 19)]
    assert [name for _, names in BUGS.values() for name in names if not exists(name)] == []
    assert all(names for _, names in BUGS.values())


# -- 0: ten things to know first


def test_an_edit_at_the_console_is_found_and_put_back(tmp_path):
    async def story(desk):
        first = await desk.manager().deploy(balancer())
        desk.server.console().edit(first.id, workersMax=50)
        return first, await desk.manager().deploy(balancer()), desk.live(first.id)["workersMax"]

    first, second, live = at_desk(tmp_path, story)
    assert (first.action, second.action, second.id) == (Action.CREATE, Action.UPDATE, first.id)
    assert (second.verdict.status, live) == (Status.DRIFTED, 5)


@pytest.mark.parametrize(
    "fields", [{"workersMax": 6}, {"imageName": "user/image:2.0"}, {"instanceIds": [CpuInstanceType.CPU3G_4_16]}]
)
def test_what_can_be_changed_is_changed_in_place(tmp_path, fields):
    async def story(desk):
        first = await desk.manager().deploy(balancer())
        return first.id, await desk.manager().deploy(balancer(**fields))

    ident, second = at_desk(tmp_path, story)
    assert (second.action, second.id) == (Action.UPDATE, ident)


@pytest.mark.parametrize("cls", [CpuServerlessEndpoint, LoadBalancerSlsResource, ServerlessEndpoint])
def test_what_cannot_be_changed_is_replaced(tmp_path, cls):
    async def story(desk):
        first = await desk.manager().deploy(balancer())
        second = await desk.manager().deploy(cls(name="inference-lb", imageName="user/image:1.0"))
        return first.id, second, list(desk.server.account.endpoints), await desk.manager().resources()

    ident, second, endpoints, tracked = at_desk(tmp_path, story)
    assert second.action is Action.REPLACE
    assert (endpoints, [item.id for item in tracked]) == ([second.id], [second.id])
    assert second.id != ident


def test_a_changed_environment_is_drift_and_reaches_the_endpoint(tmp_path):
    async def story(desk):
        await desk.manager().deploy(balancer(env={"MODE": "fast", "OLD": "1"}))
        second = await desk.manager().deploy(balancer(env={"MODE": "slow"}))
        env = desk.container(second.id)["env"]
        desk.server.console().set_env(second.id, MODE="broken")
        third = await desk.manager().deploy(balancer(env={"MODE": "slow"}))
        return second, env, third, desk.container(second.id)["env"]

    second, env, third, after = at_desk(tmp_path, story)
    assert (second.action, second.verdict.status, third.verdict.status) == (
        Action.UPDATE,
        Status.PENDING,
        Status.DRIFTED,
    )
    assert env == after == {"PORT": "80", "PORT_HEALTH": "80", "MODE": "slow"}


def test_the_switch_has_the_environment_ignored(tmp_path, monkeypatch):
    monkeypatch.setattr(CpuLoadBalancerSlsResource, "ENV_POLICY", EnvPolicy.IGNORE)

    async def story(desk):
        first = await desk.manager().deploy(balancer(env={"MODE": "fast"}))
        desk.quiet()
        second = await desk.manager().deploy(balancer(env={"MODE": "slow"}))
        desk.server.console().set_env(first.id, MODE="broken")
        third = await desk.manager().deploy(balancer(env={"MODE": "slow"}))
        return second.verdict.status, third.verdict.status, desk.server.writes()

    assert at_desk(tmp_path, story) == (Status.IN_SYNC, Status.IN_SYNC, [])


def test_tools_that_rotate_their_key_roll_nothing(tmp_path):
    async def story(desk):
        first = await desk.manager().deploy(balancer(env={"MODE": "fast", "RUNPOD_API_KEY": "rpa_ONE_ONE"}))
        made = desk.container(first.id)["env"]["RUNPOD_API_KEY"]
        desk.quiet()
        second = await desk.manager().deploy(balancer(env={"MODE": "fast", "RUNPOD_API_KEY": "rpa_TWO_TWO"}))
        return made, second.action, desk.server.writes()

    assert at_desk(tmp_path, story) == ("rpa_ONE_ONE", Action.NONE, [])


CPU_CHANGES: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
    ({"workersMin": 1}, "/workersMin", {"workersMin": 1}),
    ({"workersMax": 4}, "/workersMax", {"workersMax": 4}),
    ({"instanceIds": ["cpu3g-4-16"]}, "/instanceIds/0", {"instanceIds": ["cpu3g-4-16"]}),
    ({"idleTimeout": 7}, "/idleTimeout", {"idleTimeout": 7}),
    ({"executionTimeoutMs": 90_000}, "/executionTimeoutMs", {"executionTimeoutMs": 90_000}),
    ({"scalerValue": 9}, "/scalerValue", {"scalerValue": 9}),
    ({"datacenter": "EU-RO-1"}, "/datacenter/0", {"locations": "EU-RO-1"}),
    ({"flashboot": False}, "/flashboot", {"flashBootType": "OFF"}),
]


@pytest.mark.parametrize("fields, path, live", CPU_CHANGES, ids=[path for _, path, _ in CPU_CHANGES])
def test_every_change_of_a_cpu_queue_endpoint_reaches_it(tmp_path, fields, path, live):
    given: dict[str, Any] = {"name": "c", "imageName": "user/image:1.0", "workersMax": 3}

    async def story(desk):
        await desk.manager().deploy(CpuServerlessEndpoint(**given))
        second = await desk.manager().deploy(CpuServerlessEndpoint(**{**given, **fields}))
        return second, dict(desk.live(second.id))

    second, found = at_desk(tmp_path, story)
    assert second.action is Action.UPDATE
    assert path in second.decision.reasons[0].paths
    assert {name: found[name] for name in live} == live


@pytest.mark.parametrize(
    "config",
    [
        balancer(),
        balancer(env={}, locations="", instanceIds=[CpuInstanceType.CPU3G_4_16, CpuInstanceType.CPU3G_2_8]),
        CpuServerlessEndpoint(name="c", imageName="user/image:1.0", env={"A": "1"}),
        ServerlessEndpoint(name="g", imageName="user/image:1.0", gpuIds="AMPERE_80,ADA_24", datacenter=["eu-ro-1"]),
        LoadBalancerSlsResource(name="l", imageName="user/image:1.0", allowedCudaVersions="12.8,12.4"),
        LiveServerless(name="s"),
        ServerlessEndpoint(name="v", imageName="user/image:1.0", networkVolume=NetworkVolume(name="v", size=50)),
        NetworkVolume(name="v", size=50, dataCenterId="us-ca-2"),
    ],
    ids=lambda config: type(config).__name__,
)
def test_what_the_service_makes_of_a_configuration_is_not_written_again(tmp_path, config):
    async def story(desk):
        await desk.manager().deploy(config)
        desk.quiet()
        again = [await desk.manager().deploy(config) for _ in range(2)]
        return [item.action for item in again], desk.server.writes()

    assert at_desk(tmp_path, story) == ([Action.NONE, Action.NONE], [])


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=503, times=None),
        Fault(status=401, times=None),
        Fault(status=403, times=None),
        Fault(status=429, times=None),
        Fault(Wrong.RESET, times=None),
        Fault(Wrong.TRUNCATED, "GET", times=None),
        Fault(Wrong.EMPTY_LIST, times=None),
    ],
    ids=lambda fault: f"{fault.wrong.value} {fault.status}",
)
def test_trouble_is_never_taken_for_absence(tmp_path, fault):
    async def story(desk):
        first = await desk.manager().deploy(balancer())
        account = desk.manager()
        await account.resources()
        desk.quiet()
        desk.server.faults.append(fault)
        with pytest.raises(HoldfastError):
            await desk.manager().deploy(balancer(imageName="user/image:2.0"))
        desk.server.faults.clear()
        tracked = [resource.id for resource in await desk.manager().resources()]
        assert desk.server.writes() == []
        after = await desk.manager().deploy(balancer(imageName="user/image:2.0"))
        return first.id, tracked, list(desk.server.account.endpoints), after.id

    ident, tracked, endpoints, after = at_desk(tmp_path, story)
    assert (tracked, endpoints, after) == ([ident], [ident], ident)


def test_a_store_that_cannot_be_read_is_an_error_and_stays_as_it_is(tmp_path):
    async def story(desk):
        await desk.manager().deploy(balancer())
        (file,) = desk.folder.glob(".holdfast/*.db")
        for item in desk.folder.glob(".holdfast/*.db-*"):
            item.unlink()
        file.write_bytes(b"this is no store of ours" * 100)
        desk.quiet()
        with pytest.raises(StoreError):
            await desk.manager().deploy(balancer())
        return file.read_bytes()[:24], desk.server.writes()

    assert at_desk(tmp_path, story) == (b"this is no store of ours", [])


def test_no_secret_is_kept(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)

    async def story(desk):
        secret = balancer(env={"TOKEN": "hf_SECRET_VALUE"})
        first = await desk.manager().deploy(secret)
        desk.server.console().set_env(first.id, TOKEN="hf_OTHER_VALUE", THEIRS="hf_THIRD_VALUE")
        (seen,) = await desk.manager().check(secret)
        await desk.manager().deploy(secret)
        return desk.kept(), repr((first, seen)), desk.server.token

    kept, shown, token = at_desk(tmp_path, story)
    assert len(kept) > 1000
    for value in ("hf_SECRET_VALUE", "hf_OTHER_VALUE", "hf_THIRD_VALUE", token):
        assert value.encode() not in kept
        assert value not in shown + caplog.text


def test_staging_and_production_of_one_account_are_two_endpoints(tmp_path):
    async def story(desk):
        staging = await desk.manager(environment="staging").deploy(balancer())
        production = await desk.manager(environment="production").deploy(balancer(workersMax=9))
        plain = await desk.manager().deploy(balancer())
        desk.quiet()
        again = await desk.manager(environment="staging").deploy(balancer())
        ids = {staging.id, production.id, plain.id}
        return ids, again.id == staging.id, desk.server.writes(), desk.names(), desk.live(staging.id)["workersMax"]

    ids, is_same, writes, names, workers = at_desk(tmp_path, story)
    assert (len(ids), is_same, writes, workers) == (3, True, [], 5)
    assert names == ["inference-lb", "inference-lb@production", "inference-lb@staging"]


def test_flash_environments_are_two_endpoints_of_one_name(tmp_path):
    async def story(desk):
        account, world = desk.server.account, desk.server.world
        staging, production = (world.add_environment(account, "app", name).id for name in ("staging", "production"))
        one = await desk.manager().deploy(balancer(flashEnvironmentId=staging))
        other = await desk.manager().deploy(balancer(flashEnvironmentId=production))
        again = await desk.manager().deploy(balancer(flashEnvironmentId=staging))
        return one, other, again, desk.names(), {e.fields["flashEnvironmentId"] for e in account.endpoints.values()}

    one, other, again, names, environments = at_desk(tmp_path, story)
    assert (again.id, again.action) == (one.id, Action.NONE)
    assert (names, len(environments)) == (["inference-lb", "inference-lb"], 2)
    assert one.id != other.id


@pytest.mark.parametrize("days, left", [(4, 2), (8, 0)])
def test_what_the_platform_scaled_down_is_told_and_left(tmp_path, days, left):
    async def story(desk):
        first = await desk.manager().deploy(balancer(workersMin=0))
        desk.server.advance(days=days)
        desk.quiet()
        seen = await desk.manager().deploy(balancer(workersMin=0))
        writes, live = desk.server.writes(), desk.live(first.id)["workersMax"]
        insisting = desk.manager(options={"onDriftPaths": {"/workersMax": "correct"}})
        put_back = await insisting.deploy(balancer(workersMin=0))
        return seen, writes, live, put_back.action, desk.live(first.id)["workersMax"]

    seen, writes, live, action, after = at_desk(tmp_path, story)
    assert (seen.verdict.status, seen.action, seen.left_alone) == (Status.DRIFTED, Action.NONE, ("/workersMax",))
    assert [actor.who for actor in seen.likely_actors] == ["RunPod itself"]
    assert f"workersMax is {left}" in seen.decision.reasons[0].message
    assert (writes, live, action, after) == ([], left, Action.UPDATE, 5)


def test_the_retired_api_is_never_called(tmp_path):
    async def story(desk):
        volume = NetworkVolume(name="v", size=50)
        config = ServerlessEndpoint(name="g", imageName="user/image:1.0", networkVolume=volume)
        await desk.manager().deploy(config)
        await desk.manager().deploy(config.model_copy(update={"workersMax": 3}))
        await desk.manager().undeploy(config)
        await desk.manager().undeploy(volume)
        return {entry.place.split("/")[1].partition("#")[0] for entry in desk.server.journal}

    assert at_desk(tmp_path, story) == {"v2", "graphql"}
