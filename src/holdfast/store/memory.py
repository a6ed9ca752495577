"""A store that forgets when the process ends: for tests, and as the plain statement of what a store does.

Same contract as the SQLite store, same suite of tests; no file, no thread, no second process.
"""

from __future__ import annotations

import copy
import heapq
import math
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from holdfast.compare.paths import format_path
from holdfast.errors import StoreError, UnhashableError
from holdfast.model.address import Address
from holdfast.model.audit import AuditHead
from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.model.verdict import Status
from holdfast.store import audit_chain, blobs, escape
from holdfast.store.governance import (
    AcceptedValue,
    Approval,
    BudgetSpent,
    CorrectionOutcome,
    CorrectionRecord,
    Pause,
    Quarantine,
)
from holdfast.store.records import (
    REVISIONS_KEPT,
    AppliedRevision,
    ChainedEvent,
    Claim,
    ClaimLost,
    DecisionRecord,
    FindingRecord,
    VersionConflict,
    VersionedRecord,
    WriteOperation,
)
from holdfast.store.schedule import earlier
from holdfast.store.state import (
    CLOCK_SLACK_SECONDS,
    UNCHECKED,
    Digest,
    ResourceState,
    StatusCounts,
    UnchangedCheck,
    UnchangedResource,
)
from holdfast.store.transaction import Transaction

Record = TypeVar("Record", CorrectionRecord, Approval, Quarantine, AcceptedValue)

_REVERTING = ("drift", "missing", "conflict")


class SqliteStore:
    """Implements `base.Store` with dictionaries; no method waits, so each is atomic among tasks."""

    def __init__(self) -> None:
        self._documents: dict[Digest, bytes] = {}
        self._states: dict[Address, ResourceState] = {}
        self._claims: dict[Address, Claim] = {}  # held ones
        self._fences: dict[Address, int] = {}  # of all claims there ever were
        self._findings: dict[Address, list[FindingRecord]] = {}
        self._revisions: dict[Address, dict[int, AppliedRevision]] = {}
        self._decisions: dict[str, DecisionRecord] = {}
        self._newest: dict[Address, DecisionRecord] = {}
        self._operations: dict[str, WriteOperation] = {}
        self._corrections: dict[str, CorrectionRecord] = {}
        self._charges: dict[str, dict[str, float]] = {}  # bucket -> correction -> time
        self._pauses: dict[str, Pause] = {}
        self._approvals: dict[str, Approval] = {}
        self._quarantines: dict[tuple[Address, str], Quarantine] = {}
        self._acceptances: dict[tuple[Address, str], AcceptedValue] = {}
        self._records: dict[tuple[str, str], VersionedRecord] = {}
        self._links: list[audit_chain.Link] = []
        self._head = audit_chain.START

    async def close(self) -> None:
        """Do nothing: there is nothing to let go of."""

    # --- writing ------------------------------------------------------------------------------------------------------

    async def commit(self, transaction: Transaction) -> None:
        """Make a batch of facts true: everything that can fail comes before anything that changes."""
        try:
            self._commit(transaction)
        except UnhashableError:  # a lone surrogate somewhere; nothing of it was kept
            self._commit(escape.transaction(transaction))

    def _commit(self, transaction: Transaction) -> None:
        self._require_fences(transaction.writes.fences)
        self._require_held(transaction.writes.renewed)
        for digest, data in transaction.documents.items():
            blobs.require_match(digest, data)
        revisions = self._new_revisions(transaction)
        decisions = self._new_decisions(transaction.decisions)
        events = [(event, audit_chain.data_bytes(event)) for event in transaction.events]
        links, head = audit_chain.extend(self._head, events)
        charges = self._new_charges(transaction)
        records = self._new_records(transaction)

        self._documents |= transaction.documents
        self._forget(transaction.forgotten)
        good_at = {
            address: self._states[address].schedule.good_at
            for address in transaction.findings
            if address in self._states
        }
        states = {state.address: self._with_request(_own(state)) for state in transaction.states}
        overtaken = {address for address in transaction.checked if self._is_overtaken(states.get(address))}
        self._states |= {address: state for address, state in states.items() if address not in overtaken}
        for touch in transaction.updates.unchanged:
            self._touch(touch)
        self._reschedule(transaction)
        for address in transaction.findings:
            if address not in overtaken:
                self._put_findings(transaction, address, good_at.get(address))
        for revision in revisions:
            kept = self._revisions.setdefault(revision.address, {})
            kept[revision.number] = revision
            for number in [each for each in kept if each <= revision.number - REVISIONS_KEPT]:
                del kept[number]
        self._decisions |= decisions
        self._newest |= {each.address: each for each in decisions.values()}
        self._put_operations(transaction)
        self._corrections |= {
            correction.id: copy.deepcopy(correction) for correction in transaction.governance.corrections
        }
        for bucket, taken in charges.items():
            self._charges.setdefault(bucket, {}).update(taken)
        self._govern(transaction)
        self._records = records
        self._links += links
        self._head = head
        for claim in transaction.writes.renewed:
            self._claims[claim.address] = claim
        for claim in transaction.writes.released:
            self._let_go(claim)

    def _with_request(self, state: ResourceState) -> ResourceState:
        """Return a state with the check that was asked for last; it stays due while that is not done."""
        kept = self._states.get(state.address)
        if kept is None:
            return state
        done = (
            kept.schedule.handled if kept.schedule.handled == kept.schedule.requested else None
        )  # done meanwhile, and it stays so
        is_open = kept.schedule.requested is not None and kept.schedule.requested not in (state.schedule.handled, done)
        due_at = earlier(kept.schedule.due_at, state.schedule.due_at) if is_open else state.schedule.due_at
        return replace(
            state,
            schedule=replace(
                state.schedule, requested=kept.schedule.requested, handled=done or state.schedule.handled, due_at=due_at
            ),
        )

    def _reschedule(self, facts: Transaction) -> None:
        for address, due_at in facts.updates.rescheduled:
            if address in self._states:
                state = self._states[address]
                self._states[address] = replace(state, schedule=replace(state.schedule, due_at=due_at))
        for one in facts.updates.requested:
            if one.address in self._states:
                state = self._states[one.address]
                self._states[one.address] = replace(
                    state, schedule=replace(state.schedule, requested=one.token, due_at=one.due_at)
                )

    def _is_overtaken(self, state: ResourceState | None) -> bool:
        """Tell whether somebody wrote to the resource after it was read for the check that is being recorded."""
        kept = None if state is None else self._states.get(state.address)
        return state is not None and kept is not None and kept.applied.revision != state.applied.revision

    def _require_fences(self, fences: Mapping[Address, int]) -> None:
        for address, fence in fences.items():
            if fence != self._fences.get(address, 0):
                raise ClaimLost(f"another worker has claimed {address} since; nothing was recorded")

    def _require_held(self, claims: Iterable[Claim]) -> None:
        for claim in (each for each in claims if not self._is_held(each)):
            raise ClaimLost(f"another worker has claimed {claim.address} since; nothing was recorded")

    def _new_revisions(self, facts: Transaction) -> list[AppliedRevision]:
        new: dict[tuple[Address, int], AppliedRevision] = {}
        for revision in facts.revisions:
            address, number = revision.address, revision.number
            kept = {} if address in facts.forgotten else self._revisions.get(address, {})
            known = kept.get(number) or new.setdefault((address, number), revision)
            if (known.document, known.stamp) != (revision.document, revision.stamp):
                raise StoreError(f"revision {number} of {address} is kept already and was another one")
        return list(new.values())

    def _new_decisions(self, decisions: Iterable[DecisionRecord]) -> dict[str, DecisionRecord]:
        new: dict[str, DecisionRecord] = {}
        for decision in decisions:
            last = next((each for each in reversed(new.values()) if each.address == decision.address), None)
            last = last or self._newest.get(decision.address)
            if last is not None and last.id != decision.id and decision.repeats(last):
                continue
            known = self._decisions.get(decision.id) or new.setdefault(decision.id, decision)
            if known != decision:
                raise StoreError(f"decision {decision.id} is kept already and was another one")
        return new

    def _new_records(self, facts: Transaction) -> dict[tuple[str, str], VersionedRecord]:
        """Return what the collections hold afterwards; what is closed goes first, so it can begin anew at once."""
        kept = {place: record for place, record in self._records.items() if place not in facts.records.deleted}
        for record in facts.records.put:
            place = record.collection, record.key
            if record.version != (kept[place].version if place in kept else 0) + 1:
                raise VersionConflict(*place)
            kept[place] = copy.deepcopy(record)
        return kept

    def _forget(self, addresses: Iterable[Address]) -> None:
        for address in addresses:
            for kept in (self._states, self._findings, self._revisions):
                kept.pop(address, None)
            self._quarantines = {key: one for key, one in self._quarantines.items() if one.address != address}
            self._acceptances = {key: one for key, one in self._acceptances.items() if one.address != address}
            self._approvals = {
                plan: one for plan, one in self._approvals.items() if one.address != address or one.used_at is not None
            }

    def _touch(self, touch: UnchangedCheck) -> None:
        state = self._states.get(touch.address)
        if state is not None:
            is_open = state.schedule.requested != state.schedule.handled
            due_at = earlier(state.schedule.due_at, touch.due_at) if is_open else touch.due_at
            self._states[touch.address] = replace(
                state,
                schedule=replace(
                    state.schedule, checked_at=touch.checked_at, good_at=touch.checked_at, due_at=due_at, failures=0
                ),
                observed=replace(
                    state.observed,
                    etag=state.observed.etag if touch.etag is None else touch.etag,
                    raw_digest=state.observed.raw_digest if touch.raw_digest is None else touch.raw_digest,
                ),
            )

    def _put_findings(self, facts: Transaction, address: Address, clean_at: float | None) -> None:
        kept = {_identity(record.finding): record for record in self._findings.pop(address, [])}
        at, more = facts.findings_at, 1 if address in facts.checked else 0
        for finding in copy.deepcopy(facts.findings[address]):
            known = kept.get(_identity(finding))
            if known is None:
                record = FindingRecord(finding, at, at, clean_at)
            else:
                record = replace(known, finding=finding, last_seen=at, times=known.times + more)
            self._findings.setdefault(address, []).append(record)

    def _put_operations(self, facts: Transaction) -> None:
        self._operations |= {operation.id: copy.deepcopy(operation) for operation in facts.writes.operations}
        for identity in facts.writes.finished:
            self._operations.pop(identity, None)

    def _new_charges(self, facts: Transaction) -> dict[str, dict[str, float]]:
        """Return what is to be taken from which bucket for which correction; raise if a bucket holds no more."""
        at = {correction.id: correction.at for correction in facts.governance.corrections}
        new: dict[str, dict[str, float]] = {}
        for identity, charges in facts.governance.charges.items():
            if identity not in at and identity not in self._corrections:
                raise ValueError(f"correction {identity} cannot be charged: it is not kept, nor in the transaction")
            for charge in charges:
                taken = self._charges.get(charge.bucket, {}) | new.get(charge.bucket, {})
                if identity not in taken:
                    if sum(one >= charge.since for one in taken.values()) >= charge.limit:
                        raise BudgetSpent(charge.bucket)
                    time = at[identity] if identity in at else self._corrections[identity].at
                    new.setdefault(charge.bucket, {})[identity] = time
        return new

    def _govern(self, facts: Transaction) -> None:
        """Keep what people decided; what ends goes first, so it can begin anew at once."""
        for scope in facts.governance.resumed:
            self._pauses.pop(scope, None)
        for key in facts.governance.unquarantined:
            self._quarantines.pop(key, None)
        for key in facts.governance.unaccepted:
            self._acceptances.pop(key, None)
        self._pauses |= {pause.scope: pause for pause in facts.governance.pauses}
        self._approvals |= {approval.plan: approval for approval in facts.governance.approvals}
        self._quarantines |= {(one.address, one.path): copy.deepcopy(one) for one in facts.governance.quarantines}
        self._acceptances |= {(one.address, one.path): copy.deepcopy(one) for one in facts.governance.accepted}

    async def claim(self, address: Address, owner: str, now: float, until: float) -> Claim | None:
        """Take the right to write a resource, if nobody holds it any more."""
        if self._is_claimed(address, now):
            return None
        fence = self._fences[address] = self._fences.get(address, 0) + 1
        state = self._states.get(address)
        revision = state.applied.revision if state is not None else 0
        claim = self._claims[address] = Claim(address, owner, fence, until, revision)
        return claim

    async def renew(self, claim: Claim, until: float) -> Claim | None:
        """Prolong a claim that nobody took over."""
        if not self._is_held(claim):
            return None
        renewed = self._claims[claim.address] = replace(claim, until=until)
        return renewed

    async def release(self, claim: Claim) -> None:
        """Give a claim back; its fence stays used."""
        self._let_go(claim)

    def _let_go(self, claim: Claim) -> None:
        if self._is_held(claim):
            del self._claims[claim.address]

    async def claims(self) -> list[Claim]:
        """Return the claims that were not given back."""
        return sorted(self._claims.values(), key=lambda claim: str(claim.address))

    def _is_claimed(self, address: Address, now: float) -> bool:
        held = self._claims.get(address)
        return held is not None and held.until > now

    def _is_held(self, claim: Claim) -> bool:
        held = self._claims.get(claim.address)
        return held is not None and (held.fence, held.owner) == (claim.fence, claim.owner)

    # --- documents and resources --------------------------------------------------------------------------------------

    async def document(self, digest: Digest) -> Json:
        """Return a document; raise KeyError if there is none."""
        return blobs.load(self._documents[digest])

    async def documents(self, digests: Sequence[Digest]) -> dict[Digest, Json]:
        """Return those of many documents that are kept."""
        return {digest: blobs.load(self._documents[digest]) for digest in digests if digest in self._documents}

    async def state(self, address: Address) -> ResourceState | None:
        """Return one resource."""
        return (await self.states([address])).get(address)

    async def states(self, addresses: Sequence[Address]) -> dict[Address, ResourceState]:
        """Return those of many resources that are known."""
        return {address: _own(self._states[address]) for address in addresses if address in self._states}

    async def all_states(
        self, *, connection: str | None = None, kind: str | None = None
    ) -> AsyncIterator[ResourceState]:
        """Go through every resource by connection, kind, namespace and name."""
        for address in sorted(self._states, key=_order):
            if connection in (None, address.connection) and kind in (None, address.kind) and address in self._states:
                yield _own(self._states[address])

    async def settled(self, connection: str, kind: str, listed: Sequence[tuple[str, str]]) -> list[UnchangedResource]:
        """Return what is at rest and unmoved; of a thing listed twice the later digest counts."""
        digests = dict(listed)
        return [
            UnchangedResource(state.address, state.schedule.resync_seconds)
            async for state in self.all_states(connection=connection, kind=kind)
            if state.observed.provider_id in digests
            and digests[state.observed.provider_id] == state.observed.raw_digest
            and _is_at_rest(state)
        ]

    async def unlooked(
        self, connection: str, kind: str, since: float, until: float = math.inf
    ) -> AsyncIterator[Address]:
        """Go through what was not checked since a time by namespace and name."""
        async for state in self.all_states(connection=connection, kind=kind):
            if state.schedule.due_at is not None and (
                state.schedule.checked_at is None or not since <= state.schedule.checked_at <= until
            ):
                yield state.address

    async def due(self, now: float, limit: int, without: Collection[str] = ()) -> list[ResourceState]:
        """Return what is due and unclaimed, the longest overdue first."""
        due = (
            (state.schedule.due_at, order, state)
            for order, state in enumerate(self._states.values())
            if state.schedule.due_at is not None
            and state.schedule.due_at <= now
            and not self._is_claimed(state.address, now)
        )
        found = (each for each in due if each[2].address.connection not in without)
        return [_own(state) for _, _, state in heapq.nsmallest(limit, found)]

    async def ahead(self, now: float, limit: int) -> list[Address]:
        """Return scheduled resources that seem to have been checked later than now: the clock was set back."""
        return [state.address for state in self._states.values() if _is_ahead(state, now)][:limit]

    async def next_due(self, without: Collection[str] = ()) -> float | None:
        """Return the earliest due time, claimed or not."""
        states = (state for state in self._states.values() if state.address.connection not in without)
        return min((state.schedule.due_at for state in states if state.schedule.due_at is not None), default=None)

    async def sizes(self) -> dict[tuple[str, str], int]:
        """Count resources by connection and kind."""
        return dict(Counter((address.connection, address.kind) for address in self._states))

    async def with_status(self, status: Status) -> list[Address]:
        """Return the resources whose last verdict was this."""
        return sorted((a for a, state in self._states.items() if state.observed.status is status), key=_order)

    async def tally(self, now: float) -> StatusCounts:
        """Count."""
        states = self._states.values()
        by_status = Counter(
            UNCHECKED if state.observed.status is None else state.observed.status.value for state in states
        )
        overdue = sum(
            (state.schedule.due_at is not None and state.schedule.due_at <= now)
            or _is_ahead(state, now + CLOCK_SLACK_SECONDS)
            for state in states
        )
        return StatusCounts(dict(by_status), len(states), overdue)

    # --- findings and history -----------------------------------------------------------------------------------------

    async def findings(self, address: Address | None = None) -> dict[Address, list[FindingRecord]]:
        """Return open findings by resource; a resource without any is not in the answer."""
        return await self.findings_of(sorted(self._findings, key=_order) if address is None else [address])

    async def findings_of(self, addresses: Sequence[Address]) -> dict[Address, list[FindingRecord]]:
        """Return the open findings of many resources; one without any is not in the answer."""
        return {one: copy.deepcopy(self._findings[one]) for one in addresses if one in self._findings}

    async def revisions(self, address: Address) -> list[AppliedRevision]:
        """Return revisions, newest first."""
        kept = self._revisions.get(address, {})
        return [kept[number] for number in sorted(kept, reverse=True)]

    async def decisions(self, address: Address | None, limit: int) -> list[DecisionRecord]:
        """Return decisions, the last recorded first."""
        kept = reversed(self._decisions.values())
        return [decision for decision in kept if address in (None, decision.address)][:limit]

    async def decision(self, decision_id: str) -> DecisionRecord | None:
        """Return one decision."""
        return self._decisions.get(decision_id)

    async def operations(self, address: Address | None = None) -> list[WriteOperation]:
        """Return writes in flight, oldest first."""
        chosen = [one for one in self._operations.values() if address in (None, one.address)]
        return copy.deepcopy(sorted(chosen, key=lambda operation: operation.started_at))

    # --- corrections and what holds them back -------------------------------------------------------------------------

    async def corrections(
        self, addresses: Sequence[Address] | None = None, *, since: float | None = None, limit: int | None = None
    ) -> list[CorrectionRecord]:
        """Return corrections, newest first; of those of one time, the last recorded first."""
        recorded = reversed([one for one in self._corrections.values() if since is None or one.at >= since])
        return copy.deepcopy(sorted(_of(addresses, recorded), key=lambda one: one.at, reverse=True)[:limit])

    async def reverts(self, since: float) -> list[CorrectionRecord]:
        """Return the corrections of drift, conflict or absence since a time, newest first."""
        found = await self.corrections(since=since)
        return [one for one in found if one.reason in _REVERTING and one.outcome is not CorrectionOutcome.FAILED]

    async def correction(self, correction_id: str) -> CorrectionRecord | None:
        """Return one correction."""
        return copy.deepcopy(self._corrections.get(correction_id))

    async def spent(self, buckets: Sequence[tuple[str, float]]) -> list[int]:
        """Count charges."""
        return [sum(at >= since for at in self._charges.get(bucket, {}).values()) for bucket, since in buckets]

    async def record(self, collection: str, key: str) -> VersionedRecord | None:
        """Return one matter."""
        return copy.deepcopy(self._records.get((collection, key)))

    async def records(self, collection: str, *, owner: str | None = None) -> AsyncIterator[VersionedRecord]:
        """Go through a collection in order of keys, as it is now."""
        for place, record in sorted(self._records.items()):
            if place[0] == collection and owner in (None, record.owner):
                yield copy.deepcopy(record)

    async def due_records(self, collection: str, now: float, limit: int) -> list[VersionedRecord]:
        """Return what is due, the longest overdue first."""
        return [copy.deepcopy(each) for at, _, each in self._due_of(collection) if at <= now][:limit]

    async def next_due_record(self, collection: str) -> float | None:
        """Return the earliest due time of a collection."""
        return next((at for at, _, _ in self._due_of(collection)), None)

    def _due_of(self, collection: str) -> list[tuple[float, str, VersionedRecord]]:
        found = [each for each in self._records.values() if each.collection == collection]
        return sorted((each.due_at, each.key, each) for each in found if each.due_at is not None)

    async def pauses(self) -> list[Pause]:
        """Return all pauses, in order of their scopes."""
        return [self._pauses[scope] for scope in sorted(self._pauses)]

    async def approvals(self, addresses: Sequence[Address] | None = None) -> list[Approval]:
        """Return unused approvals, in order of address and plan."""
        unused = [one for one in self._approvals.values() if one.used_at is None]
        return sorted(_of(addresses, unused), key=lambda one: (_order(one.address), one.plan))

    async def quarantines(self, addresses: Sequence[Address] | None = None) -> list[Quarantine]:
        """Return quarantines, in order of address and path."""
        chosen = _of(addresses, self._quarantines.values())
        return copy.deepcopy(sorted(chosen, key=lambda one: (_order(one.address), one.path)))

    async def acceptances(self, addresses: Sequence[Address] | None = None) -> list[AcceptedValue]:
        """Return acceptances, in order of address and path."""
        chosen = _of(addresses, self._acceptances.values())
        return copy.deepcopy(sorted(chosen, key=lambda one: (_order(one.address), one.path)))

    # --- audit trail --------------------------------------------------------------------------------------------------

    async def events(
        self, *, subject: str | None = None, type_prefix: str | None = None, since: float | None = None
    ) -> AsyncIterator[ChainedEvent]:
        """Go through the audit trail in order; what is added meanwhile is seen."""
        previous = audit_chain.START.hash
        for link in self._links:
            is_wanted = subject in (None, link.subject) and link.type.startswith(type_prefix or "")
            if is_wanted and (since is None or link.at >= since):
                yield audit_chain.chained(link, previous)
            previous = link.hash

    async def head(self) -> AuditHead:
        """Return where the audit trail ends."""
        return AuditHead(self._head.length, audit_chain.text(self._head.hash))

    async def has_head(self, head: AuditHead) -> bool:
        """Tell whether the audit trail has an event of this number and hash."""
        return any(link.sequence == head.length and audit_chain.text(link.hash) == head.hash for link in self._links)

    async def verify_chain(self, known: Sequence[AuditHead] = ()) -> int:
        """Recompute every hash; return the length or raise ChainBroken."""
        verification = audit_chain.Verification(known)
        for link in self._links:
            if not verification.follows(link):
                raise verification.edited()
        return verification.finish(self._head, len(self._links))


def _of(addresses: Sequence[Address] | None, records: Iterable[Record]) -> list[Record]:
    """Return those records that are about some resources, or all of them."""
    chosen = None if addresses is None else set(addresses)
    return [one for one in records if chosen is None or one.address in chosen]


def _own(state: ResourceState) -> ResourceState:
    """Return a state that shares nothing changeable with the one given."""
    return replace(
        state,
        declared=replace(
            state.declared, labels=dict(state.declared.labels), options=copy.deepcopy(dict(state.declared.options))
        ),
    )


def _is_at_rest(state: ResourceState) -> bool:
    is_waited_for = state.schedule.requested != state.schedule.handled or state.schedule.terminal is not None
    is_applied = state.schedule.due_at is not None and state.applied.document == state.declared.document
    return state.observed.status is Status.IN_SYNC and is_applied and not is_waited_for


def _identity(finding: Finding) -> tuple[str, str]:
    """Return what makes a finding the same one at the next check."""
    return format_path(finding.path), finding.op.value


def _order(address: Address) -> tuple[str, str, str]:
    local = address.name if address.namespace is None else f"{address.namespace}/{address.name}"
    return address.connection, address.kind, local


def _is_ahead(state: ResourceState, now: float) -> bool:
    return (
        state.schedule.due_at is not None and state.schedule.checked_at is not None and state.schedule.checked_at > now
    )
