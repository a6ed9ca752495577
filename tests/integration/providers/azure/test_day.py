"""A day on Azure, in virtual time: nothing is written that need not be, nobody is refused, every edit is found."""

from __future__ import annotations

import pytest

from tests.benchmarks.azure_day import PERIOD, Run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]


def test_a_day_of_three_hundred_resources_at_the_published_limits(capsys):
    day = Run("get_put").go()
    with capsys.disabled():
        print(f"\n{day}")  # noqa: T201 - the figures are the point
    assert day.resources == 300
    assert day.edits >= 190
    assert day.needless == 0
    assert day.refused == 0
    assert day.found == day.edits
    assert day.latest <= PERIOD
    assert day.puts == day.edits  # one for each edit, none besides
    assert day.most_reads <= 1_500  # of the 12,000 there are


def test_the_same_put_only_spends_the_whole_quota_on_writing_what_is_there(capsys):
    """What a controller does that does not look: two hours of it are enough to see."""
    day = Run("put_only", 2.0).go()
    blind = Run("put_only", 2.0, heeds_quota=False).go()
    with capsys.disabled():
        print(f"\n{day}\n{blind}")  # noqa: T201
    assert day.needless > 0.9 * day.puts
    assert day.most_puts >= 0.9 * 1_200  # of the hourly quota
    assert day.refused == 0  # the quota is heeded even so
    assert blind.refused > 0
