"""What was tried before: what matches today's state, which trends there are, and when to refuse another attempt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.remediation.core import past_attempts
from holdfast.remediation.core.past_attempts import AttemptEffect, CurrentState, PastAttempt, Recurrence, StateMatch
from holdfast.remediation.core.state import EndReason

NOW = 10_000_000.0
DAY = 86_400.0
TODAY = CurrentState("prod/Deployment/web", "sha256:now", NOW)


def past(ago, pre="sha256:a", post="sha256:b", **more):
    fields = {"action": "restart", "signal": "HighMemory", "reason": EndReason.FULL, **more}
    return replace(
        PastAttempt(f"rr-{ago}", TODAY.target, NOW - ago, pre_hash=pre, post_hash=post),
        **fields,
    )


@pytest.mark.parametrize(
    "pre, post, found",
    [
        ("sha256:now", "sha256:b", StateMatch.BEFORE),
        ("sha256:now", "sha256:now", StateMatch.BEFORE),
        ("sha256:a", "sha256:now", StateMatch.AFTER),
        ("sha256:a", "sha256:b", StateMatch.NONE),
        (None, None, StateMatch.NONE),
    ],
)
def test_55_which_of_its_states_the_target_is_in(pre, post, found):
    one = past(10, pre, post)
    assert past_attempts.match(one, TODAY.current) is found
    record = past_attempts.record([one], TODAY)
    assert (bool(record.recent), record.is_regression) == (found is not StateMatch.NONE, found is StateMatch.BEFORE)


def test_55_edges_of_the_tiers_other_targets_and_order():
    mine = [past(ago, post="sha256:now") for ago in (0, DAY, DAY + 1, 90 * DAY, 90 * DAY + 1)]
    other = replace(past(5, "sha256:now"), target="prod/Deployment/other")
    record = past_attempts.record([*mine, other], TODAY)
    assert [NOW - item.at for item in record.recent] == [DAY, 0]
    assert [NOW - item.at for item in record.older] == [90 * DAY, DAY + 1]
    assert not record.is_regression
    assert past_attempts.record([past(2 * DAY, "sha256:now")], TODAY).is_regression


@pytest.mark.parametrize(
    "score, reason, found",
    [
        (1.0, EndReason.FULL, AttemptEffect.GOOD),
        (0.7, EndReason.FULL, AttemptEffect.GOOD),
        (0.69, EndReason.FULL, AttemptEffect.MODERATE),
        (0.4, EndReason.PARTIAL, AttemptEffect.MODERATE),
        (0.0, EndReason.FULL, AttemptEffect.POOR),
        (0.0, EndReason.SPEC_DRIFT, AttemptEffect.NOT_HELD),
        (None, EndReason.EXPIRED, AttemptEffect.UNKNOWN),
    ],
)
def test_not_holding_is_told_apart_from_not_helping(score, reason, found):
    assert past_attempts.effect(past(1, score=score, reason=reason)) is found


def test_56_trends_leave_out_what_did_not_hold():
    falling = [past(30, score=0.9), past(20, score=0.5), past(10, score=0.1)]
    drifted = past(15, score=0.0, reason=EndReason.SPEC_DRIFT)
    assert past_attempts.declining([*falling, drifted]) == ("restart",)
    assert past_attempts.declining([*falling[:2], drifted]) == ()
    assert past_attempts.declining([*falling, past(5, score=0.1)]) == ()
    assert past_attempts.recurring([falling[0], drifted]) == ()


@pytest.mark.parametrize(
    "scores, resolved, stop", [((0.0, None), None, True), ((0.0, 0.2), None, False), ((0.0, 0.0), True, False)]
)
def test_56_what_recurs_and_never_helped_must_stop(scores, resolved, stop):
    tried = [past(ago, score=score, is_resolved=resolved) for ago, score in enumerate(scores)]
    assert past_attempts.recurring(tried) == (Recurrence("restart", "HighMemory", 2, stop),)


def test_20_56_what_did_not_hold_led_to_a_later_remediation_only():
    drifted = past(50, post="sha256:p", drifted_hash="sha256:d", reason=EndReason.SPEC_DRIFT, score=0.0)
    earlier, later = past(60, "sha256:d"), past(40, "sha256:d")
    assert past_attempts.follow_up(drifted, [later, earlier, drifted]) == later
    assert past_attempts.follow_up(drifted, [earlier]) is None
    assert past_attempts.follow_up(past(50, post="sha256:d"), [later]) is None


@pytest.mark.parametrize("times, refused", [(2, False), (3, True)])
def test_57_the_same_state_three_times(times, refused):
    tried = [past(7200 + ago, TODAY.current) for ago in range(times)]
    assert bool(past_attempts.refusal(tried, TODAY, "restart")) is refused
    assert past_attempts.refusal([*tried, past(1, "sha256:x")], TODAY, "restart") is None


def test_57_a_chain_of_the_same_action_that_leads_to_today():
    chain = [past(3600, "sha256:a", "sha256:b"), past(100, "sha256:b", "sha256:now")]
    assert "the last 2 times restart" in str(past_attempts.refusal(chain, TODAY, "restart"))
    assert past_attempts.refusal(chain, TODAY, "scale") is None
    assert past_attempts.refusal([past(3601, "sha256:a", "sha256:b"), chain[1]], TODAY, "restart") is None
    assert past_attempts.refusal([chain[0], replace(chain[1], is_resolved=True)], TODAY, "restart") is None


@pytest.mark.parametrize(
    "agos, refused", [((1, 2, 3, 4), False), ((1, 2, 3, 4, 14_400), True), ((1, 2, 3, 4, 14_401), False)]
)
def test_57_five_of_any_kind_within_the_window(agos, refused):
    tried = [past(ago, f"sha256:{ago}", f"sha256:{ago}b") for ago in agos]
    assert bool(past_attempts.refusal(tried, TODAY, "restart")) is refused


def test_57_without_a_memory_nothing_is_refused():
    assert past_attempts.refusal(None, TODAY, "restart") is None
