"""Spelling of field names: OpenStack's are `admin_state_up`, those of declarations `adminStateUp`."""

from __future__ import annotations

import re
from functools import cache

from holdfast.model.json import Json

_HUMP = re.compile(r"(?<=[a-z0-9])([A-Z])")


@cache
def camel(name: str) -> str:
    """Return a name as declarations have it: `binding:vnic_type` is vnicType."""
    first, *rest = name.rpartition(":")[2].split("_")
    return first + "".join(part.capitalize() for part in rest)


@cache
def snake(name: str) -> str:
    """Return a name as the APIs have it."""
    return _HUMP.sub(r"_\1", name).lower()


def to_camel(value: Json) -> Json:
    """Rename the keys of all maps in a value."""
    if isinstance(value, dict):
        return {camel(key): to_camel(item) for key, item in value.items()}
    return [to_camel(item) for item in value] if isinstance(value, list) else value


def to_snake(value: Json) -> Json:
    """Rename the keys of all maps in a value, back."""
    if isinstance(value, dict):
        return {snake(key): to_snake(item) for key, item in value.items()}
    return [to_snake(item) for item in value] if isinstance(value, list) else value
