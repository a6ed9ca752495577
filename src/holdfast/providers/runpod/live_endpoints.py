"""Live endpoints: those whose image is Flash's own runtime, unless another is given.

Unlike Flash, nothing is read from the environment of the machine this runs on: the same declaration is the same
configuration everywhere.
"""

from __future__ import annotations

from typing import ClassVar

from holdfast.providers.runpod.resources.endpoints import (
    CpuLoadBalancerSlsResource,
    CpuServerlessEndpoint,
    LoadBalancerSlsResource,
)
from holdfast.providers.runpod.resources.serverless import ServerlessEndpoint


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
