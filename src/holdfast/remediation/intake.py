"""Announcing: remediations that others make, from their start to their end.

A start captures the state before the first write, and is refused where policy says that it was tried often enough; an
end captures the state that has to hold, and begins the assessment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from holdfast.errors import HoldfastError, InputError
from holdfast.model.address import Address
from holdfast.model.record import dataclass
from holdfast.reconcile.check import Checker
from holdfast.reconcile.clock import Clock
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.remediation import repository, target_state
from holdfast.remediation.core import audit_events, past_attempts
from holdfast.remediation.core import records as plain
from holdfast.remediation.core.alerts import Signal
from holdfast.remediation.core.audit_events import EventType, Workflow
from holdfast.remediation.core.past_attempts import CurrentState
from holdfast.remediation.core.records import RemediationEnding, RemediationRecord, RemediationSource
from holdfast.remediation.core.rules import AssessmentRules
from holdfast.remediation.core.state_hash import StateHash, StateReading, StateUnknown
from holdfast.remediation.repository import Closing, Kept
from holdfast.store.protocol import Store
from holdfast.store.records import VersionConflict
from holdfast.store.transaction import RecordChanges, Transaction


class RemediationRefused(HoldfastError):  # noqa: N818 - an answer
    """A remediation that policy does not let begin, and why."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """An announced action, in its author's words."""

    workflow: Workflow
    signal: Signal | None = None  # None: as the rules say for what alerted
    alerting: Address | None = None  # what alerted, where that is not the target
    who: str = ""
    correlation_id: str = ""  # "": one is made
    anyway: bool = False  # a person insists


@dataclass(slots=True)
class Announcer:
    """Takes announcements."""

    store: Store
    checker: Checker
    clock: Clock
    random01: Callable[[], float]
    rules: AssessmentRules

    async def start(self, item: ResolvedResource, order: Announcement) -> RemediationRecord:
        """Record that a remediation begins; raise Refused if it is not to, having told that in the audit trail.

        Announcing the same correlation id again changes nothing and returns what is recorded.
        """
        target = item.declaration.address
        known = await repository.find(self.store, order.correlation_id) if order.correlation_id else None
        if known is not None:
            return _same_target(known.record, target)
        seen = await self.look(item)
        record = self._record(target, order, seen)
        why = None if order.anyway else await self.refusal(item, record.workflow.action_type, seen)
        if why is not None:
            refused = audit_events.told(EventType.REFUSED, record.remediation(), record.started_at, {"details": why})
            await self.store.commit(Transaction(events=repository.audit([refused])))
            raise RemediationRefused(f"{target}: {why}")
        transaction = Transaction(
            records=RecordChanges(put=[Kept(record).next_version(record.started_at + self.rules.patience)])
        )
        transaction.events += repository.audit([plain.created(record)])
        try:
            await self.store.commit(transaction)
        except VersionConflict:  # announced twice at the same moment
            found = await repository.find(self.store, record.correlation_id)
            return _same_target(found.record, target) if found is not None else record
        return record

    def _record(self, target: Address, order: Announcement, seen: StateReading) -> RemediationRecord:
        alerting = order.alerting or target
        return RemediationRecord(
            order.correlation_id or f"rr-{int(self.random01() * 16**12):012x}",
            str(target),
            RemediationSource.OTHERS,
            self.clock.now(),
            order.workflow,
            order.signal or self.rules.alert_for(alerting),
            str(alerting) if alerting != target else "",
            order.who,
            seen if isinstance(seen, StateHash) else None,
            seen.detail if isinstance(seen, StateUnknown) else "",
        )

    async def look(self, item: ResolvedResource) -> StateReading:
        """Return the state that a target is in now."""
        seen = target_state.of_reading(item, await self.checker.read(item, None))
        return await repository.stamped(self.store, item.declaration.address, seen)

    async def refusal(self, item: ResolvedResource, action: str, seen: StateReading) -> str | None:
        """Return the reason why policy refuses an action on a target in this state. None if the action may begin."""
        most, limits = item.settings.assessing.refuse_after, self.rules.refusal
        if not isinstance(seen, StateHash) or (not most and limits is None):
            return None  # without knowing the state nothing is refused
        target = str(item.declaration.address)
        past = await repository.precedents(self.store, target)
        today = CurrentState(target, seen.hash, self.clock.now())
        times = past_attempts.failures(past, today)
        if most and times >= most:
            return f"a remediation from this very state failed {times} times; refuseAfter is {most}"
        return past_attempts.refusal(past, today, action, limits) if limits is not None else None

    async def complete(
        self, found: Kept, item: ResolvedResource, ending: RemediationEnding, propagation: float | None = None
    ) -> RemediationRecord:
        """Record that a remediation ended; what is there now is what has to hold.

        With `propagation` the change has that long to arrive (GitOps, an operator) before it is looked for.
        """
        seen = await self.look(item)
        windows = self.rules.windows_for(item.declaration.address)
        if propagation is not None:
            windows = replace(windows, hash_delay=propagation)
        confirmed = seen if isinstance(seen, StateHash) else None
        closing = Closing(ending, self.clock.now(), confirmed, windows)
        while True:
            if not found.record.is_open:
                raise InputError(f"remediation {found.record.correlation_id} is over already")
            transaction = Transaction()
            record = repository.close(transaction, found, closing, self.rules)
            try:
                await self.store.commit(transaction)
            except VersionConflict:  # another process assessed it at the same time
                again = await repository.find(self.store, found.record.correlation_id)
                assert again is not None
                found = again
            else:
                return record

    async def open_on(self, target: Address, correlation_id: str = "") -> Kept:
        """Return the remediation of a target that is under way; it must be the only one, or be named."""
        if correlation_id:
            found = await repository.find(self.store, correlation_id)
            if found is None:
                raise InputError(f"there is no remediation {correlation_id}; see: holdfast remediations {target}")
            _same_target(found.record, target)
            return found
        listed = [kept async for kept in repository.every(self.store, target) if kept.record.is_open]
        if len(listed) == 1:
            return listed[0]
        if not listed:
            raise InputError(
                f"no remediation of {target} is under way; announce one: holdfast remediation start {target}"
            )
        names = ", ".join(kept.record.correlation_id for kept in listed)
        raise InputError(f"{len(listed)} remediations of {target} are under way; say which with --id: {names}")


def _same_target(record: RemediationRecord, target: Address) -> RemediationRecord:
    if record.target != str(target):
        raise InputError(f"remediation {record.correlation_id} is of {record.target}, not of {target}")
    return record
