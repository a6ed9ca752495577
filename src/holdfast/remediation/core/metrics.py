"""Did the numbers get better: a score from range-query samples around the remediation.

Each metric is one series, before against after, as the median of a window: a single sample is noise, and the first of
one series says nothing about the last of another. Samples that are not finite numbers do not exist.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Final

from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.remediation.core import scoring
from holdfast.remediation.core.scoring import Measurement

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
    return scoring.clamped(better / abs(before)) or 0.0


def assess(found: Sequence[MetricChange | Skipped]) -> Measurement:
    """Score the plain mean of the metrics that say something; with none there is no answer yet."""
    usable = [
        item
        for item in found
        if isinstance(item, MetricChange) and math.isfinite(item.before) and math.isfinite(item.after)
    ]
    if not usable:
        why = "; ".join(f"{item.name}: {item.why}" for item in found if isinstance(item, Skipped))
        return scoring.unanswered(why or "no metrics to compare")
    scores = [improvement(change) for change in usable]
    mean = min(sum(scores) / len(scores), 1.0)
    improved = sum(score > 0 for score in scores)
    details = f"{improved} of {len(scores)} metrics improved, average score {mean:.2f}"
    return scoring.scored(mean, details, {"metric_deltas": _deltas(usable)})


def _deltas(usable: Sequence[MetricChange]) -> dict[str, Json]:
    out: dict[str, Json] = {}
    for change in usable:
        out[f"{change.name}_before"] = change.before
        out[f"{change.name}_after"] = change.after
    return out


FINEST_STEP: Final = 15.0  # seconds
MOST_POINTS: Final = 10_000  # Prometheus refuses more than 11,000


@dataclass(frozen=True, slots=True)
class Query:
    """One metric: its name in the audit event, its expression, and which way is up."""

    name: str
    expression: str
    lower_is_better: bool = True


@dataclass(frozen=True, slots=True)
class Range:
    """A range query, in whole seconds."""

    start: float
    end: float
    step: float


def time_range(remediated_at: float, now: float, lookback: float = 1800.0, finest: float | None = None) -> Range:
    """Return the range around a remediation, as fine as wanted and as Prometheus will answer however long it is."""
    start = float(int(remediated_at - lookback))
    end = float(max(int(now), int(start) + 1))
    step = FINEST_STEP if finest is None else finest
    return Range(start, end, max(step, float(-int(-(end - start) // MOST_POINTS))))


def for_workload(target: Mapping[str, str]) -> tuple[Query, ...]:
    """Return the five questions about something that runs in pods and serves requests."""
    where = selector(target)
    bad = matchers(target)
    errors = "{" + ",".join((*bad, 'code=~"5.."')) + "}"
    requests = f"sum(rate(http_requests_total{where}[5m]))"
    buckets = f"sum by (le) (rate(http_request_duration_seconds_bucket{where}[5m]))"
    return (
        Query("cpu", f"sum(rate(container_cpu_usage_seconds_total{where}[5m]))"),
        Query("memory", f"sum(container_memory_working_set_bytes{where})"),
        Query("latency_p95_ms", f"1000 * histogram_quantile(0.95, {buckets})"),
        Query("error_rate", f"sum(rate(http_requests_total{errors}[5m])) / {requests}"),
        Query("throughput_rps", requests, lower_is_better=False),
    )


def for_node(name: str) -> tuple[Query, ...]:
    """Return the questions about a node."""
    conditions = (
        ("node_not_ready", "Ready", "false"),
        ("node_memory_pressure", "MemoryPressure", "true"),
        ("node_disk_pressure", "DiskPressure", "true"),
    )
    return tuple(
        Query(
            metric,
            "max(kube_node_status_condition" + selector({"node": name, "condition": condition, "status": status}) + ")",
        )
        for metric, condition, status in conditions
    )


def for_volume(name: str) -> tuple[Query, ...]:
    """Return the questions about a persistent volume."""
    return tuple(
        Query(
            f"pv_phase_{phase.lower()}",
            f"max(kube_persistentvolume_status_phase{selector({'persistentvolume': name, 'phase': phase})})",
        )
        for phase in ("Failed", "Pending")
    )


_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


def quoted(value: str) -> str:
    """Return a label value as a string of the query language."""
    return f'"{value.translate(_ESCAPES)}"'


def matchers(labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return one `name="value"` each, by name; labels with an empty value are left out, as they would match absence."""
    for name in labels:
        if not _NAME.fullmatch(name):
            raise InputError(f"{name[:60]!r} is not the name of a label; use letters, digits and '_'")
    return tuple(f"{name}={quoted(value)}" for name, value in sorted(labels.items()) if value)


def selector(labels: Mapping[str, str]) -> str:
    """Return the part of a query in braces."""
    return "{" + ",".join(matchers(labels)) + "}"
