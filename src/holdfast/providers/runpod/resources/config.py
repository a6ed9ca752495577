"""From the fields of an endpoint to its configuration: one document for all spellings that mean the same.

This is the path every check of a fleet takes, so it reads the fields where they are and makes nothing it does not
need: Flash's own hash goes through pydantic's dump, and ours must not cost more.

Nothing (None, an empty text, list or map, a zero that is the default) is left out. Selections are sets. The image is
wherever it comes from: the field, the template, or the template that an id names. Of a template that has no id, and so
is the user's own, the settings count as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from holdfast.model.json import Json
from holdfast.providers.runpod import hashing
from holdfast.providers.runpod.hashing import EnvPolicy
from holdfast.providers.runpod.resources import datacenters, endpoint_fields, gpus
from holdfast.providers.runpod.resources.enums import CudaVersion

if TYPE_CHECKING:
    from holdfast.providers.runpod.resources.serverless import ServerlessResource

Values = dict[str, Any]

_CUDA: Final = {str(version): version for version in CudaVersion}
FROM_TEXT: Final[dict[str, Callable[[str], list[str]]]] = {
    "gpuIds": gpus.from_ids,
    "allowedCudaVersions": lambda text: [_CUDA.get(token, token) for token in gpus.tokens(text)],
}
TO_TEXT: Final[dict[str, Callable[[list[str]], str]]] = {
    "gpuIds": gpus.to_ids,
    "allowedCudaVersions": lambda versions: ",".join(map(str, versions)),
}


# -- spellings in step, after an assignment


def _gpus_set(values: Values) -> None:
    values["gpus"] = gpus.expanded(values["gpus"] or [])
    values["gpuIds"] = gpus.to_ids(values["gpus"])


def _gpu_ids_set(values: Values) -> None:
    values["gpuIds"] = gpus.normalised(values["gpuIds"] or "")
    values["gpus"] = gpus.from_ids(values["gpuIds"])


def _cuda_set(values: Values) -> None:
    values["allowedCudaVersions"] = ",".join(map(str, values["cudaVersions"] or ()))


def _allowed_cuda_set(values: Values) -> None:
    values["cudaVersions"] = FROM_TEXT["allowedCudaVersions"](values["allowedCudaVersions"] or "")


def _datacenter_set(values: Values) -> None:
    given = values["datacenter"]
    listed = [] if given is None else given if isinstance(given, list | tuple) else [given]
    values["datacenter"] = [datacenters.centre(str(item)) for item in listed] or None
    values["locations"] = datacenters.joined(values["datacenter"] or []) or None


def _locations_set(values: Values) -> None:
    values["datacenter"] = None


def _volume_set(values: Values) -> None:
    values["networkVolumes"] = [values["networkVolume"]] if values["networkVolume"] is not None else None
    values["networkVolumeId"] = None


def _volumes_set(values: Values) -> None:
    values["networkVolume"] = values["networkVolumes"][0] if values["networkVolumes"] else None
    values["networkVolumeId"] = None


IN_STEP: Final[dict[str, Callable[[Values], None]]] = {
    "gpus": _gpus_set,
    "gpuIds": _gpu_ids_set,
    "cudaVersions": _cuda_set,
    "allowedCudaVersions": _allowed_cuda_set,
    "datacenter": _datacenter_set,
    "locations": _locations_set,
    "networkVolume": _volume_set,
    "networkVolumes": _volumes_set,
}
"""What to do to the other spelling when a field was set."""


# -- the document


_Reader = Callable[[dict[str, Json], Values, EnvPolicy, bytes], None]
"""Puts one setting into a configuration, if there is anything to put."""


@dataclass(frozen=True, slots=True)
class FieldPlan:
    """Which fields of a class are read, and how; made once a class."""

    numbers: tuple[str, ...]
    words: tuple[str, ...]
    readers: tuple[_Reader, ...]
    others: tuple[str, ...]  # unknown fields of subclasses


def of(plan: FieldPlan, values: Values, policy: EnvPolicy, key: bytes) -> dict[str, Json]:
    """Return the configuration document."""
    out: dict[str, Json] = {"kind": "Endpoint"}
    for name in plan.numbers:
        value = values[name]
        if value:
            out[name] = value if type(value) is int else _number(value)
    for name in plan.words:
        value = values[name]
        if value:
            out[name] = value if value is True else str(value)
    for read in plan.readers:
        read(out, values, policy, key)
    for name in plan.others:
        if values[name]:
            out[name] = _plain(values[name])
    return out


def _workers_max(out: dict[str, Json], values: Values, _policy: EnvPolicy, _key: bytes) -> None:
    value = values["workersMax"]
    if value is not None:  # zero is a setting here: nothing may run
        out["workersMax"] = value if type(value) is int else _number(value)


def _gpu_ids(out: dict[str, Json], values: Values, _policy: EnvPolicy, _key: bytes) -> None:
    if values["gpuIds"]:
        out["gpuIds"] = values["gpuIds"]  # in the one order, whichever way it was set


def _allowed_cuda(out: dict[str, Json], values: Values, _policy: EnvPolicy, _key: bytes) -> None:
    if values["allowedCudaVersions"]:
        out["allowedCudaVersions"] = ",".join(sorted(set(gpus.tokens(values["allowedCudaVersions"]))))


def _instances(out: dict[str, Json], values: Values, _policy: EnvPolicy, _key: bytes) -> None:
    names = values["instanceIds"]
    if names:  # nearly always one
        out["instanceIds"] = str(names[0]) if len(names) == 1 else ",".join(sorted({str(name) for name in names}))


def _locations(out: dict[str, Json], values: Values, _policy: EnvPolicy, _key: bytes) -> None:
    if values["locations"]:
        out["locations"] = datacenters.canonical(values["locations"])


def _volumes(out: dict[str, Json], values: Values, _policy: EnvPolicy, _key: bytes) -> None:
    if values["networkVolumes"]:
        out["networkVolumes"] = [networkVolume.identity() for networkVolume in values["networkVolumes"]]
    elif values["networkVolumeId"]:
        out["networkVolumes"] = [{"id": values["networkVolumeId"]}]


def _image(out: dict[str, Json], values: Values, _policy: EnvPolicy, _key: bytes) -> None:
    """Put in where the container comes from, and how the user's own template sets it up."""
    template, image = values["template"], values["imageName"]
    if template is not None and template.id is None:
        image = image or template.imageName
        settings = template.settings()
        if settings:
            out["template"] = settings
    if image:
        out["imageName"] = image
    elif values["templateId"]:
        out["templateId"] = values["templateId"]


def _env(out: dict[str, Json], values: Values, policy: EnvPolicy, key: bytes) -> None:
    env, template = values["env"], values["template"]
    if not env and template is not None and template.id is None:
        env = template.env_map()
    if env and (fingerprint := hashing.env_fingerprint(env, policy, key)) is not None:
        out["env"] = fingerprint


_NUMBERS: Final = (
    "workersMin",
    "workersPFBTarget",
    "idleTimeout",
    "executionTimeoutMs",
    "scalerValue",
    "gpuCount",
)
_WORDS: Final = ("flashboot", "minCudaVersion", "python_version", "scalerType", "type", "flashEnvironmentId")
_READERS: Final[dict[str, _Reader]] = {
    "allowedCudaVersions": _allowed_cuda,
    "env": _env,
    "gpuIds": _gpu_ids,
    "imageName": _image,
    "instanceIds": _instances,
    "locations": _locations,
    "networkVolumes": _volumes,
    "workersMax": _workers_max,
}


def prepare(cls: type[ServerlessResource]) -> None:
    """Work out which fields of a class are hashed, unless it says so itself, and plan how to read them."""
    hidden = cls.RUNTIME_FIELDS | cls.EXCLUDED_HASH_FIELDS | endpoint_fields.IDENTITY | endpoint_fields.SPELLINGS.keys()
    given = _given(cls) or cls.model_fields.keys()
    spelt = {endpoint_fields.SPELLINGS.get(name, name) for name in given}
    hashed = spelt - hidden - endpoint_fields.of_other_family(cls.FAMILY)
    # Both spellings of a setting are named: the one that is read, and the other that is kept in step with it.
    cls._hashed_fields = frozenset(
        hashed | {name for name, meant in endpoint_fields.SPELLINGS.items() if meant in hashed}
    )
    cls._plan = FieldPlan(
        tuple(name for name in _NUMBERS if name in hashed),
        tuple(name for name in _WORDS if name in hashed),
        tuple(reader for name, reader in _READERS.items() if name in hashed),
        tuple(sorted(hashed - {*_NUMBERS, *_WORDS, *_READERS})),
    )


def _given(cls: type[ServerlessResource]) -> Iterable[str]:
    """Return an attribute of a class; without ClassVar, pydantic made it a private attribute."""
    private = cls.__private_attributes__.get("_hashed_fields")
    found: Any = private.default if private is not None else cls.__dict__.get("_hashed_fields")
    return found or ()


def _number(value: Any) -> int | float:  # noqa: ANN401
    """Return a number that was written as a text, or has a fraction."""
    found = float(value)
    return int(found) if found.is_integer() else found


def _plain(value: Any) -> Json:  # noqa: ANN401
    """Return a value of a subclass's own field as JSON."""
    if isinstance(value, Enum):
        return _plain(value.value)
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return _plain(value.model_dump(mode="json")) if hasattr(value, "model_dump") else str(value)
