"""Load balancing endpoints: requests go straight to workers, and those are scaled by the number of requests."""

from __future__ import annotations

from typing import ClassVar

from pydantic import field_validator
from pydantic_core.core_schema import ValidationInfo

from holdfast.model.json import Json
from holdfast.providers.runpod.resources.base import is_from_server
from holdfast.providers.runpod.resources.deployable import balanced_url
from holdfast.providers.runpod.resources.endpoint_fields import Family
from holdfast.providers.runpod.resources.endpoints import without_gpus
from holdfast.providers.runpod.resources.enums import CpuInstanceType, ServerlessScalerType, ServerlessType
from holdfast.providers.runpod.resources.serverless import (
    GpuWord,
    InstanceWord,
    ScalerWord,
    ServerlessResource,
    TypeWord,
)


class LoadBalancerSlsResource(ServerlessResource):
    """A load balancing endpoint on GPUs; a scaler by queue delay is refused when it is deployed, not before."""

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


class CpuLoadBalancerSlsResource(LoadBalancerSlsResource):
    """A load balancing endpoint on CPUs."""

    FAMILY: ClassVar[Family] = Family.CPU

    gpus: list[GpuWord] | None = None
    instanceIds: list[InstanceWord] | None = [CpuInstanceType.CPU3G_2_8]  # noqa: RUF012 - pydantic copies it

    def _settle_family(self) -> None:
        without_gpus(self.__dict__)
