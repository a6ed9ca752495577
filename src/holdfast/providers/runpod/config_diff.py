"""What differs between two configurations, and what going from one to the other leads to."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.model.json import Json
from holdfast.providers.runpod.resources import endpoint_fields
from holdfast.providers.runpod.resources.endpoint_fields import Effect, Family


def changed(before: Mapping[str, Json], after: Mapping[str, Json]) -> tuple[str, ...]:
    """Name the settings that differ; lists are compared as sets."""
    names = sorted(before.keys() | after.keys())
    return tuple(name for name in names if _unordered(before.get(name)) != _unordered(after.get(name)))


def effect(before: Mapping[str, Json], after: Mapping[str, Json], one: Family, other: Family) -> Effect | None:
    """Return the gravest effect of all that differs; another compute family is another endpoint."""
    found = [endpoint_fields.effect(name) for name in changed(before, after)]
    return endpoint_fields.worst(found if one is other else [*found, Effect.REPLACE])


def _unordered(value: Json) -> Json:
    return sorted(map(repr, value)) if isinstance(value, list) else value
