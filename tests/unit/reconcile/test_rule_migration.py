"""A new profile, scheme or release never changes a verdict by itself; what moves afterwards counts as ever."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from holdfast.model.resource import ManagementPolicy
from holdfast.model.verdict import Status, SuppressionReason
from holdfast.reconcile import serialize
from holdfast.store.transaction import Transaction
from holdfast.testing.memory import UNREACHABLE, once
from tests.unit.reconcile.fixtures import Bench, declare

IGNORING = "{profile: a/b, version: 1, rules: [{path: /shade, class: ignore}]}"
LOOKING = "{profile: a/b, version: 2, rules: []}"
EXACT = "{profile: a/b, version: 1, rules: []}"
LOOSE = "{profile: a/b, version: 2, rules: [{path: /shade, compare: case-insensitive}]}"
FLEET = [declare("a", {"color": "red", "shade": "dark"})]


def run(coroutine):
    return asyncio.run(coroutine)


def restarted(bench: Bench, profile: str) -> Bench:
    return dataclasses.replace(bench, profile=profile)


def status(bench: Bench, fleet=FLEET) -> Status:
    (one,) = run(bench.check(fleet)).checked
    return one.verdict.status


@pytest.fixture
def moved_out_of_sight() -> Bench:
    """A resource in sync, of which somebody moved a field that nobody looks at."""
    bench = Bench(profile=IGNORING)
    run(bench.apply(FLEET))
    bench.live_thing("a")["shade"] = "pale"
    assert status(bench) is Status.IN_SYNC
    return bench


def test_07_what_a_new_profile_sees_for_the_first_time_is_newly_visible_and_no_drift(moved_out_of_sight):
    after = restarted(moved_out_of_sight, LOOKING)
    writes = len(after.live.writes)
    assert status(after) is Status.IN_SYNC
    run(after.apply(FLEET))
    assert len(after.live.writes) == writes
    told = run(_events(after, "rules.took_over"))
    assert told[0].event.data["newly-visible"] == ["/shade"]


async def _events(bench: Bench, kind: str):
    return [event async for event in bench.store.events(type_prefix=kind)]


def test_08_when_it_moves_again_it_is_drift(moved_out_of_sight):
    after = restarted(moved_out_of_sight, LOOKING)
    assert status(after) is Status.IN_SYNC
    after.live_thing("a")["shade"] = "none"
    assert status(after) is Status.DRIFTED
    assert status(after) is Status.DRIFTED, "the regime has a base of its own: what was found is not excused later"


def test_03_what_moved_while_nobody_looked_is_drift_by_the_rules_that_see_it(moved_out_of_sight):
    after = restarted(moved_out_of_sight, LOOKING)
    after.live_thing("a")["shade"] = "none"  # since the last look of the old release
    assert status(after) is Status.DRIFTED


def test_04_an_edit_in_a_newly_seen_field_since_the_last_look_is_pending(moved_out_of_sight):
    edited = [declare("a", {"color": "red", "shade": "deep"})]
    assert status(restarted(moved_out_of_sight, LOOKING), edited) is Status.PENDING


def test_an_edit_that_the_old_rules_hid_is_newly_visible_and_writes_nothing():
    bench = Bench(profile=IGNORING)
    run(bench.apply(FLEET))
    edited = [declare("a", {"color": "red", "shade": "deep"})]
    assert status(bench, edited) is Status.IN_SYNC
    after = restarted(bench, LOOKING)
    writes = len(after.live.writes)
    assert run(after.apply(edited)).checked[0].verdict.status is Status.IN_SYNC
    assert len(after.live.writes) == writes
    bench.live_thing("a")["color"] = "blue"
    assert [finding.path for finding in run(after.check(edited)).checked[0].verdict.findings] == [("color",)]


def test_what_was_drifted_stays_drifted_and_nothing_joins_it():
    bench = Bench(profile=IGNORING)
    run(bench.apply(FLEET))
    bench.live_thing("a").update(shade="pale", color="blue")
    assert status(bench) is Status.DRIFTED
    after = restarted(bench, LOOKING)
    (one,) = run(after.check(FLEET)).checked
    assert [finding.path for finding in one.verdict.findings] == [("color",)]


def test_09_drift_in_a_field_that_is_dropped_goes_away():
    bench = Bench(profile=LOOKING)
    run(bench.apply(FLEET))
    bench.live_thing("a")["shade"] = "pale"
    assert status(bench) is Status.DRIFTED
    assert status(restarted(bench, IGNORING)) is Status.IN_SYNC


def test_who_stops_ignoring_by_policy_wants_to_hear_of_it():
    bench = Bench(profile=EXACT)
    ignoring = [declare("a", dict(FLEET[0].desired), onDriftPaths={"/shade": "ignore"})]
    run(bench.apply(ignoring))
    bench.live_thing("a")["shade"] = "pale"
    assert status(bench, ignoring) is Status.IN_SYNC
    assert status(bench) is Status.DRIFTED


def test_rules_of_a_newer_release_that_cannot_be_read_give_unknown_and_no_action(moved_out_of_sight):
    bench = moved_out_of_sight

    async def newer() -> None:
        transaction = Transaction()
        rules = [{"profile": "a/b", "version": 9, "rules": [], "glossary": "of the future"}]
        digest = serialize.keep(transaction, rules)
        (state,) = [item async for item in bench.store.all_states()]
        applied = dataclasses.replace(state.applied, rules=digest)
        transaction.states.append(dataclasses.replace(state, applied=applied))
        await bench.store.commit(transaction)

    run(newer())
    bench.live_thing("a")["color"] = "blue"
    writes = len(bench.live.writes)
    (one,) = run(bench.apply(FLEET)).checked
    assert one.verdict.status is Status.UNKNOWN
    assert "another release" in one.verdict.reason
    assert len(bench.live.writes) == writes
    assert run(bench.store.verify_chain()) > 0


def test_every_decision_over_a_migration_can_be_replayed(moved_out_of_sight):
    after = restarted(moved_out_of_sight, LOOKING)
    after.live_thing("a")["color"] = "blue"
    assert status(after) is Status.DRIFTED

    async def replay() -> None:
        for record in await after.store.decisions(None, 100):
            kept, again = await serialize.replay(after.store, record)
            assert kept == again

    run(replay())


# --- defaults: what is declared, and what stands for saying nothing ---------------------------------------------------


FIVE = "{profile: a/b, version: 1, rules: [{path: /size, default: 5}]}"
SIX = "{profile: a/b, version: 2, rules: [{path: /size, default: 6}]}"
SILENT = "{profile: a/b, version: 3, rules: []}"


def told(bench: Bench, fleet=FLEET) -> dict[str, SuppressionReason]:
    (one,) = run(bench.check(fleet)).checked
    assert one.verdict.status is Status.IN_SYNC
    return {item.path: item.because for item in one.verdict.suppressed}


@pytest.fixture
def by_default() -> Bench:
    """A resource whose size nobody declared, under rules that know what the service fills in."""
    bench = Bench(profile=FIVE)
    bench.live.defaults = {"size": 5}
    run(bench.apply(FLEET))
    assert told(bench) == {}
    bench.clock.advance(86400.0)
    return bench


def test_11_another_default_is_told_as_that_and_changes_no_verdict(by_default):
    after = restarted(by_default, SIX)
    writes = len(after.live.writes)
    assert told(after) == {"/size": SuppressionReason.DEFAULTS_CHANGED}
    run(after.apply(FLEET))
    assert len(after.live.writes) == writes
    (event,) = run(_events(after, "rules.took_over"))
    assert event.event.data["defaults_changed"] == ["/size"]
    (one,) = run(after.check(FLEET)).checked
    assert one.is_fast, "it is no reason to look closer"
    assert [(item.because, item.note) for item in one.verdict.suppressed] == [
        (SuppressionReason.DEFAULTS_CHANGED, "not declared; what stands for that was 5, and is 6 by the rules of now")
    ]


@pytest.mark.parametrize("profile", [SILENT, EXACT], ids=["the default is dropped", "no rule at all"])
def test_a_default_that_the_rules_forget_or_never_knew_is_no_changed_one(by_default, profile):
    assert told(restarted(by_default, profile)) == {}


def test_a_default_that_is_added_is_no_changed_one():
    bench = Bench(profile=SILENT)
    bench.live.defaults = {"size": 5}
    run(bench.apply(FLEET))
    assert told(restarted(bench, SIX)) == {}


def test_a_changed_default_is_told_until_somebody_declares_the_value(by_default):
    after = restarted(by_default, SIX)
    assert told(after) == {"/size": SuppressionReason.DEFAULTS_CHANGED}
    declared = [declare("a", {**FLEET[0].desired, "size": 5})]
    assert told(after, declared) == {}


@pytest.mark.parametrize("size", [6, 7], ids=["to the new default", "to another value"])
def test_a_changed_default_excuses_nothing_that_moves(by_default, size):
    after = restarted(by_default, SIX)
    assert told(after) == {"/size": SuppressionReason.DEFAULTS_CHANGED}
    after.live_thing("a")["size"] = size
    (one,) = run(after.check(FLEET)).checked
    assert one.verdict.status is Status.DRIFTED
    assert [finding.path for finding in one.verdict.findings] == [("size",)]
    assert one.verdict.suppressed == ()


def test_a_changed_default_that_is_changed_back_is_forgotten(by_default):
    after = restarted(by_default, SIX)
    assert told(after) == {"/size": SuppressionReason.DEFAULTS_CHANGED}
    assert told(restarted(after, FIVE)) == {}


def test_a_changed_default_outlives_a_failed_read_and_a_write_of_something_else(by_default):
    after = restarted(by_default, SIX)
    assert told(after) == {"/size": SuppressionReason.DEFAULTS_CHANGED}
    after.live.faults.append(once("read Thing/a", UNREACHABLE))
    after.live.faults.append(once("list Thing", UNREACHABLE))
    run(after.check(FLEET))
    edited = [declare("a", {"color": "green", "shade": "dark"})]
    run(after.apply(edited))
    assert after.live_thing("a")["color"] == "green"
    assert told(after, edited) == {"/size": SuppressionReason.DEFAULTS_CHANGED}


def test_what_is_newly_visible_is_told_until_it_is_mended(moved_out_of_sight):
    after = restarted(moved_out_of_sight, LOOKING)
    for _ in range(2):
        assert told(after) == {"/shade": SuppressionReason.NEWLY_VISIBLE}
    after.live_thing("a")["shade"] = "dark"
    assert told(after) == {}


# --- what is only looked at, and has no baseline ----------------------------------------------------------------------

SEEN = [declare("a", {"color": "red", "shade": "dark"}, policy=ManagementPolicy.OBSERVED)]


@pytest.fixture
def only_seen() -> Bench:
    """Somebody else's resource, as declared but for a field that nobody looks at."""
    bench = Bench(profile=IGNORING)
    bench.live.things["Thing", "id-1"] = {"name": "a", "color": "red", "shade": "pale"}
    assert status(bench, SEEN) is Status.IN_SYNC
    return bench


def test_what_a_new_profile_sees_of_something_only_looked_at_is_newly_visible_and_stays_so(only_seen):
    after = restarted(only_seen, LOOKING)
    for _ in range(3):
        assert told(after, SEEN) == {"/shade": SuppressionReason.NEWLY_VISIBLE}


@pytest.mark.parametrize("looks", [0, 2], ids=["at once", "later"])
@pytest.mark.parametrize("moved", ["shade", "color"], ids=["there", "elsewhere"])
def test_of_something_only_looked_at_what_moves_counts_and_what_is_newly_visible_does_not(only_seen, looks, moved):
    after = restarted(only_seen, LOOKING)
    for _ in range(looks):
        assert told(after, SEEN) == {"/shade": SuppressionReason.NEWLY_VISIBLE}
    after.live_thing("a")[moved] = "black"
    for _ in range(2):
        (one,) = run(after.check(SEEN)).checked
        assert one.verdict.status is Status.DRIFTED
        assert [finding.path for finding in one.verdict.findings] == [(moved,)]


def test_an_edit_of_what_is_declared_of_it_counts_too(only_seen):
    after = restarted(only_seen, LOOKING)
    assert told(after, SEEN) == {"/shade": SuppressionReason.NEWLY_VISIBLE}
    edited = [dataclasses.replace(SEEN[0], desired={"color": "red", "shade": "deep"})]
    assert status(after, edited) is Status.DRIFTED


def test_what_is_newly_visible_in_it_outlives_a_failed_read_and_goes_when_it_is_mended(only_seen):
    after = restarted(only_seen, LOOKING)
    assert told(after, SEEN) == {"/shade": SuppressionReason.NEWLY_VISIBLE}
    after.live.faults += [once("read Thing/a", UNREACHABLE), once("read Thing/a", UNREACHABLE)]
    assert status(after, SEEN) is Status.UNKNOWN
    assert told(after, SEEN) == {"/shade": SuppressionReason.NEWLY_VISIBLE}
    after.live_thing("a")["shade"] = "dark"
    assert told(after, SEEN) == {}
    after.live_thing("a")["shade"] = "pale"
    assert status(after, SEEN) is Status.DRIFTED, "it was seen mended; what comes back is news"


def test_decisions_over_something_only_looked_at_can_be_replayed(only_seen):
    after = restarted(only_seen, LOOKING)
    assert told(after, SEEN) == {"/shade": SuppressionReason.NEWLY_VISIBLE}
    after.live_thing("a")["color"] = "blue"
    assert status(after, SEEN) is Status.DRIFTED

    async def replay() -> int:
        records = await after.store.decisions(None, 100)
        for record in records:
            kept, again = await serialize.replay(after.store, record)
            assert kept == again
        return len(records)

    assert run(replay()) >= 2


def test_another_choice_of_what_policy_ignores_leaves_looks_as_short_as_before(moved_out_of_sight):
    ignoring = [declare("a", dict(FLEET[0].desired), onDriftPaths={"/color": "ignore"})]
    assert status(moved_out_of_sight, ignoring) is Status.IN_SYNC
    (one,) = run(moved_out_of_sight.check(ignoring)).checked
    assert one.is_fast
