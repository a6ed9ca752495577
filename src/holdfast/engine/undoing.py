"""Undoing: put back what was there before a correction of ours, as carefully as it was made.

The same guard as for any write: if what we wrote is not what is there any more, somebody has moved it since, and
nothing is undone. Afterwards the world differs from the declaration on purpose, so the paths are left to a person;
otherwise the next check would correct them again.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from holdfast.compare import patching, paths
from holdfast.compare.comparators import is_fingerprint
from holdfast.engine.checking import Checked, Checker
from holdfast.engine.clock import Clock
from holdfast.engine.gates import Budget
from holdfast.engine.governing import UNDONE
from holdfast.engine.opening import WritableWorld
from holdfast.engine.prepared import Prepared
from holdfast.engine.sending import Sender
from holdfast.errors import InputError
from holdfast.model.absent import ABSENT
from holdfast.model.decision import Action
from holdfast.model.finding import Side
from holdfast.model.json import Json
from holdfast.model.reading import Found, Gone
from holdfast.model.writing import Done, Refusal, Refused, UnderWay, Writing
from holdfast.plan.history import WHOLE
from holdfast.providers.base import Change
from holdfast.store.base import (
    Claim,
    ClaimLost,
    CorrectedPath,
    Correction,
    Demotion,
    Event,
    Outcome,
    Store,
    Transaction,
)

CLAIM_SECONDS = 300.0
_UPDATED = Action.UPDATE.value
_MADE = frozenset({Action.CREATE.value, Action.RECREATE.value})
_UNWRITTEN = frozenset(
    {Refusal.MOVED, Refusal.DENIED, Refusal.TERMINAL}
)  # after other refusals nobody knows: the answer may be lost


class CannotUndo(InputError):  # noqa: N818 - what a person asked for cannot be done
    """A correction that cannot be taken back, with the reason and what to do instead."""


class Postponed(CannotUndo):
    """A correction that cannot be taken back now, but perhaps later: somebody is at it, or it is paused."""


@dataclass(frozen=True, slots=True)
class Undone:
    """What came of it."""

    correction: Correction  # the new one
    message: str


@dataclass(slots=True)
class Undoer:
    """Takes corrections back."""

    store: Store
    world: WritableWorld
    checker: Checker
    clock: Clock
    random01: Callable[[], float]
    owner: str
    sender: Sender

    async def undo(self, correction: Correction, item: Prepared, who: str, why: str) -> Undone:
        """Put back what was there before; raise CannotUndo, having written nothing, if that is not possible."""
        _require_undoable(correction)
        now = self.clock.now()
        claim = await self.store.claim(correction.address, self.owner, now, now + CLAIM_SECONDS)
        if claim is None:
            raise Postponed(f"another worker is at {correction.address}; try again when it is done")
        try:
            (checked,) = await self.checker.check_all([item], record=False, fresh=True)
            _require_running(await self.checker.paused(correction.address))
            if correction.action == _UPDATED and isinstance(checked.reading, Found):
                left = _not_back(correction, checked.observed)
                if not left:  # an earlier attempt came this far
                    taken = await self._begin(correction, checked, claim, (), who)
                    return await self._recorded(correction, taken, claim, (), who, why)
            _require_unmoved(correction, checked)
            if correction.action in _MADE:
                return await self._removed(correction, checked, claim, who, why)
            return await self._put_back(correction, checked, claim, who, why)
        except ClaimLost:
            raise Postponed(f"another worker took {correction.address} over meanwhile; look what it is now") from None
        finally:
            await self.store.release(claim)

    async def _put_back(self, correction: Correction, checked: Checked, claim: Claim, who: str, why: str) -> Undone:
        item = checked.prepared
        assert isinstance(checked.reading, Found)
        observed = checked.reading.document
        wanted: Json = patching.copied(observed)
        for each in correction.paths:
            wanted = patching.put(wanted, paths.parse_path(each.path), each.before)
        touched = tuple(each.path for each in correction.paths)
        etag = checked.reading.etag if item.kind.conditional else None
        change = Change(wanted, observed, touched, etag)
        swapped = tuple(CorrectedPath(each.path, each.after, each.before) for each in correction.paths)
        taken = await self._begin(correction, checked, claim, swapped, who)
        writer = await self.world.writer(correction.address.connection)
        writing = await self.sender.patiently(
            item, Budget.WRITE, lambda: writer.update(item.target(), change, f"{taken.id}-undo")
        )
        await self._finish_sending(item, writing, taken, claim)
        reading = await self.checker.read(item, None)
        stuck = _not_back(correction, reading.document) if isinstance(reading, Found) else touched
        return await self._recorded(correction, taken, claim, stuck, who, why)

    async def _removed(self, correction: Correction, checked: Checked, claim: Claim, who: str, why: str) -> Undone:
        """Remove again what we made."""
        item = checked.prepared
        assert isinstance(checked.reading, Found)
        etag = checked.reading.etag if item.kind.conditional else None
        taken = await self._begin(correction, checked, claim, (), who)
        writer = await self.world.writer(correction.address.connection)
        writing = await self.sender.patiently(
            item, Budget.DELETE, lambda: writer.delete(item.target(), f"{taken.id}-undo", etag)
        )
        await self._finish_sending(item, writing, taken, claim)
        reading = await self.checker.read(item, None)
        stuck = () if isinstance(reading, Gone) else (WHOLE,)
        return await self._recorded(correction, taken, claim, stuck, who, why)

    async def _begin(
        self, correction: Correction, checked: Checked, claim: Claim, changed: Sequence[CorrectedPath], who: str
    ) -> Correction:
        """Record what is about to be taken back, and leave its paths to a person from now on.

        The demotion comes first: whatever happens after this, nobody corrects what somebody wanted undone.
        """
        taken = Correction(
            uuid.UUID(int=int(self.random01() * 2**62) << 64 | int(self.random01() * 2**62)).hex,
            correction.address,
            self.clock.now(),
            _UPDATED if correction.action == _UPDATED else Action.DELETE.value,
            "undo",
            paths=tuple(changed),
            pre_image=checked.observed_digest,
            undoes=correction.id,
            who=who,
        )
        demoted = [each.path for each in correction.paths] if correction.action == _UPDATED else [WHOLE]
        data: dict[str, Json] = {"correction": correction.id, "who": who}
        transaction = Transaction(
            corrections=[taken],
            demotions=[Demotion(correction.address, path, UNDONE, taken.at, data) for path in demoted],
            events=[
                self._event("undo.intended", correction, {"correction": correction.id, "by": taken.id, "who": who})
            ],
            fences={claim.address: claim.fence},
        )
        await self.store.commit(transaction)
        return taken

    async def _finish_sending(self, item: Prepared, writing: Writing, taken: Correction, claim: Claim) -> None:
        """Follow the write to its end; a refusal is recorded before it is told."""
        while isinstance(writing, UnderWay):
            await self.clock.sleep(writing.poll_after_seconds)
            await self.store.renew(claim, self.clock.now() + CLAIM_SECONDS)  # it may take longer than a claim lasts
            writing = await self.sender.polled(item, writing)
        if isinstance(writing, Refused):
            failed = replace(taken, outcome=Outcome.FAILED)
            transaction = Transaction(corrections=[failed], fences={claim.address: claim.fence})
            if writing.refusal in _UNWRITTEN:
                demoted = [each.path for each in taken.paths] if taken.action == _UPDATED else [WHOLE]
                transaction.promoted += [(taken.address, path) for path in demoted]
            await self.store.commit(transaction)
            raise CannotUndo(f"the provider refused to take {taken.undoes} back: {writing.message}")
        assert isinstance(writing, Done)

    async def _recorded(
        self, correction: Correction, taken: Correction, claim: Claim, stuck: Sequence[str], who: str, why: str
    ) -> Undone:
        changed = tuple(replace(each, took=each.path not in stuck) for each in taken.paths)
        done = replace(taken, outcome=Outcome.INEFFECTIVE if stuck else Outcome.DONE, paths=changed)
        transaction = Transaction(corrections=[done], fences={claim.address: claim.fence})
        if not stuck:
            transaction.corrections.append(replace(correction, outcome=Outcome.UNDONE))
        data: dict[str, Json] = {
            "correction": correction.id,
            "by": done.id,
            "who": who,
            "why": why,
            "stuck": list(stuck),
        }
        transaction.events.append(self._event("undo.done", correction, data))
        state = await self.store.state(correction.address)
        if state is not None:  # a look is due: what is there is not what was last seen
            transaction.states.append(replace(state, raw_digest=None, etag=None, due_at=self.clock.now()))
        await self.store.commit(transaction)
        message = f"undone, but {', '.join(stuck)} did not go back" if stuck else "as it was before"
        return Undone(done, message)

    def _event(self, kind: str, correction: Correction, data: dict[str, Json]) -> Event:
        return Event(self.clock.now(), kind, str(correction.address), data)


def _require_undoable(correction: Correction) -> None:
    name = f"correction {correction.id[:12]}"
    if correction.outcome is Outcome.UNDONE:
        raise CannotUndo(f"{name} is undone already")
    if correction.outcome not in (Outcome.DONE, Outcome.INEFFECTIVE):
        raise CannotUndo(f"{name} has not changed anything ({correction.outcome.value}); there is nothing to undo")
    if correction.action not in (_UPDATED, *_MADE):
        what = "what it removed cannot be brought back; declare it and apply"
        raise CannotUndo(f"{name} was a {correction.action}: {what}")
    secret = [each.path for each in correction.paths if is_fingerprint(each.before)]
    if secret:
        raise CannotUndo(f"{name} changed the secret at {secret[0]}, of which only a fingerprint is kept")


def _require_running(paused: str | None) -> None:
    if paused is not None:
        raise Postponed(f"{paused}; nothing was undone")


def _require_unmoved(correction: Correction, checked: Checked) -> None:
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


def _require_unmoved_since_made(correction: Correction, checked: Checked) -> None:
    """Refuse to remove what somebody has changed since: their change would go with it."""
    for finding in checked.verdict.findings:
        path = paths.format_path(finding.path)
        if finding.side is not Side.INTENT and path not in checked.unresolved:
            raise CannotUndo(f"{path} of {correction.address} has moved since it was made; nothing was undone")


def _not_back(correction: Correction, document: Json) -> tuple[str, ...]:
    return tuple(
        each.path for each in correction.paths if paths.resolve(document, paths.parse_path(each.path)) != each.before
    )
