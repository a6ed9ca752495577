"""The store on PostgreSQL: any number of processes on any number of machines share one database.

A process has one connection that writes and a few that read. Writes that arrive while a transaction is running share
the next one. A call returns only after its transaction has committed. A read waits for the writes that were asked for
before it.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Final, Self

from holdfast.errors import StoreError, UnhashableError
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.audit import AuditHead
from holdfast.model.json import Json
from holdfast.model.verdict import Status
from holdfast.store import blobs, governance_rows, rows
from holdfast.store.address_text import address_of, split, text_of
from holdfast.store.audit_trail import PAGE, AuditTrail
from holdfast.store.damage import DocumentLost
from holdfast.store.governance import AcceptedValue, Approval, CorrectionRecord, Pause, Quarantine
from holdfast.store.migration_files import Migration
from holdfast.store.postgres import migrations, server_errors, write_round
from holdfast.store.postgres.address_ids import AddressIds
from holdfast.store.postgres.database import Database
from holdfast.store.postgres.statements import PARAMETERS, SQL
from holdfast.store.postgres.texts import escape, escape_all
from holdfast.store.postgres.transaction_writer import TransactionWriter
from holdfast.store.postgres.write_queue import WriteQueue
from holdfast.store.postgres.write_round import ChangeClaim, TakeClaim, Work
from holdfast.store.records import (
    AppliedRevision,
    ChainedEvent,
    Claim,
    DecisionRecord,
    FindingRecord,
    VersionedRecord,
    WriteOperation,
)
from holdfast.store.state import CLOCK_SLACK_SECONDS, UNCHECKED, Digest, ResourceState, StatusCounts, UnchangedResource
from holdfast.store.transaction import Transaction, escape_texts

_KEY: Final = itemgetter(0, 1, 2, 3)  # connection, kind, name, and path or plan
_FULL: Final[list[rows.Row]] = [()] * PAGE  # stands for the page before the first one


class PostgresStore:
    """Implements `protocol.Store`; created by `open`, ended by `close`, used by one event loop."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._names = AddressIds()
        database.on_reconnect = self._names.forget
        self._queue: WriteQueue[Work] = WriteQueue(
            partial(write_round.run, database, self._names), server_errors.is_of_server
        )
        self._trail = AuditTrail(self._select_named)
        self._is_closed = False

    @classmethod
    async def open(cls, url: str, *, steps: Sequence[Migration] | None = None) -> Self:
        """Open a store and create its tables if they do not exist; raise StoreError if it cannot be used."""
        return cls(await Database.open(url, migrations.released() if steps is None else steps))

    async def close(self) -> None:
        """Finish running calls and end the connections; a second call does nothing."""
        if not self._is_closed:
            self._is_closed = True
            await self._queue.settle()
            await self._database.close()

    async def clock(self) -> float:
        """Return the time of the database."""
        return float((await self._select("clock"))[0][0])

    async def _select(self, statement: str, *values: object) -> list[rows.Row]:
        """Run a reading statement after the writes that were asked for before it."""
        self._require_open()
        await self._queue.settle()
        return await self._database.read(lambda connection: connection.fetch(SQL[statement], *values))

    async def _select_named(self, statement: str, values: Mapping[str, object]) -> list[rows.Row]:
        return await self._select(statement, *(values[name] for name in PARAMETERS[statement]))

    async def _write(self, work: Work) -> Any:  # noqa: ANN401 - the result of the work
        self._require_open()
        return await self._queue.call(work)

    def _require_open(self) -> None:
        if self._is_closed:
            raise StoreError(f"the store {self._database.where} is closed")

    # --- writing ------------------------------------------------------------------------------------------------------

    async def commit(self, transaction: Transaction) -> None:
        """Store a batch of facts, all or nothing."""
        try:
            await self._write(transaction)
        except (UnicodeEncodeError, UnhashableError):  # a lone surrogate in a text; nothing was stored
            await self._write(escape_texts(transaction))

    async def claim(self, address: Address, owner: str, now: float, until: float) -> Claim | None:
        """Take the claim on a resource, or return None if another owner holds it."""
        claim: Claim | None = await self._write(TakeClaim(address, owner, now, until))
        return claim

    async def renew(self, claim: Claim, until: float) -> Claim | None:
        """Prolong a claim, or return None if another owner took it."""
        is_ours = await self._write(ChangeClaim(claim, until))
        return Claim(claim.address, claim.owner, claim.fence, until) if is_ours else None

    async def release(self, claim: Claim) -> None:
        """Release a claim; its fence stays used."""
        await self._write(ChangeClaim(claim))

    async def claims(self) -> list[Claim]:
        """Return the claims that were not released."""
        claims = [Claim(address_of(*row[:3]), *row[3:]) for row in await self._select("claims")]
        return sorted(claims, key=lambda claim: str(claim.address))

    # --- documents ----------------------------------------------------------------------------------------------------

    async def document(self, digest: Digest) -> Json:
        """Return a document; raise DocumentLost, which is a KeyError, if it is missing or damaged."""
        try:
            return (await self.documents([digest]))[digest]
        except KeyError:
            raise DocumentLost(digest) from None

    async def documents(self, digests: Sequence[Digest]) -> dict[Digest, Json]:
        """Return the documents that are stored and undamaged."""
        keys = {blobs.pack_digest(digest): digest for digest in digests}
        found = {
            keys[key]: blobs.load_stored(keys[key], body) for key, body in await self._select("documents", [*keys])
        }
        return {digest: found[digest] for digest in digests if found.get(digest, ABSENT) is not ABSENT}

    # --- resources ----------------------------------------------------------------------------------------------------

    async def state(self, address: Address) -> ResourceState | None:
        """Return the state of a resource."""
        return (await self.states([address])).get(address)

    async def states(self, addresses: Sequence[Address]) -> dict[Address, ResourceState]:
        """Return the states of the known resources."""
        states = rows.states_of(await self._select("states", *_columns(addresses)))
        return {state.address: state for state in states}

    async def states_with_ids(self, connection: str, kind: str, ids: Sequence[str]) -> list[ResourceState]:
        """Return the states of the resources of a kind that have one of these provider ids."""
        return rows.states_of(await self._select("states_with_ids", escape(connection), escape(kind), escape_all(ids)))

    async def all_states(
        self, *, connection: str | None = None, kind: str | None = None
    ) -> AsyncIterator[ResourceState]:
        """Iterate over all states by connection, kind, namespace and name, a page at a time."""
        for family, its_connection, its_kind in await self._select("families"):
            if connection in (None, its_connection) and kind in (None, its_kind):
                async for page in self._pages("states_page", family, of_local=4):
                    for state in rows.states_of(page):
                        yield state

    async def listed_digests(self, addresses: Sequence[Address]) -> dict[str, bytes | None]:
        """Return the packed raw digest of each resource by its provider id; None if a list alone cannot settle it."""
        return dict(await self._select("listed_digests", *_columns(addresses)))

    async def sources(self) -> AsyncIterator[tuple[Address, str | None]]:
        """Iterate over all resources by connection, kind, namespace and name, each with where it was declared."""
        for family, connection, kind in await self._select("families"):
            async for page in self._pages("sources_page", family, of_local=0):
                for local, source in page:
                    yield address_of(connection, kind, local), source

    async def declaring_files(self, without: Status) -> dict[str, float]:
        """Return the files that declared resources, each with the earliest last check of its resources."""
        found = await self._select("declaring_files", rows.STATUS_NUMBERS[without])
        return {place.rpartition(":")[0]: checked_at for place, checked_at in found}

    async def find_unchanged(
        self, connection: str, kind: str, listed: Sequence[tuple[str, str]]
    ) -> list[UnchangedResource]:
        """Return the idle resources with an unchanged digest; the later of two digests of one id counts."""
        digests = {provider_id: blobs.pack_digest(digest) for provider_id, digest in listed}
        found = await self._select("unchanged", connection, kind, escape_all(digests))
        return [
            UnchangedResource(address_of(connection, kind, local), resync_seconds)
            for local, provider_id, digest, resync_seconds in found
            if digest == digests[provider_id]
        ]

    async def unchecked(
        self, connection: str, kind: str, since: float, until: float = math.inf
    ) -> AsyncIterator[Address]:
        """Iterate over resources that were not checked between two times, by name, a page at a time."""
        for (family,) in await self._select("find_family", connection, kind):
            async for page in self._pages("unchecked_page", family, since, until, of_local=0):
                for (local,) in page:
                    yield address_of(connection, kind, local)

    async def _pages(self, statement: str, family: int, *values: float, of_local: int) -> AsyncIterator[list[rows.Row]]:
        """Iterate over the rows of a family in order of names, a page at a time."""
        page, after = _FULL, ""
        while len(page) == PAGE:
            page = await self._select(statement, family, after, *values, PAGE)
            if page:
                yield page
                after = page[-1][of_local]

    async def due(self, now: float, limit: int, without: Collection[str] = ()) -> list[ResourceState]:
        """Return unclaimed due resources, the longest overdue first."""
        return rows.states_of(await self._select("due", now, escape_all(without), limit))

    async def checked_in_future(self, now: float, limit: int) -> list[Address]:
        """Return scheduled resources whose last check is later than now: the clock was set back."""
        return [address_of(*row) for row in await self._select("checked_in_future", now, limit)]

    async def next_due(self, without: Collection[str] = ()) -> float | None:
        """Return the earliest due time, claimed or not."""
        name, values = ("next_due_without", (escape_all(without),)) if without else ("next_due", ())
        found: list[tuple[float | None]] = await self._select(name, *values)
        return found[0][0] if found else None

    async def count_resources(self) -> dict[tuple[str, str], int]:
        """Count resources by connection and kind."""
        return {(connection, kind): count for connection, kind, count in await self._select("count_resources")}

    async def addresses_with_status(self, status: Status) -> list[Address]:
        """Return the resources with a status, in address order."""
        return [address_of(*row) for row in await self._select("addresses_with_status", rows.STATUS_NUMBERS[status])]

    async def count_statuses(self, now: float) -> StatusCounts:
        """Count resources by status."""
        counts = await self._select("count_statuses", now, now + CLOCK_SLACK_SECONDS)
        names = [UNCHECKED if status is None else rows.STATUSES[status].value for status, _, _ in counts]
        by_status = {name: count for name, (_, count, _) in zip(names, counts, strict=True)}
        return StatusCounts(by_status, sum(by_status.values()), sum(overdue for _, _, overdue in counts))

    # --- findings and history -----------------------------------------------------------------------------------------

    async def findings(self, address: Address | None = None) -> dict[Address, list[FindingRecord]]:
        """Return open findings by resource; resources without findings are left out."""
        return rows.findings_by_address(await self._of_many("findings", None if address is None else [address]))

    async def findings_of(self, addresses: Sequence[Address]) -> dict[Address, list[FindingRecord]]:
        """Return the open findings of many resources; resources without findings are left out."""
        return rows.findings_by_address(await self._of_many("findings", addresses))

    async def revisions(self, address: Address) -> list[AppliedRevision]:
        """Return revisions, newest first."""
        return [rows.revision_of(address, row) for row in await self._select("revisions", *_columns([address]))]

    async def decisions(self, address: Address | None, limit: int) -> list[DecisionRecord]:
        """Return decisions, the last recorded first."""
        found = await self._of_many("decisions", None if address is None else [address], limit)
        return [rows.decision_of(row) for row in found]

    async def decision(self, decision_id: str) -> DecisionRecord | None:
        """Return one decision."""
        found = await self._select("decision", escape_all([decision_id]))
        return rows.decision_of(found[0]) if found else None

    async def operations(self, address: Address | None = None) -> list[WriteOperation]:
        """Return writes in flight, oldest first."""
        found = await self._of_many("operations", None if address is None else [address])
        return [rows.operation_of(row) for row in found]

    async def _of_many(
        self, statement: str, addresses: Sequence[Address] | None, *values: float | None
    ) -> list[rows.Row]:
        """Run a statement for all resources, or its variant for some."""
        if addresses is None:
            return await self._select(statement, *values)
        return await self._select(f"{statement}_of", *_columns(addresses), *values)

    # --- corrections and governance -----------------------------------------------------------------------------------

    async def corrections(
        self, addresses: Sequence[Address] | None = None, *, since: float | None = None, limit: int | None = None
    ) -> list[CorrectionRecord]:
        """Return corrections, newest first; of those of one time, the last recorded first."""
        found = await self._of_many("corrections", addresses, -math.inf if since is None else since, limit)
        return [governance_rows.correction_of(row) for row in found]

    async def reverts(self, since: float) -> list[CorrectionRecord]:
        """Return corrections of drift, conflict or absence since a time, newest first."""
        return [governance_rows.correction_of(row) for row in await self._select("reverts", since)]

    async def correction(self, correction_id: str) -> CorrectionRecord | None:
        """Return one correction."""
        found = await self._select("correction", correction_id)
        return governance_rows.correction_of(found[0]) if found else None

    async def count_charges(self, buckets: Sequence[tuple[str, float]]) -> list[int]:
        """Return the number of charges of each bucket since its time, in the order given."""
        self._require_open()
        await self._queue.settle()
        return await self._database.read(lambda connection: TransactionWriter.count_charges(connection, buckets))

    async def pauses(self) -> list[Pause]:
        """Return all pauses, in order of their scopes."""
        return [governance_rows.pause_of(row) for row in await self._select("pauses")]

    async def approvals(self, addresses: Sequence[Address] | None = None) -> list[Approval]:
        """Return unused approvals, in order of address and plan."""
        found = await self._of_many("approvals", addresses)
        return [governance_rows.approval_of(row) for row in sorted(found, key=_KEY)]

    async def quarantines(self, addresses: Sequence[Address] | None = None) -> list[Quarantine]:
        """Return quarantines, in order of address and path."""
        found = await self._of_many("quarantines", addresses)
        return [governance_rows.quarantine_of(row) for row in sorted(found, key=_KEY)]

    async def accepted_values(self, addresses: Sequence[Address] | None = None) -> list[AcceptedValue]:
        """Return accepted values, in order of address and path."""
        found = await self._of_many("accepted_values", addresses)
        return [governance_rows.accepted_value_of(row) for row in sorted(found, key=_KEY)]

    # --- versioned records --------------------------------------------------------------------------------------------

    async def record(self, collection: str, key: str) -> VersionedRecord | None:
        """Return one record."""
        found = await self._select("record", collection, key)
        return rows.record_of(found[0]) if found else None

    async def records(self, collection: str, *, owner: str | None = None) -> AsyncIterator[VersionedRecord]:
        """Iterate over a collection in order of keys, a page at a time; later records may be included."""
        statement, values = (
            ("records_page", (collection,)) if owner is None else ("records_page_of", (collection, owner))
        )
        page, after = _FULL, ""
        while len(page) == PAGE:
            page = await self._select(statement, *values, after, PAGE)
            for row in page:
                yield rows.record_of(row)
            after = page[-1][1] if page else after

    async def due_records(self, collection: str, now: float, limit: int) -> list[VersionedRecord]:
        """Return the due records, the longest overdue first."""
        return [rows.record_of(row) for row in await self._select("due_records", collection, now, limit)]

    async def next_due_record(self, collection: str) -> float | None:
        """Return the earliest due time of a collection."""
        found: list[tuple[float | None]] = await self._select("next_due_record", collection)
        return found[0][0]

    # --- audit trail --------------------------------------------------------------------------------------------------

    async def events(
        self, *, subject: str | None = None, type_prefix: str | None = None, since: float | None = None
    ) -> AsyncIterator[ChainedEvent]:
        """Iterate over the audit trail in order, a page at a time; events that are added in between are included."""
        number = None if subject is None else await self._subject(subject)
        if subject is None or number is not None:
            async for event in self._trail.events(number, type_prefix, since):
                yield event

    async def latest_events(self, subject: str | None = None) -> AsyncIterator[ChainedEvent]:
        """Iterate over the audit trail from its end, a page at a time."""
        number = None if subject is None else await self._subject(subject)
        if subject is None or number is not None:
            async for event in self._trail.latest(number):
                yield event

    async def _subject(self, subject: str) -> int | None:
        self._require_open()
        await self._queue.settle()
        ids = await self._database.read(lambda connection: self._names.find_all(connection, [subject]))
        return ids.get(subject)

    async def head(self) -> AuditHead:
        """Return the end of the audit trail."""
        return await self._trail.head()

    async def has_head(self, head: AuditHead) -> bool:
        """Return True if the audit trail has an event of this number and hash."""
        return await self._trail.has_head(head)

    async def verify_chain(self, known: Sequence[AuditHead] = ()) -> int:
        """Recompute every hash and return the length; raise ChainBroken naming the first bad event."""
        return await self._trail.verify(known)


def _columns(addresses: Sequence[Address]) -> tuple[list[str], list[str], list[str]]:
    """Return addresses as three lists: connections, kinds and names within their kind."""
    parts = [split(text_of(address)) for address in addresses]
    connections, kinds, locals_ = ([part[place] for part in parts] for place in range(3))
    return escape_all(connections), escape_all(kinds), escape_all(locals_)
