"""What a service fills in when it gets to it: told when it comes, whenever that is, and guarded from then on."""

from __future__ import annotations

import asyncio

from holdfast.model.verdict import Status, SuppressionReason
from tests.unit.reconcile.fixtures import Bench, declare

PROFILE = """\
profile: test/filled-in
version: 1
rules:
  - {path: /address, class: filled_in}
  - {path: /tokens, class: filled_in, list: {keyed: name}}
"""
A_DAY = 24 * 3600


def started(**resource) -> tuple[Bench, list]:
    bench = Bench(patches=True, profile=PROFILE)
    fleet = [declare("a", {"color": "red", **resource})]
    asyncio.run(bench.apply(fleet))
    bench.clock.advance(A_DAY)
    return bench, fleet


async def check(bench: Bench, fleet: list):
    (checked,) = (await bench.check(fleet)).checked
    return checked.verdict


def test_it_joins_the_baseline_long_after_the_write_and_is_told_once():
    bench, fleet = started()
    bench.live_thing("a")["address"] = "10.0.0.1"

    async def story():
        verdict = await check(bench, fleet)
        assert verdict.status is Status.IN_SYNC
        assert [(item.because, item.path) for item in verdict.suppressed] == [(SuppressionReason.LATE, "/address")]
        verdict = await check(bench, fleet)
        assert (verdict.status, verdict.suppressed) == (Status.IN_SYNC, ())
        events = [item.event async for item in bench.store.events(type_prefix="baseline.joined")]
        assert [event.data["defaults"] for event in events] == [[{"path": "/address", "value": "10.0.0.1"}]]

    asyncio.run(story())


def test_from_then_on_another_value_and_none_are_drift():
    bench, fleet = started()
    bench.live_thing("a")["address"] = "10.0.0.1"

    async def story():
        await check(bench, fleet)
        bench.live_thing("a")["address"] = "6.6.6.6"
        assert (await check(bench, fleet)).status is Status.DRIFTED
        del bench.live_thing("a")["address"]
        assert (await check(bench, fleet)).status is Status.DRIFTED

    asyncio.run(story())


def test_an_element_beside_declared_ones_is_filled_in_too_and_its_removal_is_drift():
    bench, fleet = started(tokens=[{"name": "mine"}])
    bench.live_thing("a")["tokens"].append({"name": "a-token-1"})

    async def story():
        verdict = await check(bench, fleet)
        assert verdict.status is Status.IN_SYNC
        assert [item.path for item in verdict.suppressed] == ["/tokens[name=a-token-1]"]
        bench.live_thing("a")["tokens"].pop()
        assert (await check(bench, fleet)).status is Status.DRIFTED

    asyncio.run(story())


def test_beside_drift_only_the_drift_is_found_and_its_correction_leaves_what_was_filled_in():
    bench, fleet = started()
    bench.live_thing("a").update(address="10.0.0.1", color="black")

    async def story():
        verdict = await check(bench, fleet)
        assert [finding.path for finding in verdict.findings] == [("color",)]
        await bench.apply(fleet)
        assert bench.live_thing("a") | {"color": "red", "address": "10.0.0.1"} == bench.live_thing("a")
        for _ in range(2):
            bench.clock.advance(A_DAY)
            assert (await check(bench, fleet)).status is Status.IN_SYNC

    asyncio.run(story())
