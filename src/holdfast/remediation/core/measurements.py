"""What came of measuring one component: a score, a well-founded absence of one, or no answer yet.

An answer that failed to come is not an answer of zero; keeping the two apart is what this type is for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.model.json import Json


@dataclass(frozen=True, slots=True)
class Measurement:
    """The result for one component; assessed without a score means that none applies, and no weight is lost on it."""

    is_assessed: bool
    score: float | None
    details: str
    payload: Mapping[str, Json] = field(default_factory=dict)  # what its audit event says beyond the score

    def __post_init__(self) -> None:
        if self.score is not None and not 0.0 <= self.score <= 1.0:
            raise ValueError(f"a score is a number from 0 to 1, or None; not {self.score}")
        if self.score is not None and not self.is_assessed:
            raise ValueError("what was not assessed has no score")

    @property
    def is_against(self) -> bool:
        """Whether this is evidence that the remediation did not help at all."""
        return self.score is not None and self.score <= 0.0


def scored(score: float, details: str, payload: Mapping[str, Json] | None = None) -> Measurement:
    """Return a measurement that counts."""
    return Measurement(is_assessed=True, score=score, details=details, payload=payload or {})


def not_applicable(details: str, payload: Mapping[str, Json] | None = None) -> Measurement:
    """Return a measurement that is finished and has nothing to weigh."""
    return Measurement(is_assessed=True, score=None, details=details, payload=payload or {})


def unanswered(details: str) -> Measurement:
    """Return a measurement that has to be tried again; it is neither good nor bad."""
    return Measurement(is_assessed=False, score=None, details=details)


def clamped(value: float) -> float | None:
    """Return a number as a score, or None if it is not a number; infinities are beyond either end."""
    return None if math.isnan(value) else min(max(value, 0.0), 1.0)
