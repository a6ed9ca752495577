"""One round of the writer: calls that share a database transaction, from names and locks to the audit trail.

The order of locks is the same in every process: the store (shared), keys by number, resources by id, documents by
digest, the end of the audit trail. Nothing else is ever waited for, so transactions cannot block one another in a
circle.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import asyncpg

from holdfast.model.address import Address
from holdfast.store.address_text import text_of
from holdfast.store.postgres import transaction_writer, write_plan
from holdfast.store.postgres.address_ids import AddressIds
from holdfast.store.postgres.database import Database
from holdfast.store.postgres.statements import SQL
from holdfast.store.postgres.write_plan import PreparedTransaction
from holdfast.store.records import Claim
from holdfast.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class TakeClaim:
    """A call that takes a claim."""

    address: Address
    owner: str
    now: float
    until: float


@dataclass(frozen=True, slots=True)
class ChangeClaim:
    """A call that renews a claim, or releases it if there is no new end."""

    claim: Claim
    until: float | None = None


Work = Transaction | TakeClaim | ChangeClaim


async def run(database: Database, names: AddressIds, works: Sequence[Work]) -> list[Any]:
    """Run calls in one transaction, in order, and return their results; raise the first exception of any of them."""
    # Encoding and hashing of large documents must not stop the event loop.
    prepared = await asyncio.to_thread(_prepare_all, works)
    current = _Round(database, names, works, prepared)
    return await database.write(current.begin, current.write)


def _prepare_all(works: Sequence[Work]) -> dict[int, PreparedTransaction]:
    return {place: write_plan.prepare(work) for place, work in enumerate(works) if isinstance(work, Transaction)}


@dataclass(slots=True)
class _Round:
    """The calls of one round; both steps may be repeated."""

    database: Database
    names: AddressIds
    works: Sequence[Work]
    prepared: Mapping[int, PreparedTransaction]
    ids: dict[str, int] = field(default_factory=dict)
    locked: set[str] = field(default_factory=set)
    packed: dict[bytes, bytes] = field(default_factory=dict)

    async def begin(self, connection: asyncpg.Connection) -> None:
        """Add names and compress documents, outside of the transaction."""
        subjects, added, known = set[str](), set[str](), set[str]()
        for prepared in self.prepared.values():
            subjects |= {event.subject for event, _ in prepared.events}
            added |= prepared.added
            known |= prepared.names
        added |= {text_of(work.address) for work in self.works if isinstance(work, TakeClaim)}
        known |= {text_of(work.claim.address) for work in self.works if isinstance(work, ChangeClaim)}
        self.ids = await self.names.add_all(connection, sorted(added | subjects))
        self.ids |= await self.names.find_all(connection, known - added)
        self.locked = added | known
        documents = self._documents()
        stored = await transaction_writer.known_documents(connection, documents)
        new = {digest: data for digest, data in documents.items() if digest not in stored}
        self.packed = await asyncio.to_thread(transaction_writer.pack_all, new) if new else {}

    def _documents(self) -> dict[bytes, bytes]:
        return {digest: data for prepared in self.prepared.values() for digest, data in prepared.documents.items()}

    async def write(self, connection: asyncpg.Connection) -> list[Any]:
        """Lock everything the round writes, and write it."""
        await self.database.lock(
            connection,
            write_plan.stripes(key for prepared in self.prepared.values() for key in self._keys(prepared)),
            [self.ids[text] for text in self.locked if text in self.ids],
        )
        await self._add_documents(connection)
        results = await self._write_all(connection)
        events = [event for prepared in self.prepared.values() for event in prepared.events]
        await transaction_writer.append_events(connection, self.ids, events)
        return results

    @staticmethod
    def _keys(prepared: PreparedTransaction) -> set[write_plan.Key]:
        return prepared.keys | set(write_plan.bucket_keys(prepared.facts))

    async def _add_documents(self, connection: asyncpg.Connection) -> None:
        """Store the documents; retention may have deleted some that were stored when the round began."""
        others = {digest: data for digest, data in self._documents().items() if digest not in self.packed}
        stored = await transaction_writer.known_documents(connection, others)
        deleted = {digest: data for digest, data in others.items() if digest not in stored}
        await transaction_writer.add_documents(connection, self.packed | transaction_writer.pack_all(deleted))

    async def _write_all(self, connection: asyncpg.Connection) -> list[Any]:
        results: list[Any] = []
        waiting: list[PreparedTransaction] = []
        for place, work in enumerate(self.works):
            if isinstance(work, Transaction):
                waiting.append(self.prepared[place])
                results.append(None)
                continue
            await self._write_transactions(connection, waiting)
            waiting = []
            if isinstance(work, TakeClaim):
                results.append(await self._take(connection, work))
            else:
                results.append(await self._change(connection, work))
        await self._write_transactions(connection, waiting)
        return results

    async def _write_transactions(self, connection: asyncpg.Connection, waiting: Sequence[PreparedTransaction]) -> None:
        for members in write_plan.group(waiting):
            merged = write_plan.merge(members)
            await transaction_writer.TransactionWriter(connection, self.ids, merged).write()

    async def _take(self, connection: asyncpg.Connection, work: TakeClaim) -> Claim | None:
        row = await connection.fetchrow(
            SQL["take_claim"], self.ids[text_of(work.address)], work.owner, work.until, work.now
        )
        return None if row is None else Claim(work.address, work.owner, row[0], work.until, row[1])

    async def _change(self, connection: asyncpg.Connection, work: ChangeClaim) -> bool:
        if work.until is None:
            return await transaction_writer.change_claim(connection, self.ids, "release_claim", work.claim)
        return await transaction_writer.change_claim(connection, self.ids, "renew_claim", work.claim, work.until)
