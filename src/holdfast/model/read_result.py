"""What came of reading the world: found, absent, or unreadable.

Three types rather than a document or None, because a failed read that looks like an empty one is how silence gets
shown as green and how healthy resources get recreated.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from holdfast.model.json import Json


class ReadError(StrEnum):
    """Why a read yielded nothing that can be judged."""

    TIMEOUT = "timeout"
    UNAUTHORISED = "unauthorised"
    THROTTLED = "throttled"
    SERVER_ERROR = "server_error"
    MALFORMED = "malformed"
    UNREACHABLE = "unreachable"
    UNSETTLED = "unsettled"
    UNCONFIRMED = "unconfirmed"
    WITHHELD = "withheld"  # it may well be there; what it holds is shown to nobody, now or later
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Found:
    """The provider returned the document, converted to the shape of the declaration."""

    document: Json
    etag: str | None = None
    raw_digest: str | None = None
    id: str | None = None  # the provider's name for what was found, where it was asked for by something else
    identity: str | None = None  # what the thing has from birth to death, and its successor under the same id has not
    failed: str = ""  # what the service calls it that the last operation on the thing went wrong
    version: str | None = None  # of the API that the document was read in, where the provider speaks several


@dataclass(frozen=True, slots=True)
class NotFound:
    """The provider says, in a successful answer, that the thing does not exist."""


@dataclass(frozen=True, slots=True)
class ReadFailure:
    """The provider could not say; nothing may be concluded about the world."""

    trouble: ReadError
    detail: str = ""
    retry_after_seconds: float | None = None


ReadResult = Found | NotFound | ReadFailure
