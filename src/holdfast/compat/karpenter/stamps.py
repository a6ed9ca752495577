"""Foreign stamps: what the hashes of Karpenter's controllers mean, so that children they made can be bound.

A controller hashes a Go value; its type names, field names and field order count, and so do fields that we would not
look at. This writes the JSON of such a spec down as that value, by version of the hash. A field that is not known here
makes it unknown, never a guess: then no recorded content has the hash, and nothing is bound. For reading only, see
`hashstructure` for what collides.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Final

from holdfast.compare import paths
from holdfast.compat.karpenter import hashstructure
from holdfast.compat.karpenter.hash_annotations import NODEPOOL
from holdfast.errors import UnhashableError
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.record import dataclass

EC2_NODE_CLASS: Final = "karpenter.k8s.aws/ec2nodeclass-hash"

_NANOSECONDS: Final = {"h": 3_600_000_000_000, "m": 60_000_000_000, "s": 1_000_000_000, "ms": 1_000_000, "us": 1_000}
_DURATION: Final = re.compile(r"(\d+)(h|ms|us|m|s)")
_FAMILIES: Final = {
    "al2": "AL2",
    "al2023": "AL2023",
    "bottlerocket": "Bottlerocket",
    "windows2019": "Windows2019",
    "windows2022": "Windows2022",
}


@dataclass(frozen=True, slots=True)
class Hashed:
    """The input of another controller's hash: its location in a template, and additions by its own settings."""

    of: tuple[str, ...]
    ca_bundle: str | None = None  # of the controller; it is part of later hashes


def digests(key: str, hashed: Hashed) -> dict[str, Callable[[Json], str]]:
    """Return the hash functions that stamps under a key may name, by the version that stands beside the stamp."""
    return {version: _digest(shape, hashed) for version, shape in _SHAPES.get(key, {}).items()}


def _digest(shape: _Shape, hashed: Hashed) -> Callable[[Json], str]:
    def digest(content: Json) -> str:
        try:
            return hashstructure.annotation(shape(paths.resolve(content, hashed.of), hashed))
        except UnhashableError:
            return ""  # no stamp is empty

    return digest


# --- Go values --------------------------------------------------------------------------------------------------------

_Encode = Callable[[Json], Json]  # ABSENT: left out, because it is nil or zero
_Shape = Callable[[Json, Hashed], Json]
_Fields = Mapping[str, tuple[str, _Encode]]  # by the name in Go, in the order of the type: name in JSON, and how


def _pointer(value: Json) -> Json:
    return value


def _plain(value: Json) -> Json:
    return value or ABSENT


def _int32(value: Json) -> Json:
    return {hashstructure.INT32: value}


def _each(encode: _Encode) -> _Encode:
    def encoded(value: Json) -> Json:
        if not isinstance(value, list):
            raise UnhashableError("a list is needed", "")
        return [encode(item) for item in value]

    return encoded


def _duration(value: Json) -> Json:
    return {hashstructure.STRUCT: ["Duration", ["Duration", _nanoseconds(value)]]}


def _nillable_duration(value: Json) -> Json:
    if value == "Never":
        return ABSENT
    return {hashstructure.STRUCT: ["NillableDuration", ["Duration", _nanoseconds(value)]]}


def _nanoseconds(value: Json) -> int:
    parts = _DURATION.findall(value) if isinstance(value, str) else []
    if not parts or "".join(number + unit for number, unit in parts) != value:
        raise UnhashableError("a duration is needed", "")
    return sum(int(number) * _NANOSECONDS[unit] for number, unit in parts)


def _struct(name: str, fields: _Fields, ignored: Collection[str] = (), *, is_pointer: bool = True) -> _Encode:
    """Return a function that encodes an object as a struct. An empty one is left out unless it is a pointer."""

    def encoded(value: Json) -> Json:
        if not isinstance(value, Mapping):
            raise UnhashableError(f"an object is needed for {name}", "")
        unknown = value.keys() - {key for key, _ in fields.values()} - set(ignored)
        if unknown:
            raise UnhashableError(f"{name} has no {min(unknown)} here", "")
        given = ((field, encode(value[key])) for field, (key, encode) in fields.items() if value.get(key) is not None)
        out = [[field, item] for field, item in given if item is not ABSENT]
        return {hashstructure.STRUCT: [name, *out]} if out or is_pointer else ABSENT

    return encoded


# --- NodePool ---------------------------------------------------------------------------------------------------------

_TAINT = _struct("Taint", {"Key": ("key", _plain), "Value": ("value", _plain), "Effect": ("effect", _plain)})
_NODE_CLASS_REFERENCE = _struct(
    "NodeClassReference", {"Kind": ("kind", _plain), "Name": ("name", _plain), "Group": ("group", _plain)}
)
_NODE_CLAIM_TEMPLATE = _struct(
    "NodeClaimTemplate",
    {
        "ObjectMeta": (
            "metadata",
            _struct(
                "ObjectMeta",
                {"Labels": ("labels", _pointer), "Annotations": ("annotations", _pointer)},
                is_pointer=False,
            ),
        ),
        "Spec": (
            "spec",
            _struct(
                "NodeClaimTemplateSpec",
                {
                    "Taints": ("taints", _each(_TAINT)),
                    "StartupTaints": ("startupTaints", _each(_TAINT)),
                    "NodeClassRef": ("nodeClassRef", _NODE_CLASS_REFERENCE),
                    "TerminationGracePeriod": ("terminationGracePeriod", _duration),
                    "ExpireAfter": ("expireAfter", _nillable_duration),
                },
                ("requirements",),
                is_pointer=False,
            ),
        ),
    },
)


def _node_pool(value: Json, _hashed: Hashed) -> Json:
    return [_NODE_CLAIM_TEMPLATE(value)]


# --- EC2NodeClass -----------------------------------------------------------------------------------------------------

_BLOCK_DEVICE = _struct(
    "BlockDevice",
    {
        "DeleteOnTermination": ("deleteOnTermination", _pointer),
        "Encrypted": ("encrypted", _pointer),
        "IOPS": ("iops", _pointer),
        "KMSKeyID": ("kmsKeyID", _pointer),
        "SnapshotID": ("snapshotID", _pointer),
        "Throughput": ("throughput", _pointer),
        "VolumeSize": ("volumeSize", _pointer),
        "VolumeType": ("volumeType", _pointer),
    },
)
_BLOCK_DEVICE_MAPPING = _struct(
    "BlockDeviceMapping",
    {
        "DeviceName": ("deviceName", _pointer),
        "EBS": ("ebs", _BLOCK_DEVICE),
        "RootVolume": ("rootVolume", _plain),
    },
)
_METADATA_OPTIONS = _struct(
    "MetadataOptions",
    {
        "HTTPEndpoint": ("httpEndpoint", _pointer),
        "HTTPProtocolIPv6": ("httpProtocolIPv6", _pointer),
        "HTTPPutResponseHopLimit": ("httpPutResponseHopLimit", _pointer),
        "HTTPTokens": ("httpTokens", _pointer),
    },
)
_CONNECTION_TRACKING = _struct(
    "ConnectionTracking",
    {
        "TCPEstablishedTimeout": ("tcpEstablishedTimeout", _int32),
        "UDPStreamTimeout": ("udpStreamTimeout", _int32),
        "UDPTimeout": ("udpTimeout", _int32),
    },
)
_EC2_FIELDS: Final[_Fields] = {
    "AssociatePublicIPAddress": ("associatePublicIPAddress", _pointer),
    "UserData": ("userData", _pointer),
    "Role": ("role", _plain),
    "InstanceProfile": ("instanceProfile", _pointer),
    "Tags": ("tags", _pointer),
    "BlockDeviceMappings": ("blockDeviceMappings", _each(_BLOCK_DEVICE_MAPPING)),
    "InstanceStorePolicy": ("instanceStorePolicy", _pointer),
    "DetailedMonitoring": ("detailedMonitoring", _pointer),
    "MetadataOptions": ("metadataOptions", _METADATA_OPTIONS),
    "ConnectionTracking": ("connectionTracking", _CONNECTION_TRACKING),
    "Context": ("context", _pointer),
    "CPUOptions": (
        "cpuOptions",
        _struct("CPUOptions", {"NestedVirtualization": ("nestedVirtualization", _pointer)}),
    ),
}
_EC2_IGNORED: Final = (
    "subnetSelectorTerms",
    "securityGroupSelectorTerms",
    "capacityReservationSelectorTerms",
    "amiSelectorTerms",
    "amiFamily",
    "ipPrefixCount",
)
_EC2_SPEC = _struct("EC2NodeClassSpec", _EC2_FIELDS, _EC2_IGNORED)
_EC2_SPEC_WITH_KUBELET = _struct("EC2NodeClassSpec", _EC2_FIELDS, (*_EC2_IGNORED, "kubelet"))


def _family(spec: Json) -> str:
    """Return which family of images is meant: as said, else by alias."""
    if spec.get("amiFamily"):
        return str(spec["amiFamily"])
    terms = spec.get("amiSelectorTerms") or ()
    alias = next((str(term["alias"]) for term in terms if isinstance(term, Mapping) and term.get("alias")), "")
    return _FAMILIES.get(alias.partition("@")[0].lower(), "Custom")


def _ec2_v4(value: Json, _hashed: Hashed) -> Json:
    return [_EC2_SPEC(value), _family(value)]


def _ec2_v5(value: Json, hashed: Hashed) -> Json:
    return [*_ec2_v4(value, hashed), _ca_bundle(hashed)]


def _ec2_v6(value: Json, hashed: Hashed) -> Json:
    spec = _EC2_SPEC_WITH_KUBELET(value)
    kubelet = json.dumps(value.get("kubelet"), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return [spec, _family(value), _ca_bundle(hashed), kubelet]


def _ca_bundle(hashed: Hashed) -> str:
    if hashed.ca_bundle is None:
        raise UnhashableError("the controller's CA bundle is part of this hash, and not known here", "")
    return hashed.ca_bundle


_SHAPES: Final[Mapping[str, Mapping[str, _Shape]]] = {
    NODEPOOL: {"v3": _node_pool},
    EC2_NODE_CLASS: {"v4": _ec2_v4, "v5": _ec2_v5, "v6": _ec2_v6},
}
