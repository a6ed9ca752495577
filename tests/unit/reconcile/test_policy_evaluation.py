"""Correction stays within policy: paths, budgets, mass drift, windows, pauses, approvals, contention."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.compare import paths
from holdfast.model.address import Address
from holdfast.model.condition import ConditionType
from holdfast.model.decision import Action
from holdfast.model.verdict import Status, SuppressionReason
from holdfast.policy.budgets import DESTRUCTIVE, BudgetRule, Each, Percent
from holdfast.policy.contention_rules import ContentionRules
from holdfast.policy.correction_limits import CorrectionRules
from holdfast.policy.mass_drift import MassDriftGuard
from holdfast.policy.windows import Mode, Window
from holdfast.policy.write_reasons import EVERY
from holdfast.reconcile.action_result import ActionOutcome
from holdfast.reconcile.finding_actions import reverted
from holdfast.reconcile.policy_evaluation import PolicyRules
from holdfast.store.governance import Approval, CorrectionOutcome, Pause
from holdfast.store.transaction import GovernanceChanges, Transaction
from tests.unit.reconcile.fixtures import Bench, declare


def run(coroutine):
    return asyncio.run(coroutine)


def governed(**rules) -> Bench:
    return Bench(rules=PolicyRules(CorrectionRules(**{"mass_drift": None, **rules})))


def address(name: str) -> Address:
    return Address("mem", "Thing", name)


def drift(bench, *names, **fields):
    for name in names:
        bench.live_thing(name).update(fields or {"color": "black"})


def decisions(report):
    return {item.address.name: item.decision for item in report.checked}


def writes(bench):
    done = list(bench.live.writes)
    bench.live.writes.clear()
    return done


def names(count):
    return [f"n{i}" for i in range(count)]


def reds(count, **options):
    return [declare(name, {"color": "red", "size": 1, "tags": {"a": "1"}}, **options) for name in names(count)]


# -- policy by path


def test_some_fields_are_corrected_some_reported_some_ignored_in_one_resource():
    bench = governed()
    policy = {"/size": "report", "/tags/**": "ignore"}
    fleet = reds(1, onDriftPaths=policy)
    run(bench.apply(fleet))
    writes(bench)
    drift(bench, "n0", color="black", size=9, tags={"a": "2", "b": "3"})
    report = run(bench.apply(fleet))
    assert len(writes(bench)) == 1
    live = bench.live_thing("n0")
    assert (live["color"], live["size"], live["tags"]) == ("red", 9, {"a": "2", "b": "3"})
    (decision,) = decisions(report).values()
    assert [(reason.code, reason.paths) for reason in decision.reasons] == [
        ("drift", ("/color",)),
        ("report_only", ("/size",)),
    ]
    suppressed = [(item.because, item.path) for item in report.checked[0].verdict.suppressed]
    assert suppressed == [(SuppressionReason.IGNORED, "/tags/**")]


@pytest.mark.parametrize("patches", [True, False])
def test_what_is_only_reported_survives_every_later_correction(patches):
    bench = Bench(patches=patches, rules=PolicyRules(CorrectionRules(mass_drift=None)))
    fleet = reds(1, onDriftPaths={"/size": "report"})
    run(bench.apply(fleet))
    for color in ("black", "blue"):
        drift(bench, "n0", color=color, size=9)
        run(bench.apply(fleet))
        assert (bench.live_thing("n0")["color"], bench.live_thing("n0")["size"]) == ("red", 9)


def test_a_path_may_be_corrected_where_everything_else_is_only_reported():
    bench = governed()
    fleet = reds(1, onDrift="report", onDriftPaths={"/color": "correct"})
    run(bench.apply(fleet))
    drift(bench, "n0", color="black", size=9)
    run(bench.apply(fleet))
    assert (bench.live_thing("n0")["color"], bench.live_thing("n0")["size"]) == ("red", 9)


def test_drift_is_corrected_only_after_it_was_seen_often_enough():
    bench = governed()
    fleet = reds(1, debounceChecks=3)
    run(bench.apply(fleet))
    drift(bench, "n0")
    for _ in range(2):
        assert decisions(run(bench.apply(fleet)))["n0"].reasons[0].code == "debounce"
    assert decisions(run(bench.apply(fleet)))["n0"].action is Action.UPDATE
    assert bench.live_thing("n0")["color"] == "red"


def test_drift_that_goes_away_by_itself_starts_counting_anew():
    bench = governed()
    fleet = reds(1, debounceTime="10m")
    run(bench.apply(fleet))
    drift(bench, "n0")
    run(bench.apply(fleet))
    drift(bench, "n0", color="red")
    run(bench.apply(fleet))
    bench.clock.advance(700)
    drift(bench, "n0")
    assert decisions(run(bench.apply(fleet)))["n0"].action is Action.HOLD
    bench.clock.advance(700)
    assert decisions(run(bench.apply(fleet)))["n0"].action is Action.UPDATE


# -- budgets


def test_a_budget_lets_through_what_fits_and_the_rest_comes_in_the_next_window():
    bench = governed(budgets=(BudgetRule(3, 3600.0),))
    fleet = reds(10)
    run(bench.apply(fleet))
    drift(bench, *names(10))
    writes(bench)
    report = run(bench.apply(fleet))
    assert len(writes(bench)) == 3
    held = [decision for decision in decisions(report).values() if decision.action is Action.HOLD]
    assert {(item.reasons[0].code, item.held) for item in held} == {("budget", Action.UPDATE)}
    assert {item.verdict.status for item in report.checked} == {Status.DRIFTED}, "limits never change what is seen"
    run(bench.apply(fleet))
    assert writes(bench) == []
    bench.clock.advance(3601)
    run(bench.apply(fleet))
    assert len(writes(bench)) == 3


def test_creating_what_was_declared_spends_no_budget_of_corrections():
    bench = governed(budgets=(BudgetRule(1, 3600.0),))
    assert len(run(bench.apply(reds(5))).acted) == 5


def test_destructive_actions_have_a_budget_of_their_own():
    bench = governed(
        budgets=(BudgetRule(1, 3600.0, actions=DESTRUCTIVE), BudgetRule(Percent(50), 3600.0, each=Each.KIND))
    )
    fleet = reds(4, recreate="always")
    run(bench.apply(fleet))
    for name in ("n0", "n1"):
        del bench.live.things["Thing", bench.id_of(name)]
    writes(bench)
    report = run(bench.apply(fleet))
    assert [verb for verb, _, _ in writes(bench)] == ["create"]
    assert "destructive" in decisions(report)["n1"].reasons[0].message


def test_two_workers_never_spend_one_budget_twice():
    bench = governed(budgets=(BudgetRule(2, 3600.0),))
    fleet = reds(6)
    run(bench.apply(fleet))
    drift(bench, *names(6))
    other = Bench(live=bench.live, store=bench.store, clock=bench.clock, owner="two", rules=bench.rules)
    writes(bench)

    async def both():
        return await asyncio.gather(bench.apply(fleet), other.apply(fleet))

    reports = run(both())
    assert len(writes(bench)) == 2
    results = [item.result for report in reports for item in report.acted]
    assert results.count(ActionOutcome.DONE) == 2


# -- mass drift


def test_a_mass_drift_halts_correction_and_asks_while_detection_goes_on():
    bench = governed(mass_drift=MassDriftGuard(share=0.3, at_least=3, identical=100))
    fleet = reds(10)
    run(bench.apply(fleet))
    for index, name in enumerate(names(3)):
        drift(bench, name, color=f"black{index}")
    writes(bench)
    report = run(bench.apply(fleet))
    assert writes(bench) == []
    assert [item.verdict.status for item in report.checked].count(Status.DRIFTED) == 3
    assert decisions(report)["n0"].reasons[0].code == "massDrift"
    events = [event.event.type for event in run(listed(bench.store.events(type_prefix="mass_drift")))]
    assert events == ["mass_drift.held"]


def test_a_mass_drift_over_several_layers_is_seen_before_the_first_write():
    """Each refers to the one before it, so each is a layer, and none of them alone would be mass drift."""
    bench = governed(mass_drift=MassDriftGuard(share=0.3, at_least=3, identical=100))
    fleet = [declare("n0", {"color": "red"})]
    fleet += [declare(f"n{n}", {"color": "red", "of": f"${{Thing/n{n - 1}.id}}"}) for n in range(1, 8)]
    run(bench.apply(fleet))
    for number in (2, 4, 7):
        bench.live_thing(f"n{number}")["color"] = f"blue{number}"
    bench.live.writes.clear()
    report = run(bench.apply(fleet))
    assert bench.live.writes == []
    assert [decisions(report)[f"n{n}"].reasons[0].code for n in (2, 4, 7)] == ["massDrift"] * 3


def test_looking_ahead_for_a_mass_drift_is_no_second_look_at_drift():
    """Drift that must be seen twice before it is corrected is seen once by one run."""
    bench = governed(mass_drift=MassDriftGuard(share=0.9, at_least=2, identical=2))
    fleet = [declare("a", {"color": "red"}), declare("b", {"color": "red", "of": "${Thing/a.id}"}, debounceChecks=2)]
    run(bench.apply(fleet))
    bench.live_thing("b")["color"] = "blue"
    bench.live.writes.clear()
    run(bench.apply(fleet))
    assert bench.live.writes == []
    run(bench.apply(fleet))
    assert bench.live_thing("b")["color"] == "red"


def test_a_yes_to_exactly_these_plans_lifts_the_mass_drift_for_them():
    bench = governed(mass_drift=MassDriftGuard(share=0.3, at_least=3, identical=100))
    fleet = reds(10)
    run(bench.apply(fleet))
    for index, name in enumerate(names(3)):
        drift(bench, name, color=f"black{index}")
    report = run(bench.check(fleet))
    plans = {item.address.name: item.plan for item in report.checked if item.decision.action is Action.HOLD}
    approve(bench, "n0", plans["n0"])
    approve(bench, "n1", plans["n1"])
    drift(bench, "n1", color="white")  # not what was shown when the yes was given
    run(bench.apply(fleet))
    assert [bench.live_thing(name)["color"] for name in names(3)] == ["red", "white", "black2"]


def test_one_identical_finding_everywhere_is_a_mass_drift_too():
    bench = governed(mass_drift=MassDriftGuard(share=0.2, at_least=100, identical=4))
    fleet = reds(20)
    run(bench.apply(fleet))
    drift(bench, *names(4))
    report = run(bench.apply(fleet))
    assert "the same value" in decisions(report)["n0"].reasons[0].message


# -- windows, pauses, approvals


def test_a_freeze_holds_corrections_but_neither_detection_nor_intent():
    bench = governed(windows=(Window(Mode.FREEZE, reason="holidays"),))
    fleet = reds(2)
    run(bench.apply(fleet))
    assert bench.live_thing("n0") is not None, "creating is not correcting"
    drift(bench, "n0")
    report = run(bench.apply(fleet))
    assert (decisions(report)["n0"].action, decisions(report)["n0"].held) == (Action.HOLD, Action.UPDATE)
    assert "holidays" in decisions(report)["n0"].reasons[0].message
    edited = [declare("n1", {"color": "green", "size": 1, "tags": {"a": "1"}})]
    run(bench.apply([fleet[0], *edited]))
    assert (bench.live_thing("n0")["color"], bench.live_thing("n1")["color"]) == ("black", "green")


@pytest.mark.parametrize("scope", ["", "mem", "mem/Thing", "mem/Thing/n0"])
def test_a_pause_at_any_level_stops_writes_and_says_who_and_why(scope):
    bench = governed()
    fleet = reds(1)
    run(bench.apply(fleet))
    drift(bench, "n0")
    run(
        bench.store.commit(
            Transaction(governance=GovernanceChanges(pauses=[Pause(scope, "ada", "migration", bench.clock.now())]))
        )
    )
    reason = decisions(run(bench.apply(fleet)))["n0"].reasons[0]
    assert (reason.code, "ada" in reason.message, "migration" in reason.message) == ("paused", True, True)
    run(bench.store.commit(Transaction(governance=GovernanceChanges(resumed=[scope]))))
    run(bench.apply(fleet))
    assert bench.live_thing("n0")["color"] == "red"


def test_an_approval_binds_to_the_exact_plan_and_is_used_once():
    bench = governed()
    fleet = reds(1, onDrift="approve")
    run(bench.apply(fleet))
    drift(bench, "n0")
    (one,) = run(bench.apply(fleet)).checked
    assert (one.decision.action, one.decision.held) == (Action.HOLD, Action.UPDATE)
    approve(bench, "n0", one.plan)
    run(bench.apply(fleet))
    assert bench.live_thing("n0")["color"] == "red"
    drift(bench, "n0")
    assert decisions(run(bench.apply(fleet)))["n0"].action is Action.HOLD, "a yes is not a yes for ever"


def test_a_pause_also_stops_what_a_person_asks_for():
    bench = governed()
    fleet = reds(1)
    run(bench.apply(fleet))
    run(
        bench.store.commit(
            Transaction(governance=GovernanceChanges(pauses=[Pause("", "ada", "incident", bench.clock.now())]))
        )
    )
    (acted,) = run(bench.delete(fleet)).acted
    assert (acted.result, "incident" in acted.message) == (ActionOutcome.HELD, True)
    assert bench.live_thing("n0") is not None


def test_a_budget_for_every_reason_also_limits_deleting():
    bench = governed(budgets=(BudgetRule(1, 3600.0, actions=DESTRUCTIVE, reasons=EVERY),))
    fleet = reds(3)
    run(bench.apply(fleet))
    results = [acted.result for acted in run(bench.delete(fleet)).acted]
    assert sorted(results) == [ActionOutcome.DONE, ActionOutcome.HELD, ActionOutcome.HELD]


def test_a_window_for_every_reason_holds_what_the_declaration_wants_too():
    bench = governed(windows=(Window(Mode.FREEZE, reason="holidays", reasons=EVERY),))
    assert decisions(run(bench.apply(reds(1))))["n0"].held is Action.CREATE
    assert bench.live_thing("n0") is None


def test_what_was_deleted_comes_back_only_after_it_was_missed_often_and_long_enough():
    bench = governed()
    fleet = reds(1, recreate="always", debounceChecks=3, debounceTime="10m")
    run(bench.apply(fleet))
    del bench.live.things["Thing", bench.id_of("n0")]
    for _ in range(3):
        assert decisions(run(bench.apply(fleet)))["n0"].reasons[0].code == "debounce"
        bench.clock.advance(60)
    bench.clock.advance(600)
    run(bench.apply(fleet))
    assert bench.live_thing("n0") is not None


def test_a_declaration_that_comes_to_say_what_is_there_is_remembered_without_a_write():
    """Otherwise a later move of the world would look like our own edit, and no policy would hold its correction."""
    bench = governed()
    run(bench.apply(reds(1, onDrift="report")))
    drift(bench, "n0")
    accepted = [declare("n0", {"color": "black", "size": 1, "tags": {"a": "1"}}, onDrift="report")]
    writes(bench)
    (acted,) = run(bench.apply(accepted)).acted
    assert (acted.checked.decision.action, writes(bench)) == (Action.ADOPT, [])
    drift(bench, "n0", color="red")
    (one,) = run(bench.apply(accepted)).checked
    assert (one.verdict.status, one.decision.action, writes(bench)) == (Status.DRIFTED, Action.REPORT, [])


def test_a_plan_is_named_by_what_is_compared_and_not_by_what_never_stands_still():
    profile = "profile: t/clock\nversion: 1\napplies: {provider: memory}\nrules: [{path: /clock, class: runtime}]"
    bench = Bench(profile=profile, rules=PolicyRules(CorrectionRules(mass_drift=None)))
    fleet = reds(1, onDrift="approve")
    run(bench.apply(fleet))
    plans = set()
    for tick in range(2):
        drift(bench, "n0", color="black", clock=tick)
        plans.add(run(bench.check(fleet)).checked[0].plan)
    assert len(plans) == 1


# -- contention and the ladder


def fought(bench, fleet, rounds, path="/color"):
    report = None
    for _ in range(rounds):
        drift(bench, "n0")
        report = run(bench.apply(fleet))
        bench.clock.advance(60)
    return report


def test_a_other_writer_is_seen_named_in_the_condition_and_left_to_a_person():
    bench = governed(contention=ContentionRules(reverts=2, backoff=0.0))
    fleet = reds(1)
    run(bench.apply(fleet))
    writes(bench)
    report = fought(bench, fleet, 3)
    assert len(writes(bench)) == 2
    assert decisions(report)["n0"].reasons[0].code == "contention"
    state = run(bench.store.state(address("n0")))
    conflict = next(condition for condition in state.observed.conditions if condition.type is ConditionType.CONFLICT)
    assert conflict.status == "True"
    (quarantine,) = run(bench.store.quarantines())
    assert (quarantine.path, quarantine.data["ours"], quarantine.data["theirs"]) == ("/color", "red", ["black"])
    assert quarantine.data["period"] == 60
    drift(bench, "n0", size=5)
    run(bench.apply(fleet))
    assert (bench.live_thing("n0")["color"], bench.live_thing("n0")["size"]) == ("black", 1), "only that field"


def test_an_edit_of_the_declared_value_is_a_persons_decision():
    bench = governed(contention=ContentionRules(reverts=1, backoff=0.0))
    run(bench.apply(reds(1)))
    fought(bench, reds(1), 2)
    edited = [declare("n0", {"color": "green", "size": 1, "tags": {"a": "1"}})]
    run(bench.apply(edited))
    assert bench.live_thing("n0")["color"] == "green"


def test_a_person_who_reverts_begins_a_new_count():
    bench = governed(contention=ContentionRules(reverts=2, backoff=0.0))
    fleet = reds(1)
    run(bench.apply(fleet))
    fought(bench, fleet, 3)
    run(bench.apply(fleet, reconsider=lambda checked: reverted(checked, "/color")))
    run(bench.store.commit(Transaction(governance=GovernanceChanges(unquarantined=[(address("n0"), "/color")]))))
    bench.clock.advance(1)
    assert decisions(fought(bench, fleet, 1))["n0"].action is Action.UPDATE
    assert decisions(fought(bench, fleet, 2))["n0"].reasons[0].code == "contention"


def test_each_correction_of_one_field_waits_longer():
    bench = governed(contention=ContentionRules(reverts=9, backoff=100.0))
    fleet = reds(1)
    run(bench.apply(fleet))
    writes(bench)
    fought(bench, fleet, 2)
    report = fought(bench, fleet, 1)
    assert decisions(report)["n0"].reasons[0].code == "backoff"
    assert len(writes(bench)) == 2
    bench.clock.advance(100)
    run(bench.apply(fleet))
    assert len(writes(bench)) == 1


def test_a_write_that_does_not_take_is_unresolved_counted_and_not_repeated():
    bench = governed()
    fleet = reds(1)
    run(bench.apply(fleet))
    bench.live.after_write = lambda _verb: drift(bench, "n0")
    drift(bench, "n0")
    writes(bench)
    run(bench.apply(fleet))
    run(bench.apply(fleet))
    assert len(writes(bench)) == 1
    (correction,) = [item for item in run(bench.store.corrections()) if item.action == "update"]
    assert correction.outcome is CorrectionOutcome.INEFFECTIVE
    assert [(path.path, path.took) for path in correction.paths] == [("/color", False)]


def test_every_correction_keeps_what_was_there_before():
    bench = governed()
    fleet = reds(1)
    run(bench.apply(fleet))
    drift(bench, "n0")
    run(bench.apply(fleet))
    correction = run(bench.store.corrections([address("n0")]))[0]
    assert correction.outcome is CorrectionOutcome.DONE
    before = run(bench.store.document(correction.pre_image))
    assert paths.resolve(before, ("color",)) == "black"


# -- every decision replays


def test_held_decisions_replay_to_the_same_bytes():
    from holdfast.reconcile import serialize

    bench = governed(
        budgets=(BudgetRule(1, 3600.0),),
        windows=(),
        contention=ContentionRules(reverts=1, backoff=0.0),
    )
    fleet = reds(3, onDriftPaths={"/size": "report", "/tags": "ignore"})
    run(bench.apply(fleet))
    for _ in range(3):
        drift(bench, *names(3), color="black", size=4)
        run(bench.apply(fleet))
        bench.clock.advance(30)
    kept = run(bench.store.decisions(None, 100))
    assert {"hold", "update", "report"} <= {record.action for record in kept}
    for record in kept:
        stored, again = run(serialize.replay(bench.store, record))
        assert stored == again, record.summary


async def listed(iterator):
    return [item async for item in iterator]


def approve(bench, name, plan):
    yes = Approval(plan, address(name), "ada", "looked at it", bench.clock.now())
    run(bench.store.commit(Transaction(governance=GovernanceChanges(approvals=[yes]))))
