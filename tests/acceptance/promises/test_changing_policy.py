"""Switching the management policy, and other settings, leaves nothing pending that nobody could ever clear."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from holdfast.model.json import Json
from holdfast.model.resource import Import, ManagementPolicy
from holdfast.model.verdict import Status
from holdfast.providers.protocol import Draft, Provider
from holdfast.reconcile import serialize
from tests.unit.reconcile.fixtures import Bench, declare


def complete(draft: Draft) -> Mapping[str, Json]:
    """What is not said of our own resources has its usual meaning, as with OpenStack."""
    return {**({"shared": False, "title": draft.name} if draft.is_ours else {}), **draft.desired}


@dataclass
class Completing(Bench):
    patches: bool = True

    def provider(self) -> Provider:
        found = super().provider()
        found.kinds = {name: replace(kind, complete=complete) for name, kind in found.kinds.items()}
        return found


MANAGED = declare("a", {"color": "red", "size": 1})
CHANGES = {
    "observed": replace(MANAGED, policy=ManagementPolicy.OBSERVED),
    "observed and less": replace(MANAGED, policy=ManagementPolicy.OBSERVED, desired={"color": "red"}),
    "mode observe": replace(MANAGED, options={"reconcileMode": "observe"}, desired={"color": "red"}),
    "unmanaged": replace(MANAGED, policy=ManagementPolicy.UNMANAGED),
    "labels": replace(MANAGED, labels={"team": "web"}),
    "report": replace(MANAGED, options={"onDrift": "report"}),
    "ignore": replace(MANAGED, options={"onDriftPaths": {"/size": "ignore"}}),
    "approve": replace(MANAGED, options={"onDrift": "approve", "resyncPeriod": "10m"}),
    "import": replace(MANAGED, import_from=Import(id="id-1")),
}


async def status(bench: Bench, thing) -> Status:
    (checked,) = (await bench.check([thing])).checked
    return checked.verdict.status


@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_settings_alone_leaves_everything_in_sync_there_and_back(change, applied):
    async def story():
        bench = Completing()
        await bench.apply([MANAGED])
        for thing in (CHANGES[change], MANAGED):
            if applied:
                await bench.apply([thing])
            for _ in range(2):
                assert await status(bench, thing) is Status.IN_SYNC
        assert [verb for verb, _, _ in bench.live.writes] == ["create"]
        for record in await bench.store.decisions(None, 100):
            stored, again = await serialize.replay(bench.store, record)
            assert stored == again

    asyncio.run(story())


def test_what_moves_while_it_is_observed_is_told():
    async def story():
        bench = Completing()
        await bench.apply([MANAGED])
        observed = CHANGES["observed"]
        await bench.apply([observed])
        bench.live_thing("a")["shared"] = True
        assert await status(bench, observed) is Status.DRIFTED
        bench.live_thing("a")["shared"] = False
        assert await status(bench, observed) is Status.IN_SYNC

    asyncio.run(story())


def test_what_is_not_as_usual_is_put_right_once_it_is_managed():
    async def story():
        bench = Completing()
        bench.live.things["Thing", "id-1"] = {"color": "red", "size": 1, "shared": True, "name": "a"}
        observed = CHANGES["observed"]
        await bench.apply([observed])
        assert await status(bench, observed) is Status.IN_SYNC
        assert await status(bench, MANAGED) is Status.PENDING
        await bench.apply([MANAGED])
        assert bench.live_thing("a")["shared"] is False
        assert await status(bench, MANAGED) is Status.IN_SYNC

    asyncio.run(story())


def test_what_was_imported_is_held_to_its_declaration_and_no_more_when_the_import_is_said_no_longer():
    async def story():
        bench = Completing()
        bench.live.things["Thing", "id-1"] = {"color": "blue", "size": 1, "shared": True, "name": "a"}
        await bench.apply([CHANGES["import"]])
        await bench.apply([MANAGED])
        assert bench.live_thing("a")["shared"] is True
        assert await status(bench, MANAGED) is Status.IN_SYNC

    asyncio.run(story())
