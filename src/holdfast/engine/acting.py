"""Acting: claim, look again, write, follow, settle, capture. Every step is recorded before the next begins.

A crash at any point leaves an Operation that says how far we came; `resume` takes it from there, in this process or
another. Nothing that is not idempotent is repeated without looking first.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from holdfast.compare import diff, known_differences, paths, schemes, verdicts
from holdfast.engine import recording
from holdfast.engine.checking import Checked, Checker
from holdfast.engine.clock import Clock
from holdfast.engine.conditions import conditions_after_check
from holdfast.engine.gates import Budget
from holdfast.engine.opening import WritableWorld
from holdfast.engine.prepared import Prepared, digest_of
from holdfast.engine.redaction import Fingerprint, redact
from holdfast.engine.retrying import Patience
from holdfast.model.absent import ABSENT
from holdfast.model.condition import merge
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.reading import Found, Gone, Reading, Trouble, Unreadable
from holdfast.model.resource import Origin
from holdfast.model.verdict import Status
from holdfast.model.writing import Done, Refusal, Refused, UnderWay, Writing
from holdfast.plan.decide import Situation, decide
from holdfast.providers.base import Change, Target, Unchanged, Writer
from holdfast.store.base import Claim, ClaimLost, Event, Operation, ResourceState, Revision, Step, Store, Transaction

CLAIM_SECONDS = 300.0
SETTLE_READS = 60
LAGGING_READS = 12


class Result(StrEnum):
    """How carrying out a decision ended."""

    DONE = "done"
    BUSY = "busy"  # another worker has the resource
    OVERTAKEN = "overtaken"  # another worker has written it since we looked
    MOVED = "moved"  # the world changed since the plan; nothing was written
    FAILED = "failed"  # tried, not done; will be tried again
    TERMINAL = "terminal"  # refused for good; waits for an edit
    UNSETTLED = "unsettled"  # written, but the settled state could not be read yet


LEFT_TO_OTHERS = frozenset({Result.BUSY, Result.OVERTAKEN})  # no failures: somebody is or was at it


@dataclass(frozen=True, slots=True)
class Acted:
    """What came of an action."""

    checked: Checked
    result: Result
    message: str
    unresolved: tuple[str, ...] = ()


class Actor:
    """Carries out decisions, one writer a resource."""

    def __init__(  # noqa: PLR0913, PLR0917 - everything it acts through
        self,
        store: Store,
        world: WritableWorld,
        checker: Checker,
        clock: Clock,
        random01: Callable[[], float],
        fingerprint: Fingerprint,
        owner: str,
        patience: Patience | None = None,
    ) -> None:
        self._store = store
        self._world = world
        self._checker = checker
        self._clock = clock
        self._random01 = random01
        self._fingerprint = fingerprint
        self._owner = owner
        self._patience = patience or Patience()

    async def carry_out(self, checked: Checked) -> Acted:
        """Do what was decided, or say why not."""
        address = checked.prepared.declaration.address
        now = self._clock.now()
        claim = await self._store.claim(address, self._owner, now, now + CLAIM_SECONDS)
        if claim is None:
            return Acted(checked, Result.BUSY, "another worker is at it")
        try:
            if await self._is_overtaken(checked):
                return Acted(checked, Result.OVERTAKEN, "another worker has just written it")
            if checked.decision.action is Action.ADOPT:
                return await self._adopt(checked, claim)
            return await self._guarded(checked, claim)
        except ClaimLost:
            return Acted(checked, Result.BUSY, "the claim ran out; another worker took over")
        finally:
            await self._store.release(claim)

    async def _is_overtaken(self, checked: Checked) -> bool:
        """Tell whether somebody wrote the resource between our look and our claim; then the look is worth nothing."""
        before, now = checked.prepared.state, await self._store.state(checked.prepared.declaration.address)
        looked_at = before.applied_revision if before is not None else 0
        return (now.applied_revision if now is not None else 0) != looked_at

    async def _adopt(self, checked: Checked, claim: Claim) -> Acted:
        """Take over what exists as declared: remember it, write nothing."""
        origin = Origin.IMPORTED if checked.prepared.declaration.import_from is not None else Origin.CREATED
        operation = self._operation(checked, Step.SETTLING)
        return await self._captured(checked, operation, claim, checked.reading, origin=origin)

    async def _guarded(self, checked: Checked, claim: Claim) -> Acted:
        """Look again just before writing; if the world moved since the decision, write nothing."""
        again = await self._checker.read(checked.prepared, None)
        moved = self._moved_since(checked, again)
        if moved is not None:
            transaction = Transaction(fences={claim.address: claim.fence})
            transaction.events.append(self._event("write.aborted", checked.prepared, {"reason": moved}))
            await self._store.commit(transaction)
            return Acted(checked, Result.MOVED, moved)
        etag = again.etag if isinstance(again, Found) else None
        operation = self._operation(checked, Step.INTENDED)
        await self._advance(operation, checked.prepared, claim, "write.intended")
        return await self._send(checked, operation, claim, etag)

    def _moved_since(self, checked: Checked, again: Reading | Unchanged) -> str | None:
        match again:
            case Unreadable(trouble=trouble):
                return f"could not be read again before the write ({trouble.value})"
            case Gone():
                return None if checked.observed is ABSENT else "it disappeared since the plan"
            case Found(document=document):
                if checked.observed is ABSENT:
                    return "it appeared since the plan"
                assert checked.tree is not None
                seen = redact(document, checked.tree, self._fingerprint, checked.prepared.secret_values())
                if seen == checked.observed or not diff.differences(checked.observed, seen, checked.tree):
                    return None
                return "it changed since the plan"
            case Unchanged():
                return None

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

    async def _advance(self, operation: Operation, prepared: Prepared, claim: Claim, event: str) -> None:
        """Record how far a write has come, before going further."""
        transaction = Transaction(operations=[operation], fences={claim.address: claim.fence})
        recording.keep(transaction, prepared.desired)
        transaction.events.append(
            self._event(
                event, prepared, {"operation": operation.id, "action": operation.action, "phase": operation.phase}
            )
        )
        await self._store.commit(transaction)

    # -- sending

    async def _send(self, checked: Checked, operation: Operation, claim: Claim, etag: str | None) -> Acted:
        item = checked.prepared
        writing = await self._write(item, operation, checked, etag)
        writing, operation = await self._follow(item, operation, claim, writing)
        return await self._ended(checked, operation, claim, writing)

    async def _ended(self, checked: Checked, operation: Operation, claim: Claim, writing: Writing) -> Acted:
        """Go on from the end of a provider's operation: the second half of a replacement, or settling."""
        if isinstance(writing, Refused):
            return await self._refused(checked, operation, claim, writing)
        assert isinstance(writing, Done)
        item = checked.prepared
        if operation.phase == "delete":
            operation = replace(operation, phase="write", step=Step.INTENDED, token={})
            item = item.with_state(replace(item.state, provider_id=None) if item.state is not None else None)
            await self._advance(operation, item, claim, "write.intended")
            return await self._send(replace(checked, prepared=item), operation, claim, None)
        operation = replace(operation, step=Step.SETTLING, token={"id": writing.id})
        await self._advance(operation, item, claim, "write.accepted")
        return await self._settle(checked, operation, claim)

    async def _write(self, item: Prepared, operation: Operation, checked: Checked, etag: str | None) -> Writing:
        writer = await self._world.writer(item.declaration.address.connection)
        target = item.target()
        action = Action(operation.action)
        if operation.phase == "delete" or action is Action.DELETE:
            return await self._patiently(item, Budget.DELETE, lambda: writer.delete(target, _key(operation)))
        if action is Action.UPDATE:
            touched = _written_paths(checked)
            observed = checked.reading.document if isinstance(checked.reading, Found) else None
            change = Change(item.clear, observed, touched, etag if item.kind.conditional else None)
            return await self._patiently(item, Budget.WRITE, lambda: writer.update(target, change, _key(operation)))
        return await self._create(item, operation, writer, replace(target, id=None))

    async def _create(self, item: Prepared, operation: Operation, writer: Writer, target: Target) -> Writing:
        return await self._patiently(item, Budget.WRITE, lambda: writer.create(target, _key(operation)))

    async def _patiently(self, item: Prepared, budget: Budget, call: Callable[[], Awaitable[Writing]]) -> Writing:
        """Send through the gate; retry what may pass, slow the connection when told to."""
        connection = item.declaration.address.connection
        gate = self._world.gate(connection)
        attempt = 0
        while True:
            attempt += 1
            async with gate.turn(budget):
                writing = await call()
            if not isinstance(writing, Refused) or attempt >= self._patience.attempts:
                return writing
            if writing.refusal is Refusal.THROTTLED:
                gate.throttled(writing.retry_after_seconds)
            elif writing.refusal is Refusal.RETRYABLE:
                await self._clock.sleep(self._patience.delay(attempt, writing.retry_after_seconds, self._random01))
            else:
                return writing

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
            writer = await self._world.writer(item.declaration.address.connection)
            token = operation.token
            writing = await self._patiently(item, Budget.READ, lambda: writer.poll(item.target(), token))  # noqa: B023
        return writing, operation

    async def _refused(self, checked: Checked, operation: Operation, claim: Claim, refused: Refused) -> Acted:
        """Remember a no: a terminal one stops the resource, others leave it for the next round."""
        state = checked.state
        terminal = refused.refusal is Refusal.TERMINAL
        after = replace(state, terminal=refused.message if terminal else None, failures=state.failures + 1)
        transaction = Transaction(
            states=[after],
            finished=[operation.id],
            findings={state.address: checked.verdict.findings},
            findings_at=checked.at,
            fences={claim.address: claim.fence},
        )
        recording.keep(transaction, checked.prepared.desired)
        transaction.events.append(
            self._event(
                "write.refused",
                checked.prepared,
                {"operation": operation.id, "refusal": refused.refusal.value, "message": refused.message},
            )
        )
        await self._store.commit(transaction)
        if terminal:
            return Acted(checked, Result.TERMINAL, refused.message)
        if refused.refusal is Refusal.MOVED:
            return Acted(checked, Result.MOVED, refused.message)
        return Acted(checked, Result.FAILED, refused.message)

    # -- settling

    async def _settle(self, checked: Checked, operation: Operation, claim: Claim) -> Acted:
        """Read until the state is settled, then learn from it."""
        provider_id = operation.token.get("id")
        item = checked.prepared
        state = item.state or ResourceState(item.declaration.address, item.declaration.provider)
        item = item.with_state(replace(state, provider_id=provider_id))
        if operation.action == Action.DELETE.value:
            return await self._deleted(checked, operation, claim)
        absent = 0
        for attempt in range(1, SETTLE_READS + 1):
            reading = await self._checker.read(item, None)
            absent = absent + 1 if isinstance(reading, Gone) else 0
            if absent >= LAGGING_READS:  # longer than any read lags behind a write
                return await self._given_up(checked, operation, claim, "it was written, and is gone again")
            if isinstance(reading, Found):
                return await self._captured(replace(checked, prepared=item), operation, claim, reading)
            wait = self._patience.delay(min(attempt, 8), None, self._random01)
            if isinstance(reading, Unreadable) and reading.trouble not in (Trouble.UNSETTLED, Trouble.UNCONFIRMED):
                break
            await self._clock.sleep(wait)
        return Acted(checked, Result.UNSETTLED, "written; its settled state could not be read yet")

    async def _captured(
        self,
        checked: Checked,
        operation: Operation,
        claim: Claim,
        reading: Reading | Unchanged,
        origin: Origin | None = None,
    ) -> Acted:
        """Learn the baseline from a settled read, and record the end of the write, all in one transaction."""
        assert isinstance(reading, Found)
        item, now = checked.prepared, self._clock.now()
        tree, _ = item.rules_for(reading.document)
        observed = redact(reading.document, tree, self._fingerprint, item.secret_values())
        adopting = operation.action == Action.ADOPT.value
        capture = known_differences.capture(
            item.desired, observed, tree, before=checked.baseline, drift=operation.drift, adopted=adopting
        )
        stuck = tuple(paths.format_path(entry.path) for entry in capture.unresolved)
        still = tuple(f for f in diff.findings(item.desired, observed, tree, capture.baseline))
        state = item.state or checked.state
        transaction = Transaction(findings_at=now, fences={claim.address: claim.fence})
        written = recording.keep(transaction, item.desired)
        after = replace(
            state,
            provider=item.declaration.provider,
            provider_id=operation.token.get("id") or reading.id or state.provider_id or item.declaration.address.name,
            desired=written,
            applied=written,
            applied_revision=checked.state.applied_revision + 1,
            generation=checked.state.generation,
            baseline=recording.keep(transaction, capture.baseline.observed),
            observed=recording.keep(transaction, observed),
            known=recording.keep(transaction, recording.known_document(capture.known, stuck)),
            rules=recording.keep(transaction, item.rules_document),
            origin=origin or (state.origin if state.applied is not None else Origin.CREATED),
            status=Status.DRIFTED if still else Status.IN_SYNC,
            reason="our write did not take everywhere" if still else "as declared",
            etag=reading.etag,
            raw_digest=reading.raw_digest,
            checked_at=now,
            good_at=now,
            settle_until=now + item.settings.settle_window,
            resync_seconds=item.settings.resync_period,
            due_at=checked.state.due_at,
            labels=item.declaration.labels,
            options=item.options,
            conditions=checked.state.conditions,
            depends_on=item.depends_on,
            source=str(item.declaration.location) or None,
            terminal=None,
            failures=0,
        )
        settled = verdicts.conclude(still)
        told = conditions_after_check(after.generation, settled, decide(settled, Situation(applied=True)), now)
        after = replace(after, conditions=tuple(merge({c.type: c for c in after.conditions}, told).values()))
        transaction.states.append(after)
        transaction.findings[after.address] = still
        transaction.revisions.append(
            Revision(after.address, after.applied_revision, written, str(schemes.ORDERED.stamp(item.desired)), now)
        )
        transaction.finished.append(operation.id)
        transaction.events.append(
            self._event(
                "adopted" if adopting else "write.done",
                item,
                {
                    "operation": operation.id,
                    "action": operation.action,
                    "revision": after.applied_revision,
                    "pre_image": operation.pre_image,
                    "id": after.provider_id,
                    "unresolved": list(stuck),
                    "paths": recording.finding_paths(operation.drift),
                    "side_effects": recording.finding_paths(capture.side_effects),
                },
            )
        )
        await self._store.commit(transaction)
        message = f"written, but {', '.join(stuck)} did not take" if stuck else "as declared"
        return Acted(replace(checked, state=after), Result.DONE, message, stuck)

    async def _deleted(self, checked: Checked, operation: Operation, claim: Claim) -> Acted:
        address = checked.prepared.declaration.address
        for attempt in range(1, SETTLE_READS + 1):
            reading = await self._checker.read(checked.prepared, None)
            if isinstance(reading, Gone):
                break
            await self._clock.sleep(self._patience.delay(min(attempt, 8), None, self._random01))
        else:
            return Acted(checked, Result.UNSETTLED, "deleted, but it is still there")
        transaction = Transaction(forgotten=[address], finished=[operation.id], fences={claim.address: claim.fence})
        transaction.events.append(
            self._event(
                "write.done",
                checked.prepared,
                {"operation": operation.id, "action": operation.action, "pre_image": operation.pre_image},
            )
        )
        await self._store.commit(transaction)
        return Acted(checked, Result.DONE, "deleted")

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
                    return await self._settle(checked, operation, claim)
        except ClaimLost:
            return Acted(checked, Result.BUSY, "the claim ran out; another worker took over")
        finally:
            await self._store.release(claim)

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
        creating = operation.action in (Action.CREATE.value, Action.RECREATE.value) or (
            operation.action == Action.REPLACE.value and operation.phase == "write"
        )
        if creating and isinstance(checked.reading, Found):
            tree, _ = checked.prepared.rules_for(checked.reading.document)
            if diff.findings(checked.prepared.desired, checked.observed, tree):
                # Perhaps ours, perhaps made by somebody else under the same name: not to be learnt from.
                return await self._given_up(checked, operation, claim, "what is there is not what was asked for")
            provider_id = checked.state.provider_id
            operation = replace(operation, step=Step.SETTLING, token={"id": provider_id} if provider_id else {})
            return await self._settle(checked, operation, claim)
        if digest_of(checked.prepared.desired) != checked.state.desired and operation.action != Action.DELETE.value:
            return await self._given_up(checked, operation, claim, "superseded by an edit before it was sent")
        etag = checked.reading.etag if isinstance(checked.reading, Found) else None
        return await self._send(checked, operation, claim, etag)

    async def _given_up(self, checked: Checked, operation: Operation, claim: Claim, why: str) -> Acted:
        """End a write that leads nowhere; what is to be done now is for the next check to say."""
        transaction = Transaction(finished=[operation.id], fences={claim.address: claim.fence})
        transaction.events.append(
            self._event("write.given_up", checked.prepared, {"operation": operation.id, "why": why})
        )
        await self._store.commit(transaction)
        return Acted(checked, Result.FAILED, why)

    async def _resume_sent(self, operation: Operation, checked: Checked, claim: Claim) -> Acted:
        item = checked.prepared
        writer = await self._world.writer(item.declaration.address.connection)
        writing = await self._patiently(item, Budget.READ, lambda: writer.poll(item.target(), operation.token))
        writing, operation = await self._follow(item, operation, claim, writing)
        return await self._ended(checked, operation, claim, writing)

    def _event(self, kind: str, prepared: Prepared, data: dict[str, Json]) -> Event:
        return Event(self._clock.now(), kind, str(prepared.declaration.address), {**data, "worker": self._owner})


def _written_paths(checked: Checked) -> tuple[str, ...]:
    """Return what an update may touch: the paths that caused it, a list always as a whole."""
    caused = {path for reason in checked.decision.reasons for path in reason.paths}
    out: dict[str, None] = {}
    for finding in checked.verdict.findings:
        if paths.format_path(finding.path) in caused:
            steps = list(itertools.takewhile(lambda step: isinstance(step, str), finding.path))
            out[paths.format_path(tuple(steps))] = None
    return tuple(out)


def _key(operation: Operation) -> str:
    """Return the idempotency key of the write at hand; the two writes of a replacement have one each."""
    return f"{operation.id}-{operation.phase}"
