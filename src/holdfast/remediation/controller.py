"""Assessing: did it hold, and did it help. One pass after another, each a single transaction.

The course is `plan.assessing.phases`, which is asked what it wants to know; here it is found out. The target is read
before anything else is asked, in every pass. What a pass learnt, and the events that stand for it, are kept together
with the time of the next one; a pass that dies is a pass that never was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field, replace
from typing import Final

from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.record import dataclass
from holdfast.policy import windows
from holdfast.reconcile.check import Checker
from holdfast.reconcile.clock import Clock
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.reconcile.undo import CannotUndo, CorrectionUndo, Postponed
from holdfast.remediation import measurement, repository
from holdfast.remediation.core import audit_events, state_machine
from holdfast.remediation.core.audit_events import EventType, RemediationEvent
from holdfast.remediation.core.records import RemediationRecord, RemediationSource, Undo
from holdfast.remediation.core.rules import AssessmentRules
from holdfast.remediation.core.state import EndReason
from holdfast.remediation.core.state_machine import AssessmentFacts
from holdfast.remediation.measurement import Instruments, MeasurementSubject
from holdfast.remediation.repository import COLLECTION, Kept
from holdfast.store.governance import CorrectionOutcome
from holdfast.store.protocol import GovernanceStore, Store
from holdfast.store.records import VersionConflict, VersionedRecord
from holdfast.store.transaction import RecordChanges, Transaction

BATCH: Final = 100
AT_ONCE: Final = 10  # targets looked at together

Prepare = Callable[[Address], Awaitable[ResolvedResource | str]]  # what can be looked at, or why it cannot


@dataclass(slots=True)
class AssessmentController:
    """Takes assessments further."""

    store: Store
    checker: Checker
    clock: Clock
    rules: AssessmentRules
    prepare: Prepare
    instruments: Instruments = field(default_factory=Instruments)
    undoer: CorrectionUndo | None = None  # None: nothing may be written, so nothing is taken back

    async def run_due(self, limit: int = BATCH, only: frozenset[str] | None = None) -> list[RemediationRecord]:
        """Take further whatever is due now; return it as it is afterwards."""
        chosen = await self._due(limit, only)
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(stored_record: VersionedRecord) -> RemediationRecord | None:
            async with slots:
                return await self.advance(repository.kept(stored_record))

        done = await asyncio.gather(*[one(stored_record) for stored_record in chosen])
        return [record for record in done if record is not None]

    async def _due(self, limit: int, only: frozenset[str] | None) -> list[VersionedRecord]:
        now = self.clock.now()
        if only is None:
            return await self.store.due_records(COLLECTION, now, limit)
        found = [await self.store.record(COLLECTION, key) for key in sorted(only)]
        return [record for record in found if record is not None and record.due_at is not None and record.due_at <= now]

    async def advance(self, found: Kept) -> RemediationRecord | None:
        """Advance one record by one pass. Return None if another process advanced it first."""
        try:
            if found.record.undo is Undo.WANTED:
                return await self._take_back(found)
            return await self._pass(found)
        except VersionConflict:
            return None

    async def _pass(self, found: Kept) -> RemediationRecord:
        record = found.record
        state = record.assessment
        if state is None:  # its end was never reported, and that is all the patience there is
            late = replace(record, ended_at=self.clock.now())
            state = repository.assessment(late, self.rules, None)
        subject = await self._subject(record)
        told: list[RemediationEvent] = []
        facts = AssessmentFacts()
        while True:
            state, wants = state_machine.step(state, facts, self.clock.now())
            told += wants.events
            if not wants.asks:
                break
            facts = await measurement.find_out(wants.asks, replace(record, assessment=state), subject)
        record = replace(record, assessment=state)
        wake_at = wants.wake_at
        if state.phase.is_terminal and is_wanted(record, subject.item):
            record, wake_at = replace(record, undo=Undo.WANTED), self.clock.now()
        transaction = Transaction(
            events=repository.audit(told),
            records=RecordChanges(put=[replace(found, record=record).next_version(wake_at)]),
        )
        await self.store.commit(transaction)
        return record

    async def _subject(self, record: RemediationRecord) -> MeasurementSubject:
        item = await self.prepare(Address.parse(record.target))
        return MeasurementSubject(self.store, self.checker, item, self.rules, self.instruments, self.clock)

    async def _take_back(self, found: Kept) -> RemediationRecord:
        """Take back what did not help; whatever comes of it is kept, so that it is not tried for ever."""
        held = windows.closed_by(self.checker.rules.corrections.windows, self.clock.now())
        if held is not None:
            left = Undo.REFUSED if held.until is None else Undo.WANTED
            record = replace(found.record, undo=left, undo_attempts=replace(found.record.undo_attempts, note=str(held)))
            await self.store.commit(
                Transaction(records=RecordChanges(put=[replace(found, record=record).next_version(held.until)]))
            )
            return record
        item = await self.prepare(Address.parse(found.record.target))
        tried = await undo(found.record, item, self.store, self.undoer)
        record = replace(
            found.record,
            undo=tried.undo,
            undo_attempts=replace(
                found.record.undo_attempts, note=tried.note, tries=found.record.undo_attempts.tries + 1
            ),
        )
        retry_at = None if record.undo is not Undo.WANTED else self.clock.now() + wait(record.undo_attempts.tries)
        transaction = Transaction(records=RecordChanges(put=[replace(found, record=record).next_version(retry_at)]))
        if record.undo is not Undo.WANTED:
            transaction.events += repository.audit([told(record, self.clock.now())])
        await self.store.commit(transaction)
        return record

    async def next_at(self, only: frozenset[str] | None = None) -> float | None:
        """Return when something is to be done next, about any record or about some."""
        if only is None:
            return await self.store.next_due_record(COLLECTION)
        found = [await self.store.record(COLLECTION, key) for key in sorted(only)]
        times = [
            stored_record.due_at
            for stored_record in found
            if stored_record is not None and stored_record.due_at is not None
        ]
        return min(times, default=None)


async def wait_for(
    assessor: AssessmentController, only: Sequence[str], stop: asyncio.Event, until: float | None = None
) -> None:
    """Take some records further until nothing is to be done about them any more, or the time is over."""
    wanted = frozenset(only)
    while not stop.is_set():
        await assessor.run_due(only=wanted)
        at = await assessor.next_at(wanted)
        now = assessor.clock.now()
        if at is None or (until is not None and now >= until):
            return
        await _sleep(assessor.clock, max(min(at, until if until is not None else at) - now, 0.01), stop)


async def _sleep(clock: Clock, seconds: float, stop: asyncio.Event) -> None:
    """Sleep, unless told to stop."""
    tasks = {asyncio.ensure_future(clock.sleep(seconds)), asyncio.ensure_future(stop.wait())}
    _, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)


WHO: Final = "policy undoBelow"
MOST_TRIES: Final = 8
_FIRST_WAIT: Final = 5.0  # seconds, doubled each time


@dataclass(frozen=True, slots=True)
class Tried:
    """The result of an undo attempt."""

    undo: Undo
    note: str


def is_wanted(record: RemediationRecord, item: ResolvedResource | str) -> bool:
    """Return True if policy wants a correction taken back now that its assessment is over."""
    state = record.assessment
    if isinstance(item, str) or state is None or state.score is None or record.source is not RemediationSource.OURS:
        return False
    is_change = record.workflow.action_type == Action.UPDATE.value
    return is_change and state.reason is not EndReason.SPEC_DRIFT and state.score < item.settings.assessing.undo_below


async def undo(
    record: RemediationRecord, item: ResolvedResource | str, store: GovernanceStore, undoer: CorrectionUndo | None
) -> Tried:
    """Take it back, with all the guards of an undo."""
    if record.undo_attempts.tries >= MOST_TRIES:
        return Tried(Undo.REFUSED, f"given up after {record.undo_attempts.tries} tries: {record.undo_attempts.note}")
    if undoer is None or isinstance(item, str):
        return Tried(Undo.WANTED, item if isinstance(item, str) else "nothing may be written now")
    correction = await store.correction(record.correlation_id)
    if correction is None:
        return Tried(Undo.REFUSED, "the correction is not known any more")
    if correction.outcome is CorrectionOutcome.UNDONE:
        return Tried(Undo.DONE, "undone")
    score = record.assessment.score if record.assessment is not None else None
    try:
        undone = await undoer.undo(correction, item, WHO, f"it scored {score:.2f}" if score is not None else "")
    except Postponed as error:
        return Tried(Undo.WANTED, error.message)
    except CannotUndo as error:
        return Tried(Undo.REFUSED, error.message)
    return Tried(Undo.DONE, undone.message)


def wait(tries: int) -> float:
    """Return how long to wait before the next try."""
    return float(_FIRST_WAIT * 2 ** min(tries, 6))


def told(record: RemediationRecord, at: float) -> RemediationEvent:
    """Record the result of undoing a correction."""
    fields = {"undone": record.undo is Undo.DONE, "details": record.undo_attempts.note}
    return audit_events.told(EventType.UNDONE, record.remediation(), at, fields)
