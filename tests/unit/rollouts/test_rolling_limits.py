"""Limits beyond one rollout: by zone, over all templates and processes, and what stops a pass in its middle."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from holdfast.model.write_result import WriteError, WriteFailure
from holdfast.policy.budgets import Percent
from holdfast.policy.windows import Mode as WindowMode
from holdfast.policy.windows import Window
from holdfast.reconcile.connections import WritableConnections
from holdfast.reconcile.rate_limit import RateLimits as CallLimits
from holdfast.rollouts import render as rollout_text
from holdfast.rollouts.controller import IN_HAND
from holdfast.rollouts.core import group_rollouts, rollout_steps
from holdfast.rollouts.core.records import RolloutPhase
from holdfast.rollouts.core.requirements import Asks, Predicate, RequirementDebounce, Supply
from holdfast.rollouts.core.rollout_limits import HaltRules, RolloutLimits, Waves
from holdfast.rollouts.core.templates import FieldClasses, Method, RolloutMode
from holdfast.store.governance import Pause
from holdfast.store.transaction import GovernanceChanges, Transaction
from tests.unit.reconcile.fixtures import declare
from tests.unit.rollouts.group_fixtures import Nursery, template

Result = TypeVar("Result")
WIDE = RolloutLimits(
    max_surge=100, max_unavailable=100, waves=Waves(canary=0, is_doubling=False), halt=HaltRules(after=None)
)


@pytest.fixture
def nursery() -> Nursery:
    return Nursery()


def rolled(nursery: Nursery, *templates, at_once=None):
    async def run():
        async with nursery.world() as world:
            roller = nursery.roller(world, templates)
            roller.at_once = at_once
            return (await roller.run()).groups

    return asyncio.run(run())


def at_work(nursery: Nursery) -> dict[str, int]:
    """Return how many slots of each template have two children."""
    slots = Counter(name.partition("-r")[0] for name in nursery.names())
    return dict(Counter(slot.rpartition("-")[0] for slot, number in slots.items() if number > 1))


class Killed(BaseException):
    """The process is gone."""


class Watch:
    """Keeps the most that was seen after any write."""

    def __init__(self, nursery: Nursery, measure: Callable[[], int]) -> None:
        self.most = 0
        self.measure = measure
        nursery.live.after_write = self.note

    def note(self, _verb: str) -> None:
        self.most = max(self.most, self.measure())


# --- zones ------------------------------------------------------------------------------------------------------------


def zones_at_work(nursery: Nursery) -> Counter[str]:
    slots: dict[str, list[dict]] = {}
    for body in nursery.live.things.values():
        slots.setdefault(str(body["name"]).partition("-r")[0], []).append(body)
    return Counter(str(slot[0]["zone"]) for slot in slots.values() if len(slot) > 1)


@pytest.mark.parametrize("amount, most", [(1, 1), (2, 2), (Percent(50), 1), (Percent(100), 3), (Percent(1), 1)])
def test_so_many_slots_of_a_zone_are_at_work_at_once(nursery, amount, most):
    limits = RolloutLimits(max_surge=100, per_zone=amount, waves=Waves(canary=0, is_doubling=False))
    rolled(nursery, template({"zone": "$(zone)", "level": 1}, 6, zones=("a", "b"), limits=limits))
    watch = Watch(nursery, lambda: max(zones_at_work(nursery).values(), default=0))
    (group,) = rolled(nursery, template({"zone": "$(zone)", "level": 2}, 6, zones=("a", "b"), limits=limits))
    assert set(nursery.values("level").values()) == {2}
    assert watch.most == most
    assert group.rollout is not None
    assert group.rollout.rollout.phase is RolloutPhase.COMPLETE


def test_a_zone_of_one_slot_is_rolled_by_a_share_too(nursery):
    limits = RolloutLimits(max_surge=100, per_zone=Percent(10), waves=Waves(canary=0))
    rolled(nursery, template({"level": 1}, 2, zones=("a", "b"), limits=limits))
    rolled(nursery, template({"level": 2}, 2, zones=("a", "b"), limits=limits))
    assert set(nursery.values("level").values()) == {2}


def test_a_slot_that_serves_nobody_uses_up_its_zone_and_no_other(nursery):
    limits = RolloutLimits(max_surge=100, per_zone=1, waves=Waves(canary=0, is_doubling=False, soak=10.0))
    rolled(nursery, template({"level": 1}, 4, zones=("a", "b"), limits=limits))
    del nursery.live.things["Thing", nursery.id_of("web-0")]
    wanted = template({"level": 2}, 4, zones=("a", "b"), limits=limits, holds={"web-0": 1e9})
    asyncio.run(nursery.check_children(wanted))
    rolled(nursery, wanted)
    assert nursery.values("level") == {"web-2": 1, "web-1-r1": 2, "web-3-r1": 2}


# --- over all templates -----------------------------------------------------------------------------------------------


def pair(level: int, **more):
    limits = more.pop("limits", WIDE)
    return [template({"level": level, **more.get(name, {})}, 6, name=name, limits=limits) for name in ("api", "web")]


@pytest.mark.parametrize("at_once, most", [(3, 3), (Percent(25), 3), (Percent(1), 1), (100, 6)])
def test_so_many_slots_of_all_templates_are_at_work_at_once(nursery, at_once, most):
    rolled(nursery, *pair(1), at_once=at_once)
    watch = Watch(nursery, lambda: sum(at_work(nursery).values()))
    rolled(nursery, *pair(2), at_once=at_once)
    assert watch.most == most
    assert set(nursery.values("level").values()) == {2}


def test_two_processes_never_have_more_at_work_together(nursery):
    rolled(nursery, *pair(1), at_once=3)
    other = Nursery(nursery.live, nursery.store, nursery.clock, seed=7, owner="two")
    watch = Watch(nursery, lambda: sum(at_work(nursery).values()))

    async def one(bench: Nursery, templates) -> None:
        async with bench.world() as world:
            roller = bench.roller(world, templates)
            roller.at_once = 3
            for _ in range(20):
                await roller.run()

    async def both() -> None:
        api, web = pair(2)
        await asyncio.gather(one(nursery, [api]), one(other, [web]))

    asyncio.run(both())
    assert watch.most == 3
    rolled(nursery, *pair(2), at_once=3)
    assert set(nursery.values("level").values()) == {2}


def test_two_processes_with_the_same_template_never_have_more_at_work(nursery):
    rolled(nursery, *pair(1), at_once=2)
    other = Nursery(nursery.live, nursery.store, nursery.clock, seed=7, owner="two")
    watch = Watch(nursery, lambda: sum(at_work(nursery).values()))

    async def one(bench: Nursery) -> None:
        async with bench.world() as world:
            roller = bench.roller(world, pair(2))
            roller.at_once = 2
            for _ in range(5):
                await roller.run()

    async def both() -> None:
        await asyncio.gather(one(nursery), one(other))

    asyncio.run(both())
    assert watch.most <= 2
    nursery.clock.advance(3600)
    rolled(nursery, *pair(2), at_once=2)
    assert set(nursery.values("level").values()) == {2}


def test_turns_that_a_killed_process_had_are_found_and_given_back(nursery):
    rolled(nursery, *pair(1), at_once=2)
    stopping = [3]

    def kill(_verb: str) -> None:
        stopping[0] -= 1
        if not stopping[0]:
            raise Killed

    nursery.live.after_write = kill
    with pytest.raises((Killed, BaseExceptionGroup)):
        rolled(nursery, *pair(2), at_once=2)
    again = Nursery(nursery.live, nursery.store, nursery.clock, seed=7, owner="two")
    again.clock.advance(3600)
    watch = Watch(again, lambda: sum(at_work(again).values()))
    rolled(again, *pair(2), at_once=2)
    assert set(again.values("level").values()) == {2}
    assert watch.most <= 2
    kept = asyncio.run(again.store.record("rollout-turns", "all"))
    assert kept is not None
    assert {name: item[0] for name, item in kept.data.items()} == {"api": 0, "web": 0}


@pytest.mark.parametrize("method", [Method.REPLACE_BEFORE_REMOVE, Method.REMOVE_FIRST])
def test_a_bad_template_gives_its_turns_to_others_while_it_waits_to_try_again(nursery, method):
    def of(level: int):
        made = {"limits": WIDE, "method": method}
        return [template({"level": level}, 4, name=name, **made) for name in ("api", "web")]

    rolled(nursery, *of(1), at_once=1)
    api, _ = of(2)
    refused = [True]
    nursery.live.faults.append(
        lambda call: (
            WriteFailure(WriteError.TERMINAL, "no") if refused[0] and call.startswith("create Thing/api") else None
        )
    )
    rolled(nursery, api, at_once=1)  # its findings are the older ones
    (group, _) = rolled(nursery, *of(2), at_once=1)
    assert {value for name, value in nursery.values("level").items() if name.startswith("web")} == {2}
    assert group.rollout is not None
    assert group.rollout.rollout.failed >= 4
    refused[0] = False
    nursery.clock.advance(3600)
    rolled(nursery, *of(2), at_once=1)
    assert set(nursery.values("level").values()) == {2}


def test_the_oldest_finding_goes_first(nursery):
    rolled(nursery, *pair(1), at_once=1)
    slow = RolloutLimits(max_surge=100, windows=(Window(WindowMode.FREEZE),), waves=Waves(canary=0, is_doubling=False))
    api, web = pair(2)
    rolled(nursery, pair(1)[0], template({"level": 2}, 6, name="web", limits=slow), at_once=1)
    nursery.clock.advance(60)
    order: list[str] = []
    nursery.live.after_write = lambda _verb: order.extend(at_work(nursery))
    rolled(nursery, api, web, at_once=1)
    assert order.index("web") < order.index("api")


# --- what stops a pass in its middle ----------------------------------------------------------------------------------


def stopped(nursery: Nursery, stop: Callable[[], None]) -> None:
    done: list[bool] = []

    def once(_verb: str) -> None:
        if not done:
            done.append(True)
            stop()

    nursery.live.after_write = once


def now(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end inside of a running loop, on a loop of its own."""
    running = asyncio.get_running_loop()
    events = asyncio.events
    events._set_running_loop(None)
    try:
        with contextlib.closing(asyncio.new_event_loop()) as loop:
            return loop.run_until_complete(coroutine)
    finally:
        events._set_running_loop(running)


def pause(nursery: Nursery) -> None:
    now(
        nursery.store.commit(
            Transaction(governance=GovernanceChanges(pauses=[Pause("", "ada", "enough", nursery.clock.now())]))
        )
    )


@pytest.mark.parametrize(
    "method, kept, left",
    [
        (Method.REPLACE_BEFORE_REMOVE, {"web-0": 1, "web-1": 1, "web-2": 1, "web-3": 1}, {"ready": 5}),
        (Method.REMOVE_FIRST, {"web-1": 1, "web-2": 1, "web-3": 1}, {"ready": 3, "empty": 1}),
        (Method.REWRITE, {"web-0": 2, "web-1": 1, "web-2": 1, "web-3": 1}, {"ready": 4}),
    ],
)
def test_a_pause_that_is_set_by_the_first_write_of_a_pass_stops_the_next_child(nursery, method, kept, left):
    one = one_by_one(nursery)
    rolled(one, template({"level": 1}, 4, method=method, limits=WIDE))
    stopped(one, lambda: pause(one))
    (group,) = rolled(one, template({"level": 2}, 4, method=method, limits=WIDE))
    assert {name: value for name, value in one.values("level").items() if "-r" not in name} == kept
    assert len(one.live.writes) == 4 + 1
    states = Counter(child.state.value for child in group.children.values())
    assert states == left, "no intent is left behind"
    asyncio.run(one.store.commit(Transaction(governance=GovernanceChanges(resumed=[""]))))
    rolled(one, template({"level": 2}, 4, method=method, limits=WIDE))
    assert set(one.values("level").values()) == {2}
    assert len(one.values("level")) == 4


def one_by_one(nursery: Nursery) -> Nursery:
    """Return a bench whose connection lets one call through at a time."""

    def world() -> WritableConnections:
        connections = {nursery.connection.name: nursery.connection}
        providers = {nursery.connection.provider: nursery.provider()}
        return WritableConnections(connections, providers, {"mem": CallLimits(concurrency=1)}, nursery.clock)

    nursery.world = world  # type: ignore[method-assign]
    return nursery


@pytest.mark.parametrize("method", list(Method))
def test_somebody_who_pauses_the_rollout_in_the_middle_of_a_pass_is_heard_before_the_next_child(nursery, method):
    bench = one_by_one(nursery)
    rolled(bench, template({"level": 1}, 20, method=method, limits=WIDE))
    writes = len(bench.live.writes)
    wanted = template({"level": 2}, 20, method=method, limits=WIDE)

    found_at = bench.clock.now()

    async def say() -> None:
        bench.clock.advance(5)
        await bench.turn(wanted, lambda group, _now, _who: (_paused(group), ""))

    stopped(bench, lambda: now(say()))
    (group,) = rolled(bench, wanted)
    assert group.rollout is not None
    assert group.rollout.rollout.phase is RolloutPhase.PAUSED
    assert len(bench.live.writes) - writes <= 4, "what was begun is finished, and nothing else is begun"
    assert {item.state.value for item in group.children.values()} == {"ready"}, "no intent is left behind"
    ages = {finding.first_seen for child in group.children.values() for finding in child.findings}
    assert ages == {found_at}, "a finding keeps its age"
    asyncio.run(bench.turn(wanted, group_rollouts.resumed))
    rolled(bench, wanted)
    assert set(bench.values("level").values()) == {2}


def test_after_a_stop_no_more_are_sent_than_were_being_sent(nursery):
    rolled(nursery, template({"level": 1}, 100, limits=WIDE))
    writes = len(nursery.live.writes)
    wanted = template({"level": 2}, 100, limits=WIDE)

    async def say() -> None:
        await nursery.turn(wanted, lambda group, _now, _who: (_paused(group), ""))

    stopped(nursery, lambda: now(say()))
    (group,) = rolled(nursery, wanted)
    made = Counter(verb for verb, _, _ in nursery.live.writes[writes:])
    assert made["create"] <= IN_HAND + 1
    assert made["create"] == made["delete"], "what was begun is finished"
    assert {child.state.value for child in group.children.values()} == {"ready"}


def _paused(group):
    return replace(group.rollout, rollout=rollout_steps.pause(group.rollout.rollout, "paused by ada"))


def test_a_window_that_closes_in_the_middle_of_a_pass_stops_the_next_child(nursery):
    bench = one_by_one(nursery)
    now_ = bench.clock.now()
    window = Window(WindowMode.ALLOW, start=now_ - 60, end=now_ + 60)
    limits = RolloutLimits(max_surge=100, windows=(window,), waves=Waves(canary=0, is_doubling=False))
    rolled(bench, template({"level": 1}, 20, limits=limits))
    writes = len(bench.live.writes)
    stopped(bench, lambda: bench.clock.advance(120))
    (group,) = rolled(bench, template({"level": 2}, 20, limits=limits))
    assert len(bench.live.writes) - writes == 2, "one was made, and replaced the old one"
    assert {child.state.value for child in group.children.values()} == {"ready"}


# --- debounce ---------------------------------------------------------------------------------------------------------


def broken_zone(nursery: Nursery, zone: str) -> None:
    nursery.live.things["Thing", nursery.id_of("web-0")]["zone"] = zone


def looked(nursery: Nursery, wanted, after: float = 60.0):
    nursery.clock.advance(after)
    asyncio.run(nursery.check_children(wanted))
    (group,) = rolled(nursery, wanted)
    return group


def debounced(**debounce):
    rule = Predicate("ZoneGone", ("zone",), Asks.IN, ("a", "b"), debounce=RequirementDebounce(**debounce))
    return template({"zone": "a"}, 1, requirements=(rule,), limits=WIDE)


def test_a_broken_predicate_is_told_at_once_and_acts_when_it_was_seen_often_enough(nursery):
    wanted = debounced(checks=3)
    rolled(nursery, wanted)
    broken_zone(nursery, "c")
    for times in (1, 2):
        group = looked(nursery, wanted)
        ((finding,),) = [child.findings for child in group.children.values()]
        assert (finding.reason, finding.times, group.rollout) == ("ZoneGone", times, None)
    looked(nursery, wanted)
    assert nursery.names() == ["web-0-r1"]


def test_the_same_evidence_looked_at_again_is_not_seen_again(nursery):
    wanted = debounced(checks=2)
    rolled(nursery, wanted)
    broken_zone(nursery, "c")
    group = looked(nursery, wanted)
    for _ in range(5):
        nursery.clock.advance(600)
        (group,) = rolled(nursery, wanted)
    assert group.rollout is None
    looked(nursery, wanted)
    assert nursery.names() == ["web-0-r1"]


def test_one_that_holds_again_meanwhile_begins_anew(nursery):
    wanted = debounced(checks=2)
    (group,) = rolled(nursery, wanted)
    for zone in ("c", "b", "c"):
        broken_zone(nursery, zone)
        group = looked(nursery, wanted)
    assert group.rollout is None


def test_it_has_to_last_from_one_look_to_another_and_not_only_by_the_clock(nursery):
    wanted = debounced(seconds=600.0)
    rolled(nursery, wanted)
    broken_zone(nursery, "c")
    looked(nursery, wanted)
    nursery.clock.advance(3600)
    (group,) = rolled(nursery, wanted)
    assert group.rollout is None, "nobody has looked since"
    looked(nursery, wanted)
    assert nursery.names() == ["web-0-r1"]


def test_of_offers_the_evidence_is_what_shows_them(nursery):
    catalogue = declare("catalogue", {"offers": ["small"]})
    nursery.declared = [catalogue]
    offer = Supply(catalogue.address, ("offers",))
    rule = Predicate("Gone", ("type",), Asks.OFFERED, (), offer, RequirementDebounce(2))
    wanted = template({"type": "large"}, 1, requirements=(rule,), limits=WIDE)
    asyncio.run(nursery.apply([catalogue]))
    rolled(nursery, wanted)
    (group,) = rolled(nursery, wanted)
    for _ in range(3):
        group = looked(nursery, wanted)
    assert group.rollout is None, "the child was looked at, and the offers were not"
    asyncio.run(nursery.check([catalogue]))
    looked(nursery, wanted)
    assert nursery.names() == ["catalogue", "web-0-r1"]


# --- modes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode, is_counted", [(RolloutMode.OBSERVE, False), (RolloutMode.NOTIFY, True)])
def test_findings_are_kept_without_a_rollout_and_counted_only_where_somebody_is_to_be_told(nursery, mode, is_counted):
    rolled(nursery, template({"level": 1}, mode=mode))
    (group,) = rolled(nursery, template({"level": 2}, mode=mode))
    assert group.rollout is None
    assert set(nursery.values("level").values()) == {1}
    assert {finding.kind.value for child in group.children.values() for finding in child.findings} == {"spec"}
    assert rollout_text.is_acting(group) is is_counted
    assert rollout_text.is_news(group)
    assert rollout_text.as_json(group, 0.0)["mode"] == mode.value
    rolled(nursery, template({"level": 2}))
    assert set(nursery.values("level").values()) == {2}


def test_what_is_rewritten_takes_a_turn_and_a_place_in_its_zone(nursery):
    fields = FieldClasses(rewritten=frozenset({("image",)}))
    limits = RolloutLimits(max_unavailable=100, per_zone=1, waves=Waves(canary=0, is_doubling=False))

    def of(image: int):
        return template({"image": image, "zone": "$(zone)"}, 6, zones=("a", "b", "c"), fields=fields, limits=limits)

    rolled(nursery, of(1), at_once=2)
    events: list[int] = []

    async def creating() -> int:
        kept = [record async for record in nursery.store.records("template-child")]
        return sum(item.data["state"] == "creating" for item in kept)

    def note(_verb: str) -> None:
        events.append(now(creating()))

    nursery.live.after_write = note
    rolled(nursery, of(2), at_once=2)
    assert set(nursery.values("image").values()) == {2}
    assert max(events) == 2
