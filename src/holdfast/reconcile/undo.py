"""Undo of a correction, as careful as the correction itself: an intent of the one write path.

The same guard as for any write: if live state differs from our write, another writer changed it since, and nothing is
undone. Afterwards live state differs from the declaration on purpose, so the paths are quarantined. Otherwise the next
check would correct them again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Final, Never

from holdfast.compare import apply_patch, paths
from holdfast.compare.comparators import is_fingerprint
from holdfast.errors import InputError
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.finding import ChangedBy
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadFailure
from holdfast.model.record import dataclass
from holdfast.model.write_result import WriteError, WriteFailure, WriteResult
from holdfast.policy.decide import WHOLE
from holdfast.policy.write_reasons import WriteReason
from holdfast.providers.protocol import Change
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.policy_evaluation import UNDONE
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.reconcile.send import HeldBack
from holdfast.reconcile.write import ResourceWriter, Run
from holdfast.store.governance import CorrectionOutcome, CorrectionRecord, PathCorrection, Quarantine
from holdfast.store.records import AuditEvent, Claim, OperationStep, WriteOperation
from holdfast.store.transaction import GovernanceChanges, Transaction, WriteChanges

PHASE: Final = "undo"  # of the operation of an undo
_SENT_BEFORE: Final = "it was begun, and is finished when it may be"
_UPDATED = Action.UPDATE.value
_MADE = frozenset({Action.CREATE.value, Action.RECREATE.value})
_UNWRITTEN = frozenset(
    {WriteError.MOVED, WriteError.DENIED, WriteError.TERMINAL}
)  # after other refusals the outcome is unknown, because the answer may be lost


class CannotUndo(InputError):  # noqa: N818 - what a person asked for cannot be done
    """A correction that cannot be undone, with the reason and a remedy."""


class Postponed(CannotUndo):
    """A correction that cannot be taken back now, but perhaps later: another worker has it, or it is paused."""


@dataclass(frozen=True, slots=True)
class Undone:
    """The result of an undo."""

    correction: CorrectionRecord  # the new one
    message: str


@dataclass(frozen=True, slots=True)
class CorrectionUndo:
    """Takes corrections back through a writer."""

    writer: ResourceWriter

    async def undo(self, correction: CorrectionRecord, item: ResolvedResource, who: str, why: str) -> Undone:
        """Revert to the state before the correction. Raise CannotUndo, having written nothing, if that is not possible.

        An undo of the same correction that was begun before is finished.
        """
        _require_undoable(correction)
        return await self.writer.execute(UndoIntent(correction, item, who, why))

    async def resume(self, operation: WriteOperation, checked: CheckResult) -> Undone:
        """Finish an undo that an earlier process began; `checked` is a fresh check of the same resource."""
        taken = await self.writer.store.correction(operation.id)
        correction = await self.writer.store.correction(taken.undoes or "") if taken is not None else None
        if taken is None or correction is None:
            raise CannotUndo(f"nothing is known of the undo {operation.id[:12]} any more")
        intent = UndoIntent(correction, checked.prepared, taken.who, begun=(operation, taken), checked=checked)
        return await self.writer.execute(intent)


@dataclass(frozen=True, slots=True)
class UndoIntent:
    """Take one correction back, or finish an undo of it that was `begun`."""

    correction: CorrectionRecord
    item: ResolvedResource
    who: str
    why: str = ""
    begun: tuple[WriteOperation, CorrectionRecord] | None = None
    checked: CheckResult | None = None  # None: the resource is checked under the claim

    @property
    def address(self) -> Address:
        """The resource to claim."""
        return self.correction.address

    @property
    def turn(self) -> None:
        """Nothing is waited for before the claim: often nothing is sent."""
        return

    @property
    def takes_over(self) -> bool:
        """True, because an undo is the first to release the claims of dead workers."""
        return True

    def not_begun(self, message: str) -> Never:
        """Leave the resource to the other worker."""
        del message
        raise Postponed(f"another worker is at {self.address}; try again when it is done")

    def unfinished(self, message: str) -> Never:
        """Leave the operation to a later run."""
        raise Postponed(message)

    def lost(self, message: str) -> Never:
        """Leave the undo to the worker that has the claim now."""
        del message
        raise Postponed(f"another worker took {self.address} over meanwhile; look what it is now")

    async def perform(self, writer: ResourceWriter, claim: Claim, slot: AsyncExitStack) -> Undone:
        """Check under the claim, then begin the undo, or go on with one that was begun."""
        try:
            return await self._perform(writer, claim, slot)
        except HeldBack as held:
            raise Postponed(f"{held.why}; {_SENT_BEFORE if held.was_sent else 'nothing was undone'}") from None

    async def _perform(self, writer: ResourceWriter, claim: Claim, slot: AsyncExitStack) -> Undone:
        checked, correction = self.checked, self.correction
        if checked is None:
            (checked,) = await writer.checker.check_all([self.item], record=False, fresh=True)
        begun = self.begun or await self._find_begun(writer)
        if begun is not None:
            run = Run(claim, checked, begun[0], checked.reading, begun[1], slot)
            return await self._go_on(writer, run)
        paused = await writer.checker.paused(self.address)
        if paused is not None:
            raise Postponed(f"{paused}; nothing was undone")
        run = self._new(writer, claim, checked)
        if correction.action == _UPDATED and isinstance(run.reading, Found) and _is_back(correction, checked):
            await self._begin(writer, run)  # an earlier attempt came this far
            return await self._record(writer, run, ())
        _require_unmoved(correction, checked)
        return await self._send(writer, run, lambda: self._begin(writer, run))

    async def _find_begun(self, writer: ResourceWriter) -> tuple[WriteOperation, CorrectionRecord] | None:
        """Return the undo of this correction that was begun and not ended."""
        for operation in await writer.store.operations(self.address):
            taken = await writer.store.correction(operation.id) if operation.phase == PHASE else None
            if taken is not None and taken.undoes == self.correction.id:
                return operation, taken
        return None

    async def _go_on(self, writer: ResourceWriter, run: Run) -> Undone:
        """Finish an undo from where it came to: poll it, record that it is done, or send it again."""
        if run.operation not in await writer.store.operations(self.address):
            raise Postponed("another worker has carried it on")
        if isinstance(run.reading, ReadFailure):
            raise Postponed(f"{self.address} could not be read; the undo that was begun waits")
        if run.operation.step is OperationStep.SENT:
            return await self._finish(writer, run, await writer.ask(run, run.operation.token["token"]))
        if _is_back(self.correction, run.checked):
            return await self._record(writer, run, ())
        try:
            _require_unmoved(self.correction, run.checked)
        except CannotUndo:
            await self._fail(writer, run, promotes=False)
            raise
        return await self._send(writer, run, None)

    async def _send(self, writer: ResourceWriter, run: Run, begin: Callable[[], Awaitable[None]] | None) -> Undone:
        assert isinstance(run.reading, Found)
        is_update = run.operation.action == _UPDATED
        change = _change(self.correction, run.item, run.reading.document) if is_update else None
        return await self._finish(writer, run, await writer.send(run, change, begin, WriteReason.INTENT))

    async def _finish(self, writer: ResourceWriter, run: Run, writing: WriteResult) -> Undone:
        """Poll the write to its end and see whether it took; a refusal is recorded before it is told."""
        writing = await writer.poll(run, writing, under="token")
        if isinstance(writing, WriteFailure):
            await self._fail(writer, run, promotes=writing.refusal in _UNWRITTEN)
            raise CannotUndo(f"the provider refused to take {self.correction.id} back: {writing.message}")
        reading = await writer.checker.read(run.item, None)
        if run.operation.action != _UPDATED:
            stuck: tuple[str, ...] = () if isinstance(reading, NotFound) else (WHOLE,)
        elif isinstance(reading, Found):
            stuck = _not_back(self.correction, reading.document)
        else:
            stuck = tuple(path.path for path in self.correction.paths)
        return await self._record(writer, run, stuck)

    def _new(self, writer: ResourceWriter, claim: Claim, checked: CheckResult) -> Run:
        """Return an undo that is about to begin."""
        correction, ident, now = self.correction, writer.new_id(), writer.clock.now()
        is_update = correction.action == _UPDATED
        action = _UPDATED if is_update else Action.DELETE.value
        swapped = tuple(PathCorrection(path.path, path.after, path.before) for path in correction.paths)
        taken = CorrectionRecord(
            ident,
            correction.address,
            now,
            action,
            "undo",
            paths=swapped if is_update else (),
            pre_image=checked.evaluation.observation.digest,
            undoes=correction.id,
            who=self.who,
        )
        token: dict[str, Json] = {"undoes": correction.id, "who": self.who, "why": self.why}
        operation = WriteOperation(
            ident,
            correction.address,
            action,
            OperationStep.INTENDED,
            now,
            None,
            taken.pre_image,
            token=token,
            phase=PHASE,
        )
        return Run(claim, checked, operation, checked.reading, taken)

    async def _begin(self, writer: ResourceWriter, run: Run) -> None:
        """Record the undo, and quarantine its paths from now on.

        The quarantine comes first: whatever happens afterwards, no correction reverts a change that a person wanted
        undone. It ends when the declaration is edited there, which is a person's decision as well.
        """
        correction, taken, item = self.correction, run.begun, run.item
        assert taken is not None
        data: dict[str, Json] = {"correction": correction.id, "who": taken.who}
        ours = {element.path: _declared(item.desired, element.path) for element in correction.paths}
        quarantines = (
            [Quarantine(taken.address, path, UNDONE, taken.at, {**data, "ours": value}) for path, value in ours.items()]
            if correction.action == _UPDATED
            else [Quarantine(taken.address, WHOLE, UNDONE, taken.at, {**data, "declared": item.desired_digest})]
        )
        transaction = Transaction(
            events=[AuditEvent(writer.clock.now(), "undo.intended", str(self.address), {**data, "by": taken.id})],
            governance=GovernanceChanges(corrections=[taken], quarantines=quarantines),
            writes=WriteChanges(operations=[run.operation], fences=run.fences),
        )
        await writer.keeper.commit(transaction, run.claim)

    async def _fail(self, writer: ResourceWriter, run: Run, *, promotes: bool) -> None:
        taken = run.begun
        assert taken is not None
        transaction = Transaction(
            governance=GovernanceChanges(corrections=[replace(taken, outcome=CorrectionOutcome.FAILED)]),
            writes=WriteChanges(finished=[run.operation.id], fences=run.fences),
        )
        if promotes:
            quarantined = [correction.path for correction in taken.paths] if taken.action == _UPDATED else [WHOLE]
            transaction.governance.unquarantined += [(taken.address, path) for path in quarantined]
        await writer.store.commit(transaction)

    async def _record(self, writer: ResourceWriter, run: Run, stuck: Sequence[str]) -> Undone:
        correction, taken = self.correction, run.begun
        assert taken is not None
        changed = tuple(replace(path, took=path.path not in stuck) for path in taken.paths)
        done = replace(taken, outcome=CorrectionOutcome.INEFFECTIVE if stuck else CorrectionOutcome.DONE, paths=changed)
        transaction = Transaction(
            governance=GovernanceChanges(corrections=[done]),
            writes=WriteChanges(finished=[run.operation.id], fences=run.fences),
        )
        if not stuck:
            transaction.governance.corrections.append(replace(correction, outcome=CorrectionOutcome.UNDONE))
        data: dict[str, Json] = {
            "correction": correction.id,
            "by": done.id,
            "who": done.who,
            "why": run.operation.token.get("why", ""),
            "stuck": list(stuck),
        }
        now = writer.clock.now()
        transaction.events.append(AuditEvent(now, "undo.done", str(self.address), data))
        transaction.updates.outdated.append((correction.address, now))  # live state is not what was last seen
        await writer.store.commit(transaction)
        message = f"undone, but {', '.join(stuck)} did not go back" if stuck else "as it was before"
        return Undone(done, message)


def _require_undoable(correction: CorrectionRecord) -> None:
    name = f"correction {correction.id[:12]}"
    if correction.outcome is CorrectionOutcome.UNDONE:
        raise CannotUndo(f"{name} is undone already")
    if correction.outcome not in (CorrectionOutcome.DONE, CorrectionOutcome.INEFFECTIVE):
        raise CannotUndo(f"{name} has not changed anything ({correction.outcome.value}); there is nothing to undo")
    if correction.action not in (_UPDATED, *_MADE):
        what = "what it removed cannot be brought back; declare it and apply"
        raise CannotUndo(f"{name} was a {correction.action}: {what}")
    secret = [path.path for path in correction.paths if _holds_secret(path.before)]
    if secret:
        raise CannotUndo(f"{name} changed the secret at {secret[0]}, of which only a fingerprint is kept")


def _require_unmoved(correction: CorrectionRecord, checked: CheckResult) -> None:
    """Raise CannotUndo if live state changed since the correction, because an undo would overwrite the change."""
    if not isinstance(checked.reading, Found):
        raise CannotUndo(f"{correction.address} could not be found now; nothing was undone")
    if correction.action in _MADE:
        _require_unmoved_since_made(correction, checked)
    for path in correction.paths:
        now = paths.resolve(checked.observed, paths.parse_path(path.path))
        if path.took and now != path.after and not (now is ABSENT and path.after is ABSENT):
            raise CannotUndo(
                f"{path.path} has moved since; nothing was undone. See: holdfast explain {correction.address}"
            )


def _require_unmoved_since_made(correction: CorrectionRecord, checked: CheckResult) -> None:
    """Raise CannotUndo if the resource has changed since it was made, because its removal would lose the change."""
    for finding in checked.verdict.findings:
        path = paths.format_path(finding.path)
        if finding.changed_by is not ChangedBy.DECLARED and path not in checked.unresolved:
            raise CannotUndo(f"{path} of {correction.address} has moved since it was made; nothing was undone")


def _is_back(correction: CorrectionRecord, checked: CheckResult) -> bool:
    """Return True if the live state is already that of the undo."""
    if correction.action in _MADE:
        return isinstance(checked.reading, NotFound)
    return isinstance(checked.reading, Found) and not _not_back(correction, checked.observed)


def _change(correction: CorrectionRecord, item: ResolvedResource, observed: Json) -> Change:
    """Return the write that puts the values of before a correction in their places."""
    wanted: Json = item.revealed(apply_patch.copied(observed))
    for element in correction.paths:
        wanted = apply_patch.put(wanted, paths.parse_path(element.path), element.before)
    return Change(wanted, observed, tuple(path.path for path in correction.paths), None)


def _holds_secret(value: Json) -> bool:
    """Return True if a value is or holds a fingerprint, which cannot be reverted."""
    if isinstance(value, dict):
        return any(is_fingerprint(key) or _holds_secret(item) for key, item in value.items())
    return any(map(_holds_secret, value)) if isinstance(value, list) else is_fingerprint(value)


def _declared(desired: Json, path: str) -> Json:
    """Return the declared value of a path as a quarantine keeps it: None for an undeclared one."""
    value = paths.resolve(desired, paths.parse_path(path))
    return None if value is ABSENT else value


def _not_back(correction: CorrectionRecord, document: Json) -> tuple[str, ...]:
    return tuple(
        path.path for path in correction.paths if paths.resolve(document, paths.parse_path(path.path)) != path.before
    )
