"""Reading RunPod: found, gone, or not to be told; never the one for the other."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadError, ReadFailure
from holdfast.providers import registry
from holdfast.providers.protocol import Connection, Hint, ReadFailed, Target, Unchanged
from holdfast.providers.runpod import kinds, settings
from holdfast_emulators.runpod import USER, Access, Fault, Habits, Limits, RunPodServer, Wrong
from tests.unit.providers.runpod.world import at_desk, cpu, endpoint, known, wanting


def test_an_endpoint_is_shown_in_the_words_it_is_declared_in():
    async def story(desk):
        target = await desk.made(
            endpoint(gpus=["AMPERE_80", "ADA_24", "-NVIDIA A100 80GB PCIe"], datacenter=["EU-RO-1"])
        )
        return (await desk.found(target)).document

    assert at_desk(story) == {
        "createdAt": "2027-01-15T08:00:00.000Z",
        "name": "e",
        "type": "QB",
        "computeType": "GPU",
        "gpus": ["ADA_24", "AMPERE_80", "-NVIDIA A100 80GB PCIe"],
        "gpuCount": 1,
        "imageName": "user/image:1.0",
        "env": {"A": "1"},
        "flashboot": True,
        "workersMin": 0,
        "workersMax": 5,
        "idleTimeout": 30,
        "scalerType": "QUEUE_DELAY",
        "scalerValue": 4,
        "executionTimeoutMs": 300_000,
        "datacenter": ["EU-RO-1"],
        "networkVolumes": [],
        "template": {"containerDiskInGb": 50, "dockerArgs": "", "ports": [], "containerRegistryAuthId": ""},
    }


def test_one_on_cpus_has_nothing_of_gpus():
    async def story(desk):
        return (await desk.found(await desk.made(cpu(instanceIds=["cpu3g-2-8", "cpu5c-4-8"])))).document

    document = at_desk(story)
    assert (document["computeType"], document["instanceIds"]) == ("CPU", ["cpu3g-2-8", "cpu5c-4-8"])
    assert {"gpus", "gpuCount", "minCudaVersion"}.isdisjoint(document)


def test_words_nobody_has_heard_of_do_not_break_a_read():
    async def story(desk):
        target = await desk.made(endpoint())
        desk.server.console().edit(
            target.id, gpuIds="RUBIN_288", minCudaVersion="14.2", locations="MOON-1", flashBootType="WARP"
        )
        return (await desk.found(target)).document

    document = at_desk(story)
    assert (document["gpus"], document["minCudaVersion"], document["datacenter"]) == (["RUBIN_288"], "14.2", ["MOON-1"])
    assert document["flashboot"] == "WARP"


def test_the_key_that_tools_put_into_an_environment_is_not_shown():
    async def story(desk):
        target = await desk.made(endpoint())
        desk.server.console().set_env(target.id, RUNPOD_API_KEY="rpa_SECRET", B="2")
        return (await desk.found(target)).document["env"]

    assert at_desk(story) == {"A": "1", "RUNPOD_API_KEY": "********", "B": "2"}


# -- finding without an id


def test_an_endpoint_without_a_known_id_is_found_by_name():
    async def story(desk):
        made = await desk.made(endpoint())
        return made.id, await desk.reader.read(endpoint()), await desk.reader.read(endpoint("other"))

    ident, seen, other = at_desk(story)
    assert isinstance(seen, Found)
    assert (seen.id, other) == (ident, NotFound())


def test_environments_of_one_account_do_not_meet():
    async def story(desk):
        staging = await desk.made(endpoint(namespace="staging"))
        nothing = await desk.reader.read(endpoint(namespace="production"))
        production = await desk.made(endpoint(namespace="production"))
        names = sorted(item.fields["name"] for item in desk.server.account.endpoints.values())
        return staging.id != production.id, nothing, names

    assert at_desk(story) == (True, NotFound(), ["e@production", "e@staging"])


@pytest.mark.parametrize("body", [b"{}", b'{"id": "another", "name": "e"}', b"[]", b'{"data": []}'])
def test_an_answer_that_is_not_about_the_endpoint_is_unreadable(body):
    async def story(desk):
        made = await desk.made(endpoint())
        desk.server.faults.append(Fault(Wrong.BODY, "GET", "/v2/serverless/*", status=200, body=body))
        return await desk.reader.read(made)

    seen = at_desk(story)
    assert isinstance(seen, ReadFailure)
    assert seen.trouble is ReadError.MALFORMED


def test_two_of_one_name_cannot_be_told_apart():
    async def story(desk):
        first = await desk.made(endpoint())
        second = await desk.made(endpoint("twin"))
        desk.server.console().edit(second.id, name="e")
        return first, await desk.reader.read(endpoint())

    first, seen = at_desk(story)
    assert isinstance(seen, ReadFailure)
    assert seen.trouble is ReadError.UNCONFIRMED
    assert "2 things are called 'e'" in seen.detail
    assert first.id in seen.detail


def test_the_kind_tells_endpoints_of_one_name_apart_where_it_says_more_than_endpoint():
    async def story(desk):
        made = await desk.made(cpu("e"))
        return [
            type(await desk.reader.read(endpoint("e", kind=kind)))
            for kind in ("CpuServerlessEndpoint", "ServerlessEndpoint", "CpuLoadBalancerSlsResource", "Endpoint")
        ], made

    assert at_desk(story)[0] == [Found, NotFound, NotFound, Found]


def test_volumes_of_one_name_are_told_apart_by_their_place():
    async def story(desk):
        targets = [
            Target("NetworkVolume", "v", None, {"size": 50, "dataCenterId": place}) for place in ("EU-RO-1", "US-CA-2")
        ]
        made = [await desk.made(target) for target in targets]
        seen = [await desk.found(target) for target in targets]
        return made, seen

    made, seen = at_desk(story)
    assert [item.id for item in made] == [item.id for item in seen]
    assert seen[1].document == {"name": "v", "size": 50, "dataCenterId": "US-CA-2", "type": "STANDARD"}


@pytest.mark.parametrize("kind, path", [("ServerlessEndpoint", "serverless"), ("NetworkVolume", "network-volumes")])
def test_an_empty_list_where_there_are_things_is_not_believed(kind, path):
    async def story(desk):
        volume = Target("NetworkVolume", "e", None, {"size": 50, "dataCenterId": "EU-RO-1"})
        target = endpoint() if kind == "ServerlessEndpoint" else volume
        await desk.made(target)
        desk.server.faults.append(Fault(Wrong.EMPTY_LIST, "GET", f"/v2/{path}"))
        return await desk.reader.read(target)

    seen = at_desk(story)
    assert isinstance(seen, ReadFailure)
    assert seen.trouble is ReadError.UNCONFIRMED


def test_an_account_that_is_really_empty_is():
    assert at_desk(lambda desk: desk.reader.read(endpoint())) == NotFound()


def test_nobody_is_not_an_empty_account():
    async def story(desk):
        desk.server.faults += [Fault(Wrong.EMPTY_LIST, "GET", "/v2/serverless"), Fault(Wrong.EMPTY_LIST, "POST")]
        return await desk.reader.read(endpoint())

    seen = at_desk(story)
    assert isinstance(seen, ReadFailure)
    assert seen.trouble is ReadError.UNAUTHORISED


# -- what cannot be told


@pytest.mark.parametrize(
    "fault, trouble",
    [
        (Fault(status=500), ReadError.SERVER_ERROR),
        (Fault(status=503, headers={"Retry-After": "7"}), ReadError.SERVER_ERROR),
        (Fault(status=401), ReadError.UNAUTHORISED),
        (Fault(status=403), ReadError.UNAUTHORISED),
        (Fault(status=429), ReadError.THROTTLED),
        (Fault(Wrong.HTML, status=404), ReadError.UNCONFIRMED),
        (Fault(Wrong.GARBAGE, status=200), ReadError.MALFORMED),
        (Fault(Wrong.TRUNCATED), ReadError.MALFORMED),
        (Fault(Wrong.RESET), ReadError.UNREACHABLE),
        (Fault(Wrong.EMPTY, status=200), ReadError.MALFORMED),
    ],
)
def test_a_failed_read_is_never_gone(fault, trouble):
    async def story(desk):
        target = await desk.made(endpoint())
        fault.times = None
        desk.server.faults.append(fault)
        return await desk.reader.read(target), await desk.reader.read(endpoint())

    for seen in at_desk(story):
        assert isinstance(seen, ReadFailure), seen
        assert seen.trouble is trouble or (fault.wrong is Wrong.HTML and seen.trouble is ReadError.OTHER)
        assert "rpa_" not in seen.detail


def test_a_timeout_is_not_gone_and_health_is_not_asked():
    async def story(desk):
        target = await desk.made(endpoint())
        desk.server.faults.append(Fault(Wrong.HANG, "GET"))
        desk.reader._calls.client._session._timeout = aiohttp.ClientTimeout(total=0.05)  # for what never answers
        seen = await desk.reader.read(target)
        return seen, [entry for entry in desk.server.journal if entry.place.startswith("/ai/")]

    seen, health = at_desk(story)
    assert isinstance(seen, ReadFailure)
    assert (seen.trouble, health) == (ReadError.TIMEOUT, [])


def test_only_the_service_itself_says_gone():
    async def story(desk):
        target = await desk.made(endpoint())
        desk.server.console().delete(target.id)
        return await desk.reader.read(target)

    assert at_desk(story) == NotFound()


def test_another_accounts_key_sees_nothing_of_ours():
    async def story(desk):
        target = await desk.made(endpoint())
        desk.server.world.add_account("user_other")
        token = next(token for token, key in desk.server.world.keys.items() if key.user == "user_other")
        described = Connection("other", "runpod", {"base_url": desk.server.url}, {"api_key": token})
        async with registry.get("runpod").reader(described) as reader:
            return await reader.read(target), await reader.read(endpoint())

    assert at_desk(story) == (NotFound(), NotFound())


def test_a_throttled_read_says_how_long_to_wait():
    async def story(desk):
        return await desk.reader.read(endpoint())

    seen = at_desk(story, limits=Limits({"minute": 0}))
    assert isinstance(seen, ReadFailure)
    assert seen.trouble is ReadError.THROTTLED
    assert seen.retry_after_seconds


# -- unchanged


def test_what_has_not_moved_is_not_parsed_again_and_lists_agree_with_reads():
    async def story(desk):
        target = await desk.made(endpoint())
        seen = await desk.found(target)
        hint = Hint(None, seen.raw_digest)
        again = await desk.reader.read(target, hint)
        listed = [item async for item in desk.reader.list("ServerlessEndpoint")]
        desk.server.console().edit(target.id, workersMax=50)
        return seen, again, listed, await desk.reader.read(target, hint), desk.reader.parse("Endpoint", listed[0].raw)

    seen, again, listed, moved, parsed = at_desk(story)
    assert again == Unchanged(None, seen.raw_digest)
    assert [(item.id, item.raw_digest) for item in listed] == [(seen.id, seen.raw_digest)]
    assert isinstance(moved, Found)
    assert (moved.document["workersMax"], parsed) == (50, seen.document)


# -- lists


def test_lists_go_through_all_pages_and_fail_as_a_whole():
    async def story(desk):
        for number in range(7):
            await desk.made(endpoint(f"e{number}"))
        desk.server.journal.clear()
        names = [desk.reader.parse("Endpoint", item.raw)["name"] async for item in desk.reader.list("Endpoint")]
        calls = desk.server.counts()
        desk.server.faults.append(Fault(status=503, path="/v2/serverless", times=None))
        desk.server.faults[0].times = 1
        with pytest.raises(ReadFailed):
            [item async for item in desk.reader.list("Endpoint")]
        return names, calls

    names, calls = at_desk(story, Habits(page_size=3))
    assert (names, calls) == ([f"e{number}" for number in range(7)], {"GET /v2/serverless": 3})


def test_one_list_serves_all_kinds_of_endpoint_once():
    async def listed(desk, kind):
        return sorted([desk.reader.parse(kind, item.raw)["name"] async for item in desk.reader.list(kind)])

    async def story(desk):
        await desk.made(endpoint("g"))
        await desk.made(cpu("c"))
        balancer = {"scalerType": "REQUEST_COUNT"}
        await desk.made(endpoint("gl", kind="LoadBalancerSlsResource", **balancer))
        live = await desk.made(cpu("cl", kind="CpuLiveLoadBalancer", imageName=None, **balancer))
        desk.server.journal.clear()
        names = [
            await listed(desk, kind)
            for kind in (
                "ServerlessEndpoint",
                "CpuServerlessEndpoint",
                "LoadBalancerSlsResource",
                "CpuLoadBalancerSlsResource",
                "CpuLiveLoadBalancer",
                "LiveServerless",
                "Endpoint",
            )
        ]
        once = desk.server.counts()["GET /v2/serverless"]
        await listed(desk, "Endpoint")
        twice = desk.server.counts()["GET /v2/serverless"]
        await desk.writer.delete(live, "k")
        await listed(desk, "LiveLoadBalancer")
        return names, once, twice, desk.server.counts()["GET /v2/serverless"]

    assert at_desk(story) == ([["g"], ["c"], ["gl"], ["cl"], ["cl"], [], ["c", "cl", "g", "gl"]], 1, 2, 3)


def test_things_are_found_by_their_fields():
    async def story(desk):
        made = [await desk.made(endpoint(name, workersMax=number)) for name, number in (("a", 1), ("b", 2))]
        return (
            made[1].id,
            await desk.reader.find("Endpoint", {"workersMax": 2}),
            await desk.reader.find("Endpoint", {"/template/containerDiskInGb": 7}),
        )

    ident, found, none = at_desk(story)
    assert (found, none) == ([ident], [])


@pytest.mark.parametrize("raw", [b"{", b"[]", b"7"])
def test_broken_items_are_not_documents(raw):
    async def story(desk):
        with pytest.raises(ReadFailed):
            desk.reader.parse("Endpoint", raw)

    at_desk(story)


def test_a_kind_there_is_not_is_said_so():
    async def story(desk):
        with pytest.raises(ReadFailed):
            [item async for item in desk.reader.list("Boat")]
        return await desk.reader.read(Target("Boat", "b", None, {}))

    seen = at_desk(story)
    assert isinstance(seen, ReadFailure)
    assert "Boat" in seen.detail


# -- what only GraphQL shows


def test_fields_that_only_graphql_shows_are_read_where_the_connection_says_so():
    async def story(desk):
        target = await desk.made(endpoint(workersStandby=2, workersPFBTarget=1))
        seen = await desk.found(target)
        listed = [item async for item in desk.reader.list("Endpoint")]
        return seen, listed, desk.reader.parse("Endpoint", listed[0].raw)

    seen, listed, parsed = at_desk(story, extended=True)
    assert (seen.document["workersStandby"], seen.document["workersPFBTarget"]) == (2, 1)
    assert (listed[0].raw_digest, parsed) == (seen.raw_digest, seen.document)


def test_endpoints_beyond_graphqls_cap_are_asked_for_one_by_one():
    async def story(desk):
        for number in range(4):
            await desk.made(endpoint(f"e{number}"))
        desk.server.journal.clear()
        listed = [desk.reader.parse("Endpoint", item.raw) async for item in desk.reader.list("Endpoint")]
        return [element["workersStandby"] for element in listed], desk.server.counts()

    standby, counts = at_desk(story, Habits(graphql_cap=3), extended=True)
    assert standby == [1, 1, 1, 1]
    assert counts == {"GET /v2/serverless": 1, "POST /graphql#myself": 2}


def test_declaring_what_the_connection_does_not_look_at_is_not_green():
    seen = at_desk(lambda desk: desk.reader.read(endpoint(workersStandby=2)))
    assert isinstance(seen, ReadFailure)
    assert "set `extended: true`" in seen.detail


def test_what_rest_shows_and_graphql_does_not_yet_is_not_settled():
    async def story(desk):
        target = await desk.made(endpoint())
        desk.server.faults.append(Fault(Wrong.EMPTY_LIST, "POST"))
        nobody = await desk.reader.read(target)
        desk.server.faults.append(Fault(status=500, method="POST", times=2))
        failed = await desk.reader.read(target)
        with pytest.raises(ReadFailed):
            [item async for item in desk.reader.list("Endpoint")]
        return nobody, failed

    nobody, failed = at_desk(story, extended=True)
    assert isinstance(nobody, ReadFailure)
    assert isinstance(failed, ReadFailure)
    assert (nobody.trouble, failed.trouble) == (ReadError.UNAUTHORISED, ReadError.SERVER_ERROR)


def test_the_key_tells_the_account_and_an_outage_does_not():
    async def story(desk):
        mine = await desk.reader.account()
        desk.server.faults.append(Fault(Wrong.EMPTY_LIST, "POST", "/graphql*"))
        with pytest.raises(ReadFailed):
            await desk.reader.account()
        desk.server.faults.append(Fault(status=503, method="POST", path="/graphql*"))
        with pytest.raises(ReadFailed):
            await desk.reader.account()
        return mine

    assert at_desk(story) == USER


def test_the_flash_environment_tells_endpoints_of_one_name_apart():
    async def story(desk):
        account = desk.server.account
        staging, production = (desk.server.world.add_environment(account, "app", name).id for name in ("s", "p"))
        made = [await desk.made(endpoint("e", flashEnvironmentId=item), item) for item in (staging, production)]
        return [(target.id, (await desk.found(known(target, None))).id) for target in made]

    (one, again), (other, too) = at_desk(story, extended=True)
    assert (one, other) == (again, too)
    assert one != other


# -- connections and kinds


@pytest.mark.parametrize(
    "given, secrets, field",
    [
        ({}, {}, "secrets"),
        ({"base_url": "ftp://x"}, {"api_key": "k"}, "base_url"),
        ({"extended": "yes"}, {"api_key": "k"}, "extended"),
        ({"timeout": 0}, {"api_key": "k"}, "timeout"),
        ({"baseurl": "http://x"}, {"api_key": "k"}, "baseurl"),
    ],
)
def test_a_wrong_connection_names_the_field(given: dict[str, Any], secrets, field):
    with pytest.raises(InputError) as error:
        settings.account(Connection("prod", "runpod", given, secrets))
    assert error.value.location.field == f"/connections/prod/{field}"


def test_the_key_is_never_shown():
    account = settings.account(Connection("prod", "runpod", {}, {"api_key": "rpa_SECRET"}))
    assert "rpa_SECRET" not in repr(account)
    assert (account.rest, account.graphql) == ("https://api.runpod.io/v2", "https://api.runpod.io/graphql")


def test_a_key_that_may_only_read_is_enough_to_read():
    async def run():
        async with RunPodServer() as server:
            token = server.world.add_key(server.user, Access.READ)
            described = Connection("prod", "runpod", {"base_url": server.url}, {"api_key": token})
            async with registry.get("runpod").reader(described) as reader:
                return await reader.read(endpoint())

    assert asyncio.run(run()) == NotFound()


def test_every_kind_has_rules_a_schema_and_its_pool():
    shipped = registry.get("runpod").kinds
    assert {
        "Endpoint",
        "NetworkVolume",
        "PodTemplate",
        "CpuLoadBalancerSlsResource",
        "LiveServerless",
    } <= shipped.keys()
    for name, kind in shipped.items():
        assert len(kind.profiles) == 1
        assert kind.schema is not None
        assert (kind.lists, kind.patches, kind.conditional) == (True, True, False)
        assert kind.pool == ("endpoints" if name in kinds.ENDPOINTS else "")


def test_what_a_kind_implies_is_declared_with_it():
    target = wanting(known(cpu("c", kind="CpuLiveLoadBalancer"), "x"), imageName=None, instanceIds=None)
    whole: dict[str, Json] = kinds.whole(target)
    assert (whole["type"], whole["instanceIds"], whole["name"]) == ("LB", ["cpu3g-2-8"], "c")
    assert whole["imageName"] == "runpod/flash-lb-cpu:py3.12-latest"
