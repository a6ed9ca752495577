"""A waiver's life: the finding is seen, counted and shown, does not count, and is drift again when the waiver ends."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from holdfast.errors import InputError
from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.verdict import Status, SuppressionReason
from holdfast.policy import waivers
from holdfast.policy.correction_limits import CorrectionRules
from holdfast.policy.waivers import MistakeKind, Waiver
from holdfast.reconcile import serialize
from holdfast.reconcile.finding_actions import Person, rebaseline, reverted
from holdfast.reconcile.policy_evaluation import PolicyRules
from holdfast.store.transaction import Transaction
from tests.unit.reconcile.fixtures import Bench, declare

DAY = 86_400.0


def run(coroutine):
    return asyncio.run(coroutine)


def waived(path: str = "/size", days: float = 7, resource: str = "mem/Thing/*"):
    """Return a bench with one drifted thing, and a waiver for it that ends in some days."""
    bench = Bench()
    fleet = [declare("a", {"color": "red", "size": 1})]
    run(bench.apply(fleet))
    bench.live_thing("a")["size"] = 9
    waiver = Waiver(resource, path, "ada@example.org", "load test", bench.clock.now() + days * DAY)
    bench.rules = PolicyRules(CorrectionRules(mass_drift=None), (waiver,))
    return bench, fleet, waiver


def only(report):
    (one,) = report.checked
    return one


def test_a_waived_finding_is_shown_but_neither_counts_nor_is_corrected():
    bench, fleet, _ = waived()
    one = only(run(bench.apply(fleet)))
    assert (one.verdict.status, one.decision.action) == (Status.IN_SYNC, Action.NONE)
    (suppressed,) = one.verdict.suppressed
    assert (suppressed.because, suppressed.path) == (SuppressionReason.WAIVED, "/size")
    assert "ada" in suppressed.note
    assert "load test" in suppressed.note
    assert bench.live_thing("a")["size"] == 9
    state = run(bench.store.state(one.address))
    assert state.observed.suppressed == (("waived", "/size", suppressed.note),), "visible without another read"


def test_other_fields_of_the_resource_are_still_corrected():
    bench, fleet, _ = waived()
    bench.live_thing("a")["color"] = "black"
    run(bench.apply(fleet))
    assert (bench.live_thing("a")["color"], bench.live_thing("a")["size"]) == ("red", 9)


def test_when_it_ends_it_is_drift_again_says_so_and_is_corrected():
    bench, fleet, _ = waived()
    run(bench.apply(fleet))
    bench.clock.advance(8 * DAY)
    one = only(run(bench.check(fleet)))
    assert one.verdict.status is Status.DRIFTED
    assert "the waiver of ada for /size expired on" in one.verdict.reason
    run(bench.apply(fleet))
    assert bench.live_thing("a")["size"] == 1


def test_it_ends_though_nothing_in_the_world_moves():
    """The fast path, which looks only at what moved, must not let a waiver live for ever."""
    bench, fleet, _ = waived()
    for _ in range(3):
        run(bench.apply(fleet))
    bench.clock.advance(8 * DAY)
    assert only(run(bench.check(fleet))).verdict.status is Status.DRIFTED


def test_a_mistyped_path_a_path_that_is_gone_and_no_resource_each_say_so():
    bench, _, waiver = waived()
    documents = {Address("mem", "Thing", "a"): [{"color": "red", "size": 1}, {"color": "red", "size": 9}]}
    said = {
        kind: str(mistake)
        for wrong in (
            replace(waiver, path="/siez"),
            replace(waiver, resource="mem/Thing/b*"),
            replace(waiver, expires=bench.clock.now() - 1),
        )
        for mistake in waivers.mistakes([wrong], documents, bench.clock.now())
        for kind in [mistake.kind]
    }
    assert "did you mean /size?" in said[MistakeKind.NO_PATH]
    assert "matches no resource" in said[MistakeKind.NO_RESOURCE]
    assert "expired on" in said[MistakeKind.EXPIRED]
    gone = {Address("mem", "Thing", "a"): [{"color": "red"}]}
    (mistake,) = waivers.mistakes([waiver], gone, bench.clock.now())
    assert mistake.kind is MistakeKind.NO_PATH


def test_decisions_with_waivers_replay_to_the_same_bytes():
    bench, fleet, _ = waived()
    bench.live_thing("a")["color"] = "black"
    run(bench.apply(fleet))
    bench.clock.advance(8 * DAY)
    run(bench.apply(fleet))
    for record in run(bench.store.decisions(None, 50)):
        stored, again = run(serialize.replay(bench.store, record))
        assert stored == again, record.summary


def rebaselined(pattern="/size"):
    bench = Bench()
    fleet = [declare("a", {"color": "red", "size": 1})]
    run(bench.apply(fleet))
    bench.live_thing("a").update(size=9, color="black")
    one = only(run(bench.check(fleet)))
    run(rebaseline(bench.store, one, pattern, Person("ada", "it is better so"), "test"))
    return bench, fleet


def test_without_a_baseline_an_edit_explains_findings_only_where_none_is_waived():
    for is_waived, status in ((True, Status.DRIFTED), (False, Status.PENDING)):
        bench, fleet, _ = waived() if is_waived else waived("/other")
        before = run(bench.store.state(fleet[0].address))
        state = replace(before, applied=replace(before.applied, baseline=None))
        run(bench.store.commit(Transaction(states=[state])))
        one = only(run(bench.check([declare("a", {"color": "blue", "size": 1})])))
        assert one.verdict.status is status
        (record, *_) = run(bench.store.decisions(one.address, 1))
        stored, again = run(serialize.replay(bench.store, record))
        assert stored == again


def test_a_baselined_value_is_the_new_normal_and_stays_visible():
    bench, fleet = rebaselined()
    one = only(run(bench.apply(fleet)))
    assert [(a.because, a.path) for a in one.verdict.suppressed] == [(SuppressionReason.BASELINED, "/size")]
    assert (bench.live_thing("a")["color"], bench.live_thing("a")["size"]) == ("red", 9)
    assert only(run(bench.check(fleet))).verdict.status is Status.IN_SYNC


def conflicted():
    """Return a bench with a thing whose color both an edit and a stranger changed, and the edited fleet."""
    bench = Bench()
    run(bench.apply([declare("a", {"color": "red", "size": 1})]))
    bench.live_thing("a")["color"] = "black"
    edited = [declare("a", {"color": "blue", "size": 1})]
    one = only(run(bench.check(edited)))
    assert one.verdict.status is Status.CONFLICTED
    return bench, edited, one


def test_a_value_that_was_edited_too_can_be_baselined():
    bench, fleet, one = conflicted()
    run(rebaseline(bench.store, one, "/color", Person("ada", "it is better so"), "test"))
    for result in (only(run(bench.check(fleet))), only(run(bench.apply(fleet)))):
        assert (result.verdict.status, result.decision.action) == (Status.IN_SYNC, Action.NONE)
        assert [(a.because, a.path) for a in result.verdict.suppressed] == [(SuppressionReason.BASELINED, "/color")]
    assert bench.live_thing("a")["color"] == "black"
    one = only(run(bench.check([declare("a", {"color": "green", "size": 1})])))
    assert one.verdict.status is Status.PENDING, "the live value has not changed since it was accepted"


def test_an_edit_elsewhere_stays_pending_beside_a_baselined_value():
    bench, _, _ = conflicted()
    edited = [declare("a", {"color": "blue", "size": 2})]
    one = only(run(bench.check(edited)))
    run(rebaseline(bench.store, one, "/color", Person("ada", "it is better so"), "test"))
    one = only(run(bench.apply(edited)))
    assert (one.verdict.status, [f.path for f in one.verdict.findings]) == (Status.PENDING, [("size",)])
    assert (bench.live_thing("a")["color"], bench.live_thing("a")["size"]) == ("black", 2)
    assert only(run(bench.check(edited))).verdict.status is Status.IN_SYNC


def test_an_edit_that_was_not_applied_yet_cannot_be_baselined():
    bench = Bench()
    run(bench.apply([declare("a", {"tags": ["x", "y"]})]))
    one = only(run(bench.check([declare("a", {"tags": ["x", "z"]})])))
    with pytest.raises(InputError, match="cannot be taken by itself"):
        run(rebaseline(bench.store, one, "/tags", Person("ada", "it is better so"), "test"))


def reported(color):
    """Declare a thing of some color, where drift of the color is only reported."""
    return declare("a", {"color": color, "size": 1}, onDriftPaths={"/color": "report"})


@pytest.mark.parametrize("whole", [True, False])
def test_an_edit_that_a_write_of_other_paths_left_out_is_still_an_edit(whole):
    bench = Bench(patches=not whole)
    run(bench.apply([reported("red")]))
    edited = [reported("blue")]
    bench.live_thing("a").update(color="black", size=9)
    run(bench.apply(edited))
    assert (bench.live_thing("a")["color"], bench.live_thing("a")["size"]) == ("black", 1)
    (stored,) = run(bench.store.states([edited[0].address])).values()
    assert stored.observed.status is Status.CONFLICTED
    for result in (only(run(bench.check(edited))), only(run(bench.apply(edited)))):
        (finding,) = result.verdict.findings
        assert (result.verdict.status, finding.path, finding.baseline) == (Status.CONFLICTED, ("color",), "red")
        assert not result.decision.action.is_write
    for record in run(bench.store.decisions(None, 50)):
        stored_bytes, again = run(serialize.replay(bench.store, record))
        assert stored_bytes == again, record.summary
    back = [reported("red")]
    assert only(run(bench.check(back))).verdict.status is Status.DRIFTED, (
        "the edit was taken back before it was applied"
    )
    agreed = [reported("black")]
    assert only(run(bench.apply(agreed))).decision.action is Action.ADOPT
    one = only(run(bench.apply(agreed)))
    assert (one.verdict.status, one.decision.action) == (Status.IN_SYNC, Action.NONE)


def test_a_baselined_value_stays_watched():
    bench, fleet = rebaselined()
    run(bench.apply(fleet))
    bench.live_thing("a")["size"] = 10
    one = only(run(bench.check(fleet)))
    assert one.verdict.status is Status.DRIFTED
    assert one.verdict.suppressed == (), "what was accepted is not what is there any more"


def test_revert_puts_back_what_policy_would_only_report():
    bench = Bench()
    fleet = [declare("a", {"color": "red", "size": 1}, onDrift="report")]
    run(bench.apply(fleet))
    bench.live_thing("a").update(size=9, color="black")
    run(bench.apply(fleet, reconsider=lambda checked: reverted(checked, "/size")))
    assert (bench.live_thing("a")["color"], bench.live_thing("a")["size"]) == ("black", 1)
