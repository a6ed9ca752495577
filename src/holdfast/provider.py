"""Public names for provider authors. The tutorial is docs/providers.md.

A provider subclasses `Reader` and `Writer`, describes its kinds with `Kind`, and returns outcomes as values.
"""

from __future__ import annotations

from holdfast.compare.profile import Profile
from holdfast.errors import HoldfastError, InputError, Location
from holdfast.model.attribution import LikelyActor
from holdfast.model.confidence import Confidence
from holdfast.model.health import HealthSignal, Workload
from holdfast.model.json import Json
from holdfast.model.path import Path
from holdfast.model.read_result import Found, NotFound, ReadError, ReadFailure, ReadResult
from holdfast.model.resource import Declaration
from holdfast.model.write_result import Done, InProgress, WriteError, WriteFailure, WriteResult
from holdfast.providers.protocol import (
    Change,
    ChangeSignal,
    Connection,
    Draft,
    Hint,
    Interrupted,
    ItemFailed,
    Kind,
    Listed,
    PositionReached,
    Provider,
    Reader,
    ReadFailed,
    SupportsAccount,
    SupportsAttribution,
    SupportsDefaultConnection,
    SupportsHealth,
    SupportsIdentity,
    SupportsPlatformChanges,
    SupportsQuota,
    SupportsSignature,
    SupportsValidation,
    SupportsWatch,
    Target,
    Unchanged,
    Versions,
    WatchEvent,
    Writer,
    document_digest,
    found_or_unchanged,
)

__all__ = [
    "Change",
    "ChangeSignal",
    "Confidence",
    "Connection",
    "Declaration",
    "Done",
    "Draft",
    "Found",
    "HealthSignal",
    "Hint",
    "HoldfastError",
    "InProgress",
    "InputError",
    "Interrupted",
    "ItemFailed",
    "Json",
    "Kind",
    "LikelyActor",
    "Listed",
    "Location",
    "NotFound",
    "Path",
    "PositionReached",
    "Profile",
    "Provider",
    "ReadError",
    "ReadFailed",
    "ReadFailure",
    "ReadResult",
    "Reader",
    "SupportsAccount",
    "SupportsAttribution",
    "SupportsDefaultConnection",
    "SupportsHealth",
    "SupportsIdentity",
    "SupportsPlatformChanges",
    "SupportsQuota",
    "SupportsSignature",
    "SupportsValidation",
    "SupportsWatch",
    "Target",
    "Unchanged",
    "Versions",
    "WatchEvent",
    "Workload",
    "WriteError",
    "WriteFailure",
    "WriteResult",
    "Writer",
    "desired_document",
    "document_digest",
    "found_or_unchanged",
    "parse_profiles",
]


def desired_document(change: Change) -> Json:
    """Return the document that a change wants: the observed one, with the changed paths as declared."""
    from holdfast.providers import minimal_patch

    return minimal_patch.desired_document(change)


def parse_profiles(text: str | bytes) -> tuple[Profile, ...]:
    """Return the profiles of a YAML text; raise ProfileError with the wrong line."""
    from holdfast.compare import profiles

    return tuple(profiles.parse(text))
