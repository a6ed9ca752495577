"""The state of a resource after a check. A failed read changes only the facts about failures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from holdfast.model.decision import Action, Decision
from holdfast.model.read_result import Found, ReadFailure
from holdfast.model.record import dataclass
from holdfast.model.verdict import LASTING, Status
from holdfast.policy import resync_schedule
from holdfast.policy.decide import ReconcileMode
from holdfast.providers.protocol import Unchanged
from holdfast.reconcile.evaluation import Evaluation
from holdfast.reconcile.policy_evaluation import PolicyOutcome
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.reconcile.retry import RetryPolicy
from holdfast.store.state import DeclaredState, Digest, ObservedState, ResourceState, ScheduleState


@dataclass(frozen=True, slots=True)
class Memory:
    """Turns an evaluation into the state to store."""

    random01: Callable[[], float]
    patience: RetryPolicy

    def next_due(self, item: ResolvedResource, now: float) -> float | None:
        """Return when to look again, by chance within the jitter; None where there is no periodic check."""
        period, jitter, shape = item.resync_seconds, item.settings.resync.jitter, item.settings.resync.jitter_shape
        return resync_schedule.next_due(now, period, jitter, self.random01(), shape) if period > 0 else None

    def after_check(self, evaluation: Evaluation, governed: PolicyOutcome) -> ResourceState:
        """Return the state after a check. A failed read changes only the facts about failures."""
        from holdfast.reconcile import conditions  # noqa: PLC0415 - only where something changed

        item, now, state, verdict = evaluation.resource, evaluation.at, evaluation.before, evaluation.verdict
        declared, applied, observed = state.declared, state.applied, state.observed
        is_edited = declared.document not in (None, item.desired_digest)
        generation = declared.generation + 1 if is_edited else declared.generation
        outcome = conditions.ConditionOutcome(generation, verdict, governed.decision, now, governed.inputs)
        document, etag, raw_digest = observed.document, observed.etag, observed.raw_digest
        reading = evaluation.observation.reading
        if not isinstance(reading, ReadFailure):
            # Without tags nothing is ever taken as unchanged: a suppressed finding counts after its waiver expires.
            tagged = reading if isinstance(reading, Found) and _is_settled(evaluation) else Found(None)
            etag, raw_digest = tagged.etag, tagged.raw_digest
            document = evaluation.observation.digest
            baseline = evaluation.known.baseline_digest or applied.baseline
            rules = _rules(evaluation, state)
            if rules != applied.rules or baseline != applied.baseline:
                applied = replace(applied, rules=rules, baseline=baseline)
        is_still_missing = observed.status is Status.MISSING and verdict.status is Status.MISSING
        return ResourceState(
            state.address,
            DeclaredState(
                item.declaration.provider,
                generation,
                item.desired_digest,
                item.declaration.labels,
                item.options,
                item.depends_on,
                str(item.declaration.location) or None,
            ),
            applied,
            ObservedState(
                document,
                observed.provider_id,
                etag,
                raw_digest,
                observed.state_hash,
                verdict.status,
                verdict.reason,
                conditions.after(observed.conditions, outcome),
                tuple(
                    (suppressed.because.value, suppressed.path, suppressed.note) for suppressed in verdict.suppressed
                ),
                observed.missing_checks + 1 if is_still_missing else 1,
            ),
            self._schedule(evaluation, state.schedule, _terminal(evaluation, state, governed.decision)),
        )

    def after_glance(self, evaluation: Evaluation) -> ResourceState:
        """Return the state after a look that found nothing new: only its times and tags move."""
        reading, item, now, before = (
            evaluation.observation.reading,
            evaluation.resource,
            evaluation.at,
            evaluation.before,
        )
        assert isinstance(reading, Unchanged)
        times, observed = before.schedule, before.observed
        if reading.etag != observed.etag or reading.raw_digest != observed.raw_digest:
            observed = replace(observed, etag=reading.etag, raw_digest=reading.raw_digest)
        schedule = ScheduleState(
            now,
            now,
            times.resync_seconds,
            self.next_due(item, now),
            0,
            times.terminal,
            times.requested,
            handled=times.requested,
        )
        return ResourceState(before.address, before.declared, before.applied, observed, schedule)

    def _schedule(self, evaluation: Evaluation, before: ScheduleState, terminal: str | None) -> ScheduleState:
        """Return the times after a check; a resource that could not be read is tried again sooner."""
        item, now, reading = evaluation.resource, evaluation.at, evaluation.observation.reading
        due_at, failures, good_at = self.next_due(item, now), 0, before.good_at
        if not isinstance(reading, ReadFailure):
            good_at = now
        else:
            failures = before.failures + 1
            retry = now + self.patience.delay(min(failures, 20), reading.retry_after_seconds, self.random01)
            due_at = None if due_at is None else min(due_at, retry)
        period, requested = item.resync_seconds, before.requested
        return ScheduleState(now, good_at, period, due_at, failures, terminal, requested, handled=requested)


def _is_settled(evaluation: Evaluation) -> bool:
    """Return True if the reading may be taken as unchanged the next time."""
    is_always_written = evaluation.resource.settings.reconcile_mode in (ReconcileMode.PUT_ONLY, ReconcileMode.SHADOW)
    return not is_always_written and all(suppressed.because in LASTING for suppressed in evaluation.verdict.suppressed)


def _rules(evaluation: Evaluation, state: ResourceState) -> Digest | None:
    """Return the rules to go by when others take over: those of the baseline, or of the last check without one."""
    item = evaluation.resource
    is_readable = item.migration is None or not item.migration.unreadable
    is_compared = isinstance(evaluation.observation.reading, Found) and is_readable
    return item.rules.digest if is_compared and item.is_only_seen else state.applied.rules


def _terminal(evaluation: Evaluation, state: ResourceState, decision: Decision) -> str | None:
    """Return the reason why no further attempt is made. A block holds until an edit or a requested retry.

    An unknown verdict changes nothing, and neither does a planned retry: only its outcome does.
    """
    is_open = evaluation.resource.is_retried and (decision.action.is_write or decision.action is Action.HOLD)
    if evaluation.verdict.status is Status.UNKNOWN or is_open:
        return state.schedule.terminal
    reason = decision.reasons[0]
    if decision.action is not Action.BLOCK:
        return None
    return state.schedule.terminal if reason.code == "terminal" else reason.message
