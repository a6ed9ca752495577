"""Writing RunPod: minimal, on what is there now, repeatable, and through GraphQL where v2 does not reach."""

from __future__ import annotations

import pytest

from holdfast.model.json import Json
from holdfast.model.read_result import NotFound
from holdfast.model.write_result import Done, WriteError, WriteFailure
from holdfast.providers.protocol import Change, Target
from holdfast_emulators.runpod import Access, Fault, Habits, Limits, Script, Wrong
from tests.unit.providers.runpod.world import at_desk, cpu, endpoint, known, wanting


def _volume(**fields: Json) -> Target:
    return Target("NetworkVolume", "v", None, {"size": 50, "dataCenterId": "EU-RO-1", **fields})


def _template(**fields: Json) -> Target:
    return Target("PodTemplate", "t", None, {"imageName": "user/image:1.0", "isServerless": True, **fields})


# -- making


def test_what_was_declared_is_made_and_what_v2_insists_on_is_filled_in():
    async def story(desk):
        target = await desk.made(Target("LoadBalancerSlsResource", "lb", None, {"imageName": "user/image:1.0"}))
        return desk.live(target), desk.container(target), [entry.place for entry in desk.server.writes()]

    live, container, writes = at_desk(story)
    assert (live["type"], live["scalerType"], live["scalerValue"]) == ("LB", "REQUEST_COUNT", 4)
    assert live["gpuIds"].startswith("AMPERE_16,AMPERE_24,ADA_24")
    assert (container["imageName"], writes) == ("user/image:1.0", ["/v2/serverless"])


def test_all_fields_reach_the_service():
    async def story(desk):
        volume = await desk.made(_volume())
        target = await desk.made(
            endpoint(
                gpus=["AMPERE_80", "-NVIDIA A100 80GB PCIe"],
                gpuCount=2,
                minCudaVersion="12.8",
                datacenter=["EU-RO-1"],
                networkVolumes=[volume.id],
                executionTimeoutMs=1000,
                flashboot=False,
                template={
                    "containerDiskInGb": 7,
                    "dockerArgs": "-v",
                    "ports": ["80/http"],
                    "containerRegistryAuthId": "r",
                },
            )
        )
        seen = (await desk.found(target)).document
        return {name: value for name, value in target.desired.items() if seen.get(name) != value}

    assert at_desk(story) == {}


def test_a_queue_that_scales_by_requests_is_sent_no_idle_timeout():
    async def story(desk):
        return desk.live(await desk.made(endpoint(scalerType="REQUEST_COUNT")))["scalerType"]

    assert at_desk(story) == "REQUEST_COUNT"


def test_a_single_vcpu_takes_the_way_through_graphql():
    async def story(desk):
        target = await desk.made(cpu(instanceIds=["cpu3g-1-4"], template={"containerDiskInGb": 10}))
        return desk.live(target)["instanceIds"], desk.container(target), [entry.place for entry in desk.server.writes()]

    instances, container, writes = at_desk(story)
    assert (instances, writes) == (["cpu3g-1-4"], ["/graphql#saveEndpoint"])
    assert (container["imageName"], container["env"], container["containerDiskInGb"]) == (
        "user/image:1.0",
        {"A": "1"},
        10,
    )


def test_an_endpoint_can_be_made_from_a_template_alone():
    async def story(desk):
        template = await desk.made(_template(env={"B": "2"}))
        target = await desk.made(endpoint(imageName=None, templateId=template.id))
        return desk.container(target)

    container = at_desk(story)
    assert (container["imageName"], container["env"]) == ("user/image:1.0", {"A": "1", "B": "2"})


def test_creating_twice_with_one_key_makes_one_thing():
    async def story(desk):
        first = await desk.made(endpoint())
        second = await desk.made(endpoint())
        return first.id == second.id, len(desk.server.account.endpoints), len(desk.server.writes())

    assert at_desk(story) == (True, 1, 1)


@pytest.mark.parametrize("target", [endpoint(), cpu(instanceIds=["cpu3g-1-4"]), _volume(), _template()])
def test_a_create_whose_answer_was_lost_is_found_again(target):
    async def story(desk):
        desk.server.faults.append(Fault(Wrong.RESET_AFTER, "POST", "/v2/[snt]*"))
        desk.server.faults.append(Fault(Wrong.RESET_AFTER, "POST", "/graphql#saveEndpoint"))
        done = await desk.writer.create(target, "k")
        account = desk.server.account
        own = [template for template in account.templates.values() if template.bound_to is None]
        made = (
            account.volumes
            if target.kind == "NetworkVolume"
            else own
            if target.kind == "PodTemplate"
            else account.endpoints
        )
        return done, len(made)

    done, count = at_desk(story)
    assert isinstance(done, Done)
    assert count == 1


def test_repeating_a_create_whose_answer_was_lost_makes_nothing():
    async def story(desk):
        desk.server.faults.append(Fault(Wrong.RESET_AFTER, "POST", "/v2/serverless"))
        first = await desk.writer.create(endpoint(), "k")
        again = await desk.writer.create(endpoint(), "k")
        return first, again, len(desk.server.account.endpoints)

    first, again, count = at_desk(story)
    assert (first, count) == (again, 1)


def test_a_single_vcpu_made_twice_while_lists_lag_is_still_one():
    async def story(desk):
        target = cpu(instanceIds=["cpu3g-1-4"])
        await desk.made(target, "k")
        desk.server.faults.append(Fault(Wrong.EMPTY_LIST, "GET", "/v2/serverless", times=1))
        desk.server.faults.append(Fault(Wrong.EMPTY_LIST, "POST", "/graphql#myself", times=1))
        refused = await desk.writer.create(target, "k")
        return refused, len(desk.server.account.endpoints)

    refused, count = at_desk(story)
    assert isinstance(refused, WriteFailure)
    assert (refused.refusal, count) == (WriteError.RETRYABLE, 1)


def test_the_name_of_its_template_keeps_a_graphql_create_from_happening_twice():
    async def story(desk):
        target = cpu(instanceIds=["cpu3g-1-4"])
        await desk.made(target, "k")
        desk.server.scripts.append(Script(lambda console: console.edit("c", name="hidden"), "GET", "/v2/serverless"))
        desk.server.scripts.append(
            Script(lambda console: console.edit("hidden", name="c"), "POST", "/graphql#saveEndpoint")
        )
        return await desk.writer.create(target, "k"), len(desk.server.account.endpoints)

    done, count = at_desk(story)
    assert isinstance(done, Done)
    assert count == 1


def test_something_of_that_name_is_made_what_was_declared_instead_of_made_twice():
    async def story(desk):
        first = await desk.made(endpoint(workersMax=9, env={"A": "1", "B": "2"}))
        second = await desk.made(endpoint())
        return first.id == second.id, desk.live(second)["workersMax"], desk.container(second)["env"]

    assert at_desk(story) == (True, 5, {"A": "1", "B": "2"})


def test_two_of_that_name_are_nothing_to_choose_from():
    async def story(desk):
        await desk.made(endpoint())
        twin = await desk.made(endpoint("twin"))
        desk.server.console().edit(twin.id, name="e")
        return await desk.writer.create(endpoint(), "k")

    refused = at_desk(story)
    assert isinstance(refused, WriteFailure)
    assert refused.refusal is WriteError.TERMINAL


@pytest.mark.parametrize(
    "fault, refusal",
    [
        (Fault(status=500, method="POST"), WriteError.RETRYABLE),
        (Fault(status=503, method="GET"), WriteError.RETRYABLE),
        (Fault(status=429, method="POST", headers={"Retry-After": "9"}), WriteError.THROTTLED),
        (Fault(status=403, method="POST"), WriteError.DENIED),
        (Fault(Wrong.RESET, "POST"), WriteError.RETRYABLE),
    ],
)
def test_each_kind_of_no_is_told_apart_and_nothing_is_made(fault, refusal):
    async def story(desk):
        await desk.made(_volume())  # so that no list is empty
        await desk.made(endpoint("other"))
        desk.server.faults.append(fault)
        return await desk.writer.create(endpoint(), "k"), len(desk.server.account.endpoints)

    refused, count = at_desk(story)
    assert isinstance(refused, WriteFailure)
    assert (refused.refusal, count) == (refusal, 1)


def test_what_the_service_refuses_is_quoted_without_what_was_sent():
    async def story(desk):
        return await desk.writer.create(endpoint(imageName="runpod/pytorch:latest", env={"P": "hunter2"}), "k")

    refused = at_desk(story)
    assert isinstance(refused, WriteFailure)
    assert refused.refusal is WriteError.TERMINAL
    assert "does not resolve to a published image" in refused.message
    assert "hunter2" not in refused.message


def test_a_key_that_may_only_read_cannot_write():
    async def story(desk):
        desk.server.world.keys[desk.server.token].access = Access.READ
        return await desk.writer.create(endpoint(), "k")

    refused = at_desk(story)
    assert isinstance(refused, WriteFailure)
    assert refused.refusal is WriteError.DENIED


# -- changing


def test_only_what_was_decided_is_written():
    async def story(desk):
        target = await desk.made(endpoint())
        desk.server.console().edit(target.id, workersMax=50, idleTimeout=99)
        seen = await desk.put_right(target, "/workersMax")
        return seen["workersMax"], seen["idleTimeout"], desk.server.writes()[-1].body

    assert at_desk(story) == (5, 99, {"workers": {"max": 5}})


@pytest.mark.parametrize(
    "fields, paths, sent",
    [
        ({"imageName": "user/image:2.0"}, ("/imageName",), {"image": "user/image:2.0"}),
        ({"scalerValue": 9}, ("/scalerValue",), {"scaling": {"type": "QUEUE_DELAY", "queueDelay": 9}}),
        ({"executionTimeoutMs": 7}, ("/executionTimeoutMs",), {"timeout": 7}),
        ({"executionTimeoutMs": None}, ("/executionTimeoutMs",), {"timeout": 300_000}),
        ({"flashboot": False}, ("/flashboot",), {"flashboot": "OFF"}),
        ({"flashboot": None}, ("/flashboot",), {"flashboot": "OFF"}),
        ({"flashboot": "PRIORITY_FLASHBOOT"}, ("/flashboot",), {"flashboot": "PRIORITY_FLASHBOOT"}),
        ({"gpuCount": 2}, ("/gpuCount",), {"gpu": {"count": 2}}),
        ({"gpus": ["ADA_24"]}, ("/gpus",), {"gpu": {"pools": ["ADA_24"], "excludedTypes": []}}),
        ({"minCudaVersion": "12.8"}, ("/minCudaVersion",), {"gpu": {"minCudaVersion": "12.8"}}),
        ({"datacenter": ["EU-RO-1"]}, ("/datacenter",), {"dataCenterIds": ["EU-RO-1"]}),
        (
            {"workersMin": 1, "idleTimeout": 7},
            ("/workersMin", "/idleTimeout"),
            {"workers": {"min": 1, "idleTimeout": 7}},
        ),
        ({"template": {"dockerArgs": "-v"}}, ("/template/dockerArgs",), {"args": "-v"}),
    ],
)
def test_a_change_is_sent_as_v2_wants_it(fields, paths, sent):
    async def story(desk):
        target = await desk.made(endpoint(executionTimeoutMs=5000))
        await desk.put_right(wanting(target, **fields), *paths)
        body = desk.server.writes()[-1].body
        return {word: value for word, value in body.items() if word in sent}

    assert at_desk(story) == sent


def test_an_environment_is_merged_with_what_is_there_in_clear():
    async def story(desk):
        target = await desk.made(endpoint(env={"A": "1", "B": "2", "C": "3"}))
        desk.server.console().set_env(target.id, RUNPOD_API_KEY="rpa_SECRET", X="other", C="moved")
        wanted = wanting(target, env={"A": "9", "C": "3"})
        await desk.put_right(wanted, "/env/A", "/env/B", "/env/C")
        return desk.container(target)["env"]

    assert at_desk(story) == {"A": "9", "C": "3", "RUNPOD_API_KEY": "rpa_SECRET", "X": "other"}


def test_a_value_of_the_environment_that_somebody_moved_is_put_back():
    async def story(desk):
        target = await desk.made(endpoint())
        desk.server.console().set_env(target.id, A="moved")
        await desk.put_right(target, "/env/A")
        return desk.container(target)["env"]

    assert at_desk(story) == {"A": "1"}


def test_what_a_load_balancer_was_told_at_birth_stays():
    async def story(desk):
        target = await desk.made(endpoint(kind="LoadBalancerSlsResource", scalerType="REQUEST_COUNT"))
        await desk.put_right(wanting(target, env={"A": "2"}), "/env/A")
        return desk.container(target)["env"]

    assert at_desk(story) == {"PORT": "80", "PORT_HEALTH": "80", "A": "2"}


def test_excluded_cards_survive_an_unrelated_change():
    async def story(desk):
        target = await desk.made(endpoint(gpus=["AMPERE_80", "-NVIDIA A100 80GB PCIe"]))
        seen = await desk.put_right(wanting(target, workersMax=7), "/workersMax")
        return seen["gpus"], seen["workersMax"], len(desk.server.account.endpoints[target.id].releases)

    assert at_desk(story, Habits(drops_exclusions=True)) == (["AMPERE_80", "-NVIDIA A100 80GB PCIe"], 7, 1)


def test_a_cpu_endpoint_that_v2_takes_for_one_on_gpus_is_saved_through_graphql_with_nothing_lost():
    async def story(desk):
        target = await desk.made(cpu(datacenter=["EU-RO-1"], template={"containerDiskInGb": 20, "dockerArgs": "-v"}))
        desk.server.console().set_env(target.id, RUNPOD_API_KEY="rpa_SECRET")
        before = {**desk.live(target)}
        wanted = wanting(target, workersMax=9, imageName="user/image:2.0", env={"A": "2"})
        await desk.put_right(wanted, "/workersMax", "/imageName", "/env/A")
        after, container = desk.live(target), desk.container(target)
        changed = {name for name in before if before[name] != after[name]}
        return changed, after["workersMax"], container

    changed, workers, container = at_desk(story, Habits(breaks_cpu_patch=True))
    assert (changed, workers) == ({"workersMax"}, 9)
    assert (container["imageName"], container["containerDiskInGb"], container["dockerArgs"]) == (
        "user/image:2.0",
        20,
        "-v",
    )
    assert container["env"] == {"A": "2", "RUNPOD_API_KEY": "rpa_SECRET"}


def test_saving_what_only_graphql_knows_resets_nothing():
    async def story(desk):
        target = await desk.made(endpoint(workersStandby=0, minCudaVersion="12.8", datacenter=["EU-RO-1"]))
        before = {**desk.live(target)}
        await desk.put_right(wanting(target, workersStandby=3, workersMax=7), "/workersStandby", "/workersMax")
        after = desk.live(target)
        return {name: after[name] for name in before if before[name] != after[name]}

    assert at_desk(story, extended=True) == {"workersStandby": 3, "workersMax": 7}


def test_going_to_a_single_vcpu_takes_the_way_through_graphql():
    async def story(desk):
        target = await desk.made(cpu())
        seen = await desk.put_right(
            wanting(target, instanceIds=["cpu3g-1-4"], workersMax=7), "/instanceIds", "/workersMax"
        )
        return (
            seen["instanceIds"],
            seen["workersMax"],
            [entry.place.split("/")[1] for entry in desk.server.writes()[1:]],
        )

    assert at_desk(story) == (["cpu3g-1-4"], 7, ["v2", "graphql#saveEndpoint"])


def test_a_half_done_change_is_completed_by_repeating_it():
    async def story(desk):
        target = await desk.made(cpu())
        wanted = wanting(target, workersMax=9, imageName="user/image:2.0")
        seen = await desk.found(target)
        change = Change(wanted.desired, seen.document, ("/workersMax", "/imageName"))
        desk.server.faults.append(Fault(status=500, path="/graphql#saveTemplate"))
        half = await desk.writer.update(wanted, change, "k")
        state = desk.live(target)["workersMax"], desk.container(target)["imageName"]
        whole = await desk.writer.update(wanted, change, "k")
        return half, state, whole, (desk.live(target)["workersMax"], desk.container(target)["imageName"])

    half, state, whole, after = at_desk(story, Habits(breaks_cpu_patch=True))
    assert isinstance(half, WriteFailure)
    assert (half.refusal, state) == (WriteError.RETRYABLE, (9, "user/image:1.0"))
    assert isinstance(whole, Done)
    assert after == (9, "user/image:2.0")


def test_nothing_is_sent_where_nothing_differs():
    async def story(desk):
        target = await desk.made(endpoint())
        seen = await desk.found(target)
        done = await desk.writer.update(target, Change(target.desired, seen.document, ("/workersMax",)), "k")
        return done, len(desk.server.writes())

    done, writes = at_desk(story)
    assert isinstance(done, Done)
    assert writes == 1


def test_what_is_gone_has_moved_and_what_cannot_be_read_is_not_written():
    async def story(desk):
        target = await desk.made(endpoint())
        change = Change(target.desired, (await desk.found(target)).document, ("/workersMax",))
        desk.server.faults.append(Fault(status=503, method="GET"))
        unread = await desk.writer.update(target, change, "k")
        desk.server.console().delete(target.id)
        gone = await desk.writer.update(target, change, "k")
        never = await desk.writer.update(endpoint(), change, "k")
        return unread.refusal, gone.refusal, never.refusal, len(desk.server.writes())

    assert at_desk(story) == (WriteError.RETRYABLE, WriteError.MOVED, WriteError.MOVED, 1)


def test_throttling_slows_the_whole_connection():
    async def story(desk):
        desk.server.limits = Limits({"minute": 3})
        target = await desk.made(endpoint())
        return await desk.writer.update(
            wanting(target, workersMax=7), Change({"workersMax": 7}, {}, ("/workersMax",)), "k"
        )

    refused = at_desk(story)
    assert isinstance(refused, WriteFailure)
    assert refused.refusal in (WriteError.THROTTLED, WriteError.RETRYABLE)


# -- the other kinds


def test_a_volume_grows_in_place_and_neither_shrinks_nor_moves():
    async def story(desk):
        target = await desk.made(_volume())
        grown = await desk.put_right(wanting(target, size=80), "/size")
        small = await desk.writer.update(wanting(target, size=20), Change({"size": 20}, grown, ("/size",)), "k")
        return grown["size"], small.refusal, small.message

    size, refusal, message = at_desk(story)
    assert (size, refusal) == (80, WriteError.TERMINAL)
    assert "can only be increased" in message


def test_a_template_is_changed_and_its_endpoints_are_not():
    async def story(desk):
        target = await desk.made(_template(env={"A": "1"}, ports=["80/http"]))
        made = await desk.made(endpoint(imageName=None, env=None, templateId=target.id))
        wanted = wanting(target, imageName="user/image:2.0", env={"A": "2"}, ports=None)
        seen = await desk.put_right(wanted, "/imageName", "/env/A", "/ports")
        return seen, desk.container(made)["imageName"]

    seen, image = at_desk(story)
    assert (seen["imageName"], seen["env"], seen["ports"]) == ("user/image:2.0", {"A": "2"}, [])
    assert image == "user/image:1.0"


# -- removing


def test_removing_is_done_once_and_stays_done():
    async def story(desk):
        target = await desk.made(endpoint())
        first = await desk.writer.delete(target, "k")
        again = await desk.writer.delete(target, "k")
        never = await desk.writer.delete(endpoint(), "k")
        return first, again, never, await desk.reader.read(target), desk.server.account.templates

    first, again, never, seen, templates = at_desk(story)
    assert (first == again, never, seen, templates) == (True, Done(""), NotFound(), {})


def test_in_an_outage_nothing_counts_as_removed():
    async def story(desk):
        target = await desk.made(endpoint())
        desk.server.faults.append(Fault(status=503, times=None))
        return (await desk.writer.delete(target, "k")), len(desk.server.account.endpoints)

    refused, count = at_desk(story)
    assert isinstance(refused, WriteFailure)
    assert (refused.refusal, count) == (WriteError.RETRYABLE, 1)


def test_a_volume_in_use_is_removed_when_it_is_free():
    async def story(desk):
        volume = await desk.made(_volume())
        user = await desk.made(endpoint(networkVolumes=[volume.id]))
        busy = await desk.writer.delete(volume, "k")
        await desk.writer.delete(user, "k")
        return busy, await desk.writer.delete(volume, "k"), await desk.reader.read(volume)

    busy, free, seen = at_desk(story)
    assert isinstance(busy, WriteFailure)
    assert busy.refusal is WriteError.RETRYABLE
    assert isinstance(free, Done)
    assert seen == NotFound()


def test_nothing_here_takes_its_time():
    async def story(desk):
        unknown = await desk.writer.create(Target("Boat", "b", None, {}), "k")
        return await desk.writer.poll(known(endpoint(), "e1"), {}), unknown.refusal

    assert at_desk(story) == (Done("e1"), WriteError.TERMINAL)
