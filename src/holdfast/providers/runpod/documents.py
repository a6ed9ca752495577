"""From a REST v2 document to the document that is declared and compared, in RunPod's older and better known names.

Unknown names pass through. Of the environment, keys are shown. The one value that tools are known to put there and that
opens the account is masked, because a read document is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast.model.json import Json

Document = dict[str, Json]

MASK: Final = "********"
MASKED: Final = frozenset({"RUNPOD_API_KEY"})
TYPES: Final = {"QUEUE": "QB", "LOAD_BALANCER": "LB"}
FLASHBOOT: Final[Mapping[str, Json]] = {"OFF": False, "FLASHBOOT": True}
GRAPHQL_ONLY: Final = ("workersStandby", "workersPFBTarget", "flashEnvironmentId")
"""Fields that REST v2 neither shows nor takes."""


def endpoint(item: Mapping[str, Json], more: Mapping[str, Json] | None = None) -> Document:
    """Return the document of an endpoint; `more` is what GraphQL adds."""
    workers, scaling = _map(item.get("workers")), _map(item.get("scaling"))
    out: Document = {
        "name": item.get("name"),
        "type": TYPES.get(item.get("type", ""), item.get("type")),
        **_compute(item),
        "imageName": item.get("image"),
        "env": env(item),
        "flashboot": FLASHBOOT.get(item.get("flashboot", ""), item.get("flashboot")),
        "workersMin": workers.get("min"),
        "workersMax": workers.get("max"),
        "idleTimeout": workers.get("idleTimeout"),
        "scalerType": scaling.get("type"),
        "scalerValue": scaling.get("queueDelay", scaling.get("requestCount")),
        "executionTimeoutMs": item.get("timeout"),
        "datacenter": item.get("dataCenterIds"),
        "networkVolumes": item.get("networkVolumes"),
        "template": _container(item),
        "createdAt": item.get("createdAt"),
        **{name: (more or {}).get(name) for name in GRAPHQL_ONLY},
    }
    return {name: value for name, value in out.items() if value is not None}


def _compute(item: Mapping[str, Json]) -> Document:
    gpu = _map(item.get("gpu"))
    if gpu:
        excluded = [f"-{card}" for card in gpu.get("excludedTypes") or ()]
        return {
            "computeType": "GPU",
            "gpus": [*(gpu.get("pools") or ()), *excluded],
            "gpuCount": gpu.get("count"),
            "cudaVersions": gpu.get("allowedCudaVersions") or None,
            "minCudaVersion": gpu.get("minCudaVersion") or None,
        }
    cpus = item.get("cpu") or ()
    names = [f"{cpu.get('id')}-{cpu.get('vcpuCount')}-{cpu.get('memory')}" for cpu in cpus]
    return {"computeType": "CPU", "instanceIds": names}


def _container(item: Mapping[str, Json]) -> Document:
    return {
        "containerDiskInGb": item.get("disk"),
        "dockerArgs": item.get("args") or "",
        "ports": item.get("ports") or [],
        "containerRegistryAuthId": item.get("registry") or "",
    }


def env(item: Mapping[str, Json]) -> dict[str, str]:
    """Return the environment as it may be kept."""
    return {key: MASK if key in MASKED else value for key, value in _map(item.get("env")).items()}


def volume(item: Mapping[str, Json]) -> Document:
    """Return the document of a network volume."""
    return {
        "name": item.get("name"),
        "size": item.get("size"),
        "dataCenterId": item.get("dataCenter"),
        "type": item.get("type"),
    }


def template(item: Mapping[str, Json]) -> Document:
    """Return the document of a template."""
    out: Document = {
        "name": item.get("name"),
        "imageName": item.get("image"),
        "env": env(item),
        **_container(item),
        "isServerless": item.get("serverless"),
        "isPublic": item.get("public"),
        "category": item.get("category"),
        "startSsh": item.get("startSsh"),
        "startJupyter": item.get("startJupyter"),
        "cudaVersions": item.get("allowedCudaVersions"),
        "mounts": item.get("mounts"),
    }
    return {name: value for name, value in out.items() if value is not None}


def _map(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
