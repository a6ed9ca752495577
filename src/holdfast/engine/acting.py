"""Acting: claim, look again, write, follow, settle, capture. Every step is recorded before the next begins.

A crash at any point leaves an Operation that says how far we came; `resume` takes it from there, in this process or
another. Nothing that is not idempotent is repeated without looking first.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from holdfast.compare import diff, patching, paths
from holdfast.engine import leaving, recording
from holdfast.engine.assessing import remediating
from holdfast.engine.checking import Checked, Checker
from holdfast.engine.clock import Clock
from holdfast.engine.gates import Budget
from holdfast.engine.opening import WritableWorld
from holdfast.engine.outcomes import Acted, Result
from holdfast.engine.prepared import Prepared, digest_of, document_bytes
from holdfast.engine.retrying import Patience
from holdfast.engine.sending import Sender
from holdfast.engine.settling import Settler
from holdfast.model.absent import ABSENT
from holdfast.model.decision import Action
from holdfast.model.finding import Side
from holdfast.model.json import Json
from holdfast.model.reading import Found, Gone, Reading, Trouble, Unreadable
from holdfast.model.writing import Done, Refusal, Refused, UnderWay, Writing
from holdfast.plan import decide, motives
from holdfast.plan.motives import Motive
from holdfast.providers.base import Change, Target, Unchanged, Writer
from holdfast.store.base import (
    BudgetSpent,
    Claim,
    ClaimLost,
    CorrectedPath,
    Correction,
    Operation,
    Step,
    Store,
    Transaction,
)

CLAIM_SECONDS = 300.0
_EDITED = (Side.INTENT, Side.BOTH)
Still = Callable[[Checked], Awaitable[str | None]]  # asked right before a write: why it is not to be made after all


class Actor:
    """Carries out decisions, one writer a resource."""

    def __init__(  # noqa: PLR0913, PLR0917 - everything it acts through
        self,
        store: Store,
        world: WritableWorld,
        checker: Checker,
        clock: Clock,
        random01: Callable[[], float],
        owner: str,
        patience: Patience | None = None,
    ) -> None:
        self._store = store
        self._world = world
        self._checker = checker
        self._clock = clock
        self._random01 = random01
        self._owner = owner
        self._patience = patience or Patience()
        self._sender = Sender(world, clock, random01, self._patience)
        self._settler = Settler(store, checker, clock, random01, owner, self._patience)
        self.still: Still | None = None
        self.in_hand: AbstractAsyncContextManager[object] = contextlib.nullcontext()  # how many do so at once

    async def carry_out(self, checked: Checked) -> Acted:
        """Do what was decided, or say why not."""
        address = checked.prepared.declaration.address
        now = self._clock.now()
        claim = await self._store.claim(address, self._owner, now, now + CLAIM_SECONDS)
        if claim is None:
            return Acted(checked, Result.BUSY, "another worker is at it")
        try:
            if _is_overtaken(checked, claim):
                return Acted(checked, Result.OVERTAKEN, "another worker has just written it")
            if checked.decision.action is Action.ADOPT:
                return await self._adopt(checked, claim)
            return await self._guarded(checked, claim)
        except ClaimLost:
            return Acted(checked, Result.BUSY, "the claim ran out; another worker took over")
        finally:
            await self._settler.let_go(claim)

    async def _adopt(self, checked: Checked, claim: Claim) -> Acted:
        """Take over what exists as declared: remember it, write nothing."""
        operation = self._operation(checked, Step.SETTLING)
        return await self._settler.captured(checked, operation, claim, checked.reading)

    async def _guarded(self, checked: Checked, claim: Claim) -> Acted:
        """Look again just before writing; if the world moved since the decision, write nothing."""
        again = await self._look_again(checked)
        moved = _moved_since(checked, again)
        if moved is not None:
            return await self._aborted(checked, claim, moved, again)
        etag = again.etag if isinstance(again, Found) else None
        if isinstance(again, Found):  # what is written goes on from here: fields that are not compared may have moved
            checked = replace(checked, reading=again)
        async with self.in_hand:
            stopped = await self.still(checked) if self.still is not None else None
            if stopped is not None:
                return Acted(checked, Result.HELD, stopped)
            operation = self._operation(checked, Step.INTENDED)
            try:
                await self._intend(checked, operation, claim)
            except BudgetSpent as error:
                return Acted(checked, Result.HELD, f"the budget was spent meanwhile: {error.purse}")
            writing = await self._write(checked.prepared, operation, checked, etag)
        return await self._sent(checked, operation, claim, writing)

    async def _look_again(self, checked: Checked) -> Reading | Unchanged:
        """Read what is to be written; what is to be made again also by its name, which somebody may have taken."""
        again = await self._checker.read(checked.prepared, None)
        if isinstance(again, Gone) and checked.decision.action is Action.RECREATE:
            again = await self._checker.read(checked.prepared.without_id(), None)
        return again

    async def _aborted(self, checked: Checked, claim: Claim, moved: str, again: Reading | Unchanged) -> Acted:
        """Note that nothing was written; if another bears the name of what is gone by now, that is looked at next."""
        transaction = Transaction(fences={claim.address: claim.fence})
        transaction.events.append(self._settler.event("write.aborted", checked.prepared, {"reason": moved}))
        state = await self._store.state(claim.address)
        if checked.decision.action is Action.RECREATE and state is not None and isinstance(again, Found) and again.id:
            transaction.states.append(replace(state, provider_id=again.id))
        await self._store.commit(transaction)
        return Acted(checked, Result.MOVED, moved)

    def _operation(self, checked: Checked, step: Step) -> Operation:
        action = checked.decision.action
        return Operation(
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

    async def _intend(self, checked: Checked, operation: Operation, claim: Claim) -> None:
        """Record that a write begins, what it will change, and what it takes from the budgets; all or nothing."""
        because = {**_because(checked), **remediating.before(checked)}
        transaction = self._step(operation, checked.prepared, claim, "write.intended", because)
        correction = self._correction(checked, operation)
        transaction.corrections.append(correction)
        transaction.documents[checked.prepared.desired_digest] = document_bytes(checked.prepared.desired)
        remediating.begin(transaction, checked, operation, self._checker.rules.assessment, self._owner)
        transaction.charges[operation.id] = list(checked.charges)
        if checked.observed is not ABSENT:
            recording.keep(transaction, checked.observed)
        if checked.situation is not None and checked.situation.approved and checked.plan:
            used = await self._store.approvals([checked.address])
            transaction.approvals += [
                replace(each, used_at=operation.started_at) for each in used if each.plan == checked.plan
            ]
        await self._store.commit(transaction)
        self._settler.begin(correction)

    def _correction(self, checked: Checked, operation: Operation) -> Correction:
        caused = set(checked.decision.reasons[0].paths)
        changed = tuple(
            CorrectedPath(path, finding.observed, finding.desired, asked=finding.side in _EDITED)
            for finding in checked.verdict.findings
            if (path := paths.format_path(finding.path)) in caused
        )
        by_person = checked.asked or (checked.situation is not None and checked.situation.approved)
        motive = Motive.INTENT if by_person else motives.of_status(checked.verdict.status)
        return Correction(
            operation.id,
            checked.address,
            operation.started_at,
            operation.action,
            motive.value,
            paths=changed,
            pre_image=operation.pre_image,
            who=self._owner,
        )

    async def _advance(self, operation: Operation, prepared: Prepared, claim: Claim, event: str) -> None:
        """Record how far a write has come, before going further."""
        await self._store.commit(self._step(operation, prepared, claim, event))

    def _step(
        self,
        operation: Operation,
        prepared: Prepared,
        claim: Claim,
        event: str,
        more: Mapping[str, Json] | None = None,
    ) -> Transaction:
        transaction = Transaction(operations=[operation], fences={claim.address: claim.fence})
        data: dict[str, Json] = {"operation": operation.id, "action": operation.action, "phase": operation.phase}
        data.update(more or {})
        transaction.events.append(self._settler.event(event, prepared, data))
        return transaction

    # -- sending

    async def _send(self, checked: Checked, operation: Operation, claim: Claim, etag: str | None) -> Acted:
        writing = await self._write(checked.prepared, operation, checked, etag)
        return await self._sent(checked, operation, claim, writing)

    async def _sent(self, checked: Checked, operation: Operation, claim: Claim, writing: Writing) -> Acted:
        writing, operation = await self._follow(checked.prepared, operation, claim, writing)
        return await self._ended(checked, operation, claim, writing)

    async def _ended(self, checked: Checked, operation: Operation, claim: Claim, writing: Writing) -> Acted:
        """Go on from the end of a provider's operation: the second half of a replacement, or settling."""
        if isinstance(writing, Refused):
            if writing.refusal is Refusal.MOVED and operation.action == Action.RECREATE.value:
                # The name is taken: what is there is looked at next, and not the id of what is gone.
                checked = replace(checked, state=replace(checked.state, provider_id=None))
            return await self._settler.refused(checked, operation, claim, writing)
        assert isinstance(writing, Done)
        item = checked.prepared
        if operation.phase == "delete":
            operation = replace(operation, phase="write", step=Step.INTENDED, token={})
            # Whatever comes of it, the old id is from now on that of something gone.
            checked = replace(checked, prepared=item.without_id(), state=replace(checked.state, provider_id=None))
            await self._advance(operation, checked.prepared, claim, "write.intended")
            return await self._send(checked, operation, claim, None)
        operation = replace(operation, step=Step.SETTLING, token={"id": writing.id})
        await self._advance(operation, item, claim, "write.accepted")
        return await self._settler.settle(checked, operation, claim)

    async def _write(self, item: Prepared, operation: Operation, checked: Checked, etag: str | None) -> Writing:
        writer = await self._world.writer(item.declaration.address.connection)
        target = replace(item.target(), version=None)  # what is written is written as declared
        if target.id is None and isinstance(checked.reading, Found):
            target = replace(target, id=checked.reading.id)  # there before us, and found by its name
        action = Action(operation.action)
        etag = etag if item.kind.conditional else None
        if operation.phase == "delete" or action is Action.DELETE:
            return await self._sender.patiently(
                item, Budget.DELETE, lambda: writer.delete(target, _key(operation), etag)
            )
        if action is Action.UPDATE:
            begun = await self._settler.correction(operation)
            touched = _written_paths(checked, {each.path for each in begun.paths} if begun is not None else set())
            observed = checked.reading.document if isinstance(checked.reading, Found) else None
            change = Change(_pinned(checked), observed, touched, etag, _left(checked))
            return await self._sender.patiently(
                item, Budget.WRITE, lambda: writer.update(target, change, _key(operation))
            )
        return await self._create(item, operation, writer, replace(target, id=None))

    async def _create(self, item: Prepared, operation: Operation, writer: Writer, target: Target) -> Writing:
        return await self._sender.patiently(item, Budget.WRITE, lambda: writer.create(target, _key(operation)))

    async def _follow(
        self, item: Prepared, operation: Operation, claim: Claim, writing: Writing
    ) -> tuple[Writing, Operation]:
        """Follow a long-running operation to its end, recording its token so that anybody can."""
        while isinstance(writing, UnderWay):
            now = self._clock.now()
            operation = replace(
                operation, step=Step.SENT, token=dict(writing.token), poll_at=now + writing.poll_after_seconds
            )
            await self._advance(operation, item, claim, "write.sent")
            await self._clock.sleep(writing.poll_after_seconds)
            claim = await self._store.renew(claim, self._clock.now() + CLAIM_SECONDS) or claim
            writing = await self._sender.polled(item, writing)
        return writing, operation

    # -- resuming

    async def resume(self, operation: Operation, checked: Checked) -> Acted:
        """Finish a write that another process began; `checked` is a fresh look at the same resource."""
        now = self._clock.now()
        claim = await self._store.claim(operation.address, self._owner, now, now + CLAIM_SECONDS)
        if claim is None:
            return Acted(checked, Result.BUSY, "another worker is at it")
        try:
            # It may have been finished, or carried on, between our finding it and our claim.
            found = [each for each in await self._store.operations(operation.address) if each.id == operation.id]
            if found != [operation]:
                return Acted(checked, Result.OVERTAKEN, "another worker has carried it on")
            checked = await self._as_begun(operation, checked)
            match operation.step:
                case Step.INTENDED:
                    return await self._resume_intended(operation, checked, claim)
                case Step.SENT:
                    return await self._resume_sent(operation, checked, claim)
                case Step.SETTLING | Step.DONE:
                    return await self._settler.settle(checked, operation, claim)
        except ClaimLost:
            return Acted(checked, Result.BUSY, "the claim ran out; another worker took over")
        finally:
            await self._settler.let_go(claim)

    async def _as_begun(self, operation: Operation, checked: Checked) -> Checked:
        """Return the check with the declaration that the write was begun with, which may have been edited since.

        What is captured at the end of a write is what that write asked for; an edit made since is a matter of its own.
        """
        item = checked.prepared
        if operation.desired is None or operation.desired == item.desired_digest:
            return checked
        begun = await self._store.document(operation.desired)
        return replace(checked, prepared=replace(item, desired=begun, desired_digest=operation.desired))

    async def _resume_intended(self, operation: Operation, checked: Checked, claim: Claim) -> Acted:
        """Nobody knows whether the provider was asked: the world tells, or the same key makes asking again harmless."""
        if isinstance(checked.reading, Unreadable) and checked.reading.trouble is not Trouble.WITHHELD:
            return Acted(checked, Result.FAILED, "it could not be read; the write that was begun waits")
        creating = operation.action in (Action.CREATE.value, Action.RECREATE.value) or (
            operation.action == Action.REPLACE.value and operation.phase == "write"
        )
        if creating and isinstance(checked.reading, Found):
            tree, _ = checked.prepared.rules_for(checked.reading.document)
            if diff.findings(checked.prepared.desired, checked.observed, tree):
                # Perhaps ours, perhaps made by somebody else under the same name: not to be learnt from.
                return await self._settler.given_up(
                    checked, operation, claim, "what is there is not what was asked for"
                )
            return await self._settle_found(checked, operation, claim)
        if digest_of(checked.prepared.desired) != checked.state.desired and operation.action != Action.DELETE.value:
            return await self._settler.given_up(checked, operation, claim, "superseded by an edit before it was sent")
        if not creating and not await self._is_unmoved(operation, checked):
            if await self._is_written(operation, checked):
                return await self._settle_found(checked, operation, claim)
            return await self._settler.given_up(checked, operation, claim, "it moved since the write was begun")
        etag = checked.reading.etag if isinstance(checked.reading, Found) else None
        return await self._send(checked, operation, claim, etag)

    async def _settle_found(self, checked: Checked, operation: Operation, claim: Claim) -> Acted:
        provider_id = checked.state.provider_id
        operation = replace(operation, step=Step.SETTLING, token={"id": provider_id} if provider_id else {})
        return await self._settler.settle(checked, operation, claim)

    async def _is_unmoved(self, operation: Operation, checked: Checked) -> bool:
        """Tell whether what is there is what a write was decided on; that something to be removed is gone will do."""
        if checked.observed is ABSENT or operation.pre_image is None:
            return operation.action != Action.UPDATE.value
        assert checked.tree is not None
        before = await self._store.document(operation.pre_image)
        return not diff.differences(before, checked.observed, checked.tree)

    async def _is_written(self, operation: Operation, checked: Checked) -> bool:
        """Tell whether what an update was to put right is right: then it was sent, and only the record is missing."""
        begun = await self._settler.correction(operation)
        if operation.action != Action.UPDATE.value or begun is None or not isinstance(checked.reading, Found):
            return False
        wrong = {paths.format_path(finding.path) for finding in checked.verdict.findings}
        return not wrong & {each.path for each in begun.paths}

    async def _resume_sent(self, operation: Operation, checked: Checked, claim: Claim) -> Acted:
        item = checked.prepared
        writer = await self._world.writer(item.declaration.address.connection)
        writing = await self._sender.patiently(item, Budget.READ, lambda: writer.poll(item.target(), operation.token))
        writing, operation = await self._follow(item, operation, claim, writing)
        return await self._ended(checked, operation, claim, writing)


def _is_overtaken(checked: Checked, claim: Claim) -> bool:
    """Tell whether somebody wrote the resource between our look and our claim; then the look is worth nothing."""
    before = checked.prepared.state
    return claim.revision != (before.applied_revision if before is not None else 0)


def _moved_since(checked: Checked, again: Reading | Unchanged) -> str | None:
    """Say how the world differs from what a decision was made on; None if it does not, where that counts."""
    if checked.situation is not None and checked.situation.uncompared:
        return None  # it is written whatever it holds
    match again:
        case Unreadable(trouble=trouble):
            return f"could not be read again before the write ({trouble.value})"
        case Gone():
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


def _because(checked: Checked) -> dict[str, Json]:
    """Return what a write is for: the reason, and the paths that caused it."""
    reason = checked.decision.reasons[0]
    return {"reason": reason.code, "message": reason.message, "paths": list(reason.paths)}


def _left(checked: Checked) -> tuple[str, ...]:
    """Return what an update must leave as it is."""
    if checked.tree is None:
        return ()
    caused = {path for reason in checked.decision.reasons[:1] for path in reason.paths}
    documents = (checked.prepared.desired, checked.observed)
    return leaving.left_alone(checked.verdict, caused, checked.unresolved, documents, checked.tree)


def _pinned(checked: Checked) -> Json:
    """Return what is declared, with the baseline value at the paths that the declaration alone did not put back."""
    pins = {path for reason in checked.decision.reasons if reason.code == "pin" for path in reason.paths}
    wanted = checked.prepared.clear
    for finding in checked.verdict.findings if pins else ():
        if paths.format_path(finding.path) in pins:
            wanted = patching.put(patching.copied(wanted), finding.path, finding.baseline)
    return wanted


def _written_paths(checked: Checked, caused: Collection[str]) -> tuple[str, ...]:
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


def _key(operation: Operation) -> str:
    """Return the idempotency key of the write at hand; the two writes of a replacement have one each."""
    return f"{operation.id}-{operation.phase}"
