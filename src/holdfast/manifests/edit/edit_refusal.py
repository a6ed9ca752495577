"""The values that are never written into a manifest, and the error for them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Final

from holdfast.compare import yaml_reader
from holdfast.compare.comparators import is_fingerprint, is_masked
from holdfast.errors import InputError
from holdfast.manifests import secrets
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.model.resource import Declaration
from holdfast.policy import references

BY_HAND: Final = "edit the manifest by hand"

_REFERENCE = re.compile(r"(?<!\$)\$\{+[^{}]*\}*")  # $${ stands for a plain ${


class Refused(InputError):  # noqa: N818 - an answer
    """A change that cannot be made to a manifest without harm, with the reason and a remedy. Nothing was written."""


class Guarded:
    """The places of a declaration that refer to something else and have no value of their own."""

    def __init__(self, declaration: Declaration) -> None:
        self._references = dict(_references(declaration.desired))
        self._secrets = {pointer for pointer, _ in secrets.find(declaration.desired)}

    def trouble(self, pointer: Pointer) -> str:
        """Return the reason why a place or its value must not change, or an empty string."""
        if any(_is_above(secret, pointer) or _is_above(pointer, secret) for secret in self._secrets):
            return "this is or holds a reference to a secret; change the secret where it is kept, or " + BY_HAND
        for place, text in self._references.items():
            if _is_above(pointer, place):
                return f"this is or holds the reference {text}; change what it refers to, or {BY_HAND}"
        return ""


def _references(document: Json) -> Iterator[tuple[Pointer, str]]:
    """Go through the strings with a reference in them, malformed or not."""
    pending: list[tuple[Pointer, Json]] = [((), document)]
    while pending:
        pointer, here = pending.pop()
        if isinstance(here, str):
            found = _REFERENCE.search(here)
            if found is not None:
                yield pointer, found[0]
        elif isinstance(here, Mapping):
            pending.extend(((*pointer, key), item) for key, item in here.items())
        elif isinstance(here, list):
            pending.extend(((*pointer, index), item) for index, item in enumerate(here))


def _is_above(one: Pointer, other: Pointer) -> bool:
    return one == other[: len(one)]


def value_trouble(value: Json) -> str:
    """Return the reason why a live value cannot be written into a manifest, or an empty string."""
    pending = [(value, 0)]
    while pending:
        here, depth = pending.pop()
        names = [key for key in here if isinstance(key, str)] if isinstance(here, dict) else []
        if isinstance(here, secrets.Secret) or any(map(is_fingerprint, (here, *names))):
            return f"the live value is a secret, and those never stand in manifests; {BY_HAND} with a secretRef"
        if isinstance(here, str) and here.strip() and is_masked(here):
            return f"the service shows a mask in place of the live value; {BY_HAND}"
        if isinstance(here, dict | list):
            pending.extend((item, depth + 1) for item in (here.values() if isinstance(here, dict) else here))
        if not _is_json(here) or depth > yaml_reader.MAX_DEPTH:
            return f"the live value is not one that a manifest can hold; {BY_HAND}"
    if any(True for _ in secrets.find(value)):
        return f"the live value would be read as a reference to a secret; {BY_HAND}"
    return ""


def _is_json(value: Json) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) for key in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int | list)


def escaped(value: Json) -> Json:
    """Return a live value such that a manifest with it means it: `${` in it is no reference."""
    if isinstance(value, str):
        return references.escape(value)
    if isinstance(value, dict):
        return {key: escaped(item) for key, item in value.items()}
    return [escaped(item) for item in value] if isinstance(value, list) else value


def meant(value: Json) -> Json:
    """Return the meaning of a value without references: the inverse of escaping."""
    if isinstance(value, str):
        return value.replace("$${", "${")
    if isinstance(value, dict):
        return {key: meant(item) for key, item in value.items()}
    return [meant(item) for item in value] if isinstance(value, list) else value
