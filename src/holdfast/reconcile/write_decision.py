"""The phases of a decision's write: recheck, intend, send and poll. `settle` has the rest."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace

from holdfast.compare import diff
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadFailure, ReadResult
from holdfast.model.record import dataclass
from holdfast.model.write_result import Done, WriteError, WriteFailure, WriteResult
from holdfast.policy import lost_create_reasons, write_reasons
from holdfast.policy.write_reasons import WriteReason
from holdfast.providers.protocol import Unchanged
from holdfast.reconcile import lost_creates, serialize, settle, update_content
from holdfast.reconcile.action_result import ActionOutcome, ActionResult
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.policy_evaluation import is_approved
from holdfast.reconcile.rate_limit import CallKind
from holdfast.reconcile.resolved_resource import ResolvedResource, document_bytes
from holdfast.reconcile.send import HeldBack
from holdfast.reconcile.write import ResourceWriter, Run
from holdfast.remediation import own_corrections
from holdfast.store.governance import BudgetSpent, CorrectionRecord
from holdfast.store.records import Claim, OperationStep, WriteOperation
from holdfast.store.state import Relink
from holdfast.store.transaction import Transaction, WriteChanges

_DELETING = (Action.DELETE, Action.REPLACE)  # whose first send is a deletion


@dataclass(frozen=True, slots=True)
class WriteIntent:
    """Write a resource as its check decided: create, update, replace, recreate, delete or adopt it."""

    checked: CheckResult

    @property
    def address(self) -> Address:
        """The resource to claim."""
        return self.checked.address

    @property
    def turn(self) -> tuple[ResolvedResource, CallKind] | None:
        """The limit that the first send waits for; nothing is sent to adopt a resource."""
        action = self.checked.decision.action
        if action is Action.ADOPT:
            return None
        return self.checked.prepared, CallKind.DELETE if action in _DELETING else CallKind.WRITE

    @property
    def takes_over(self) -> bool:
        """Claims of dead workers were released when the run began."""
        return False

    def not_begun(self, message: str) -> ActionResult:
        """Leave the resource to the other worker."""
        return ActionResult(self.checked, ActionOutcome.BUSY, message)

    def unfinished(self, message: str) -> ActionResult:
        """Leave the operation to a later run."""
        return ActionResult(self.checked, ActionOutcome.UNSETTLED, message)

    def lost(self, message: str) -> ActionResult:
        """Leave the write to the worker that has the claim now."""
        return ActionResult(self.checked, ActionOutcome.LOST, message)

    async def perform(self, writer: ResourceWriter, claim: Claim, slot: AsyncExitStack) -> ActionResult:
        """Read again just before writing; if live state changed since the decision, write nothing."""
        checked = self.checked
        before = checked.prepared.state
        if claim.revision != (before.applied.revision if before is not None else 0):
            return ActionResult(checked, ActionOutcome.OVERTAKEN, "another worker has just written it")
        run = Run(claim, checked, _operation(writer, checked), checked.reading, slot=slot)
        if checked.decision.action is Action.ADOPT:
            assert isinstance(checked.reading, Found)
            return await settle.capture(writer, run, checked.reading)
        again = await writer.checker.read(checked.prepared, None)
        if isinstance(again, NotFound) and checked.decision.action is Action.RECREATE:
            again = await writer.checker.read(checked.prepared.without_id(), None)  # the name may be taken by now
        changed = _changed_since(checked, again)
        if changed is not None:
            return await _abort(writer, run, changed, again)
        if isinstance(again, Found):  # fields that are not compared may have changed
            run.reading = again
        return await send(writer, run, is_new=True)


def _operation(writer: ResourceWriter, checked: CheckResult) -> WriteOperation:
    action = checked.decision.action
    return WriteOperation(
        id=writer.new_id(),
        address=checked.address,
        action=action.value,
        step=OperationStep.SETTLING if action is Action.ADOPT else OperationStep.INTENDED,
        started_at=writer.clock.now(),
        desired=checked.prepared.desired_digest,
        pre_image=checked.evaluation.observation.digest,
        drift=tuple(checked.verdict.findings),
        phase="delete" if action is Action.REPLACE else "write",
    )


def _changed_since(checked: CheckResult, again: ReadResult | Unchanged) -> str | None:
    """Return how live state has changed since the decision, or None. Uncompared resources never have."""
    if checked.inputs is not None and checked.inputs.record.uncompared:
        return None  # it is written whatever it holds
    match again:
        case ReadFailure(trouble=trouble):
            return f"could not be read again before the write ({trouble.value})"
        case NotFound():
            return None if checked.observed is ABSENT else "it disappeared since the plan"
        case Found(document=seen):
            if checked.observed is ABSENT:
                return "it appeared since the plan"
            assert checked.tree is not None
            if seen == checked.observed or not diff.differences(checked.observed, seen, checked.tree):
                return None
            return "it changed since the plan"
        case Unchanged():
            return None


async def _abort(writer: ResourceWriter, run: Run, reason: str, again: ReadResult | Unchanged) -> ActionResult:
    """Record that nothing was written; if another resource bears the name by now, that is checked next."""
    transaction = Transaction(writes=WriteChanges(fences=run.fences))
    transaction.events.append(writer.event("write.aborted", run, {"reason": reason}))
    if run.checked.decision.action is Action.RECREATE and isinstance(again, Found) and again.id:
        transaction.updates.relinked.append(Relink(run.claim.address, again.id))
    await writer.store.commit(transaction)
    return ActionResult(run.checked, ActionOutcome.MOVED, reason)


async def _intend(writer: ResourceWriter, run: Run) -> None:
    """Record the begin of a write, its changes, and its charges to the budgets; all or nothing."""
    checked, operation = run.checked, run.operation
    reason = checked.decision.reasons[0]
    because: dict[str, Json] = {"reason": reason.code, "message": reason.message, "paths": list(reason.paths)}
    transaction = writer.step(run, "write.intended", {**because, **own_corrections.before(checked)})
    is_asked = checked.asked or is_approved(checked)
    run.begun = CorrectionRecord(
        operation.id,
        checked.address,
        operation.started_at,
        operation.action,
        (WriteReason.INTENT if is_asked else write_reasons.of_status(checked.verdict.status)).value,
        paths=update_content.corrected_paths(checked),
        pre_image=operation.pre_image,
        who=writer.owner,
    )
    transaction.governance.corrections.append(run.begun)
    transaction.documents[run.item.desired_digest] = document_bytes(run.item.desired)
    own_corrections.begin(transaction, checked, operation, writer.checker.rules.assessment, writer.owner)
    if checked.charges:
        transaction.governance.charges[operation.id] = list(checked.charges)
    if checked.observed is not ABSENT:
        serialize.keep(transaction, checked.observed)
    if is_approved(checked) and checked.plan:
        used = [
            approval for approval in await writer.store.approvals([checked.address]) if approval.plan == checked.plan
        ]
        if not used and not checked.asked:
            run.begun = None
            raise HeldBack("its approval was used meanwhile")
        transaction.governance.approvals += [replace(approval, used_at=operation.started_at) for approval in used]
    await writer.keeper.commit(transaction, run.claim)


async def send(writer: ResourceWriter, run: Run, *, is_new: bool = False) -> ActionResult:
    """Send a write and bring it to its end; one that `is_new` is recorded right before it is sent."""
    change = None
    if run.operation.action == Action.UPDATE.value:
        begun = None if is_new else await writer.correction(run)
        change = update_content.change_of(run.checked, begun, run.reading)
    try:
        writing = await writer.send(run, change, (lambda: _intend(writer, run)) if is_new else None)
    except HeldBack as held:
        return await _hold(writer, run, held)
    except BudgetSpent as error:
        return await _hold(writer, run, HeldBack(f"the budget was spent meanwhile: {error.bucket}"))
    if run.slot is not None:
        await run.slot.aclose()
    return await finish(writer, run, writing)


async def _hold(writer: ResourceWriter, run: Run, held: HeldBack) -> ActionResult:
    """Record that a limit stopped a write. A begun write stays open, and is finished when the limit allows it."""
    data: dict[str, Json] = {"operation": run.operation.id, "action": run.operation.action, "why": held.why}
    event = writer.event("write.held", run, {**data, "was_sent": held.was_sent})
    await writer.store.commit(Transaction(events=[event]))
    after = f"{held.why}; it was begun, and is finished when it may be" if held.was_sent else held.why
    return ActionResult(run.checked, ActionOutcome.HELD, after)


async def finish(writer: ResourceWriter, run: Run, writing: WriteResult) -> ActionResult:
    """Poll a write to its end and go on from there: the second half of a replacement, or settling."""
    writing = await writer.poll(run, writing)
    operation = run.operation
    if isinstance(writing, WriteFailure):
        is_creation = lost_create_reasons.is_creation(operation.action, operation.phase)
        if writing.is_unsure and is_creation and not run.item.kind.repeats_create:
            return await _look_for_created(writer, run, writing)
        if writing.refusal is WriteError.MOVED and operation.action == Action.RECREATE.value:
            # The name is taken: what is there is checked next, and not the id of what was deleted.
            run.checked = replace(
                run.checked,
                state=replace(run.checked.state, observed=replace(run.checked.state.observed, provider_id=None)),
            )
        return await settle.refuse(writer, run, writing)
    assert isinstance(writing, Done)
    if operation.phase == "delete":
        run.operation = replace(operation, phase="write", step=OperationStep.INTENDED, token={})
        # Whatever comes of it, the old id is from now on that of something deleted.
        state = replace(run.checked.state, observed=replace(run.checked.state.observed, provider_id=None))
        run.checked = replace(run.checked, state=state).with_resource(run.item.without_id())
        await writer.store.commit(writer.step(run, "write.intended"))
        return await send(writer, run)
    run.operation = replace(operation, step=OperationStep.SETTLING, token={"id": writing.id})
    await writer.store.commit(writer.step(run, "write.accepted"))
    return await settle.settle(writer, run)


async def _look_for_created(writer: ResourceWriter, run: Run, refused: WriteFailure) -> ActionResult:
    """Search for the resource of a create without an answer, before anything is sent again."""
    item = run.item.without_id()
    seen: ReadResult | lost_creates.Unsure = NotFound()
    for attempt in range(1, lost_creates.LOOKS + 1):
        asked = refused.retry_after_seconds if attempt == 1 else None
        await writer.clock.sleep(writer.patience.delay(attempt, asked, writer.random01))
        seen = await lost_creates.look_for(writer.checker, writer.store, item)
        if not isinstance(seen, NotFound):
            break
    if isinstance(seen, lost_creates.Unsure):
        return await leave_unsure(writer, run, replace(seen, why=f"{refused.message}; {seen.why}"))
    if isinstance(seen, Found):
        return await take_found(writer, run, seen)
    if isinstance(seen, ReadFailure):
        message = f"{refused.message}; it could not be looked for, and is not repeated"
        return ActionResult(run.checked, ActionOutcome.FAILED, message)
    if run.operation.attempts + 1 >= writer.patience.attempts:
        return await settle.refuse(writer, run, refused)
    run.operation = replace(run.operation, attempts=run.operation.attempts + 1)
    await writer.store.commit(writer.step(run, "write.intended"))
    return await send(writer, run)


async def take_found(writer: ResourceWriter, run: Run, reading: Found) -> ActionResult:
    """Continue with a resource that was found where a create was begun. It is ours if it is as requested."""
    tree, _ = run.item.rules_for(reading.document)
    if diff.findings(run.item.desired, reading.document, tree):
        # Perhaps ours, perhaps created by another writer under the same name: not to be learnt from.
        return await settle.give_up(writer, run, "what is there is not what was asked for")
    provider_id = reading.id or run.checked.state.observed.provider_id
    run.operation = replace(
        run.operation, step=OperationStep.SETTLING, token={"id": provider_id} if provider_id else {}
    )
    return await settle.settle(writer, run)


async def leave_unsure(writer: ResourceWriter, run: Run, seen: lost_creates.Unsure) -> ActionResult:
    """Record that the outcome of a create is unknown. The operation stays open until a person decides."""
    run.operation = replace(run.operation, step=OperationStep.UNSURE, token=seen.as_token())
    message = lost_create_reasons.message(run.operation.address, run.operation.token)
    await writer.store.commit(writer.step(run, "write.unsure", {"message": message}))
    return ActionResult(run.checked, ActionOutcome.UNSURE, message)
