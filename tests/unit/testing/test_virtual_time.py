"""Virtual time passes for all who wait together, and not at all while anybody works."""

from __future__ import annotations

import asyncio
import time

import pytest

from holdfast_emulators import virtual_time
from holdfast_emulators.virtual_time import START, VirtualClock


def test_a_day_takes_no_time_and_sleeps_overlap():
    clock = VirtualClock()

    async def day():
        await asyncio.gather(*(clock.sleep(86_400) for _ in range(100)))
        return clock.now()

    began = time.monotonic()
    assert virtual_time.run(day()) == pytest.approx(START + 86_400)
    assert time.monotonic() - began < 86_400, "nobody waited for it"


def test_things_happen_in_the_order_of_their_times():
    clock, seen = VirtualClock(), []

    async def note(after):
        await clock.sleep(after)
        seen.append((after, clock.now() - START))

    async def all_of_them():
        await asyncio.gather(note(30), note(10), note(20))

    virtual_time.run(all_of_them())
    assert seen == [(10, 10), (20, 20), (30, 30)]


def test_waiting_for_ever_is_an_error_and_not_a_hang():
    async def for_ever():
        await asyncio.get_running_loop().create_future()

    with pytest.raises(RuntimeError, match="for ever"):
        virtual_time.run(for_ever())


def test_outside_a_loop_it_is_the_beginning():
    assert VirtualClock().now() == START
