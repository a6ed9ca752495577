"""A declared resource: its manifest and its management policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from holdfast.errors import Location
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.record import dataclass


class ManagementPolicy(StrEnum):
    """The extent of management."""

    MANAGED = "managed"  # created, corrected, deleted
    OBSERVED = "observed"  # compared and reported, never written
    UNMANAGED = "unmanaged"  # read for references; neither compared nor written


class OnDrift(StrEnum):
    """The response to drift."""

    CORRECT = "correct"
    REPORT = "report"
    APPROVE = "approve"


class OnDelete(StrEnum):
    """The treatment of a live resource whose declaration was removed."""

    DELETE = "delete"
    DETACH = "detach"


class Origin(StrEnum):
    """How a live resource became managed; decides the response when it is missing."""

    CREATED = "created"
    IMPORTED = "imported"


@dataclass(frozen=True, slots=True)
class Import:
    """Adopt an existing resource by its id, or by a filter that must match exactly one."""

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
    type: str | None = None  # the provider's own type name, if the kind is an alias
    location: Location = field(default_factory=Location, compare=False)
    places: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)  # path of a field -> its line
