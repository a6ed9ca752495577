"""Fingerprints of whole Kubernetes objects, alone and together with the ConfigMaps they read.

Two families. The first is the original's, byte for byte (kubernaut 1.3 and 2.0), so that stored hashes stay
comparable. The second is ours: the original joins a ConfigMap's entries by newlines, so that a value with a newline in
it can pass for a second entry; ours writes canonical JSON, which cannot be misread. Refuses to know how objects and
ConfigMaps are fetched, and has no way to hash a read that failed: a ConfigMap is content, or None when the server said
that it does not exist, and anything else raises.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import field

from holdfast.compare import canonical
from holdfast.compare.go_json import Numbers
from holdfast.errors import UnhashableError
from holdfast.model.json import Json
from holdfast.model.record import dataclass

NOT_FUNCTIONAL = frozenset({"apiVersion", "kind", "metadata", "status"})
"""Top-level fields with the identity and status of an object, not its function. Exact, case-sensitive."""

_POD_SPEC = {
    "Pod": (),
    "CronJob": ("jobTemplate", "spec", "template", "spec"),
    **dict.fromkeys(("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job"), ("template", "spec")),
}
_CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")


@dataclass(frozen=True, slots=True)
class ConfigMapData:
    """The contents of a ConfigMap."""

    data: Mapping[str, str] = field(default_factory=dict)
    binary_data: Mapping[str, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, configmap: Json, path: str = "") -> ConfigMapData:
        """Take the content out of a ConfigMap as the API returns it; `path` is where it stands, for errors."""
        if type(configmap) is not dict:
            raise UnhashableError(f"a ConfigMap must be an object, not {type(configmap).__name__}", path)
        return cls(
            _strings(configmap.get("data"), f"{path}/data"),
            {
                key: _decoded(text, f"{path}/binaryData/{key}")
                for key, text in _strings(configmap.get("binaryData"), f"{path}/binaryData").items()
            },
        )


def functional_state(obj: Json) -> dict[str, Json]:
    """Return an object without the fields that are not functional; an object that is not there has no state."""
    if not isinstance(obj, Mapping):
        raise UnhashableError(f"only an object has a fingerprint, not {type(obj).__name__}; was it read at all?", "")
    return {key: value for key, value in obj.items() if key not in NOT_FUNCTIONAL}


def resource_fingerprint(
    obj: Json,
    numbers: Numbers = "int64",
    configmaps: Mapping[str, ConfigMapData | None] | None = None,
) -> str:
    """Return the original's fingerprint of an object, with its ConfigMaps when `configmaps` is given.

    `configmaps` must then name every ConfigMap the object refers to, with None for one that does not exist; others in
    it are ignored, so the whole namespace may be passed.
    """
    fingerprint = canonical.canonical_spec_hash(functional_state(obj), numbers)
    if configmaps is None:
        return fingerprint
    return composite(
        fingerprint, {name: _content_hash(name, content) for name, content in _referenced(obj, configmaps)}
    )


def configmap_data_hash(data: Mapping[str, str], binary_data: Mapping[str, bytes]) -> str:
    """Return the original's hash of a ConfigMap's content. Two different contents can share one (see the module)."""
    lines = [f"d:{key}={data[key]}" for key in sorted(data)]
    lines += [f"b:{key}={base64.b64encode(binary_data[key]).decode()}" for key in sorted(binary_data)]
    return canonical.digest_bytes(_utf8("\n".join(lines)))


def absent_configmap_hash(name: str) -> str:
    """Return the original's stand-in for a ConfigMap that does not exist; never for one that could not be read."""
    return configmap_data_hash({"__sentinel__": f"__absent:{name}__"}, {})


def _content_hash(name: str, content: ConfigMapData | None) -> str:
    return absent_configmap_hash(name) if content is None else configmap_data_hash(content.data, content.binary_data)


def composite(fingerprint: str, configmap_hashes: Mapping[str, str]) -> str:
    """Join a fingerprint and the hashes of ConfigMaps as the original does; without any it stays as it is."""
    if not configmap_hashes:
        return fingerprint
    lines = [fingerprint, *(f"{name}:{configmap_hashes[name]}" for name in sorted(configmap_hashes))]
    return canonical.digest_bytes(_utf8("\n".join(lines)))


def configmap_references(kind: str, spec: Json) -> tuple[str, ...]:
    """Return the names of the ConfigMaps a workload's pods read, sorted; malformed parts refer to nothing.

    Secrets are left out on purpose: their rotation is no drift.
    """
    steps = _POD_SPEC.get(kind)
    if steps is None:
        return ()
    pod_spec = spec
    for step in steps:
        pod_spec = _map(pod_spec).get(step)
    return tuple(sorted(set(_names(_map(pod_spec)))))


def state_with_configmaps(workload: Json) -> Json:
    """Return the input of our own scheme: functional state and ConfigMap contents as one JSON value.

    `workload` is `{"object": ..., "configMaps": {name: ConfigMap or null}}`.
    """
    obj, contents = _workload(workload)
    state = functional_state(obj)
    return {
        "configMaps": {name: _content_json(content) for name, content in _referenced(obj, contents)},
        "object": state,
    }


def composite_of(workload: Json) -> str:
    """Return `resource_fingerprint` of a workload in the shape `state_with_configmaps` takes."""
    obj, contents = _workload(workload)
    return resource_fingerprint(obj, configmaps=contents)


def _workload(workload: Json) -> tuple[Json, dict[str, ConfigMapData | None]]:
    if not isinstance(workload, Mapping) or not isinstance(workload.get("configMaps"), Mapping):
        raise UnhashableError('a workload must be {"object": {...}, "configMaps": {...}}', "")
    contents = {
        name: None if configmap is None else ConfigMapData.of(configmap, f"/configMaps/{name}")
        for name, configmap in workload["configMaps"].items()
    }
    return workload.get("object"), contents


def _referenced(
    obj: Json, configmaps: Mapping[str, ConfigMapData | None]
) -> Iterator[tuple[str, ConfigMapData | None]]:
    kind = obj.get("kind")
    for name in configmap_references(kind if isinstance(kind, str) else "", obj.get("spec")):
        path = f"/configMaps/{name}"
        if name not in configmaps:
            raise UnhashableError("the object refers to this ConfigMap but it was not read; None means absent", path)
        content = configmaps[name]
        if content is not None and not isinstance(content, ConfigMapData):
            raise UnhashableError(f"{type(content).__name__} is no ConfigMap content; a failed read has no hash", path)
        yield name, content


def _content_json(content: ConfigMapData | None) -> Json:
    if content is None:
        return None
    encoded = {key: base64.b64encode(value).decode() for key, value in content.binary_data.items()}
    return {"binaryData": encoded, "data": dict(content.data)}


def _names(pod_spec: Mapping[str, Json]) -> Iterator[str]:
    """Find every non-empty name that a pod spec gives for a ConfigMap."""
    for volume in _maps(pod_spec.get("volumes")):
        yield from _name(volume.get("configMap"))
        for source in _maps(_map(volume.get("projected")).get("sources")):
            yield from _name(source.get("configMap"))
    for containers in _CONTAINER_LISTS:
        for container in _maps(pod_spec.get(containers)):
            for source in _maps(container.get("envFrom")):
                yield from _name(source.get("configMapRef"))
            for variable in _maps(container.get("env")):
                yield from _name(_map(variable.get("valueFrom")).get("configMapKeyRef"))


def _name(reference: Json) -> Iterator[str]:
    name = _map(reference).get("name")
    if isinstance(name, str) and name:
        yield name


def _map(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _maps(value: Json) -> Iterator[Mapping[str, Json]]:
    return (item for item in value if isinstance(item, Mapping)) if isinstance(value, list | tuple) else iter(())


def _strings(value: Json, path: str) -> dict[str, str]:
    entries = {} if value is None else value
    if type(entries) is not dict or not all(type(item) is str for pair in entries.items() for item in pair):
        raise UnhashableError("must be an object of strings", path)
    return entries


def _decoded(text: str, path: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise UnhashableError("must be base64", path) from None


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise UnhashableError("a ConfigMap's name, key or value holds a lone surrogate", "") from None
