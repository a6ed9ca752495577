"""The store on one SQLite file in WAL mode, shared safely by several processes, or on a database in memory.

All work with a file happens in a thread of its own, so the event loop never waits for the disk. Calls that arrive while
the thread is busy run in its next round: writes in one transaction, where a write that fails is rolled back alone, then
reads. A call returns only after its transaction has committed. A kill at any moment leaves the last committed
transaction. A database in memory has no thread: every call runs at once.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import Final, Self

import orjson

from holdfast.errors import UnhashableError
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.audit import AuditHead
from holdfast.model.json import Json
from holdfast.model.verdict import Status
from holdfast.store import blobs, governance_rows, rows
from holdfast.store.address_text import address_of, text_of
from holdfast.store.audit_trail import PAGE, AuditTrail
from holdfast.store.damage import DocumentLost
from holdfast.store.governance import AcceptedValue, Approval, CorrectionRecord, Pause, Quarantine
from holdfast.store.migration_files import Migration
from holdfast.store.records import (
    AppliedRevision,
    ChainedEvent,
    Claim,
    DecisionRecord,
    FindingRecord,
    VersionedRecord,
    WriteOperation,
)
from holdfast.store.sqlite import list_reads, migrations, transaction_writer
from holdfast.store.sqlite.address_ids import AddressIds
from holdfast.store.sqlite.call_batching import CallBatcher, CallResult, InlineExecutor
from holdfast.store.sqlite.database import MEMORY, Database
from holdfast.store.sqlite.merged_commits import Commit, merge_commits
from holdfast.store.sqlite.statements import SQL, in_lists, sized
from holdfast.store.state import CLOCK_SLACK_SECONDS, UNCHECKED, Digest, ResourceState, StatusCounts, UnchangedResource
from holdfast.store.transaction import Transaction, escape_texts

_KEY: Final = itemgetter(0, 1, 2, 3)  # connection, kind, name, and path or plan
_FULL: Final[list[rows.Row]] = [()] * PAGE  # stands for the page before the first one


class SqliteStore:
    """Implements `protocol.Store`; created by `open` or `in_memory`, ended by `close`."""

    def __init__(self, database: Database, worker: Executor) -> None:
        self._database = database
        self._connection = database.connection
        self._worker = worker
        self._names = AddressIds(database.connection)
        database.on_rollback = self._names.forget
        self._batcher = CallBatcher(worker, self._read_together, self._write_together)
        self._shared_results: dict[str, list[rows.Row]] = {}  # of statements without parameters, in this round
        self._trail = AuditTrail(self._select_named)

    @classmethod
    async def open(
        cls,
        path: str | PathLike[str],
        *,
        durable: bool = False,
        steps: Sequence[Migration] | None = None,
    ) -> Self:
        """Open a store and create it if it does not exist; raise StoreError or SchemaTooNew if it cannot be used.

        A power cut may lose the last moments of a store that is not `durable`, but never its consistency. The end of
        the process, however sudden, loses nothing.
        """
        worker = ThreadPoolExecutor(1, thread_name_prefix="holdfast-store")
        chosen = migrations.released() if steps is None else steps
        opening = worker.submit(Database, Path(path), durable=durable, steps=chosen)
        try:
            database = await asyncio.wrap_future(opening)
        except BaseException:
            worker.submit(_abandon, opening)
            worker.shutdown(wait=False)
            raise
        return cls(database, worker)

    @classmethod
    def in_memory(cls) -> Self:
        """Open a new store in memory, which ends with this object."""
        return cls(Database(MEMORY, durable=False, steps=migrations.released()), InlineExecutor())

    async def close(self) -> None:
        """Finish running calls and close the file; a second call does nothing."""
        if self._batcher.close(f"the store {self._database.path} is closed"):
            try:
                await asyncio.get_running_loop().run_in_executor(self._worker, self._database.close)
            finally:
                self._worker.shutdown(wait=True)

    def _read_together(self, works: Sequence[Callable[[], object]]) -> list[CallResult]:
        self._shared_results.clear()
        return self._database.read_together(works)

    def _write_together(self, works: Sequence[Callable[[], object]]) -> list[CallResult]:
        return self._database.write_together(works, merge_commits(works))

    # --- writing ------------------------------------------------------------------------------------------------------

    async def commit(self, transaction: Transaction) -> None:
        """Store a batch of facts, all or nothing."""
        try:
            await self._batcher.write(partial(self._prepare, transaction))
        except (UnicodeEncodeError, UnhashableError):  # a lone surrogate in a text; nothing was stored
            await self._batcher.write(partial(self._prepare, escape_texts(transaction)))

    def _prepare(self, transaction: Transaction) -> Commit:
        writer = partial(transaction_writer.TransactionWriter, self._connection, self._names)
        return Commit(writer, transaction_writer.prepare(self._connection, transaction))

    async def claim(self, address: Address, owner: str, now: float, until: float) -> Claim | None:
        """Take the claim on a resource, or return None if another owner holds it."""

        def take() -> Claim | None:
            number = self._names.add(text_of(address))
            fence, holder, expires, revision = self._connection.execute(SQL["claim_of"], (number,)).fetchone()
            if holder is not None and expires > now:
                return None
            self._connection.execute(SQL["put_claim"], (number, fence + 1, owner, until))
            return Claim(address, owner, fence + 1, until, revision)

        return await self._batcher.write(lambda: take)

    async def renew(self, claim: Claim, until: float) -> Claim | None:
        """Prolong a claim, or return None if another owner took it."""
        if await self._change_claim("renew_claim", claim, until):
            return Claim(claim.address, claim.owner, claim.fence, until)
        return None

    async def release(self, claim: Claim) -> None:
        """Release a claim; its fence stays used."""
        await self._change_claim("release_claim", claim)

    async def claims(self) -> list[Claim]:
        """Return the claims that were not released."""
        found = await self._batcher.read(lambda: self._select("claims"))
        claims = [Claim(address_of(*row[:3]), *row[3:]) for row in found]
        return sorted(claims, key=lambda claim: str(claim.address))

    async def _change_claim(self, statement: str, claim: Claim, *values: float) -> bool:
        def change() -> bool:
            key = (self._names.find(text_of(claim.address)), claim.fence, claim.owner)
            return self._connection.execute(SQL[statement], (*values, *key)).rowcount > 0

        return await self._batcher.write(lambda: change)

    # --- documents ----------------------------------------------------------------------------------------------------

    async def document(self, digest: Digest) -> Json:
        """Return a document; raise DocumentLost, which is a KeyError, if it is missing or damaged."""
        try:
            return (await self.documents([digest]))[digest]
        except KeyError:
            raise DocumentLost(digest) from None

    async def documents(self, digests: Sequence[Digest]) -> dict[Digest, Json]:
        """Return the documents that are stored and undamaged."""

        def read() -> dict[Digest, Json]:
            keys = {blobs.pack_digest(digest): digest for digest in digests}
            found = {
                keys[key]: blobs.load_stored(keys[key], body)
                for chunk in in_lists(list(keys))
                for key, body in self._connection.execute(sized("documents", chunk), chunk)
            }
            return {digest: found[digest] for digest in digests if found.get(digest, ABSENT) is not ABSENT}

        return await self._batcher.read(read)

    # --- resources ----------------------------------------------------------------------------------------------------

    async def state(self, address: Address) -> ResourceState | None:
        """Return the state of a resource."""
        return (await self.states([address])).get(address)

    async def states(self, addresses: Sequence[Address]) -> dict[Address, ResourceState]:
        """Return the states of the known resources."""

        def read() -> dict[Address, ResourceState]:
            numbers = list(self._names.find_all(map(text_of, addresses)).values())
            return {state.address: state for state in rows.states_of(self._select_listed("states", numbers))}

        return await self._batcher.read(read)

    async def states_with_ids(self, connection: str, kind: str, ids: Sequence[str]) -> list[ResourceState]:
        """Return the states of the resources of a kind that have one of these provider ids."""
        return await self._batcher.read(partial(list_reads.states_with_ids, self._connection, connection, kind, ids))

    async def all_states(
        self, *, connection: str | None = None, kind: str | None = None
    ) -> AsyncIterator[ResourceState]:
        """Iterate over all states by connection, kind, namespace and name, a page at a time."""
        for family, its_connection, its_kind in await self._batcher.read(lambda: self._select("families")):
            if connection in (None, its_connection) and kind in (None, its_kind):
                async for page in self._pages("states_page", family, of_local=4):
                    for state in rows.states_of(page):
                        yield state

    async def listed_digests(self, addresses: Sequence[Address]) -> dict[str, bytes | None]:
        """Return the packed raw digest of each resource by its provider id; None if a list alone cannot settle it."""
        return await self._batcher.read(partial(list_reads.listed_digests, self._connection, self._names, addresses))

    async def sources(self) -> AsyncIterator[tuple[Address, str | None]]:
        """Iterate over all resources by connection, kind, namespace and name, each with where it was declared."""
        for family, connection, kind in await self._batcher.read(lambda: self._select("families")):
            async for page in self._pages("sources_page", family, of_local=0):
                for local, source in page:
                    yield address_of(connection, kind, local), source

    async def declaring_files(self, without: Status) -> dict[str, float]:
        """Return the files that declared resources, each with the earliest last check of its resources."""
        return await self._batcher.read(partial(list_reads.declaring_files, self._connection, without))

    async def find_unchanged(
        self, connection: str, kind: str, listed: Sequence[tuple[str, str]]
    ) -> list[UnchangedResource]:
        """Return the idle resources with an unchanged digest; the later of two digests of one id counts."""
        return await self._batcher.read(partial(list_reads.find_unchanged, self._connection, connection, kind, listed))

    async def unchecked(
        self, connection: str, kind: str, since: float, until: float = math.inf
    ) -> AsyncIterator[Address]:
        """Iterate over resources that were not checked between two times, by name, a page at a time."""
        for (family,) in await self._batcher.read(lambda: self._select("find_family", connection, kind)):
            async for page in self._pages("unchecked_page", family, since, until, of_local=0):
                for (local,) in page:
                    yield address_of(connection, kind, local)

    async def _pages(self, statement: str, family: int, *values: float, of_local: int) -> AsyncIterator[list[rows.Row]]:
        """Iterate over the rows of a family in order of names, a page at a time."""
        page, after = _FULL, ""
        while len(page) == PAGE:
            page = await self._batcher.read(partial(self._select, statement, family, after, *values, PAGE))
            if page:
                yield page
                after = page[-1][of_local]

    async def due(self, now: float, limit: int, without: Collection[str] = ()) -> list[ResourceState]:
        """Return unclaimed due resources, the longest overdue first."""
        left_out = _json(without)

        def read() -> list[ResourceState]:
            found = self._connection.execute(SQL["due"], {"now": now, "limit": limit, "without": left_out})
            return rows.states_of(found)

        return await self._batcher.read(read)

    async def checked_in_future(self, now: float, limit: int) -> list[Address]:
        """Return scheduled resources whose last check is later than now: the clock was set back."""
        found = await self._batcher.read(lambda: self._select("checked_in_future", now, limit))
        return [address_of(*row) for row in found]

    async def next_due(self, without: Collection[str] = ()) -> float | None:
        """Return the earliest due time, claimed or not."""
        name, values = ("next_due_without", (_json(without),)) if without else ("next_due", ())
        found: list[tuple[float | None]] = await self._batcher.read(lambda: self._select(name, *values))
        return found[0][0] if found else None

    async def count_resources(self) -> dict[tuple[str, str], int]:
        """Count resources by connection and kind."""

        def count() -> dict[tuple[str, str], int]:
            return {(connection, kind): item for connection, kind, item in self._select_once("count_resources")}

        return await self._batcher.read(count)

    async def addresses_with_status(self, status: Status) -> list[Address]:
        """Return the resources with a status, in address order."""

        def find() -> list[Address]:
            found = self._connection.execute(SQL["addresses_with_status"], (rows.STATUS_NUMBERS[status],))
            return [address_of(*row) for row in found]

        return await self._batcher.read(find)

    async def count_statuses(self, now: float) -> StatusCounts:
        """Count resources by status."""
        counts = await self._batcher.read(lambda: self._select("count_statuses", now, now + CLOCK_SLACK_SECONDS))
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

        def read() -> list[AppliedRevision]:
            return [
                rows.revision_of(address, row) for row in self._select("revisions", self._names.find(text_of(address)))
            ]

        return await self._batcher.read(read)

    async def decisions(self, address: Address | None, limit: int) -> list[DecisionRecord]:
        """Return decisions, the last recorded first."""
        return [rows.decision_of(row) for row in await self._of("decisions", address, limit)]

    async def decision(self, decision_id: str) -> DecisionRecord | None:
        """Return one decision."""
        found = await self._batcher.read(lambda: self._select("decision", decision_id))
        return rows.decision_of(found[0]) if found else None

    async def operations(self, address: Address | None = None) -> list[WriteOperation]:
        """Return writes in flight, oldest first."""
        return [rows.operation_of(row) for row in await self._of("operations", address)]

    async def _of(self, statement: str, address: Address | None, *values: int) -> list[rows.Row]:
        """Run a statement for all resources, or its variant for one."""

        def read() -> list[rows.Row]:
            if address is None:
                return self._select(statement, *values)
            return self._select(f"{statement}_of", self._names.find(text_of(address)), *values)

        return await self._batcher.read(read)

    async def _of_many(self, statement: str, addresses: Sequence[Address] | None, *values: float) -> list[rows.Row]:
        """Run a statement for all resources, or its variant for some, list by list."""

        def read() -> list[rows.Row]:
            if addresses is None:
                return self._select(statement, *values) if values else self._select_once(statement)
            numbers = list(self._names.find_all(map(text_of, addresses)).values())
            return self._select_listed(f"{statement}_of", numbers, *values)

        return await self._batcher.read(read)

    def _select(self, statement: str, *values: object) -> list[rows.Row]:
        return self._connection.execute(SQL[statement], values).fetchall()

    def _select_listed(self, statement: str, listed: Sequence[object], *values: object) -> list[rows.Row]:
        """Run a statement for the values of a list, in as few queries as possible."""
        return [
            row
            for chunk in in_lists(listed)
            for row in self._connection.execute(sized(statement, chunk), (*chunk, *values))
        ]

    def _select_once(self, statement: str) -> list[rows.Row]:
        """Run a statement without parameters, once for all calls of a round, which share one snapshot."""
        if statement not in self._shared_results:
            self._shared_results[statement] = self._select(statement)
        return [*self._shared_results[statement]]

    # --- corrections and governance -----------------------------------------------------------------------------------

    async def corrections(
        self, addresses: Sequence[Address] | None = None, *, since: float | None = None, limit: int | None = None
    ) -> list[CorrectionRecord]:
        """Return corrections, newest first; of those of one time, the last recorded first."""
        values = (-math.inf if since is None else since, -1 if limit is None else limit)
        found = await self._of_many("corrections", addresses, *values)
        found.sort(key=itemgetter(1, 0), reverse=True)  # each list is in order, but there may be several
        return [governance_rows.correction_of(row) for row in found[:limit]]

    async def reverts(self, since: float) -> list[CorrectionRecord]:
        """Return corrections of drift, conflict or absence since a time, newest first."""
        return [
            governance_rows.correction_of(row)
            for row in await self._batcher.read(lambda: self._select("reverts", since))
        ]

    async def correction(self, correction_id: str) -> CorrectionRecord | None:
        """Return one correction."""
        found = await self._batcher.read(lambda: self._select("correction", correction_id))
        return governance_rows.correction_of(found[0]) if found else None

    async def count_charges(self, buckets: Sequence[tuple[str, float]]) -> list[int]:
        """Return the number of charges of each bucket since its time, in the order given."""
        return await self._batcher.read(lambda: [self._select("count_charges", *bucket)[0][0] for bucket in buckets])

    async def pauses(self) -> list[Pause]:
        """Return all pauses, in order of their scopes."""
        return [governance_rows.pause_of(row) for row in await self._batcher.read(lambda: self._select_once("pauses"))]

    async def approvals(self, addresses: Sequence[Address] | None = None) -> list[Approval]:
        """Return unused approvals, in order of address and plan."""
        return [
            governance_rows.approval_of(row) for row in sorted(await self._of_many("approvals", addresses), key=_KEY)
        ]

    async def quarantines(self, addresses: Sequence[Address] | None = None) -> list[Quarantine]:
        """Return quarantines, in order of address and path."""
        return [
            governance_rows.quarantine_of(row)
            for row in sorted(await self._of_many("quarantines", addresses), key=_KEY)
        ]

    async def accepted_values(self, addresses: Sequence[Address] | None = None) -> list[AcceptedValue]:
        """Return accepted values, in order of address and path."""
        found = await self._of_many("accepted_values", addresses)
        return [governance_rows.accepted_value_of(row) for row in sorted(found, key=_KEY)]

    # --- versioned records --------------------------------------------------------------------------------------------

    async def record(self, collection: str, key: str) -> VersionedRecord | None:
        """Return one record."""
        found = await self._batcher.read(lambda: self._select("record", collection, key))
        return rows.record_of(found[0]) if found else None

    async def records(self, collection: str, *, owner: str | None = None) -> AsyncIterator[VersionedRecord]:
        """Iterate over a collection in order of keys, a page at a time; later records may be included."""
        statement, values = (
            ("records_page", (collection,)) if owner is None else ("records_page_of", (collection, owner))
        )
        page, after = _FULL, ""
        while len(page) == PAGE:
            page = await self._batcher.read(partial(self._select, statement, *values, after, PAGE))
            for row in page:
                yield rows.record_of(row)
            after = page[-1][1] if page else after

    async def due_records(self, collection: str, now: float, limit: int) -> list[VersionedRecord]:
        """Return the due records, the longest overdue first."""
        return [
            rows.record_of(row)
            for row in await self._batcher.read(partial(self._select, "due_records", collection, now, limit))
        ]

    async def next_due_record(self, collection: str) -> float | None:
        """Return the earliest due time of a collection."""
        found: list[tuple[float | None]] = await self._batcher.read(lambda: self._select("next_due_record", collection))
        return found[0][0]

    # --- audit trail --------------------------------------------------------------------------------------------------

    async def events(
        self, *, subject: str | None = None, type_prefix: str | None = None, since: float | None = None
    ) -> AsyncIterator[ChainedEvent]:
        """Iterate over the audit trail in order, a page at a time; events that are added in between are included."""
        number = None if subject is None else await self._batcher.read(lambda: self._names.find(subject))
        if subject is None or number is not None:
            async for event in self._trail.events(number, type_prefix, since):
                yield event

    async def latest_events(self, subject: str | None = None) -> AsyncIterator[ChainedEvent]:
        """Iterate over the audit trail from its end, a page at a time."""
        number = None if subject is None else await self._batcher.read(lambda: self._names.find(subject))
        if subject is None or number is not None:
            async for event in self._trail.latest(number):
                yield event

    async def head(self) -> AuditHead:
        """Return the end of the audit trail."""
        return await self._trail.head()

    async def has_head(self, head: AuditHead) -> bool:
        """Return True if the audit trail has an event of this number and hash."""
        return await self._trail.has_head(head)

    async def verify_chain(self, known: Sequence[AuditHead] = ()) -> int:
        """Recompute every hash and return the length; raise ChainBroken naming the first bad event."""
        return await self._trail.verify(known)

    async def _select_named(self, statement: str, values: Mapping[str, object]) -> list[rows.Row]:
        return await self._batcher.read(lambda: self._connection.execute(SQL[statement], values).fetchall())


def _abandon(opening: Future[Database]) -> None:
    """Close a database whose opening was cancelled."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


def _json(names: Collection[str]) -> str:
    return orjson.dumps(sorted(names)).decode()
