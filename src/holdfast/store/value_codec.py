"""Values that JSON alone cannot represent, encoded as JSON and decoded exactly.

A finding contains selectors, ABSENT and digests beside plain values. All of them must survive the store unchanged, or a
finding would look new after a restart. Independent of the backend.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import orjson

from holdfast.model.absent import ABSENT
from holdfast.model.finding import ChangedBy, Digest, Finding, FindingClass, Op
from holdfast.model.json import Json
from holdfast.model.path import Selector, Step

# An object with this key is one of ours: {"$": "absent"}, {"$": "digest", ...}, or a plain object that has the key.
_MARK = "$"
# Begins text of the standard library, which also writes NaN, integers beyond 64 bits and lone surrogates.
EXACT = b" "


def dumps(value: Json) -> bytes:
    """Return a value as JSON that `loads` turns into an equal one, types of numbers included."""
    try:
        data = orjson.dumps(value, default=_plain)
    except TypeError:
        data = b""
    # orjson writes NaN as null, so only a text without any null is certainly exact.
    if data and b"null" not in data:
        return data
    return EXACT + json.dumps(value, separators=(",", ":"), default=_plain).encode()


def loads(data: bytes) -> Json:
    """Return the value that `dumps` was given."""
    return json.loads(data) if data.startswith(EXACT) else orjson.loads(data)


def encode_finding(finding: Finding) -> list[Json]:
    """Return a finding as plain JSON."""
    return [
        [_encode_step(step) for step in finding.path],
        finding.op.value,
        finding.cls.value,
        finding.changed_by.value,
        encode_value(finding.desired),
        encode_value(finding.baseline),
        encode_value(finding.observed),
        finding.rule,
        list(finding.pointer),
    ]


def decode_finding(encoded: list[Json]) -> Finding:
    """Return the finding that `encode_finding` was given."""
    path, op, cls, changed_by, desired, baseline, observed, rule, pointer = encoded
    return Finding(
        tuple(_decode_step(step) for step in path),
        Op(op),
        FindingClass(cls),
        ChangedBy(changed_by),
        decode_value(desired),
        decode_value(baseline),
        decode_value(observed),
        rule,
        tuple(pointer),
    )


def encode_value(value: Json) -> Json:
    """Return a value as plain JSON, with ABSENT and digests as marked objects."""
    if value is ABSENT:
        return {_MARK: "absent"}
    if isinstance(value, Digest):
        return {_MARK: "digest", "text": value.text}
    if isinstance(value, Mapping):
        inner = {key: encode_value(item) for key, item in value.items()}
        return {_MARK: "object", "value": inner} if _MARK in inner else inner
    if isinstance(value, list | tuple):
        return [encode_value(item) for item in value]
    return value


def decode_value(value: Json) -> Json:
    """Return the value that `encode_value` was given."""
    if isinstance(value, list):
        return [decode_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    match value.get(_MARK):
        case "absent":
            return ABSENT
        case "digest":
            return Digest(value["text"])
        case "object":
            value = value["value"]
        case _:
            pass
    return {key: decode_value(item) for key, item in value.items()}


def _encode_step(step: Step) -> Json:
    return [list(pair) for pair in step.fields] if isinstance(step, Selector) else step


def _decode_step(step: Json) -> Step:
    if isinstance(step, str | int):
        return step
    return Selector(tuple((field, value) for field, value in step))


def _plain(value: object) -> Json:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a value of type {type(value).__name__} cannot be stored; convert it to a JSON value first")
