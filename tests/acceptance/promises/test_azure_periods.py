"""Azure at the sync periods that people use: what a portal does is reverted, what a service moves is left alone."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.reconcile.policy_evaluation import PolicyRules
from holdfast_emulators.azure import Fill
from tests.integration.providers.azure.estate import WIDGET, Estate, widget

MINUTES = (15, 30, 60, 600)


def estate() -> Estate:
    here = Estate(rules=PolicyRules())  # as a new user has them
    here.arm.teach(WIDGET, Fill("/properties/tier", "standard"), Fill("/properties/counter", 0))
    return here


@pytest.mark.parametrize("minutes", [5, *MINUTES])
def test_a_portal_edit_of_a_default_is_reverted_after_three_edits_of_ones_own(minutes):
    async def story() -> None:
        here = estate()
        await here.sync(widget(size=1), minutes=minutes)
        for tier in ("gold", "silver", "bronze"):
            await here.sync(widget(size=1, tier=tier), minutes=minutes)
            assert here.shown()["properties"]["tier"] == tier
        await here.sync(widget(size=1), minutes=minutes)
        usual = here.shown()["properties"]["tier"]
        here.edit({"/properties/tier": "evil"})
        written = here.puts()
        await here.sync(widget(size=1), times=3, minutes=minutes)
        assert (here.shown()["properties"]["tier"], here.puts()) == (usual, written + 1)

    asyncio.run(story())


@pytest.mark.parametrize("minutes", MINUTES)
def test_a_field_that_moves_at_every_sync_is_left_alone_after_three_corrections(minutes):
    async def story() -> None:
        here = estate()
        thing = widget(size=1)
        await here.sync(thing, minutes=minutes)
        written = here.puts()
        for number in range(1, 32):
            here.edit({"/properties/counter": number})
            await here.sync(thing, minutes=minutes)
        assert here.puts() == written + 3
        here.edit({"/properties/size": 9})  # what is declared is reverted all the same
        await here.sync(thing, minutes=minutes)
        assert here.shown()["properties"]["size"] == 1

    asyncio.run(story())
