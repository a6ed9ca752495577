"""Matters that go on for a while, as rows of the SQLite schema and back; the order is that of the columns."""

from __future__ import annotations

from holdfast.store import blobs, value_codec
from holdfast.store.damage import undamaged
from holdfast.store.records import VersionedRecord
from holdfast.store.sqlite.rows import Row


def row(record: VersionedRecord) -> Row:
    """Return a versioned record as a row."""
    data = blobs.pack(value_codec.dumps(record.data))
    return record.collection, record.key, record.owner, record.version, record.due_at, data


@undamaged("record")
def of_row(row: Row) -> VersionedRecord:
    """Return the versioned record of a row."""
    collection, key, owner, version, due_at, data = row
    return VersionedRecord(collection, key, value_codec.loads(blobs.unpack(data)), version, owner, due_at)
