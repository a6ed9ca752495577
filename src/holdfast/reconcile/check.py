"""Checking: read, compare, decide, record. Written against World, which has no writers."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.attribution import LikelyActor
from holdfast.model.budget_charge import BudgetCharge
from holdfast.model.decision import Action, Decision, Reason
from holdfast.model.json import Json
from holdfast.model.read_result import Found, Reading
from holdfast.model.verdict import Status, Suppressed, SuppressionReason, Verdict
from holdfast.policy import write_reasons
from holdfast.policy.contention_rules import Contention
from holdfast.policy.decide import DecisionInputs, decide, hold
from holdfast.policy.fleet_limits import Allowed
from holdfast.policy.write_reasons import WriteReason
from holdfast.providers.protocol import Hint, Listed, Reader, SupportsPlatformChanges, SupportsSignature, Unchanged
from holdfast.reconcile import (
    api_version_migration,
    attribution,
    conditions,
    decision_inputs,
    decision_log,
    evaluate,
    fault_isolation,
    observe,
    rule_migration,
    serialize,
)
from holdfast.reconcile.clock import Clock
from holdfast.reconcile.connections import Connections
from holdfast.reconcile.evaluate import Evaluation
from holdfast.reconcile.known_secrets import Fingerprint
from holdfast.reconcile.next_state import Memory
from holdfast.reconcile.observe import Lists, Observer
from holdfast.reconcile.policy_evaluation import CONTENTION, Overrides, PolicyEvaluator, PolicyRules, WriteHistory
from holdfast.reconcile.resolved_resource import ResolvedResource, document_bytes
from holdfast.reconcile.retry import RetryPolicy
from holdfast.store.governance import Quarantine
from holdfast.store.protocol import Store
from holdfast.store.records import AuditEvent, DecisionRecord
from holdfast.store.state import Digest, ResourceState, UnchangedCheck
from holdfast.store.transaction import Transaction

BATCH = 500
MOVED = frozenset({Status.DRIFTED, Status.CONFLICTED})  # somebody did it
_NOTHING = decide(evaluate.STILL, DecisionInputs(applied=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult(Evaluation):
    """What a check brought: the truth, what to do about it, and what to remember."""

    decision: Decision
    inputs: DecisionInputs | None  # None: nothing had to be decided
    state: ResourceState
    asked: bool = False  # a person asked for exactly this
    plan: str = ""  # what an approval must name
    charges: tuple[BudgetCharge, ...] = ()  # what carrying it out takes from the budgets
    contentions: tuple[Contention, ...] = ()  # all that are under way
    new_contentions: tuple[Contention, ...] = ()
    likely_actors: tuple[LikelyActor, ...] = ()  # who may have moved it, where that was asked
    limit: Reason | None = None  # why a limit of the fleet holds it back, where one does

    @property
    def wanted_write(self) -> bool:
        """Whether something was to be written, before the limits of the fleet were asked."""
        return self.decision.action.is_write or self.limit is not None

    @property
    def address(self) -> Address:
        """Return whom it is about."""
        return self.prepared.declaration.address


Progress = Callable[[CheckResult], None]


class Checker:
    """Checks prepared resources and records what it finds."""

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
        self._governor = PolicyEvaluator(store, rules or PolicyRules())
        self._looker = Observer(world, clock, random01, patience or RetryPolicy(), fingerprint)
        self._clock = clock
        self._random01 = random01
        self._memory = Memory(random01, patience or RetryPolicy())

    def now(self) -> float:
        """Return the present, as the clock of this checker has it."""
        return self._clock.now()

    @property
    def rules(self) -> PolicyRules:
        """What the project says about correcting, and about assessing what was corrected."""
        return self._governor.rules

    def foresee(self, checks: Iterable[CheckResult]) -> None:
        """Count with these where mass drift is judged, though nothing is done about them yet."""
        self._governor.foreseen = {checked.address: checked.verdict for checked in checks}

    def foresee_also(self, checks: Iterable[CheckResult]) -> None:
        """Count with these as well."""
        self._governor.foreseen |= {checked.address: checked.verdict for checked in checks}

    @property
    def foreseen(self) -> set[Address]:
        """What is counted with already."""
        return set(self._governor.foreseen)

    async def is_mass_drift(self, checks: Sequence[CheckResult]) -> bool:
        """Tell whether these are mass drift, with everything that is known of the rest."""
        return await self._governor.is_mass_drift(checks, self._clock.now())

    async def reader(self, connection: str) -> Reader:
        """Return the reader of a connection."""
        return await self._looker.world.reader(connection)

    async def read(self, item: ResolvedResource, hint: Hint | None) -> Reading | Unchanged:
        """Read one thing, with patience for passing troubles."""
        return await self._looker.read(item, hint)

    async def parsed(self, item: ResolvedResource, entry: Listed) -> Reading | Unchanged:
        """Return a listed item as a read of it would be."""
        return await self._looker.parsed(item, entry)

    async def check_all(
        self,
        prepared: Sequence[ResolvedResource],
        progress: Progress | None = None,
        *,
        record: bool = True,
        fresh: bool = False,
        meet: Callable[[Sequence[CheckResult]], Awaitable[None]] | None = None,
    ) -> list[CheckResult]:
        """Check many, batch by batch; what a batch found is recorded in one transaction before the next begins.

        What asks for a write is recorded last, once the limits of the fleet have said what becomes of it. With `fresh`
        everything is read and compared, even what has not moved. `meet` is told what was found before the limits are
        asked, and may wait for others.
        """
        found = await self._looked(prepared, progress, record=record, fresh=fresh)
        if meet is not None:
            await meet(found)
        return await self._held_back(found, record=record)

    async def pause(self, seconds: float) -> None:
        """Wait, by the clock of this checker."""
        await self._clock.sleep(seconds)

    async def check_in_turn(
        self, turns: AsyncIterable[Sequence[ResolvedResource]], progress: Progress | None = None, *, record: bool = True
    ) -> list[CheckResult]:
        """Check several parts of a fleet, one after the other, under limits that see them as a whole."""
        found = [one async for part in turns for one in await self._looked(part, progress, record=record, fresh=False)]
        return await self._held_back(found, record=record)

    async def _looked(
        self, prepared: Sequence[ResolvedResource], progress: Progress | None, *, record: bool, fresh: bool
    ) -> list[CheckResult]:
        out: list[CheckResult] = []
        listed = await self._looker.lists(prepared, fresh=fresh)
        standing = await self._governor.standing()
        for start in range(0, len(prepared), BATCH):
            judged = await self._judge_batch(prepared[start : start + BATCH], listed, standing, fresh=fresh)
            done = await self._decide_batch(judged, standing, progress)
            out += await self._recorded(done, lambda one: not one.decision.action.is_write) if record else done
        return out

    async def _judge_batch(
        self, batch: Sequence[ResolvedResource], listed: Lists, standing: Overrides, *, fresh: bool
    ) -> list[Evaluation]:
        hints = [None if fresh else observe.own_hint(item) for item in batch]
        readings = await self._looker.read_all(batch, listed, hints)
        pairs = await api_version_migration.in_old_version(self._looker, batch, readings)
        seen: list[Digest | None] = []
        for place, (item, reading) in enumerate(pairs):
            contained, digest = evaluate.digested(item, reading)
            pairs[place] = item, contained
            seen.append(digest)
        for place, (item, reading) in enumerate(pairs):
            if hints[place] is not None and item.declaration.address not in standing.acceptances:
                pairs[place] = item, evaluate.unmoved(item, reading, seen[place])
        documents = await self._prefetch(
            item
            for (item, reading), digest in zip(pairs, seen, strict=True)
            if isinstance(reading, Found)
            and digest is not None
            and (rule_migration.is_due(item) or not evaluate.is_baseline(item, digest))
        )
        means = evaluate.EvaluationContext(documents, self._clock.now())
        return [
            evaluate.judge(*pair, digest, means)
            if isinstance(pair[1], Unchanged)
            else await self._judged_alone(pair, digest, means, (item, reading))
            for pair, digest, item, reading in zip(pairs, seen, batch, readings, strict=True)
        ]

    async def _judged_alone(
        self,
        pair: tuple[ResolvedResource, Reading | Unchanged],
        digest: Digest | None,
        means: evaluate.EvaluationContext,
        first: tuple[ResolvedResource, Reading | Unchanged],
    ) -> Evaluation:
        """Judge one; an object that nobody can deal with is unknown, and stops no other."""
        try:
            return api_version_migration.carried_over(await self._judged(pair, digest, means), *first)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
            reading = fault_isolation.unreadable(error, pair[0].declaration.address)
            return evaluate.judge(pair[0], reading, None, means)

    async def _judged(
        self,
        pair: tuple[ResolvedResource, Reading | Unchanged],
        digest: Digest | None,
        means: evaluate.EvaluationContext,
    ) -> Evaluation:
        original, reading = pair
        item = rule_migration.succeeded(original, means.documents) if digest is not None else original
        if item.migration is not None:
            means = replace(means, documents={**means.documents, **item.migration.documents})
        if isinstance(reading, Found) and evaluate.is_settling(item, means.now):
            means = replace(means, signature=await self._signature(item))
        judged = evaluate.judge(item, reading, digest, means)
        if judged.joined and await attribution.is_of_another(self._looker.world, judged):
            judged = evaluate.judge(item, reading, digest, replace(means, touched=True))
        return _concluded(judged)

    async def _decide_batch(
        self, batch: Iterable[Evaluation], standing: Overrides, progress: Progress | None
    ) -> list[CheckResult]:
        judged = [self._governor.suppress(each, standing) for each in await self._with_habits(batch)]
        past = await self._governor.past(judged, self._clock.now())
        out: list[CheckResult] = []
        for each in judged:
            checked = self._decided(self._governor.unresolved(each, past), standing, past)
            if progress is not None:
                progress(checked)
            out.append(checked)
        return out

    async def _signature(self, item: ResolvedResource) -> evaluate.Signature | None:
        """Return what tells who wrote a document: what others add just after our write is theirs."""
        address = item.declaration.address
        reader = await self._looker.world.reader(address.connection)
        return functools.partial(reader.signature, address.kind) if isinstance(reader, SupportsSignature) else None

    async def _with_habits(self, batch: Iterable[Evaluation]) -> list[Evaluation]:
        """Add what the platform itself seems to have moved, where its reader knows its habits."""
        return [await self._with_habit(each) if each.verdict.findings else each for each in batch]

    async def _with_habit(self, judged: Evaluation) -> Evaluation:
        address, desired = judged.prepared.declaration.address, judged.prepared.desired
        reader = await self._looker.world.reader(address.connection)
        if not isinstance(reader, SupportsPlatformChanges):
            return judged
        platform = reader.habits(address.kind, desired, judged.observed, judged.at)
        return replace(judged, platform=platform) if platform else judged

    async def _prefetch(self, batch: Iterable[ResolvedResource]) -> dict[Digest, Json]:
        wanted = {
            digest
            for item in batch
            if item.state is not None
            for digest in (
                item.state.applied.document,
                item.state.applied.baseline,
                item.state.applied.known_differences,
                *rule_migration.wanted(item),
            )
            if digest is not None
        }
        return await self._store.documents(sorted(wanted))

    # -- deciding

    def _decided(self, judged: Evaluation, standing: Overrides, past: WriteHistory) -> CheckResult:
        if judged.is_still:
            return self._unchanged(judged)
        governed = self._governor.govern(judged, decision_inputs.inputs_of(judged), standing, past)
        return CheckResult(
            **{name: getattr(judged, name) for name in Evaluation.__slots__},
            decision=governed.decision,
            inputs=governed.inputs,
            state=self._memory.after_check(judged, governed),
            plan=governed.plan,
            contentions=governed.contentions,
            new_contentions=governed.new_contentions,
        )

    def _unchanged(self, judged: Evaluation) -> CheckResult:
        return CheckResult(
            judged.prepared,
            judged.at,
            judged.reading,
            judged.observed,
            judged.tree,
            judged.verdict,
            decision=_NOTHING,
            inputs=None,
            state=self._memory.after_glance(judged),
        )

    # -- holding back

    async def paused(self, address: Address) -> str | None:
        """Say who paused a resource, and why, if somebody did."""
        return self._governor.paused(address, await self._governor.standing(), self._clock.now())

    async def stopped(self, checked: CheckResult, write_reason: WriteReason | None = None) -> str | None:
        """Say what holds back a write in the moment before it is sent: a pause, or a window for its motive."""
        write_reason = write_reason or _write_reason(checked)
        return await self._governor.stopped(checked.address, write_reason, self._clock.now())

    async def limited(self, checked: CheckResult) -> CheckResult:
        """Hold back a decision that a person made, such as a deletion, where a pause or a budget says so."""
        paused = await self.paused(checked.address)
        if paused is not None:
            return replace(checked, decision=hold(checked.decision, Reason("paused", paused)))
        frozen = await self.stopped(checked)
        if frozen is not None:
            return replace(checked, decision=hold(checked.decision, Reason("frozen", frozen)))
        (only,) = await self._held_back([checked], record=False)
        return only

    async def _held_back(self, checks: list[CheckResult], *, record: bool) -> list[CheckResult]:
        """Hold back what mass drift or an empty budget stops; only what is left of a decision then is recorded."""
        held = await self._governor.held_back(checks, self._clock.now())
        if not held.changed and not record:
            return checks
        allowed = held.allowed or [Allowed(checked.decision) for checked in checks]
        out = [self._with(checked, each) for checked, each in zip(checks, allowed, strict=True)]
        if not record:
            return out
        if held.mass_drift is not None and any(one.limit is not None and _is_news(one) for one in out):
            data = {"count": held.mass_drift.count, "total": held.mass_drift.total, "message": str(held.mass_drift)}
            event = AuditEvent(self._clock.now(), "mass_drift.held", "", data)
            return await self._recorded(out, lambda one: one.wanted_write, [event])
        return await self._recorded(out, lambda one: one.wanted_write)

    def _with(self, checked: CheckResult, allowed: Allowed) -> CheckResult:
        if allowed.decision is checked.decision:
            return replace(checked, charges=allowed.charges) if allowed.charges else checked
        state = checked.state
        outcome = conditions.ConditionOutcome(
            state.declared.generation, checked.verdict, allowed.decision, checked.at, checked.inputs
        )
        state = replace(
            state, observed=replace(state.observed, conditions=conditions.after(state.observed.conditions, outcome))
        )
        return replace(checked, decision=allowed.decision, state=state, charges=(), limit=allowed.decision.reasons[0])

    # -- recording

    async def record(self, checks: Sequence[CheckResult], events: Sequence[AuditEvent] = ()) -> list[CheckResult]:
        """Record the results in one transaction; return them with the other writers of new contention."""
        named = await asyncio.gather(*[self._named(each) for each in checks if each.new_contentions])
        other_writers = {each.address: each for each in named}
        out = [other_writers.get(each.address, each) for each in checks] if other_writers else list(checks)
        transaction = Transaction(findings_at=self._clock.now(), events=list(events))
        for checked in out:
            self.add(transaction, checked)
        await self._store.commit(transaction)
        for checked in out:
            decision_log.decided(checked)
        return out

    async def _recorded(
        self, checks: Sequence[CheckResult], chosen: Callable[[CheckResult], bool], events: Sequence[AuditEvent] = ()
    ) -> list[CheckResult]:
        """Record some of the checks, batch by batch; return all of them, in the same order."""
        places = [place for place, checked in enumerate(checks) if chosen(checked)]
        out = list(checks)
        for start in range(0, len(places), BATCH):
            batch = places[start : start + BATCH]
            done = await self.record([checks[place] for place in batch], events if start == 0 else ())
            for place, checked in zip(batch, done, strict=True):
                out[place] = checked
        return out

    async def _named(self, checked: CheckResult) -> CheckResult:
        return replace(checked, likely_actors=await attribution.other_writers(self._looker.world, checked))

    async def attributed(self, checks: Sequence[CheckResult]) -> list[CheckResult]:
        """Return the results with their likely actors; asks the provider once per changed resource."""
        unnamed = [each for each in checks if each.verdict.status in MOVED and not each.likely_actors]
        named = await asyncio.gather(*[self._named(each) for each in unnamed[: attribution.MOST]])
        about = {each.address: attribution.about(each) for each in named}
        return (
            [replace(each, likely_actors=about.get(each.address, each.likely_actors)) for each in checks]
            if about
            else [*checks]
        )

    def add(self, transaction: Transaction, checked: CheckResult) -> str | None:
        """Add a check to a transaction; return the id of its decision if it is one worth keeping."""
        state = checked.state
        if checked.is_still:
            transaction.updates.unchanged.append(
                UnchangedCheck(
                    state.address, checked.at, state.schedule.due_at, state.observed.etag, state.observed.raw_digest
                )
            )
            return None
        item = checked.prepared
        kept = item.state
        known = () if kept is None else (kept.declared.document, kept.observed.document, kept.applied.baseline)
        if item.desired_digest not in known:
            transaction.documents[item.desired_digest] = document_bytes(item.desired)
        if checked.observed_digest is not None and checked.observed_digest not in known:
            transaction.documents[checked.observed_digest] = document_bytes(checked.observed)
        if (
            checked.baseline is not None
            and checked.baseline_digest is not None
            and checked.baseline_digest not in known
        ):
            transaction.documents[checked.baseline_digest] = document_bytes(checked.baseline.observed)
        if item.rules_digest not in transaction.documents:  # once for all of a kind
            transaction.documents[item.rules_digest] = document_bytes(item.rules_document)
        if item.migration is not None:
            kept_ones = item.migration.documents.items()
            transaction.documents.update({digest: document_bytes(each) for digest, each in kept_ones})
            told: dict[str, Json] = {
                "newly-visible": list(item.migration.paths(SuppressionReason.NEWLY_VISIBLE)),
                "defaults_changed": list(item.migration.paths(SuppressionReason.DEFAULTS_CHANGED)),
                "why": item.migration.unreadable,
            }
            transaction.events.append(AuditEvent(checked.at, "rules.took_over", str(state.address), told))
        transaction.states.append(state)
        transaction.checked.add(state.address)
        if checked.verdict.status is not Status.UNKNOWN:  # what could not be read has not gone away
            transaction.findings[state.address] = checked.verdict.findings
        before = item.state.observed.status if item.state is not None else None
        if before is not state.observed.status:
            data = {
                "status": state.observed.status.value if state.observed.status else None,
                "was": before.value if before else None,
            }
            transaction.events.append(
                AuditEvent(
                    checked.at,
                    "check.status_changed",
                    str(state.address),
                    {
                        **data,
                        "reason": state.observed.reason,
                        "paths": serialize.finding_paths(checked.verdict.findings),
                    },
                )
            )
        if checked.invalid:
            why: dict[str, Json] = {"why": checked.invalid, "carried_over": checked.carried_over}
            transaction.events.append(AuditEvent(checked.at, "baseline.invalid", str(state.address), why))
        if checked.joined:
            joined = [{"path": each.path, **_observed(each)} for each in checked.joined]
            transaction.events.append(
                AuditEvent(checked.at, "baseline.joined", str(state.address), {"defaults": joined})
            )
        self._add_contentions(transaction, checked)
        if checked.decision.action is Action.NONE and before is state.observed.status:
            return None
        return self._add_decision(transaction, checked)

    def _add_contentions(self, transaction: Transaction, checked: CheckResult) -> None:
        """Leave what is fought over to a person, from now on."""
        for contention in checked.new_contentions:
            data: dict[str, Json] = {
                "times": contention.times,
                "period": contention.period,
                "since": contention.first,
                "ours": _plain(contention.ours),
                "theirs": [_plain(value) for value in contention.theirs],
                **attribution.as_data(checked.likely_actors),
            }
            transaction.governance.quarantines.append(
                Quarantine(checked.address, contention.path, CONTENTION, checked.at, data)
            )
            event = {"path": contention.path, "message": str(contention), **data}
            transaction.events.append(AuditEvent(checked.at, "contention.detected", str(checked.address), event))

    def _add_decision(self, transaction: Transaction, checked: CheckResult) -> str:
        item = checked.prepared
        before = item.state
        assert checked.inputs is not None
        assert not isinstance(checked.reading, Unchanged)
        inputs = serialize.keep(
            transaction,
            {
                "desired": item.desired_digest,
                "applied": before.applied.document if before is not None else None,
                "baseline": checked.baseline_digest if checked.baseline else None,
                "rules": serialize.keep(transaction, item.rules_document),
                "secret_rules": checked.secret_rules,
                "reading": serialize.reading_as_json(checked.reading, checked.observed_digest),
                "inputs": serialize.inputs_as_json(checked.inputs),
                "suppressed": [[each.because.value, each.path, each.note] for each in checked.verdict.suppressed],
                "lapsed": checked.lapsed,
                **({"carried_over": True} if checked.carried_over else {}),
                **({"unreadable": item.migration.unreadable} if item.migration and item.migration.unreadable else {}),
                "held": serialize.reason_as_json(checked.limit) if checked.limit is not None else None,
            },
        )
        output = serialize.keep(transaction, serialize.outcome_as_json(checked.verdict, checked.decision))
        chance = f"{int(self._random01() * 16**12):012x}"  # thousands may be decided alike in the same millisecond
        ident = f"{int(checked.at * 1000):x}-{inputs[7:13]}{chance}"
        summary = (
            f"{checked.verdict.status.value}: {checked.decision.action.value}, {checked.decision.reasons[0].message}"
        )
        transaction.decisions.append(
            DecisionRecord(
                ident,
                item.declaration.address,
                checked.at,
                checked.decision.action.value,
                inputs,
                output,
                summary,
                is_news=before is None or before.observed.status is not checked.state.observed.status,
            )
        )
        return ident


def _is_news(checked: CheckResult) -> bool:
    """Tell whether a check tells anything that was not known of the resource."""
    before = checked.prepared.state
    return before is None or before.observed.conditions != checked.state.observed.conditions


def _write_reason(checked: CheckResult) -> WriteReason:
    """Return what a write is for; a deletion is asked for, whatever the live state is."""
    return (
        WriteReason.INTENT
        if checked.decision.action is Action.DELETE
        else write_reasons.of_status(checked.verdict.status)
    )


def _concluded(judged: Evaluation) -> Evaluation:
    """Say nothing about what was judged before by rules that cannot be read here."""
    migration = judged.prepared.migration
    if migration is None or not migration.unreadable:
        return judged
    return replace(judged, verdict=Verdict(Status.UNKNOWN, migration.unreadable))


def _observed(suppressed: Suppressed) -> dict[str, Json]:
    return {} if suppressed.finding is None else {"value": _plain(suppressed.finding.observed)}


def _plain(value: Json) -> Json:
    """Return a value as events keep it: what is absent is null."""
    return None if value is ABSENT else value
