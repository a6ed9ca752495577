"""GraphQL, where REST v2 does not reach: fields it lacks, single vCPUs, endpoints it once refused to change.

`saveEndpoint` replaces nearly everything that is not sent, so what is sent is always what is there, changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from holdfast.model.json import Json
from holdfast.providers.runpod import documents, request_body
from holdfast.providers.runpod.documents import Document

_FIELDS: Final = (
    "id name type gpuIds gpuCount instanceIds workersMin workersMax workersStandby workersPFBTarget idleTimeout "
    "scalerType scalerValue executionTimeoutMs locations networkVolumeIds { networkVolumeId } allowedCudaVersions "
    "minCudaVersion flashBootType flashEnvironmentId templateId"
)
_TEMPLATE_FIELDS: Final = (
    "id name imageName containerDiskInGb dockerArgs env { key value } ports readme containerRegistryAuthId volumeInGb"
)
EXTRAS: Final = f"query holdfastExtras {{ myself {{ endpoints {{ id name {' '.join(documents.GRAPHQL_ONLY)} }} }} }}"
EXTRA: Final = (
    "query holdfastExtra($id: String!) "
    f"{{ myself {{ endpoint(id: $id) {{ id name {' '.join(documents.GRAPHQL_ONLY)} }} }} }}"
)
MYSELF: Final = "query holdfastMyself { myself { id } }"
ENDPOINT: Final = f"query holdfastEndpoint($id: String!) {{ myself {{ endpoint(id: $id) {{ {_FIELDS} }} }} }}"
SAVE: Final = f"mutation holdfastSave($input: EndpointInput!) {{ saveEndpoint(input: $input) {{ {_FIELDS} }} }}"
TEMPLATE: Final = f"query holdfastTemplate($id: String!) {{ podTemplate(id: $id) {{ {_TEMPLATE_FIELDS} }} }}"
SAVE_TEMPLATE: Final = "mutation holdfastSaveTemplate($input: SaveTemplateInput) { saveTemplate(input: $input) { id } }"
_TRANSIENT: Final = (
    "try again later",
    "internal server error",
    "service unavailable",
    "too many requests",
    "temporarily unavailable",
)
_SAME: Final = (
    "type",
    "gpuCount",
    "workersMin",
    "workersMax",
    "workersStandby",
    "workersPFBTarget",
    "idleTimeout",
    "scalerType",
    "scalerValue",
    "executionTimeoutMs",
    "flashEnvironmentId",
    "name",
)


def is_transient(message: str) -> bool:
    """Return True if an error may pass by itself."""
    return any(pattern in message.lower() for pattern in _TRANSIENT)


def new_endpoint(document: Mapping[str, Json], template_name: str) -> Document:
    """Return the input that makes an endpoint. The name of its template is unique, so it cannot be made twice."""
    kind = document.get("type", "QB")
    scaler = "REQUEST_COUNT" if kind == "LB" else "QUEUE_DELAY"
    whole = {"scalerType": scaler, "scalerValue": 4, **document, "type": kind}
    if not whole.get("instanceIds") and not whole.get("gpus"):
        whole["gpus"] = ["any"]
    out = endpoint_input(whole, list(whole))
    if document.get("templateId") and not document.get("imageName"):
        return {**out, "templateId": document["templateId"]}
    settings = whole.get("template") or {}
    container = {"dockerArgs": "", **settings, "imageName": whole.get("imageName", ""), "env": whole.get("env") or {}}
    return {**out, "template": {**template_input(container), "name": template_name}}


def endpoint_input(document: Mapping[str, Json], names: Sequence[str]) -> Document:
    """Return the words of `saveEndpoint` for some fields of a document."""
    out: Document = {}
    for name in names:
        value = document.get(name)
        value = request_body.DEFAULTS.get(name) if value is None else value
        if name in _SAME:
            out[name] = value
        elif name == "gpus":
            pools, cards = request_body.selection(value or ())
            out["gpuIds"] = ",".join([*pools, *(f"-{card}" for card in cards)])
        elif name == "instanceIds":
            out["instanceIds"] = list(value or ())
        elif name == "datacenter":
            out["locations"] = ",".join(map(str, value or ()))
        elif name == "networkVolumes":
            out["networkVolumeIds"] = [{"networkVolumeId": item} for item in value or ()]
        elif name == "cudaVersions":
            out["allowedCudaVersions"] = ",".join(map(str, value or ()))
        elif name == "minCudaVersion":
            out["minCudaVersion"] = value or ""
        elif name == "flashboot":
            out["flashBootType"] = {True: "FLASHBOOT", False: "OFF"}[value] if isinstance(value, bool) else value
    return out


def as_input(live: Mapping[str, Json]) -> Document:
    """Return the live endpoint as an input that changes nothing."""
    out = {name: value for name, value in live.items() if value is not None}
    if not out.get("instanceIds"):
        out.pop("instanceIds", None)
    else:  # an endpoint on CPUs is refused if it has anything of GPUs
        for name in ("gpuIds", "gpuCount", "allowedCudaVersions", "minCudaVersion"):
            out.pop(name, None)
    return out


def template_input(container: Mapping[str, Json]) -> Document:
    """Return the words of `saveTemplate` for container settings."""
    out: Document = {
        name: container[name]
        for name in ("imageName", "containerDiskInGb", "dockerArgs", "containerRegistryAuthId")
        if container.get(name) is not None
    }
    if "ports" in container:
        out["ports"] = ",".join(container["ports"] or ())
    if "env" in container:
        out["env"] = [{"key": key, "value": str(value)} for key, value in container["env"].items()]
    return out
