"""The result of a read: found, not found, or failed.

Three types rather than a document or None, because a failed read that looks like an empty one would show an unchecked
resource as in sync, or recreate a healthy one.
"""

from __future__ import annotations

from enum import StrEnum

from holdfast.model.json import Json
from holdfast.model.record import dataclass


class ReadError(StrEnum):
    """The reason of a failed read."""

    TIMEOUT = "timeout"
    UNAUTHORISED = "unauthorised"
    THROTTLED = "throttled"
    SERVER_ERROR = "server_error"
    MALFORMED = "malformed"
    UNREACHABLE = "unreachable"
    UNSETTLED = "unsettled"
    UNCONFIRMED = "unconfirmed"
    WITHHELD = "withheld"  # the resource may exist, but its content is never readable
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Found:
    """The provider returned the document, converted to the shape of the declaration."""

    document: Json
    etag: str | None = None
    raw_digest: str | None = None
    id: str | None = None  # the provider's id, if the read used another key
    identity: str | None = None  # unique to this object; a recreated object with the same id has another one
    failed: str = ""  # the service's name for the failed state of the last operation
    version: str | None = None  # of the API that returned the document, if the provider supports several


@dataclass(frozen=True, slots=True)
class NotFound:
    """The provider answered successfully that the resource does not exist."""


@dataclass(frozen=True, slots=True)
class ReadFailure:
    """The provider could not answer, so nothing is known about the live state."""

    trouble: ReadError
    detail: str = ""
    retry_after_seconds: float | None = None


ReadResult = Found | NotFound | ReadFailure
