"""Durations are read strictly, written back exactly, and wrong ones say what to write instead."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.policy import durations


@pytest.mark.parametrize(
    "written, seconds",
    [
        (0, 0.0),
        (0.0, 0.0),
        ("0", 0.0),
        ("never", 0.0),
        ("0s", 0.0),
        ("90s", 90.0),
        ("1h", 3600.0),
        ("1h30m", 5400.0),
        ("1h0m0s", 3600.0),
        ("2d", 172800.0),
        ("1w", 604800.0),
        ("1w1d1h1m1s1ms", 694861.001),
        ("1.5h", 5400.0),
        ("250ms", 0.25),
        ("5m", 300.0),
        ("5m10ms", 300.01),
    ],
)
def test_a_duration_becomes_seconds(written, seconds):
    assert durations.parse(written) == seconds


@pytest.mark.parametrize(
    "written, message",
    [
        (90, "90 has no unit; write 90s, 90m or 90h"),
        (1.5, "1.5 has no unit; write 1.5s, 1.5m or 1.5h"),
        ("90", "90 has no unit; write 90s, 90m or 90h"),
        (-1, "-1 is negative; write 0 for off"),
        ("1h 30m", "'1h 30m' is not a duration; write 1h30m"),
        ("1H", "'1H' is not a duration; write 1h"),
        ("30m1h", "'30m1h' is not a duration; units go from large to small, each once, as in 1d2h3m"),
        ("1h1h", "'1h1h' is not a duration; units go from large to small, each once, as in 1d2h3m"),
        ("1 hour", "'1 hour' is not a duration; write 90s, 1h30m or 2d (units: w d h m s ms), or 0 for off"),
        ("", "'' is not a duration; write 90s, 1h30m or 2d (units: w d h m s ms), or 0 for off"),
        ("P1D", "'P1D' is not a duration; write 90s, 1h30m or 2d (units: w d h m s ms), or 0 for off"),
        ("-1h", "'-1h' is not a duration; write 90s, 1h30m or 2d (units: w d h m s ms), or 0 for off"),
        ("1e3s", "'1e3s' is not a duration; write 90s, 1h30m or 2d (units: w d h m s ms), or 0 for off"),
        ("١h", "'١h' is not a duration; write 90s, 1h30m or 2d (units: w d h m s ms), or 0 for off"),
        ("9999999d", "9999999d is longer than a hundred years; write 0 for off"),
        ("1" * 100 + "s", "this text is not a duration; write 90s, 1h30m or 2d (units: w d h m s ms), or 0 for off"),
        (True, "expected a duration, such as 90s, 1h30m or 2d; 0 means off"),
        (None, "expected a duration, such as 90s, 1h30m or 2d; 0 means off"),
        ({}, "expected a duration, such as 90s, 1h30m or 2d; 0 means off"),
    ],
)
def test_what_is_no_duration_says_what_to_write(written, message):
    with pytest.raises(InputError) as caught:
        durations.parse(written)
    assert caught.value.message == message


@pytest.mark.parametrize(
    "seconds, written",
    [(0, "0s"), (0.25, "250ms"), (1.5, "1.5s"), (90, "1m30s"), (3600, "1h"), (129600, "1d12h"), (3600.1, "1h0.1s")],
)
def test_seconds_are_written_as_people_do(seconds, written):
    assert durations.format_seconds(seconds) == written


@given(st.floats(min_value=1e-9, max_value=durations.LONGEST) | st.integers(0, int(durations.LONGEST)) | st.just(0.0))
def test_what_is_written_is_read_back_exactly(seconds):
    assert durations.parse(durations.format_seconds(seconds)) == seconds


@given(st.text(max_size=12))
def test_no_text_makes_it_fail_in_another_way(text):
    with contextlib.suppress(InputError):
        assert durations.parse(text) >= 0


def test_a_negative_duration_cannot_be_written():
    with pytest.raises(ValueError, match="not negative"):
        durations.format_seconds(-1)
