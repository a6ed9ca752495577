"""The methods that Flash's deployable resources have: deploy, update, undeploy, is_deployed, and their addresses.

They act through `holdfast.flash.ResourceManager`, which is loaded when the first of them is called.
"""

from __future__ import annotations

import importlib
import os
from typing import Any, Final, Protocol, Self, TypeVar, cast
from urllib.parse import quote, urlsplit

from holdfast.providers.runpod.resources.base import BaseResource

_CONSOLE: Final = "https://console.runpod.io"
_DATA_PLANE: Final = "https://api.runpod.ai/v2"


R = TypeVar("R", bound="DeployableResource")


class Manager(Protocol):
    """What the methods of a resource need of `holdfast.flash.ResourceManager`."""

    async def get_or_deploy_resource(self, config: R) -> R:
        """Deploy a resource."""

    async def exists(self, config: DeployableResource) -> bool:
        """Ask whether a resource exists."""

    async def undeploy_resource(self, resource_id: str, resource_name: str | None = None) -> dict[str, Any]:
        """Delete a resource by its key."""


class DeployableResource(BaseResource):
    """A resource that can be deployed by itself."""

    @property
    def resource_id(self) -> str:
        """The key under which the manager tracks the resource; unlike Flash's it does not change with a setting."""
        return self.get_resource_key()

    @property
    def url(self) -> str:
        """The address of the resource at RunPod's console; raise ValueError without an id."""
        return f"{_console()}/serverless/user/endpoint/{quote(self._known_id(), safe='')}"

    @property
    def endpoint_url(self) -> str:
        """The address that requests go to; raise ValueError without an id."""
        return f"{_data_plane()}/{quote(self._known_id(), safe='')}"

    async def deploy(self) -> Self:
        """Deploy the resource and return it with its id; raise ValueError if it could not be deployed."""
        self.id = (await _manager().get_or_deploy_resource(self)).id
        return self

    async def update(self, new_config: Self) -> Self:
        """Apply another configuration to the deployed resource and return that configuration with its id."""
        ident = self.id
        if not ident:
            raise ValueError("cannot update: the resource is not deployed; call deploy() first")
        if new_config.get_resource_key().partition(":")[2] != self.get_resource_key().partition(":")[2]:
            raise ValueError(f"cannot update: {new_config.resource_id} is not {self.resource_id}; deploy it instead")
        return await _manager().get_or_deploy_resource(new_config.deployed(ident))

    async def is_deployed(self) -> bool:
        """Return True if the resource exists at RunPod; raise ValueError if RunPod could not be asked."""
        return await _manager().exists(self)

    async def undeploy(self) -> dict[str, Any]:
        """Delete the resource; return `success`, `name`, `endpoint_id` and `message`."""
        return await _manager().undeploy_resource(self.resource_id, getattr(self, "name", None))

    def _known_id(self) -> str:
        if not self.id:
            raise ValueError(f"{self.resource_id} has no id; deploy it first")
        return self.id


def _manager() -> Manager:
    return cast("Manager", importlib.import_module("holdfast.flash").ResourceManager())


def _console() -> str:
    return (os.environ.get("RUNPOD_CONSOLE_URL") or _CONSOLE).rstrip("/")


def _data_plane() -> str:
    return (os.environ.get("RUNPOD_ENDPOINT_BASE_URL") or _DATA_PLANE).rstrip("/")


def balanced_url(ident: str) -> str:
    """Return the address of a load-balanced endpoint: a host of its own below the data plane's."""
    return f"https://{quote(ident, safe='')}.{urlsplit(_data_plane()).netloc}"


def storage_url() -> str:
    """Return the console's page of network volumes."""
    return f"{_console()}/user/storage"
