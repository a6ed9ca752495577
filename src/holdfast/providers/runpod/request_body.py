"""Bodies of REST v2: a whole body for a create, the changed parts for an update.

A part that v2 takes only as a whole (the GPU selection, the scaler, the environment) is sent whole, made of what is
there and what changes. Something that is no longer declared goes back to what the service gives by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from holdfast.model.json import Json
from holdfast.providers.runpod import documents
from holdfast.providers.runpod.documents import Document
from holdfast.providers.runpod.resources import gpus

DEFAULTS: Final[Mapping[str, Json]] = {
    "env": {},
    "flashboot": False,
    "workersMin": 0,
    "workersMax": 3,
    "idleTimeout": 10,
    "executionTimeoutMs": 300_000,
    "datacenter": [],
    "networkVolumes": [],
    "gpuCount": 1,
    "cudaVersions": [],
    "minCudaVersion": "",
    "scalerValue": 4,
    "dockerArgs": "",
    "ports": [],
    "containerRegistryAuthId": "",
    "isPublic": False,
    "startSsh": True,
    "startJupyter": True,
    "mounts": {},
    "workersStandby": 1,
    "workersPFBTarget": 0,
}
"""The defaults of the service, for fields that are no longer declared."""

_TYPES: Final = {kept: sent for sent, kept in documents.TYPES.items()}
_WORKERS: Final = {"workersMin": "min", "workersMax": "max", "idleTimeout": "idleTimeout"}
_CONTAINER: Final = {
    "containerDiskInGb": "disk",
    "dockerArgs": "args",
    "ports": "ports",
    "containerRegistryAuthId": "registry",
}
_GPU: Final = {"gpuCount": "count", "cudaVersions": "allowedCudaVersions", "minCudaVersion": "minCudaVersion"}
_PLAIN: Final = {
    "name": "name",
    "imageName": "image",
    "executionTimeoutMs": "timeout",
    "datacenter": "dataCenterIds",
    "networkVolumes": "networkVolumes",
}
_TEMPLATE: Final = {
    "name": "name",
    "imageName": "image",
    "env": "env",
    "isServerless": "serverless",
    "isPublic": "public",
    "category": "category",
    "startSsh": "startSsh",
    "startJupyter": "startJupyter",
    "cudaVersions": "allowedCudaVersions",
    "mounts": "mounts",
    **_CONTAINER,
}
_VOLUME: Final = {"name": "name", "size": "size", "dataCenterId": "dataCenter", "type": "type"}


# -- endpoints


def new_endpoint(document: Mapping[str, Json]) -> Document:
    """Return the body that creates an endpoint. Undeclared fields that v2 requires are filled in."""
    kind = document.get("type", "QB")
    scaler = {"scalerType": "REQUEST_COUNT" if kind == "LB" else "QUEUE_DELAY", "scalerValue": 4}
    compute = {} if document.get("instanceIds") else {"gpus": list(dict.fromkeys(map(str, gpus.ALL)))}
    whole = {**scaler, **compute, **document, "type": kind}
    body = endpoint_parts(whole, [name for name in whole if name != "computeType"])
    if document.get("templateId") and not document.get("imageName"):
        body["templateId"] = document["templateId"]
    return {**body, "type": _TYPES.get(kind, kind)}


def endpoint_parts(document: Mapping[str, Json], names: Sequence[str]) -> Document:
    """Return the parts of a body for some fields of a document."""
    body: Document = {}
    for name in names:
        if name in _PLAIN:
            body[_PLAIN[name]] = _value(document, name)
    workers = {_WORKERS[name]: _value(document, name) for name in names if name in _WORKERS}
    if _has_no_idle_timeout(document):
        workers.pop("idleTimeout", None)
    if workers:
        body["workers"] = workers
    if not {"scalerType", "scalerValue"}.isdisjoint(names):
        body["scaling"] = _scaling(document)
    if "flashboot" in names:
        body["flashboot"] = _flashboot(_value(document, "flashboot"))
    if "env" in names:
        body["env"] = {key: str(value) for key, value in (_value(document, "env") or {}).items()}
    if "template" in names:
        body |= _container(document.get("template") or {})
    return body | _compute(document, names)


def _compute(document: Mapping[str, Json], names: Sequence[str]) -> Document:
    if document.get("instanceIds"):
        return (
            {"cpu": [_cpu(str(instanceId)) for instanceId in document["instanceIds"]]} if "instanceIds" in names else {}
        )
    gpu: Document = {_GPU[name]: _value(document, name) for name in names if name in _GPU}
    if "gpus" in names:
        pools, cards = selection(document.get("gpus") or ())
        gpu |= {"pools": pools, "excludedTypes": cards}
    return {"gpu": gpu} if gpu else {}


def selection(tokens: Sequence[Json]) -> tuple[list[str], list[str]]:
    """Take a GPU selection apart into pools and cards that are left out of them."""
    named = gpus.tokens(gpus.to_ids(gpus.expanded([str(token) for token in tokens])))
    return [name for name in named if name[0] != "-"], [name[1:] for name in named if name[0] == "-"]


def _cpu(name: str) -> Document:
    flavour, _, rest = name.partition("-")
    vcpus = rest.partition("-")[0]
    return {"id": flavour, "vcpuCount": int(vcpus) if vcpus.isdigit() else vcpus}


def _scaling(document: Mapping[str, Json]) -> Document:
    kind = document.get("scalerType") or ("REQUEST_COUNT" if document.get("type") == "LB" else "QUEUE_DELAY")
    return {"type": kind, "queueDelay" if kind == "QUEUE_DELAY" else "requestCount": _value(document, "scalerValue")}


def _has_no_idle_timeout(document: Mapping[str, Json]) -> bool:
    return document.get("type", "QB") == "QB" and document.get("scalerType") == "REQUEST_COUNT"


def _flashboot(value: Json) -> str:
    return {True: "FLASHBOOT", False: "OFF"}[value] if isinstance(value, bool) else str(value)


def _container(settings: Mapping[str, Json]) -> Document:
    out = {sent: settings[name] for name, sent in _CONTAINER.items() if name in settings}
    if "registry" in out:
        out["registry"] = out["registry"] or None
    return out


def _value(document: Mapping[str, Json], name: str) -> Json:
    value = document.get(name)
    return DEFAULTS.get(name) if value is None else value


def is_expressible(document: Mapping[str, Json]) -> bool:
    """Return True if v2 can express a document: no instance with a single vCPU, and no GraphQL-only field."""
    if any(document.get(name) is not None for name in documents.GRAPHQL_ONLY):
        return False
    return all(_cpu(str(instanceId))["vcpuCount"] != 1 for instanceId in document.get("instanceIds") or ())


# -- the other kinds


def template(document: Mapping[str, Json], names: Sequence[str]) -> Document:
    """Return the body for some fields of a template."""
    body = {_TEMPLATE[name]: _value(document, name) for name in names if name in _TEMPLATE}
    if "registry" in body:
        body["registry"] = body["registry"] or None
    return body


def volume(document: Mapping[str, Json], names: Sequence[str]) -> Document:
    """Return the body for some fields of a network volume."""
    return {_VOLUME[name]: document[name] for name in names if name in _VOLUME and document.get(name) is not None}
