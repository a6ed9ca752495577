"""The endpoint classes in addition to the GPU queue: on CPUs, load balancing, and live ones.

Flash compares eight fields of a CPU queue endpoint and misses changes of workers, instances, timeouts, scaler and
place. Here the compute family decides which fields an endpoint has, and all of those count.

The image of a live endpoint is Flash's own runtime, unless another is given. Unlike Flash, no class reads the
environment of this machine: one declaration is the same configuration everywhere.
"""

from __future__ import annotations

import copy
from typing import ClassVar, Final

from pydantic import field_validator
from pydantic_core.core_schema import ValidationInfo

from holdfast.model.json import Json
from holdfast.providers.runpod.resources.base import is_from_server
from holdfast.providers.runpod.resources.deployable import balanced_url
from holdfast.providers.runpod.resources.endpoint_fields import Family
from holdfast.providers.runpod.resources.enums import CpuInstanceType, ServerlessScalerType, ServerlessType
from holdfast.providers.runpod.resources.serverless import (
    GpuWord,
    InstanceWord,
    ScalerWord,
    ServerlessEndpoint,
    ServerlessResource,
    TypeWord,
)

# pydantic takes the fields of the first base class as they are, so a mixin cannot replace those of the second.
_NO_GPUS: Final = {
    "gpus": [],
    "gpuIds": "",
    "gpuCount": 0,
    "cudaVersions": [],
    "allowedCudaVersions": "",
    "minCudaVersion": None,
}


class LoadBalancerSlsResource(ServerlessResource):
    """A load balancing endpoint on GPUs; a scaler by queue delay is rejected at deployment, not before."""

    NEEDS_IMAGE: ClassVar[bool] = True

    type: TypeWord | None = ServerlessType.LB
    scalerType: ScalerWord | None = ServerlessScalerType.REQUEST_COUNT

    @field_validator("type")
    @classmethod
    def _is_balancer(cls, value: Json, info: ValidationInfo) -> Json:
        if value != ServerlessType.LB and not is_from_server(info):
            raise ValueError(f"the type of a {cls.__name__} is LB")
        return value

    @property
    def endpoint_url(self) -> str:
        """The address that requests go to: a host of its own; raise ValueError without an id."""
        return balanced_url(self._known_id())


class CpuServerlessEndpoint(ServerlessEndpoint):
    """A queue endpoint on CPUs."""

    FAMILY: ClassVar[Family] = Family.CPU

    gpus: list[GpuWord] | None = None
    instanceIds: list[InstanceWord] | None = [CpuInstanceType.CPU3G_2_8]  # noqa: RUF012 - pydantic copies it

    def _settle_family(self) -> None:
        self.__dict__.update(copy.deepcopy(_NO_GPUS))


class CpuLoadBalancerSlsResource(LoadBalancerSlsResource):
    """A load balancing endpoint on CPUs."""

    FAMILY: ClassVar[Family] = Family.CPU

    gpus: list[GpuWord] | None = None
    instanceIds: list[InstanceWord] | None = [CpuInstanceType.CPU3G_2_8]  # noqa: RUF012 - pydantic copies it

    def _settle_family(self) -> None:
        self.__dict__.update(copy.deepcopy(_NO_GPUS))


class LiveServerless(ServerlessEndpoint):
    """A live queue endpoint on GPUs."""

    LIVE_IMAGE: ClassVar[str] = "runpod/flash"


class CpuLiveServerless(CpuServerlessEndpoint):
    """A live queue endpoint on CPUs."""

    LIVE_IMAGE: ClassVar[str] = "runpod/flash-cpu"


class LiveLoadBalancer(LoadBalancerSlsResource):
    """A live load balancer on GPUs."""

    LIVE_IMAGE: ClassVar[str] = "runpod/flash-lb"


class CpuLiveLoadBalancer(CpuLoadBalancerSlsResource):
    """A live load balancer on CPUs."""

    LIVE_IMAGE: ClassVar[str] = "runpod/flash-lb-cpu"
