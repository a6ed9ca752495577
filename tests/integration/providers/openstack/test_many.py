"""Three hundred resources cost a check a handful of requests, counted at the services' own door."""

from __future__ import annotations

import pytest

from holdfast.model.resource import Declaration
from holdfast.model.verdict import Status
from tests.integration.providers.openstack.bench import Bench, named

EACH = 100


def adopted(bench: Bench) -> list[Declaration]:
    """Make three hundred things in bulk, and take them over by their names."""
    drift_injector = bench.drift_injector
    nets = drift_injector.post("network", "/networks", {"networks": [{"name": f"n{i}"} for i in range(EACH)]})[
        "networks"
    ]
    drift_injector.post("network", "/security-groups", {"security_groups": [{"name": f"g{i}"} for i in range(EACH)]})
    ports = [{"name": f"p{i}", "network_id": net["id"]} for i, net in enumerate(nets)]
    drift_injector.post("network", "/ports", {"ports": ports})
    wanted = [
        *(bench.declare("Network", f"n{i}") for i in range(EACH)),
        *(bench.declare("SecurityGroup", f"g{i}") for i in range(EACH)),
        *(bench.declare("Port", f"p{i}", {"networkId": net["id"]}) for i, net in enumerate(nets)),
    ]
    bench.made(*wanted)
    return wanted


@pytest.mark.slow
def test_three_hundred_resources_cost_a_handful_of_lists(bench: Bench):
    wanted = adopted(bench)
    # As the next run of the command does: nothing is remembered but what is in the store.
    before = bench.mark()
    checked = bench.check(*wanted)
    asked = bench.requests(before)
    assert {item.verdict.status for item in checked} == {Status.IN_SYNC}
    assert len(asked) <= 6, [request.path for request in asked]
    # One that moved costs its own correction, and no more.
    ident = bench.id(wanted[7])
    bench.drift_injector.put("network", f"/networks/{ident}", {"network": {"description": "altered"}})
    before = bench.mark()
    report = bench.apply(*wanted)
    (drifted,) = [item for item in report.checked if item.verdict.status is not Status.IN_SYNC]
    assert named(drifted) == ["/description"]
    asked = bench.requests(before)
    assert len([request for request in asked if request.is_write]) == 1
    assert len(asked) <= 12, [request.path for request in asked]
    # And the loop sweeps.
    bench.process.clock.advance(10_000)
    before = bench.mark()
    bench.watch(*wanted, rounds=1)
    assert len(bench.requests(before)) <= 12
    # And after a long night nobody asks for everything in the first second.
    bench.process.clock.advance(100_000)
    now = bench.process.clock.now()
    bench.spread()
    states = [bench.state(item) for item in wanted]
    waits = [(state.schedule.due_at or 0) - now for state in states]
    assert min(waits) >= 0
    assert max(waits) <= 62
    assert len({round(wait, 3) for wait in waits}) > 290
