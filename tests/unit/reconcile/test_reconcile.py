"""The engine, end to end, on a world in memory: what it writes, what it never writes, what it remembers."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from holdfast.model.address import Address
from holdfast.model.condition import ConditionType, Truth
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.model.resource import Import, ManagementPolicy, Origin
from holdfast.model.verdict import Status
from holdfast.model.write_result import WriteError, WriteFailure
from holdfast.reconcile import finding_actions, serialize
from holdfast.reconcile.action_result import ActionOutcome
from holdfast.testing.memory import UNREACHABLE, MemoryProvider, once
from tests.unit.reconcile.fixtures import Bench, declare

A = Address("mem", "Thing", "a")


def run(coroutine):
    return asyncio.run(coroutine)


@pytest.mark.parametrize("patches", [False, True])
@pytest.mark.parametrize("polls", [0, 3])
def test_after_an_apply_the_next_check_is_clean_and_writes_nothing(patches, polls):
    bench = Bench(patches=patches)
    bench.live.defaults = {"size": "small", "zone": "1"}
    bench.live.polls = polls
    fleet = [declare("a", {"color": "red"}), declare("b", {"color": "blue", "size": "large"})]
    first = run(bench.apply(fleet))
    assert {item.result for item in first.acted} == {ActionOutcome.DONE}
    written = len(bench.live.writes)
    again = run(bench.apply(fleet))
    assert again.acted == []
    assert {item.verdict.status for item in again.checked} == {Status.IN_SYNC}
    assert len(bench.live.writes) == written == 2


def test_an_unchanged_resource_is_not_even_parsed():
    bench = Bench(lists=False)
    fleet = [declare("a", {"color": "red"})]
    run(bench.apply(fleet))
    assert run(bench.check(fleet)).checked[0].is_fast


@pytest.mark.parametrize("state_hash", [True, False])
def test_with_or_without_the_state_hash_the_verdict_is_the_same(state_hash):
    bench = Bench(lists=False)
    fleet = [declare("a", {"color": "red"}, stateHash=state_hash)]
    run(bench.apply(fleet))
    (first,) = run(bench.check(fleet)).checked
    bench.live_thing("a")["color"] = "black"
    (second,) = run(bench.check(fleet)).checked
    assert (first.verdict.status, second.verdict.status) == (Status.IN_SYNC, Status.DRIFTED)


def test_a_list_call_serves_many_resources():
    bench = Bench()
    fleet = [declare(f"n{i}", {"i": i}) for i in range(20)]
    run(bench.apply(fleet))
    bench.live.calls.clear()
    report = run(bench.check(fleet))
    assert bench.live.calls == ["list Thing"]
    assert all(item.is_fast for item in report.checked)


def test_third_party_edits_are_found_explained_and_reverted():
    bench = Bench()
    bench.live.defaults = {"size": "small"}
    fleet = [declare("a", {"color": "red"})]
    run(bench.apply(fleet))
    bench.live_thing("a")["color"] = "black"
    bench.live_thing("a")["size"] = "huge"
    report = run(bench.apply(fleet))
    (acted,) = report.acted
    assert acted.checked.verdict.status is Status.DRIFTED
    assert {f.path for f in acted.checked.verdict.findings} == {("color",), ("size",)}
    assert bench.live_thing("a") == {"name": "a", "color": "red", "size": "small"}


def test_a_default_that_vanishes_is_reported_and_not_written():
    bench = Bench()
    bench.live.defaults = {"size": "small"}
    fleet = [declare("a", {"color": "red"})]
    run(bench.apply(fleet))
    del bench.live_thing("a")["size"]
    report = run(bench.apply(fleet))
    assert report.checked[0].verdict.status is Status.DRIFTED
    assert report.checked[0].decision.action is Action.REPORT
    assert [verb for verb, _, _ in bench.live.writes] == ["create"]


def test_an_edit_of_the_declaration_is_pending_then_applied():
    bench = Bench()
    run(bench.apply([declare("a", {"color": "red"})]))
    edited = [declare("a", {"color": "green"})]
    assert run(bench.check(edited)).checked[0].verdict.status is Status.PENDING
    run(bench.apply(edited))
    assert bench.live_thing("a")["color"] == "green"
    state = run(bench.store.state(A))
    assert (state.declared.generation, state.applied.revision) == (2, 2)


def test_a_write_that_does_not_take_is_unresolved_and_not_repeated():
    bench = Bench(patches=True)
    fleet = [declare("a", {"color": "red"})]
    run(bench.apply(fleet))
    bench.live_thing("a")["color"] = "black"

    def stubborn(_verb):
        bench.live_thing("a")["color"] = "black"

    bench.live.after_write = stubborn
    report = run(bench.apply(fleet))
    assert report.acted[0].unresolved == ("/color",)
    written = len(bench.live.writes)
    again = run(bench.apply(fleet))
    assert again.checked[0].verdict.status is Status.DRIFTED
    assert again.checked[0].decision.action is Action.REPORT
    assert len(bench.live.writes) == written


TROUBLES = [ReadFailure(trouble, "broken") for trouble in ReadError if trouble is not ReadError.WITHHELD]


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.trouble.value)
@pytest.mark.parametrize("lists", [False, True])
def test_what_cannot_be_read_is_unknown_and_nothing_is_written(trouble, lists):
    bench = Bench(lists=lists)
    fleet = [declare(f"n{i}", {"i": i}) for i in range(5)]
    run(bench.apply(fleet))
    written = len(bench.live.writes)
    bench.live.faults.append(lambda call: trouble if call.startswith(("read", "list")) else None)
    report = run(bench.apply(fleet))
    assert {item.verdict.status for item in report.checked} == {Status.UNKNOWN}
    assert report.acted == []
    assert len(bench.live.writes) == written
    bench.live.faults.clear()
    assert {item.verdict.status for item in run(bench.check(fleet)).checked} == {Status.IN_SYNC}


def test_an_empty_list_where_there_were_items_is_confirmed_one_by_one():
    bench = Bench()
    fleet = [declare(f"n{i}", {"i": i}) for i in range(5)]
    run(bench.apply(fleet))
    kept = dict(bench.live.things)
    bench.live.things.clear()
    bench.live.faults.append(lambda call: bench.live.things.update(kept) if call.startswith("read") else None)
    assert {item.verdict.status for item in run(bench.check(fleet)).checked} == {Status.IN_SYNC}


def test_a_passing_trouble_is_retried_within_the_run():
    bench = Bench()
    bench.live.faults.append(once("read *", UNREACHABLE))
    report = run(bench.apply([declare("a", {"color": "red"})]))
    assert report.acted[0].result is ActionOutcome.DONE
    assert bench.clock.slept > 0


def test_however_many_ask_at_once_a_connection_is_opened_once():
    bench = Bench()
    opened = []

    class Counting(MemoryProvider):
        def writer(self, connection):
            opened.append(connection.name)
            return super().writer(connection)

    async def ask():
        world = bench.world()
        world.providers = {"memory": Counting(bench.live)}
        async with world:
            await asyncio.gather(*(world.writer("mem") for _ in range(10)))

    run(ask())
    assert opened == ["mem"]


def test_throttling_slows_the_whole_connection():
    bench = Bench(lists=False)
    bench.live.faults.append(once("read Thing/a", ReadFailure(ReadError.THROTTLED, "slow down", 30.0)))
    run(bench.apply([declare("a", {"x": 1}), declare("b", {"x": 1})]))
    assert bench.clock.slept >= 30.0


def test_external_deletion_is_recreated_where_resync_is_on_and_stops_where_it_is_off():
    cases: list[tuple[dict[str, Json], str]] = [
        ({"resyncPeriod": "1h"}, "recreated"),
        ({}, "recreated"),
        ({"resyncPeriod": "0"}, "stopped"),
    ]
    for options, result in cases:
        bench = Bench()
        fleet = [replace(declare("a", {"color": "red"}), options=options)]
        run(bench.apply(fleet))
        old = run(bench.store.state(A)).observed.provider_id
        bench.live.things.clear()
        report = run(bench.apply(fleet))
        if result == "recreated":
            assert report.acted[0].result is ActionOutcome.DONE
            assert run(bench.store.state(A)).observed.provider_id != old
        else:
            assert report.checked[0].decision.action is Action.BLOCK
            assert run(bench.store.state(A)).schedule.terminal is not None
            assert bench.live.things == {}
            assert run(bench.apply(fleet, reconsider=finding_actions.recreated)).acted[0].result is ActionOutcome.DONE


def test_to_set_what_a_block_says_is_enough_to_lift_it():
    bench = Bench()
    off = declare("a", {"color": "red"}, resyncPeriod="0")
    run(bench.apply([off]))
    bench.live.things.clear()
    for _ in range(2):
        assert run(bench.apply([off])).checked[0].decision.action is Action.BLOCK
    on = replace(off, options={"resyncPeriod": "1h"})
    assert run(bench.apply([on])).acted[0].result is ActionOutcome.DONE


def test_dependents_are_linked_to_the_new_id_after_a_recreation():
    bench = Bench()
    fleet = [
        declare("net", {"cidr": "10.0.0.0/8"}, resyncPeriod="1h"),
        declare("port", {"network": "${Thing/net.id}"}, resyncPeriod="1h"),
    ]
    run(bench.apply(fleet))
    assert bench.live_thing("port")["network"] == bench.live.find("Thing", "net")
    del bench.live.things["Thing", bench.id_of("net")]
    run(bench.apply(fleet))
    assert bench.live_thing("port")["network"] == bench.live.find("Thing", "net") != "id-1"
    assert run(bench.apply(fleet)).acted == []


def test_imported_by_id_or_filter_and_its_deletion_is_terminal():
    bench = Bench()
    bench.live.things["Thing", "x1"] = {"name": "old", "color": "red"}
    fleet = [declare("a", {"color": "red"}, import_from=Import(filter={"color": "red"}), resyncPeriod="1h")]
    run(bench.apply(fleet))
    state = run(bench.store.state(A))
    assert (state.observed.provider_id, state.applied.origin) == ("x1", Origin.IMPORTED)
    assert bench.live.writes == []
    bench.live.things.clear()
    report = run(bench.apply(fleet))
    assert report.checked[0].decision.action is Action.BLOCK
    assert bench.live.writes == []


def test_an_import_filter_must_match_exactly_one():
    bench = Bench()
    fleet = [declare("a", {"color": "red"}, import_from=Import(filter={"color": "red"}))]
    assert "nothing to import" in run(bench.apply(fleet)).waiting[0].reason
    bench.live.things.update(
        {("Thing", "x"): {"name": "x", "color": "red"}, ("Thing", "y"): {"name": "y", "color": "red"}}
    )
    waiting = run(bench.apply(fleet)).waiting[0]
    assert waiting.is_error
    assert "2 things match" in waiting.reason


def test_observed_resources_are_compared_and_never_written():
    bench = Bench()
    bench.live.things["Thing", "x"] = {"name": "a", "color": "black"}
    report = run(bench.apply([declare("a", {"color": "red"}, policy=ManagementPolicy.OBSERVED)]))
    assert report.checked[0].verdict.status is Status.DRIFTED
    assert report.checked[0].decision.action is Action.REPORT
    assert bench.live.writes == []


@pytest.mark.parametrize("when", ["edit", "delete", "unreadable"])
def test_the_guard_aborts_when_the_world_moves_between_plan_and_write(when):
    bench = Bench(lists=False)
    fleet = [declare("a", {"color": "red"})]
    run(bench.apply(fleet))
    bench.live_thing("a")["color"] = "black"
    reads = []

    def meddle(call):
        if not call.startswith("read"):
            return None
        reads.append(call)
        if len(reads) == 2:  # the guard's own look
            if when == "edit":
                bench.live_thing("a")["color"] = "white"
            elif when == "delete":
                bench.live.things.clear()
        if len(reads) >= 2 and when == "unreadable":
            return ReadFailure(ReadError.UNAUTHORISED)
        return None

    bench.live.faults.append(meddle)
    written = len(bench.live.writes)
    report = run(bench.apply(fleet))
    assert report.acted[0].result is ActionOutcome.MOVED
    assert len(bench.live.writes) == written


def test_a_terminal_refusal_stops_until_the_user_edits():
    bench = Bench()
    bench.live.faults.append(once("create *", WriteFailure(WriteError.TERMINAL, "no such colour")))
    fleet = [declare("a", {"color": "octarine"})]
    assert run(bench.apply(fleet)).acted[0].result is ActionOutcome.TERMINAL
    assert run(bench.apply(fleet)).acted == []
    assert run(bench.apply([declare("a", {"color": "red"})])).acted[0].result is ActionOutcome.DONE


def test_what_depends_on_a_failure_is_not_touched():
    bench = Bench()
    bench.live.faults.append(
        lambda call: WriteFailure(WriteError.TERMINAL, "no") if call == "create Thing/net" else None
    )
    fleet = [declare("net", {"x": 1}), declare("port", {"network": "${Thing/net.id}"})]
    report = run(bench.apply(fleet))
    assert [item.declaration.address.name for item in report.waiting] == ["port"]
    assert bench.live_thing("port") is None


def test_deletion_goes_in_reverse_order_and_detach_leaves_the_live_thing():
    bench = Bench()
    fleet = [declare("net", {"x": 1}, onDelete="detach"), declare("port", {"network": "${Thing/net.id}"})]
    run(bench.apply(fleet))
    run(bench.delete(fleet))
    assert [verb for verb, _, _ in bench.live.writes] == ["create", "create", "delete"]
    assert bench.live_thing("net") is not None
    assert bench.live_thing("port") is None
    assert run(bench.store.state(A)) is None


def test_every_kept_decision_replays_to_the_same_bytes():
    bench = Bench()
    fleet = [declare("a", {"color": "red"}), declare("b", {"color": "blue"})]
    run(bench.apply(fleet))
    bench.live_thing("a")["color"] = "black"
    run(bench.check(fleet))
    run(bench.apply([declare("a", {"color": "green"}), fleet[1]]))

    async def replay_all():
        records = await bench.store.decisions(None, 100)
        assert len(records) >= 4
        for record in records:
            stored, recomputed = await serialize.replay(bench.store, record)
            assert stored == recomputed
        assert await bench.store.verify_chain() > 0

    run(replay_all())


def test_conditions_say_how_it_stands_and_keep_their_transition_time():
    bench = Bench()
    fleet = [declare("a", {"color": "red"})]
    run(bench.apply(fleet))
    bench.live_thing("a")["color"] = "black"
    run(bench.check(fleet))
    first = {c.type: c for c in run(bench.store.state(A)).observed.conditions}
    assert first[ConditionType.DRIFTED].status is Truth.TRUE
    bench.clock.advance(60)
    run(bench.check(fleet))
    second = {c.type: c for c in run(bench.store.state(A)).observed.conditions}
    assert second[ConditionType.DRIFTED].last_transition == first[ConditionType.DRIFTED].last_transition


def test_due_times_are_stored_with_jitter_and_off_means_none():
    bench = Bench()
    run(bench.apply([declare("a", {"x": 1}, resyncPeriod="1h"), declare("b", {"x": 1})]))
    state = run(bench.store.state(A))
    assert 3240 <= state.schedule.due_at - state.schedule.checked_at <= 3960
    assert run(bench.store.state(replace(A, name="b"))).schedule.due_at is None
