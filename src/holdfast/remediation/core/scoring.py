"""One number for a remediation: the weighted mean of what was measured, and a flat zero for what did not hold.

A component without a score gives its weight to the others, so that a missing Prometheus does not look like a failure.
Nothing measured is None, never 0.0: not knowing is not failing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import Final

from holdfast.model.json import Json
from holdfast.model.record import dataclass


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
        """True if this is evidence that the remediation did not help at all."""
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


HEALTH_WEIGHT: Final = 0.40
ALERTS_WEIGHT: Final = 0.35
METRICS_WEIGHT: Final = 0.25


def weighted(health: float | None, alerts: float | None, metrics: float | None) -> float | None:
    """Return the mean of the scores that are there, by weight; None if none is. Never outside of 0 to 1."""
    pairs = ((HEALTH_WEIGHT, health), (ALERTS_WEIGHT, alerts), (METRICS_WEIGHT, metrics))
    total = 0.0
    weights = 0.0
    for weight, raw in pairs:
        score = None if raw is None else clamped(raw)
        if score is not None:
            total += weight * score
            weights += weight
    return clamped(total / weights) if weights else None
