"""Alert score: has the alert been resolved, from the list of an Alertmanager.

An alert counts as resolved only when a named one is missing from the list of an Alertmanager whose Prometheus is alive,
because alerts of a dead Prometheus expire by themselves. A silence does not resolve an alert.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Final

from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.remediation.core import metrics, scoring
from holdfast.remediation.core.scoring import Measurement

SUPPRESSED: Final = "suppressed"


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert as listed."""

    labels: Mapping[str, str]
    state: str = "active"  # active, suppressed (silenced or inhibited) or unprocessed


@dataclass(frozen=True, slots=True)
class Signal:
    """The alert of a remediation: its name, and labels that select the instance."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AlertListing:
    """The answer of Alertmanager; None for alerts that could not be listed."""

    alerts: Sequence[Alert] | None
    is_source_alive: bool = True  # whether Prometheus, which sends the alerts, was reachable too
    live_pods: Collection[str] | None = None  # None: not known, so no alert is taken for stale


def filters(signal: Signal) -> tuple[str, ...]:
    """Return the matchers to ask Alertmanager with, each escaped."""
    return metrics.matchers({**signal.labels, "alertname": signal.name})


def assess(signal: Signal, listing: AlertListing, since_seconds: float) -> Measurement:
    """Return 0.0 while the alert fires, silenced or not, 1.0 after it was resolved, and None if unknown."""
    if not signal.name:
        return scoring.unanswered("the remediation names no alert")
    if listing.alerts is None:
        return scoring.unanswered("the alerts could not be listed")
    firing = [alert for alert in listing.alerts if _is_ours(alert, signal) and not _is_stale(alert, listing)]
    if firing:
        silenced = sum(alert.state == SUPPRESSED for alert in firing)
        text = f"{len(firing)} firing" + (f", {silenced} of them silenced" if silenced else "")
        return scoring.scored(0.0, text, {"alert_resolution": _resolution(len(firing), None)})
    if not listing.is_source_alive:
        return scoring.unanswered("no alert is listed, but the Prometheus that would send it does not answer")
    return scoring.scored(1.0, "resolved", {"alert_resolution": _resolution(0, since_seconds)})


def _is_ours(alert: Alert, signal: Signal) -> bool:
    wanted = {**signal.labels, "alertname": signal.name}
    return all(alert.labels.get(name) == value for name, value in wanted.items() if value)


def _is_stale(alert: Alert, listing: AlertListing) -> bool:
    """Return True if an alert is about a pod that no longer exists; one that names no pod always counts."""
    pod = alert.labels.get("pod")
    return bool(pod) and listing.live_pods is not None and pod not in listing.live_pods


def _resolution(firing: int, seconds: float | None) -> dict[str, Json]:
    out: dict[str, Json] = {"alert_resolved": not firing, "active_count": firing}
    return out if seconds is None else {**out, "resolution_time_seconds": seconds}
