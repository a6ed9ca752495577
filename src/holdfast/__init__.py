"""Holdfast tells the truth about declared resources versus the live world, and puts the world back when it should."""

from holdfast.compare.canonical import canonical_bytes, canonical_spec_hash
from holdfast.compare.fingerprint import (
    composite,
    configmap_data_hash,
    configmap_references,
    resource_fingerprint,
)
from holdfast.compare.jsontext import loads
from holdfast.compare.schemes import StampedHash
from holdfast.errors import HoldfastError

__version__ = "0.1.0"

__all__ = [
    "HoldfastError",
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
