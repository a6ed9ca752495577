"""Wherever the process dies, no event is told twice and none is lost: the real engine, on both stores.

A process dies just before or just after any commit to the store, or between a write and the next commit;
another one goes on with what is left. The trail has to be that of a run without a crash.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.remediation.core.alerts import Signal
from holdfast.store.sqlite.store import SqliteStore
from tests.unit.reconcile.fixtures import declare
from tests.unit.remediation.assessment_fixtures import Ward

CLAIM_RUNS_OUT = 301.0


class Died(BaseException):
    """The process has died."""


class Mortal:
    """A store whose process dies at the n-th commit: before it, or after it, before the answer."""

    def __init__(self, store, at=None, *, after=False) -> None:
        self._store = store
        self.at = at
        self.after = after
        self.commits = 0
        self.is_dead = False

    def __getattr__(self, name):
        if self.is_dead:  # the dead give no claim back
            raise Died
        return getattr(self._store, name)

    async def commit(self, transaction):
        self.commits += 1
        dies = self.commits == self.at
        if not dies or self.after:
            await self._store.commit(transaction)
        if dies:
            self.is_dead = True
            raise Died


async def corrected(ward):
    """A correction that does not help, and is taken back."""
    await ward.apply(ward.declarations)
    if ward.live_thing("a")["color"] == "red" and not ward.live.actors.get(("moved", "")):
        ward.live.actors["moved", ""] = "once"
        ward.live_thing("a")["color"] = "black"
    await ward.apply(ward.declarations)
    return await ward.finish()


async def announced(ward):
    """A remediation of another tool, whose announcements are repeated until they are answered."""
    await ward.apply(ward.declarations)
    record = await ward.start(correlation_id="rr-1", signal=Signal("HighMemory"))
    ward.live_thing("a")["size"] = 7
    if record.is_open:
        await ward.complete(ident="rr-1")
    return await ward.finish()


STORIES = {
    "corrected": (corrected, [declare("a", {"color": "red", "size": 1}, assess="corrections", undoBelow=0.9)]),
    "announced": (announced, [declare("a", {"color": "red", "size": 1}, onDrift="report")]),
}


async def told(story, store, at=None, *, after=False):
    """Tell a story, with one death in it; return its trail, the live state, and the number of commits."""
    tell, declarations = STORIES[story]
    mortal = Mortal(store, at, after=after)
    ward = Ward(store=mortal, declarations=declarations)
    ward.live.health_signals["running"] = False
    record = await survived(tell, ward, store)
    trail = await replace(ward, store=store).trail()
    await store.verify_chain()
    return trail, record, ward.live_thing("a"), mortal.commits


async def survived(tell, ward, store):
    """Tell a story; if the process dies of it, have another one tell it again from what is left."""
    try:
        return await tell(ward)
    except BaseException as error:
        if not is_death(error):
            raise
    ward.live.after_write = lambda _verb: None
    ward.clock.advance(CLAIM_RUNS_OUT)
    return await tell(replace(ward.restarted(), store=store))


def is_death(error):
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else [error]
    return all(isinstance(item, Died) or (isinstance(item, BaseExceptionGroup) and is_death(item)) for item in inner)


def plain(trail, ident):
    """Return a trail without what differs between two runs: chance and the clock."""
    out = []
    for event in trail:
        kept = {k: v for k, v in event.data.items() if k in ("reason", "score", "hash_match", "outcome", "undone")}
        out.append((event.type, event.data["id"].replace(event.data["correlation_id"], ident), kept))
    return out


async def open_store(kind, folder):
    return SqliteStore.in_memory() if kind == "memory" else await SqliteStore.open(Path(folder) / "store.db")


async def one(kind, story, at=None, *, after=False):
    with tempfile.TemporaryDirectory() as folder:
        store = await open_store(kind, folder)
        try:
            return await told(story, store, at, after=after)
        finally:
            await store.close()


@pytest.mark.parametrize("story", STORIES)
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_no_event_twice_and_none_lost_after_a_crash_at_any_commit(kind, story):
    trail, record, live, commits = asyncio.run(one(kind, story))
    wanted = plain(trail, "it")
    assert record.is_settled
    assert len(commits_of(commits)) >= 8
    for at, after in itertools.product(commits_of(commits), (False, True)):
        again, other, there, _ = asyncio.run(one(kind, story, at, after=after))
        where = f"{'after' if after else 'before'} commit {at}"
        assert plain(again, "it") == wanted, where
        assert len({event.data["id"] for event in again}) == len(again), where
        assert (other.assessment.reason, other.undo, there) == (record.assessment.reason, record.undo, live), where


def commits_of(commits):
    return range(1, commits + 1)


def test_no_event_twice_when_it_dies_between_the_write_and_the_commit():
    trail, record, live, _ = asyncio.run(one("memory", "corrected"))
    wanted = plain(trail, "it")

    async def dying(nth):
        writes = itertools.count(1)
        ward = Ward(declarations=STORIES["corrected"][1])
        ward.live.health_signals["running"] = False

        def die(_verb):
            if next(writes) == nth:
                raise Died

        ward.live.after_write = die
        last = await survived(corrected, ward, ward.store)
        return await ward.trail(), last, ward.live_thing("a")

    for nth in (2, 3):  # the correction, and the undo
        again, last, there = asyncio.run(dying(nth))
        assert (plain(again, "it"), last.undo, there) == (wanted, record.undo, live)


def test_two_workers_at_once_tell_everything_once():
    async def both():
        ward = Ward()
        ward.live.health_signals["running"] = True
        await ward.correct()
        other = ward.restarted()
        for _ in range(100):
            await asyncio.gather(ward.look(), other.look())
            if not await ward.sleep():
                break
        return await ward.trail()

    trail = asyncio.run(both())
    assert len({event.data["id"] for event in trail}) == len(trail)
    assert trail[-1].data["reason"] == "full"
