"""The doors to the emulated ARM: TLS for the real client stack, no sockets for virtual time, a process of its own."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
import sys

import aiohttp
import orjson
import pytest
from azure.core.exceptions import (
    IncompleteReadError,
    ServiceRequestError,
    ServiceResponseError,
    ServiceResponseTimeoutError,
)
from azure.core.pipeline.policies import AsyncRetryPolicy, ContentDecodePolicy
from azure.core.rest import HttpRequest
from azure.identity.aio import ClientSecretCredential
from azure.mgmt.core import AsyncARMPipelineClient
from azure.mgmt.core.policies import AsyncARMChallengeAuthenticationPolicy

from holdfast.testing.clock import FakeClock
from holdfast_emulators.azure import ArmServer, Fault, Limits, World, Wrong, running
from holdfast_emulators.azure.transport import ArmTransport, StaticCredential
from tests.unit.testing.armdesk import BASE, WIDGETS, widget

SCOPE = "https://management.azure.com/.default"


def credential_for(world, **options):
    return ClientSecretCredential(
        world.tenant, world.client_id, world.client_secret, disable_instance_discovery=True, **options
    )


def client_for(base, credential, **options):
    policies = [
        AsyncRetryPolicy(retry_total=0),
        ContentDecodePolicy(),
        AsyncARMChallengeAuthenticationPolicy(credential, SCOPE),
    ]
    return AsyncARMPipelineClient(base, policies=policies, **options)


async def ask(client, method, url, body=None):
    request = HttpRequest(method, url, params={"api-version": "2024-01-01"}, json=body)
    return await client.send_request(request)


async def the_life_of_a_widget(client, base, world):
    id_ = f"{base}{world.add_group('rg')}/providers/{WIDGETS}/w1"
    made = await ask(client, "PUT", id_, widget(a=1))
    assert made.status_code == 201
    found = await ask(client, "GET", id_)
    assert found.json()["properties"]["a"] == 1
    assert found.headers["X-MS-RateLimit-Remaining-Subscription-Reads"] == "11999"
    assert (await ask(client, "DELETE", id_)).status_code == 200
    assert (await ask(client, "GET", id_)).json()["error"]["code"] == "ResourceNotFound"


def test_the_real_client_stack_talks_tls_to_it():
    async def scenario():
        world = World(FakeClock())
        async with ArmServer(world) as server:
            verify = {"connection_verify": server.ca_bundle}
            async with (
                credential_for(world, authority=server.url, **verify) as credential,
                client_for(server.url, credential, **verify) as client,
            ):
                await the_life_of_a_widget(client, server.url, world)
        assert next(entry.kind for entry in world.journal) == "token"
        assert world.journal.writes()[0].principal == world.client_id

    asyncio.run(scenario())


def test_a_client_that_does_not_trust_the_certificate_gets_nothing():
    async def scenario():
        world = World()
        async with ArmServer(world) as server, client_for(server.url, StaticCredential(world.token)) as client:
            with pytest.raises(ServiceRequestError, match="certificate"):
                await ask(client, "GET", f"{server.url}/subscriptions")
        assert len(world.journal) == 0

    asyncio.run(scenario())


def test_the_same_stack_works_without_a_socket():
    async def scenario():
        world = World(FakeClock())
        transport = ArmTransport(world)
        async with (
            credential_for(world, transport=transport) as credential,
            client_for(BASE, credential, transport=transport) as client,
        ):
            await the_life_of_a_widget(client, BASE, world)

    asyncio.run(scenario())


def test_a_static_credential_is_enough():
    async def scenario():
        world = World()
        async with client_for(BASE, StaticCredential(world.token), transport=ArmTransport(world)) as client:
            await the_life_of_a_widget(client, BASE, world)
        async with client_for(BASE, StaticCredential("wrong"), transport=ArmTransport(world)) as client:
            assert (await ask(client, "GET", f"{BASE}/subscriptions")).status_code == 401

    asyncio.run(scenario())


def test_a_late_answer_is_late_on_the_given_clock():
    async def scenario():
        clock = FakeClock()
        world = World(clock)
        world.faults.append(Fault(Wrong.LATE, delay_seconds=30))
        async with client_for(BASE, StaticCredential(world.token), transport=ArmTransport(world, clock)) as client:
            assert (await ask(client, "GET", f"{BASE}/subscriptions")).status_code == 200
        assert clock.slept == 30

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "wrong, error, done",
    [
        (Wrong.RESET, ServiceRequestError, False),
        (Wrong.RESET_AFTER, ServiceResponseError, True),
        (Wrong.HANG, ServiceResponseTimeoutError, False),
        (Wrong.TRUNCATED, IncompleteReadError, True),
    ],
)
def test_a_broken_line_is_what_azure_core_says_it_is(wrong, error, done):
    async def scenario():
        world = World()
        group = f"/subscriptions/{world.subscription}/resourceGroups/rg"
        world.faults.append(Fault(wrong, "PUT"))
        async with client_for(BASE, StaticCredential(world.token), transport=ArmTransport(world)) as client:
            with pytest.raises(error):
                await ask(client, "PUT", f"{BASE}{group}", {"location": "westus2"})
        assert (world.ids() == [group]) is done

    asyncio.run(scenario())


# aiohttp sends an idempotent request a second time by itself when the line breaks, a PUT too: hence two.
@pytest.mark.parametrize(
    "wrong, done, sent", [(Wrong.RESET, False, 2), (Wrong.RESET_AFTER, True, 2), (Wrong.TRUNCATED, True, 1)]
)
def test_the_line_can_really_break(wrong, done, sent):
    async def scenario():
        world = World()
        group = f"/subscriptions/{world.subscription}/resourceGroups/rg"
        world.faults.append(Fault(wrong, "PUT", delay_seconds=0.001, times=None))
        async with ArmServer(world) as server:
            verify = {"connection_verify": server.ca_bundle}
            async with client_for(server.url, StaticCredential(world.token), **verify) as client:
                with pytest.raises((ServiceRequestError, ServiceResponseError, IncompleteReadError)):
                    await ask(client, "PUT", f"{server.url}{group}", {"location": "westus2"})
        assert (world.ids() == [group]) is done
        assert len(world.journal.find("PUT")) == sent

    asyncio.run(scenario())


def test_the_token_endpoint_refuses_strangers():
    async def scenario():
        world = World()
        async with credential_for(world, transport=ArmTransport(world)) as good:
            await good.get_token(SCOPE)
        bad = ClientSecretCredential(world.tenant, world.client_id, "wrong", transport=ArmTransport(world))
        with pytest.raises(Exception, match="AADSTS7000215"):
            await bad.get_token(SCOPE)
        nobody = ClientSecretCredential(world.tenant, "nobody", "wrong", transport=ArmTransport(world))
        with pytest.raises(Exception, match="AADSTS700016"):
            await nobody.get_token(SCOPE)

    asyncio.run(scenario())


def test_tokens_may_expire():
    async def scenario():
        clock = FakeClock()
        world = World(clock)
        world.directory.token_seconds = 600
        transport = ArmTransport(world)
        async with (
            credential_for(world, transport=transport) as credential,
            client_for(BASE, credential, transport=transport) as client,
        ):
            assert (await ask(client, "GET", f"{BASE}/subscriptions")).status_code == 200
            clock.advance(601)
            refused = await ask(client, "GET", f"{BASE}/subscriptions")
            assert refused.json()["error"]["code"] == "ExpiredAuthenticationToken"

    asyncio.run(scenario())


def test_a_day_of_virtual_time_passes_through_the_whole_pipeline():
    async def scenario():
        clock = FakeClock()
        world = World(clock, limits=Limits.hourly())
        base = f"{BASE}{world.add_group('rg')}/providers/{WIDGETS}"
        async with client_for(BASE, StaticCredential(world.token), transport=ArmTransport(world)) as client:
            await ask(client, "PUT", f"{base}/w1", widget(a=1))
            world.later(43_200, lambda: world.console("alice").edit(world.ids(WIDGETS)[0], {"/properties/a": 2}))
            seen = []
            for _ in range(96):
                seen.append((await ask(client, "GET", f"{base}/w1")).json()["properties"]["a"])
                await clock.sleep(900)
        assert seen == [1] * 48 + [2] * 48

    asyncio.run(scenario())


def _context(bundle):
    return ssl.create_default_context(cafile=bundle)


def test_it_runs_on_a_thread_for_programs_without_a_loop():
    import urllib.request

    with running(ArmServer()) as server:
        world = server.world
        request = urllib.request.Request(
            f"{server.url}/subscriptions?api-version=2024-01-01", headers={"Authorization": f"Bearer {world.token}"}
        )
        with urllib.request.urlopen(request, context=_context(server.ca_bundle)) as response:
            assert orjson.loads(response.read())["value"][0]["subscriptionId"] == world.subscription
        environ = server.environ
        assert environ["AZURE_AUTHORITY_HOST"] == server.url
        assert environ["AZURE_CLIENT_ID"] == world.client_id
        assert environ["SSL_CERT_FILE"] == server.ca_bundle


def test_it_runs_as_a_process_and_is_steered_from_outside(tmp_path):
    command = [sys.executable, "-m", "holdfast_emulators.azure", "--port", "0", "--group", "rg", "--pace", "0"]
    process = subprocess.Popen([*command, "--certificates", str(tmp_path / "certs")], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        where = orjson.loads(process.stdout.readline())
        asyncio.run(_steer(where))
    finally:
        process.terminate()
        process.communicate(timeout=240)


async def _steer(where):
    id_ = f"/subscriptions/{where['environ']['AZURE_SUBSCRIPTION_ID']}/resourceGroups/rg/providers/{WIDGETS}/w1"
    url = f"{where['url']}{id_}?api-version=2024-01-01"
    headers = {"Authorization": f"Bearer {where['token']}"}
    connector = aiohttp.TCPConnector(ssl=_context(where["ca_bundle"]))
    async with aiohttp.ClientSession(connector=connector, headers=headers) as http:

        async def steer(what, body=None):
            async with http.post(f"{where['url']}/_control/{what}", json=body or {}) as response:
                return response.status, await response.json()

        async def put(status):
            async with http.put(url, json=widget(a=1)) as response:
                assert response.status == status, await response.text()

        rules = [{"at": "/properties/colour", "value": "red"}]
        assert await steer("tune", {"type": WIDGETS, "defaults": rules}) == (200, True)
        await put(201)
        assert (await steer("shown", {"id": id_}))[1]["properties"]["colour"] == "red"
        assert await steer("edit", {"id": id_, "changes": {"/properties/a": 2, "/location": "${absent}"}}) == (
            200,
            True,
        )
        assert await steer("stored", {"id": id_}) == (200, {"properties": {"a": 2, "colour": "red"}})
        assert await steer("busy", {"id": id_, "seconds": 60}) == (200, True)
        await put(409)
        assert await steer("advance", {"seconds": 60}) == (200, True)
        assert await steer("policies", [{"name": "no", "deny": True}]) == (200, 1)
        await put(403)
        assert await steer("policies", [{"name": "nothing"}]) == (200, 1)
        assert await steer("faults", [{"status": 503, "code": "Busy"}]) == (200, 1)
        await put(503)
        assert await steer("limits", {"writes": 0}) == (200, True)
        await put(429)
        assert await steer("limits") == (200, True)
        assert await steer("recreate", {"id": id_}) == (200, True)
        assert await steer("delete", {"id": id_}) == (200, True)
        assert await steer("put", {"id": id_, "document": widget()}) == (200, True)
        assert (await steer("ids", {"type": WIDGETS}))[1] == [id_]
        assert (await steer("counts"))[1] == {f"PUT {WIDGETS}": 1}
        assert len((await steer("journal"))[1]) == 5
        assert (await steer("delete", {"id": "/nothing"}))[0] == 404
        assert (await steer("tune", {"type": WIDGETS, "defualts": []}))[0] == 400
        assert (await steer("sing"))[0] == 404
