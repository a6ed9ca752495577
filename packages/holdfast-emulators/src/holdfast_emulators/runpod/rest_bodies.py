"""The bodies that REST v2 accepts: checked field by field, and written as the platform keeps them.

PATCH changes the given fields and nothing else, with the exceptions of the real API: pools without excluded cards clear
those, and a given env replaces the whole map.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast.model.json import Json
from holdfast_emulators.runpod import respelling, rest_views
from holdfast_emulators.runpod.objects import Account, Endpoint, RefusedError
from holdfast_emulators.runpod.service import World

_CONTAINER: Final[Mapping[str, tuple[str, type]]] = {
    "image": ("imageName", str),
    "args": ("dockerArgs", str),
    "disk": ("containerDiskInGb", int),
    "ports": ("ports", list),
    "env": ("env", dict),
    "registry": ("containerRegistryAuthId", str),
}
_ENDPOINT: Final = frozenset(
    {
        *_CONTAINER,
        "name",
        "gpu",
        "cpu",
        "workers",
        "scaling",
        "dataCenterIds",
        "networkVolumes",
        "timeout",
        "flashboot",
        "templateId",
    }
)
_TEMPLATE: Final = frozenset(
    {
        *_CONTAINER,
        "name",
        "mounts",
        "serverless",
        "public",
        "category",
        "startSsh",
        "startJupyter",
        "allowedCudaVersions",
    }
)
_FLASHBOOT: Final = ("OFF", "FLASHBOOT", "PRIORITY_FLASHBOOT")
_KINDS: Final = {shown: kept for kept, shown in rest_views.TYPES.items()}


def checked(body: Json, allowed: frozenset[str], required: tuple[str, ...] = ()) -> Mapping[str, Json]:
    """Return a body that is an object with known words only; 422 otherwise."""
    if not isinstance(body, dict):
        raise RefusedError(422, "Request validation failed.", ("body must be an object",))
    errors = [f"{name}: unknown field" for name in body if name not in allowed]
    errors += [f"{name}: required" for name in required if name not in body]
    if errors:
        raise RefusedError(422, "Request validation failed.", tuple(errors))
    return body


def new_endpoint(world: World, account: Account, body: Json) -> tuple[dict[str, Json], dict[str, Json]]:
    """Return the fields and the container settings of an endpoint to be made."""
    given = checked(body, _ENDPOINT | {"type"}, ("name", "type", "scaling"))
    if ("gpu" in given) == ("cpu" in given):
        raise RefusedError(400, "exactly one of gpu or cpu is required")
    kind = _KINDS.get(given["type"])
    if kind is None:
        raise RefusedError(422, "Request validation failed.", ("type: must be QUEUE or LOAD_BALANCER",))
    fields = {"type": kind, "workersMax": 3, "executionTimeoutMs": 300_000, **_fields(given, kind, None)}
    if "gpu" in given:
        fields |= _gpu(world, given["gpu"], None)
    else:
        fields["instanceIds"] = _cpu(world, given["cpu"])
    container = _from_template(account, given)
    if not container.get("imageName"):
        raise RefusedError(422, "Request validation failed.", ("image: required unless templateId is given",))
    return fields, container


def changed_endpoint(
    world: World, account: Account, endpoint: Endpoint, body: Json
) -> tuple[dict[str, Json], dict[str, Json]]:
    """Return the changes of a PATCH to an endpoint and to its container settings."""
    given = checked(body, _ENDPOINT)
    if endpoint.is_cpu and world.habits.breaks_cpu_patch:
        raise RefusedError(400, "gpuId(s) is required for a gpu endpoint")
    if ("gpu" in given and endpoint.is_cpu) or ("cpu" in given and not endpoint.is_cpu):
        raise RefusedError(400, "the compute family of an endpoint cannot be changed")
    fields = _fields(given, endpoint.fields["type"], endpoint)
    if "cpu" in given:
        fields["instanceIds"] = _cpu(world, given["cpu"])
    if "gpu" in given:
        fields |= _gpu(world, given["gpu"], endpoint)
    elif world.habits.drops_exclusions and not endpoint.is_cpu:
        fields["gpuIds"] = ",".join(respelling.pools_and_cards(endpoint.fields["gpuIds"])[0])
    return fields, _from_template(account, given)


def _fields(given: Mapping[str, Json], kind: str, endpoint: Endpoint | None) -> dict[str, Json]:
    """Return everything but compute and container."""
    out: dict[str, Json] = {}
    if "name" in given:
        out["name"] = _text(given["name"], "name")
    if "timeout" in given:
        out["executionTimeoutMs"] = _whole(given["timeout"], "timeout", 0)
    if "dataCenterIds" in given:
        out["locations"] = respelling.locations(_texts(given["dataCenterIds"], "dataCenterIds"))
    if "networkVolumes" in given:
        out["networkVolumeIds"] = _texts(given["networkVolumes"], "networkVolumes")
    if "flashboot" in given:
        if given["flashboot"] not in _FLASHBOOT:
            raise RefusedError(422, "Request validation failed.", (f"flashboot: one of {', '.join(_FLASHBOOT)}",))
        out["flashBootType"] = given["flashboot"]
    if "scaling" in given:
        out |= _scaling(given["scaling"], kind)
    scaler = out.get("scalerType") or (endpoint.fields["scalerType"] if endpoint is not None else "QUEUE_DELAY")
    return out | _workers(given.get("workers", {}), kind, scaler)


def _workers(given: Json, kind: str, scaler: str) -> dict[str, Json]:
    checked(given, frozenset({"min", "max", "idleTimeout"}))
    if "idleTimeout" in given and rest_views.has_no_idle_timeout(kind, scaler):
        raise RefusedError(400, "workers.idleTimeout does not apply to queue endpoints scaling on requestCount")
    names = {"min": ("workersMin", 0), "max": ("workersMax", 0), "idleTimeout": ("idleTimeout", 1)}
    return {names[word][0]: _whole(value, f"workers.{word}", names[word][1]) for word, value in given.items()}


def _scaling(given: Json, kind: str) -> dict[str, Json]:
    checked(given, frozenset({"type", "queueDelay", "requestCount"}), ("type",))
    word = {"QUEUE_DELAY": "queueDelay", "REQUEST_COUNT": "requestCount"}.get(given["type"])
    if word is None or word not in given or len(given) != 2:
        raise RefusedError(422, "Request validation failed.", ("scaling: does not match its type",))
    if kind == "LB" and given["type"] != "REQUEST_COUNT":
        raise RefusedError(400, "LOAD_BALANCER endpoints require REQUEST_COUNT scaling")
    value = given[word]
    if word == "queueDelay" and isinstance(value, float) and value >= 0.5:
        return {"scalerType": given["type"], "scalerValue": value}
    return {"scalerType": given["type"], "scalerValue": _whole(value, f"scaling.{word}", 1)}


def _gpu(world: World, given: Json, endpoint: Endpoint | None) -> dict[str, Json]:
    words = frozenset({"pools", "excludedTypes", "count", "allowedCudaVersions", "minCudaVersion"})
    checked(given, words, () if endpoint is not None else ("pools",))
    out: dict[str, Json] = {}
    if "excludedTypes" in given and "pools" not in given:
        raise RefusedError(400, "gpu.excludedTypes requires gpu.pools")
    if "pools" in given:
        out["gpuIds"] = _selection(world, given)
    if "count" in given:
        out["gpuCount"] = _whole(given["count"], "gpu.count", 1)
    if given.get("allowedCudaVersions") and given.get("minCudaVersion"):
        raise RefusedError(400, "allowedCudaVersions and minCudaVersion are mutually exclusive")
    for word in ("allowedCudaVersions", "minCudaVersion"):
        if given.get(word) is not None:
            out[word] = respelling.versions(given[word])
    return out


def _selection(world: World, given: Mapping[str, Json]) -> str:
    pools = _texts(given["pools"], "gpu.pools")
    if not pools:
        raise RefusedError(422, "Request validation failed.", ("gpu.pools: at least one",))
    cards = [card.strip() for card in _texts(given.get("excludedTypes", []), "gpu.excludedTypes")]
    offered = {card for pool in pools for card in world.catalogue.pools.get(pool, ())}
    strange = [card for card in cards if card not in offered]
    if strange:
        raise RefusedError(400, f"{strange[0]} is not a GPU type in one of the pools")
    return respelling.gpu_ids(",".join([*pools, *(f"-{card}" for card in cards)]), world.catalogue)


def _cpu(world: World, given: Json) -> list[str] | None:
    if not isinstance(given, list) or not given:
        raise RefusedError(422, "Request validation failed.", ("cpu: at least one",))
    names = []
    for item in given:
        checked(item, frozenset({"id", "vcpuCount", "memory"}), ("id", "vcpuCount"))
        vcpus = _whole(item["vcpuCount"], "cpu.vcpuCount", 2)
        if vcpus & (vcpus - 1):
            raise RefusedError(422, "Request validation failed.", ("cpu.vcpuCount: must be a power of two",))
        names.append(f"{item['id']}-{vcpus}-{vcpus * world.catalogue.flavours.get(item['id'], 0)}")
    return respelling.instances(names, world.catalogue)


def _from_template(account: Account, given: Mapping[str, Json]) -> dict[str, Json]:
    """Return container settings: a template's, read once, under what the body says itself."""
    own = container(given)
    if "templateId" not in given:
        return own
    template = account.templates.get(given["templateId"])
    if template is None:
        raise RefusedError(404, "template not found")
    if not template.fields["isServerless"]:
        raise RefusedError(422, "template is not a serverless template")
    kept = {name: template.fields[name] for name, _ in _CONTAINER.values()}
    return {**kept, **own, "env": {**kept["env"], **own.get("env", {})}}


def container(given: Mapping[str, Json]) -> dict[str, Json]:
    """Return container settings as the platform keeps them."""
    out: dict[str, Json] = {}
    for word, (name, kind) in _CONTAINER.items():
        if word not in given:
            continue
        value = given[word]
        if word == "registry" and value is None:
            out[name] = None
        elif not isinstance(value, kind) or isinstance(value, bool):
            raise RefusedError(422, "Request validation failed.", (f"{word}: wrong type",))
        else:
            out[name] = value
    if any(not isinstance(value, str) for value in out.get("env", {}).values()):
        raise RefusedError(422, "Request validation failed.", ("env: values must be strings",))
    return out


def template_fields(body: Json, *, new: bool) -> dict[str, Json]:
    """Return the fields of a template in a body."""
    given = checked(body, _TEMPLATE, ("name", "image") if new else ())
    names = {"serverless": "isServerless", "public": "isPublic"}
    rest = {word: value for word, value in given.items() if word not in _CONTAINER}
    start = {"isServerless": False} if new else {}
    return {**start, **container(given), **{names.get(word, word): value for word, value in rest.items()}}


def _text(value: Json, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise RefusedError(422, "Request validation failed.", (f"{where}: a text is needed",))
    return value


def _texts(value: Json, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise RefusedError(422, "Request validation failed.", (f"{where}: a list of texts is needed",))
    return list(dict.fromkeys(value))


def _whole(value: Json, where: str, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise RefusedError(422, "Request validation failed.", (f"{where}: a whole number from {least} is needed",))
    return value
