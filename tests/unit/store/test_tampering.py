"""Somebody edits the audit trail in the file: `verify_chain` names the first bad event and what was done to it."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.errors import ChainBroken
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.transaction import Transaction
from tests.unit.store.examples import A, B, event

LENGTH = 1200  # more than two pages


@pytest.fixture(scope="module")
def untouched(tmp_path_factory) -> bytes:
    """Return the bytes of a store with a long trail."""
    path = tmp_path_factory.mktemp("trail") / "s.db"

    async def whole() -> None:
        store = await SqliteStore.open(path)
        try:
            await store.commit(Transaction(events=[event((A, B)[n % 2], float(n), n=n) for n in range(LENGTH)]))
        finally:
            await store.close()

    asyncio.run(whole())
    return path.read_bytes()


def tampered(path: Path, content: bytes, script: str) -> None:
    path.write_bytes(content)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"DROP TRIGGER event_is_never_changed; DROP TRIGGER event_is_never_removed; {script}")


def verify(path: Path) -> int:
    async def whole() -> int:
        store = await SqliteStore.open(path)
        try:
            return await store.verify_chain()
        finally:
            await store.close()

    return asyncio.run(whole())


SWAP = (
    "UPDATE event SET sequence = -1 WHERE sequence = {0}; UPDATE event SET sequence = {0} WHERE sequence = {1}; "
    "UPDATE event SET sequence = {1} WHERE sequence = -1"
)
CASES = {
    "the data of one event": ("UPDATE event SET data = x'7b7d' WHERE sequence = 700", 700, "edited"),
    "one byte of data": ("UPDATE event SET data = CAST('{\"n\":8}' AS BLOB) WHERE sequence = 10", 10, "edited"),
    "the time of an event": ("UPDATE event SET at = at + 1 WHERE sequence = 1", 1, "edited"),
    "the type of an event": ("UPDATE event SET type = 'nothing.happened' WHERE sequence = 1200", 1200, "edited"),
    "the subject of an event": ("UPDATE event SET subject = 3 - subject WHERE sequence = 501", 501, "edited"),
    "the name behind a subject": ("UPDATE name SET local = 'z' WHERE local = 'a'", 1, "edited"),
    "a hash": ("UPDATE event SET hash = zeroblob(32) WHERE sequence = 5", 5, "edited"),
    "a column of another type": ("UPDATE event SET data = 'text' WHERE sequence = 5", 5, "edited"),
    "one removed": ("DELETE FROM event WHERE sequence = 600", 600, "event 600 was removed"),
    "the first removed": ("DELETE FROM event WHERE sequence = 1", 1, "event 1 was removed"),
    "removed and renumbered": (
        "DELETE FROM event WHERE sequence = 1199; UPDATE event SET sequence = 1199 WHERE sequence = 1200",
        1199,
        "renumbered",
    ),
    "neighbours swapped": (SWAP.format(3, 4), 3, "reordered, event 3 now stands at 4"),
    "distant ones swapped": (SWAP.format(3, 1100), 3, "reordered, event 3 now stands at 1100"),
    "the end cut off": ("DELETE FROM event WHERE sequence > 1000", 1001, "events 1001 to 1200 were removed"),
    "everything removed": ("DELETE FROM event", 1, "events 1 to 1200 were removed"),
    "one more added": (
        "INSERT INTO event SELECT 1201, at, type, subject, data, hash FROM event WHERE sequence = 1",
        1201,
        "not put there by Holdfast",
    ),
    "one put before the first": (
        "INSERT INTO event SELECT -5, at, type, subject, data, hash FROM event WHERE sequence = 1",
        -5,
        "put in afterwards",
    ),
    "the head moved back": ("UPDATE chain SET length = 1199", 1200, "not put there by Holdfast"),
    "the head's hash": ("UPDATE chain SET hash = zeroblob(32)", 1200, "rewritten"),
    "the head removed": ("DELETE FROM chain", 0, "record of its end was removed"),
}


@pytest.mark.parametrize("what", CASES)
def test_every_way_of_tampering_is_named_with_its_place(tmp_path, untouched, what):
    script, sequence, message = CASES[what]
    path = tmp_path / "s.db"
    tampered(path, untouched, script)
    with pytest.raises(ChainBroken, match=message) as broken:
        verify(path)
    assert broken.value.sequence == sequence


def test_an_untouched_trail_verifies(tmp_path, untouched):
    path = tmp_path / "s.db"
    tampered(path, untouched, "SELECT 1")
    assert verify(path) == LENGTH


def test_a_tampered_trail_stays_broken_whatever_is_added_later(tmp_path, untouched):
    path = tmp_path / "s.db"
    tampered(path, untouched, "DELETE FROM event WHERE sequence > 1000")

    async def whole() -> None:
        store = await SqliteStore.open(path)
        try:
            await store.commit(Transaction(events=[event()]))
            with pytest.raises(ChainBroken, match="event 1001 was removed"):
                await store.verify_chain()
        finally:
            await store.close()

    asyncio.run(whole())


def test_without_its_head_a_trail_is_not_quietly_begun_anew(tmp_path, untouched):
    path = tmp_path / "s.db"
    tampered(path, untouched, "DELETE FROM chain")

    async def whole() -> None:
        store = await SqliteStore.open(path)
        try:
            with pytest.raises(ChainBroken):
                await store.commit(Transaction(events=[event()]))
        finally:
            await store.close()

    asyncio.run(whole())
