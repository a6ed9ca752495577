"""The samples of seed 000 that use the manager, as written there; only where things are imported from differs."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import Any
from unittest import mock

import pytest

from holdfast import ResourceManager
from holdfast.providers.runpod import CpuLoadBalancerSlsResource
from holdfast.providers.runpod.resources.base import BaseResource as DeployableResource
from holdfast.store import fingerprint_key
from holdfast_emulators.runpod import RunPodServer, running

log = logging.getLogger(__name__)


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with running(RunPodServer()) as found, mock.patch.dict(os.environ, found.environ):
        yield found


# -- "Basic Deployment with Auto Drift Detection"


async def basic_deployment(deployed: list[Any]) -> None:
    # Define resource
    lb = CpuLoadBalancerSlsResource(
        name="inference-lb",
        imageName="user/image:1.0",
        workersMin=2,
        workersMax=5
    )  # fmt: skip

    # First deploy
    resource = await ResourceManager.get_or_deploy_resource(lb)
    # Hash stored: abc123...
    deployed.append(resource)

    # Change configuration
    lb = CpuLoadBalancerSlsResource(
        name="inference-lb",
        imageName="user/image:2.0",  # Changed!
        workersMin=2,
        workersMax=5
    )  # fmt: skip

    # Second deploy - drift detected automatically
    resource = await ResourceManager.get_or_deploy_resource(lb)
    # Detects: stored hash != new hash
    # Automatically updates remote endpoint
    deployed.append(resource)


def test_the_basic_deployment_runs_as_written(server: RunPodServer, tmp_path, caplog):
    caplog.set_level(logging.INFO, "holdfast")
    deployed: list[CpuLoadBalancerSlsResource] = []
    asyncio.run(basic_deployment(deployed))
    first, second = deployed
    assert first.id == second.id
    (endpoint,) = server.account.endpoints.values()
    assert server.account.template_of(endpoint).fields["imageName"] == "user/image:2.0"
    (tracked,) = asyncio.run(ResourceManager().resources())
    key = fingerprint_key.key_in(tmp_path / ".holdfast")
    assert tracked.stamp == second.config_hash_with(key) != first.config_hash_with(key)
    assert "/imageName" in caplog.text


def test_the_one_of_the_readme_runs_on_an_object_as_well(server: RunPodServer):
    async def story() -> CpuLoadBalancerSlsResource:
        manager = ResourceManager()  # embedded SQLite in .holdfast/
        lb = CpuLoadBalancerSlsResource(name="inference-lb", imageName="user/image:1.0", workersMin=2, workersMax=5)
        return await manager.get_or_deploy_resource(lb)

    assert asyncio.run(story()).id in server.account.endpoints


# -- "Drift Storage" and "Drift Detection": the two methods, on a manager that has what they use


class AsWritten:
    def __init__(self) -> None:
        self._resources: dict[str, DeployableResource] = {}
        self._resource_configs: dict[str, str] = {}
        self.saved = 0

    def _save_resources(self) -> None:
        self.saved += 1

    def _add_resource(self, uid: str, resource: DeployableResource):
        """Add a resource to the manager."""
        self._resources[uid] = resource
        self._resource_configs[uid] = resource.config_hash  # Store hash
        self._save_resources()

    async def get_or_deploy_resource(self, config: DeployableResource):
        """Get or deploy resource, detecting drift automatically."""
        resource_key = config.get_resource_key()
        new_config_hash = config.config_hash

        existing = self._resources.get(resource_key)
        if existing:
            stored_config_hash = self._resource_configs.get(resource_key, "")

            if stored_config_hash != new_config_hash:
                # DRIFT DETECTED - automatically update
                log.info(
                    f"Config drift detected for '{config.name}': "  # type: ignore[attr-defined] # noqa: G004
                    f"Automatically updating endpoint"
                )

                # Attempt update (will redeploy if structural changes detected)
                if hasattr(existing, "update"):
                    updated_resource = await existing.update(config)
                    self._add_resource(resource_key, updated_resource)
                    return updated_resource
        return existing


class Updatable(CpuLoadBalancerSlsResource):
    async def update(self, new_config: Updatable) -> Updatable:
        return await ResourceManager.get_or_deploy_resource(new_config)


def test_the_two_methods_run_as_written_on_our_classes(server: RunPodServer, caplog):
    caplog.set_level(logging.INFO)

    async def story() -> tuple[list[Any], int]:
        manager = AsWritten()
        one = Updatable(name="inference-lb", imageName="user/image:1.0", workersMax=5)
        first = await ResourceManager.get_or_deploy_resource(one)
        manager._add_resource(one.get_resource_key(), first)
        unchanged = await manager.get_or_deploy_resource(one)
        other = Updatable(name="inference-lb", imageName="user/image:2.0", workersMax=5)
        updated = await manager.get_or_deploy_resource(other)
        return [first, unchanged, updated], manager.saved

    (first, unchanged, updated), saved = asyncio.run(story())
    assert unchanged is first
    assert (updated.id, updated.imageName, saved) == (first.id, "user/image:2.0", 2)
    assert "Config drift detected for 'inference-lb': Automatically updating endpoint" in caplog.text
