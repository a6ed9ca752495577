"""The real client stack, azure-core on aiohttp with a credential of azure-identity, against the emulator over TLS."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from dataclasses import replace

import pytest

from holdfast.model.read_result import Found, NotFound, ReadError, ReadFailure
from holdfast.model.verdict import Status
from holdfast.providers.azure.provider import AzureProvider
from holdfast.providers.protocol import Connection, Target
from holdfast.reconcile.clock import SystemClock
from holdfast_emulators.azure import ArmServer, Fault, World, Wrong, running
from tests.integration.providers.azure.estate import GROUP, Estate, declare

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def server():
    with running(ArmServer(World(pace=0.02))) as found:
        found.world.add_group(GROUP)
        yield found


@pytest.fixture
def connection(server):
    auth = {"type": "client_secret", "tenant_id": server.world.tenant, "client_id": server.world.client_id}
    settings = {
        "subscription": server.world.subscription,
        "resource_group": GROUP,
        "base_url": server.url,
        "authority": server.url,
        "auth": auth,
        "tls": {"ca_file": server.ca_bundle},
    }
    return Connection("azure", "azure", settings, {"client_secret": server.world.client_secret})


@pytest.fixture
def real(server, connection):
    server.world.journal.clear()
    estate = Estate(arm=server.world, connection=connection)
    estate._azure = AzureProvider()  # no transport of ours: aiohttp, TLS, sockets
    estate.clock = SystemClock()
    return estate


FLEET = [
    declare(
        "logs",
        {
            "location": "westus2",
            "kind": "StorageV2",
            "sku": {"name": "Standard_LRS"},
            "tags": {"a": "1"},
            "properties": {},
        },
        "StorageAccount",
    ),
    declare("id", {"location": "westus2"}, "UserAssignedIdentity"),
    declare(
        "net",
        {"location": "West US 2", "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}}},
        "VirtualNetwork",
    ),
    declare(
        "a",
        {"owner": {"kind": "VirtualNetwork", "name": "net"}, "properties": {"addressPrefix": "10.0.1.0/24"}},
        "Subnet",
    ),
]


def test_a_fleet_is_made_left_alone_and_put_back_through_the_real_stack(server, real):
    async def scenario():
        report = await real.apply(FLEET)
        assert {item.message for item in report.acted} == {"as declared"}
        assert real.puts() == len(FLEET)
        again = await real.apply(FLEET)
        assert {item.verdict.status for item in again.checked} == {Status.IN_SYNC}
        assert real.puts() == len(FLEET)
        server.world.console("alice").edit(
            real.id("logs", "Microsoft.Storage/storageAccounts"), {"/properties/minimumTlsVersion": "TLS1_0"}
        )
        server.world.console("alice").edit(real.id("logs", "Microsoft.Storage/storageAccounts"), {"/tags/a": "2"})
        await real.apply(FLEET)
        assert real.puts() == len(FLEET) + 1
        assert (await real.caused())[-1][1] == ("/tags/a", "/properties/minimumTlsVersion")

    asyncio.run(scenario())


def read(connection, name="nowhere", kind="StorageAccount"):
    async def one():
        async with AzureProvider().reader(connection) as reader:
            return await reader.read(Target(kind, name, None, {}))

    return asyncio.run(one())


def test_a_certificate_that_nobody_vouches_for_is_not_spoken_to(connection):
    reading = read(replace(connection, settings={**connection.settings, "tls": {}}))
    assert isinstance(reading, ReadFailure)
    assert reading.trouble in (ReadError.UNREACHABLE, ReadError.UNAUTHORISED)


def test_a_wrong_password_is_told_without_showing_it(connection):
    reading = read(replace(connection, secrets={"client_secret": "wrong-but-secret"}))
    assert isinstance(reading, ReadFailure)
    assert reading.trouble is ReadError.UNAUTHORISED
    assert "wrong-but-secret" not in reading.detail


def test_what_is_not_there_is_gone_and_what_is_there_is_found(server, connection):
    assert isinstance(read(connection), NotFound)
    assert isinstance(read(connection, GROUP, "ResourceGroup"), Found)


@pytest.mark.parametrize(
    "wrong, trouble",
    [
        (Wrong.RESET, ReadError.UNREACHABLE),
        (Wrong.TRUNCATED, ReadError.MALFORMED),
        (Wrong.GARBAGE, ReadError.MALFORMED),
        (Wrong.HTML, ReadError.SERVER_ERROR),
    ],
)
def test_a_broken_line_is_one_request_and_one_kind_of_not_knowing(server, connection, wrong, trouble):
    server.world.journal.clear()
    status = 503 if wrong is Wrong.HTML else 200
    times = 2 if wrong is Wrong.RESET else 1  # aiohttp itself asks once more if the line was idle before
    server.world.faults.append(Fault(wrong, "GET", "*storageAccounts*", status=status, times=times))
    reading = read(connection)
    assert isinstance(reading, ReadFailure)
    assert reading.trouble is trouble
    assert len(server.world.journal.find("GET")) == times  # Azure's own retry policy is not in the pipeline


def test_a_429_is_answered_at_once_and_not_retried_inside_the_client(server, connection):
    server.world.journal.clear()
    server.world.faults.append(Fault(Wrong.STATUS, "GET", "*storageAccounts*", 429, "TooManyRequests", retry_after=30))
    reading = read(connection)
    assert isinstance(reading, ReadFailure)
    assert (reading.trouble, reading.retry_after_seconds) == (ReadError.THROTTLED, 30)
    assert len(server.world.journal.find("GET")) == 1


def test_every_kind_that_discover_lists_can_be_listed(server, connection, real):
    async def scenario():
        async with AzureProvider().reader(connection) as reader:
            groups = [item.id async for item in reader.list("ResourceGroup")]
            found = await reader.find("ResourceGroup", {"name": GROUP})
        assert found == [f"/subscriptions/{server.world.subscription}/resourceGroups/{GROUP}"]
        assert found[0] in groups

    asyncio.run(scenario())


def test_the_secret_and_the_token_are_in_no_log(server, connection, caplog):
    caplog.set_level(logging.DEBUG)
    read(connection)
    assert server.world.client_secret not in caplog.text
    assert "Bearer ey" not in caplog.text


def test_importing_holdfast_and_naming_the_provider_imports_nothing_of_azures():
    code = (
        "import sys; from holdfast.providers import registry; import holdfast.manifests.resources; "
        "provider = registry.get('azure'); provider.kinds['StorageAccount']; registry.rewriting('azure'); "
        "assert not [m for m in sys.modules if m.startswith(('azure', 'msal'))], 'imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
