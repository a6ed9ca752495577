"""Reads of a few columns of many resources, for list scans and for questions about a whole fleet."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from holdfast.model.address import Address
from holdfast.model.verdict import Status
from holdfast.store import blobs, rows
from holdfast.store.address_text import address_of, text_of
from holdfast.store.sqlite.address_ids import AddressIds
from holdfast.store.sqlite.statements import SQL, in_lists, sized
from holdfast.store.state import ResourceState, UnchangedResource


def find_unchanged(
    database: sqlite3.Connection, connection: str, kind: str, listed: Sequence[tuple[str, str]]
) -> list[UnchangedResource]:
    """Return the idle resources with an unchanged digest; the later of two digests of one id counts."""
    digests = {provider_id: blobs.pack_digest(digest) for provider_id, digest in listed}
    return [
        UnchangedResource(address_of(connection, kind, local), resync_seconds)
        for (family,) in database.execute(SQL["find_family"], (connection, kind)).fetchall()
        for chunk in in_lists(list(digests))
        for local, provider_id, digest, resync_seconds in database.execute(sized("unchanged", chunk), (family, *chunk))
        if digest == digests[provider_id]
    ]


def states_with_ids(
    database: sqlite3.Connection, connection: str, kind: str, ids: Sequence[str]
) -> list[ResourceState]:
    """Return the states of the resources of a kind that have one of these provider ids."""
    return rows.states_of(
        row
        for (family,) in database.execute(SQL["find_family"], (connection, kind)).fetchall()
        for chunk in in_lists(list(dict.fromkeys(ids)))
        for row in database.execute(sized("states_with_ids", chunk), (family, *chunk))
    )


def listed_digests(
    database: sqlite3.Connection, names: AddressIds, addresses: Sequence[Address]
) -> dict[str, bytes | None]:
    """Return the packed raw digests of resources by their provider ids."""
    numbers = list(names.find_all(map(text_of, addresses)).values())
    return {
        provider_id: digest
        for chunk in in_lists(numbers)
        for provider_id, digest in database.execute(sized("listed_digests", chunk), chunk)
    }


def declaring_files(database: sqlite3.Connection, without: Status) -> dict[str, float]:
    """Return the files that declared resources, each with the earliest last check of its resources.

    A source is a file and a line. SQLite drops the digits of the line, so that the rows of a file come as one.
    """
    found = database.execute(SQL["declaring_files"], (rows.STATUS_NUMBERS[without],)).fetchall()
    return {place.rpartition(":")[0]: checked_at for place, checked_at in found}
