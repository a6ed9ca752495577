"""Settling: after a write, read until the state is settled, learn the baseline from it, and close the ledger.

Whatever a write comes to is recorded here, in one transaction: what is there now, what did not take, the revision, the
correction and the end of the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.compare import diff, hash_schemes, known_differences, paths, verdict_rules
from holdfast.compare.rule_tree import RuleTree
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadError, ReadFailure, ReadResult
from holdfast.model.verdict import Status, SuppressionReason
from holdfast.model.write_result import WriteError, WriteFailure
from holdfast.policy import decide
from holdfast.policy.decide import DecisionInputs, ReconcileMode
from holdfast.policy.settings import Assess
from holdfast.providers.protocol import Unchanged
from holdfast.reconcile import conditions, decision_log, serialize, settled_read
from holdfast.reconcile.action_result import ActionOutcome, ActionResult
from holdfast.reconcile.check import Checker, CheckResult
from holdfast.reconcile.clock import Clock
from holdfast.reconcile.resolved_resource import ResolvedResource, document_bytes, origin_of
from holdfast.reconcile.retry import RetryPolicy
from holdfast.reconcile.settled_read import Learnt
from holdfast.remediation import own_corrections, target_state
from holdfast.remediation.own_corrections import WriteEnd
from holdfast.store.governance import CorrectionOutcome, CorrectionRecord
from holdfast.store.protocol import Store
from holdfast.store.records import AppliedRevision, AuditEvent, Claim, WriteOperation
from holdfast.store.state import DeclaredState, Digest, ResourceState
from holdfast.store.transaction import Transaction, WriteChanges

SETTLE_READS = 60
_TOLD_ANEW = (SuppressionReason.BASELINED, SuppressionReason.LATE)  # at the next look, if it is still so
LAGGING_READS = 12
LAGGING_LOOKS = 5  # at what seems not to have taken; with the waits of `RetryPolicy` that is 8 s at the least


@dataclass(slots=True)
class Settler:
    """Brings writes to their end."""

    store: Store
    checker: Checker
    clock: Clock
    random01: Callable[[], float]
    owner: str
    patience: RetryPolicy
    _rules: dict[Digest, bytes] = field(default_factory=dict)  # that baselines were captured under
    _begun: dict[Address, CorrectionRecord] = field(
        default_factory=dict
    )  # by us, and not ended: nobody else writes these
    _given_back: set[tuple[Address, int]] = field(default_factory=set)  # claims, together with the end of a write

    def begin(self, correction: CorrectionRecord) -> None:
        """Remember a correction that was recorded as begun, so that it need not be read again."""
        self._begun[correction.address] = correction

    async def correction(self, operation: WriteOperation) -> CorrectionRecord | None:
        """Return the correction of a write as it was begun, by us or by another process."""
        begun = self._begun.get(operation.address)
        return begun if begun is not None and begun.id == operation.id else await self.store.correction(operation.id)

    async def let_go(self, claim: Claim) -> None:
        """Give a claim back, unless that was done with the end of its write."""
        self._begun.pop(claim.address, None)
        place = (claim.address, claim.fence)
        if place in self._given_back:
            self._given_back.discard(place)
        else:
            await self.store.release(claim)

    async def _conclude(self, transaction: Transaction, claim: Claim) -> None:
        """Make the end of a write true, and give its claim back with it."""
        transaction.writes.released.append(claim)
        await self.store.commit(transaction)
        self._given_back.add((claim.address, claim.fence))

    async def settle(self, checked: CheckResult, operation: WriteOperation, claim: Claim) -> ActionResult:
        """Read until the state is settled, then learn from it."""
        if operation.action == Action.DELETE.value:
            return await self._deleted(checked, operation, claim)
        provider_id = operation.token.get("id")
        item = checked.prepared
        state = item.state or ResourceState(item.declaration.address, declared=DeclaredState(item.declaration.provider))
        item = replace(
            item, state=replace(state, observed=replace(state.observed, provider_id=provider_id)), version=None
        )
        absent = lagging = 0
        for attempt in range(1, SETTLE_READS + 1):
            reading = await self.checker.read(item, None)
            absent = absent + 1 if isinstance(reading, NotFound) else 0
            if absent >= LAGGING_READS:  # longer than any read lags behind a write
                return await self.given_up(checked, operation, claim, "it was written, and is gone again")
            if isinstance(reading, Found):
                here = replace(checked, prepared=item)
                learnt = settled_read.learn(here, operation, await self.correction(operation), reading)
                if not learnt.stuck or lagging >= LAGGING_LOOKS:
                    return await self._captured(here, operation, claim, learnt)
                lagging += 1  # it did not take, or the read is older than the write
                await self.clock.sleep(self.patience.delay(lagging, None, self.random01))
                continue
            if isinstance(reading, ReadFailure) and reading.trouble is ReadError.WITHHELD:
                return await self._uncaptured(replace(checked, prepared=item), operation, claim, reading)
            wait = self.patience.delay(min(attempt, 8), None, self.random01)
            if isinstance(reading, ReadFailure) and reading.trouble not in (ReadError.UNSETTLED, ReadError.UNCONFIRMED):
                break
            await self.clock.sleep(wait)
        return ActionResult(checked, ActionOutcome.UNSETTLED, "written; its settled state could not be read yet")

    async def captured(
        self, checked: CheckResult, operation: WriteOperation, claim: Claim, reading: ReadResult | Unchanged
    ) -> ActionResult:
        """Learn the baseline from what was just read."""
        assert isinstance(reading, Found)
        learnt = settled_read.learn(checked, operation, await self.correction(operation), reading)
        return await self._captured(checked, operation, claim, learnt)

    async def _captured(
        self, checked: CheckResult, operation: WriteOperation, claim: Claim, learnt: Learnt
    ) -> ActionResult:
        """Make what was learnt the baseline, and record the end of the write, all in one transaction."""
        item, now = checked.prepared, self.clock.now()
        adopting = operation.action == Action.ADOPT.value
        capture, stuck, still, observed = learnt.capture, learnt.stuck, learnt.still, learnt.observed
        transaction = Transaction(findings_at=now, writes=WriteChanges(fences={claim.address: claim.fence}))
        # Unless it was only adopted, what is declared was kept with the intent to write it.
        written = serialize.keep(transaction, item.desired) if adopting else item.desired_digest
        seen = serialize.keep(transaction, observed)
        is_baseline = capture.baseline.observed is observed
        settled = verdict_rules.conclude(still)
        decision = decide.decide(settled, _inputs_now(checked))
        outcome = conditions.ConditionOutcome(checked.state.declared.generation, settled, decision, now)
        after = self._as_captured(
            checked,
            operation,
            learnt.reading,
            {
                "document": written,
                "baseline": seen if is_baseline else serialize.keep(transaction, capture.baseline.observed),
                # Where something stands apart, what appears beside it may be of the same hand, so nothing joins later.
                "settle_until": now + item.settings.settle_window if is_baseline and item.kind.fills_in else None,
                "known_differences": serialize.keep(
                    transaction, serialize.known_document(capture.known, stuck, _pinned(checked, stuck))
                ),
                "rules": self._with_rules(transaction, item),
            },
            {
                "document": seen,
                # Where something stands apart it counts again one day, so nothing is ever taken as unchanged.
                "etag": learnt.reading.etag if is_baseline else None,
                "raw_digest": learnt.reading.raw_digest if is_baseline else None,
                "status": Status.DRIFTED if still else Status.IN_SYNC,
                "reason": "our write did not take everywhere" if stuck else settled.reason,
                "conditions": conditions.after(checked.state.observed.conditions, outcome),
            },
        )
        transaction.states.append(after)
        transaction.findings[after.address] = still
        transaction.revisions.append(
            AppliedRevision(
                after.address, after.applied.revision, written, str(hash_schemes.ORDERED.stamp(item.desired)), now
            )
        )
        transaction.writes.finished.append(operation.id)
        effects = serialize.finding_paths(capture.side_effects)
        more: dict[str, Json] = {
            "pre_image": operation.pre_image,
            "unresolved": list(stuck),
            "paths": list(learnt.written),
            "side_effects": effects,
            **({"not_removed": list(learnt.kept)} if learnt.kept else {}),
            **_shadow(checked, observed, learnt.tree),
        }
        transaction.events.append(self._done("adopted" if adopting else "write.done", item, operation, after, more))
        await self._end(
            transaction, operation, CorrectionOutcome.INEFFECTIVE if stuck else CorrectionOutcome.DONE, stuck
        )
        identity = learnt.reading.identity
        confirmed = target_state.of_document(item, observed, learnt.tree, identity) if _is_assessed(checked) else None
        await self._assess(transaction, checked, operation, WriteEnd(CorrectionOutcome.DONE, now, confirmed))
        await self._conclude(transaction, claim)
        if not adopting:
            decision_log.ended(checked, stuck, effects, learnt.kept)
            decision_log.shortened(checked, capture.digested)
        return ActionResult(replace(checked, state=after), ActionOutcome.DONE, learnt.account, stuck, operation.id)

    def _with_rules(self, transaction: Transaction, item: ResolvedResource) -> Digest:
        """Keep the rules a baseline was captured under; there are few, so each is written out once."""
        digest = item.rules_digest
        if digest not in self._rules:
            self._rules[digest] = document_bytes(item.rules_document)
        transaction.documents[digest] = self._rules[digest]
        return digest

    def _as_captured(
        self,
        checked: CheckResult,
        operation: WriteOperation,
        reading: Found,
        applied: dict[str, Any],
        observed: dict[str, Any],
    ) -> ResourceState:
        """Return what is remembered of a settled resource, with what was learnt from the read: documents, verdict."""
        item, now = checked.prepared, self.clock.now()
        state = item.state or checked.state
        return replace(
            state,
            declared=replace(
                state.declared,
                document=applied["document"],
                provider=item.declaration.provider,
                generation=checked.state.declared.generation,
                labels=item.declaration.labels,
                options=item.options,
                depends_on=item.depends_on,
                source=str(item.declaration.location) or None,
            ),
            observed=replace(
                state.observed,
                provider_id=operation.token.get("id")
                or reading.id
                or state.observed.provider_id
                or item.declaration.address.name,
                suppressed=tuple(each for each in checked.state.observed.suppressed if each[0] not in _TOLD_ANEW),
                missing_checks=1,
                **observed,
            ),
            applied=replace(
                state.applied,
                revision=checked.state.applied.revision + 1,
                origin=origin_of(item.declaration, state),
                identity=reading.identity,
                api_version=reading.version,
                **applied,
            ),
            schedule=replace(
                state.schedule,
                checked_at=now,
                good_at=now,
                resync_seconds=item.resync_seconds,
                due_at=checked.state.schedule.due_at,
                handled=checked.state.schedule.handled,
                terminal=None,
                failures=0,
            ),
        )

    async def _uncaptured(
        self, checked: CheckResult, operation: WriteOperation, claim: Claim, reading: ReadFailure
    ) -> ActionResult:
        """End the write of something that nobody can read: it was sent, and what became of it stays unknown."""
        item, now = checked.prepared, self.clock.now()
        transaction = Transaction(
            findings_at=now, writes=WriteChanges(fences={claim.address: claim.fence}, finished=[operation.id])
        )
        written = item.desired_digest
        after = self._as_captured(
            checked,
            operation,
            Found(None),
            {"document": written, "settle_until": None},
            {
                "etag": None,
                "raw_digest": None,
                "status": Status.UNKNOWN,
                "reason": f"written; {reading.detail}",
                "conditions": checked.state.observed.conditions,
            },
        )
        transaction.states.append(after)
        transaction.revisions.append(
            AppliedRevision(
                after.address, after.applied.revision, written, str(hash_schemes.ORDERED.stamp(item.desired)), now
            )
        )
        transaction.events.append(self._done("write.done", item, operation, after, {}))
        await self._end(transaction, operation, CorrectionOutcome.DONE)
        await self._assess(transaction, checked, operation, WriteEnd(CorrectionOutcome.DONE, now))
        await self._conclude(transaction, claim)
        return ActionResult(
            replace(checked, state=after), ActionOutcome.DONE, "sent; it cannot be read back", (), operation.id
        )

    async def _deleted(self, checked: CheckResult, operation: WriteOperation, claim: Claim) -> ActionResult:
        address = checked.prepared.declaration.address
        for attempt in range(1, SETTLE_READS + 1):
            reading = await self.checker.read(checked.prepared, None)
            if isinstance(reading, NotFound):
                break
            if isinstance(reading, Found) and self._is_another(checked, reading):
                return await self.given_up(checked, operation, claim, "it was deleted, and somebody has made another")
            await self.clock.sleep(self.patience.delay(min(attempt, 8), None, self.random01))
        else:
            return ActionResult(checked, ActionOutcome.UNSETTLED, "deleted, but it is still there")
        transaction = Transaction(
            forgotten=[address], writes=WriteChanges(finished=[operation.id], fences={claim.address: claim.fence})
        )
        transaction.events.append(
            self.event(
                "write.done",
                checked.prepared,
                {"operation": operation.id, "action": operation.action, "pre_image": operation.pre_image},
            )
        )
        await self._end(transaction, operation, CorrectionOutcome.DONE)
        await self._conclude(transaction, claim)
        return ActionResult(checked, ActionOutcome.DONE, "deleted", correction=operation.id)

    def _is_another(self, checked: CheckResult, reading: Found) -> bool:
        """Tell whether what is there after a deletion cannot be what was deleted: a read that lags shows just that."""
        if checked.tree is None or checked.observed is ABSENT:
            return False
        return bool(diff.differences(checked.observed, reading.document, checked.tree))

    async def refused(
        self, checked: CheckResult, operation: WriteOperation, claim: Claim, refused: WriteFailure
    ) -> ActionResult:
        """Remember a no: a terminal one stops the resource, others leave it for the next round."""
        state = checked.state
        terminal = refused.refusal is WriteError.TERMINAL
        after = replace(
            state,
            schedule=replace(
                state.schedule, terminal=refused.message if terminal else None, failures=state.schedule.failures + 1
            ),
        )
        transaction = Transaction(
            states=[after],
            findings={state.address: checked.verdict.findings},
            findings_at=checked.at,
            writes=WriteChanges(finished=[operation.id], fences={claim.address: claim.fence}),
        )
        transaction.events.append(
            self.event(
                "write.refused",
                checked.prepared,
                {"operation": operation.id, "refusal": refused.refusal.value, "message": refused.message},
            )
        )
        await self._end(transaction, operation, CorrectionOutcome.FAILED)
        was_sent = refused.refusal is WriteError.RETRYABLE  # the answer may be lost, and not the write
        written = WriteEnd(CorrectionOutcome.FAILED, self.clock.now(), was_sent=was_sent)
        await self._assess(transaction, checked, operation, written)
        await self._conclude(transaction, claim)
        if terminal:
            return ActionResult(checked, ActionOutcome.TERMINAL, refused.message)
        if refused.refusal is WriteError.MOVED:
            return ActionResult(checked, ActionOutcome.MOVED, refused.message)
        return ActionResult(checked, ActionOutcome.FAILED, refused.message)

    async def given_up(self, checked: CheckResult, operation: WriteOperation, claim: Claim, why: str) -> ActionResult:
        """End a write that leads nowhere; what is to be done now is for the next check to say."""
        transaction = Transaction(writes=WriteChanges(finished=[operation.id], fences={claim.address: claim.fence}))
        transaction.events.append(
            self.event("write.given_up", checked.prepared, {"operation": operation.id, "why": why})
        )
        await self._end(transaction, operation, CorrectionOutcome.FAILED)
        await self._assess(transaction, checked, operation, WriteEnd(CorrectionOutcome.FAILED, self.clock.now()))
        await self._conclude(transaction, claim)
        return ActionResult(checked, ActionOutcome.FAILED, why)

    async def _end(
        self, transaction: Transaction, operation: WriteOperation, outcome: CorrectionOutcome, stuck: Sequence[str] = ()
    ) -> None:
        """Note in the ledger how a correction ended, together with whatever else becomes true."""
        begun = await self.correction(operation)
        if begun is not None:
            changed = tuple(
                replace(each, took=not any(settled_read.is_part(each.path, path) for path in stuck))
                for each in begun.paths
            )
            transaction.governance.unaccepted += [(begun.address, each.path) for each in begun.paths]
            after = (
                transaction.states[0].observed.document
                if transaction.states and outcome is not CorrectionOutcome.FAILED
                else None
            )
            transaction.governance.corrections.append(replace(begun, outcome=outcome, paths=changed, post_image=after))

    async def _assess(
        self, transaction: Transaction, checked: CheckResult, operation: WriteOperation, written: WriteEnd
    ) -> None:
        """Begin the assessment of a correction, where policy wants one."""
        if _is_assessed(checked):
            await own_corrections.end(transaction, self.store, operation, written, self.checker.rules.assessment)

    def _done(
        self, kind: str, item: ResolvedResource, operation: WriteOperation, after: ResourceState, more: dict[str, Json]
    ) -> AuditEvent:
        """Return the event of a write that has ended well: which, on what, and what became of it."""
        data: dict[str, Json] = {"operation": operation.id, "action": operation.action, "type": _type(item)}
        return self.event(
            kind, item, {**data, "revision": after.applied.revision, "id": after.observed.provider_id, **more}
        )

    def event(self, kind: str, prepared: ResolvedResource, data: dict[str, Json]) -> AuditEvent:
        """Return an event of this worker about a resource."""
        return AuditEvent(self.clock.now(), kind, str(prepared.declaration.address), {**data, "worker": self.owner})


def _inputs_now(checked: CheckResult) -> DecisionInputs:
    """Return the situation of a check as the write has left it: what is there is ours, and as it was last declared."""
    before = checked.inputs or DecisionInputs()
    return replace(before, applied=True, edited=False, failed="", damaged=False, mode=ReconcileMode.GET_PUT)


def _is_assessed(checked: CheckResult) -> bool:
    return checked.prepared.settings.assess is not Assess.OFF


def _type(item: ResolvedResource) -> str:
    """Return what a provider calls the kind of a resource: habits are those of a type, not of one resource."""
    return item.declaration.type or item.declaration.address.kind


def _pinned(checked: CheckResult, stuck: Sequence[str]) -> list[str]:
    """Return what did not go back though its baseline value was sent; it is not sent again."""
    tried = {path for reason in checked.decision.reasons if reason.code == "pin" for path in reason.paths}
    return [path for path in stuck if path in tried or path in checked.pinned]


def _shadow(checked: CheckResult, observed: Json, tree: RuleTree) -> dict[str, Json]:
    """Return, for a resource in shadow mode, whether the write was needed by our reckoning, and what it changed."""
    if checked.prepared.settings.reconcile_mode is not ReconcileMode.SHADOW or checked.observed is ABSENT:
        return {}
    moved = diff.differences(checked.observed, observed, tree)
    changed = [each for each in moved if not known_differences.node_at(tree, each.path).hidden_unless_declared]
    needed = checked.decision.reasons[0].code != "shadow"
    return {"shadow": {"needed": needed, "changed": [paths.format_path(each.path) for each in changed]}}
