"""Who may have moved a thing, how sure that is, and why it is thought: a candidate, never a verdict."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.model.confidence import Confidence


@dataclass(frozen=True, slots=True)
class LikelyActor:
    """One candidate, as the provider names it."""

    who: str
    confidence: Confidence
    why: str  # one clause: "owner of the file"
    at: float | None = None  # when they did it, in seconds since the epoch, where that is known
    paths: tuple[str, ...] = ()  # what they moved, where that is known; none: they wrote the thing
