"""Validation of the fields that place a resource, at the time manifests are read.

For friendly kinds the declaration alone shows if a resource can belong to its owner, so an error needs no call to
Azure. This module reads only the declaration.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Final

from holdfast.compare import paths
from holdfast.errors import InputError, Location
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.providers.azure import ids, type_catalog
from holdfast.providers.azure.type_catalog import Scope

_TYPE: Final = re.compile(r"[A-Za-z0-9.-]+(/[A-Za-z0-9.$_-]+)+")
_VERSION: Final = re.compile(r"\d{4}-\d{2}-\d{2}(-[A-Za-z0-9.]+)?")
_OWNER: Final = re.compile(r"\$\{(?P<kind>[^/}]+)/(?:[^/}]+/)?[^/}]+\.id\}")
_EXAMPLE: Final = '{type: Microsoft.Maps/accounts, apiVersion: "2023-06-01", ...}'


def require(kind: str, desired: Mapping[str, Json], type_: str | None) -> None:
    """Raise InputError with the field at the first mistake that prevents the placement of a declaration."""
    if kind != type_catalog.ANY_KIND and type_catalog.named(kind) is None and "/" not in kind:
        near = difflib.get_close_matches(kind, [type_catalog.ANY_KIND, *type_catalog.shipped()[0]], n=1)
        guess = f"did you mean {near[0]}?" if near else f"write kind: Resource, and what it is: {_EXAMPLE}"
        raise InputError(f"Azure has no kind {kind!r} here; {guess}")
    if type_ is None:
        raise InputError(f"a declaration of kind Resource needs its type: {_EXAMPLE}")
    if not _TYPE.fullmatch(type_) or "." not in type_.partition("/")[0]:
        raise _at("type", f"{type_!r} is not a resource type; write one such as Microsoft.Maps/accounts")
    _require_version(desired, type_)
    _require_owner(desired, type_)


def _require_version(desired: Mapping[str, Json], type_: str) -> None:
    said = desired.get("apiVersion")
    if said is None:
        if type_catalog.kind_of(type_.casefold()) is None:
            raise InputError(f'no API version is known for {type_}; declare one: apiVersion: "2023-01-01"')
        return
    if not isinstance(said, str) or not _VERSION.fullmatch(said):
        raise _at("apiVersion", 'a version of the API is needed, as a text in quotes: "2023-01-01"')


def _require_owner(desired: Mapping[str, Json], type_: str) -> None:
    """Check that a child names a parent of a suitable type."""
    depth = type_.count("/")
    name, owner = desired.get("azureName"), desired.get("owner")
    parts = name.count("/") + 1 if isinstance(name, str) else 1
    if depth == 1 or parts >= depth:
        return
    parent = type_.rpartition("/")[0]
    if owner is None:
        if type_catalog.habits_of(type_, type_catalog.shipped()[1]).scope is Scope.GROUP:
            raise InputError(f"a {type_} needs its parent: owner: {{kind: {_kind(parent)}, name: ...}}")
        return
    found = _OWNER.fullmatch(owner) if isinstance(owner, str) else None
    named = type_catalog.named(found["kind"]) if found is not None else None
    if named is not None and parts == 1 and not ids.same(named.type, parent):
        raise _at("owner", f"a {type_} belongs to a {parent}, and {found['kind'] if found else ''} is a {named.type}")


def _kind(type_: str) -> str:
    return type_catalog.kind_of(type_.casefold()) or type_catalog.ANY_KIND


def _at(word: str, message: str) -> InputError:
    pointer: Pointer = (word,)
    return InputError(message, Location(field=paths.format_path(pointer)))
