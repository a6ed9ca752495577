"""Is the target well: a score from what a probe saw of it.

Two kinds of evidence: the pods of a workload, counted, and generic probes (HTTP, TCP, a command) that pass or fail.
Refuses to know how either was obtained.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from holdfast.model.health import Workload
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.remediation.core import scoring
from holdfast.remediation.core.scoring import Measurement


def assess(seen: Workload) -> Measurement:
    """Score a workload; the first line that applies decides."""
    if not seen.has_pods:
        return scoring.not_applicable("health not applicable for target resource kind")
    score, details = _judged(seen)
    if score is None:
        return scoring.not_applicable(details)
    return scoring.scored(score, details, {"health_checks": _checks(seen)})


def _judged(seen: Workload) -> tuple[float | None, str]:
    every = f"all {seen.total} pods ready"
    lines: tuple[tuple[bool, float | None, str], ...] = (
        (not seen.exists and not seen.is_scaled_to_zero, 0.0, "target not found, or without active pods"),
        (seen.is_scaled_to_zero, None, "target is declared to have no replicas"),
        (seen.total <= 0, 0.0, "target has 0 desired replicas"),
        (seen.is_crash_looping, 0.0, f"CrashLoopBackOff detected ({seen.restarts} restarts since remediation)"),
        (seen.ready <= 0, 0.0, f"0/{seen.total} pods ready"),
        (seen.ready < seen.total, 0.5, f"{seen.ready}/{seen.total} pods ready (partial)"),
        (seen.is_oom_killed, 0.25, f"{every}, OOMKilled detected ({seen.restarts} restarts since remediation)"),
        (seen.restarts > 0, 0.75, f"{every}, {seen.restarts} restarts since remediation"),
    )
    return next(((score, text) for applies, score, text in lines if applies), (1.0, f"{every}, no restarts"))


def _checks(seen: Workload) -> dict[str, Json]:
    return {
        "pod_running": seen.exists,
        "readiness_pass": 0 < seen.total <= seen.ready,
        "total_replicas": seen.total,
        "ready_replicas": seen.ready,
        "restart_delta": seen.restarts,
        "crash_loops": seen.is_crash_looping,
        "oom_killed": seen.is_oom_killed,
        "pending_count": seen.pending,
    }


class ProbeAnswer(Enum):
    """The answer of a generic probe. A probe that could not run has no answer."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Probe:
    """The result of one generic probe."""

    name: str
    answer: ProbeAnswer


def assess_probes(probes: Sequence[Probe]) -> Measurement:
    """Score generic probes as pods are: all pass, some pass, none does. One that is unknown leaves all open."""
    if not probes:
        return scoring.not_applicable("no probe is declared for the target")
    unknown = [probe.name for probe in probes if probe.answer is ProbeAnswer.UNKNOWN]
    if unknown:
        return scoring.unanswered(f"could not be run: {', '.join(unknown)}")
    passed = sum(probe.answer is ProbeAnswer.PASSED for probe in probes)
    score = 1.0 if passed == len(probes) else 0.5 if passed else 0.0
    payload = {"health_checks": {probe.name: probe.answer is ProbeAnswer.PASSED for probe in probes}}
    return scoring.scored(score, f"{passed}/{len(probes)} probes passed", payload)


def together(one: Measurement, other: Measurement) -> Measurement:
    """Join two kinds of evidence: a thing is as well as its worst sign, and not known while one is missing."""
    for measurement in (one, other):
        if not measurement.is_assessed:
            return measurement
    if one.score is None or other.score is None:
        return other if one.score is None else one
    worse = min(one, other, key=lambda measurement: measurement.score or 0.0)
    return scoring.scored(worse.score or 0.0, f"{one.details}; {other.details}", {"health_checks": _joined(one, other)})


def _joined(one: Measurement, other: Measurement) -> dict[str, Json]:
    return {**one.payload.get("health_checks", {}), **other.payload.get("health_checks", {})}
