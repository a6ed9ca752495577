"""Remembering: what is known of a resource after a look at it; a failed read changes only what is known of failing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from holdfast.model.decision import Action, Decision
from holdfast.model.read_result import Found, ReadFailure
from holdfast.model.verdict import LASTING, Status, Verdict
from holdfast.policy import resync_schedule
from holdfast.policy.decide import ReconcileMode
from holdfast.providers.protocol import Unchanged
from holdfast.reconcile import conditions, rule_migration
from holdfast.reconcile.evaluate import Evaluation
from holdfast.reconcile.policy_evaluation import PolicyOutcome
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.reconcile.retry import RetryPolicy
from holdfast.store.state import Digest, ResourceState


@dataclass(frozen=True, slots=True)
class Memory:
    """Turns what was seen into what is kept."""

    random01: Callable[[], float]
    patience: RetryPolicy

    def next_due(self, item: ResolvedResource, now: float) -> float | None:
        """Return when to look again, by chance within the jitter; None where there is no periodic check."""
        period, jitter, shape = item.resync_seconds, item.settings.resync_jitter, item.settings.resync_jitter_shape
        return resync_schedule.next_due(now, period, jitter, self.random01(), shape) if period > 0 else None

    def after_check(self, judged: Evaluation, governed: PolicyOutcome) -> ResourceState:
        """Return the state after a check; a failed read changes only what is known about failing."""
        item, now, state = judged.prepared, judged.at, judged.before
        edited = state.declared.document != item.desired_digest
        generation = (
            state.declared.generation + 1
            if edited and state.declared.document is not None
            else state.declared.generation
        )
        outcome = conditions.ConditionOutcome(generation, judged.verdict, governed.decision, now, governed.inputs)
        schedule, observed, applied = self._seen(judged)
        return replace(
            state,
            applied=replace(state.applied, **applied),
            declared=replace(
                state.declared,
                provider=item.declaration.provider,
                generation=generation,
                document=item.desired_digest,
                labels=item.declaration.labels,
                options=item.options,
                depends_on=item.depends_on,
                source=str(item.declaration.location) or None,
            ),
            schedule=replace(
                state.schedule,
                resync_seconds=item.resync_seconds,
                checked_at=now,
                terminal=_terminal(judged, governed.decision),
                handled=state.schedule.requested,
                **schedule,
            ),
            observed=replace(
                state.observed,
                status=judged.verdict.status,
                missing_checks=state.observed.missing_checks + 1
                if {state.observed.status, judged.verdict.status} == {Status.MISSING}
                else 1,
                reason=judged.verdict.reason,
                suppressed=tuple((each.because.value, each.path, each.note) for each in judged.verdict.suppressed),
                conditions=conditions.after(state.observed.conditions, outcome),
                **observed,
            ),
        )

    def after_glance(self, judged: Evaluation) -> ResourceState:
        """Return the state after a look that found nothing new: only its times and tags move."""
        reading = judged.reading
        assert isinstance(reading, Unchanged)
        return replace(
            judged.before,
            schedule=replace(
                judged.before.schedule,
                checked_at=judged.at,
                good_at=judged.at,
                due_at=self.next_due(judged.prepared, judged.at),
                failures=0,
                handled=judged.before.schedule.requested,
            ),
            observed=replace(judged.before.observed, etag=reading.etag, raw_digest=reading.raw_digest),
        )

    def _seen(self, judged: Evaluation) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Return the fields of schedule, observation and last write that a reading changes."""
        item, now, reading, state = judged.prepared, judged.at, judged.reading, judged.before
        due_at = self.next_due(item, now)
        if isinstance(reading, ReadFailure):
            failures = state.schedule.failures + 1
            retry = now + self.patience.delay(min(failures, 20), reading.retry_after_seconds, self.random01)
            return {"failures": failures, "due_at": None if due_at is None else min(due_at, retry)}, {}, {}
        # Without tags nothing is ever taken as unchanged: what is suppressed counts again once a waiver has run out.
        always = item.settings.reconcile_mode in (ReconcileMode.PUT_ONLY, ReconcileMode.SHADOW)
        found = reading if isinstance(reading, Found) and not always and not _is_suppress(judged.verdict) else None
        observed = {
            "etag": found.etag if found else None,
            "raw_digest": found.raw_digest if found else None,
            "document": judged.observed_digest,
        }
        applied = {"rules": _rules(judged), "baseline": judged.baseline_digest or state.applied.baseline}
        return {"failures": 0, "due_at": due_at, "good_at": now}, observed, applied


def _rules(judged: Evaluation) -> Digest | None:
    """Return the rules to go by when others take over: those of the baseline, or of the last look at what has none."""
    item, state = judged.prepared, judged.before
    is_readable = item.migration is None or not item.migration.unreadable
    is_compared = isinstance(judged.reading, Found) and is_readable
    return item.rules_digest if is_compared and rule_migration.is_only_seen(item) else state.applied.rules


def _is_suppress(verdict: Verdict) -> bool:
    return any(each.because not in LASTING for each in verdict.suppressed)


def _terminal(judged: Evaluation, decision: Decision) -> str | None:
    """Say why nothing more is to be tried: a block holds until the user edits or asks for another try.

    An unknown verdict changes nothing, nor does the plan of another try: only its outcome does.
    """
    state = judged.before
    is_open = judged.prepared.is_retried and (decision.action.is_write or decision.action is Action.HOLD)
    if judged.verdict.status is Status.UNKNOWN or is_open:
        return state.schedule.terminal
    reason = decision.reasons[0]
    if decision.action is not Action.BLOCK:
        return None
    return state.schedule.terminal if reason.code == "terminal" else reason.message
