"""Acting: claim, look again, write, follow, settle, capture. Every step is recorded before the next begins.

The turn at the connection's limits comes first, so that a write that waits holds no claim and has recorded nothing.
A crash at any point leaves an Operation that says how far we came; `resuming` takes it from there, in this process or
another. Nothing that is not idempotent is repeated without looking first.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import uuid
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace

from holdfast.compare import apply_patch, diff, paths
from holdfast.model.absent import ABSENT
from holdfast.model.decision import Action
from holdfast.model.finding import ChangedBy
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadFailure, ReadResult
from holdfast.model.write_result import Done, InProgress, WriteError, WriteFailure, WriteResult
from holdfast.policy import decide, lost_create_reasons, write_reasons
from holdfast.policy.write_reasons import WriteReason
from holdfast.providers.protocol import Change, Unchanged
from holdfast.reconcile import lost_creates, operation_poll, protected_paths, serialize, write_resume
from holdfast.reconcile.action_result import ActionOutcome, ActionResult
from holdfast.reconcile.check import Checker, CheckResult
from holdfast.reconcile.claims import Keeper
from holdfast.reconcile.clock import Clock
from holdfast.reconcile.connections import WritableConnections
from holdfast.reconcile.operation_poll import StillInProgress
from holdfast.reconcile.rate_limit import CallKind
from holdfast.reconcile.resolved_resource import ResolvedResource, digest_of, document_bytes
from holdfast.reconcile.retry import RetryPolicy
from holdfast.reconcile.send import HeldBack, Leave, Sender
from holdfast.reconcile.settle import Settler
from holdfast.remediation import own_corrections
from holdfast.store.governance import BudgetSpent, CorrectionRecord, PathCorrection
from holdfast.store.protocol import Store
from holdfast.store.records import Claim, ClaimLost, OperationStep, WriteOperation
from holdfast.store.state import Relink
from holdfast.store.transaction import Transaction, WriteChanges

_EDITED = (ChangedBy.DECLARED, ChangedBy.BOTH)
# Asked right before a write, and told whether an earlier attempt went out: why it is not to be made after all.
Still = Callable[[CheckResult, bool], Awaitable[str | None]]


class ResourceWriter:
    """Carries out decisions, one writer a resource."""

    def __init__(  # noqa: PLR0913, PLR0917 - everything it acts through
        self,
        store: Store,
        world: WritableConnections,
        checker: Checker,
        clock: Clock,
        random01: Callable[[], float],
        owner: str,
        patience: RetryPolicy | None = None,
    ) -> None:
        self._store = store
        self._world = world
        self._checker = checker
        self._clock = clock
        self._random01 = random01
        self._owner = owner
        self._patience = patience or RetryPolicy()
        self._sender = Sender(world, clock, random01, self._patience)
        self._keeper = Keeper(store, clock, owner)
        self._settler = Settler(store, checker, clock, random01, owner, self._patience)
        self.still: Still | None = None
        self.stop: asyncio.Event | None = None  # set: operations are not followed any further
        self.follows_seconds = math.inf  # for how long an operation is followed at most, whatever its settings say
        self.in_hand: AbstractAsyncContextManager[object] = contextlib.nullcontext()  # how many do so at once

    async def carry_out(self, checked: CheckResult) -> ActionResult:
        """Do what was decided, or say why not."""
        if checked.decision.action is Action.ADOPT:
            return await self._claimed(checked, lambda claim: self._adopt(checked, claim))
        async with AsyncExitStack() as hand:  # given back with the answer: others are sent while this one settles
            await hand.enter_async_context(self.in_hand)
            await self._sender.turn(checked.prepared, _budget(checked.decision.action))
            return await self._claimed(checked, lambda claim: self._guarded(checked, claim, hand))

    async def _claimed(self, checked: CheckResult, act: Callable[[Claim], Awaitable[ActionResult]]) -> ActionResult:
        claim = await self._keeper.claim(checked.address)
        if claim is None:
            return ActionResult(checked, ActionOutcome.BUSY, "another worker is at it")
        try:
            async with self._keeper.keeping(claim):
                if _is_overtaken(checked, claim):
                    return ActionResult(checked, ActionOutcome.OVERTAKEN, "another worker has just written it")
                return await act(claim)
        except StillInProgress as error:
            return ActionResult(checked, ActionOutcome.UNSETTLED, str(error))
        except ClaimLost:
            return await self._lost(checked)
        finally:
            await self._settler.let_go(claim)

    async def _lost(self, checked: CheckResult) -> ActionResult:
        """Note that the claim went to another worker, which finishes what was begun; nothing more is sent here."""
        message = "its claim was lost to another worker while it waited; nothing more was sent"
        event = self._settler.event("claim.lost", checked.prepared, {"message": message})
        await self._store.commit(Transaction(events=[event]))
        return ActionResult(checked, ActionOutcome.LOST, message)

    async def _adopt(self, checked: CheckResult, claim: Claim) -> ActionResult:
        """Take over what exists as declared: remember it, write nothing."""
        operation = self._operation(checked, OperationStep.SETTLING)
        return await self._settler.captured(checked, operation, claim, checked.reading)

    async def _guarded(self, checked: CheckResult, claim: Claim, hand: AsyncExitStack) -> ActionResult:
        """Look again just before writing; if changed outside Holdfast since the decision, write nothing."""
        again = await self._look_again(checked)
        moved = _moved_since(checked, again)
        if moved is not None:
            return await self._aborted(checked, claim, moved, again)
        etag = again.etag if isinstance(again, Found) else None
        if isinstance(again, Found):  # what is written goes on from here: fields that are not compared may have moved
            checked = replace(checked, reading=again)
        operation = self._operation(checked, OperationStep.INTENDED)
        leave = self._leave(checked, claim, lambda: self._intend(checked, operation, claim))
        try:
            writing = await self._write(checked.prepared, operation, checked, etag, leave, has_turn=True)
        except HeldBack as held:
            return await self._held_back(checked, operation, held)
        except BudgetSpent as error:
            spent = HeldBack(f"the budget was spent meanwhile: {error.bucket}")
            return await self._held_back(checked, operation, spent)
        await hand.aclose()
        return await self._sent(checked, operation, claim, writing)

    def _leave(self, checked: CheckResult, claim: Claim, begin: Callable[[], Awaitable[None]] | None = None) -> Leave:
        """Return the say over the sends of a write: every limit, and the claim, are asked right before each."""

        async def held(was_sent: bool) -> str | None:  # noqa: FBT001 - as `Leave` asks
            stopped = await self.still(checked, was_sent) if self.still is not None else None
            return stopped or await self._checker.stopped(checked)

        return Leave(held, begin, lambda: self._keeper.ensure(claim), was_sent=begin is None)

    async def _held_back(self, checked: CheckResult, operation: WriteOperation, held: HeldBack) -> ActionResult:
        """Note that a limit stopped a write; what was begun stays open, and is finished when it may be."""
        data: dict[str, Json] = {"operation": operation.id, "action": operation.action, "why": held.why}
        event = self._settler.event("write.held", checked.prepared, {**data, "was_sent": held.was_sent})
        await self._store.commit(Transaction(events=[event]))
        after = f"{held.why}; it was begun, and is finished when it may be" if held.was_sent else held.why
        return ActionResult(checked, ActionOutcome.HELD, after)

    async def _look_again(self, checked: CheckResult) -> ReadResult | Unchanged:
        """Read what is to be written; what is to be recreated also by its name, which somebody may have taken."""
        again = await self._checker.read(checked.prepared, None)
        if isinstance(again, NotFound) and checked.decision.action is Action.RECREATE:
            again = await self._checker.read(checked.prepared.without_id(), None)
        return again

    async def _aborted(
        self, checked: CheckResult, claim: Claim, moved: str, again: ReadResult | Unchanged
    ) -> ActionResult:
        """Note that nothing was written; if another bears the name of what is gone by now, that is looked at next."""
        transaction = Transaction(writes=WriteChanges(fences={claim.address: claim.fence}))
        transaction.events.append(self._settler.event("write.aborted", checked.prepared, {"reason": moved}))
        if checked.decision.action is Action.RECREATE and isinstance(again, Found) and again.id:
            transaction.updates.relinked.append(Relink(claim.address, again.id))
        await self._store.commit(transaction)
        return ActionResult(checked, ActionOutcome.MOVED, moved)

    def _operation(self, checked: CheckResult, step: OperationStep) -> WriteOperation:
        action = checked.decision.action
        return WriteOperation(
            id=uuid.UUID(int=int(self._random01() * 2**62) << 64 | int(self._random01() * 2**62)).hex,
            address=checked.prepared.declaration.address,
            action=action.value,
            step=step,
            started_at=self._clock.now(),
            desired=checked.prepared.desired_digest,
            pre_image=digest_of(checked.observed) if checked.observed is not ABSENT else None,
            drift=tuple(checked.verdict.findings),
            phase="delete" if action is Action.REPLACE else "write",
        )

    async def _intend(self, checked: CheckResult, operation: WriteOperation, claim: Claim) -> None:
        """Record that a write begins, what it will change, and what it takes from the budgets; all or nothing."""
        because = {**_because(checked), **own_corrections.before(checked)}
        transaction = self._step(operation, checked.prepared, claim, "write.intended", because)
        correction = self._correction(checked, operation)
        transaction.governance.corrections.append(correction)
        transaction.documents[checked.prepared.desired_digest] = document_bytes(checked.prepared.desired)
        own_corrections.begin(transaction, checked, operation, self._checker.rules.assessment, self._owner)
        transaction.governance.charges[operation.id] = list(checked.charges)
        if checked.observed is not ABSENT:
            serialize.keep(transaction, checked.observed)
        if checked.inputs is not None and checked.inputs.approved and checked.plan:
            used = [each for each in await self._store.approvals([checked.address]) if each.plan == checked.plan]
            if not used and not checked.asked:
                raise HeldBack("its approval was used meanwhile")
            transaction.governance.approvals += [replace(each, used_at=operation.started_at) for each in used]
        await self._keeper.commit(transaction, claim)
        self._settler.begin(correction)

    def _correction(self, checked: CheckResult, operation: WriteOperation) -> CorrectionRecord:
        caused = set(checked.decision.reasons[0].paths)
        changed = tuple(
            PathCorrection(path, finding.observed, finding.desired, asked=finding.changed_by in _EDITED)
            for finding in checked.verdict.findings
            if (path := paths.format_path(finding.path)) in caused
        )
        by_person = checked.asked or (checked.inputs is not None and checked.inputs.approved)
        write_reason = WriteReason.INTENT if by_person else write_reasons.of_status(checked.verdict.status)
        return CorrectionRecord(
            operation.id,
            checked.address,
            operation.started_at,
            operation.action,
            write_reason.value,
            paths=changed,
            pre_image=operation.pre_image,
            who=self._owner,
        )

    async def _advance(self, operation: WriteOperation, prepared: ResolvedResource, claim: Claim, event: str) -> None:
        """Record how far a write has come, before going further."""
        await self._store.commit(self._step(operation, prepared, claim, event))

    def _step(
        self,
        operation: WriteOperation,
        prepared: ResolvedResource,
        claim: Claim,
        event: str,
        more: Mapping[str, Json] | None = None,
    ) -> Transaction:
        transaction = Transaction(writes=WriteChanges(operations=[operation], fences={claim.address: claim.fence}))
        data: dict[str, Json] = {"operation": operation.id, "action": operation.action, "phase": operation.phase}
        data.update(more or {})
        transaction.events.append(self._settler.event(event, prepared, data))
        return transaction

    # -- sending

    async def send(
        self, checked: CheckResult, operation: WriteOperation, claim: Claim, etag: str | None
    ) -> ActionResult:
        """Send a write that is recorded already, and bring it to its end."""
        try:
            writing = await self._write(checked.prepared, operation, checked, etag, self._leave(checked, claim))
        except HeldBack as held:
            return await self._held_back(checked, operation, held)
        return await self._sent(checked, operation, claim, writing)

    async def _sent(
        self, checked: CheckResult, operation: WriteOperation, claim: Claim, writing: WriteResult
    ) -> ActionResult:
        writing, operation = await self._follow(checked.prepared, operation, claim, writing)
        return await self.ended(checked, operation, claim, writing)

    async def ended(
        self, checked: CheckResult, operation: WriteOperation, claim: Claim, writing: WriteResult
    ) -> ActionResult:
        """Go on from the end of a provider's operation: the second half of a replacement, or settling."""
        item = checked.prepared
        if isinstance(writing, WriteFailure):
            if (
                writing.is_unsure
                and lost_create_reasons.is_creation(operation.action, operation.phase)
                and not item.kind.repeats_create
            ):
                return await self._perhaps_created(checked, operation, claim, writing)
            if writing.refusal is WriteError.MOVED and operation.action == Action.RECREATE.value:
                # The name is taken: what is there is looked at next, and not the id of what is gone.
                checked = replace(
                    checked, state=replace(checked.state, observed=replace(checked.state.observed, provider_id=None))
                )
            return await self._settler.refused(checked, operation, claim, writing)
        assert isinstance(writing, Done)
        if operation.phase == "delete":
            operation = replace(operation, phase="write", step=OperationStep.INTENDED, token={})
            # Whatever comes of it, the old id is from now on that of something gone.
            checked = replace(
                checked,
                prepared=item.without_id(),
                state=replace(checked.state, observed=replace(checked.state.observed, provider_id=None)),
            )
            await self._advance(operation, checked.prepared, claim, "write.intended")
            return await self.send(checked, operation, claim, None)
        operation = replace(operation, step=OperationStep.SETTLING, token={"id": writing.id})
        await self._advance(operation, item, claim, "write.accepted")
        return await self._settler.settle(checked, operation, claim)

    async def _perhaps_created(
        self, checked: CheckResult, operation: WriteOperation, claim: Claim, refused: WriteFailure
    ) -> ActionResult:
        """Look for what a create may have made although no answer says so, before anything is sent again."""
        item = checked.prepared.without_id()
        seen: ReadResult | lost_creates.Unsure = NotFound()
        for attempt in range(1, lost_creates.LOOKS + 1):
            asked = refused.retry_after_seconds if attempt == 1 else None
            await self._clock.sleep(self._patience.delay(attempt, asked, self._random01))
            seen = await lost_creates.look_for(self._checker, self._store, item)
            if not isinstance(seen, NotFound):
                break
        if isinstance(seen, lost_creates.Unsure):
            return await self.unsure(checked, operation, claim, replace(seen, why=f"{refused.message}; {seen.why}"))
        if isinstance(seen, Found):
            return await self.found(checked, operation, claim, seen)
        if isinstance(seen, ReadFailure):
            return ActionResult(
                checked, ActionOutcome.FAILED, f"{refused.message}; it could not be looked for, and is not repeated"
            )
        if operation.attempts + 1 >= self._patience.attempts:
            return await self._settler.refused(checked, operation, claim, refused)
        again = replace(operation, attempts=operation.attempts + 1)
        await self._advance(again, checked.prepared, claim, "write.intended")
        return await self.send(checked, again, claim, None)

    async def found(
        self, checked: CheckResult, operation: WriteOperation, claim: Claim, reading: Found
    ) -> ActionResult:
        """Go on with what was found where a create was begun: it is ours if it is what was asked for."""
        item = checked.prepared
        tree, _ = item.rules_for(reading.document)
        if diff.findings(item.desired, reading.document, tree):
            # Perhaps ours, perhaps made by somebody else under the same name: not to be learnt from.
            return await self._settler.given_up(checked, operation, claim, "what is there is not what was asked for")
        provider_id = reading.id or checked.state.observed.provider_id
        operation = replace(operation, step=OperationStep.SETTLING, token={"id": provider_id} if provider_id else {})
        return await self._settler.settle(checked, operation, claim)

    async def unsure(
        self, checked: CheckResult, operation: WriteOperation, claim: Claim, seen: lost_creates.Unsure
    ) -> ActionResult:
        """Record that nobody knows whether a create was made; it stays open until a person decides."""
        operation = replace(operation, step=OperationStep.UNSURE, token=seen.as_token())
        message = lost_create_reasons.message(operation.address, operation.token)
        transaction = self._step(operation, checked.prepared, claim, "write.unsure", {"message": message})
        await self._store.commit(transaction)
        return ActionResult(checked, ActionOutcome.UNSURE, message)

    async def _write(
        self,
        item: ResolvedResource,
        operation: WriteOperation,
        checked: CheckResult,
        etag: str | None,
        leave: Leave,
        *,
        has_turn: bool = False,
    ) -> WriteResult:
        writer = await self._world.writer(item.declaration.address.connection)
        target = replace(item.target(), version=None)  # what is written is written as declared
        if target.id is None and isinstance(checked.reading, Found):
            target = replace(target, id=checked.reading.id)  # there before us, and found by its name
        action = Action(operation.action)
        etag = etag if item.kind.conditional else None
        key = _key(operation)
        if operation.phase == "delete" or action is Action.DELETE:
            return await self._sender.patiently(
                item, CallKind.DELETE, lambda: writer.delete(target, key, etag), leave, has_turn=has_turn
            )
        if action is not Action.UPDATE:
            new = replace(target, id=None)
            return await self._sender.patiently(
                item,
                CallKind.WRITE,
                lambda: writer.create(new, key),
                leave,
                has_turn=has_turn,
                is_repeatable=item.kind.repeats_create,
            )
        begun = await self._settler.correction(operation) if leave.was_sent else None
        change = self._change(checked, begun, etag)
        return await self._sender.patiently(
            item, CallKind.WRITE, lambda: writer.update(target, change, key), leave, has_turn=has_turn
        )

    def _change(self, checked: CheckResult, begun: CorrectionRecord | None, etag: str | None) -> Change:
        """Return what an update sends: the paths that it was decided on, also where it was begun by another process."""
        caused = {each.path for each in begun.paths} if begun is not None else set(checked.decision.reasons[0].paths)
        observed = checked.reading.document if isinstance(checked.reading, Found) else None
        return Change(_pinned(checked), observed, _written_paths(checked, caused), etag, _left(checked))

    async def _follow(
        self, item: ResolvedResource, operation: WriteOperation, claim: Claim, writing: WriteResult
    ) -> tuple[WriteResult, WriteOperation]:
        """Follow a long-running operation to its end, recording its token so that anybody can."""
        seconds = min(self.follows_seconds, item.settings.operation_timeout)
        patience = operation_poll.PollPolicy(self._clock, self.stop, seconds)
        while isinstance(writing, InProgress):
            now = self._clock.now()
            operation = replace(
                operation, step=OperationStep.SENT, token=dict(writing.token), poll_at=now + writing.poll_after_seconds
            )
            await self._advance(operation, item, claim, "write.sent")
            await patience.wait(writing.poll_after_seconds)
            await self._keeper.ensure(claim)
            writing = await self._sender.polled(item, writing)
        return writing, operation

    # -- resuming

    async def resume(
        self, operation: WriteOperation, checked: CheckResult, *, create_again: bool = False
    ) -> ActionResult:
        """Finish a write that another process began; `checked` is a fresh look at the same resource.

        With `create_again` a person says that a create of which nobody knows may be repeated.
        """
        claim = await self._keeper.claim(operation.address)
        if claim is None:
            return ActionResult(checked, ActionOutcome.BUSY, "another worker is at it")
        resumer = write_resume.Resumer(self, self._store, self._checker, self._settler)
        try:
            async with self._keeper.keeping(claim):
                return await resumer.resume(operation, checked, claim, create_again=create_again)
        except StillInProgress as error:
            return ActionResult(checked, ActionOutcome.UNSETTLED, str(error))
        except ClaimLost:
            return await self._lost(checked)
        finally:
            await self._settler.let_go(claim)

    async def polled(self, operation: WriteOperation, checked: CheckResult, claim: Claim) -> ActionResult:
        """Go on following an operation that another process began to follow."""
        item = checked.prepared
        writer = await self._world.writer(item.declaration.address.connection)
        writing = await self._sender.patiently(item, CallKind.READ, lambda: writer.poll(item.target(), operation.token))
        return await self._sent(checked, operation, claim, writing)


def _budget(action: Action) -> CallKind:
    """Return which limit the first send of an action waits for."""
    return CallKind.DELETE if action in (Action.DELETE, Action.REPLACE) else CallKind.WRITE


def _is_overtaken(checked: CheckResult, claim: Claim) -> bool:
    """Tell whether somebody wrote the resource between our look and our claim; then the look is worth nothing."""
    before = checked.prepared.state
    return claim.revision != (before.applied.revision if before is not None else 0)


def _moved_since(checked: CheckResult, again: ReadResult | Unchanged) -> str | None:
    """Say how the world differs from what a decision was made on; None if it does not, where that counts."""
    if checked.inputs is not None and checked.inputs.uncompared:
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


def _because(checked: CheckResult) -> dict[str, Json]:
    """Return what a write is for: the reason, and the paths that caused it."""
    reason = checked.decision.reasons[0]
    return {"reason": reason.code, "message": reason.message, "paths": list(reason.paths)}


def _left(checked: CheckResult) -> tuple[str, ...]:
    """Return what an update must leave as it is."""
    if checked.tree is None:
        return ()
    caused = {path for reason in checked.decision.reasons[:1] for path in reason.paths}
    documents = (checked.prepared.desired, checked.observed)
    return protected_paths.left_alone(checked.verdict, caused, checked.unresolved, documents, checked.tree)


def _pinned(checked: CheckResult) -> Json:
    """Return what is declared, with the baseline value at the paths that the declaration alone did not revert."""
    pins = {path for reason in checked.decision.reasons if reason.code == "pin" for path in reason.paths}
    wanted = checked.prepared.clear
    for finding in checked.verdict.findings if pins else ():
        if paths.format_path(finding.path) in pins:
            wanted = apply_patch.put(apply_patch.copied(wanted), finding.path, finding.baseline)
    return wanted


def _written_paths(checked: CheckResult, caused: Collection[str]) -> tuple[str, ...]:
    """Return what an update may touch: the paths that caused it.

    A list is written as a whole, unless something in it is to be left alone; then only the elements that keys name.
    """
    left_alone = {decide.list_of(f.path) for f in checked.verdict.findings if paths.format_path(f.path) not in caused}
    out: dict[str, None] = {}
    for finding in checked.verdict.findings:
        path = paths.format_path(finding.path)
        if path in caused:
            whole = decide.list_of(finding.path)
            out[path if whole is None or whole in left_alone else paths.format_path(whole)] = None
    return tuple(out)


def _key(operation: WriteOperation) -> str:
    """Return the idempotency key of the write at hand; the two writes of a replacement have one each."""
    return f"{operation.id}-{operation.phase}"
