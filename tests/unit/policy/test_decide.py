"""What to do about a verdict: total, never a write without a reason, never a write on what could not be read."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.absent import ABSENT
from holdfast.model.decision import Action
from holdfast.model.finding import ChangedBy, Finding, FindingClass, Op
from holdfast.model.resource import ManagementPolicy, OnDelete, OnDrift, Origin
from holdfast.model.verdict import Status, Verdict
from holdfast.policy.decide import HoldReason, OnImmutable, PathHold, Recreate, decide, decide_removal
from tests.unit.policy.inputs import inputs as inputs_with

DECLARED = Finding(("a",), Op.CHANGED, FindingClass.SPECIFIED, ChangedBy.LIVE, 1, 1, 2)
DEFAULTED = Finding(("b",), Op.CHANGED, FindingClass.DEFAULTED, ChangedBy.LIVE, ABSENT, 1, 2)
VANISHED = Finding(("c",), Op.MISSING, FindingClass.UNDECLARED, ChangedBy.LIVE, ABSENT, 1, ABSENT)
EDITED = Finding(("a",), Op.CHANGED, FindingClass.SPECIFIED, ChangedBy.DECLARED, 3, 1, 1)


FOUGHT_OVER = Finding(("a",), Op.CHANGED, FindingClass.SPECIFIED, ChangedBy.BOTH, 3, 1, 2)
A_CONTENTION = {"/a": PathHold(HoldReason.CONTENTION, "somebody keeps putting it back")}


def verdict(status: Status, *findings: Finding) -> Verdict:
    return Verdict(status, "because", findings)


inputs = st.builds(
    inputs_with,
    policy=st.sampled_from(ManagementPolicy),
    origin=st.sampled_from(Origin),
    on_drift=st.sampled_from(OnDrift),
    on_immutable=st.sampled_from(OnImmutable),
    recreate=st.sampled_from(Recreate),
    resyncs=st.booleans(),
    applied=st.booleans(),
    imports=st.booleans(),
    whole_writes=st.booleans(),
    immutable=st.sampled_from([frozenset(), frozenset({"/a"})]),
    unresolved=st.sampled_from([frozenset(), frozenset({"/a"})]),
    terminal=st.sampled_from([None, "refused"]),
    restrained=st.dictionaries(
        st.sampled_from(["/a", "/b", "/c", ""]), st.builds(PathHold, st.sampled_from(HoldReason), st.just("held"))
    ),
    free=st.frozensets(st.sampled_from(["/a", "/b"])),
    approved=st.booleans(),
    paused=st.sampled_from([None, "paused by ada"]),
    frozen=st.sampled_from([None, "weekend"]),
)
verdicts = st.one_of(
    st.builds(verdict, st.sampled_from([Status.IN_SYNC, Status.MISSING, Status.UNKNOWN, Status.PENDING])),
    st.just(verdict(Status.PENDING, EDITED)),
    st.sampled_from(
        [verdict(Status.DRIFTED, *some) for some in ([DECLARED], [DEFAULTED], [VANISHED], [DECLARED, DEFAULTED])]
    ),
    st.just(verdict(Status.CONFLICTED, EDITED, DEFAULTED)),
)


@given(verdicts, inputs)
def test_a_decision_is_total_and_every_write_names_what_caused_it(said, inputs):
    decision = decide(said, inputs)
    if decision.action in (Action.UPDATE, Action.REPLACE):
        assert any(reason.paths for reason in decision.reasons)


@given(inputs)
def test_nothing_is_written_on_what_could_not_be_read(inputs):
    assert not decide(verdict(Status.UNKNOWN), inputs).action.is_write


@given(verdicts, inputs)
def test_only_managed_resources_are_ever_written(said, inputs):
    if inputs.handling.policy is not ManagementPolicy.MANAGED:
        assert not decide(said, inputs).action.is_write


@given(verdicts, inputs)
def test_a_stopped_resource_is_not_written_until_it_is_edited(said, inputs):
    if inputs.record.terminal is not None:
        assert not decide(said, inputs).action.is_write


@given(verdicts, inputs)
def test_in_sync_never_leads_to_a_write(said, inputs):
    if said.status is Status.IN_SYNC:
        assert not decide(said, inputs).action.is_write


TABLE = [
    (verdict(Status.IN_SYNC), inputs_with(applied=True), Action.NONE),
    (verdict(Status.IN_SYNC), inputs_with(applied=False), Action.ADOPT),
    (verdict(Status.PENDING), inputs_with(), Action.CREATE),
    (verdict(Status.PENDING), inputs_with(imports=True), Action.BLOCK),
    (verdict(Status.PENDING, EDITED), inputs_with(applied=True), Action.UPDATE),
    (verdict(Status.PENDING, EDITED), inputs_with(immutable=frozenset({"/a"})), Action.BLOCK),
    (
        verdict(Status.PENDING, EDITED),
        inputs_with(immutable=frozenset({"/a"}), on_immutable=OnImmutable.REPLACE),
        Action.REPLACE,
    ),
    (verdict(Status.DRIFTED, DECLARED), inputs_with(), Action.UPDATE),
    (verdict(Status.DRIFTED, DECLARED), inputs_with(on_drift=OnDrift.REPORT), Action.REPORT),
    (verdict(Status.DRIFTED, DECLARED), inputs_with(on_drift=OnDrift.APPROVE), Action.HOLD),
    (verdict(Status.DRIFTED, DECLARED), inputs_with(policy=ManagementPolicy.OBSERVED), Action.REPORT),
    (verdict(Status.DRIFTED, DECLARED), inputs_with(unresolved=frozenset({"/a"})), Action.REPORT),
    (verdict(Status.DRIFTED, DEFAULTED), inputs_with(whole_writes=True), Action.UPDATE),
    (verdict(Status.DRIFTED, DEFAULTED), inputs_with(whole_writes=False), Action.REPORT),
    (verdict(Status.DRIFTED, VANISHED), inputs_with(whole_writes=True), Action.REPORT),
    (verdict(Status.CONFLICTED, EDITED, DEFAULTED), inputs_with(), Action.UPDATE),
    (verdict(Status.CONFLICTED, EDITED, DEFAULTED), inputs_with(on_drift=OnDrift.REPORT), Action.UPDATE),  # only /a
    (verdict(Status.CONFLICTED, FOUGHT_OVER), inputs_with(on_drift=OnDrift.REPORT), Action.HOLD),
    (verdict(Status.MISSING), inputs_with(resyncs=True), Action.RECREATE),
    (verdict(Status.MISSING), inputs_with(resyncs=True, on_drift=OnDrift.REPORT), Action.REPORT),
    (verdict(Status.MISSING), inputs_with(resyncs=True, on_drift=OnDrift.APPROVE), Action.HOLD),
    (verdict(Status.MISSING), inputs_with(resyncs=True, on_drift=OnDrift.APPROVE, approved=True), Action.RECREATE),
    (verdict(Status.DRIFTED, DECLARED), inputs_with(on_drift=OnDrift.APPROVE, approved=True), Action.UPDATE),
    (verdict(Status.DRIFTED, DECLARED), inputs_with(on_drift=OnDrift.REPORT, free=frozenset({"/a"})), Action.UPDATE),
    (verdict(Status.DRIFTED, DECLARED), inputs_with(restrained=A_CONTENTION), Action.REPORT),
    (verdict(Status.DRIFTED, DECLARED), inputs_with(restrained=A_CONTENTION, approved=True), Action.REPORT),
    (verdict(Status.DRIFTED, DECLARED), inputs_with(paused="by ada"), Action.HOLD),
    (verdict(Status.DRIFTED, DECLARED), inputs_with(frozen="weekend"), Action.HOLD),
    (
        verdict(Status.IN_SYNC),
        inputs_with(applied=True, edited=True),
        Action.ADOPT,
    ),  # converged: remembered, not written
    (verdict(Status.PENDING, EDITED), inputs_with(paused="by ada"), Action.HOLD),
]


@pytest.mark.parametrize("said, inputs, action", TABLE)
def test_each_verdict_has_its_action(said, inputs, action):
    assert decide(said, inputs).action is action


@pytest.mark.parametrize("recreate, resyncs", list(itertools.product(Recreate, [True, False])))
def test_what_we_made_and_somebody_removed_comes_back_by_the_rule(recreate, resyncs):
    action = decide(verdict(Status.MISSING), inputs_with(applied=True, recreate=recreate, resyncs=resyncs)).action
    if recreate is Recreate.NEVER:
        assert action is Action.REPORT
    else:
        assert action is (Action.RECREATE if resyncs or recreate is Recreate.ALWAYS else Action.BLOCK)


@pytest.mark.parametrize("recreate, resyncs", list(itertools.product(Recreate, [True, False])))
def test_what_was_imported_and_is_gone_is_never_recreated(recreate, resyncs):
    inputs = inputs_with(applied=True, origin=Origin.IMPORTED, recreate=recreate, resyncs=resyncs)
    assert decide(verdict(Status.MISSING), inputs).action is Action.BLOCK


@given(st.sampled_from(ManagementPolicy), st.sampled_from(Origin), st.sampled_from(OnDelete), st.booleans())
def test_only_what_we_manage_and_do_not_detach_is_deleted(policy, origin, on_delete, exists):
    action = decide_removal(policy, origin, on_delete, exists=exists).action
    if policy is not ManagementPolicy.MANAGED or on_delete is OnDelete.DETACH:
        assert action is Action.NONE


def test_policy_is_asked_path_by_path_and_only_what_may_be_written_causes_the_write():
    inputs = inputs_with(on_drift=OnDrift.REPORT, free=frozenset({"/a"}))
    decision = decide(verdict(Status.DRIFTED, DECLARED, DEFAULTED), inputs)
    assert (decision.action, decision.reasons[0].paths) == (Action.UPDATE, ("/a",))
    assert [(reason.code, reason.paths) for reason in decision.reasons[1:]] == [("report_only", ("/b",))]


@given(verdicts, inputs)
def test_a_restrained_path_never_causes_a_write(said, inputs):
    decision = decide(said, inputs)
    if decision.action is Action.UPDATE:
        moved = {f"/{finding.path[0]}" for finding in said.findings if finding.changed_by is not ChangedBy.DECLARED}
        stopped = {path for path, why in inputs.paths.restrained.items() if why.restraint is not HoldReason.APPROVAL}
        assert not moved & stopped & set(decision.reasons[0].paths)


@given(verdicts, inputs)
def test_a_pause_or_a_window_stops_every_write_it_is_about(said, inputs):
    decision = decide(said, inputs)
    if inputs.limits.paused is not None:
        assert not decision.action.is_write
    if inputs.limits.frozen is not None:
        assert not decision.action.is_write


@given(verdicts, inputs)
def test_a_hold_says_what_it_holds_back(said, inputs):
    decision = decide(said, inputs)
    assert (decision.action is Action.HOLD) == (decision.held is not None)
