"""RunPod: serverless endpoints, network volumes and templates, as Python objects and as YAML.

    from holdfast.providers.runpod import CpuLoadBalancerSlsResource

    lb = CpuLoadBalancerSlsResource(name="inference-lb", imageName="user/image:1.0", workersMin=2, workersMax=5)
    lb.config_hash                     # runpod-config/1:sha256:...

Belongs here: the resource classes, what they hash to, and reading and writing RunPod's APIs. Must not be here: any
decision. The classes need pydantic (`pip install holdfast[runpod]`) and are loaded when first asked for; declaring the
same kinds in YAML needs neither.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.providers.runpod.hashing import EnvPolicy
    from holdfast.providers.runpod.resources.deployable import DeployableResource
    from holdfast.providers.runpod.resources.endpoint_fields import Effect
    from holdfast.providers.runpod.resources.endpoints import (
        CpuLiveLoadBalancer,
        CpuLiveServerless,
        CpuLoadBalancerSlsResource,
        CpuServerlessEndpoint,
        LiveLoadBalancer,
        LiveServerless,
        LoadBalancerSlsResource,
    )
    from holdfast.providers.runpod.resources.enums import (
        CpuInstanceType,
        CudaVersion,
        DataCenter,
        GpuGroup,
        GpuType,
        ServerlessScalerType,
        ServerlessType,
    )
    from holdfast.providers.runpod.resources.serverless import ServerlessEndpoint, ServerlessResource
    from holdfast.providers.runpod.resources.template import KeyValuePair, PodTemplate
    from holdfast.providers.runpod.resources.volume import NetworkVolume

__all__ = [
    "CpuInstanceType",
    "CpuLiveLoadBalancer",
    "CpuLiveServerless",
    "CpuLoadBalancerSlsResource",
    "CpuServerlessEndpoint",
    "CudaVersion",
    "DataCenter",
    "DeployableResource",
    "Effect",
    "EnvPolicy",
    "GpuGroup",
    "GpuType",
    "KeyValuePair",
    "LiveLoadBalancer",
    "LiveServerless",
    "LoadBalancerSlsResource",
    "NetworkVolume",
    "PodTemplate",
    "ServerlessEndpoint",
    "ServerlessResource",
    "ServerlessScalerType",
    "ServerlessType",
]

_HOMES = {
    "load_balancer": ("CpuLoadBalancerSlsResource", "LoadBalancerSlsResource"),
    "cpu_endpoint": ("CpuServerlessEndpoint",),
    "deployable": ("DeployableResource",),
    "enums": (
        "CpuInstanceType",
        "CudaVersion",
        "DataCenter",
        "GpuGroup",
        "GpuType",
        "ServerlessScalerType",
        "ServerlessType",
    ),
    "endpoint_fields": ("Effect",),
    "hashing": ("EnvPolicy",),
    "live_endpoints": ("CpuLiveLoadBalancer", "CpuLiveServerless", "LiveLoadBalancer", "LiveServerless"),
    "serverless": ("ServerlessEndpoint", "ServerlessResource"),
    "templates": ("KeyValuePair", "PodTemplate"),
    "volumes": ("NetworkVolume",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a class or an enum
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = found
    return found
