"""From a resource class to its declared document, equal to the same declaration in YAML.

Only effective settings are declared: a setting that is None, or a timeout of zero, is left to the service.

`outline` holds facts for the Python door. All classes of endpoint are one kind, so that another class under the
same name replaces the endpoint instead of leaving it behind. A volume is told from others by its data centre too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.model.resource_spec import Outline, SpecContext
from holdfast.providers.runpod import documents, hashing, kinds, rules
from holdfast.providers.runpod.hashing import EnvPolicy
from holdfast.providers.runpod.resources import gpus
from holdfast.providers.runpod.resources.endpoint_fields import Family
from holdfast.providers.runpod.resources.enums import ServerlessScalerType, ServerlessType
from holdfast.providers.runpod.resources.template import DEFAULT_DISK_GB, PodTemplate
from holdfast.providers.runpod.resources.volume import NetworkVolume

if TYPE_CHECKING:
    from holdfast.providers.runpod.resources.base import BaseResource
    from holdfast.providers.runpod.resources.deployable import DeployableResource
    from holdfast.providers.runpod.resources.serverless import ServerlessResource

CLASS: Final = "runpod.holdfast.dev/class"

Document = dict[str, Json]
Wrap = Callable[[str], Json]


def _as_it_is(value: str) -> Json:
    return value


def _own_id(volume: NetworkVolume) -> Json:
    if volume.id is None:
        raise InputError(f"the network volume {volume.name!r} has no id yet; deploy it first")
    return volume.id


def endpoint(
    resource: ServerlessResource,
    secret: Wrap = _as_it_is,
    volume: Callable[[NetworkVolume], Json] = _own_id,
) -> Document:
    """Return the document of an endpoint; raise InputError if it cannot be deployed as it is.

    `secret` wraps the values of the environment, `volume` says how a volume is referred to.
    """
    if resource.type == ServerlessType.LB and resource.scalerType == ServerlessScalerType.QUEUE_DELAY:
        raise InputError(f"{type(resource).__name__} {resource.name!r} needs the scaler REQUEST_COUNT, not QUEUE_DELAY")
    _refuse_what_would_be_lost(resource)
    resource.config_hash  # noqa: B018 - brings spellings in step that were changed in place
    out: Document = {
        "name": resource.name,
        "type": _text(resource.type),
        "computeType": str(resource.FAMILY).upper(),
        **_compute(resource),
        **_container(resource, secret),
        "flashboot": resource.flashboot,
        "workersMin": resource.workersMin,
        "workersMax": resource.workersMax,
        "workersPFBTarget": resource.workersPFBTarget or None,
        "idleTimeout": None if _has_no_idle_timeout(resource) else resource.idleTimeout,
        "scalerType": _text(resource.scalerType),
        "scalerValue": resource.scalerValue,
        "executionTimeoutMs": resource.executionTimeoutMs or None,
        "datacenter": gpus.tokens((resource.locations or "").upper().replace("_", "-")) or None,
        "networkVolumes": _volumes(resource, volume),
        "flashEnvironmentId": resource.flashEnvironmentId or None,
    }
    return {name: value for name, value in out.items() if value is not None}


def _compute(resource: ServerlessResource) -> Document:
    if resource.FAMILY is Family.CPU:
        return {"instanceIds": sorted({str(instanceId) for instanceId in resource.instanceIds or ()})}
    versions = gpus.tokens(resource.allowedCudaVersions or "")
    # The service takes one or the other; a floor that was not requested gives way.
    has_floor = not versions or "minCudaVersion" in resource.model_fields_set
    return {
        "gpus": gpus.tokens(resource.gpuIds or "") or None,
        "gpuCount": resource.gpuCount or None,
        "cudaVersions": versions or None,
        "minCudaVersion": _text(resource.minCudaVersion) if has_floor else None,
    }


def _container(resource: ServerlessResource, secret: Wrap) -> Document:
    own = resource.template if resource.template is not None and resource.template.id is None else PodTemplate()
    image = resource.imageName or own.imageName
    env = resource.env or own.env_map()
    settings = {name: value for name, value in own.settings().items() if name in _SETTINGS}
    if "ports" in settings:
        settings["ports"] = gpus.tokens(settings["ports"])
    is_cpu = resource.FAMILY is Family.CPU
    limit = rules.disk_limit_gb([str(instanceId) for instanceId in resource.instanceIds or ()]) if is_cpu else None
    settings.setdefault("containerDiskInGb", limit or DEFAULT_DISK_GB)
    return {
        "imageName": image or None,
        "templateId": None if image else resource.templateId,
        "env": {name: secret(value) for name, value in env.items()} or None,
        "template": settings if image else None,
    }


_SETTINGS = frozenset({"containerDiskInGb", "dockerArgs", "ports", "containerRegistryAuthId"})


def _refuse_what_would_be_lost(resource: ServerlessResource) -> None:
    """Refuse settings that no API takes for an endpoint: a change of them would be told as done, and not be."""
    own = resource.template
    lost = sorted(own.settings().keys() - _SETTINGS) if own is not None and own.id is None else []
    if lost:
        raise InputError(f"{', '.join(lost)} of the template of {resource.name!r} cannot be set on an endpoint")
    image = resource.imageName or (own.imageName if own is not None and own.id is None else "")
    if not image and not resource.templateId:
        raise InputError(f"{type(resource).__name__} {resource.name!r} needs one of imageName, template and templateId")


def _volumes(resource: ServerlessResource, refer: Callable[[NetworkVolume], Json]) -> Json:
    if resource.networkVolumes:
        return [refer(networkVolume) for networkVolume in resource.networkVolumes]
    return [resource.networkVolumeId] if resource.networkVolumeId else None


def _has_no_idle_timeout(resource: ServerlessResource) -> bool:
    return resource.type == ServerlessType.QB and resource.scalerType == ServerlessScalerType.REQUEST_COUNT


def _text(value: Json) -> str | None:
    return None if value is None else str(value)


def volume(resource: NetworkVolume) -> Document:
    """Return the document of a network volume."""
    out = {"name": resource.name, "size": resource.size, "dataCenterId": str(resource.dataCenterId)}
    return {name: value for name, value in out.items() if value is not None}


def template(resource: PodTemplate, secret: Wrap = _as_it_is) -> Document:
    """Return the document of a template of its own."""
    out: Document = {
        "name": resource.name or None,
        "imageName": resource.imageName or None,
        "env": {name: secret(value) for name, value in resource.env_map().items()} or None,
        "containerDiskInGb": resource.containerDiskInGb,
        "dockerArgs": resource.dockerArgs or None,
        "ports": gpus.tokens(resource.ports or "") or None,
        "containerRegistryAuthId": resource.containerRegistryAuthId or None,
        "isServerless": True,
    }
    return {name: value for name, value in out.items() if value is not None}


# -- for the Python door


def outline(resource: BaseResource, means: SpecContext) -> Outline:
    """Return the outline of a resource."""
    parts = _OUTLINES[resource.KIND](resource, means)
    return Outline(
        resource.KIND,
        parts.name,
        resource.config_hash_with(means.key),
        parts.desired,
        parts.refers,
        resource.id,
        parts.environment,
        {"recreate": "always", **parts.options},
        {CLASS: type(resource).__name__},
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of an outline that differ between classes."""

    name: str
    desired: Callable[[], Document]
    options: Document = field(default_factory=dict)
    environment: str | None = None
    refers: bool = False


def _endpoint_parts(resource: Any, means: SpecContext) -> _Parts:  # noqa: ANN401 - a ServerlessResource
    injected = _injected(resource) if resource.ENV_POLICY is EnvPolicy.MANAGED else {}

    def desired() -> Document:
        out = endpoint(resource, means.secret, lambda each: each.id if not each.name else means.refer(each))
        out["name"] = _live_name(resource.name, means)
        for name, value in injected.items():
            out["env"][name] = means.unwatched(value) if name in documents.MASKED else value
        return out

    ignored = ["/env"] if resource.ENV_POLICY is EnvPolicy.IGNORE else [f"/env/{name}" for name in injected]
    hidden = dict.fromkeys([path for path in ignored if path not in _MASKED], "ignore")
    options: Document = {"onImmutable": "replace", **({"onDriftPaths": hidden} if hidden else {})}
    refers = bool(resource.networkVolumes)
    return _Parts(resource.name, desired, options, resource.flashEnvironmentId, refers)


_MASKED = frozenset(f"/env/{name}" for name in documents.MASKED)


def _injected(resource: ServerlessResource) -> dict[str, str]:
    """Return the variables of deploying tools: they are set when an endpoint is made, and count no more after that."""
    own = resource.template
    given = resource.env or (own.env_map() if own is not None and own.id is None else {})
    if hashing.INJECTED.isdisjoint(given):
        return {}
    return {name: given[name] for name in sorted(hashing.INJECTED & given.keys())}


def _volume_parts(resource: Any, means: SpecContext) -> _Parts:  # noqa: ANN401 - a NetworkVolume
    if not resource.name:
        raise InputError(f"the network volume {resource.id} has no name; a volume that is only used needs no deploying")
    live = _live_name(resource.name, means)
    return _Parts(f"{resource.name}@{resource.dataCenterId}", lambda: {**volume(resource), "name": live})


def _template_parts(resource: Any, means: SpecContext) -> _Parts:  # noqa: ANN401 - a PodTemplate
    if not resource.name:
        raise InputError("a template needs a name to be deployed by itself")
    live = _live_name(resource.name, means)
    return _Parts(resource.name, lambda: {**template(resource, means.secret), "name": live})


def _live_name(name: str, means: SpecContext) -> str:
    """Return the name at RunPod, with the environment, because an account shares names."""
    return f"{name}@{means.environment}" if means.environment else name


_OUTLINES: Final = {kinds.ENDPOINT: _endpoint_parts, kinds.VOLUME: _volume_parts, kinds.TEMPLATE: _template_parts}


# -- back from what was declared


def restored(labels: Mapping[str, str], document: Json, ident: str | None) -> DeployableResource | None:
    """Return the object that a kept document was declared by, without its environment; None if it has no class.

    Volumes are known by their ids alone there, because that is how an endpoint refers to them.
    """
    from holdfast.providers import runpod  # noqa: PLC0415 - the classes know this module

    cls = getattr(runpod, labels.get(CLASS, ""), None)
    if cls is None or not isinstance(document, Mapping):
        return None
    fields = {name: value for name, value in document.items() if name not in {"env", "template", "networkVolumes"}}
    volumes = [{"id": networkVolume} for networkVolume in document.get("networkVolumes") or ()]
    if isinstance(document.get("name"), str):
        fields["name"] = document["name"].partition("@")[0]
    resource: DeployableResource = cls.from_server({**fields, "id": ident})
    if volumes:
        resource.__dict__["networkVolumes"] = [NetworkVolume(**volume) for volume in volumes]
    return resource
