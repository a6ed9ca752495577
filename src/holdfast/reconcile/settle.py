"""The last phases of a write: read until the state is settled, learn the baseline from it, and record the end.

The result of a write is recorded in one transaction: the live state, the paths without effect, the revision, the
correction and the end of the operation. The claim is released with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holdfast.compare import diff, hash_schemes, verdict_rules
from holdfast.model.absent import ABSENT
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadError, ReadFailure
from holdfast.model.verdict import Status
from holdfast.model.write_result import WriteError, WriteFailure
from holdfast.policy import decide
from holdfast.policy.decide import DecisionInputs, ReconcileMode, WriteRecord
from holdfast.policy.settings import Assess
from holdfast.reconcile import conditions, decision_log, serialize, settled_read
from holdfast.reconcile.action_result import ActionOutcome, ActionResult
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.resolved_resource import origin_of
from holdfast.reconcile.settled_read import Learnt
from holdfast.reconcile.write import ResourceWriter, Run
from holdfast.remediation import own_corrections, target_state
from holdfast.remediation.own_corrections import WriteEnd
from holdfast.store.governance import CorrectionOutcome
from holdfast.store.records import AppliedRevision
from holdfast.store.state import AppliedState, ObservedState, ResourceState
from holdfast.store.transaction import Transaction, WriteChanges

SETTLE_READS = 60
LAGGING_READS = 12
LAGGING_LOOKS = 5  # at what seems not to have taken; with the waits of `Patience` that is 8 s at the least


async def settle(writer: ResourceWriter, run: Run) -> ActionResult:
    """Read until the state is settled, then learn from it."""
    if run.operation.action == Action.DELETE.value:
        return await _settle_deleted(writer, run)
    item = run.item.with_id(run.operation.token.get("id"))
    absent = lagging = 0
    for attempt in range(1, SETTLE_READS + 1):
        reading = await writer.checker.read(item, None)
        absent = absent + 1 if isinstance(reading, NotFound) else 0
        if absent >= LAGGING_READS:  # longer than any read lags behind a write
            return await give_up(writer, run, "it was written, and is missing again")
        if isinstance(reading, Found):
            learnt = settled_read.learn(run.checked, run.operation, await writer.correction(run), reading)
            if not learnt.stuck or lagging >= LAGGING_LOOKS:
                return await _record_learnt(writer, run, learnt)
            lagging += 1  # it did not take, or the read is older than the write
            await writer.clock.sleep(writer.patience.delay(lagging, None, writer.random01))
            continue
        if isinstance(reading, ReadFailure) and reading.trouble is ReadError.WITHHELD:
            return await _record_unread(writer, run, reading)
        wait = writer.patience.delay(min(attempt, 8), None, writer.random01)
        if isinstance(reading, ReadFailure) and reading.trouble not in (ReadError.UNSETTLED, ReadError.UNCONFIRMED):
            break
        await writer.clock.sleep(wait)
    return ActionResult(run.checked, ActionOutcome.UNSETTLED, "written; its settled state could not be read yet")


async def capture(writer: ResourceWriter, run: Run, reading: Found) -> ActionResult:
    """Learn the baseline from the latest reading, where nothing is written."""
    learnt = settled_read.learn(run.checked, run.operation, await writer.correction(run), reading)
    return await _record_learnt(writer, run, learnt)


async def _record_learnt(writer: ResourceWriter, run: Run, learnt: Learnt) -> ActionResult:
    """Store the learnt baseline, and record the end of the write, all in one transaction."""
    checked, item, operation, now = run.checked, run.item, run.operation, writer.clock.now()
    adopting = operation.action == Action.ADOPT.value
    capture_, stuck, observed = learnt.capture, learnt.stuck, learnt.observed
    transaction = Transaction(findings_at=now, writes=WriteChanges(fences=run.fences))
    # Unless it was only adopted, what is declared was kept with the intent to write it.
    declared = serialize.keep(transaction, item.desired) if adopting else item.desired_digest
    is_whole = capture_.baseline.applied is item.desired  # no edit was left out of the write
    written = declared if is_whole else serialize.keep(transaction, capture_.baseline.applied)
    seen = serialize.keep(transaction, observed)
    is_baseline = capture_.baseline.observed is observed
    settled = verdict_rules.conclude(learnt.still)
    outcome = conditions.ConditionOutcome(
        checked.state.declared.generation, settled, decide.decide(settled, _inputs_now(checked)), now
    )
    pinned = settled_read.pinned_in_vain(checked, stuck)
    transaction.documents[item.rules.digest] = item.rules.data
    state, reading = item.state or checked.state, learnt.reading
    # A part that is not as declared counts again one day, so nothing is ever taken as unchanged; and what appears
    # beside it may be of the same writer, so nothing joins later.
    applied = AppliedState(
        written,
        checked.state.applied.revision + 1,
        seen if is_baseline else serialize.keep(transaction, capture_.baseline.observed),
        serialize.keep(transaction, serialize.known_document(capture_.known, stuck, pinned)),
        item.rules.digest,
        reading.identity,
        reading.version,
        now + item.settings.settle_window if is_baseline and item.kind.fills_in else None,
        origin_of(item.declaration, state),
    )
    live = ObservedState(
        seen,
        settled_read.provider_id_after(checked, operation, reading),
        reading.etag if is_baseline else None,
        reading.raw_digest if is_baseline else None,
        state.observed.state_hash,
        settled.status,
        "our write did not take everywhere" if stuck else settled.reason,
        conditions.after(checked.state.observed.conditions, outcome),
        settled_read.told_after(checked),
    )
    after = settled_read.state_after(checked, declared, applied, live, now)
    transaction.states.append(after)
    transaction.findings[after.address] = learnt.still
    effects = serialize.finding_paths(capture_.side_effects)
    more: dict[str, Json] = {
        "pre_image": operation.pre_image,
        "unresolved": list(stuck),
        "paths": list(learnt.written),
        "side_effects": effects,
        **({"not_removed": list(learnt.kept)} if learnt.kept else {}),
        **settled_read.shadow(checked, observed, learnt.tree),
    }
    _add_end(writer, run, transaction, "adopted" if adopting else "write.done", after, more)
    await _end_correction(
        writer, run, transaction, CorrectionOutcome.INEFFECTIVE if stuck else CorrectionOutcome.DONE, stuck
    )
    identity = learnt.reading.identity
    confirmed = target_state.of_document(item, observed, learnt.tree, identity) if _is_assessed(checked) else None
    await _assess(writer, run, transaction, WriteEnd(CorrectionOutcome.DONE, now, confirmed))
    await writer.conclude(run, transaction)
    if not adopting:
        decision_log.ended(checked, stuck, effects, learnt.kept)
        decision_log.shortened(checked, capture_.digested)
    return ActionResult(replace(checked, state=after), ActionOutcome.DONE, learnt.account, stuck, operation.id)


async def _record_unread(writer: ResourceWriter, run: Run, reading: ReadFailure) -> ActionResult:
    """End the write of a resource that cannot be read: it was sent, and its outcome stays unknown."""
    checked, item, now = run.checked, run.item, writer.clock.now()
    transaction = Transaction(findings_at=now, writes=WriteChanges(fences=run.fences))
    state = item.state or checked.state
    applied = replace(
        state.applied,
        document=item.desired_digest,
        revision=checked.state.applied.revision + 1,
        identity=None,
        api_version=None,
        settle_until=None,
        origin=origin_of(item.declaration, state),
    )
    observed = replace(
        state.observed,
        provider_id=settled_read.provider_id_after(checked, run.operation, Found(None)),
        etag=None,
        raw_digest=None,
        status=Status.UNKNOWN,
        reason=f"written; {reading.detail}",
        conditions=checked.state.observed.conditions,
        suppressed=settled_read.told_after(checked),
        missing_checks=1,
    )
    after = settled_read.state_after(checked, item.desired_digest, applied, observed, now)
    transaction.states.append(after)
    _add_end(writer, run, transaction, "write.done", after, {})
    await _end_correction(writer, run, transaction, CorrectionOutcome.DONE)
    await _assess(writer, run, transaction, WriteEnd(CorrectionOutcome.DONE, now))
    await writer.conclude(run, transaction)
    return ActionResult(
        replace(checked, state=after), ActionOutcome.DONE, "sent; it cannot be read back", (), run.operation.id
    )


def _add_end(
    writer: ResourceWriter, run: Run, transaction: Transaction, kind: str, after: ResourceState, more: dict[str, Json]
) -> None:
    """Add the new revision, the end of the operation, and its event with the written content and the result."""
    item, operation = run.item, run.operation
    assert after.applied.document is not None
    stamp = str(hash_schemes.StampedHash(hash_schemes.ORDERED.id, after.applied.document))  # the same bytes
    now = after.schedule.checked_at or writer.clock.now()
    transaction.revisions.append(
        AppliedRevision(after.address, after.applied.revision, after.applied.document, stamp, now)
    )
    transaction.writes.finished.append(operation.id)
    # What a provider calls the kind: habits are those of a type, not of one resource.
    type_ = item.declaration.type or item.declaration.address.kind
    data: dict[str, Json] = {"operation": operation.id, "action": operation.action, "type": type_}
    ends = {"revision": after.applied.revision, "id": after.observed.provider_id}
    transaction.events.append(writer.event(kind, run, {**data, **ends, **more}))


async def _settle_deleted(writer: ResourceWriter, run: Run) -> ActionResult:
    checked, operation = run.checked, run.operation
    for attempt in range(1, SETTLE_READS + 1):
        reading = await writer.checker.read(run.item, None)
        if isinstance(reading, NotFound):
            break
        if isinstance(reading, Found) and _is_another(checked, reading):
            return await give_up(writer, run, "it was deleted, and another one was created")
        await writer.clock.sleep(writer.patience.delay(min(attempt, 8), None, writer.random01))
    else:
        return ActionResult(checked, ActionOutcome.UNSETTLED, "deleted, but it is still there")
    transaction = Transaction(
        forgotten=[checked.address], writes=WriteChanges(finished=[operation.id], fences=run.fences)
    )
    data: dict[str, Json] = {
        "operation": operation.id, "action": operation.action, "pre_image": operation.pre_image
    }  # fmt: skip
    transaction.events.append(writer.event("write.done", run, data))
    await _end_correction(writer, run, transaction, CorrectionOutcome.DONE)
    await writer.conclude(run, transaction)
    return ActionResult(checked, ActionOutcome.DONE, "deleted", correction=operation.id)


def _is_another(checked: CheckResult, reading: Found) -> bool:
    """Return True if the resource after a deletion cannot be the deleted one, which a lagging read would show."""
    if checked.tree is None or checked.observed is ABSENT:
        return False
    return bool(diff.differences(checked.observed, reading.document, checked.tree))


async def refuse(writer: ResourceWriter, run: Run, refused: WriteFailure) -> ActionResult:
    """Record a refusal: a terminal one stops the resource, others leave it for the next round."""
    checked, state = run.checked, run.checked.state
    is_terminal = refused.refusal is WriteError.TERMINAL
    after = replace(
        state,
        schedule=replace(
            state.schedule, terminal=refused.message if is_terminal else None, failures=state.schedule.failures + 1
        ),
    )
    transaction = Transaction(
        states=[after],
        findings={state.address: checked.verdict.findings},
        findings_at=checked.at,
        writes=WriteChanges(finished=[run.operation.id], fences=run.fences),
    )
    data = {"operation": run.operation.id, "refusal": refused.refusal.value, "message": refused.message}
    transaction.events.append(writer.event("write.refused", run, data))
    await _end_correction(writer, run, transaction, CorrectionOutcome.FAILED)
    was_sent = refused.refusal is WriteError.RETRYABLE  # the answer may be lost, and not the write
    await _assess(writer, run, transaction, WriteEnd(CorrectionOutcome.FAILED, writer.clock.now(), was_sent=was_sent))
    await writer.conclude(run, transaction)
    if is_terminal:
        return ActionResult(checked, ActionOutcome.TERMINAL, refused.message)
    return ActionResult(
        checked, ActionOutcome.MOVED if refused.refusal is WriteError.MOVED else ActionOutcome.FAILED, refused.message
    )


async def give_up(writer: ResourceWriter, run: Run, why: str) -> ActionResult:
    """End a write that cannot succeed. The next check decides again."""
    transaction = Transaction(writes=WriteChanges(finished=[run.operation.id], fences=run.fences))
    transaction.events.append(writer.event("write.given_up", run, {"operation": run.operation.id, "why": why}))
    await _end_correction(writer, run, transaction, CorrectionOutcome.FAILED)
    await _assess(writer, run, transaction, WriteEnd(CorrectionOutcome.FAILED, writer.clock.now()))
    await writer.conclude(run, transaction)
    return ActionResult(run.checked, ActionOutcome.FAILED, why)


async def _end_correction(
    writer: ResourceWriter, run: Run, transaction: Transaction, outcome: CorrectionOutcome, stuck: Sequence[str] = ()
) -> None:
    """Add how a correction ended to the transaction that ends it."""
    begun = await writer.correction(run)
    if begun is not None:
        changed = tuple(
            replace(correction, took=not any(settled_read.is_part(correction.path, path) for path in stuck))
            for correction in begun.paths
        )
        transaction.governance.unaccepted += [(begun.address, correction.path) for correction in begun.paths]
        after = (
            transaction.states[0].observed.document
            if transaction.states and outcome is not CorrectionOutcome.FAILED
            else None
        )
        transaction.governance.corrections.append(replace(begun, outcome=outcome, paths=changed, post_image=after))


async def _assess(writer: ResourceWriter, run: Run, transaction: Transaction, written: WriteEnd) -> None:
    """Begin the assessment of a correction, where policy wants one."""
    if _is_assessed(run.checked):
        rules = writer.checker.rules.assessment
        await own_corrections.end(transaction, writer.store, run.operation, written, rules)


def _inputs_now(checked: CheckResult) -> DecisionInputs:
    """Return the inputs of a decision after the write: the resource is ours, and as it was last declared."""
    before = checked.inputs or DecisionInputs()
    known, handling = before.record, before.handling
    record = WriteRecord(applied=True, terminal=known.terminal, unsure=known.unsure, uncompared=known.uncompared)
    if handling.mode is not ReconcileMode.GET_PUT:
        handling = replace(handling, mode=ReconcileMode.GET_PUT)
    return DecisionInputs(handling, record, before.paths, before.limits)


def _is_assessed(checked: CheckResult) -> bool:
    return checked.prepared.settings.assessing.assess is not Assess.OFF
