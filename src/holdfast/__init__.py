"""Holdfast tells the truth about declared resources versus the live world, and puts the world back when it should."""

from __future__ import annotations

import importlib
import typing

from holdfast.compare.canonical import canonical_bytes, canonical_spec_hash
from holdfast.compare.go_json import loads
from holdfast.compare.hash_schemes import StampedHash
from holdfast.compat.kubernaut.fingerprint import (
    composite,
    configmap_data_hash,
    configmap_references,
    resource_fingerprint,
)
from holdfast.errors import DeployError, HoldfastError

if typing.TYPE_CHECKING:
    from holdfast.api.manager import ResourceManager
    from holdfast.api.remediations import Remediations

__version__ = "0.1.0"

__all__ = [
    "DeployError",
    "HoldfastError",
    "Remediations",
    "ResourceManager",
    "StampedHash",
    "__version__",
    "canonical_bytes",
    "canonical_spec_hash",
    "composite",
    "configmap_data_hash",
    "configmap_references",
    "loads",
    "resource_fingerprint",
]

_LATE = {  # loaded when first asked for: they bring the whole engine along
    "Remediations": "holdfast.api.remediations",
    "ResourceManager": "holdfast.api.manager",
}


def __getattr__(name: str) -> typing.Any:  # noqa: ANN401 - whatever is asked for
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(_LATE[name]), name)
    globals()[name] = found
    return found
