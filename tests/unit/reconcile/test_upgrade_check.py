"""An upgrade is rehearsed on what the store holds: nothing would change, or what and why is named."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from holdfast.reconcile import serialize, upgrade_check
from holdfast.reconcile.connections import Connections
from holdfast.reconcile.resolve import ResourceResolver
from holdfast.rollouts.core.templates import FieldClasses, RolloutMode
from holdfast.store.transaction import Transaction
from tests.unit.reconcile.fixtures import Bench, declare
from tests.unit.reconcile.test_rule_migration import FIVE, FLEET, IGNORING, LOOKING, SEEN, SIX, restarted, run
from tests.unit.rollouts.group_fixtures import Nursery, template


async def rehearsed(bench: Bench, fleet=FLEET):
    connections, providers = {bench.connection.name: bench.connection}, {"memory": bench.provider()}
    async with Connections(connections, providers, {}, bench.clock) as world:
        preparer = ResourceResolver(bench.store, world, bench.fleet(fleet), bench.fingerprint, bench.secrets)
        ready, _ = await preparer.prepare([item.address for item in fleet])
        return await upgrade_check.resources(bench.store, ready)


@pytest.fixture
def bench() -> Bench:
    bench = Bench(profile=IGNORING)
    run(bench.apply(FLEET))
    return bench


def test_the_same_rules_change_nothing_and_nothing_is_read_or_written(bench):
    calls = len(bench.live.calls)
    (one,) = run(rehearsed(bench))
    assert (one.before, one.after, one.is_changed) == ("in_sync", "in_sync", False)
    assert len(bench.live.calls) == calls


def test_what_new_rules_would_see_is_named_as_newly_visible_and_changes_nothing(bench):
    bench.live_thing("a")["shade"] = "pale"
    run(bench.check(FLEET))
    (one,) = run(rehearsed(restarted(bench, LOOKING)))
    assert (one.is_changed, one.newly_visible) == (False, ("/shade",))


def test_a_default_that_new_rules_change_is_named_and_changes_nothing():
    bench = Bench(profile=FIVE)
    bench.live.defaults = {"size": 5}
    run(bench.apply(FLEET))
    (one,) = run(rehearsed(restarted(bench, SIX)))
    assert (one.is_changed, one.newly_visible, one.defaults) == (False, (), ("/size",))


def test_what_new_rules_would_see_of_something_only_looked_at_changes_nothing_either():
    bench = Bench(profile=IGNORING)
    bench.live.things["Thing", "id-1"] = {"name": "a", "color": "red", "shade": "pale"}
    run(bench.check(SEEN))
    looking = restarted(bench, LOOKING)
    (one,) = run(rehearsed(looking, SEEN))
    assert (one.before, one.after, one.newly_visible) == ("in_sync", "in_sync", ("/shade",))
    run(looking.check(SEEN))
    (one,) = run(rehearsed(looking, SEEN))
    assert (one.before, one.after, one.newly_visible) == ("in_sync", "in_sync", ())


def test_drift_that_would_clear_is_named_with_the_reason(bench):
    looking = restarted(bench, LOOKING)
    looking.live_thing("a")["color"] = "blue"
    run(looking.apply([declare("a", dict(FLEET[0].desired), onDrift="report")]))
    (one,) = run(rehearsed(restarted(looking, "{profile: a/b, version: 3, rules: [{path: /color, class: ignore}]}")))
    assert (one.before, one.after) == ("drifted", "in_sync")
    assert one.why == "no longer counts /color"


def test_an_edit_since_is_no_upgrade(bench):
    edited = [declare("a", {"color": "green", "shade": "dark"})]
    (one,) = run(rehearsed(bench, edited))
    assert not one.is_changed


def test_rules_that_cannot_be_read_would_make_it_unknown(bench):
    async def newer() -> None:
        transaction = Transaction()
        digest = serialize.keep(transaction, [{"profile": "a/b", "version": 9, "rules": [], "glossary": "new"}])
        (state,) = [item async for item in bench.store.all_states()]
        applied = dataclasses.replace(state.applied, rules=digest)
        transaction.states.append(dataclasses.replace(state, applied=applied))
        await bench.store.commit(transaction)

    run(newer())
    (one,) = run(rehearsed(bench))
    assert one.after == "unknown"


@pytest.mark.parametrize(
    "fields, edited, changed",
    [
        (FieldClasses(behavioural=frozenset({("other",)})), False, 0),
        (FieldClasses(behavioural=frozenset({("level",)})), False, 0),
        (FieldClasses(behavioural=frozenset({("level",)})), True, 3),  # drift in a field that counts no more clears
    ],
)
def test_children_are_rehearsed_by_what_their_template_said_then(fields, edited, changed):
    nursery = Nursery()
    wanted = template({"level": "info"}, mode=RolloutMode.NOTIFY)
    asyncio.run(nursery.roll(wanted))
    if edited:
        wanted = dataclasses.replace(wanted, content={"level": "debug"})
        asyncio.run(nursery.roll(wanted))
    asked = dataclasses.replace(wanted, fields=fields, content={"level": "an edit that nobody has seen"})
    found = asyncio.run(upgrade_check.children(nursery.repository(), [asked], {}))
    assert len(found) == 3
    assert sum(item.is_changed for item in found) == changed
    assert all("another scheme judges web" in item.why for item in found if item.is_changed)
