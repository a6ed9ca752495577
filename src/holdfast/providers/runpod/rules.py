"""Consistency rules of an endpoint's configuration; each error names a correct value."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from holdfast.model.json import Json
from holdfast.providers.runpod.resources import datacenters, gpus
from holdfast.providers.runpod.resources.base import did_you_mean
from holdfast.providers.runpod.resources.endpoint_fields import Family
from holdfast.providers.runpod.resources.enums import ServerlessScalerType, ServerlessType
from holdfast.providers.runpod.resources.template import DEFAULT_DISK_GB

if TYPE_CHECKING:
    from holdfast.providers.runpod.resources.serverless import ServerlessResource

PYTHONS: Final = ("3.10", "3.11", "3.12", "3.13")
_WORDS: Final[dict[str, type[StrEnum]]] = {"scalerType": ServerlessScalerType, "type": ServerlessType}
_DISK_GB_PER_VCPU: Final = {"cpu3g": 10, "cpu3c": 10, "cpu5c": 15}


def known(value: Json, field: str) -> Json:
    """Refuse a word that is not one of a closed set; from the service any word passes."""
    words = [str(word) for word in _WORDS[field]]
    if value is not None and str(value) not in words:
        raise ValueError(f"{field} is one of {', '.join(words)}, not {value!r}{did_you_mean(str(value), words)}")
    return value


def live_image(repository: str, python: str | None) -> str:
    """Return the image of Flash's own runtime for a version of Python."""
    return f"{repository}:py{python or '3.12'}-latest"


def without_suffix(name: str) -> str:
    """Return a name without the endings that once switched FlashBoot on."""
    while name.endswith("-fb"):
        name = name[:-3]
    return name


def agree(locations: str, centres: str) -> None:
    """Refuse two spellings of the place that name different places."""
    if datacenters.canonical(locations) != datacenters.canonical(centres):
        raise ValueError(f"locations ({locations}) and datacenter ({centres}) name different places; give one of them")


def same(text: str, from_list: str, given: str, listed: str) -> None:
    """Refuse two spellings of one setting that differ."""
    if set(gpus.tokens(from_list)) != set(gpus.tokens(given)):
        raise ValueError(f"{listed} and {text} differ; give one of them")


def check(resource: ServerlessResource) -> None:
    """Refuse what the platform would refuse, before anything is sent."""
    low, high = resource.workersMin, resource.workersMax
    if low is not None and high is not None and low > high:
        raise ValueError(f"workersMin ({low}) cannot be greater than workersMax ({high})")
    if resource.idleTimeout is not None and not 1 <= resource.idleTimeout <= 3600:
        raise ValueError("idleTimeout must be between 1 and 3600 seconds")
    if resource.python_version is not None and resource.python_version not in PYTHONS:
        raise ValueError(f"python_version is one of {', '.join(PYTHONS)}, not {resource.python_version}")
    if resource.NEEDS_IMAGE and not (resource.imageName or resource.template or resource.templateId):
        raise ValueError("one of imageName, template and templateId is needed")
    _check_places(resource)
    if resource.FAMILY is Family.CPU:
        _check_cpu(resource)


def _check_places(resource: ServerlessResource) -> None:
    taken: dict[str, str] = {}
    centres = {str(item) for item in resource.datacenter or ()}
    for volume in resource.networkVolumes or ():
        centre = str(volume.dataCenterId)
        if centre in taken:
            both = f"{taken[centre]!r} and {volume.name or volume.id!r}"
            raise ValueError(f"only one network volume can be used in a data center: {both} are in {centre}")
        taken[centre] = volume.name or volume.id or ""
        if centres and centre not in centres:
            raise ValueError(
                f"the volume {taken[centre]!r} is in {centre}, the endpoint in {', '.join(sorted(centres))}"
            )


def _check_cpu(resource: ServerlessResource) -> None:
    unsuited = sorted(
        {str(item) for item in resource.datacenter or ()} - {str(center) for center in datacenters.WITH_CPUS}
    )
    if unsuited:
        raise ValueError(f"{', '.join(unsuited)} has no CPU workers; {', '.join(sorted(datacenters.WITH_CPUS))} has")
    limit = disk_limit_gb(resource.instanceIds)
    disk = resource.template.containerDiskInGb if resource.template is not None else None
    if limit is not None and disk is not None and disk != DEFAULT_DISK_GB and disk > limit:
        raise ValueError(f"a container disk of {disk} GB is more than the {limit} GB these instances can have")


def disk_limit_gb(instances: list[str] | None) -> int | None:
    """Return the largest container disk that all these instances can have; None if unknown."""
    found = []
    for name in instances or ():
        flavour, _, rest = str(name).partition("-")
        vcpus = rest.partition("-")[0]
        if flavour not in _DISK_GB_PER_VCPU or not vcpus.isdigit():
            return None
        found.append(int(vcpus) * _DISK_GB_PER_VCPU[flavour])
    return min(found, default=None)
