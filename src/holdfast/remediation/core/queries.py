"""The questions put to Prometheus: each aggregated to one series, over labels that are escaped.

Refuses to know which labels pick out a target; the narrower they are, the less the neighbours are measured with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.remediation.core import labels

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
    """What a range query asks for, in whole seconds."""

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
    where = labels.selector(target)
    bad = labels.matchers(target)
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
            "max(kube_node_status_condition"
            + labels.selector({"node": name, "condition": condition, "status": status})
            + ")",
        )
        for metric, condition, status in conditions
    )


def for_volume(name: str) -> tuple[Query, ...]:
    """Return the questions about a persistent volume."""
    return tuple(
        Query(
            f"pv_phase_{phase.lower()}",
            f"max(kube_persistentvolume_status_phase{labels.selector({'persistentvolume': name, 'phase': phase})})",
        )
        for phase in ("Failed", "Pending")
    )
