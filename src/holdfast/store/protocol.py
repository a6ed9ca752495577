"""The store's contract, in Protocols by who uses them. `Store` is all of them together.

Every change goes through `commit`, one transaction for a whole batch, so that related facts are stored together or not
at all. Documents are stored once by content. Times are seconds since the epoch, given by the caller, because a store
has no clock.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Collection, Sequence
from typing import Protocol

from holdfast.model.address import Address
from holdfast.model.audit import AuditHead
from holdfast.model.json import Json
from holdfast.model.verdict import Status
from holdfast.store.governance import AcceptedValue, Approval, CorrectionRecord, Pause, Quarantine
from holdfast.store.records import (
    AppliedRevision,
    ChainedEvent,
    Claim,
    DecisionRecord,
    FindingRecord,
    VersionedRecord,
    WriteOperation,
)
from holdfast.store.state import Digest, ResourceState, StatusCounts, UnchangedResource
from holdfast.store.transaction import Transaction


class TransactionStore(Protocol):
    """Writes facts.

    All methods of a store may be called from several tasks, and several processes may share one store. A call returns
    only after its changes are durable. Concurrent calls may run in one database transaction, but each succeeds or fails
    alone. Changes happen in the order of the calls, and a read sees every change that was asked for before it. If a
    call is cancelled, its outcome is unknown.
    """

    async def commit(self, transaction: Transaction) -> None:
        """Store a batch of facts, all or nothing.

        Raise ClaimLost if a fence changed, BudgetSpent if a bucket is empty, VersionConflict if a versioned record is
        not the next version. A correction is charged to a bucket once, at the time of the correction, however often
        the charge is repeated.

        A state never changes `requested` of a known resource. While a request is open (`requested` differs from
        `handled`), neither a state nor an unchanged check moves the due time to a later one, because the request may
        have been made while the check was running.
        """

    async def close(self) -> None:
        """Finish running calls and release all resources."""


class BlobStore(Protocol):
    """Reads documents by digest."""

    async def document(self, digest: Digest) -> Json:
        """Return a document; raise KeyError if it is not stored."""

    async def documents(self, digests: Sequence[Digest]) -> dict[Digest, Json]:
        """Return the documents that are stored."""


class StateStore(TransactionStore, Protocol):
    """Reads resource states and the schedule."""

    async def state(self, address: Address) -> ResourceState | None:
        """Return the state of a resource."""

    async def states(self, addresses: Sequence[Address]) -> dict[Address, ResourceState]:
        """Return the states of many resources, in as few queries as possible."""

    async def states_with_ids(self, connection: str, kind: str, ids: Sequence[str]) -> list[ResourceState]:
        """Return the states of the resources of a kind that have one of these provider ids."""

    def all_states(self, *, connection: str | None = None, kind: str | None = None) -> AsyncIterator[ResourceState]:
        """Iterate over all states in address order, in batches."""

    async def listed_digests(self, addresses: Sequence[Address]) -> dict[str, bytes | None]:
        """Return the packed raw digest of each resource by its provider id; None if a list alone cannot settle it.

        A list can settle a resource that is idle, in the meaning of `state.is_idle`.
        """

    def sources(self) -> AsyncIterator[tuple[Address, str | None]]:
        """Iterate over all resources in address order, each with the place where it was last declared."""

    async def declaring_files(self, without: Status) -> dict[str, float]:
        """Return the files that declared resources, each with the earliest last check of its resources.

        Resources whose last verdict has the status `without` do not count.
        """

    async def find_unchanged(
        self, connection: str, kind: str, listed: Sequence[tuple[str, str]]
    ) -> list[UnchangedResource]:
        """Return the idle resources whose listed (provider id, raw digest) equals the stored one.

        Idle: in sync, scheduled, with an applied declaration that is the desired one, and without an open request.
        """

    def unchecked(self, connection: str, kind: str, since: float, until: float = math.inf) -> AsyncIterator[Address]:
        """Iterate over the scheduled resources of a kind that were not checked between two times."""

    async def due(self, now: float, limit: int, without: Collection[str] = ()) -> list[ResourceState]:
        """Return unclaimed due resources, the longest overdue first, except those of the connections in `without`."""

    async def checked_in_future(self, now: float, limit: int) -> list[Address]:
        """Return scheduled resources whose last check is later than now: the clock was set back."""

    async def next_due(self, without: Collection[str] = ()) -> float | None:
        """Return the earliest due time, except those of the connections in `without`."""

    async def count_statuses(self, now: float) -> StatusCounts:
        """Count resources by status."""

    async def count_resources(self) -> dict[tuple[str, str], int]:
        """Count resources by connection and kind."""

    async def addresses_with_status(self, status: Status) -> list[Address]:
        """Return the resources whose last verdict has this status, in address order."""


class HistoryStore(Protocol):
    """Reads findings, revisions, decisions and writes in flight."""

    async def findings(self, address: Address | None = None) -> dict[Address, list[FindingRecord]]:
        """Return open findings, of one resource or of all that have any."""

    async def findings_of(self, addresses: Sequence[Address]) -> dict[Address, list[FindingRecord]]:
        """Return the open findings of many resources, in as few queries as possible."""

    async def revisions(self, address: Address) -> list[AppliedRevision]:
        """Return the revisions of a resource, newest first."""

    async def decisions(self, address: Address | None, limit: int) -> list[DecisionRecord]:
        """Return decisions, newest first."""

    async def decision(self, decision_id: str) -> DecisionRecord | None:
        """Return one decision."""

    async def operations(self, address: Address | None = None) -> list[WriteOperation]:
        """Return writes in flight, oldest first."""


class ClaimStore(TransactionStore, Protocol):
    """Gives one writer at a time the right to write a resource."""

    async def claim(self, address: Address, owner: str, now: float, until: float) -> Claim | None:
        """Take the claim on a resource, or return None if another owner holds it.

        The claim names the revision that was applied last at the moment it was taken.
        """

    async def renew(self, claim: Claim, until: float) -> Claim | None:
        """Prolong a claim, or return None if another owner took it."""

    async def release(self, claim: Claim) -> None:
        """Release a claim; a lost or released claim is ignored."""

    async def claims(self) -> list[Claim]:
        """Return the claims that were not released, expired or not, in address order."""


class GovernanceStore(TransactionStore, Protocol):
    """Reads corrections and the decisions of people that limit them."""

    async def corrections(
        self, addresses: Sequence[Address] | None = None, *, since: float | None = None, limit: int | None = None
    ) -> list[CorrectionRecord]:
        """Return corrections, newest first, of some resources or of all."""

    async def reverts(self, since: float) -> list[CorrectionRecord]:
        """Return corrections of drift, conflict or absence that began since a time and were not refused."""

    async def correction(self, correction_id: str) -> CorrectionRecord | None:
        """Return one correction."""

    async def count_charges(self, buckets: Sequence[tuple[str, float]]) -> list[int]:
        """Return the number of charges of each bucket since its time, in the order given."""

    async def pauses(self) -> list[Pause]:
        """Return all pauses, expired or not, in order of their scopes."""

    async def approvals(self, addresses: Sequence[Address] | None = None) -> list[Approval]:
        """Return the unused approvals, in order of address and plan."""

    async def quarantines(self, addresses: Sequence[Address] | None = None) -> list[Quarantine]:
        """Return the quarantined paths, in order of address and path."""

    async def accepted_values(self, addresses: Sequence[Address] | None = None) -> list[AcceptedValue]:
        """Return the accepted values, in order of address and path."""


class RecordStore(TransactionStore, Protocol):
    """Reads versioned records."""

    async def record(self, collection: str, key: str) -> VersionedRecord | None:
        """Return one record."""

    def records(self, collection: str, *, owner: str | None = None) -> AsyncIterator[VersionedRecord]:
        """Iterate over the records of a collection in order of their keys, all or those of one owner."""

    async def due_records(self, collection: str, now: float, limit: int) -> list[VersionedRecord]:
        """Return the records that are due, the longest overdue first."""

    async def next_due_record(self, collection: str) -> float | None:
        """Return the earliest due time of a collection."""


class AuditLog(Protocol):
    """Reads and verifies the audit trail."""

    def events(
        self, *, subject: str | None = None, type_prefix: str | None = None, since: float | None = None
    ) -> AsyncIterator[ChainedEvent]:
        """Iterate over the audit trail in order."""

    def latest_events(self, subject: str | None = None) -> AsyncIterator[ChainedEvent]:
        """Iterate over the audit trail from its end."""

    async def head(self) -> AuditHead:
        """Return the end of the audit trail."""

    async def has_head(self, head: AuditHead) -> bool:
        """Return True if the audit trail has an event of this number and hash."""

    async def verify_chain(self, known: Sequence[AuditHead] = ()) -> int:
        """Recompute the whole audit chain and return its length; raise ChainBroken naming the first bad event.

        The trail must contain the event of every `known` head.
        """


class Store(StateStore, HistoryStore, BlobStore, ClaimStore, GovernanceStore, RecordStore, AuditLog, Protocol):
    """The whole contract."""
