"""The services in trouble: unknown is the verdict, nothing is deleted or made in error, and it converges by itself."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from holdfast.model.verdict import Status
from holdfast.reconcile.action_result import ActionOutcome
from holdfast_emulators.openstack import ControlPlane, Fault, Tenants
from tests.integration.providers.openstack.bench import Bench, named
from tests.integration.providers.openstack.samples_network import SSH


@pytest.fixture
def faults(bench: Bench) -> Iterator[Callable[..., None]]:
    """Spoil requests of this test's own connection."""

    def fail(**given) -> None:
        bench.plane.disturber.fail(Fault(agent=f"connection/{bench.connection.name}", **given))

    yield fail
    bench.plane.disturber.mend()


@pytest.fixture
def alone(
    openstack_plane: ControlPlane, openstack_tenants: Tenants, openstack_alone: Callable[[], None]
) -> Iterator[Bench]:
    """A bench with the control plane to itself."""
    tenant = openstack_tenants.make("a", "admin", "member")
    with Bench.opened(openstack_plane, openstack_tenants, tenant, timeout=60) as opened:
        yield opened


def some(bench: Bench, count: int = 6) -> list:
    """A few networks, enough to be read by a list."""
    return [bench.declare("Network", f"n{number}", {"description": "mine"}) for number in range(count)]


def names(bench: Bench) -> list[str]:
    found = bench.drift_injector.get("network", f"/networks?project_id={bench.tenant.project_id}")["networks"]
    return sorted(item["name"] for item in found)


TROUBLES = {
    "throttled": {"status": 429, "retry_after": 0},
    "unavailable": {"status": 503},
    "broken": {"status": 500},
    "forbidden": {"status": 403},
    "a page of a proxy": {"status": 404, "body": "<html>no such site</html>", "type": "text/html"},
    "an empty 404": {"status": 404, "body": ""},
    "garbage": {"status": 200, "body": "<html>please log in</html>", "type": "text/html"},
}


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
@pytest.mark.parametrize("count", [1, 6], ids=["read", "list"])
def test_a_failed_read_is_unknown_and_nothing_is_written(bench: Bench, faults, trouble, count: int):
    wanted = some(bench, count)
    bench.made(*wanted)
    bench.drift_injector.put("network", f"/networks/{bench.id(wanted[0])}", {"network": {"description": "altered"}})
    bench.process.clock.advance(10_000)
    faults(service="neutron", method="GET", **trouble)
    before = bench.mark()
    report = bench.apply(*wanted)
    assert {item.verdict.status for item in report.checked} == {Status.UNKNOWN}
    assert not report.acted
    assert not [request for request in bench.requests(before) if request.is_write]
    assert all(bench.state(item).schedule.failures for item in wanted)
    bench.plane.disturber.mend()
    bench.made(*wanted)
    bench.clean(*wanted)
    assert names(bench) == [f"n{number}" for number in range(count)]


def test_a_list_that_is_suddenly_empty_makes_nothing_missing(bench: Bench, faults):
    """Each is asked for by itself before anybody calls it gone."""
    wanted = some(bench)
    bench.made(*wanted)
    faults(service="neutron", method="GET", path="/networks", status=200, body='{"networks": []}', times=1)
    assert {item.verdict.status for item in bench.check(*wanted)} == {Status.IN_SYNC}


def test_a_service_that_does_not_answer_in_time_is_unknown(openstack_plane, openstack_tenants, openstack_shared):
    tenant = openstack_tenants.make("s", "admin", "member")
    with Bench.opened(openstack_plane, openstack_tenants, tenant, timeout=20) as bench:
        wanted = some(bench, 1)
        bench.made(*wanted)
        agent = f"connection/{bench.connection.name}"
        bench.plane.disturber.fail(Fault(service="neutron", method="GET", agent=agent, delay=60, times=2))
        try:
            (checked,) = bench.check(*wanted)
        finally:
            bench.plane.disturber.mend()
        assert checked.verdict.status is Status.UNKNOWN
        assert "not answered in time" in checked.verdict.reason
        bench.clean(*wanted)


def test_throttling_slows_the_connection_down(bench: Bench, faults):
    """Retry-After is waited for, once for everybody, and then it works."""
    (wanted,) = some(bench, 1)
    bench.made(wanted)
    bench.drift_injector.put("network", f"/networks/{bench.id(wanted)}", {"network": {"description": "altered"}})
    faults(service="neutron", method="PUT", status=429, retry_after=1, times=1)
    slept = bench.process.clock.slept
    bench.made(wanted)
    assert bench.process.clock.slept - slept >= 0.9
    bench.clean(wanted)


def test_an_answer_that_was_lost_makes_nothing_twice(bench: Bench, faults):
    """The service made it and its answer was lost: the next attempt finds it."""
    wanted = [*some(bench, 2), bench.declare("SecurityGroup", "sg", {"rules": [SSH]})]
    faults(service="neutron", method="POST", status=503, after=True, times=3)
    bench.apply(*wanted)
    bench.plane.disturber.mend()
    bench.made(*wanted)
    bench.clean(*wanted)
    assert names(bench) == ["n0", "n1"]
    groups = bench.drift_injector.get("network", f"/security-groups?name=sg&project_id={bench.tenant.project_id}")
    assert len(groups["security_groups"]) == 1


def test_half_a_write_is_finished(bench: Bench, faults):
    """The group is made and its rules are refused for a while: later they are all there, once."""
    wanted = bench.declare("SecurityGroup", "sg", {"rules": [SSH, {**SSH, "portRangeMin": 80, "portRangeMax": 80}]})
    faults(service="neutron", method="POST", path="/security-group-rules", status=503)
    report = bench.apply(wanted)
    assert report.acted[0].result is ActionOutcome.FAILED
    bench.plane.disturber.mend()
    bench.made(wanted)
    bench.clean(wanted)


def test_an_expired_token_is_renewed(bench: Bench, faults):
    wanted = some(bench, 1)
    bench.made(*wanted)
    faults(service="neutron", method="GET", status=401, times=1)
    assert bench.check(*wanted)[0].verdict.status is Status.IN_SYNC


NEVER_LATCHED = {
    "quota": (
        409,
        '{"NeutronError": {"type": "OverQuota", "message": "Quota exceeded for resources: [\'network\']."}}',
    ),
    "quota elsewhere": (413, '{"overLimit": {"message": "VolumeLimitExceeded", "code": 413}}'),
    "a dependency settles": (400, '{"NeutronError": {"type": "BadRequest", "message": "Bad port request: not ready"}}'),
    "a reference is missing": (404, '{"NeutronError": {"type": "SubnetNotFound", "message": "Subnet x not found"}}'),
    "in use": (409, '{"NeutronError": {"type": "NetworkInUse", "message": "Unable to complete operation"}}'),
    "moved": (412, '{"NeutronError": {"type": "RevisionNumberConstraintFailed", "message": "Constrained to 1"}}'),
    "broken": (500, ""),
    "signed out": (401, '{"error": {"code": 401, "title": "Unauthorized", "message": "no"}}'),
}


@pytest.mark.parametrize("status, body", NEVER_LATCHED.values(), ids=NEVER_LATCHED)
def test_what_may_pass_is_never_taken_as_final(bench: Bench, faults, status: int, body: str):
    (wanted,) = some(bench, 1)
    faults(service="neutron", method="POST", status=status, body=body)
    (acted,) = bench.apply(wanted).acted
    assert acted.result in (ActionOutcome.FAILED, ActionOutcome.MOVED)
    assert bench.state(wanted).schedule.terminal is None
    bench.plane.disturber.mend()
    bench.made(wanted)


FINAL = {
    "malformed": (400, '{"NeutronError": {"type": "HTTPBadRequest", "message": "Invalid input for mtu."}}'),
    "unknown attribute": (400, '{"NeutronError": {"type": "HTTPBadRequest", "message": "Unrecognized attribute(s)"}}'),
    "not implemented": (501, ""),
    "contradiction": (409, '{"NeutronError": {"type": "GatewayConflictWithAllocationPools", "message": "conflicts"}}'),
}


@pytest.mark.parametrize("status, body", FINAL.values(), ids=FINAL)
def test_what_is_hopeless_is_asked_once_and_no_more(bench: Bench, faults, status: int, body: str):
    (wanted,) = some(bench, 1)
    faults(service="neutron", method="POST", status=status, body=body)
    before = bench.mark()
    (acted,) = bench.apply(wanted).acted
    assert acted.result is ActionOutcome.TERMINAL
    for _ in range(3):
        bench.process.clock.advance(10_000)
        bench.apply(wanted)
    assert len([request for request in bench.requests(before) if request.is_write]) == 1


def test_what_is_forbidden_may_be_allowed_later(bench: Bench, faults):
    (wanted,) = some(bench, 1)
    body = '{"NeutronError": {"type": "PolicyNotAuthorized", "message": "disallowed by policy"}}'
    faults(service="neutron", method="POST", status=403, body=body)
    (acted,) = bench.apply(wanted).acted
    assert acted.result is ActionOutcome.FAILED
    assert bench.state(wanted).schedule.terminal is None


def test_a_real_quota_is_waited_for(bench: Bench, openstack_tenants: Tenants):
    quotas = f"/quotas/{bench.tenant.project_id}"
    openstack_tenants.admin.put("network", quotas, {"quota": {"network": 1}})
    wanted = some(bench, 3)
    report = bench.apply(*wanted)
    assert sorted(item.result.value for item in report.acted) == ["done", "failed", "failed"]
    assert "Quota exceeded" in " ".join(item.message for item in report.acted)
    openstack_tenants.admin.put("network", quotas, {"quota": {"network": 10}})
    bench.made(*wanted)
    bench.clean(*wanted)


# -- for real


def test_neutron_stops_in_the_middle_of_a_run(alone: Bench):
    """Half of it is made and half is not; nothing is called missing meanwhile; once it is back all of it is there."""
    wanted = some(alone, 24)
    before = alone.mark()

    def stop_it() -> None:
        end = time.monotonic() + 240
        while time.monotonic() < end:
            if sum(request.method == "POST" for request in alone.requests(before)) >= 12:
                break
            time.sleep(0.02)
        alone.plane.halt("neutron")

    thread = threading.Thread(target=stop_it)
    thread.start()
    first = alone.apply(*wanted)
    thread.join()
    results = {item.result for item in first.acted}
    assert ActionOutcome.DONE in results or ActionOutcome.UNSETTLED in results
    assert {ActionOutcome.FAILED, ActionOutcome.MOVED, ActionOutcome.UNSETTLED} & results
    assert ActionOutcome.TERMINAL not in results
    # While it is away nothing is known, so nothing is done.
    during = alone.apply(*wanted)
    assert {item.verdict.status for item in during.checked} <= {Status.UNKNOWN}
    assert not [item for item in during.acted if item.result is ActionOutcome.DONE]
    alone.plane.need("neutron")
    alone.process.clock.advance(1000)
    alone.apply(*wanted)
    alone.made(*wanted)
    alone.clean(*wanted)
    assert names(alone) == sorted(f"n{number}" for number in range(24))


def test_the_loop_rides_out_an_outage(alone: Bench):
    """Watching goes on while Keystone and Neutron are away, with growing patience, and converges by itself."""
    wanted = [alone.declare("Network", "n", {"description": "mine"}, resyncPeriod="10s")]
    alone.made(*wanted)
    alone.drift_injector.put("network", f"/networks/{alone.id(wanted[0])}", {"network": {"description": "altered"}})
    alone.plane.halt("neutron", "keystone")
    waits = []
    for _ in range(4):
        alone.process.clock.advance(60)
        (report,) = alone.watch(*wanted)
        assert report.checked[0].verdict.status is Status.UNKNOWN
        state = alone.state(wanted[0])
        waits.append((state.schedule.due_at or 0) - (state.schedule.checked_at or 0))
    assert waits[-1] > waits[0]
    alone.plane.need("keystone", "neutron")
    alone.process.clock.advance(60)
    alone.watch(*wanted)
    assert alone.drift_injector.get("network", f"/networks/{alone.id(wanted[0])}")["network"]["description"] == "mine"
    alone.clean(*wanted)


def test_a_row_that_vanished_behind_neutrons_back_is_a_contradiction(alone: Bench):
    """GET says 404, and yet there is a subnet of it: unknown, nothing made, and fine again once the row is back."""
    net = alone.declare("Network", "net")
    subnet = alone.declare("Subnet", "sub", {"networkId": "${Network/net.id}", "cidr": "10.0.0.0/24", "ipVersion": 4})
    alone.made(net, subnet)
    ident = alone.id(net)
    with closing(sqlite3.connect(alone.plane.database("neutron"), timeout=20)) as database, database:
        database.row_factory = sqlite3.Row
        row = dict(database.execute("SELECT * FROM networks WHERE id = ?", [ident]).fetchone())
        database.execute("DELETE FROM networks WHERE id = ?", [ident])
    before = alone.mark()
    for _ in range(2):
        report = alone.apply(net, subnet)
        verdicts = {item.address.name: item.verdict for item in report.checked}
        assert verdicts["net"].status is Status.UNKNOWN
        assert "has a subnet of it" in verdicts["net"].reason
        assert verdicts["sub"].status is Status.IN_SYNC
    assert not [request for request in alone.requests(before) if request.is_write]
    with closing(sqlite3.connect(alone.plane.database("neutron"), timeout=20)) as database, database:
        marks = ", ".join("?" * len(row))
        database.execute(f"INSERT INTO networks ({', '.join(row)}) VALUES ({marks})", list(row.values()))
    alone.clean(net, subnet)
    assert alone.id(net) == ident


def test_an_edit_of_a_row_behind_the_api_is_seen_where_the_revision_is_not_trusted(alone: Bench):
    """`revisions: false` compares everything at every check: for those who mistrust their database."""
    with Bench.opened(alone.plane, alone.tenants, alone.tenant, revisions=False) as bench:
        net = bench.declare("Network", "net", {"mtu": 1400})
        bench.made(net)
        with closing(sqlite3.connect(bench.plane.database("neutron"), timeout=20)) as database, database:
            database.execute("UPDATE networks SET mtu = 1300 WHERE id = ?", [bench.id(net)])
        (checked,) = bench.check(net)
        assert named(checked) == ["/mtu"]
        bench.made(net)
        bench.clean(net)
