"""Attribution: likely actors behind a live change, with confidence and evidence."""

from __future__ import annotations

from holdfast.model.confidence import Confidence
from holdfast.model.record import dataclass


@dataclass(frozen=True, slots=True)
class LikelyActor:
    """One likely actor, as the provider names it."""

    who: str
    confidence: Confidence
    why: str  # one clause: "owner of the file"
    at: float | None = None  # of the change, in seconds since the epoch, if known
    paths: tuple[str, ...] = ()  # changed by this actor, if known; empty: the actor wrote the resource
