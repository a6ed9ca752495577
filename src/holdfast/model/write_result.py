"""What came of asking the world to change: done, under way, or one of five kinds of no.

Values, not exceptions: each kind has its own next step, and the engine has one place where they are told apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from holdfast.model.json import Json


@dataclass(frozen=True, slots=True)
class Done:
    """The change was made; `id` is the provider's name for the thing, `document` what it answered, if anything."""

    id: str
    document: Json = None
    etag: str | None = None


@dataclass(frozen=True, slots=True)
class InProgress:
    """The change was accepted and goes on; `token` is all that is needed to ask again, from any process."""

    id: str | None
    token: Mapping[str, Json] = field(default_factory=dict)
    poll_after_seconds: float = 1.0


class WriteError(StrEnum):
    """The five kinds of no."""

    RETRYABLE = "retryable"  # try again later, with growing patience
    THROTTLED = "throttled"  # the whole connection must slow down
    MOVED = "moved"  # the precondition failed: somebody changed it since we looked
    DENIED = "denied"  # token or permission: nothing is wrong with the declaration; tried again at the next turn
    TERMINAL = "terminal"  # pointless until a person edits something


@dataclass(frozen=True, slots=True)
class WriteFailure:
    """The change was not made, as far as anybody can tell; `is_unsure` where the answer was lost or says nothing."""

    refusal: WriteError
    message: str
    retry_after_seconds: float | None = None
    is_unsure: bool = False  # it may have been made all the same: what must not be made twice is looked for first


WriteResult = Done | InProgress | WriteFailure
