"""The kinds, as data: what each can do, its rules, its schema.

`Endpoint` is every serverless endpoint. A manifest may also name a Python class as its kind, which declares what the
class implies. The address has `Endpoint` either way, so Python, YAML and every class share one record of an endpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from holdfast.provider import Draft, InputError, Json, Kind, Location, Target
from holdfast.providers import builtin_profiles

ENDPOINT: Final = "Endpoint"
VOLUME: Final = "NetworkVolume"
TEMPLATE: Final = "PodTemplate"


@dataclass(frozen=True, slots=True)
class Implied:
    """The fields that the name of a kind implies; None if it implies nothing."""

    type: str | None = None
    compute: str | None = None
    image: str | None = None


ENDPOINTS: Final[Mapping[str, Implied]] = {
    ENDPOINT: Implied(),
    "ServerlessResource": Implied(compute="GPU"),
    "ServerlessEndpoint": Implied("QB", "GPU"),
    "CpuServerlessEndpoint": Implied("QB", "CPU"),
    "LoadBalancerSlsResource": Implied("LB", "GPU"),
    "CpuLoadBalancerSlsResource": Implied("LB", "CPU"),
    "LiveServerless": Implied("QB", "GPU", "runpod/flash:py3.12-latest"),
    "CpuLiveServerless": Implied("QB", "CPU", "runpod/flash-cpu:py3.12-latest"),
    "LiveLoadBalancer": Implied("LB", "GPU", "runpod/flash-lb:py3.12-latest"),
    "CpuLiveLoadBalancer": Implied("LB", "CPU", "runpod/flash-lb-cpu:py3.12-latest"),
}
COLLECTIONS: Final = {VOLUME: ("network-volumes", "networkVolumes"), TEMPLATE: ("templates", "templates")}
_ENDPOINTS_AT: Final = ("serverless", "endpoints")


def collection(kind: str) -> tuple[str, str] | None:
    """Return where v2 has the things of a kind, and what it calls a list of them; None for a kind there is not."""
    return _ENDPOINTS_AT if kind in ENDPOINTS else COLLECTIONS.get(kind)


def canonical(kind: str) -> str:
    """Return the kind that addresses have: `Endpoint` for the name of every class of endpoint."""
    return ENDPOINT if kind in ENDPOINTS else kind


def rewritten(kind: str, desired: Mapping[str, Json]) -> tuple[dict[str, Json], str | None]:
    """Return a declared document with what the name of its class implies, and that name.

    Raise InputError if the document contradicts the class.
    """
    out = dict(desired)
    implied = ENDPOINTS.get(kind)
    if implied is None or kind == ENDPOINT:
        return out, None
    for name, value in (("type", implied.type), ("computeType", implied.compute)):
        declared = out.get(name)
        if value is not None and declared is not None and declared != value:
            message = f"{kind} is of {name} {value}, not {declared}; write kind: {ENDPOINT}, or remove {name}"
            raise InputError(message, Location(field=f"/{name}"))
    _imply(out, implied)
    if implied.compute is not None and not (implied.compute == "GPU" and out.get("instanceIds")):
        out.setdefault("computeType", implied.compute)
    return out, kind


def _imply(document: dict[str, Json], implied: Implied) -> None:
    if implied.type is not None:
        document.setdefault("type", implied.type)
    if implied.compute == "CPU":
        document.setdefault("instanceIds", ["cpu3g-2-8"])
    if implied.image is not None and not document.get("templateId"):
        document.setdefault("imageName", implied.image)


def live_name(resource: Target | Draft) -> str:
    """Return the name at RunPod: the declared name, with its namespace if it has one.

    Names are not unique there. With the namespace in it, staging and production of one account cannot be mixed up.
    """
    given = resource.desired.get("name")
    if isinstance(given, str) and given:
        return given
    return f"{resource.name}@{resource.namespace}" if resource.namespace else resource.name


def with_name(draft: Draft) -> Mapping[str, Json]:
    """Return a declaration with the name that the resource has at RunPod, so that renaming it there is drift.

    An imported or observed resource keeps the name it has, unless the declaration gives one.
    """
    return {**draft.desired, "name": live_name(draft)} if draft.is_ours else draft.desired


def whole(target: Target) -> dict[str, Json]:
    """Return the declaration of an endpoint with its name and the fields that its kind implies."""
    implied = ENDPOINTS.get(target.kind, Implied())
    out = {name: value for name, value in target.desired.items() if value is not None}
    _imply(out, implied)
    out["name"] = live_name(target)
    return out


@cache
def shipped() -> Mapping[str, Kind]:
    """Return the kinds; their profiles are read once."""
    rules = builtin_profiles.shipped_with("runpod")
    schemas = {VOLUME: _VOLUME_SCHEMA, TEMPLATE: _TEMPLATE_SCHEMA}
    return {
        name: Kind(
            name,
            patches=True,
            lists=True,
            profiles=tuple(profile for profile in rules if profile.applies_to("runpod", name)),
            schema=schemas.get(name, _ENDPOINT_SCHEMA),
            pool="endpoints" if name in ENDPOINTS else "",
            complete=with_name,
        )
        for name in (*ENDPOINTS, VOLUME, TEMPLATE)
    }


_TEXT: Final[Mapping[str, Json]] = {"type": "string"}
_TEXTS: Final[Mapping[str, Json]] = {"type": "array", "items": {"type": "string"}}
_ENV: Final[Mapping[str, Json]] = {"type": "object", "additionalProperties": {"type": ["string", "object"]}}
_COUNT: Final[Mapping[str, Json]] = {"type": "integer", "minimum": 0}
_CONTAINER: Final[Mapping[str, Json]] = {
    "containerDiskInGb": {"type": "integer", "minimum": 1},
    "dockerArgs": _TEXT,
    "ports": {**_TEXTS, "description": "Such as 8000/http."},
    "containerRegistryAuthId": _TEXT,
}
_ENDPOINT_SCHEMA: Final[Mapping[str, Json]] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "name": {**_TEXT, "minLength": 1, "description": "What it is called at RunPod, if not what it is called here."},
        "type": {"enum": ["QB", "LB"]},
        "computeType": {"enum": ["GPU", "CPU"]},
        "imageName": _TEXT,
        "templateId": _TEXT,
        "env": _ENV,
        "flashboot": {"type": ["boolean", "string"]},
        "gpus": {
            **_TEXTS,
            "description": "Pools, and cards to leave out of them: [AMPERE_80, '-NVIDIA A100 80GB PCIe'].",
        },
        "gpuCount": {"type": "integer", "minimum": 1},
        "cudaVersions": _TEXTS,
        "minCudaVersion": _TEXT,
        "instanceIds": {**_TEXTS, "description": "CPU instances, such as cpu3g-2-8."},
        "datacenter": _TEXTS,
        "networkVolumes": {**_TEXTS, "description": "Ids; refer to a NetworkVolume with ${...id}."},
        "workersMin": _COUNT,
        "workersMax": _COUNT,
        "workersStandby": _COUNT,
        "workersPFBTarget": _COUNT,
        "idleTimeout": {"type": "integer", "minimum": 1, "maximum": 3600},
        "scalerType": {"enum": ["QUEUE_DELAY", "REQUEST_COUNT"]},
        "scalerValue": {"type": "number", "exclusiveMinimum": 0},
        "executionTimeoutMs": _COUNT,
        "flashEnvironmentId": _TEXT,
        "template": {"type": "object", "additionalProperties": False, "properties": _CONTAINER},
    },
}
_VOLUME_SCHEMA: Final[Mapping[str, Json]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["size", "dataCenterId"],
    "properties": {
        "name": _TEXT,
        "size": {"type": "integer", "minimum": 10, "maximum": 4096, "description": "GB; it can only grow."},
        "dataCenterId": _TEXT,
        "type": _TEXT,
    },
}
_TEMPLATE_SCHEMA: Final[Mapping[str, Json]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["imageName"],
    "properties": {
        "name": _TEXT,
        "imageName": _TEXT,
        "env": _ENV,
        **_CONTAINER,
        "isServerless": {"type": "boolean"},
        "isPublic": {"type": "boolean"},
        "category": _TEXT,
        "startSsh": {"type": "boolean"},
        "startJupyter": {"type": "boolean"},
        "cudaVersions": _TEXTS,
        "mounts": {"type": "object"},
    },
}
