"""Matters that go on for a while, as rows of the SQLite schema and back; the order is that of the columns."""

from __future__ import annotations

from holdfast.store import blobs, value_codec
from holdfast.store.damage import undamaged
from holdfast.store.protocol import Dossier
from holdfast.store.rows import Row


def row(dossier: Dossier) -> Row:
    """Return a dossier as a row."""
    data = blobs.pack(value_codec.dumps(dossier.data))
    return dossier.shelf, dossier.key, dossier.owner, dossier.version, dossier.due_at, data


@undamaged("dossier")
def of_row(row: Row) -> Dossier:
    """Return the dossier of a row."""
    shelf, key, owner, version, due_at, data = row
    return Dossier(shelf, key, value_codec.loads(blobs.unpack(data)), version, owner, due_at)
