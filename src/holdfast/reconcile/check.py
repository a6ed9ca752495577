"""One check from end to end: resolve, observe, evaluate, decide, limit, record.

It has no writers. The check of an unchanged resource ends after `observe`, and only the time of the check is recorded.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from holdfast.model.address import Address
from holdfast.model.attribution import LikelyActor
from holdfast.model.budget_charge import BudgetCharge
from holdfast.model.decision import Action, Decision, Reason
from holdfast.model.json import Json
from holdfast.model.read_result import Found, ReadResult
from holdfast.model.record import dataclass
from holdfast.model.verdict import Status, Suppressed, Verdict
from holdfast.policy.decide import CORRECTED, NOTHING_TO_DO, DecisionInputs, hold
from holdfast.providers.protocol import Reader, SupportsPlatformChanges, SupportsSignature, Unchanged
from holdfast.reconcile import evaluate, fault_isolation
from holdfast.reconcile.clock import Clock
from holdfast.reconcile.connections import Connections
from holdfast.reconcile.evaluation import Evaluation, EvaluationInput, Observation, Overrides
from holdfast.reconcile.known_secrets import Fingerprint
from holdfast.reconcile.next_state import Memory
from holdfast.reconcile.observe import LIST_FROM, Lists, Observer
from holdfast.reconcile.policy_evaluation import (
    Foreseen,
    PolicyEvaluator,
    PolicyRules,
    WriteHistory,
    paused_by,
    still_unresolved,
)
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.reconcile.retry import RetryPolicy
from holdfast.store.protocol import Store
from holdfast.store.records import AuditEvent
from holdfast.store.state import ResourceState, UnchangedCheck
from holdfast.store.transaction import Transaction

if TYPE_CHECKING:
    from holdfast.compare.rule_tree import RuleTree
    from holdfast.policy.contention_rules import Contention
    from holdfast.policy.write_reasons import WriteReason

BATCH = 500
MOVED = frozenset({Status.DRIFTED, Status.CONFLICTED})  # by another writer
_LOG = logging.getLogger("holdfast.reconcile")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """Result of one check: the evaluation, the decision and the state to store."""

    evaluation: Evaluation
    decision: Decision
    inputs: DecisionInputs | None  # None: no decision was needed
    state: ResourceState
    asked: bool = False  # a person asked for exactly this
    plan: str = ""  # the digest that an approval must name
    charges: tuple[BudgetCharge, ...] = ()  # amounts that the write takes from the budgets
    contentions: tuple[Contention, ...] = ()  # all ongoing contention
    new_contentions: tuple[Contention, ...] = ()
    likely_actors: tuple[LikelyActor, ...] = ()  # actors that may have changed it, if the provider was asked
    limit: Reason | None = None  # why a limit of the fleet holds the write, if one does

    @property
    def wanted_write(self) -> bool:
        """True if the decision was a write before the limits of the fleet applied."""
        return self.decision.action.is_write or self.limit is not None

    @property
    def address(self) -> Address:
        """The address of the resource."""
        return self.evaluation.resource.declaration.address

    @property
    def prepared(self) -> ResolvedResource:
        """The resolved resource."""
        return self.evaluation.resource

    @property
    def at(self) -> float:
        """The time of the check."""
        return self.evaluation.at

    @property
    def reading(self) -> ReadResult | Unchanged:
        """The result that the provider returned, redacted."""
        return self.evaluation.observation.reading

    @property
    def observed(self) -> Json:
        """The live document, redacted; ABSENT if nothing was found."""
        return self.evaluation.observation.document

    @property
    def tree(self) -> RuleTree | None:
        """The rules in force; None: nothing was compared."""
        return self.evaluation.tree

    @property
    def verdict(self) -> Verdict:
        """The verdict of the check."""
        return self.evaluation.verdict

    @property
    def unresolved(self) -> frozenset[str]:
        """Paths that our last write failed to revert."""
        return self.evaluation.known.unresolved

    @property
    def joined(self) -> list[Suppressed]:
        """The defaults that joined the baseline with this check."""
        return self.evaluation.joined

    @property
    def lapsed(self) -> str:
        """Waivers that have expired, as a sentence."""
        return self.evaluation.lapsed

    @property
    def is_still(self) -> bool:
        """True if nothing changed since the last check, so that nothing was compared or decided."""
        return self.evaluation.is_unchanged

    @property
    def is_fast(self) -> bool:
        """True if the check found the resource unchanged without parsing a document."""
        return isinstance(self.reading, Unchanged) and not self.reading.parsed

    def with_resource(self, item: ResolvedResource) -> CheckResult:
        """Return the same check with another resolution of its resource."""
        return replace(self, evaluation=replace(self.evaluation, resource=item))


Progress = Callable[[CheckResult], None]


class OverridesOnce:
    """The decisions of people that matter to a run, read when the first resource needs them."""

    def __init__(self, load: Callable[[], Awaitable[Overrides]]) -> None:
        self._load = load
        self.value: Overrides | None = None  # None: nothing has changed so far

    async def get(self) -> Overrides:
        """Return the decisions, and read them only once."""
        if self.value is None:
            self.value = await self._load()
        return self.value


class Checker:
    """Component that checks resolved resources and records the results."""

    def __init__(  # noqa: PLR0913, PLR0917 - everything it looks through
        self,
        store: Store,
        world: Connections,
        clock: Clock,
        random01: Callable[[], float],
        fingerprint: Fingerprint,
        patience: RetryPolicy | None = None,
        rules: PolicyRules | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._random01 = random01
        self._governor = PolicyEvaluator(store, rules or PolicyRules())
        self._looker = Observer(world, clock, random01, patience or RetryPolicy(), fingerprint)
        self._memory = Memory(random01, patience or RetryPolicy())
        self.rules = self._governor.rules
        self.now = clock.now
        self.pause = clock.sleep
        self.read = self._looker.read
        self.parsed = self._looker.parsed
        self.list_kinds = self._looker.list_kinds
        self.listed_digests = store.listed_digests
        self.count_resources = store.count_resources

    async def reader(self, connection: str) -> Reader:
        """Return the reader of a connection."""
        return await self._looker.world.reader(connection)

    async def is_mass_drift(self, checks: Sequence[CheckResult], foreseen: Foreseen) -> bool:
        """Return True if these checks are mass drift, together with the foreseen verdicts of other resources."""
        sizes = await self._store.count_resources()
        return await self._governor.mass_drift(checks, foreseen, sizes, self._clock.now()) is not None

    async def check_all(
        self,
        prepared: Sequence[ResolvedResource],
        progress: Progress | None = None,
        *,
        record: bool = True,
        fresh: bool = False,
        meet: Callable[[Sequence[CheckResult]], Awaitable[Foreseen]] | None = None,
    ) -> list[CheckResult]:
        """Check many resources, batch by batch, and return the results.

        The results of a batch are recorded in one transaction before the next batch begins. A check whose decision is a
        write is recorded last, after the limits of the fleet have been applied. With `fresh` every resource is read and
        compared, even if it has not changed. `meet` receives the results before the limits apply. It may wait for other
        groups, and it returns the foreseen verdicts that also count as drift of this run.
        """
        checks = await self._check(prepared, progress, record=record, fresh=fresh)
        return await self.hold_back(checks, await meet(checks) if meet is not None else {}, record=record)

    async def _check(
        self, prepared: Sequence[ResolvedResource], progress: Progress | None, *, record: bool, fresh: bool
    ) -> list[CheckResult]:
        checks: list[CheckResult] = []
        listed = await self._looker.lists(prepared, fresh=fresh) if len(prepared) >= LIST_FROM else {}
        overrides = self.overrides()
        for start in range(0, len(prepared), BATCH):
            batch = prepared[start : start + BATCH]
            is_known = [not fresh and evaluate.is_unchanged(item, item.state) for item in batch]
            done = await self.check_batch(batch, listed, overrides, is_known)
            if progress is not None:
                for checked in done:
                    progress(checked)
            checks += await self.record_some(done, lambda one: not one.decision.action.is_write) if record else done
        return checks

    async def check_alone(self, prepared: Sequence[ResolvedResource], overrides: OverridesOnce) -> list[CheckResult]:
        """Check one batch that is the whole run, with list calls of its own."""
        listed = await self._looker.lists(prepared, fresh=False) if len(prepared) >= LIST_FROM else {}
        is_known = [evaluate.is_unchanged(item, item.state) for item in prepared]
        return await self.check_batch(prepared, listed, overrides, is_known)

    def overrides(self) -> OverridesOnce:
        """Return the decisions of people for a run of several batches."""
        return OverridesOnce(self._governor.overrides)

    async def check_batch(
        self,
        batch: Sequence[ResolvedResource],
        listed: Lists,
        overrides: OverridesOnce,
        is_known: Sequence[bool],
    ) -> list[CheckResult]:
        """Check one batch before the limits apply; `is_known`: the last verdict holds if live state is the same."""
        readings = await self._looker.read_all(batch, listed, is_known)
        if not all(isinstance(reading, Unchanged) for reading in readings):
            await overrides.get()
        evaluations = await self._evaluate(batch, readings, is_known, overrides.value)
        past = WriteHistory() if overrides.value is None else await self._governor.past(evaluations, self._clock.now())
        return [self._decide(evaluation, overrides.value, past) for evaluation in evaluations]

    def needs_limit(self, checked: CheckResult) -> bool:
        """Return True if a budget or mass drift may hold the write, which only the whole fleet shows."""
        if not checked.decision.action.is_write:
            return False
        return bool(self.rules.corrections.budgets) or checked.verdict.status in CORRECTED

    # -- evaluate

    async def _evaluate(
        self,
        batch: Sequence[ResolvedResource],
        readings: Sequence[ReadResult | Unchanged],
        is_known: Sequence[bool],
        overrides: Overrides | None,
    ) -> list[Evaluation]:
        now = self._clock.now()
        if overrides is None:  # nothing changed
            return [
                evaluate.repeat_last(item, now, reading)
                for item, reading in zip(batch, readings, strict=True)
                if isinstance(reading, Unchanged)
            ]
        items, seen = list(batch), list[Observation]()
        newer: list[tuple[ResolvedResource, ReadResult | Unchanged] | None] = [None] * len(batch)
        for place, (item, reading) in enumerate(zip(batch, readings, strict=True)):
            older = await self._in_old_version(item, reading)
            observation = _digested(*(older or (item, reading)))
            if older is not None:
                items[place], newer[place] = older[0], (item, reading)
            elif (
                is_known[place]
                and isinstance(observation.reading, Found)
                and item.declaration.address not in overrides.acceptances  # acceptances count at every check
                and evaluate.is_unchanged(item, item.state, observation)
            ):
                tags = observation.reading
                observation = Observation(Unchanged(tags.etag, tags.raw_digest, parsed=True))
            seen.append(observation)
        wanted = {
            digest
            for item, observation in zip(items, seen, strict=True)
            for digest in evaluate.wanted_documents(item, observation)
        }
        documents = await self._store.documents(sorted(wanted)) if wanted else {}
        evidence = EvaluationInput(now, documents, overrides, self.rules.waivers)
        return [
            await self._evaluate_alone(item, observation, evidence, first)
            for item, observation, first in zip(items, seen, newer, strict=True)
        ]

    async def _in_old_version(
        self, item: ResolvedResource, reading: ReadResult | Unchanged
    ) -> tuple[ResolvedResource, Found] | None:
        """Read a resource again in the API version of its baseline, or return None if that version does not differ.

        Another version shows other fields, so every resource would seem to drift at once. If the service no longer
        supports the old version, the result is also None. Then only the declaration is left to compare with.
        """
        if evaluate.outdated(item, reading) is None:
            return None
        assert item.state is not None
        older = replace(item, version=item.state.applied.api_version)
        again = await self._looker.read(older, None)
        return (older, again) if isinstance(again, Found) else None

    async def _evaluate_alone(
        self,
        item: ResolvedResource,
        seen: Observation,
        evidence: EvaluationInput,
        first: tuple[ResolvedResource, ReadResult | Unchanged] | None,
    ) -> Evaluation:
        """Evaluate one resource. A resource whose evaluation fails is unknown and does not stop the others."""
        if isinstance(seen.reading, Unchanged):
            return evaluate.repeat_last(item, evidence.now, seen.reading)
        try:
            if isinstance(seen.reading, Found):
                evidence = await self._with_provider(item, evidence)
            if first is not None:
                evidence = replace(evidence, newer=(first[0], _digested(*first)))
            evaluation = evaluate.evaluate(item, seen, evidence)
            if evaluation.joined:
                from holdfast.reconcile import attribution  # noqa: PLC0415 - only where a default joins

                if await attribution.is_of_another(self._looker.world, evaluation):
                    evaluation = evaluate.evaluate(item, seen, replace(evidence, touched=True))
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
            seen = Observation(fault_isolation.unreadable(error, item.declaration.address))
            evaluation = evaluate.evaluate(item, seen, evidence)
        return evaluation

    async def _with_provider(self, item: ResolvedResource, evidence: EvaluationInput) -> EvaluationInput:
        """Return the evidence with the provider's functions for writer names and platform changes."""
        address = item.declaration.address
        reader = await self._looker.world.reader(address.connection)
        habits = partial(reader.platform_changes, address.kind) if isinstance(reader, SupportsPlatformChanges) else None
        is_asked = isinstance(reader, SupportsSignature) and evaluate.is_settling(item, evidence.now)
        signature = partial(reader.signature, address.kind) if is_asked else None  # type: ignore[attr-defined]
        return replace(evidence, habits=habits, signature=signature)

    # -- decide

    def _decide(self, evaluation: Evaluation, overrides: Overrides | None, past: WriteHistory) -> CheckResult:
        if evaluation.is_unchanged:
            state = self._memory.after_glance(evaluation)
            return CheckResult(evaluation=evaluation, decision=NOTHING_TO_DO, inputs=None, state=state)
        from holdfast.reconcile import decision_inputs  # noqa: PLC0415 - only where something changed

        assert overrides is not None
        evaluation = still_unresolved(evaluation, past)
        governed = self._governor.govern(evaluation, decision_inputs.inputs_of(evaluation), overrides, past)
        return CheckResult(
            evaluation=evaluation,
            decision=governed.decision,
            inputs=governed.inputs,
            state=self._memory.after_check(evaluation, governed),
            plan=governed.plan,
            contentions=governed.contentions,
            new_contentions=governed.new_contentions,
        )

    # -- limit

    async def paused(self, address: Address) -> str | None:
        """Return the author and reason of the pause of a resource, or None."""
        return paused_by(address, await self._store.pauses(), self._clock.now())

    async def stopped(self, checked: CheckResult, write_reason: WriteReason | None = None) -> str | None:
        """Return the pause or window that holds a write with this reason right before it is sent, or None."""
        write_reason = write_reason or _write_reason(checked)
        return await self._governor.stopped(checked.address, write_reason, self._clock.now())

    async def limited(self, checked: CheckResult) -> CheckResult:
        """Hold a decision that a person made, such as a deletion, if a pause, a window or a budget requires it."""
        paused = await self.paused(checked.address)
        if paused is not None:
            return replace(checked, decision=hold(checked.decision, Reason("paused", paused)))
        frozen = await self.stopped(checked)
        if frozen is not None:
            return replace(checked, decision=hold(checked.decision, Reason("frozen", frozen)))
        (only,) = await self.hold_back([checked], {}, record=False)
        return only

    async def hold_back(
        self,
        checks: list[CheckResult],
        foreseen: Mapping[Address, Verdict],
        *,
        record: bool,
        sizes: Mapping[tuple[str, str], int] | None = None,
    ) -> list[CheckResult]:
        """Hold the writes that mass drift or an empty budget stops, and record only the limited decisions."""
        if not any(checked.decision.action.is_write for checked in checks):
            return checks
        from holdfast.reconcile import conditions  # noqa: PLC0415 - only where something is to be written

        held = await self._governor.held_back(checks, foreseen, self._clock.now(), sizes)
        limited = (
            [conditions.limit(checked, allowed) for checked, allowed in zip(checks, held.allowed, strict=True)]
            if held.changed
            else checks
        )
        if not record:
            return limited
        events: list[AuditEvent] = []
        if held.mass_drift is not None and any(
            checked.limit is not None and conditions.is_news(checked) for checked in limited
        ):
            data = {"count": held.mass_drift.count, "total": held.mass_drift.total, "message": str(held.mass_drift)}
            events = [AuditEvent(self._clock.now(), "mass_drift.held", "", data)]
        return await self.record_some(limited, lambda checked: checked.wanted_write, events)

    # -- record

    async def record_some(
        self, checks: Sequence[CheckResult], chosen: Callable[[CheckResult], bool], events: Sequence[AuditEvent] = ()
    ) -> list[CheckResult]:
        """Record the chosen checks, batch by batch, and return all checks in the same order."""
        places = [place for place, checked in enumerate(checks) if chosen(checked)]
        recorded = list(checks)
        for start in range(0, len(places), BATCH):
            batch = places[start : start + BATCH]
            done = await self.record([checks[place] for place in batch], events if start == 0 else ())
            for place, checked in zip(batch, done, strict=True):
                recorded[place] = checked
        return recorded

    async def record(self, checks: Sequence[CheckResult], events: Sequence[AuditEvent] = ()) -> list[CheckResult]:
        """Record checks in one transaction and return them with the other writers of new contention."""
        contended = [self._named(checked) for checked in checks if checked.new_contentions]
        if contended:
            named = {checked.address: checked for checked in await asyncio.gather(*contended)}
            checks = [named.get(checked.address, checked) for checked in checks]
        transaction = Transaction(findings_at=self._clock.now(), events=list(events))
        for checked in checks:
            if checked.is_still:
                state, seen = checked.state, checked.state.observed
                tags = (None, None) if seen is checked.evaluation.before.observed else (seen.etag, seen.raw_digest)
                transaction.updates.unchanged.append(
                    UnchangedCheck(state.address, checked.evaluation.at, state.schedule.due_at, *tags)
                )
                continue
            from holdfast.reconcile import record  # noqa: PLC0415 - only where something changed

            record.add_check(transaction, checked, self._random01)
        await self._store.commit(transaction)
        if _LOG.isEnabledFor(logging.INFO):
            from holdfast.reconcile import decision_log  # noqa: PLC0415 - only where the log is enabled

            for checked in checks:
                decision_log.decided(checked)
        return list(checks)

    async def _named(self, checked: CheckResult) -> CheckResult:
        from holdfast.reconcile import attribution  # noqa: PLC0415 - only where something drifted

        return replace(checked, likely_actors=await attribution.other_writers(self._looker.world, checked.evaluation))

    async def attributed(self, checks: Sequence[CheckResult], most: int) -> list[CheckResult]:
        """Return the checks with their likely actors. The provider is asked about at most so many drifted resources."""
        unnamed = [checked for checked in checks if checked.verdict.status in MOVED and not checked.likely_actors]
        if not unnamed:
            return list(checks)
        from holdfast.reconcile import attribution  # noqa: PLC0415 - only where something drifted

        named = await asyncio.gather(*[self._named(checked) for checked in unnamed[:most]])
        about = {checked.address: attribution.about(checked) for checked in named}
        return [replace(checked, likely_actors=about.get(checked.address, checked.likely_actors)) for checked in checks]


def _digested(item: ResolvedResource, reading: ReadResult | Unchanged) -> Observation:
    """Return a reading with the digest of its document. A document that cannot be hashed is unreadable."""
    try:
        return evaluate.observe_digest(item, reading)
    except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
        return Observation(fault_isolation.unreadable(error, item.declaration.address))


def _write_reason(checked: CheckResult) -> WriteReason:
    """Return the reason of a write. A deletion is always intended, whatever the live state is."""
    from holdfast.policy import write_reasons  # noqa: PLC0415 - only where something is written

    is_deletion = checked.decision.action is Action.DELETE
    return write_reasons.WriteReason.INTENT if is_deletion else write_reasons.of_status(checked.verdict.status)
