"""A rollout stays within its limits in every state, stops when told, and goes on exactly where it was."""

from __future__ import annotations

import math
import pickle
import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.policy.budgets import Percent
from holdfast.policy.windows import Mode, Window
from holdfast.rollouts.core import records, rollout_limits, rollout_steps, scheduler
from holdfast.rollouts.core.records import (
    CreateChild,
    RemoveChild,
    RolloutPhase,
    RolloutTarget,
    SaveRollout,
    SlotFailures,
)
from holdfast.rollouts.core.rollout_limits import HaltRules, Health, OnHalt, Order, RolloutLimits, Waves
from holdfast.rollouts.core.slots import Child, ChildState, fleet_of

OLD, NEW = RolloutTarget(1, frozenset({1})), RolloutTarget(2, frozenset({2}))
CREATING_TAKES, REMOVING_TAKES = 60.0, 20.0


class World:
    """Children on a virtual clock, and the saved rollout; every step may be made twice."""

    def __init__(self, children, limits, fails=lambda step: False, rollout=None):
        self.children = {child.name: child for child in children}
        self.limits = limits
        self.fails = fails
        self.rollout = rollout or rollout_steps.start("r1", NEW, OLD, 0.0)
        self.now = 0.0
        self.events: dict[str, float] = {}
        self.outcome: dict[str, ChildState] = {}
        self.made: set[str] = set()
        self.before: dict[str, Child] = {}  # what rewritten ones were, should that fail
        self.created: list[CreateChild] = []
        self.names: dict[str, list[str]] = {child.slot: [child.name] for child in children}
        self.size = len({child.slot for child in children})

    def steps(self):
        return rollout_steps.next_steps(self.rollout, self.children.values(), self.limits, self.now)

    def slot(self, name):
        return [self.children[item] for item in self.names[name] if item in self.children]

    def apply(self, step):
        match step:
            case SaveRollout(expected, rollout):
                if self.rollout.version == expected:
                    self.rollout = rollout
            case CreateChild():
                self.create(step)
            case RemoveChild(_, _, name, _):
                if name in self.children and self.children[name].state is not ChildState.REMOVING:
                    self.children[name] = replace(self.children[name], state=ChildState.REMOVING)
                    self.events[name] = self.now + REMOVING_TAKES
            case _:
                raise AssertionError(step)

    def create(self, step):
        if step.key in self.made:
            return
        self.made.add(step.key)
        self.created.append(step)
        if step.child:
            self.rewrite(step)
            return
        zone = next((child.topology for child in self.slot(step.slot)), step.slot[-1])
        for place in [child for child in self.slot(step.slot) if child.state is ChildState.EMPTY]:
            del self.children[place.name]
        self.children[step.key] = Child(
            step.slot, step.key, step.revision, ChildState.CREATING, made_by=step.made_by, attempt=step.attempt,
            reason=step.reason, topology=zone,
        )  # fmt: skip
        self.names[step.slot].append(step.key)
        self.outcome[step.key] = ChildState.FAILED if self.fails(step) else ChildState.READY
        self.events[step.key] = self.now + CREATING_TAKES

    def rewrite(self, step):
        old = self.children[step.child]
        assert old.state in {ChildState.READY, ChildState.UNHEALTHY}, "only what is there can be rewritten"
        self.before[step.child] = old
        made = {"made_by": step.made_by, "attempt": step.attempt, "reason": step.reason, "is_rewritten": False}
        self.children[step.child] = replace(old, revision=step.revision, state=ChildState.CREATING, **made)
        self.outcome[step.child] = ChildState.FAILED if self.fails(step) else ChildState.READY
        self.events[step.child] = self.now + CREATING_TAKES

    def tick(self, seconds=None):
        """Let the clock go on: to the next event, or for so long."""
        due = min(self.events.values(), default=self.now + 60.0)
        self.now = due if seconds is None else self.now + seconds
        for name in [name for name, at in self.events.items() if at <= self.now]:
            del self.events[name]
            self.happen(name)

    def happen(self, name):
        child = self.children[name]
        if child.state is ChildState.REMOVING and name in self.before:
            self.children[name] = replace(self.before.pop(name), state=ChildState.READY, made_by="", attempt=0)
        elif child.state is ChildState.REMOVING:
            del self.children[name]
            if not self.slot(child.slot):
                self.names[child.slot].append(f"{name}!")
                self.children[f"{name}!"] = replace(child, name=f"{name}!", state=ChildState.EMPTY)
        else:
            self.children[name] = replace(child, state=self.outcome[name], ready_since=self.now)
            if self.outcome[name] is ChildState.READY:
                self.before.pop(name, None)

    def run(self, passes=2000, until=records.OVER):
        for _ in range(passes):
            for step in self.steps():
                self.apply(step)
            if self.rollout.phase in until:
                return self
            self.tick()
        raise AssertionError(f"not over: {self.rollout.phase} {self.rollout.why}")

    # --- what must hold ---

    def check(self):
        fleet = fleet_of(self.children.values())
        assert fleet.surge <= rollout_limits.resolve(self.limits.max_surge, self.size)
        busy = Counter(slot.children[0].reason for slot in records.at_work(self.rollout, fleet))
        for reason, used in busy.items():
            assert used <= rollout_limits.budget(self.limits, reason, self.size)
        if self.limits.turns is not None:
            assert len(scheduler.working(self.rollout, fleet)) <= self.limits.turns
        if self.limits.per_zone is not None:
            sizes = Counter(slot.children[0].topology for slot in fleet.slots)
            taken = Counter(slot.children[0].topology for slot in records.at_work(self.rollout, fleet))
            for zone, size in sizes.items():
                assert taken[zone] <= rollout_limits.resolve_part(self.limits.per_zone, size)
        return fleet

    def checked(self, step):
        """Apply a step; one that takes the last ready child of a slot has to fit into what may be unavailable."""
        before = fleet_of(self.children.values()).unavailable
        self.apply(step)
        after = self.check().unavailable
        assert after <= before or after <= rollout_limits.resolve(self.limits.max_unavailable, self.size)

    def is_exact(self, target):
        slots = fleet_of(self.children.values()).slots
        return len(slots) == self.size and all(
            len(slot.children) == 1 and slot.is_available and slot.children[0].revision in target.accepts
            for slot in slots
        )


def fleet(size, **more):
    return [Child(f"s{number:05}", f"s{number:05}", 1, **more) for number in range(size)]


SIMPLE = RolloutLimits(
    max_unavailable=2, max_surge=2, waves=Waves(canary=0, is_doubling=False), halt=HaltRules(after=None)
)


def creates(steps):
    return [step.slot for step in steps if isinstance(step, CreateChild)]


@pytest.mark.parametrize(
    "amount, size, expected",
    [
        (Percent(10), 0, 0), (Percent(10), 1, 0), (Percent(99), 1, 0), (Percent(100), 1, 1), (Percent(10), 2, 1),
        (Percent(10), 19, 1), (Percent(99), 2, 1), (Percent(29), 100, 29), (Percent(0), 50, 0), (3, 2, 3), (0, 9, 0),
        (-1, 9, 0), (Percent(5), 10_000, 500),
    ],
)  # fmt: skip
def test_a_share_is_rounded_down_to_at_least_one_of_two_or_more(amount, size, expected):
    assert rollout_limits.resolve(amount, size) == expected


@pytest.mark.parametrize(
    "amount, size, expected", [(Percent(10), 1, 1), (Percent(99), 2, 1), (2, 1, 2), (Percent(50), 7, 3)]
)
def test_a_share_of_a_zone_is_at_least_one(amount, size, expected):
    assert rollout_limits.resolve_part(amount, size) == expected


@given(st.integers(1, 1000), st.floats(0, 99.999))
def test_rounding_never_makes_a_share_the_whole_fleet(size, percent):
    assert rollout_limits.resolve(Percent(percent), size) < size


def test_a_fleet_goes_through_canary_and_waves_of_1_2_4_to_complete():
    world = World(fleet(20), replace(SIMPLE, max_surge=20, waves=replace(SIMPLE.waves, canary=2, is_doubling=True)))
    sizes, seen = [], []
    while world.rollout.phase not in records.OVER:
        steps = world.steps()
        sizes += [len(creates(steps))] if creates(steps) else []
        for step in steps:
            world.apply(step)
        seen += [world.rollout.phase] if world.rollout.phase not in seen else []
        world.tick()
    assert sizes == [2, 1, 2, 4, 8, 3]
    assert seen == [RolloutPhase.CANARY, RolloutPhase.PROGRESSING, RolloutPhase.COMPLETE]
    assert world.is_exact(NEW)


def test_named_canaries_go_first():
    world = World(fleet(5), replace(SIMPLE, waves=replace(SIMPLE.waves, canary_slots=frozenset({"s00003"}))))
    assert creates(world.steps()) == ["s00003"]


@pytest.mark.parametrize("order", Order)
def test_either_order_replaces_every_child_once(order):
    world = World(fleet(9), replace(SIMPLE, order=order)).run()
    assert world.is_exact(NEW)
    assert len(world.created) == 9
    assert world.steps() == []


def test_a_child_that_equals_the_target_is_not_replaced_and_one_without_a_finding_neither():
    children = [Child("a", "a", 2), Child("b", "b", 1, is_exempt=True), Child("c", "c", 1), Child("d", "d", 3)]
    world = World(
        children, SIMPLE, rollout=rollout_steps.start("r1", RolloutTarget(2, frozenset({2, 3})), OLD, 0.0)
    ).run()
    assert [step.slot for step in world.created] == ["c"]


def test_idle_first_then_spread_over_zones_then_the_oldest_finding():
    children = [
        Child("a", "a", 1, first_seen=1, topology="z1"),
        Child("b", "b", 1, first_seen=2, topology="z1"),
        Child("c", "c", 1, first_seen=3, topology="z2"),
        Child("d", "d", 1, first_seen=9, topology="z1", is_idle=True),
    ]
    world = World(children, replace(SIMPLE, max_surge=4))
    assert creates(world.steps()) == ["d", "c", "a", "b"]


def test_a_hold_is_respected_until_it_ends_or_the_deadline_passes_over_it():
    children = [Child("a", "a", 1, held_until=500.0), Child("b", "b", 1, held_until=math.inf)]
    world = World(children, replace(SIMPLE, hold_deadline=1000.0))
    assert creates(world.steps()) == []
    assert rollout_steps.blocked_by(world.rollout, children, world.limits, 0.0) == ("hold: 2 children",)
    world.now = 500.0
    assert creates(world.steps()) == ["a"]
    world.now = 1000.0
    assert creates(world.steps()) == ["a", "b"]


def test_a_partition_stays_until_it_is_lowered():
    world = World(fleet(4), replace(SIMPLE, waves=replace(SIMPLE.waves, partition=3)))
    for _ in range(10):
        for step in world.steps():
            world.apply(step)
        world.tick()
    assert [step.slot for step in world.created] == ["s00000"]
    assert world.rollout.phase is RolloutPhase.PROGRESSING
    world.limits = SIMPLE
    assert world.run().is_exact(NEW)


def test_a_freeze_begins_nothing_and_finishes_what_was_begun():
    freeze = Window(Mode.FREEZE, start=30.0, end=5000.0)
    world = World(fleet(6), replace(SIMPLE, windows=(freeze,), halt=replace(SIMPLE.halt, progress_deadline=600.0)))
    for step in world.steps():
        world.apply(step)
    for _ in range(20):
        world.tick()
        for step in world.steps():
            world.apply(step)
    assert world.now < 5000.0
    assert len(world.created) == 2
    assert fleet_of(world.children.values()).surge == 0
    assert "frozen" in rollout_steps.blocked_by(world.rollout, world.children.values(), world.limits, world.now)[0]
    assert world.run().is_exact(NEW)
    assert world.now > 5000.0


def test_a_gate_that_does_not_know_waits_and_one_that_fails_stops():
    world = World(fleet(4), replace(SIMPLE, gates={"errors": Health.UNKNOWN}, waves=replace(SIMPLE.waves, canary=1)))
    for _ in range(9):
        for step in world.steps():
            world.apply(step)
        world.tick()
    assert (world.rollout.phase, len(world.created)) == (RolloutPhase.CANARY, 1)
    world.limits = replace(world.limits, gates={"errors": Health.FAIL})
    world.run(until={RolloutPhase.HALTED})
    assert world.rollout.why == "health gate errors fails"
    world.limits = replace(world.limits, gates={"errors": Health.PASS})
    world.rollout = rollout_steps.resume(world.rollout, world.now)
    assert world.run().is_exact(NEW)


def test_a_wave_soaks_before_the_next():
    world = World(fleet(2), replace(SIMPLE, waves=replace(SIMPLE.waves, canary=1, soak=3600.0))).run()
    assert world.now > 2 * 3600.0


def test_without_progress_it_halts_and_waiting_for_a_hold_is_not_lack_of_progress():
    stuck = World([*fleet(2)], replace(SIMPLE, halt=replace(SIMPLE.halt, progress_deadline=300.0)))
    for step in stuck.steps():
        stuck.apply(step)
    stuck.events.clear()  # the replacements never come
    stuck.now = 301.0
    assert any(isinstance(step, SaveRollout) and step.rollout.phase is RolloutPhase.HALTED for step in stuck.steps())
    held = World(fleet(2, held_until=math.inf), replace(SIMPLE, halt=replace(SIMPLE.halt, progress_deadline=300.0)))
    held.tick(5000.0)
    for step in held.steps():
        held.apply(step)
    assert held.rollout.phase is RolloutPhase.PROGRESSING


def test_after_n_failures_it_halts_begins_nothing_and_goes_on_when_resumed():
    world = World(fleet(10), replace(SIMPLE, halt=replace(SIMPLE.halt, after=3)), fails=lambda step: step.attempt == 0)
    world.run(until={RolloutPhase.HALTED})
    assert world.rollout.failed >= 3
    begun = len(world.created)
    for _ in range(30):
        for step in world.steps():
            world.apply(step)
        world.tick()
    assert len(world.created) == begun
    assert fleet_of(world.children.values()).surge == 0
    world.fails = lambda _step: False
    world.rollout = rollout_steps.resume(world.rollout, world.now)
    assert world.run().is_exact(NEW)


@pytest.mark.parametrize("order", Order)
def test_a_bad_revision_is_rolled_back_by_itself(order):
    limits = replace(
        SIMPLE,
        order=order,
        waves=replace(SIMPLE.waves, canary=1, is_doubling=True),
        halt=replace(SIMPLE.halt, after=2, action=OnHalt.ROLL_BACK),
    )
    world = World(fleet(12), limits, fails=lambda step: step.revision == 2 and step.slot > "s00003").run()
    assert world.rollout.phase is RolloutPhase.ROLLED_BACK
    assert world.is_exact(OLD)


def test_a_rollback_that_fails_too_halts():
    limits = replace(SIMPLE, order=Order.REMOVE_FIRST, halt=replace(SIMPLE.halt, after=1, action=OnHalt.ROLL_BACK))
    world = World(fleet(4), limits, fails=lambda _step: True).run(until={RolloutPhase.HALTED})
    assert world.rollout.is_going_back


def test_paused_it_begins_nothing_and_a_person_can_undo():
    world = World(fleet(6), SIMPLE)
    for step in world.steps():
        world.apply(step)
    world.rollout = rollout_steps.pause(world.rollout, "lunch")
    for _ in range(9):
        world.tick()
        for step in world.steps():
            world.apply(step)
    assert (len(world.created), world.rollout.phase) == (2, RolloutPhase.PAUSED)
    assert rollout_steps.blocked_by(world.rollout, [], SIMPLE, 0.0) == ("paused: lunch",)
    assert rollout_steps.pause(world.rollout, "again") is world.rollout
    world.rollout = rollout_steps.undo(world.rollout, world.now, "changed my mind")
    assert world.run().is_exact(OLD)
    assert world.rollout.phase is RolloutPhase.ROLLED_BACK
    assert rollout_steps.undo(world.rollout, 0.0, "") is world.rollout


def test_a_new_target_supersedes_and_redirects_what_is_under_way():
    world = World(fleet(8), SIMPLE)
    for _ in range(3):
        for step in world.steps():
            world.apply(step)
        world.tick()
    third = RolloutTarget(3, frozenset({3}))
    ended, world.rollout = rollout_steps.supersede(world.rollout, "r2", third, world.now)
    assert ended.phase is RolloutPhase.SUPERSEDED
    assert world.rollout.previous == OLD
    assert rollout_steps.next_steps(ended, world.children.values(), SIMPLE, world.now) == []
    world.run()
    assert world.is_exact(third)
    assert rollout_steps.supersede(world.rollout, "r3", NEW, 0.0)[1].previous == third


def test_a_limit_that_comes_to_nothing_is_said():
    world = World(fleet(1), replace(SIMPLE, max_surge=Percent(50)))
    assert creates(world.steps()) == []
    assert rollout_steps.blocked_by(world.rollout, fleet(1), world.limits, 0.0) == ("max_surge 50% of 1 is none",)


def test_budgets_are_per_reason():
    children = [Child(f"d{n}", f"d{n}", 1, reason="dynamic") for n in range(5)] + fleet(5)
    world = World(children, replace(SIMPLE, max_surge=9, budgets={"dynamic": 1, "*": 3}))
    assert Counter(slot[0] for slot in creates(world.steps())) == {"d": 1, "s": 3}


def test_unhealthy_children_use_up_the_budget_and_may_be_replaced_themselves():
    sick = [replace(child, state=ChildState.UNHEALTHY) for child in fleet(2)]
    well = [replace(child, is_exempt=False) for child in fleet(6)[2:]]
    world = World([*sick, *well], replace(SIMPLE, max_surge=9, budgets={"*": 2}))
    assert creates(world.steps()) == ["s00000", "s00001"]
    exempt = [replace(child, is_exempt=True) for child in sick]
    assert creates(World([*exempt, *well], world.limits).steps()) == []


# --- properties -------------------------------------------------------------------------------------------------------

_amounts = st.one_of(st.integers(1, 5), st.sampled_from([Percent(10), Percent(34), Percent(50)]))
_limits = st.builds(
    RolloutLimits,
    max_unavailable=_amounts,
    max_surge=_amounts,
    budgets=st.dictionaries(st.sampled_from(["*", "spec", "dynamic"]), _amounts, max_size=2),
    order=st.sampled_from(Order),
    waves=st.builds(Waves, canary=st.integers(0, 3), is_doubling=st.booleans(), soak=st.sampled_from([0.0, 120.0])),
    halt=st.builds(HaltRules, after=st.sampled_from([None, 1, 3]), action=st.sampled_from(OnHalt)),
    min_ready=st.sampled_from([0.0, 90.0]),
    per_zone=st.one_of(st.none(), _amounts),
    turns=st.one_of(st.none(), st.integers(1, 4)),
)
_reasons = st.lists(st.sampled_from(["spec", "dynamic"]), min_size=2, max_size=12)


def _disturb(world, chance):
    """Do one of the things that happen around a rollout."""
    match chance.randrange(12):
        case 0:
            world.rollout = rollout_steps.pause(world.rollout, "test")
        case 1:
            world.rollout = rollout_steps.undo(world.rollout, world.now, "test")
        case 2:
            number = chance.randrange(3, 6)
            target = RolloutTarget(number, frozenset({number}))
            world.rollout = rollout_steps.supersede(world.rollout, f"r{world.now}.{number}", target, world.now)[1]
        case 3:
            name = chance.choice(sorted(world.children))
            if world.children[name].state is ChildState.READY:
                world.children[name] = replace(world.children[name], state=ChildState.UNHEALTHY)
        case 4 | 5:
            world.rollout = rollout_steps.resume(world.rollout, world.now)
        case _:
            pass


@given(_reasons, _limits, st.randoms(use_true_random=False), st.floats(0, 0.5), st.sampled_from([0.0, 0.0, 0.5, 1.0]))
@settings(max_examples=250)
def test_no_reachable_state_exceeds_a_limit_and_every_rollout_can_be_brought_to_its_end(
    reasons, limits, chance, share, rewritten
):
    children = [
        replace(child, reason=why, topology=str(n % 3), is_rewritten=chance.random() < rewritten)
        for n, (child, why) in enumerate(zip(fleet(len(reasons)), reasons, strict=True))
    ]
    world = World(children, limits, fails=lambda _step: chance.random() < share)
    for _ in range(25):
        steps = world.steps()
        for step in steps[: chance.randrange(len(steps) + 1)]:  # and a crash
            world.checked(step)
            if chance.random() < 0.3:
                world.checked(step)  # made, and not known to have been made
        if chance.random() < 0.7:
            world.tick(None if chance.random() < 0.7 else 15.0)
        world.rollout = pickle.loads(pickle.dumps(world.rollout))
        _disturb(world, chance)
    _heal(world)
    for _ in range(400):
        for step in world.steps():
            world.checked(step)
        if world.rollout.phase in records.OVER:
            break
        world.rollout = rollout_steps.resume(world.rollout, world.now)
        world.tick()
    assert world.rollout.phase in {RolloutPhase.COMPLETE, RolloutPhase.ROLLED_BACK}
    assert world.is_exact(world.rollout.target)


def _heal(world):
    """From now on everything that is made becomes ready, and what was hurt is well."""
    world.fails = lambda _step: False
    world.children = {
        name: replace(child, state=ChildState.READY) if child.state is ChildState.UNHEALTHY else child
        for name, child in world.children.items()
    }
    if world.rollout.phase in records.OVER:
        world.rollout = rollout_steps.start("last", RolloutTarget(9, frozenset({9})), OLD, world.now)


def test_a_step_that_is_asked_for_again_has_the_same_key():
    world = World(fleet(8), SIMPLE)
    assert world.steps() == world.steps()
    steps = world.steps()
    world.apply(steps[0])  # saved, then killed
    assert [step for step in world.steps() if not isinstance(step, SaveRollout)] == steps[1:]


@pytest.mark.slow
@pytest.mark.parametrize("order", Order)
def test_10000_children_with_a_budget_of_5_percent_and_3_percent_failing(order):
    """Halts every hundred failures, is killed in the middle of passes, and ends exact."""
    chance = random.Random(7)
    five = Percent(5)
    limits = RolloutLimits(
        max_unavailable=five, max_surge=five, budgets={"*": five}, order=order, halt=HaltRules(after=100)
    )
    bad = {f"s{number:05}" for number in chance.sample(range(10_000), 300)}
    world = World(fleet(10_000), limits, fails=lambda step: step.attempt == 0 and step.slot in bad)
    halts = most = passes = 0
    while world.rollout.phase not in records.OVER:
        passes += 1
        assert passes < 1000
        steps = world.steps()
        for step in steps[: chance.randrange(len(steps) + 1) if chance.random() < 0.2 else None]:
            world.apply(step)
        now = world.check()
        most = max(most, now.surge, now.unavailable)
        assert now.unavailable <= 500
        if world.rollout.phase is RolloutPhase.HALTED:
            halts += 1
            world.rollout = rollout_steps.resume(pickle.loads(pickle.dumps(world.rollout)), world.now)
        world.tick(60.0)
    assert world.rollout.phase is RolloutPhase.COMPLETE
    assert world.is_exact(NEW)
    assert len(world.created) == 10_300
    assert halts >= 2
    assert most == 500


def test_slots_that_failed_together_are_tried_again_apart_none_too_early_and_none_much_later():
    limits = RolloutLimits(retry_base=60.0, retry_max=600.0)
    slots = [f"web-{index}" for index in range(50)]
    for times, wait in ((1, 60.0), (3, 240.0), (9, 600.0)):
        failed = replace(
            rollout_steps.start("r1", NEW, OLD, 0.0), failures={slot: SlotFailures(times, 1000.0) for slot in slots}
        )
        moments = [scheduler.retry_at(failed, slot, limits) - 1000.0 for slot in slots]
        assert wait <= min(moments) < max(moments) <= wait * 1.1
        assert len({round(moment, 3) for moment in moments}) > 40
        assert moments == [scheduler.retry_at(failed, slot, limits) - 1000.0 for slot in slots], "by no chance"
    assert scheduler.retry_at(rollout_steps.start("r1", NEW, OLD, 0.0), "web-0", limits) == -math.inf, "it never failed"
