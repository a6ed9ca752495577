"""The reconcile modes, the pin, and the write that learns a lost baseline anew: what each makes of a verdict."""

from __future__ import annotations

import pytest

from holdfast.compare import verdict_rules
from holdfast.model.absent import ABSENT
from holdfast.model.decision import Action
from holdfast.model.finding import ChangedBy, Finding, FindingClass, Op
from holdfast.model.resource import ManagementPolicy
from holdfast.model.verdict import Status, Verdict
from holdfast.policy.decide import ReconcileMode, decide
from tests.unit.policy.inputs import inputs as inputs_with

IN_SYNC = verdict_rules.conclude(())
UNKNOWN = Verdict(Status.UNKNOWN, "could not be read (timeout)")
MISSING = Verdict(Status.MISSING, "deleted outside Holdfast")
DEFAULTED = Finding(("a",), Op.CHANGED, FindingClass.DEFAULTED, ChangedBy.LIVE, ABSENT, 1, 2)
DECLARED = Finding(("b",), Op.CHANGED, FindingClass.SPECIFIED, ChangedBy.LIVE, 1, 1, 2)
OBSERVED = ManagementPolicy.OBSERVED


@pytest.mark.parametrize(
    "verdict, inputs, action, code",
    [
        (IN_SYNC, inputs_with(applied=True, mode=ReconcileMode.SHADOW), Action.UPDATE, "shadow"),
        (IN_SYNC, inputs_with(applied=True, mode=ReconcileMode.SHADOW, policy=OBSERVED), Action.NONE, "in_sync"),
        (UNKNOWN, inputs_with(applied=True, mode=ReconcileMode.SHADOW), Action.NONE, "unknown"),
        (
            verdict_rules.uncompared(),
            inputs_with(mode=ReconcileMode.PUT_ONLY, uncompared=True),
            Action.UPDATE,
            "put_only",
        ),
        (UNKNOWN, inputs_with(mode=ReconcileMode.PUT_ONLY), Action.NONE, "unknown"),  # a failed read is no reason
        (MISSING, inputs_with(mode=ReconcileMode.PUT_ONLY, resyncs=True), Action.RECREATE, "recreate"),
        (verdict_rules.conclude([DECLARED]), inputs_with(mode=ReconcileMode.OBSERVE), Action.REPORT, "observed"),
        (MISSING, inputs_with(mode=ReconcileMode.OBSERVE, resyncs=True), Action.REPORT, "missing"),
        (IN_SYNC, inputs_with(damaged=True), Action.UPDATE, "recapture"),
        (IN_SYNC, inputs_with(damaged=True, policy=OBSERVED), Action.ADOPT, "adopt"),
        (IN_SYNC, inputs_with(applied=True, failed="Failed"), Action.UPDATE, "failed"),
        (IN_SYNC, inputs_with(applied=True, failed="Failed", policy=OBSERVED), Action.NONE, "in_sync"),
    ],
)
def test_a_mode_decides_what_follows_from_a_verdict(verdict, inputs, action, code):
    decision = decide(verdict, inputs)
    assert (decision.action, decision.reasons[0].code) == (action, code)


def test_a_write_that_a_mode_asks_for_is_held_like_any_other():
    held = decide(IN_SYNC, inputs_with(applied=True, mode=ReconcileMode.SHADOW, paused="paused by ada"))
    assert (held.action, held.held, held.reasons[0].code) == (Action.HOLD, Action.UPDATE, "paused")


def test_what_a_write_did_not_put_back_is_pinned_once_if_it_may_be():
    verdict = verdict_rules.conclude([DEFAULTED])
    stuck = inputs_with(unresolved=frozenset({"/a"}))
    assert decide(verdict, stuck).action is Action.REPORT
    pinned = decide(verdict, inputs_with(unresolved=frozenset({"/a"}), pinnable=frozenset({"/a"})))
    assert pinned.action is Action.UPDATE
    assert [reason.code for reason in pinned.reasons] == ["drift", "pin"]
    assert pinned.reasons[1].paths == ("/a",)


def test_an_element_that_nobody_declared_and_that_is_gone_starts_no_write():
    gone = Finding(
        ("l", "x"), Op.ELEMENT_MISSING, FindingClass.UNDECLARED, ChangedBy.LIVE, ABSENT, {"name": "x"}, ABSENT
    )
    verdict = verdict_rules.conclude([gone])
    listed = inputs_with(declared_lists=frozenset({"/l/x"}))
    assert decide(verdict, listed).action is Action.REPORT
