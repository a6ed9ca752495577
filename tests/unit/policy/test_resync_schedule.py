"""Due times stay within their jitter, and a backlog is spread evenly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.policy import resync_schedule
from holdfast.policy.settings import JitterShape

chance = st.floats(min_value=0, max_value=1, exclude_max=True)


@pytest.mark.parametrize(
    "shape, random01, at",
    [
        (JitterShape.SYMMETRIC, 0.0, 1900),
        (JitterShape.SYMMETRIC, 0.5, 2000),
        (JitterShape.SYMMETRIC, 0.999999, 2100),
        (JitterShape.POSITIVE, 0.0, 2000),
        (JitterShape.POSITIVE, 0.999999, 2100),
    ],
)
def test_chance_moves_the_due_time_within_the_jitter(shape, random01, at):
    assert resync_schedule.next_due(1000, 1000, 0.1, random01, shape) == pytest.approx(at, abs=0.01)


@given(chance, st.floats(1, 1e6), st.floats(0, 1), st.sampled_from(JitterShape))
def test_the_next_check_is_never_in_the_past(random01, period, jitter, shape):
    at = resync_schedule.next_due(1e9, period, jitter, random01, shape)
    assert 1e9 <= at <= 1e9 + period * (1 + jitter) + 1e-3
    if shape is JitterShape.POSITIVE:
        assert at >= 1e9 + period - 1e-3


def test_a_resource_without_periodic_checks_has_no_due_time():
    with pytest.raises(ValueError, match="no due time"):
        resync_schedule.next_due(0, 0, 0.1, 0.5)


@given(st.integers(0, 500), st.floats(1, 3600), chance)
def test_a_backlog_fills_the_window_evenly_and_in_order(overdue, window, random01):
    times = list(resync_schedule.spread(overdue, 100.0, window, random01))
    assert len(times) == overdue
    assert times == sorted(times)
    for third in range(3):
        share = sum(1 for at in times if third <= (at - 100.0) / window * 3 < third + 1)
        assert abs(share - overdue / 3) <= 2
