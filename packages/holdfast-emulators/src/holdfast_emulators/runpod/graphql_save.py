"""The save mutations of GraphQL: create, or replace nearly everything.

`saveEndpoint` with an id is not sparse. An omitted field returns to its default, becomes empty, or stays, field by
field: workersMax, idleTimeout, scalerValue and instanceIds were seen to reset and templateId, the CUDA fields,
compliance and modelReferences to hold (runpodctl 281, runpod-mcp 70). For the others the harsher reading is taken, so
that a client which relies on luck fails here and not in production.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast.model.json import Json
from holdfast_emulators.runpod import respelling
from holdfast_emulators.runpod.objects import Account, Endpoint, MalformedError, RefusedError, Template
from holdfast_emulators.runpod.service import World

ENDPOINT_INPUT: Final = frozenset(
    {
        "id",
        "name",
        "template",
        "templateId",
        "gpuIds",
        "gpuCount",
        "instanceIds",
        "workersMin",
        "workersMax",
        "workersStandby",
        "workersPFBTarget",
        "idleTimeout",
        "scalerType",
        "scalerValue",
        "executionTimeoutMs",
        "locations",
        "networkVolumeId",
        "networkVolumeIds",
        "allowedCudaVersions",
        "minCudaVersion",
        "flashBootType",
        "type",
        "flashEnvironmentId",
        "modelReferences",
        "compliance",
        "hubReleaseId",
    }
)
TEMPLATE_INPUT: Final = frozenset(
    {
        "id",
        "name",
        "imageName",
        "containerDiskInGb",
        "volumeInGb",
        "env",
        "dockerArgs",
        "ports",
        "readme",
        "containerRegistryAuthId",
        "isServerless",
        "startSsh",
        "startJupyter",
        "isPublic",
        "startScript",
        "advancedStart",
        "config",
    }
)
RESET: Final[Mapping[str, Json]] = {
    "gpuCount": 1,
    "idleTimeout": 10,
    "instanceIds": None,
    "locations": None,
    "networkVolumeIds": [],
    "scalerType": "QUEUE_DELAY",
    "scalerValue": 4,
    "workersMax": 3,
    "workersMin": 0,
    "workersPFBTarget": 0,
    "workersStandby": 1,
}
"""What fields that are left out of an update go back to."""
_PLAIN: Final = (
    "name",
    "gpuCount",
    "workersMin",
    "workersMax",
    "workersStandby",
    "workersPFBTarget",
    "idleTimeout",
    "scalerType",
    "scalerValue",
    "executionTimeoutMs",
    "flashBootType",
    "type",
    "flashEnvironmentId",
    "modelReferences",
    "compliance",
)


def save_endpoint(world: World, account: Account, given: Mapping[str, Json], by: str) -> Endpoint:
    """Make an endpoint, or with an id save over one."""
    _known(given, ENDPOINT_INPUT, "EndpointInput")
    if given.get("template") is not None and given.get("templateId"):
        raise RefusedError(400, "templateId and template cannot both be set")
    fields = _endpoint_fields(world, given)
    if given.get("id"):
        return _save_over(world, account, given, fields, by)
    if not given.get("name"):
        raise RefusedError(400, "name is required")
    if not fields.get("instanceIds") and not fields.get("gpuIds"):
        raise RefusedError(400, "gpuId(s) is required for a gpu endpoint")
    fields.setdefault("executionTimeoutMs", 600_000)
    template = _template_for(world, account, given)
    try:
        endpoint = world.make_endpoint(account, fields, template, by)
    except RefusedError:
        if given.get("template") is not None:  # both or neither
            del account.templates[template.id]
        raise
    if given.get("template") is not None:
        template.bound_to = endpoint.id
    return endpoint


def _save_over(world: World, account: Account, given: Mapping[str, Json], fields: dict[str, Json], by: str) -> Endpoint:
    endpoint = account.endpoints.get(given["id"])
    if endpoint is None:
        raise RefusedError(400, "Endpoint not found")
    if fields.get("type", endpoint.fields["type"]) != endpoint.fields["type"]:
        raise RefusedError(400, "endpoint type cannot be changed")
    whole = {**RESET, **fields}
    if not endpoint.is_cpu and not fields.get("gpuIds"):
        whole.pop("gpuIds", None)
    container: dict[str, Json] = {}
    if given.get("template") is not None:
        container = _template_fields(given["template"])
    if given.get("templateId"):
        _template(account, given["templateId"])
        whole["templateId"] = given["templateId"]
    world.change_endpoint(account, endpoint, whole, container, by)
    return endpoint


def _endpoint_fields(world: World, given: Mapping[str, Json]) -> dict[str, Json]:
    """Write what was given as the platform keeps it; nulls count as left out."""
    fields = {name: given[name] for name in _PLAIN if given.get(name) is not None}
    if given.get("gpuIds"):
        fields["gpuIds"] = respelling.gpu_ids(given["gpuIds"], world.catalogue)
    if given.get("instanceIds"):
        fields["instanceIds"] = respelling.instances(given["instanceIds"], world.catalogue)
    if "locations" in given:
        fields["locations"] = respelling.locations(given["locations"])
    for name in ("allowedCudaVersions", "minCudaVersion"):
        if name in given and given[name] is not None:
            fields[name] = respelling.versions(given[name])
    volumes = given.get("networkVolumeIds")
    if volumes is not None:
        for volume in volumes:
            _known(volume, frozenset({"networkVolumeId"}), "NetworkVolumeIdInput")
        fields["networkVolumeIds"] = [volume["networkVolumeId"] for volume in volumes]
    elif "networkVolumeId" in given:
        fields["networkVolumeIds"] = [given["networkVolumeId"]] if given["networkVolumeId"] else []
    return fields


def _template_for(world: World, account: Account, given: Mapping[str, Json]) -> Template:
    if given.get("template") is not None:
        fields = _template_fields(given["template"])
        fields.setdefault("name", f"{given['name']}__template__{world.new_id(6)}")
        return world.make_template(account, fields)
    if not given.get("templateId"):
        raise RefusedError(400, "templateId is required")
    return _template(account, given["templateId"])


def _template(account: Account, ident: str) -> Template:
    if ident not in account.templates:
        raise RefusedError(400, "Template not found")
    return account.templates[ident]


def save_template(world: World, account: Account, given: Mapping[str, Json], by: str) -> Template:
    """Make a template, or with an id save over one; env must be given, and replaces what was there."""
    _known(given, TEMPLATE_INPUT, "SaveTemplateInput")
    if given.get("env") is None:
        raise MalformedError('Field "env" of required type "[EnvironmentVariableInput]!" was not provided.')
    if given.get("dockerArgs") is None or given.get("volumeInGb") is None:
        raise RefusedError(400, "Something went wrong. Please try again later or contact support.")
    fields = _template_fields(given)
    if not given.get("id"):
        return world.make_template(account, fields)
    template = _template(account, given["id"])
    world.change_template(account, template, fields, by)
    return template


def _template_fields(given: Mapping[str, Json]) -> dict[str, Json]:
    _known(given, TEMPLATE_INPUT, "PodTemplateInput")
    fields = {name: value for name, value in given.items() if value is not None and name != "id"}
    if "env" in fields:
        for pair in fields["env"]:
            _known(pair, frozenset({"key", "value"}), "EnvironmentVariableInput")
        fields["env"] = {pair["key"]: str(pair["value"]) for pair in fields["env"]}
    if "ports" in fields:
        fields["ports"] = respelling.tokens(fields["ports"])
    if "containerRegistryAuthId" in fields:
        fields["containerRegistryAuthId"] = fields["containerRegistryAuthId"] or None
    return fields


def _known(given: Mapping[str, Json], allowed: frozenset[str], kind: str) -> None:
    unknown = [name for name in given if name not in allowed]
    if unknown:
        message = f'Variable "$input" got invalid value; Field "{unknown[0]}" is not defined by type "{kind}".'
        raise MalformedError(message)
