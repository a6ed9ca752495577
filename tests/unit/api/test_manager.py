"""Deploying, checking and removing objects: what is done, what is told, and what is an error."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.api import DeployError, ResourceManager
from holdfast.errors import InputError
from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.verdict import Status
from holdfast.providers.runpod import (
    CpuServerlessEndpoint,
    KeyValuePair,
    LoadBalancerSlsResource,
    NetworkVolume,
    PodTemplate,
    ServerlessEndpoint,
    ServerlessResource,
)
from holdfast.reconcile.claims import CLAIM_SECONDS
from holdfast.store.governance import Pause
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.transaction import GovernanceChanges, Transaction
from holdfast_emulators.runpod import Fault, Wrong
from tests.unit.api.desk import at_desk, balancer


async def committed(desk, transaction: Transaction) -> None:
    store = await SqliteStore.open(desk.folder / ".holdfast/holdfast.db")
    await store.commit(transaction)
    await store.close()


# -- deploying


def test_what_was_deleted_behind_our_back_is_made_again_once(tmp_path):
    async def story(desk):
        first = await desk.manager().deploy(balancer())
        desk.server.console().delete(first.id)
        second = await desk.manager().deploy(balancer())
        return first.id, second, list(desk.server.account.endpoints), (await desk.manager().deploy(balancer())).action

    first, second, endpoints, action = at_desk(tmp_path, story)
    assert (second.action, second.verdict.status, action) == (Action.RECREATE, Status.MISSING, Action.NONE)
    assert endpoints == [second.id] != [first]


def test_something_of_that_name_is_taken_over_instead_of_made_twice(tmp_path):
    async def story(desk):
        first = await desk.manager().deploy(balancer())
        desk.folder /= "elsewhere"
        desk.folder.mkdir()
        second = await desk.manager().deploy(balancer(workersMax=6))
        return first.id == second.id, len(desk.names()), desk.live(first.id)["workersMax"]

    assert at_desk(tmp_path, story) == (True, 1, 6)


def test_a_write_that_is_refused_is_an_error_and_may_be_tried_again(tmp_path):
    async def story(desk):
        bad = balancer(imageName="runpod/pytorch:latest")
        errors = []
        for _ in range(2):
            with pytest.raises(DeployError) as caught:
                await desk.manager().deploy(bad)
            errors.append(caught.value)
        desk.server.world.catalogue.unpublished = frozenset()
        return errors, (await desk.manager().deploy(bad)).action

    (first, again), action = at_desk(tmp_path, story)
    assert (first.is_final, again.is_final, first.message) == (True, True, again.message)
    assert "image" in first.message
    assert action is Action.CREATE


def test_a_deploy_waits_for_whoever_is_at_it_or_was_killed_at_it(tmp_path):
    async def story(desk):
        first = await desk.manager().deploy(balancer())
        store = await SqliteStore.open(desk.folder / ".holdfast/holdfast.db")
        now = desk.clock.now()
        assert await store.claim(first.address, "somebody", now, now + CLAIM_SECONDS) is not None
        await store.close()
        second = await desk.manager().deploy(balancer(workersMax=6))
        return second.action, desk.clock.now() - now >= CLAIM_SECONDS

    assert at_desk(tmp_path, story) == (Action.UPDATE, True)


def test_what_is_asked_for_and_held_back_is_an_error_and_what_the_world_did_is_told(tmp_path):
    async def story(desk):
        first = await desk.manager().deploy(balancer())
        await committed(
            desk, Transaction(governance=GovernanceChanges(pauses=[Pause("", "ada", "a party", desk.clock.now())]))
        )
        with pytest.raises(DeployError, match=r"held back: everything is paused by ada: a party"):
            await desk.manager().deploy(balancer(workersMax=6))
        with pytest.raises(DeployError, match="held back"):
            await desk.manager().deploy(balancer(name="another"))
        desk.server.console().edit(first.id, workersMax=50)
        return await desk.manager().deploy(balancer())

    held = at_desk(tmp_path, story)
    assert (held.action, held.decision.action, held.left_alone) == (Action.NONE, Action.HOLD, ("/workersMax",))


def test_options_are_those_of_manifests(tmp_path):
    async def story(desk):
        manager = desk.manager(options={"onDrift": "report", "onImmutable": "block"})
        first = await manager.deploy(balancer())
        desk.server.console("user_alice").edit(first.id, template={"imageName": "user/image:9"})
        told = await manager.deploy(balancer())
        with pytest.raises(DeployError, match="cannot be changed in place") as caught:
            await manager.deploy(CpuServerlessEndpoint(name="inference-lb", imageName="user/image:1.0"))
        with pytest.raises(InputError, match="unknown field `onDrfit`; did you mean `onDrift`"):
            await desk.manager(options={"onDrfit": "report"}).deploy(balancer())
        return told, caught.value.is_final

    told, is_final = at_desk(tmp_path, story)
    assert (told.action, told.left_alone, is_final) == (Action.NONE, ("/imageName",), True)
    assert [actor.who for actor in told.likely_actors] == ["user_alice"]


def test_texts_stand_for_themselves(tmp_path):
    odd = PodTemplate(dockerArgs="bash -c 'echo ${HOME} $${X}'", imageName="user/image:1.0")

    async def story(desk):
        config = balancer(template=odd, env={"A": "${B}", "C": "{secretRef: {env: HOME}}"})
        first = await desk.manager().deploy(config)
        again = await desk.manager().deploy(config)
        container = desk.container(first.id)
        return container["dockerArgs"], container["env"]["A"], container["env"]["C"], again.action

    assert at_desk(tmp_path, story) == (odd.dockerArgs, "${B}", "{secretRef: {env: HOME}}", Action.NONE)


def test_what_cannot_be_deployed_is_refused_before_anything_is_sent(tmp_path):
    async def story(desk):
        refused = {
            "a slash": balancer(name="a/b"),
            "REQUEST_COUNT": LoadBalancerSlsResource(name="l", imageName="user/image:1.0", scalerType="QUEUE_DELAY"),
            "one of imageName": ServerlessResource(name="s"),
            "startScript": balancer(template=PodTemplate(startScript="x", imageName="user/image:1.0")),
            "has no name": NetworkVolume(id="v1"),
            "needs a name": PodTemplate(imageName="user/image:1.0"),
            "no resource": object(),
        }
        for message, config in refused.items():
            with pytest.raises(InputError, match=message):
                await desk.manager().deploy(config)
        return desk.server.writes()

    assert at_desk(tmp_path, story) == []


def test_a_change_that_the_provider_keeps_nothing_of_is_told(tmp_path, caplog):
    async def story(desk):
        await desk.manager().deploy(balancer(python_version="3.11"))
        desk.quiet()
        return (await desk.manager().deploy(balancer(python_version="3.12"))).notes, desk.server.writes()

    notes, writes = at_desk(tmp_path, story)
    assert (notes, writes) == (("the configuration moved, but in nothing that the provider keeps",), [])
    assert notes[0] in caplog.text


def test_what_somebody_else_makes_while_we_look_is_looked_at_again(tmp_path):
    async def story(desk):
        elsewhere = desk.folder / "elsewhere"
        elsewhere.mkdir()
        other = ResourceManager(elsewhere, clock=desk.clock)
        made = await other.deploy(balancer())
        # A list that does not show it yet, and a second look that does.
        desk.server.faults.append(Fault(Wrong.EMPTY_LIST, "GET", "/v2/serverless"))
        return made.id, (await desk.manager().deploy(balancer())).id, len(desk.names())

    made, found, count = at_desk(tmp_path, story)
    assert (found, count) == (made, 1)


# -- volumes and templates


def test_a_volume_that_is_only_referred_to_by_its_id_is_not_ours(tmp_path):
    async def story(desk):
        volume = desk.server.world.make_volume(desk.server.account, "theirs", 50, "EU-RO-1")
        used = ServerlessEndpoint(name="g", imageName="user/image:1.0", networkVolume=NetworkVolume(id=volume.id))
        done = await desk.manager().deploy(used)
        tracked = {str(resource.address) for resource in await desk.manager().resources()}
        return desk.live(done.id)["networkVolumeIds"] == [volume.id], tracked

    assert at_desk(tmp_path, story) == (True, {"user_holdfast/Endpoint/g"})


def test_undeploying_an_endpoint_keeps_its_volume_and_a_volume_in_use_stays(tmp_path):
    async def story(desk):
        volume = NetworkVolume(name="v", size=50)
        config = ServerlessEndpoint(name="g", imageName="user/image:1.0", networkVolume=volume)
        await desk.manager().deploy(config)
        with pytest.raises(DeployError, match="in use"):
            await desk.manager().undeploy(volume)
        await desk.manager().undeploy(config)
        kept = len(desk.server.account.volumes)
        await desk.manager().undeploy("v")
        return kept, len(desk.server.account.volumes)

    assert at_desk(tmp_path, story) == (1, 0)


def test_two_objects_of_one_name_that_say_different_things_are_refused(tmp_path):
    async def story(desk):
        volumes = [NetworkVolume(name="v", size=size) for size in (50, 60)]
        configs = [
            ServerlessEndpoint(name=name, imageName="user/image:1.0", networkVolume=volume)
            for name, volume in zip("ab", volumes, strict=True)
        ]
        with pytest.raises(InputError, match=r"NetworkVolume/v@EU-RO-1 is declared twice"):
            await desk.manager().check(*configs)

    at_desk(tmp_path, story)


def test_a_template_is_deployed_by_itself_with_its_environment_kept_out_of_sight(tmp_path):
    template = PodTemplate(name="t", imageName="user/image:1.0", env=[KeyValuePair(key="TOKEN", value="hf_SECRET")])

    async def story(desk):
        first = await desk.manager().deploy(template)
        (made,) = desk.server.account.templates.values()
        again = await desk.manager().deploy(template)
        return made.id == first.id, made.fields["env"], again.action, b"hf_SECRET" in desk.kept()

    assert at_desk(tmp_path, story) == (True, {"TOKEN": "hf_SECRET"}, Action.NONE, False)


# -- looking


def test_many_are_checked_with_one_list(tmp_path):
    async def story(desk):
        configs = [balancer(name=f"e{number}") for number in range(6)]
        manager = desk.manager()
        for config in configs:
            await manager.deploy(config)
        desk.server.console().edit("e3", idleTimeout=99)
        desk.quiet()
        seen = await manager.check(*configs)
        return [item.resource.name for item in seen if not item.is_in_sync], len(seen), desk.server.counts()

    moved, count, requests = at_desk(tmp_path, story)
    assert (moved, count) == (["e3"], 6)
    assert requests["GET /v2/serverless"] == 1
    assert requests["GET /v2/serverless/*/releases"] == 1
    assert requests["GET /v2/serverless/*"] <= 1


def test_a_check_of_what_is_not_there_says_so(tmp_path):
    async def story(desk):
        waiting = ServerlessEndpoint(name="g", imageName="user/image:1.0", networkVolume=NetworkVolume(name="v"))
        found = await desk.manager().check(balancer(), waiting)
        return [(item.verdict.status, item.is_in_sync) for item in found], found[1].verdict.reason, desk.names()

    found, reason, names = at_desk(tmp_path, story)
    assert (found, names) == ([(Status.PENDING, False)] * 2, [])
    assert "NetworkVolume/v@EU-RO-1" in reason


def test_a_check_that_cannot_look_says_that_it_does_not_know(tmp_path):
    async def story(desk):
        manager = desk.manager()
        await manager.deploy(balancer())
        desk.server.faults.append(Fault(status=503, method="GET", times=None))
        (seen,) = await manager.check(balancer())
        return seen.verdict.status, await manager.check()

    assert at_desk(tmp_path, story) == (Status.UNKNOWN, [])


def test_what_is_tracked_is_listed_without_asking_anybody(tmp_path):
    async def story(desk):
        done = await desk.manager().deploy(balancer())
        desk.quiet()
        (one,) = await desk.manager().resources()
        return one, done, desk.server.journal

    one, done, asked = at_desk(tmp_path, story)
    assert (one.address, one.id, asked) == (Address("user_holdfast", "Endpoint", "inference-lb"), done.id, [])
    assert one.labels["runpod.holdfast.dev/class"] == "CpuLoadBalancerSlsResource"


def test_all_that_is_called_on_the_class_is_documented_there():
    for name in ("get_or_deploy_resource", "deploy", "check", "undeploy"):
        called = getattr(ResourceManager, name)
        assert callable(called)
        assert called.__doc__


def test_a_manager_outlives_event_loops(tmp_path):
    ids: list[str] = []
    manager: list[ResourceManager] = []

    async def story(desk):
        manager.append(desk.manager())
        found = await asyncio.gather(*[manager[0].deploy(balancer(name=name)) for name in "abc"])
        ids.extend(item.id for item in found)

    at_desk(tmp_path, story)
    assert [item.id for item in asyncio.run(manager[0].resources())] == ids
