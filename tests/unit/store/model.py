"""The contract of a store in plain Python: dictionaries, no SQL, no bytes. Tests compare every store with it.

It is written from the contract, not from a store, and is as short as it can be: a commit changes a copy, which replaces
the model if nothing failed.
"""

from __future__ import annotations

import copy
import math
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from holdfast.compare.paths import format_path
from holdfast.errors import StoreError
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.verdict import Status
from holdfast.store import blobs
from holdfast.store.governance import BudgetSpent, CorrectionRecord
from holdfast.store.records import (
    REVISIONS_KEPT,
    AppliedRevision,
    AuditEvent,
    Claim,
    ClaimLost,
    DecisionRecord,
    FindingRecord,
    VersionConflict,
    VersionedRecord,
    WriteOperation,
)
from holdfast.store.state import (
    CLOCK_SLACK_SECONDS,
    UNCHECKED,
    Digest,
    ResourceState,
    StatusCounts,
    UnchangedResource,
    WithdrawnVerdict,
    is_idle,
)
from holdfast.store.transaction import GovernanceChanges, Transaction


@dataclass
class Facts:
    """Everything that a store remembers."""

    documents: dict[Digest, Json] = field(default_factory=dict)
    states: dict[Address, ResourceState] = field(default_factory=dict)
    findings: dict[Address, list[FindingRecord]] = field(default_factory=dict)
    revisions: dict[tuple[Address, int], AppliedRevision] = field(default_factory=dict)
    decisions: dict[str, DecisionRecord] = field(default_factory=dict)
    operations: dict[str, WriteOperation] = field(default_factory=dict)
    corrections: dict[str, CorrectionRecord] = field(default_factory=dict)
    charges: dict[tuple[str, str], float] = field(default_factory=dict)  # correction and bucket -> time
    pauses: dict[str, Any] = field(default_factory=dict)
    approvals: dict[str, Any] = field(default_factory=dict)
    quarantines: dict[tuple[Address, str], Any] = field(default_factory=dict)
    accepted: dict[tuple[Address, str], Any] = field(default_factory=dict)
    records: dict[tuple[str, str], VersionedRecord] = field(default_factory=dict)
    claims: dict[Address, tuple[int, str | None, float]] = field(default_factory=dict)  # fence, owner, until
    events: list[AuditEvent] = field(default_factory=list)


def scheduled(state: ResourceState, **changes: Any) -> ResourceState:
    return replace(state, schedule=replace(state.schedule, **changes))


def observed(state: ResourceState, **changes: Any) -> ResourceState:
    return replace(state, observed=replace(state.observed, **changes))


def earliest(*times: float | None) -> float | None:
    return min((at for at in times if at is not None), default=None)


def place(address: Address) -> tuple[str, str, str]:
    """Return the key by which addresses are ordered."""
    connection, kind, local = str(address).split("/", 2)
    return connection, kind, local


class Model:
    """A store in memory, of the same methods as `Store`."""

    def __init__(self) -> None:
        self.facts = Facts()

    async def close(self) -> None:
        """Do nothing."""

    async def commit(self, given: Transaction) -> None:
        before = self.facts
        self.facts = copy.deepcopy(before)
        try:
            self._commit(given)
        except BaseException:
            self.facts = before
            raise

    def _commit(self, given: Transaction) -> None:
        facts = self.facts
        self._require_fences(given)
        for digest, data in given.documents.items():
            blobs.require_match(digest, data)
            facts.documents[digest] = blobs.load(data)
        for address in given.forgotten:
            self._forget(address)
        clean = {address: state.schedule.good_at for address, state in facts.states.items()}
        overtaken = self._put_states(given)
        self._update(given)
        for address, findings in given.findings.items():
            if address not in overtaken:
                self._find(given, address, findings, clean.get(address))
        for revision in given.revisions:
            self._revise(revision)
        for decision in given.decisions:
            self._decide(decision)
        facts.operations |= {operation.id: operation for operation in given.writes.operations}
        for identity in given.writes.finished:
            facts.operations.pop(identity, None)
        self._govern(given.governance)
        self._put_records(given)
        facts.events += given.events
        self._change_claims(given)

    def _require_fences(self, given: Transaction) -> None:
        for address, fence in given.writes.fences.items():
            if self.facts.claims.get(address, (0,))[0] != fence:
                raise ClaimLost

    def _put_records(self, given: Transaction) -> None:
        records = self.facts.records
        for key in given.records.deleted:
            records.pop(key, None)
        for record in given.records.put:
            known = records.get((record.collection, record.key))
            if record.version != (known.version if known else 0) + 1:
                raise VersionConflict(record.collection, record.key)
            records[record.collection, record.key] = record

    def _change_claims(self, given: Transaction) -> None:
        for claim in given.writes.renewed:
            if not self._change(claim, claim.owner, claim.until):
                raise ClaimLost
        for claim in given.writes.released:
            self._change(claim, None, 0.0)

    def _forget(self, address: Address) -> None:
        facts = self.facts
        facts.states.pop(address, None)
        facts.findings.pop(address, None)
        tables: tuple[dict[Any, Any], ...] = (facts.revisions, facts.quarantines, facts.accepted)
        for table in tables:
            for key in [key for key in table if key[0] == address]:
                del table[key]
        for plan, approval in list(facts.approvals.items()):
            if approval.address == address and approval.used_at is None:
                del facts.approvals[plan]

    def _put_states(self, given: Transaction) -> set[Address]:
        """Store states, and return the resources whose states describe live state before a newer write."""
        stored, overtaken = self.facts.states, set()
        for address, state in {state.address: state for state in given.states}.items():
            old = stored.get(address)
            if old is None:
                stored[address] = state
            elif address in given.checked and old.applied.revision != state.applied.revision:
                overtaken.add(address)
            else:
                stored[address] = self._with_request(old, state)
        return overtaken

    @staticmethod
    def _with_request(old: ResourceState, state: ResourceState) -> ResourceState:
        was, schedule = old.schedule, state.schedule
        is_open = was.requested != was.handled
        new = scheduled(state, requested=was.requested)
        if not is_open and was.handled:
            new = scheduled(new, handled=was.handled)
        if is_open and was.requested is not None and schedule.handled != was.requested:
            new = scheduled(new, due_at=earliest(schedule.due_at, was.due_at))
        return new

    def _update(self, given: Transaction) -> None:
        states, updates, change = self.facts.states, given.updates, self._change_state
        for check in updates.unchanged:
            if check.address not in states:
                continue
            state = states[check.address]
            is_open = state.schedule.requested != state.schedule.handled
            due_at = earliest(state.schedule.due_at, check.due_at) if is_open else check.due_at
            state = scheduled(state, checked_at=check.checked_at, good_at=check.checked_at, failures=0, due_at=due_at)
            tags = {"etag": check.etag, "raw_digest": check.raw_digest}
            states[check.address] = observed(state, **{key: tag for key, tag in tags.items() if tag is not None})
        for address, due_at in updates.rescheduled:
            change(address, partial(scheduled, due_at=due_at))
        for request in updates.requested:
            change(request.address, partial(scheduled, requested=request.token))
        for request in updates.requested:
            change(request.address, partial(scheduled, due_at=request.due_at))
        for relink in updates.relinked:
            change(relink.address, partial(observed, provider_id=relink.provider_id))
        self._outdate(given)

    def _outdate(self, given: Transaction) -> None:
        updates, change = given.updates, self._change_state
        for withdrawn in updates.withdrawn:
            change(withdrawn.address, partial(self._withdraw, withdrawn))
        for address, _ in updates.outdated:
            change(address, partial(observed, etag=None, raw_digest=None))
        for address, at in updates.outdated:
            change(address, partial(self._move_forward, at))
        for address, at in updates.set_back:
            change(address, partial(scheduled, checked_at=None, due_at=at))

    def _change_state(self, address: Address, changed: Callable[[ResourceState], ResourceState]) -> None:
        if address in self.facts.states:
            self.facts.states[address] = changed(self.facts.states[address])

    @staticmethod
    def _move_forward(due_at: float, state: ResourceState) -> ResourceState:
        return scheduled(state, due_at=earliest(state.schedule.due_at, due_at))

    @staticmethod
    def _withdraw(withdrawn: WithdrawnVerdict, state: ResourceState) -> ResourceState:
        if state.applied.revision != withdrawn.revision:
            return state
        schedule = state.schedule
        is_due = withdrawn.is_scheduled or schedule.requested != schedule.handled
        checked_at = schedule.checked_at if withdrawn.checked_at is None else withdrawn.checked_at
        new = scheduled(state, checked_at=checked_at, due_at=schedule.due_at if is_due else None)
        return observed(new, status=Status.UNKNOWN, reason=withdrawn.reason, conditions=withdrawn.conditions)

    def _find(self, given: Transaction, address: Address, findings: Iterable[Any], clean_at: float | None) -> None:
        old = {
            (format_path(record.finding.path), record.finding.op): record
            for record in self.facts.findings.get(address, [])
        }
        records = []
        for finding in findings:
            known = old.get((format_path(finding.path), finding.op))
            if known is None:
                records.append(FindingRecord(finding, given.findings_at, given.findings_at, clean_at))
            else:
                times = known.times + (address in given.checked)
                records.append(replace(known, finding=finding, last_seen=given.findings_at, times=times))
        self.facts.findings[address] = records

    def _revise(self, revision: AppliedRevision) -> None:
        revisions, key = self.facts.revisions, (revision.address, revision.number)
        known = revisions.setdefault(key, revision)
        if (known.document, known.stamp) != (revision.document, revision.stamp):
            raise StoreError
        for address, number in list(revisions):
            if address == revision.address and number <= revision.number - REVISIONS_KEPT:
                del revisions[address, number]

    def _decide(self, decision: DecisionRecord) -> None:
        known = self.facts.decisions.get(decision.id)
        if known is not None:
            if known != decision:
                raise StoreError
            return
        last = [other for other in self.facts.decisions.values() if other.address == decision.address][-1:]
        if not last or not decision.repeats(last[0]):
            self.facts.decisions[decision.id] = decision

    def _govern(self, given: GovernanceChanges) -> None:
        facts = self.facts
        facts.corrections |= {correction.id: correction for correction in given.corrections}
        for identity, charges in given.charges.items():
            if identity not in facts.corrections:
                raise ValueError(identity)
            for charge in charges:
                if (identity, charge.bucket) not in facts.charges:
                    if self._charges(charge.bucket, charge.since) >= charge.limit:
                        raise BudgetSpent(charge.bucket)
                    facts.charges[identity, charge.bucket] = facts.corrections[identity].at
        for scope in given.resumed:
            facts.pauses.pop(scope, None)
        for path in given.unquarantined:
            facts.quarantines.pop(path, None)
        for path in given.unaccepted:
            facts.accepted.pop(path, None)
        facts.pauses |= {pause.scope: pause for pause in given.pauses}
        facts.approvals |= {approval.plan: approval for approval in given.approvals}
        facts.quarantines |= {(item.address, item.path): item for item in given.quarantines}
        facts.accepted |= {(item.address, item.path): item for item in given.accepted}

    def _charges(self, bucket: str, since: float) -> int:
        return sum(at >= since for (_, charged), at in self.facts.charges.items() if charged == bucket)

    def _change(self, claim: Claim, owner: str | None, until: float) -> bool:
        fence, holder, _ = self.facts.claims.get(claim.address, (0, None, 0.0))
        if (fence, holder) != (claim.fence, claim.owner):
            return False
        self.facts.claims[claim.address] = fence, owner, until
        return True

    # --- claims -------------------------------------------------------------------------------------------------------

    async def claim(self, address: Address, owner: str, now: float, until: float) -> Claim | None:
        fence, holder, expires = self.facts.claims.get(address, (0, None, 0.0))
        if holder is not None and expires > now:
            return None
        self.facts.claims[address] = fence + 1, owner, until
        state = self.facts.states.get(address)
        return Claim(address, owner, fence + 1, until, state.applied.revision if state else 0)

    async def renew(self, claim: Claim, until: float) -> Claim | None:
        is_ours = self._change(claim, claim.owner, until)
        return Claim(claim.address, claim.owner, claim.fence, until) if is_ours else None

    async def release(self, claim: Claim) -> None:
        self._change(claim, None, 0.0)

    async def claims(self) -> list[Claim]:
        held = self.facts.claims.items()
        found = [Claim(address, owner, fence, until) for address, (fence, owner, until) in held if owner is not None]
        return sorted(found, key=lambda claim: str(claim.address))

    # --- reading ------------------------------------------------------------------------------------------------------

    async def documents(self, digests: Sequence[Digest]) -> dict[Digest, Json]:
        return {digest: self.facts.documents[digest] for digest in digests if digest in self.facts.documents}

    async def states(self, addresses: Sequence[Address]) -> dict[Address, ResourceState]:
        return {address: self.facts.states[address] for address in addresses if address in self.facts.states}

    async def all_states(
        self, *, connection: str | None = None, kind: str | None = None
    ) -> AsyncIterator[ResourceState]:
        for address, state in sorted(self.facts.states.items(), key=lambda item: place(item[0])):
            if connection in (None, address.connection) and kind in (None, address.kind):
                yield state

    async def listed_digests(self, addresses: Sequence[Address]) -> dict[str, bytes | None]:
        states = (await self.states(addresses)).values()
        return {
            state.observed.provider_id: blobs.pack_digest(state.observed.raw_digest)
            if is_idle(state) and state.observed.raw_digest is not None
            else None
            for state in states
            if state.observed.provider_id is not None
        }

    async def sources(self) -> AsyncIterator[tuple[Address, str | None]]:
        async for state in self.all_states():
            yield state.address, state.declared.source

    async def find_unchanged(
        self, connection: str, kind: str, listed: Sequence[tuple[str, str]]
    ) -> list[UnchangedResource]:
        digests: dict[str | None, str] = dict(listed)
        return [
            UnchangedResource(address, state.schedule.resync_seconds)
            for address, state in self.facts.states.items()
            if (address.connection, address.kind) == (connection, kind)
            and state.observed.provider_id in digests
            and digests[state.observed.provider_id] == state.observed.raw_digest
            and state.schedule.due_at is not None
            and is_idle(state)
        ]

    async def unchecked(
        self, connection: str, kind: str, since: float, until: float = math.inf
    ) -> AsyncIterator[Address]:
        async for state in self.all_states(connection=connection, kind=kind):
            checked_at = state.schedule.checked_at
            if state.schedule.due_at is not None and (checked_at is None or not since <= checked_at <= until):
                yield state.address

    async def due(self, now: float, limit: int, without: Collection[str] = ()) -> list[ResourceState]:
        claimed = {claim.address for claim in await self.claims() if claim.until > now}
        due = [
            (state.schedule.due_at, state)
            for address, state in self.facts.states.items()
            if state.schedule.due_at is not None
            and state.schedule.due_at <= now
            and address not in claimed
            and address.connection not in without
        ]
        return [state for _, state in sorted(due, key=lambda pair: pair[0])][:limit]

    async def next_due(self, without: Collection[str] = ()) -> float | None:
        return earliest(
            *(state.schedule.due_at for at, state in self.facts.states.items() if at.connection not in without)
        )

    async def count_statuses(self, now: float) -> StatusCounts:
        counts: dict[str, int] = {}
        overdue = 0
        for state in self.facts.states.values():
            name = UNCHECKED if state.observed.status is None else state.observed.status.value
            counts[name] = counts.get(name, 0) + 1
            times = state.schedule
            is_ahead = times.checked_at is not None and times.checked_at > now + CLOCK_SLACK_SECONDS
            overdue += times.due_at is not None and (times.due_at <= now or is_ahead)
        return StatusCounts(counts, sum(counts.values()), overdue)

    async def count_resources(self) -> dict[tuple[str, str], int]:
        counts: dict[tuple[str, str], int] = {}
        for address in self.facts.states:
            counts[address.connection, address.kind] = counts.get((address.connection, address.kind), 0) + 1
        return counts

    async def addresses_with_status(self, status: Status) -> list[Address]:
        return [state.address async for state in self.all_states() if state.observed.status is status]

    async def findings(self, address: Address | None = None) -> dict[Address, list[FindingRecord]]:
        return await self.findings_of(list(self.facts.findings) if address is None else [address])

    async def findings_of(self, addresses: Sequence[Address]) -> dict[Address, list[FindingRecord]]:
        return {address: self.facts.findings[address] for address in addresses if self.facts.findings.get(address)}

    async def revisions(self, address: Address) -> list[AppliedRevision]:
        found = [revision for (owner, _), revision in self.facts.revisions.items() if owner == address]
        return sorted(found, key=lambda revision: -revision.number)

    async def decisions(self, address: Address | None, limit: int) -> list[DecisionRecord]:
        newest_first = reversed(self.facts.decisions.values())
        return [decision for decision in newest_first if address in (None, decision.address)][:limit]

    async def decision(self, decision_id: str) -> DecisionRecord | None:
        return self.facts.decisions.get(decision_id)

    async def operations(self, address: Address | None = None) -> list[WriteOperation]:
        found = [item for item in self.facts.operations.values() if address in (None, item.address)]
        return sorted(found, key=lambda operation: operation.started_at)

    async def corrections(
        self, addresses: Sequence[Address] | None = None, *, since: float | None = None, limit: int | None = None
    ) -> list[CorrectionRecord]:
        newest_first = [
            correction
            for correction in reversed(self.facts.corrections.values())
            if (addresses is None or correction.address in addresses) and (since is None or correction.at >= since)
        ]
        return sorted(newest_first, key=lambda correction: -correction.at)[:limit]

    async def correction(self, correction_id: str) -> CorrectionRecord | None:
        return self.facts.corrections.get(correction_id)

    async def count_charges(self, buckets: Sequence[tuple[str, float]]) -> list[int]:
        return [self._charges(bucket, since) for bucket, since in buckets]

    async def pauses(self) -> list[Any]:
        return [pause for _, pause in sorted(self.facts.pauses.items())]

    async def approvals(self, addresses: Sequence[Address] | None = None) -> list[Any]:
        found = [item for item in self.facts.approvals.values() if item.used_at is None]
        return self._of(found, addresses, lambda item: item.plan)

    async def quarantines(self, addresses: Sequence[Address] | None = None) -> list[Any]:
        return self._of(self.facts.quarantines.values(), addresses, lambda item: item.path)

    async def accepted_values(self, addresses: Sequence[Address] | None = None) -> list[Any]:
        return self._of(self.facts.accepted.values(), addresses, lambda item: item.path)

    @staticmethod
    def _of(items: Iterable[Any], addresses: Sequence[Address] | None, last: Callable[[Any], str]) -> list[Any]:
        chosen = [item for item in items if addresses is None or item.address in addresses]
        return sorted(chosen, key=lambda item: (*place(item.address), last(item)))

    async def record(self, collection: str, key: str) -> VersionedRecord | None:
        return self.facts.records.get((collection, key))

    async def verify_chain(self) -> int:
        return len(self.facts.events)
