"""One number for a remediation: the weighted mean of what was measured, and a flat zero for what did not hold.

A component without a score gives its weight to the others, so that a missing Prometheus does not look like a failure.
Nothing measured is None, never 0.0: not knowing is not failing.
"""

from __future__ import annotations

from typing import Final

from holdfast.remediation.core import measurements
from holdfast.remediation.core.end_reasons import Reason

HEALTH_WEIGHT: Final = 0.40
ALERTS_WEIGHT: Final = 0.35
METRICS_WEIGHT: Final = 0.25


def weighted(health: float | None, alerts: float | None, metrics: float | None) -> float | None:
    """Return the mean of the scores that are there, by weight; None if none is. Never outside of 0 to 1."""
    pairs = ((HEALTH_WEIGHT, health), (ALERTS_WEIGHT, alerts), (METRICS_WEIGHT, metrics))
    total = 0.0
    weights = 0.0
    for weight, raw in pairs:
        score = None if raw is None else measurements.clamped(raw)
        if score is not None:
            total += weight * score
            weights += weight
    return measurements.clamped(total / weights) if weights else None


def overall(reason: Reason | None, health: float | None, alerts: float | None, metrics: float | None) -> float | None:
    """Return the score of an assessment that ended for this reason, or has not ended yet.

    Spec drift is 0.0 whatever was measured: the measurements may be of the state somebody else made.
    """
    return 0.0 if reason is Reason.SPEC_DRIFT else weighted(health, alerts, metrics)
