"""What a person writes about time means one instant, also when the clocks jump."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.policy import time_parsing

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = [dt.UTC, BERLIN, ZoneInfo("America/Sao_Paulo"), ZoneInfo("Australia/Lord_Howe"), ZoneInfo("Pacific/Apia")]


def utc(text):
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC).timestamp()


@pytest.mark.parametrize(
    "text, zone, begins, ends",
    [
        ("2026-12-01", dt.UTC, "2026-12-01T00:00", "2026-12-02T00:00"),
        ("2026-12-01", BERLIN, "2026-11-30T23:00", "2026-12-01T23:00"),
        ("2026-12-01T10:00", BERLIN, "2026-12-01T09:00", "2026-12-01T09:00"),
        ("2026-12-01 10:00:05", dt.UTC, "2026-12-01T10:00:05", "2026-12-01T10:00:05"),
        ("2026-12-01T10:00Z", BERLIN, "2026-12-01T10:00", "2026-12-01T10:00"),
        ("2026-12-01T10:00+0530", BERLIN, "2026-12-01T04:30", "2026-12-01T04:30"),
        ("2026-03-29T02:30", BERLIN, "2026-03-29T01:00", "2026-03-29T01:00"),  # skipped: the moment of the jump
        ("2026-10-25T02:30", BERLIN, "2026-10-25T00:30", "2026-10-25T01:30"),  # twice: begins first, ends last
    ],
)
def test_a_text_is_an_instant(text, zone, begins, ends):
    assert time_parsing.begin(text, zone) == utc(begins)
    assert time_parsing.end(text, zone) == utc(ends)


@pytest.mark.parametrize(
    "value", ["", "tomorrow", "2026-12", "2026-12-01T10", "2026-1-1", 5, None, True, "1" * 100, "٢٠٢٦-١٢-٠١"]
)
def test_what_is_no_time_is_refused_with_an_example(value):
    with pytest.raises(InputError, match="expected a day or a time, such as 2026-12-24 or 2026-12-24T18:00"):
        time_parsing.begin(value)


@pytest.mark.parametrize("value", ["2026-02-29", "2026-13-01", "2026-01-01T25:00", "2026-01-01T10:00+99:00"])
def test_what_is_not_in_the_calendar_is_refused(value):
    with pytest.raises(InputError, match="is not in the calendar"):
        time_parsing.end(value)


@pytest.mark.parametrize(
    "at, text",
    [
        ("2026-12-02T00:00", "2026-12-01"),
        ("2026-12-02T00:01", "2026-12-02T00:01Z"),
        ("2026-12-02T00:00:01", "2026-12-02T00:00:01Z"),
    ],
)
def test_an_end_is_written_as_it_is_read(at, text):
    assert time_parsing.end_text(utc(at)) == text
    assert time_parsing.end(text) == utc(at)


instants = st.integers(int(utc("2010-01-01")), int(utc("2019-01-01")))


@given(instants.map(float))
def test_every_second_is_read_back_as_it_is_written(at):
    assert time_parsing.end(time_parsing.end_text(at)) == at


@given(instants, st.sampled_from(ZONES))
def test_the_first_and_the_last_instant_of_a_wall_time_enclose_all_that_show_it(at, zone):
    wall = dt.datetime.fromtimestamp(at, zone).replace(tzinfo=None, fold=0)
    first, last = time_parsing.first_instant(wall, zone), time_parsing.last_instant(wall, zone)
    assert first <= at <= last or at == first
    assert dt.datetime.fromtimestamp(first, zone).replace(tzinfo=None) >= wall
    assert dt.datetime.fromtimestamp(first - 1, zone).replace(tzinfo=None) < wall
    assert dt.datetime.fromtimestamp(last - 1, zone).replace(tzinfo=None) < wall


@given(
    st.datetimes(dt.datetime.fromisoformat("2010-01-01"), dt.datetime.fromisoformat("2019-01-01")),
    st.sampled_from(ZONES),
)
def test_an_instant_exists_for_every_wall_time_skipped_or_not(wall, zone):
    wall = wall.replace(microsecond=0)
    first = time_parsing.first_instant(wall, zone)
    shown = dt.datetime.fromtimestamp(first, zone).replace(tzinfo=None)
    before = dt.datetime.fromtimestamp(first - 1, zone).replace(tzinfo=None)
    assert before < wall <= shown
