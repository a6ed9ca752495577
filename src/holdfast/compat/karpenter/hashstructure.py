"""Hashes as Karpenter computes them, for reading its controllers' stamps. Not for our own use: see the collisions.

FNV-1 with 64 bits over typed values, as in hashstructure v2 with zero values left out and slices taken as sets. A JSON
value stands for the Go value: an object for a map, a list for a slice, and `{"$struct": [name, [field, value], ...]}`
for a struct, whose type name, field names and field order all count. `{"$int32": n}` is a 32-bit integer. The caller
leaves out fields that are ignored, nil or zero, and writes a pointer to zero.

The collisions are part of the format: lists are bare exclusive-ors, so `[a, a]` equals `[]`, and regrouping is unseen.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

from holdfast.errors import UnhashableError
from holdfast.model.json import Json

STRUCT: Final = "$struct"
INT32: Final = "$int32"
ALGORITHM: Final = "fnv64"

_OFFSET: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3
_MASK: Final = (1 << 64) - 1


def digest(value: Json) -> str:
    """Return the hash as our stamps have it."""
    return f"{ALGORITHM}:{number(value):016x}"


def annotation(value: Json) -> str:
    """Return the hash as their annotations have it: in decimal."""
    return str(number(value))


def of_annotation(text: str) -> str:
    """Return a Karpenter annotation as a digest of ours."""
    if not text.isdecimal() or int(text) > _MASK:
        raise UnhashableError(f"not a 64-bit number in decimal: {text[:40]!r}", "")
    return f"{ALGORITHM}:{int(text):016x}"


def number(value: Json) -> int:
    """Hash a value, or raise UnhashableError."""
    if value is None:
        return _number(0, "<q", "")
    if isinstance(value, bool):
        return _fnv(bytes([value]))
    if isinstance(value, int):
        return _number(value, "<q", "")
    if isinstance(value, float):
        return _fnv(struct.pack("<d", value))
    if isinstance(value, str):
        return _fnv(_utf8(value))
    if isinstance(value, list):
        return _set(value)
    if isinstance(value, dict):
        return _mapping(value)
    raise UnhashableError(f"{type(value).__name__} has no form here", "")


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise UnhashableError("a lone surrogate is no text", "") from None


def _number(value: int, form: str, path: str) -> int:
    try:
        return _fnv(struct.pack(form, value))
    except struct.error:
        raise UnhashableError(f"{value} does not fit into {struct.calcsize(form) * 8} bits", path) from None


def _mapping(value: dict[str, Json]) -> int:
    if STRUCT in value:
        name, *fields = value[STRUCT]
        return _struct(name, fields)
    if INT32 in value:
        return _number(value[INT32], "<i", INT32)
    out = 0
    for key, item in value.items():
        out ^= _ordered(number(key), number(item))
    return _fnv(struct.pack("<Q", out))


def _struct(name: str, fields: Iterable[tuple[str, Json]]) -> int:
    out = number(name)
    for field, item in fields:
        out = _fnv(struct.pack("<Q", out ^ _ordered(number(field), number(item))))
    return out


def _set(items: Iterable[Json]) -> int:
    out = 0
    for item in items:
        out ^= number(item)
    return out


def _ordered(one: int, other: int) -> int:
    return _fnv(struct.pack("<QQ", one, other))


def _fnv(data: bytes) -> int:
    out = _OFFSET
    for byte in data:
        out = ((out * _PRIME) & _MASK) ^ byte
    return out
