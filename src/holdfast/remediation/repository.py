"""Repository of remediations: stored as versioned records.

A caller that advances a record gives its next version together with the events of the step, so two workers cannot send
the same event twice, and a crash neither loses nor repeats one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace
from typing import Final

import msgspec

from holdfast.errors import InputError
from holdfast.model.address import Address
from holdfast.model.record import dataclass
from holdfast.policy.write_reasons import CORRECTIONS
from holdfast.remediation.core import audit_events, state, state_hash, state_machine
from holdfast.remediation.core import records as plain
from holdfast.remediation.core.past_attempts import PastAttempt
from holdfast.remediation.core.records import RemediationEnding, RemediationRecord
from holdfast.remediation.core.rules import AssessmentRules
from holdfast.remediation.core.state import AssessmentScope, AssessmentState, Execution
from holdfast.remediation.core.state_hash import StateHash, StateReading
from holdfast.remediation.core.timing import Windows
from holdfast.store.governance import CorrectionOutcome
from holdfast.store.protocol import GovernanceStore, RecordStore
from holdfast.store.records import AuditEvent, VersionedRecord
from holdfast.store.transaction import Transaction

COLLECTION: Final = "remediation"
_RECENT: Final = 20  # corrections among which the last that was written is found
_WRITTEN: Final = frozenset({CorrectionOutcome.DONE, CorrectionOutcome.INEFFECTIVE, CorrectionOutcome.UNDONE})


@dataclass(frozen=True, slots=True)
class Kept:
    """A record with the version it is kept in."""

    record: RemediationRecord
    version: int = 0  # 0: not kept yet

    def next_version(self, due_at: float | None) -> VersionedRecord:
        """Return the next version, to be committed."""
        one = self.record
        return VersionedRecord(
            COLLECTION, one.correlation_id, msgspec.to_builtins(one), self.version + 1, one.target, due_at
        )


def kept(record: VersionedRecord) -> Kept:
    """Return the record of a versioned record."""
    return Kept(msgspec.convert(dict(record.data), RemediationRecord), record.version)


async def find(store: RecordStore, correlation_id: str) -> Kept | None:
    """Return one record."""
    record = await store.record(COLLECTION, correlation_id)
    return None if record is None else kept(record)


async def every(store: RecordStore, target: Address | str | None = None) -> AsyncIterator[Kept]:
    """Go through the records, all or those of a target."""
    async for record in store.records(COLLECTION, owner=None if target is None else str(target)):
        yield kept(record)


async def named(store: RecordStore, which: Sequence[str]) -> list[str]:
    """Return the ids of what is meant: ids, all under way or the last of an address; of nothing, all under way."""
    if not which:
        return [kept.record.correlation_id async for kept in every(store) if not kept.record.is_settled]
    out: list[str] = []
    for text in which:
        if "/" not in text:
            if await find(store, text) is None:
                raise InputError(f"there is no remediation {text}; see: holdfast remediations")
            out.append(text)
            continue
        found = sorted([kept.record async for kept in every(store, text)], key=lambda record: record.started_at)
        if not found:
            raise InputError(f"no remediation of {text} is known")
        going = [record for record in found if not record.is_settled]
        out += [record.correlation_id for record in going or found[-1:]]
    return list(dict.fromkeys(out))


async def stamped(store: GovernanceStore, target: Address, seen: StateReading) -> StateReading:
    """Return a state with the last correction of ours, which shows whether the remediation held.

    A later correction of ours shows that the target was changed in between, though it is correct now.
    """
    if not isinstance(seen, StateHash) or seen == state_hash.NO_TARGET:
        return seen
    recent = await store.corrections([target], limit=_RECENT)
    newest = next((record.id for record in recent if record.outcome in _WRITTEN and record.reason in CORRECTIONS), "")
    return stamp(seen, newest)


def stamp(seen: StateHash, correction: str) -> StateHash:
    """Return a state as a correction left it."""
    return replace(seen, revision=f"{seen.revision or ''}#{correction}")


async def precedents(store: RecordStore, target: Address | str) -> list[PastAttempt]:
    """Return the past attempts on a target."""
    return [plain.precedent(kept.record) async for kept in every(store, target)]


def audit(told: Iterable[audit_events.RemediationEvent]) -> list[AuditEvent]:
    """Return events as lines of the audit trail; the id says whether two are the same."""
    return [AuditEvent(event.at, event.type.value, event.target, {**event.data, "id": event.id}) for event in told]


@dataclass(frozen=True, slots=True)
class Closing:
    """How a remediation ended."""

    ending: RemediationEnding
    at: float
    confirmed: StateHash | None = None  # the read that shows what it left: that has to hold from now on
    windows: Windows | None = None  # None: as the rules say


def close(transaction: Transaction, found: Kept, closing: Closing, rules: AssessmentRules) -> RemediationRecord:
    """Add to a transaction that a remediation ended, and that its assessment begins."""
    record = replace(found.record, ending=closing.ending, ended_at=closing.at)
    told = [plain.completed(record)]
    wake_at: float | None = closing.at
    if record.assessment is None:  # else everybody's patience had run out, and the assessment goes on
        # What did not end well confirms nothing: then the state is taken when it had all its time.
        confirmed = closing.confirmed if closing.ending is RemediationEnding.COMPLETED else None
        begun, wants = state_machine.opening(assessment(record, rules, confirmed, closing.windows), closing.at)
        record = replace(record, assessment=begun)
        told += wants.events
        wake_at = wants.wake_at
    transaction.records.put.append(replace(found, record=record).next_version(wake_at))
    transaction.events += audit(told)
    return record


def assessment(
    record: RemediationRecord, rules: AssessmentRules, confirmed: StateHash | None, windows: Windows | None = None
) -> AssessmentState:
    """Return the assessment of a remediation at its beginning; its instants are fixed from here on."""
    target = Address.parse(record.target)
    alerting = Address.parse(record.alerting or record.target)
    scope = AssessmentScope(
        alerts=rules.has_alertmanager and bool(record.signal.name),
        metrics=rules.has_prometheus and bool(rules.queries_for(alerting)),
    )
    execution = Execution.COMPLETED if record.ending is RemediationEnding.COMPLETED else Execution.UNASKED
    return state.begin(record.remediation(confirmed), windows or rules.windows_for(target), scope, execution)
