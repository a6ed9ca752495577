"""What Flash hashes, field by field, oddities included: for recognising the stamps it left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from holdfast.model.json import Json
from holdfast.providers.runpod.resources import gpus
from holdfast.providers.runpod.resources.endpoint_fields import Family
from holdfast.providers.runpod.resources.enums import ServerlessType

if TYPE_CHECKING:
    from holdfast.providers.runpod.resources.serverless import ServerlessResource

_CPU_QUEUE: Final[tuple[str, ...]] = (
    "datacenter",
    "env",
    "flashboot",
    "flashEnvironmentId",
    "imageName",
    "gpus",
    "networkVolume",
    "networkVolumes",
)
_CPU_BALANCER: Final[tuple[str, ...]] = (
    "datacenter",
    "env",
    "flashboot",
    "flashEnvironmentId",
    "imageName",
    "networkVolume",
    "networkVolumes",
    "instanceIds",
    "workersMin",
    "workersMax",
    "scalerType",
    "scalerValue",
    "type",
    "idleTimeout",
    "executionTimeoutMs",
    "locations",
)


def of(resource: ServerlessResource) -> dict[str, Json]:
    """Return the dump that Flash hashes for a resource of this class."""
    if resource.FAMILY is Family.CPU:
        names = _CPU_BALANCER if resource.type == ServerlessType.LB else _CPU_QUEUE
        return _dump(resource, names, volume_ids=True)
    names = tuple(
        name
        for name in type(resource).model_fields
        if name not in resource.RUNTIME_FIELDS and name not in ("id", "networkVolumeId")
    )
    out = _dump(resource, names, volume_ids=False)
    if not out.get("instanceIds"):
        out.pop("instanceIds", None)
    if resource.gpuIds and "gpus" not in resource.model_fields_set and "gpuIds" in resource.model_fields_set:
        out["gpus"] = [str(pool) for pool in gpus.ALL]  # a default that Flash does not take back
    return out


def _dump(resource: ServerlessResource, names: tuple[str, ...], *, volume_ids: bool) -> dict[str, Json]:
    values = resource.__dict__
    return {name: _plain(values[name], volume_ids=volume_ids) for name in names if values[name] is not None}


def _plain(value: Any, *, volume_ids: bool) -> Json:  # noqa: ANN401 - whatever a field holds
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list):
        return [_plain(item, volume_ids=volume_ids) for item in value]
    if hasattr(value, "flash_document"):
        known = {"id": value.id} if volume_ids and value.id is not None else {}
        return {**value.flash_document(), **known}
    return value
