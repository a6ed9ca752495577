"""A declared resource as the engine knows it: what the manifest says and what governs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from holdfast.errors import Location
from holdfast.model.address import Address
from holdfast.model.json import Json


class ManagementPolicy(StrEnum):
    """How far our hand reaches."""

    MANAGED = "managed"  # created, corrected, deleted
    OBSERVED = "observed"  # compared and reported, never written
    UNMANAGED = "unmanaged"  # read so that others can refer to it; neither compared nor written


class OnDrift(StrEnum):
    """What to do when changed outside Holdfast."""

    CORRECT = "correct"
    REPORT = "report"
    APPROVE = "approve"


class OnDelete(StrEnum):
    """What to do with the live thing when its declaration goes."""

    DELETE = "delete"
    DETACH = "detach"


class Origin(StrEnum):
    """How a live thing came under our care; decides what its disappearance means."""

    CREATED = "created"
    IMPORTED = "imported"


@dataclass(frozen=True, slots=True)
class Import:
    """Take over something that exists: by its id, or by a filter that must match exactly one."""

    id: str | None = None
    filter: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class Declaration:
    """One resource of a manifest; `desired` may still hold `${address.field}` references."""

    address: Address
    provider: str
    api_version: str
    desired: Mapping[str, Json]
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    policy: ManagementPolicy = ManagementPolicy.MANAGED
    options: Mapping[str, Json] = field(default_factory=dict)  # managedOptions as written
    import_from: Import | None = None
    type: str | None = None  # what the provider itself calls such a thing, where kinds are friendly names for that
    location: Location = field(default_factory=Location, compare=False)
    places: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)  # path of a field -> its line
