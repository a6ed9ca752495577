"""The keys, names and documents of a transaction, and the grouping of transactions that can be written together.

Pure. Two transactions that share no key may be written statement by statement as one, which makes a round of many small
transactions as cheap as one of their size.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Final

from holdfast.model.address import Address
from holdfast.store import audit_chain, blobs
from holdfast.store.address_text import text_of
from holdfast.store.records import AuditEvent
from holdfast.store.transaction import Transaction

_STRIPES: Final = 64  # of the locks of keys; the server has room for a few thousand locks in all
_APPROVALS: Final = ("approval",)  # approvals are written by plan and forgotten by resource

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PreparedTransaction:
    """A transaction with everything computed that needs no database."""

    facts: Transaction
    documents: dict[bytes, bytes]  # canonical bytes by packed digest
    events: list[tuple[AuditEvent, bytes]]
    added: set[str]  # addresses that are added if they are new
    names: set[str]  # addresses that are written if they are known
    keys: set[Key]  # of rows that belong to no resource

    @property
    def places(self) -> set[Key]:
        """Everything that another transaction must not write in the same statements."""
        return self.keys | {("name", text) for text in self.names | self.added}


@dataclass(slots=True)
class MergedTransaction:
    """Transactions that share no key, as one."""

    facts: Transaction = field(default_factory=Transaction)
    findings_at: dict[Address, float] = field(default_factory=dict)


def prepare(facts: Transaction) -> PreparedTransaction:
    """Check the documents of a transaction, encode its events, and collect its names and keys."""
    documents: dict[bytes, bytes] = {}
    for digest, data in facts.documents.items():
        blobs.require_match(digest, data)
        documents[blobs.pack_digest(digest)] = data
    events = [(event, audit_chain.data_bytes(event)) for event in facts.events]
    added, names = ({text_of(address) for address in addresses} for addresses in (_added(facts), _written(facts)))
    return PreparedTransaction(facts, documents, events, added, names, set(_keys(facts)))


def stripes(keys: Iterable[Key]) -> list[int]:
    """Return the numbers of the locks for keys, in order; 0 is the lock of the whole store."""
    return sorted({zlib.crc32("\0".join(key).encode("utf-8", "surrogatepass")) % _STRIPES + 1 for key in keys})


def group(prepared: Sequence[PreparedTransaction]) -> Iterator[list[PreparedTransaction]]:
    """Split transactions into runs of neighbours that share no key."""
    members: list[PreparedTransaction] = []
    taken: set[Key] = set()
    for transaction in prepared:
        places = transaction.places
        if members and not taken.isdisjoint(places):
            yield members
            members, taken = [], set()
        members.append(transaction)
        taken |= places
    if members:
        yield members


def merge(members: Sequence[PreparedTransaction]) -> MergedTransaction:
    """Return transactions that share no key as one."""
    merged = MergedTransaction()
    for member in members:
        facts = member.facts
        merged.findings_at.update(dict.fromkeys(facts.findings, facts.findings_at))
        _join(merged.facts, facts)
    return merged


def _join(whole: Transaction, facts: Transaction) -> None:
    for target, part in (
        (whole, facts),
        (whole.updates, facts.updates),
        (whole.writes, facts.writes),
        (whole.governance, facts.governance),
        (whole.records, facts.records),
    ):
        for item in fields(part):
            value, joined = getattr(part, item.name), getattr(target, item.name)
            if isinstance(joined, list):
                joined.extend(value)
            elif isinstance(joined, dict | set):
                joined.update(value)


def _added(facts: Transaction) -> Iterator[Address]:
    for state in facts.states:
        yield state.address
    yield from facts.findings
    yield from facts.writes.fences  # a fence of 0 must hold against the first claim of another process
    governance = facts.governance
    history = (facts.revisions, facts.decisions, facts.writes.operations, governance.corrections)
    for records in (*history, governance.approvals, governance.quarantines, governance.accepted):
        for record in records:
            yield record.address


def _written(facts: Transaction) -> Iterator[Address]:
    updates, writes, governance = facts.updates, facts.writes, facts.governance
    yield from facts.forgotten
    yield from facts.checked
    states = (updates.unchanged, updates.requested, updates.relinked, updates.withdrawn)
    for changes in (*states, writes.renewed, writes.released):
        for change in changes:
            yield change.address
    times = (updates.rescheduled, updates.outdated, updates.set_back)
    for pairs in (*times, governance.unquarantined, governance.unaccepted):
        for address, _ in pairs:
            yield address


def _keys(facts: Transaction) -> Iterator[Key]:
    governance = facts.governance
    for collection, key in facts.records.deleted:
        yield "record", collection, key
    for record in facts.records.put:
        yield "record", record.collection, record.key
    for identity in (*governance.charges, *(correction.id for correction in governance.corrections)):
        yield "correction", identity
    for identity in (*facts.writes.finished, *(operation.id for operation in facts.writes.operations)):
        yield "operation", identity
    for decision in facts.decisions:
        yield "decision", decision.id
    for scope in (*governance.resumed, *(pause.scope for pause in governance.pauses)):
        yield "pause", scope
    if governance.approvals or facts.forgotten:
        yield _APPROVALS


def bucket_keys(facts: Transaction) -> Iterator[Key]:
    """Return the keys of the charged buckets: locked, but shared by transactions that are written together."""
    for charges in facts.governance.charges.values():
        for charge in charges:
            yield "bucket", charge.bucket
