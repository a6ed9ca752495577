"""Flash's public names on Holdfast: replace `runpod_flash` by `holdfast.flash` in the import.

    from holdfast.flash import LoadBalancerSlsResource, ResourceManager

    api = LoadBalancerSlsResource(name="api", imageName="user/api:1.0", workersMin=1, workersMax=3)
    deployed = await api.deploy()
    print(deployed.id, deployed.endpoint_url)

Belongs here: the shape of Flash's API for declaring, deploying and removing resources. Must not be here: running
functions remotely (`@Endpoint`, `@remote`) and Flash apps, which stay with Flash, and any decision.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, ClassVar, TypeVar

from holdfast.api.inventory import Tracked
from holdfast.api.manager import ResourceManager as _ResourceManager
from holdfast.errors import DeployError, InputError
from holdfast.model.verdict import Status
from holdfast.providers.runpod import (
    CpuInstanceType,
    CpuLiveLoadBalancer,
    CpuLiveServerless,
    CpuLoadBalancerSlsResource,
    CpuServerlessEndpoint,
    CudaVersion,
    DataCenter,
    GpuGroup,
    GpuType,
    LiveLoadBalancer,
    LiveServerless,
    LoadBalancerSlsResource,
    NetworkVolume,
    PodTemplate,
    ServerlessEndpoint,
    ServerlessResource,
    ServerlessScalerType,
    ServerlessType,
    declaration,
)
from holdfast.providers.runpod.resources import datacenters
from holdfast.providers.runpod.resources.deployable import DeployableResource

__all__ = [
    "CPU_DATACENTERS",
    "DEFAULT_WORKERS_MAX",
    "DEFAULT_WORKERS_MIN",
    "CpuInstanceType",
    "CpuLiveLoadBalancer",
    "CpuLiveServerless",
    "CpuLoadBalancerSlsResource",
    "CpuServerlessEndpoint",
    "CudaVersion",
    "DataCenter",
    "DeployableResource",
    "FlashError",
    "GpuGroup",
    "GpuType",
    "LiveLoadBalancer",
    "LiveServerless",
    "LoadBalancerSlsResource",
    "NetworkVolume",
    "PodTemplate",
    "ResourceManager",
    "ServerlessEndpoint",
    "ServerlessResource",
    "ServerlessScalerType",
    "ServerlessType",
]

CPU_DATACENTERS = datacenters.WITH_CPUS
DEFAULT_WORKERS_MIN = 0
DEFAULT_WORKERS_MAX = 1

R = TypeVar("R", bound=DeployableResource)
Result = TypeVar("Result")


class FlashError(DeployError, ValueError):
    """A resource could not be deployed; a ValueError as well, because programs written for Flash catch that."""


class ResourceManager(_ResourceManager):
    """Holdfast's manager with the methods of Flash's; several objects of one folder share what is tracked."""

    _locks: ClassVar[dict[str, asyncio.Lock]] = {}

    async def get_or_deploy_resource(self, config: R) -> R:  # type: ignore[override]
        """Return the resource as deployed, with its id; raise FlashError, which is a ValueError, if that failed."""
        try:
            return (await self.deploy(config)).resource
        except (DeployError, InputError) as error:
            raise _as_flash_error(config, error) from error

    async def register_resource(self, resource: DeployableResource) -> str:
        """Track a resource that exists already, and return its key; raise FlashError if it has no id."""
        if not resource.id:
            raise FlashError(resource.resource_id, "only a resource with an id can be tracked; deploy it instead")
        await self.get_or_deploy_resource(resource)
        return resource.resource_id

    async def exists(self, config: DeployableResource) -> bool:
        """Return True if a resource exists at RunPod; raise FlashError if RunPod could not be asked."""
        (found,) = await self.check(config)
        is_tracked = any(each.address == found.address and each.id for each in await self.resources())
        if not is_tracked and not config.id:
            return False
        if found.verdict.status is Status.UNKNOWN:
            raise FlashError(str(found.address), f"whether it exists is unknown: {found.verdict.reason}")
        was_found = found.verdict.status is not Status.PENDING or bool(found.verdict.findings)
        return found.verdict.status is not Status.MISSING and (is_tracked or was_found)

    async def undeploy_resource(
        self,
        resource_id: str,
        resource_name: str | None = None,
        force_remove: bool = False,  # noqa: FBT001, FBT002 - Flash's signature
    ) -> dict[str, Any]:
        """Delete a resource by its key; return `success`, `name`, `endpoint_id` and `message`.

        `force_remove` is accepted for Flash's sake and changes nothing: a resource is untracked only once RunPod has
        said that it does not exist, and one that is known not to exist is untracked without being asked to.
        """
        del force_remove
        tracked = [each for each in await self.resources() if resource_id in _keys(each)]
        name = resource_name or resource_id.rpartition(":")[2]
        if not tracked:
            return _undeployed(name, None, f"Resource {resource_id} not found in tracking", success=False)
        found = tracked[0]
        name = resource_name or found.address.name.partition("@")[0]
        try:
            await self.undeploy(str(found.address))
        except (DeployError, InputError) as error:
            return _undeployed(name, found.id, f"Error undeploying '{name}': {error}", success=False)
        return _undeployed(name, found.id, f"Successfully undeployed '{name}' ({found.id})", success=True)

    def list_all_resources(self) -> dict[str, DeployableResource]:
        """Return every tracked resource by its key; values of environments are not among what is kept of it."""
        return dict(self._restored(lambda _: True))

    def find_resources_by_name(self, name: str) -> list[tuple[str, DeployableResource]]:
        """Return the tracked resources of a name, with their keys."""
        return self._restored(lambda each: each.address.name.partition("@")[0] == name)

    def find_resources_by_provider_id(self, provider_id: str) -> list[tuple[str, DeployableResource]]:
        """Return the tracked resources with an id, with their keys."""
        return self._restored(lambda each: each.id == provider_id)

    @asynccontextmanager
    async def resource_lock(self, uid: str) -> AsyncIterator[None]:
        """Hold a lock of this process; deploying and undeploying need none, because writers claim a resource."""
        async with self._locks.setdefault(uid, asyncio.Lock()):
            yield

    def _restored(self, wanted: Callable[[Tracked], bool]) -> list[tuple[str, DeployableResource]]:
        documents = _in_thread(self.documents())
        found = [declaration.restored(each.labels, document, each.id) for each, document in documents if wanted(each)]
        return [(resource.resource_id, resource) for resource in found if resource is not None]


def _keys(tracked: Tracked) -> set[str]:
    """Return everything that may name a tracked resource: Flash's key, its name, its address and its id."""
    name, _, place = tracked.address.name.partition("@")
    kind = tracked.labels.get(declaration.CLASS, tracked.address.kind)
    names = {f"{kind}:{name}", name, tracked.address.name, str(tracked.address), tracked.id or ""}
    return names | ({f"{kind}:{name}@{place}"} if place else set())


def _undeployed(name: str, ident: str | None, message: str, *, success: bool) -> dict[str, Any]:
    return {"success": success, "name": name, "endpoint_id": ident or "N/A", "message": message}


def _as_flash_error(config: DeployableResource, error: DeployError | InputError) -> FlashError:
    if isinstance(error, DeployError):
        return FlashError(error.address, error.message, is_final=error.is_final)
    return FlashError(config.resource_id, error.message, is_final=True)


def _in_thread(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end from plain code, also where an event loop is running."""
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001 - raised again below, in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=run, name="holdfast-flash")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
