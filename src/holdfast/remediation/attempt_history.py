"""Recounting: what was tried on a target and what came of it, for a person, a runbook or a language model to read."""

from __future__ import annotations

from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.notify.cloudevents import rfc3339
from holdfast.remediation import repository
from holdfast.remediation.core import past_attempts
from holdfast.remediation.core import records as plain
from holdfast.remediation.core.past_attempts import AttemptEffect, CurrentState, PastAttempt, Recurrence, StateMatch
from holdfast.remediation.core.records import RemediationRecord
from holdfast.remediation.core.scoring import Measurement
from holdfast.remediation.core.state import AssessmentState
from holdfast.remediation.core.state_hash import StateHash, StateReading
from holdfast.store.protocol import Store

RECENT_SECONDS = 86_400.0
_UNDER_WAY = "under way"


@dataclass(frozen=True, slots=True)
class AssessedAttempt:
    """One remediation, with what today's state says about it."""

    record: RemediationRecord
    past: PastAttempt
    match: StateMatch | None  # None: today's state is not known
    effect: AttemptEffect
    is_recent: bool
    led_to: str = ""  # the remediation that one which did not hold led to


@dataclass(frozen=True, slots=True)
class AttemptHistory:
    """All of it."""

    target: str
    today: StateReading
    told: tuple[AssessedAttempt, ...]  # oldest first
    is_regression: bool  # the target is back in a state that was remediated before
    declining: tuple[str, ...]
    recurring: tuple[Recurrence, ...]
    refusal: str | None = None  # why policy would not let another one begin
    unassessed: int = 0  # our own writes without an assessment


async def account(
    store: Store, target: str, today: StateReading, now: float, refusal: str | None = None
) -> AttemptHistory:
    """Return the past attempts on a target."""
    found = [kept.record async for kept in repository.every(store, target)]
    found.sort(key=lambda one: (one.started_at, one.correlation_id))
    past = [plain.precedent(item) for item in found]
    current = today.hash if isinstance(today, StateHash) else None
    told = tuple(
        AssessedAttempt(
            record,
            attempt,
            None if current is None else past_attempts.match(attempt, current),
            past_attempts.effect(attempt),
            attempt.at >= now - RECENT_SECONDS,
            follower.correlation_id if (follower := past_attempts.follow_up(attempt, past)) is not None else "",
        )
        for record, attempt in zip(found, past, strict=True)
    )
    known = {item.correlation_id for item in found}
    ours = await store.corrections([Address.parse(target)])
    matching = past_attempts.record(past, CurrentState(target, current, now)) if current is not None else None
    return AttemptHistory(
        target,
        today,
        told,
        matching is not None and matching.is_regression,
        past_attempts.declining(past),
        past_attempts.recurring(past),
        refusal,
        sum(item.id not in known for item in ours),
    )


def as_json(account: AttemptHistory) -> dict[str, Json]:
    """Return an account for programs."""
    return {
        "target": account.target,
        **_today(account.today),
        "regressionDetected": account.is_regression,
        "remediations": [told_as_json(attempt) for attempt in account.told],
        "declining": list(account.declining),
        "recurring": [
            {
                "action": recurrence.action,
                "signal": recurrence.signal,
                "times": recurrence.times,
                "mustStop": recurrence.must_stop,
            }
            for recurrence in account.recurring
        ],
        "refusal": account.refusal,
        "unassessedCorrections": account.unassessed,
    }


def _today(seen: StateReading) -> dict[str, Json]:
    if isinstance(seen, StateHash):
        return {"currentSpecHash": seen.hash}
    return {"currentSpecHash": None, "currentSpecHashMissing": seen.detail}


def told_as_json(told: AssessedAttempt) -> dict[str, Json]:
    """Return one remediation for programs."""
    return {
        **record_as_json(told.record),
        "effect": _UNDER_WAY if told.past.reason is None else told.effect.value,
        "hashMatch": None if told.match is None else told.match.value,
        "recent": told.is_recent,
        **({"ledTo": told.led_to} if told.led_to else {}),
    }


def record_as_json(record: RemediationRecord) -> dict[str, Json]:
    """Return a record for programs."""
    state = record.assessment
    out: dict[str, Json] = {
        "correlationId": record.correlation_id,
        "target": record.target,
        "source": record.source.value,
        "action": record.workflow.action_type,
        "workflow": {"id": record.workflow.id, "version": record.workflow.version},
        "signal": {"name": record.signal.name, "labels": dict(record.signal.labels)},
        "alerting": record.alerting or record.target,
        "who": record.who,
        "startedAt": rfc3339(record.started_at),
        "outcome": None if record.ending is None else record.ending.value,
        "endedAt": None if record.ended_at is None else rfc3339(record.ended_at),
        "preRemediationSpecHash": None if record.pre is None else record.pre.hash,
        **({"preRemediationSpecHashMissing": record.pre_note} if record.pre_note else {}),
        "undo": record.undo.value,
        **({"undoNote": record.undo_attempts.note} if record.undo_attempts.note else {}),
        "assessment": None if state is None else _state_as_json(state),
    }
    return out


def _state_as_json(state: AssessmentState) -> dict[str, Json]:
    return {
        "phase": state.phase.value,
        "reason": None if state.reason is None else state.reason.value,
        "score": state.score,
        "message": state.message,
        "postRemediationSpecHash": None if state.baseline is None else state.baseline.hash,
        "currentSpecHash": state.current,
        "validityDeadline": rfc3339(state.timing.deadline),
        "completedAt": None if state.completed_at is None else rfc3339(state.completed_at),
        "components": {
            "health": _component(state.measured.health, is_wanted=state.scope.health),
            "alerts": _component(state.measured.alerts, is_wanted=state.scope.alerts),
            "metrics": _component(state.measured.metrics, is_wanted=state.scope.metrics),
        },
        "conditions": [
            {
                "type": condition.type.value,
                "status": condition.status.value,
                "reason": condition.reason,
                "message": condition.message,
                "lastTransitionTime": rfc3339(condition.since),
            }
            for condition in state.conditions
        ],
    }


def _component(found: Measurement | None, *, is_wanted: bool) -> dict[str, Json]:
    if found is None:
        return {"assessed": False, "score": None, "details": "" if is_wanted else "not asked for"}
    return {"assessed": found.is_assessed, "score": found.score, "details": found.details, **found.payload}
