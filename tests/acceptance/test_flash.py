"""Programs written for Flash run with another import: the samples of its documentation, as written there.

Left out of the samples are calls that Flash's own releases do not have (`_wait_for_health`, `is_deployed_async`).
"""

from __future__ import annotations

import asyncio
import os
from unittest import mock
from urllib.parse import urlsplit

import pytest

from holdfast import flash
from holdfast.flash import (
    CpuInstanceType,
    CpuLiveServerless,
    CpuLoadBalancerSlsResource,
    DataCenter,
    FlashError,
    GpuGroup,
    LiveServerless,
    LoadBalancerSlsResource,
    NetworkVolume,
    ResourceManager,
    ServerlessEndpoint,
    ServerlessScalerType,
)
from holdfast_emulators.runpod import Fault, RunPodServer, running


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with running(RunPodServer()) as found, mock.patch.dict(os.environ, found.environ):
        yield found


async def basic_provisioning(printed: list[str]) -> LoadBalancerSlsResource:
    # Create a load-balanced endpoint
    api_endpoint = LoadBalancerSlsResource(
        name="api-endpoint",
        imageName="my-api-app:latest",
        workersMin=1,
        workersMax=3,
        env={
            "FLASH_APP": "my_app",
            "LOG_LEVEL": "INFO",
        }
    )  # fmt: skip

    # Deploy endpoint (returns immediately)
    deployed = await api_endpoint.deploy()

    # Endpoint is now deployed (may still be initializing)
    printed.append(f"Endpoint ID: {deployed.id}")
    printed.append(f"Endpoint URL: {deployed.endpoint_url}")
    return deployed


def test_basic_provisioning(server):
    printed: list[str] = []
    deployed = asyncio.run(basic_provisioning(printed))
    (ident,) = server.account.endpoints
    host = urlsplit(server.environ["RUNPOD_ENDPOINT_BASE_URL"]).netloc
    assert printed == [f"Endpoint ID: {ident}", f"Endpoint URL: https://{ident}.{host}"]
    assert deployed.url == f"https://console.runpod.io/serverless/user/endpoint/{ident}"


async def configuration_options() -> LoadBalancerSlsResource:
    return await LoadBalancerSlsResource(
        # Required fields
        name="my-endpoint",
        imageName="my-image:latest",

        # Worker scaling (for LB, these control max concurrent requests)
        workersMin=1,           # Min number of workers to keep warm
        workersMax=5,           # Max workers to spin up
        scalerValue=10,         # Target concurrent requests per worker

        # Environment configuration
        env={
            "ENV_VAR": "value",
        },

        # Network and storage
        networkVolume=NetworkVolume(name="models", size=50),  # Optional: persistent storage

        # Deployment location
        datacenter=DataCenter.EU_RO_1,  # Or US_EAST_1, etc

        # Timeouts
        executionTimeoutMs=600000,  # 10 minute timeout
        idleTimeout=5,              # Seconds before scaling down
    ).deploy()  # fmt: skip


def test_configuration_options(server):
    asyncio.run(configuration_options())
    (endpoint,) = server.account.endpoints.values()
    assert (endpoint.fields["scalerValue"], endpoint.fields["executionTimeoutMs"]) == (10, 600_000)
    assert len(endpoint.fields["networkVolumeIds"]) == 1


async def validation(said: list[str]) -> None:
    # This will fail at validation time
    try:
        bad_endpoint = LoadBalancerSlsResource(
            name="test",
            imageName="test:latest",
            scalerType=ServerlessScalerType.QUEUE_DELAY,  # Not allowed for LB!
        )
        await bad_endpoint.deploy()
    except ValueError as e:
        # Error: LoadBalancerSlsResource requires REQUEST_COUNT scaler,
        # not QUEUE_DELAY. Load-balanced endpoints don't support queue-based scaling.
        said.append(f"Validation failed: {e}")


def test_validation(server):
    said: list[str] = []
    asyncio.run(validation(said))
    assert "REQUEST_COUNT" in said[0]
    assert not server.account.endpoints


async def deployment_errors(said: list[str]) -> None:
    try:
        endpoint = LoadBalancerSlsResource(
            name="api-endpoint",
            imageName="my-image:latest",
        )
        deployed = await endpoint.deploy()
        said.append(str(deployed.id))

    except ValueError as e:
        # Runpod API error or configuration issue
        said.append(f"Deployment error: {e}")


def test_deployment_errors(server):
    said: list[str] = []
    server.faults.append(Fault(status=403, method="POST", times=None))
    asyncio.run(deployment_errors(said))
    assert said[0].startswith("Deployment error: ")
    assert not server.account.endpoints


# -- the life of a resource, by its own methods


def test_a_resource_is_deployed_updated_and_undeployed_by_its_own_methods(server):
    async def story() -> list[object]:
        endpoint = CpuLoadBalancerSlsResource(
            name="inference-lb", imageName="user/image:1.0", workersMin=2, workersMax=5
        )
        before = await endpoint.is_deployed()
        deployed = await endpoint.deploy()
        updated = await deployed.update(
            CpuLoadBalancerSlsResource(name="inference-lb", imageName="user/image:2.0", workersMin=2, workersMax=5)
        )
        there = await updated.is_deployed()
        image = server.account.template_of(server.console().named("inference-lb")).fields["imageName"]
        undeployed = await updated.undeploy()
        return [
            before,
            deployed is endpoint,
            updated.id == deployed.id,
            there,
            image,
            undeployed,
            await updated.is_deployed(),
        ]

    before, same, kept, there, image, undeployed, after = asyncio.run(story())
    assert (before, same, kept, there, image) == (False, True, True, True, "user/image:2.0")
    assert isinstance(undeployed, dict)
    assert (undeployed["success"], undeployed["name"]) == (True, "inference-lb")
    assert (after, list(server.account.endpoints)) == (False, [])


def test_what_is_not_deployed_can_neither_be_updated_nor_addressed(server):
    endpoint = ServerlessEndpoint(name="worker", imageName="user/worker:1.0")
    for address in ("url", "endpoint_url"):
        with pytest.raises(ValueError, match="deploy it first"):
            getattr(endpoint, address)
    with pytest.raises(ValueError, match="not deployed"):
        asyncio.run(endpoint.update(endpoint))
    assert asyncio.run(endpoint.undeploy())["success"] is False


def test_whether_it_is_deployed_is_not_guessed_in_an_outage(server):
    async def story() -> None:
        endpoint = await LiveServerless(name="worker", gpus=[GpuGroup.ANY], workersMax=3).deploy()
        server.faults.append(Fault(status=503, method="GET", times=None))
        with pytest.raises(FlashError):
            await endpoint.is_deployed()

    asyncio.run(story())


# -- the manager


def test_the_manager_lists_finds_and_undeploys(server):
    async def story() -> None:
        manager = ResourceManager()
        gpu = await manager.get_or_deploy_resource(LiveServerless(name="gpu", gpus=[GpuGroup.ADA_24], workersMax=3))
        await CpuLiveServerless(name="cpu", instanceIds=[CpuInstanceType.CPU3G_2_8], env={"KEY": "a-secret"}).deploy()
        listed = manager.list_all_resources()
        assert sorted(listed) == ["CpuLiveServerless:cpu", "LiveServerless:gpu"]
        assert (listed["LiveServerless:gpu"].id, type(listed["LiveServerless:gpu"])) == (gpu.id, LiveServerless)
        assert [key for key, _ in manager.find_resources_by_name("cpu")] == ["CpuLiveServerless:cpu"]
        assert [key for key, _ in manager.find_resources_by_provider_id(str(gpu.id))] == ["LiveServerless:gpu"]
        assert manager.find_resources_by_name("nobody") == []
        assert "a-secret" not in repr(listed)
        async with manager.resource_lock("LiveServerless:gpu"):
            undeployed = await manager.undeploy_resource("LiveServerless:gpu")
        assert (undeployed["success"], undeployed["endpoint_id"]) == (True, gpu.id)
        unknown = await manager.undeploy_resource("LiveServerless:gpu")
        assert (unknown["success"], unknown["endpoint_id"]) == (False, "N/A")
        assert sorted(manager.list_all_resources()) == ["CpuLiveServerless:cpu"]

    asyncio.run(story())
    assert [endpoint.fields["name"] for endpoint in server.account.endpoints.values()] == ["cpu"]


def test_what_exists_already_can_be_registered(server):
    async def story() -> None:
        endpoint = await ServerlessEndpoint(name="worker", imageName="user/worker:1.0").deploy()
        other = ResourceManager("elsewhere")
        assert await other.register_resource(endpoint) == "ServerlessEndpoint:worker"
        with pytest.raises(FlashError, match="id"):
            await other.register_resource(ServerlessEndpoint(name="nobody", imageName="user/worker:1.0"))

    os.mkdir("elsewhere")  # noqa: PTH102
    asyncio.run(story())
    assert len(server.account.endpoints) == 1


def test_every_name_is_there():
    assert {name for name in flash.__all__ if not hasattr(flash, name)} == set()
