"""The audit events of a remediation, with the seed's names and payload fields, as plain data.

An event's id is made of what it is about, so that the same event told twice, after a crash or by two workers, has the
same id twice. Refuses to know the envelope: the engine wraps these as CloudEvents.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from holdfast.model.json import Json
from holdfast.policy import durations
from holdfast.remediation.core import state_hash
from holdfast.remediation.core.scoring import Measurement
from holdfast.remediation.core.state import AssessmentPhase, AssessmentState, EndReason, Remediation
from holdfast.remediation.core.state_hash import StateHash
from holdfast.remediation.core.timing import Timing, Windows


class EventType(StrEnum):
    """The names of the events."""

    WORKFLOW_CREATED = "remediation.workflow_created"
    WORKFLOW_COMPLETED = "remediation.workflow_completed"
    REFUSED = "remediation.refused"
    UNDONE = "remediation.undone"
    SCHEDULED = "effectiveness.assessment.scheduled"
    HASH_COMPUTED = "effectiveness.hash.computed"
    HEALTH_ASSESSED = "effectiveness.health.assessed"
    ALERT_ASSESSED = "effectiveness.alert.assessed"
    ALERT_DECAY_DETECTED = "effectiveness.alert_decay.detected"
    METRICS_ASSESSED = "effectiveness.metrics.assessed"
    COMPLETED = "effectiveness.assessment.completed"


_COMPONENT: Final = {
    EventType.HEALTH_ASSESSED: "health",
    EventType.ALERT_ASSESSED: "alert",
    EventType.ALERT_DECAY_DETECTED: "alert",
    EventType.METRICS_ASSESSED: "metrics",
}


@dataclass(frozen=True, slots=True)
class RemediationEvent:
    """One thing that happened to a remediation."""

    type: EventType
    id: str
    at: float
    correlation_id: str
    target: str
    data: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Workflow:
    """The description of a remediation in its author's words. Fields that do not apply are empty."""

    id: str = ""
    version: str = ""
    action_type: str = ""
    signal_type: str = ""
    signal_fingerprint: str = ""


def workflow_created(
    remediation: Remediation, workflow: Workflow, at: float, *, hash_scheme: str = ""
) -> RemediationEvent:
    """Return the event of a remediation that begins, with the state of its target before the first write."""
    fields: dict[str, Json] = {
        "pre_remediation_spec_hash": remediation.pre_hash,
        "hash_scheme": hash_scheme,
        "target_resource": remediation.target,
        "workflow_id": workflow.id,
        "workflow_version": workflow.version,
        "action_type": workflow.action_type,
        "signal_type": workflow.signal_type,
        "signal_fingerprint": workflow.signal_fingerprint,
    }
    return _event(EventType.WORKFLOW_CREATED, remediation, at, {k: v for k, v in fields.items() if v})


def told(type_: EventType, remediation: Remediation, at: float, fields: Mapping[str, Json]) -> RemediationEvent:
    """Return the event of the remediation itself: its end, its refusal, or its undo.

    It may be refused more than once under one correlation id, and each refusal is an event of its own.
    """
    return _event(type_, remediation, at, fields, int(at * 1000) if type_ is EventType.REFUSED else 1)


def scheduled(remediation: Remediation, windows: Windows, timing: Timing, at: float) -> RemediationEvent:
    """Return the event with the times of the first check and of the deadline."""
    fields: dict[str, Json] = {
        "validity_deadline": _text(timing.deadline),
        "prometheus_check_after": _text(timing.check_after),
        "alertmanager_check_after": _text(timing.alert_check_after),
        "validity_window": durations.format_seconds(timing.effective_validity),
        "stabilization_window": durations.format_seconds(windows.stabilisation),
        "validity_extended": timing.is_extended,
    }
    if windows.hash_delay:
        fields["hash_compute_after"] = _text(timing.anchor)
        fields["hash_compute_delay"] = durations.format_seconds(windows.hash_delay)
    if windows.alert_delay:
        fields["alert_check_delay"] = durations.format_seconds(windows.alert_delay)
    return _event(EventType.SCHEDULED, remediation, at, fields)


def hash_computed(remediation: Remediation, baseline: StateHash, at: float) -> RemediationEvent:
    """Return the event with the state after the remediation. The same state as before means that no spec changed."""
    fields: dict[str, Json] = {"component": "hash", "assessed": True, "post_remediation_spec_hash": baseline.hash}
    if baseline.way:
        fields["hash_scheme"] = baseline.way
    if remediation.pre_hash is not None:
        fields["pre_remediation_spec_hash"] = remediation.pre_hash
    matched = state_hash.match(remediation.pre_hash, baseline.hash)
    if matched is not None:
        fields["hash_match"] = matched
    return _event(EventType.HASH_COMPUTED, remediation, at, fields)


def component(
    type_: EventType, remediation: Remediation, measured: Measurement, at: float, revision: int = 1
) -> RemediationEvent:
    """Return the event of one measured component. `revision` counts its events within one assessment."""
    fields: dict[str, Json] = {
        "component": _COMPONENT[type_],
        "assessed": measured.is_assessed and type_ is not EventType.ALERT_DECAY_DETECTED,
        "details": measured.details,
    }
    if measured.score is not None:
        fields["score"] = measured.score
    return _event(type_, remediation, at, {**fields, **measured.payload}, revision)


@dataclass(frozen=True, slots=True)
class EndedAssessment:
    """How an assessment ended."""

    reason: EndReason
    message: str
    score: float | None
    components: Sequence[str]


def completed(remediation: Remediation, ending: EndedAssessment, at: float) -> RemediationEvent:
    """Return the event of a finished assessment with its reason and score."""
    fields: dict[str, Json] = {
        "reason": ending.reason.value,
        "signal_name": remediation.signal_name,
        "components_assessed": list(ending.components),
        "completed_at": _text(at),
        "assessment_duration_seconds": max(at - remediation.begun_at, 0.0),
        "score": ending.score,
        "details": ending.message,
    }
    return _event(EventType.COMPLETED, remediation, at, fields)


def _event(
    type_: EventType, remediation: Remediation, at: float, fields: Mapping[str, Json], revision: int = 1
) -> RemediationEvent:
    again = "" if revision == 1 else f"/{revision}"
    data = {"event_type": type_.value, "correlation_id": remediation.correlation_id, **_place(remediation), **fields}
    ident = f"{remediation.correlation_id}/{type_.value}{again}"
    return RemediationEvent(type_, ident, at, remediation.correlation_id, remediation.target, data)


def _place(remediation: Remediation) -> dict[str, Json]:
    """Return the fields that say whose assessment this is; the namespace only where the target has one."""
    parts = remediation.target.split("/")
    namespace = {"namespace": parts[2]} if len(parts) == 4 else {}
    return {"ea_name": f"ea-{remediation.correlation_id}", **namespace}


def _text(at: float) -> str:
    return dt.datetime.fromtimestamp(at, dt.UTC).isoformat().replace("+00:00", "Z")


def between(old: AssessmentState, new: AssessmentState, now: float) -> tuple[RemediationEvent, ...]:
    """Return the events of one step, in the order a reader expects them."""
    return tuple(_told(old, new, now))


def _told(old: AssessmentState, new: AssessmentState, now: float) -> Iterator[RemediationEvent]:
    if new.phase is AssessmentPhase.FAILED:
        return  # without a correlation id there is nothing an event could be about
    if old.phase is AssessmentPhase.PENDING and new.phase is not AssessmentPhase.PENDING:
        yield scheduled(new.remediation, new.windows, new.timing, now)
    if old.baseline is None and new.baseline is not None:
        yield hash_computed(new.remediation, new.baseline, now)
    yield from _components(old, new, now)
    if new.reason is not None and old.reason is None:
        ending = EndedAssessment(new.reason, new.message, new.score, _assessed(new))
        yield completed(new.remediation, ending, now)


def _components(old: AssessmentState, new: AssessmentState, now: float) -> Iterator[RemediationEvent]:
    done = new.remediation
    is_told = new.measured.health_revisions > old.measured.health_revisions
    if (
        new.measured.health is not None
        and is_told
        and (new.measured.health.score is not None or new.measured.health_revisions > 1)
    ):
        yield component(EventType.HEALTH_ASSESSED, done, new.measured.health, now, new.measured.health_revisions)
    if new.measured.decay is not None and old.measured.decay is None:
        yield component(EventType.ALERT_DECAY_DETECTED, done, new.measured.decay, now)
    if new.measured.alerts is not None and old.measured.alerts is None:
        yield component(EventType.ALERT_ASSESSED, done, new.measured.alerts, now)
    if new.measured.metrics is not None and old.measured.metrics is None:
        yield component(EventType.METRICS_ASSESSED, done, new.measured.metrics, now)


def _assessed(state: AssessmentState) -> list[str]:
    found = {
        "hash": state.baseline is not None,
        "health": state.measured.health is not None,
        "alert": state.measured.alerts is not None,
        "metrics": state.measured.metrics is not None,
    }
    return [name for name, is_there in found.items() if is_there]
