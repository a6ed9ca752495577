"""The result of a write: done, in progress, or one of five kinds of failure.

Values, not exceptions, because each kind has its own next step and one place in the engine handles them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from holdfast.model.json import Json
from holdfast.model.record import dataclass


@dataclass(frozen=True, slots=True)
class Done:
    """The write succeeded; `id` is the provider's id, `document` its answer, if any."""

    id: str
    document: Json = None
    etag: str | None = None


@dataclass(frozen=True, slots=True)
class InProgress:
    """The write was accepted and continues; any process can poll it with `token`."""

    id: str | None
    token: Mapping[str, Json] = field(default_factory=dict)
    poll_after_seconds: float = 1.0


class WriteError(StrEnum):
    """The five kinds of failure."""

    RETRYABLE = "retryable"  # retry with backoff
    THROTTLED = "throttled"  # the whole connection must slow down
    MOVED = "moved"  # the precondition failed: changed since the last read
    DENIED = "denied"  # token or permission, not the declaration; retried at the next check
    TERMINAL = "terminal"  # no retry before a person edits something


@dataclass(frozen=True, slots=True)
class WriteFailure:
    """The write failed; `is_unsure` if the answer was lost or does not tell."""

    refusal: WriteError
    message: str
    retry_after_seconds: float | None = None
    is_unsure: bool = False  # the write may have happened: check before repeating a create


WriteResult = Done | InProgress | WriteFailure
