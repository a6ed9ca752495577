"""Remembering: what is known of a resource after a look at it; a failed read changes only what is known of failing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from holdfast.model.decision import Action, Decision
from holdfast.model.read_result import Found, ReadFailure
from holdfast.model.verdict import LASTING, Status, Verdict
from holdfast.policy import resync_schedule
from holdfast.policy.decide import ReconcileMode
from holdfast.providers.protocol import Unchanged
from holdfast.reconcile.evaluation import Evaluation
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
        period, jitter, shape = item.resync_seconds, item.settings.resync.jitter, item.settings.resync.jitter_shape
        return resync_schedule.next_due(now, period, jitter, self.random01(), shape) if period > 0 else None

    def after_check(self, evaluation: Evaluation, governed: PolicyOutcome) -> ResourceState:
        """Return the state after a check; a failed read changes only what is known about failing."""
        from holdfast.reconcile import conditions  # noqa: PLC0415 - only where something changed

        item, now, state = evaluation.resource, evaluation.at, evaluation.before
        edited = state.declared.document != item.desired_digest
        generation = (
            state.declared.generation + 1
            if edited and state.declared.document is not None
            else state.declared.generation
        )
        outcome = conditions.ConditionOutcome(generation, evaluation.verdict, governed.decision, now, governed.inputs)
        seen = self._seen(evaluation)
        return replace(
            seen,
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
                seen.schedule,
                resync_seconds=item.resync_seconds,
                checked_at=now,
                terminal=_terminal(evaluation, governed.decision),
                handled=state.schedule.requested,
            ),
            observed=replace(
                seen.observed,
                status=evaluation.verdict.status,
                missing_checks=state.observed.missing_checks + 1
                if {state.observed.status, evaluation.verdict.status} == {Status.MISSING}
                else 1,
                reason=evaluation.verdict.reason,
                suppressed=tuple((each.because.value, each.path, each.note) for each in evaluation.verdict.suppressed),
                conditions=conditions.after(state.observed.conditions, outcome),
            ),
        )

    def after_glance(self, evaluation: Evaluation) -> ResourceState:
        """Return the state after a look that found nothing new: only its times and tags move."""
        reading = evaluation.observation.reading
        assert isinstance(reading, Unchanged)
        return replace(
            evaluation.before,
            schedule=replace(
                evaluation.before.schedule,
                checked_at=evaluation.at,
                good_at=evaluation.at,
                due_at=self.next_due(evaluation.resource, evaluation.at),
                failures=0,
                handled=evaluation.before.schedule.requested,
            ),
            observed=replace(evaluation.before.observed, etag=reading.etag, raw_digest=reading.raw_digest),
        )

    def _seen(self, evaluation: Evaluation) -> ResourceState:
        """Return the state with what a reading changes: times and tags if it succeeded, the failures if not."""
        item, now, state = evaluation.resource, evaluation.at, evaluation.before
        reading = evaluation.observation.reading
        due_at = self.next_due(item, now)
        if isinstance(reading, ReadFailure):
            failures = state.schedule.failures + 1
            retry = now + self.patience.delay(min(failures, 20), reading.retry_after_seconds, self.random01)
            due_at = None if due_at is None else min(due_at, retry)
            return replace(state, schedule=replace(state.schedule, failures=failures, due_at=due_at))
        # Without tags nothing is ever taken as unchanged: what is suppressed counts again once a waiver has expired.
        always = item.settings.reconcile_mode in (ReconcileMode.PUT_ONLY, ReconcileMode.SHADOW)
        found = reading if isinstance(reading, Found) and not always and not _is_suppress(evaluation.verdict) else None
        baseline = evaluation.known.baseline_digest or state.applied.baseline
        return replace(
            state,
            schedule=replace(state.schedule, failures=0, due_at=due_at, good_at=now),
            observed=replace(
                state.observed,
                etag=found.etag if found else None,
                raw_digest=found.raw_digest if found else None,
                document=evaluation.observation.digest,
            ),
            applied=replace(state.applied, rules=_rules(evaluation), baseline=baseline),
        )


def _rules(evaluation: Evaluation) -> Digest | None:
    """Return the rules to go by when others take over: those of the baseline, or of the last look at what has none."""
    item, state = evaluation.resource, evaluation.before
    is_readable = item.migration is None or not item.migration.unreadable
    is_compared = isinstance(evaluation.observation.reading, Found) and is_readable
    return item.rules.digest if is_compared and item.is_only_seen else state.applied.rules


def _is_suppress(verdict: Verdict) -> bool:
    return any(each.because not in LASTING for each in verdict.suppressed)


def _terminal(evaluation: Evaluation, decision: Decision) -> str | None:
    """Say why nothing more is to be tried: a block holds until the user edits or asks for another try.

    An unknown verdict changes nothing, nor does the plan of another try: only its outcome does.
    """
    state = evaluation.before
    is_open = evaluation.resource.is_retried and (decision.action.is_write or decision.action is Action.HOLD)
    if evaluation.verdict.status is Status.UNKNOWN or is_open:
        return state.schedule.terminal
    reason = decision.reasons[0]
    if decision.action is not Action.BLOCK:
        return None
    return state.schedule.terminal if reason.code == "terminal" else reason.message
