"""Undoing: revert what was there before a correction of ours, as carefully as it was made.

The same guard as for any write: if what we wrote is not what is there any more, somebody has moved it since, and
nothing is undone. Afterwards the world differs from the declaration on purpose, so the paths are left to a person;
otherwise the next check would correct them again.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from holdfast.compare import apply_patch, paths
from holdfast.compare.comparators import is_fingerprint
from holdfast.errors import InputError
from holdfast.model.absent import ABSENT
from holdfast.model.decision import Action
from holdfast.model.finding import ChangedBy
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadFailure
from holdfast.model.write_result import Done, InProgress, WriteError, WriteFailure, Writing
from holdfast.policy.write_history import WHOLE
from holdfast.policy.write_reasons import WriteReason
from holdfast.providers.protocol import Change
from holdfast.reconcile import worker_identity
from holdfast.reconcile.check import Checker, CheckResult
from holdfast.reconcile.claims import Keeper
from holdfast.reconcile.clock import Clock
from holdfast.reconcile.connections import WritableConnections
from holdfast.reconcile.policy_evaluation import UNDONE
from holdfast.reconcile.rate_limit import CallKind
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.reconcile.send import HeldBack, Leave, Sender
from holdfast.store.governance import CorrectionOutcome, CorrectionRecord, PathCorrection, Quarantine
from holdfast.store.protocol import Store
from holdfast.store.records import AuditEvent, Claim, ClaimLost, OperationStep, WriteOperation
from holdfast.store.transaction import GovernanceChanges, Transaction, WriteChanges

PHASE: Final = "undo"  # of the operation of an undo
_SENT_BEFORE: Final = "it was begun, and is finished when it may be"
_UPDATED = Action.UPDATE.value
_MADE = frozenset({Action.CREATE.value, Action.RECREATE.value})
_UNWRITTEN = frozenset(
    {WriteError.MOVED, WriteError.DENIED, WriteError.TERMINAL}
)  # after other refusals nobody knows: the answer may be lost


class CannotUndo(InputError):  # noqa: N818 - what a person asked for cannot be done
    """A correction that cannot be taken back, with the reason and what to do instead."""


class Postponed(CannotUndo):
    """A correction that cannot be taken back now, but perhaps later: somebody is at it, or it is paused."""


@dataclass(frozen=True, slots=True)
class Undone:
    """What came of it."""

    correction: CorrectionRecord  # the new one
    message: str


@dataclass(frozen=True, slots=True)
class _Undo:
    """A correction, the one that takes it back, and how far that has come."""

    correction: CorrectionRecord
    taken: CorrectionRecord
    operation: WriteOperation


@dataclass(slots=True)
class CorrectionUndo:
    """Takes corrections back."""

    store: Store
    world: WritableConnections
    checker: Checker
    clock: Clock
    random01: Callable[[], float]
    owner: str
    sender: Sender
    _keeper: Keeper = field(init=False)

    def __post_init__(self) -> None:
        """Keep the claims of undos like those of every other write."""
        self._keeper = Keeper(self.store, self.clock, self.owner)

    async def undo(self, correction: CorrectionRecord, item: ResolvedResource, who: str, why: str) -> Undone:
        """Revert what was there before; raise CannotUndo, having written nothing, if that is not possible.

        An undo of the same correction that was begun before is finished.
        """
        _require_undoable(correction)
        return await self._claimed(correction, lambda claim: self._undo(correction, item, claim, (who, why)))

    async def resume(self, operation: WriteOperation, checked: CheckResult) -> Undone:
        """Finish an undo that an earlier process began; `checked` is a fresh look at the same resource."""
        taken = await self.store.correction(operation.id)
        correction = await self.store.correction(taken.undoes or "") if taken is not None else None
        if taken is None or correction is None:
            raise CannotUndo(f"nothing is known of the undo {operation.id[:12]} any more")
        return await self._claimed(
            correction, lambda claim: self._go_on(_Undo(correction, taken, operation), checked, claim)
        )

    async def _claimed(self, correction: CorrectionRecord, act: Callable[[Claim], Awaitable[Undone]]) -> Undone:
        claim = await self._keeper.claim(correction.address)
        if claim is None and await worker_identity.bury(self.store):
            claim = await self._keeper.claim(correction.address)
        if claim is None:
            raise Postponed(f"another worker is at {correction.address}; try again when it is done")
        try:
            async with self._keeper.keeping(claim):
                return await act(claim)
        except ClaimLost:
            event = self._event("claim.lost", correction, {"message": "its claim was lost while an undo waited"})
            await self.store.commit(Transaction(events=[event]))
            raise Postponed(f"another worker took {correction.address} over meanwhile; look what it is now") from None
        except HeldBack as held:
            raise Postponed(f"{held.why}; {_SENT_BEFORE if held.was_sent else 'nothing was undone'}") from None
        finally:
            await self.store.release(claim)

    async def _undo(
        self, correction: CorrectionRecord, item: ResolvedResource, claim: Claim, person: tuple[str, str]
    ) -> Undone:
        (checked,) = await self.checker.check_all([item], record=False, fresh=True)
        begun = await self._begun(correction)
        if begun is not None:
            return await self._go_on(begun, checked, claim)
        _require_running(await self.checker.paused(correction.address))
        undo = self._new(correction, checked, person)
        if correction.action == _UPDATED and isinstance(checked.reading, Found) and _is_back(correction, checked):
            await self._begin(undo, checked, claim)  # an earlier attempt came this far
            return await self._recorded(undo, claim, ())
        _require_unmoved(correction, checked)
        return await self._send(undo, checked, claim, begin=lambda: self._begin(undo, checked, claim))

    async def _begun(self, correction: CorrectionRecord) -> _Undo | None:
        """Return the undo of a correction that was begun and not ended."""
        for operation in await self.store.operations(correction.address):
            taken = await self.store.correction(operation.id) if operation.phase == PHASE else None
            if taken is not None and taken.undoes == correction.id:
                return _Undo(correction, taken, operation)
        return None

    async def _go_on(self, undo: _Undo, checked: CheckResult, claim: Claim) -> Undone:
        """Finish an undo from where it came to: follow it, note that it is done, or send it again."""
        if undo.operation not in await self.store.operations(undo.taken.address):
            raise Postponed("another worker has carried it on")
        if isinstance(checked.reading, ReadFailure):
            raise Postponed(f"{undo.taken.address} could not be read; the undo that was begun waits")
        if undo.operation.step is OperationStep.SENT:
            writer = await self.world.writer(undo.taken.address.connection)
            token, target = undo.operation.token["token"], checked.prepared.target()
            poll = await self.sender.patiently(checked.prepared, CallKind.READ, lambda: writer.poll(target, token))
            return await self._finished(undo, checked, claim, poll)
        if _is_back(undo.correction, checked):
            return await self._recorded(undo, claim, ())
        try:
            _require_unmoved(undo.correction, checked)
        except CannotUndo:
            await self._failed(undo, claim, promotes=False)
            raise
        return await self._send(undo, checked, claim, begin=None)

    async def _send(
        self, undo: _Undo, checked: CheckResult, claim: Claim, begin: Callable[[], Awaitable[None]] | None
    ) -> Undone:
        """Send what takes a correction back; every limit and the claim are asked right before."""
        item, taken = checked.prepared, undo.taken
        assert isinstance(checked.reading, Found)
        etag = checked.reading.etag if item.kind.conditional else None
        writer = await self.world.writer(taken.address.connection)
        key = f"{taken.id}-undo"
        leave = Leave(
            lambda _was_sent: self.checker.stopped(checked, WriteReason.INTENT),
            begin,
            lambda: self._keeper.ensure(claim),
            begin is None,
        )
        if taken.action == _UPDATED:
            change = _change(undo.correction, item, checked.reading.document, etag)
            writing = await self.sender.patiently(
                item, CallKind.WRITE, lambda: writer.update(item.target(), change, key), leave
            )
        else:
            writing = await self.sender.patiently(
                item, CallKind.DELETE, lambda: writer.delete(item.target(), key, etag), leave
            )
        return await self._finished(undo, checked, claim, writing)

    async def _finished(self, undo: _Undo, checked: CheckResult, claim: Claim, writing: Writing) -> Undone:
        """Follow the write to its end and see whether it took; a refusal is recorded before it is told."""
        item = checked.prepared
        while isinstance(writing, InProgress):
            sent = replace(
                undo.operation, step=OperationStep.SENT, token={**undo.operation.token, "token": dict(writing.token)}
            )
            await self.store.commit(
                Transaction(writes=WriteChanges(operations=[sent], fences={claim.address: claim.fence}))
            )
            undo = replace(undo, operation=sent)
            await self.clock.sleep(writing.poll_after_seconds)
            await self._keeper.ensure(claim)
            writing = await self.sender.polled(item, writing)
        if isinstance(writing, WriteFailure):
            await self._failed(undo, claim, promotes=writing.refusal in _UNWRITTEN)
            raise CannotUndo(f"the provider refused to take {undo.correction.id} back: {writing.message}")
        assert isinstance(writing, Done)
        reading = await self.checker.read(item, None)
        if undo.taken.action != _UPDATED:
            stuck: tuple[str, ...] = () if isinstance(reading, NotFound) else (WHOLE,)
        elif isinstance(reading, Found):
            stuck = _not_back(undo.correction, reading.document)
        else:
            stuck = tuple(each.path for each in undo.correction.paths)
        return await self._recorded(undo, claim, stuck)

    def _new(self, correction: CorrectionRecord, checked: CheckResult, person: tuple[str, str]) -> _Undo:
        """Return an undo that is about to begin."""
        who, why = person
        ident = uuid.UUID(int=int(self.random01() * 2**62) << 64 | int(self.random01() * 2**62)).hex
        is_update = correction.action == _UPDATED
        action = _UPDATED if is_update else Action.DELETE.value
        swapped = tuple(PathCorrection(each.path, each.after, each.before) for each in correction.paths)
        taken = CorrectionRecord(
            ident,
            correction.address,
            self.clock.now(),
            action,
            "undo",
            paths=swapped if is_update else (),
            pre_image=checked.observed_digest,
            undoes=correction.id,
            who=who,
        )
        token: dict[str, Json] = {"undoes": correction.id, "who": who, "why": why}
        operation = WriteOperation(
            ident,
            correction.address,
            action,
            OperationStep.INTENDED,
            taken.at,
            None,
            taken.pre_image,
            token=token,
            phase=PHASE,
        )
        return _Undo(correction, taken, operation)

    async def _begin(self, undo: _Undo, checked: CheckResult, claim: Claim) -> None:
        """Record what is about to be taken back, and leave its paths to a person from now on.

        The quarantine comes first: whatever happens after this, nobody corrects what somebody wanted undone. It ends
        when the declaration is edited there, which is a person's decision as well.
        """
        correction, taken = undo.correction, undo.taken
        data: dict[str, Json] = {"correction": correction.id, "who": taken.who}
        item = checked.prepared
        ours = {each.path: _declared(item.desired, each.path) for each in correction.paths}
        quarantines = (
            [Quarantine(taken.address, path, UNDONE, taken.at, {**data, "ours": value}) for path, value in ours.items()]
            if correction.action == _UPDATED
            else [Quarantine(taken.address, WHOLE, UNDONE, taken.at, {**data, "declared": item.desired_digest})]
        )
        transaction = Transaction(
            events=[self._event("undo.intended", correction, {**data, "by": taken.id})],
            governance=GovernanceChanges(corrections=[taken], quarantines=quarantines),
            writes=WriteChanges(operations=[undo.operation], fences={claim.address: claim.fence}),
        )
        await self._keeper.commit(transaction, claim)

    async def _failed(self, undo: _Undo, claim: Claim, *, promotes: bool) -> None:
        taken = undo.taken
        transaction = Transaction(
            governance=GovernanceChanges(corrections=[replace(taken, outcome=CorrectionOutcome.FAILED)]),
            writes=WriteChanges(finished=[undo.operation.id], fences={claim.address: claim.fence}),
        )
        if promotes:
            quarantined = [each.path for each in taken.paths] if taken.action == _UPDATED else [WHOLE]
            transaction.governance.unquarantined += [(taken.address, path) for path in quarantined]
        await self.store.commit(transaction)

    async def _recorded(self, undo: _Undo, claim: Claim, stuck: Sequence[str]) -> Undone:
        correction, taken = undo.correction, undo.taken
        changed = tuple(replace(each, took=each.path not in stuck) for each in taken.paths)
        done = replace(taken, outcome=CorrectionOutcome.INEFFECTIVE if stuck else CorrectionOutcome.DONE, paths=changed)
        transaction = Transaction(
            governance=GovernanceChanges(corrections=[done]),
            writes=WriteChanges(finished=[undo.operation.id], fences={claim.address: claim.fence}),
        )
        if not stuck:
            transaction.governance.corrections.append(replace(correction, outcome=CorrectionOutcome.UNDONE))
        data: dict[str, Json] = {
            "correction": correction.id,
            "by": done.id,
            "who": done.who,
            "why": undo.operation.token.get("why", ""),
            "stuck": list(stuck),
        }
        transaction.events.append(self._event("undo.done", correction, data))
        state = await self.store.state(correction.address)
        if state is not None:  # a look is due: what is there is not what was last seen
            transaction.states.append(
                replace(
                    state,
                    observed=replace(state.observed, raw_digest=None, etag=None),
                    schedule=replace(state.schedule, due_at=self.clock.now()),
                )
            )
        await self.store.commit(transaction)
        message = f"undone, but {', '.join(stuck)} did not go back" if stuck else "as it was before"
        return Undone(done, message)

    def _event(self, kind: str, correction: CorrectionRecord, data: dict[str, Json]) -> AuditEvent:
        return AuditEvent(self.clock.now(), kind, str(correction.address), data)


def _require_undoable(correction: CorrectionRecord) -> None:
    name = f"correction {correction.id[:12]}"
    if correction.outcome is CorrectionOutcome.UNDONE:
        raise CannotUndo(f"{name} is undone already")
    if correction.outcome not in (CorrectionOutcome.DONE, CorrectionOutcome.INEFFECTIVE):
        raise CannotUndo(f"{name} has not changed anything ({correction.outcome.value}); there is nothing to undo")
    if correction.action not in (_UPDATED, *_MADE):
        what = "what it removed cannot be brought back; declare it and apply"
        raise CannotUndo(f"{name} was a {correction.action}: {what}")
    secret = [each.path for each in correction.paths if _holds_secret(each.before)]
    if secret:
        raise CannotUndo(f"{name} changed the secret at {secret[0]}, of which only a fingerprint is kept")


def _require_running(paused: str | None) -> None:
    if paused is not None:
        raise Postponed(f"{paused}; nothing was undone")


def _require_unmoved(correction: CorrectionRecord, checked: CheckResult) -> None:
    """Refuse if the world is not as the correction left it: undoing would overwrite somebody else's change."""
    if not isinstance(checked.reading, Found):
        raise CannotUndo(f"{correction.address} could not be found now; nothing was undone")
    if correction.action in _MADE:
        _require_unmoved_since_made(correction, checked)
    for each in correction.paths:
        now = paths.resolve(checked.observed, paths.parse_path(each.path))
        if each.took and now != each.after and not (now is ABSENT and each.after is ABSENT):
            raise CannotUndo(
                f"{each.path} has moved since; nothing was undone. See: holdfast explain {correction.address}"
            )


def _require_unmoved_since_made(correction: CorrectionRecord, checked: CheckResult) -> None:
    """Refuse to remove what somebody has changed since: their change would go with it."""
    for finding in checked.verdict.findings:
        path = paths.format_path(finding.path)
        if finding.changed_by is not ChangedBy.DECLARED and path not in checked.unresolved:
            raise CannotUndo(f"{path} of {correction.address} has moved since it was made; nothing was undone")


def _is_back(correction: CorrectionRecord, checked: CheckResult) -> bool:
    """Return True if the live state is what an undo brings about."""
    if correction.action in _MADE:
        return isinstance(checked.reading, NotFound)
    return isinstance(checked.reading, Found) and not _not_back(correction, checked.observed)


def _change(correction: CorrectionRecord, item: ResolvedResource, observed: Json, etag: str | None) -> Change:
    """Return the write that puts the values of before a correction in their places."""
    wanted: Json = item.revealed(apply_patch.copied(observed))
    for each in correction.paths:
        wanted = apply_patch.put(wanted, paths.parse_path(each.path), each.before)
    return Change(wanted, observed, tuple(each.path for each in correction.paths), etag)


def _holds_secret(value: Json) -> bool:
    """Tell whether a value is or holds a fingerprint, which cannot be reverted."""
    if isinstance(value, dict):
        return any(is_fingerprint(key) or _holds_secret(item) for key, item in value.items())
    return any(map(_holds_secret, value)) if isinstance(value, list) else is_fingerprint(value)


def _declared(desired: Json, path: str) -> Json:
    """Return what is declared at a path, as a quarantine keeps it: None for nothing."""
    value = paths.resolve(desired, paths.parse_path(path))
    return None if value is ABSENT else value


def _not_back(correction: CorrectionRecord, document: Json) -> tuple[str, ...]:
    return tuple(
        each.path for each in correction.paths if paths.resolve(document, paths.parse_path(each.path)) != each.before
    )
