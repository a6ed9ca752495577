"""A store that forgets when the process ends: for tests, and as the plain statement of what a store does.

Same contract as the SQLite store, same suite of tests; no file, no thread, no second process.
"""

from __future__ import annotations

import copy
import heapq
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import replace

from holdfast.compare.paths import format_path
from holdfast.errors import StoreError
from holdfast.model.address import Address
from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.store import chain, documents
from holdfast.store.base import (
    UNCHECKED,
    ChainedEvent,
    Claim,
    ClaimLost,
    DecisionRecord,
    Digest,
    FindingRecord,
    Mark,
    Operation,
    ResourceState,
    Revision,
    Tally,
    Touch,
    Transaction,
)


class MemoryStore:
    """Implements `base.Store` with dictionaries; no method waits, so each is atomic among tasks."""

    def __init__(self) -> None:
        self._documents: dict[Digest, bytes] = {}
        self._states: dict[Address, ResourceState] = {}
        self._claims: dict[Address, Claim] = {}  # held ones
        self._fences: dict[Address, int] = {}  # of all claims there ever were
        self._findings: dict[Address, list[FindingRecord]] = {}
        self._revisions: dict[Address, dict[int, Revision]] = {}
        self._decisions: dict[str, DecisionRecord] = {}
        self._operations: dict[str, Operation] = {}
        self._links: list[chain.Link] = []
        self._head = chain.START

    async def close(self) -> None:
        """Do nothing: there is nothing to let go of."""

    # --- writing ------------------------------------------------------------------------------------------------------

    async def commit(self, transaction: Transaction) -> None:
        """Make a batch of facts true: everything that can fail comes before anything that changes."""
        self._require_fences(transaction.fences)
        for digest, data in transaction.documents.items():
            documents.require_match(digest, data)
        revisions = self._new_revisions(transaction)
        decisions = self._new_decisions(transaction.decisions)
        events = [(event, chain.data_bytes(event)) for event in transaction.events]
        links, head = chain.extend(self._head, events)

        self._documents |= transaction.documents
        self._forget(transaction.forgotten)
        states = {state.address: _own(state) for state in transaction.states}
        overtaken = {address for address in transaction.looked_at if self._is_overtaken(states.get(address))}
        self._states |= {address: state for address, state in states.items() if address not in overtaken}
        for touch in transaction.touched:
            self._touch(touch)
        for address, findings in transaction.findings.items():
            if address not in overtaken:
                self._put_findings(address, findings, transaction.findings_at)
        for revision in revisions:
            self._revisions.setdefault(revision.address, {})[revision.number] = revision
        self._decisions |= decisions
        self._put_operations(transaction)
        self._links += links
        self._head = head

    def _is_overtaken(self, state: ResourceState | None) -> bool:
        """Tell whether somebody wrote to the resource after it was read for the check that is being recorded."""
        kept = None if state is None else self._states.get(state.address)
        return state is not None and kept is not None and kept.applied_revision != state.applied_revision

    def _require_fences(self, fences: Mapping[Address, int]) -> None:
        for address, fence in fences.items():
            if fence != self._fences.get(address, 0):
                raise ClaimLost(f"another worker has claimed {address} since; nothing was recorded")

    def _new_revisions(self, facts: Transaction) -> list[Revision]:
        new: dict[tuple[Address, int], Revision] = {}
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
            known = self._decisions.get(decision.id) or new.setdefault(decision.id, decision)
            if known != decision:
                raise StoreError(f"decision {decision.id} is kept already and was another one")
        return new

    def _forget(self, addresses: Iterable[Address]) -> None:
        for address in addresses:
            for kept in (self._states, self._findings, self._revisions):
                kept.pop(address, None)

    def _touch(self, touch: Touch) -> None:
        state = self._states.get(touch.address)
        if state is not None:
            self._states[touch.address] = replace(
                state,
                checked_at=touch.checked_at,
                good_at=touch.checked_at,
                due_at=touch.due_at,
                failures=0,
                etag=state.etag if touch.etag is None else touch.etag,
                raw_digest=state.raw_digest if touch.raw_digest is None else touch.raw_digest,
            )

    def _put_findings(self, address: Address, findings: tuple[Finding, ...], at: float) -> None:
        since = {_identity(record.finding): record.first_seen for record in self._findings.pop(address, [])}
        if findings:
            self._findings[address] = [
                FindingRecord(finding, since.get(_identity(finding), at), at) for finding in copy.deepcopy(findings)
            ]

    def _put_operations(self, facts: Transaction) -> None:
        self._operations |= {operation.id: copy.deepcopy(operation) for operation in facts.operations}
        for identity in facts.finished:
            self._operations.pop(identity, None)

    async def claim(self, address: Address, owner: str, now: float, until: float) -> Claim | None:
        """Take the right to write a resource, if nobody holds it any more."""
        if self._is_claimed(address, now):
            return None
        fence = self._fences[address] = self._fences.get(address, 0) + 1
        claim = self._claims[address] = Claim(address, owner, fence, until)
        return claim

    async def renew(self, claim: Claim, until: float) -> Claim | None:
        """Prolong a claim that nobody took over."""
        if not self._is_held(claim):
            return None
        renewed = self._claims[claim.address] = replace(claim, until=until)
        return renewed

    async def release(self, claim: Claim) -> None:
        """Give a claim back; its fence stays used."""
        if self._is_held(claim):
            del self._claims[claim.address]

    def _is_claimed(self, address: Address, now: float) -> bool:
        held = self._claims.get(address)
        return held is not None and held.until > now

    def _is_held(self, claim: Claim) -> bool:
        held = self._claims.get(claim.address)
        return held is not None and (held.fence, held.owner) == (claim.fence, claim.owner)

    # --- documents and resources --------------------------------------------------------------------------------------

    async def document(self, digest: Digest) -> Json:
        """Return a document; raise KeyError if there is none."""
        return documents.load(self._documents[digest])

    async def documents(self, digests: Sequence[Digest]) -> dict[Digest, Json]:
        """Return those of many documents that are kept."""
        return {digest: documents.load(self._documents[digest]) for digest in digests if digest in self._documents}

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

    async def marks(self, connection: str, kind: str) -> AsyncIterator[Mark]:
        """Go through the resources of a kind by namespace and name."""
        async for state in self.all_states(connection=connection, kind=kind):
            yield Mark(state.address, state.provider_id, state.raw_digest, state.status, state.resync_seconds)

    async def due(self, now: float, limit: int) -> list[ResourceState]:
        """Return what is due and unclaimed, the longest overdue first."""
        due = (
            (state.due_at, order, state)
            for order, state in enumerate(self._states.values())
            if state.due_at is not None and state.due_at <= now and not self._is_claimed(state.address, now)
        )
        return [_own(state) for _, _, state in heapq.nsmallest(limit, due)]

    async def next_due(self) -> float | None:
        """Return the earliest due time, claimed or not."""
        return min((state.due_at for state in self._states.values() if state.due_at is not None), default=None)

    async def tally(self, now: float) -> Tally:
        """Count."""
        states = self._states.values()
        by_status = Counter(UNCHECKED if state.status is None else state.status.value for state in states)
        overdue = sum(state.due_at is not None and state.due_at <= now for state in states)
        return Tally(dict(by_status), len(states), overdue)

    # --- findings and history -----------------------------------------------------------------------------------------

    async def findings(self, address: Address | None = None) -> dict[Address, list[FindingRecord]]:
        """Return open findings by resource; a resource without any is not in the answer."""
        chosen = sorted(self._findings, key=_order) if address is None else [address]
        return {one: copy.deepcopy(self._findings[one]) for one in chosen if one in self._findings}

    async def revisions(self, address: Address) -> list[Revision]:
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

    async def operations(self, address: Address | None = None) -> list[Operation]:
        """Return writes in flight, oldest first."""
        chosen = [one for one in self._operations.values() if address in (None, one.address)]
        return copy.deepcopy(sorted(chosen, key=lambda operation: operation.started_at))

    # --- audit trail --------------------------------------------------------------------------------------------------

    async def events(
        self, *, subject: str | None = None, type_prefix: str | None = None, since: float | None = None
    ) -> AsyncIterator[ChainedEvent]:
        """Go through the audit trail in order; what is added meanwhile is seen."""
        previous = chain.START.hash
        for link in self._links:
            is_wanted = subject in (None, link.subject) and link.type.startswith(type_prefix or "")
            if is_wanted and (since is None or link.at >= since):
                yield chain.chained(link, previous)
            previous = link.hash

    async def verify_chain(self) -> int:
        """Recompute every hash; return the length or raise ChainBroken."""
        verification = chain.Verification()
        for link in self._links:
            if not verification.follows(link):
                raise verification.edited()
        return verification.finish(self._head, len(self._links))


def _own(state: ResourceState) -> ResourceState:
    """Return a state that shares nothing changeable with the one given."""
    return replace(state, labels=dict(state.labels), options=copy.deepcopy(dict(state.options)))


def _identity(finding: Finding) -> tuple[str, str]:
    """Return what makes a finding the same one at the next check."""
    return format_path(finding.path), finding.op.value


def _order(address: Address) -> tuple[str, str, str]:
    local = address.name if address.namespace is None else f"{address.namespace}/{address.name}"
    return address.connection, address.kind, local
