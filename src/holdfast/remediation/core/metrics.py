"""Did the numbers get better: a score from range-query samples around the remediation.

Each metric is one series, before against after, as the median of a window: a single sample is noise, and the first of
one series says nothing about the last of another. Samples that are not finite numbers do not exist.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.model.json import Json
from holdfast.remediation.core import measurements
from holdfast.remediation.core.measurements import Measurement

WINDOW: Final = 300.0  # seconds before the remediation, and before now, that are compared


@dataclass(frozen=True, slots=True)
class Series:
    """One series of an answer: its labels, and samples as (seconds since the epoch, value)."""

    labels: Mapping[str, str]
    samples: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class MetricChange:
    """One metric before and after; both finite."""

    name: str
    before: float
    after: float
    lower_is_better: bool


@dataclass(frozen=True, slots=True)
class Skipped:
    """A metric that says nothing, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class ComparedSpan:
    """The two stretches of time that are compared: up to the remediation, and from when it had settled up to now."""

    remediated_at: float
    settled_at: float
    now: float
    window: float = WINDOW


def compare(
    name: str, answer: Sequence[Series] | None, span: ComparedSpan, *, lower_is_better: bool
) -> MetricChange | Skipped:
    """Compare the one series of an answer with itself; None for a query that failed."""
    if answer is None:
        return Skipped(name, "the query failed")
    if len(answer) != 1:
        why = "the query found no series" if not answer else f"{len(answer)} series: the query has to aggregate them"
        return Skipped(name, why)
    before = _median(answer[0], span.remediated_at - span.window, span.remediated_at)
    after = _median(answer[0], max(span.settled_at, span.now - span.window), span.now)
    if before is None or after is None:
        return Skipped(name, f"no sample {'before' if before is None else 'after'} the remediation")
    return MetricChange(name, before, after, lower_is_better)


def _median(series: Series, begin: float, end: float) -> float | None:
    values = [value for at, value in series.samples if begin <= at <= end and math.isfinite(value)]
    return statistics.median_low(values) if values else None


def improvement(change: MetricChange) -> float:
    """Return by which part of itself a metric got better, from 0 to 1; getting worse and staying the same are 0.

    From nothing there is no part: more of what should be high is 1, more of what should be low is 0.
    """
    before, after = change.before, change.after
    if before == 0:
        return 1.0 if not change.lower_is_better and after > 0 else 0.0
    better = before - after if change.lower_is_better else after - before
    return measurements.clamped(better / abs(before)) or 0.0


def assess(found: Sequence[MetricChange | Skipped]) -> Measurement:
    """Score the plain mean of the metrics that say something; with none there is no answer yet."""
    usable = [
        one for one in found if isinstance(one, MetricChange) and math.isfinite(one.before) and math.isfinite(one.after)
    ]
    if not usable:
        why = "; ".join(f"{one.name}: {one.why}" for one in found if isinstance(one, Skipped))
        return measurements.unanswered(why or "no metrics to compare")
    scores = [improvement(one) for one in usable]
    mean = min(sum(scores) / len(scores), 1.0)
    improved = sum(score > 0 for score in scores)
    details = f"{improved} of {len(scores)} metrics improved, average score {mean:.2f}"
    return measurements.scored(mean, details, {"metric_deltas": _deltas(usable)})


def _deltas(usable: Sequence[MetricChange]) -> dict[str, Json]:
    out: dict[str, Json] = {}
    for one in usable:
        out[f"{one.name}_before"] = one.before
        out[f"{one.name}_after"] = one.after
    return out
