"""Windows open and close by the clock on the wall, also on the days on which it jumps."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.policy import windows
from holdfast.policy.windows import ALL_DAY, EVERY_DAY, Hours, Mode, Window
from holdfast.policy.write_reasons import EVERY, WriteReason

BERLIN = ZoneInfo("Europe/Berlin")
SAO_PAULO = ZoneInfo("America/Sao_Paulo")
APIA = ZoneInfo("Pacific/Apia")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")  # its clocks jump by half an hour
MON, TUE, WED, THU, FRI, SAT, SUN = range(7)


def at(text, zone=BERLIN, fold=0):
    return dt.datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).timestamp()


def utc(text):
    return at(text, dt.UTC)


def hours(start, end):
    minutes = [int(part[:2]) * 60 + int(part[3:]) for part in (start, end)]
    return Hours(*minutes)


def freeze(days=EVERY_DAY, span=ALL_DAY, zone=BERLIN, **given):
    return Window(Mode.FREEZE, zone, frozenset(days), span, **given)


def allow(days=EVERY_DAY, span=ALL_DAY, zone=BERLIN, **given):
    return Window(Mode.ALLOW, zone, frozenset(days), span, **given)


NIGHTS = freeze({FRI, SAT, SUN}, hours("16:00", "08:00"), reason="weekend")
OFFICE = allow({MON, TUE, WED, THU, FRI}, hours("09:00", "17:00"))


def until(given, now):
    held = windows.closed_by(given, now)
    return None if held is None else held.until


def test_without_windows_everything_is_open():
    assert windows.closed_by([], utc("2026-03-04T12:00")) is None


@pytest.mark.parametrize(
    "now, opens",
    [  # 2026-03-06 is a Friday
        ("2026-03-06T15:59:59", None),
        ("2026-03-06T16:00", "2026-03-07T08:00"),
        ("2026-03-07T00:00", "2026-03-07T08:00"),
        ("2026-03-07T07:59:59", "2026-03-07T08:00"),
        ("2026-03-07T08:00", None),  # each day's window ends on its own morning
        ("2026-03-08T23:00", "2026-03-09T08:00"),
        ("2026-03-09T07:00", "2026-03-09T08:00"),  # Monday morning still belongs to Sunday
        ("2026-03-09T16:00", None),
        ("2026-03-05T23:00", None),  # Thursday night is no weekend
    ],
)
def test_a_window_over_midnight_belongs_to_the_day_on_which_it_begins(now, opens):
    assert until([NIGHTS], at(now)) == (at(opens) if opens else None)
    assert (windows.closed_by([NIGHTS], at(now)) is None) is (opens is None)


@pytest.mark.parametrize(
    "now, opens",
    [
        ("2026-03-04T09:00", None),
        ("2026-03-04T16:59", None),
        ("2026-03-04T17:00", "2026-03-05T09:00"),
        ("2026-03-04T03:00", "2026-03-04T09:00"),
        ("2026-03-06T17:00", "2026-03-09T09:00"),  # over the week's end
        ("2026-03-08T12:00", "2026-03-09T09:00"),
        ("2026-03-28T12:00", "2026-03-30T09:00"),  # over the jump of the clocks
    ],
)
def test_outside_of_all_allowed_times_it_is_closed(now, opens):
    assert until([OFFICE], at(now)) == (at(opens) if opens else None)


def test_a_freeze_wins_over_an_allowance():
    now = at("2026-03-06T16:30")  # a Friday
    assert until([OFFICE, NIGHTS], now) == at("2026-03-09T09:00")
    held = windows.closed_by([OFFICE, NIGHTS], now)
    assert held is not None
    assert held.window is NIGHTS
    assert str(held) == "frozen for weekend (fri-sun 16:00-08:00 Europe/Berlin); opens 2026-03-09 09:00 Europe/Berlin"


def test_what_is_closed_by_an_allowance_names_the_one_that_opens_next():
    held = windows.closed_by(
        [OFFICE, allow({SAT}, hours("10:00", "11:00"), reason="maintenance")], at("2026-03-07T00:00")
    )
    assert str(held) == (
        "outside of the allowed times for maintenance (sat 10:00-11:00 Europe/Berlin); "
        "opens 2026-03-07 10:00 Europe/Berlin"
    )


def test_freezes_that_follow_one_another_open_when_the_last_is_over():
    night = freeze(span=hours("22:00", "06:00"))
    morning = freeze(span=hours("06:00", "09:00"))
    assert until([night, morning], at("2026-03-04T23:00")) == at("2026-03-05T09:00")


@pytest.mark.parametrize(
    "given",
    [
        [freeze()],
        [freeze(span=Hours(600, 600))],  # from ten to ten
        [freeze(start=0.0)],
        [allow(end=utc("2026-01-01"))],
        [OFFICE, freeze({MON, TUE, WED, THU, FRI})],
        [freeze(end=utc("2030-01-01")), freeze()],
        [allow(set())],
    ],
)
def test_what_never_opens_says_so(given):
    held = windows.closed_by(given, utc("2026-03-04T12:00"))
    assert held is not None
    assert held.until is None
    assert str(held).endswith("; it never opens")


@pytest.mark.parametrize(
    "now, opens",
    [
        ("2026-12-24T17:59:59", None),
        ("2026-12-24T18:00", "2027-01-02T08:00"),
        ("2027-01-02T07:59:59", "2027-01-02T08:00"),
        ("2027-01-02T08:00", None),
    ],
)
def test_a_freeze_may_happen_once(now, opens):
    holidays = freeze(start=utc("2026-12-24T18:00"), end=utc("2027-01-02T08:00"), zone=dt.UTC, reason="holidays")
    assert until([holidays], utc(now)) == (utc(opens) if opens else None)
    assert str(holidays) == "from 2026-12-24 18:00 until 2027-01-02 08:00 UTC"


def test_an_allowance_may_happen_once():
    once = allow(start=utc("2026-12-24T18:00"), end=utc("2026-12-24T19:00"))
    assert until([once], utc("2026-01-01T00:00")) == utc("2026-12-24T18:00")
    assert windows.closed_by([once], utc("2026-12-24T18:30")) is None
    assert until([once, OFFICE], utc("2026-12-24T16:30")) == utc("2026-12-24T18:00")


def test_a_distant_freeze_and_a_weekly_allowance_meet_years_later():
    assert until([freeze(end=utc("2031-01-01")), OFFICE], utc("2026-01-01T00:00")) == at("2031-01-01T09:00")


@pytest.mark.parametrize(
    "span, zone, closed_from, closed_to",
    [
        # Forward: on 2026-03-29 two o'clock is three o'clock in Berlin, at 01:00 UTC.
        (hours("01:00", "04:00"), BERLIN, "2026-03-29T00:00", "2026-03-29T02:00"),
        (hours("02:30", "04:00"), BERLIN, "2026-03-29T01:00", "2026-03-29T02:00"),
        (hours("01:00", "02:30"), BERLIN, "2026-03-29T00:00", "2026-03-29T01:00"),
        (hours("01:00", "02:00"), BERLIN, "2026-03-29T00:00", "2026-03-29T01:00"),
        (hours("03:00", "04:00"), BERLIN, "2026-03-29T01:00", "2026-03-29T02:00"),
        # Back: on 2026-10-25 three o'clock is two o'clock in Berlin, at 01:00 UTC.
        (hours("01:00", "04:00"), BERLIN, "2026-10-24T23:00", "2026-10-25T03:00"),
        (hours("02:30", "04:00"), BERLIN, "2026-10-25T00:30", "2026-10-25T03:00"),
        (hours("01:00", "02:30"), BERLIN, "2026-10-24T23:00", "2026-10-25T01:30"),
        (hours("01:00", "02:00"), BERLIN, "2026-10-24T23:00", "2026-10-25T00:00"),
        (hours("02:00", "03:00"), BERLIN, "2026-10-25T00:00", "2026-10-25T02:00"),
        (hours("03:00", "04:00"), BERLIN, "2026-10-25T02:00", "2026-10-25T03:00"),
        (hours("22:00", "06:00"), BERLIN, "2026-10-24T20:00", "2026-10-25T05:00"),
        # At midnight: on 2018-11-04 midnight is one o'clock in São Paulo, at 03:00 UTC.
        (hours("00:00", "06:00"), SAO_PAULO, "2018-11-04T03:00", "2018-11-04T08:00"),
        # And on 2018-02-17 midnight is eleven o'clock of the evening before, at 02:00 UTC.
        (hours("12:00", "24:00"), SAO_PAULO, "2018-02-17T14:00", "2018-02-18T03:00"),
        # By half an hour: on 2026-04-05 two o'clock is half past one on Lord Howe, at 15:00 UTC the day before.
        (hours("01:00", "02:00"), LORD_HOWE, "2026-04-04T14:00", "2026-04-04T15:30"),
        (hours("01:45", "03:00"), LORD_HOWE, "2026-04-04T14:45", "2026-04-04T16:30"),
    ],
)
def test_a_window_on_a_day_on_which_the_clocks_jump(span, zone, closed_from, closed_to):
    given = [freeze(span=span, zone=zone)]
    start, end = utc(closed_from), utc(closed_to)
    assert windows.closed_by(given, start - 1) is None
    assert until(given, start) == end
    assert until(given, (start + end) / 2) == end
    assert until(given, end - 1) == end
    assert windows.closed_by(given, end) is None


def test_a_window_that_the_clocks_jump_over_does_not_happen():
    given = [freeze(span=hours("02:00", "03:00"))]
    assert all(windows.closed_by(given, utc("2026-03-29T00:00") + minute * 60) is None for minute in range(180))
    skipped = [allow({SUN}, hours("02:00", "03:00"))]
    assert until(skipped, at("2026-03-28T12:00")) == at("2026-04-05T02:00")


def test_a_day_that_the_calendar_skipped_does_not_happen():
    fridays = [freeze({FRI}, zone=APIA)]  # 2011-12-30 was left out on Samoa; it would have been a Friday
    around = utc("2011-12-30T10:00")
    assert all(windows.closed_by(fridays, around + hour * 3600) is None for hour in range(-12, 24))


def test_a_window_holds_only_what_it_is_for():
    only_drift = freeze(reasons=frozenset({WriteReason.DRIFT}))
    now = utc("2026-03-04T12:00")
    assert windows.closed_by([only_drift], now, "drift") is not None
    assert windows.closed_by([only_drift], now, "recreate") is None
    assert windows.closed_by([freeze()], now, "intent") is None
    assert windows.closed_by([freeze(reasons=EVERY)], now, "intent") is not None
    assert windows.closed_by([allow(set(), reasons=frozenset({WriteReason.DRIFT}))], now, "conflict") is None


zones = st.sampled_from([BERLIN, dt.UTC, SAO_PAULO, LORD_HOWE, ZoneInfo("America/New_York")])
minutes = st.integers(0, 1440 // 15 - 1).map(lambda quarter: quarter * 15)
weekly = st.builds(
    Window,
    st.sampled_from(Mode),
    zones,
    st.frozensets(st.integers(0, 6), min_size=1),
    st.builds(Hours, minutes, minutes | st.just(1440)),
)
instants = st.integers(int(utc("2018-01-01")), int(utc("2018-12-31"))).map(float)
once = st.builds(Window, st.sampled_from(Mode), zones, start=instants | st.none(), end=instants)


def shows(window, now):
    """Tell by nothing but the clock on the wall whether a weekly window is on."""
    wall = dt.datetime.fromtimestamp(now, window.zone)
    minute = wall.hour * 60 + wall.minute
    start, end = window.hours
    today, yesterday = wall.weekday(), (wall.weekday() - 1) % 7
    if end > start:
        return today in window.days and start <= minute < end
    return (today in window.days and minute >= start) or (yesterday in window.days and minute < end)


def is_quiet(window, now):
    """Tell whether the clocks do not jump within a day and a half."""
    offsets = {dt.datetime.fromtimestamp(now + hour * 3600, window.zone).utcoffset() for hour in range(-36, 37, 6)}
    return len(offsets) == 1


@given(weekly, instants)
def test_on_ordinary_days_the_wall_clock_alone_decides(window, now):
    if is_quiet(window, now):
        assert (windows._covered_until(window, now) is not None) is shows(window, now)


@given(weekly, instants)
def test_on_any_day_what_the_wall_clock_shows_is_covered(window, now):
    if shows(window, now):
        assert windows._covered_until(window, now) is not None


@settings(max_examples=40)
@given(st.lists(weekly | once, max_size=4), instants)
def test_it_is_closed_until_the_moment_it_opens_and_then_it_is_open(given, now):
    held = windows.closed_by(given, now)
    if held is None:
        return
    if held.until is not None:
        assert held.until > now
        assert windows.closed_by(given, held.until) is None
    step = 900.0  # every edge of a weekly window stands on a quarter of an hour
    first = (now // step + 1) * step
    last = held.until if held.until is not None else now + 15 * 86_400
    for moment in range(int(first), min(int(last), int(now) + 15 * 86_400), int(step)):
        assert windows.closed_by(given, float(moment)) is not None


@given(weekly, instants)
def test_a_window_tells_when_it_begins_next(window, now):
    start = windows._next_start(window, now)
    assert now < start <= now + 15 * 86_400
    assert windows._covered_until(window, start) is not None
