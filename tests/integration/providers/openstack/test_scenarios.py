"""The scenarios of OpenStack Resource Controller by its names (test_kinds has the others), and what it lacks."""

from __future__ import annotations

from dataclasses import replace

from holdfast.model.condition import ConditionType
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.resource import Import, ManagementPolicy
from holdfast.model.verdict import Status
from tests.integration.providers.openstack.bench import Bench, named
from tests.integration.providers.openstack.samples import SSH

HOUR = 3600.0  # seconds


def net(bench: Bench, name: str, **given: Json) -> str:
    """Make a network behind our back; return its id."""
    return str(bench.vandal.post("network", "/networks", {"network": {"name": name, **given}})["network"]["id"])


def own(bench: Bench, name: str) -> dict[str, Json]:
    return {"name": name, "projectId": bench.tenant.project_id}


# -- import


def test_import(bench: Bench):
    """It waits for a match; a name that only begins alike is not taken; the match is, without a write."""
    wanted = bench.declare("Network", "imported", import_from=Import(filter=own(bench, "core")))
    net(bench, "core-not")
    (waiting,) = bench.apply(wanted).waiting
    assert (waiting.is_error, waiting.reason) == (False, "nothing to import matches the filter yet")
    # A declaration with the longer name does not take the shorter one either.
    longer = bench.declare("Network", "core-longer")
    bench.made(longer)
    ident = net(bench, "core", description="by somebody else")
    before = bench.mark()
    bench.made(wanted, longer)
    assert bench.id(wanted) == ident
    assert bench.id(longer) != ident
    assert not [request for request in bench.requests(before) if request.is_write]
    bench.clean(wanted, longer)


def test_import_and_correct(bench: Bench):
    """What is imported is managed from then on: declared fields are put right, others left as they are."""
    ident = net(bench, "core", description="by somebody else")
    wanted = bench.declare("Network", "imported", {"mtu": 1400}, import_from=Import(id=ident))
    bench.made(wanted)
    live = bench.vandal.get("network", f"/networks/{ident}")["network"]
    assert (live["mtu"], live["description"], live["name"]) == (1400, "by somebody else", "core")
    bench.clean(wanted)


def test_import_error(bench: Bench):
    """Two matches are an error that names both."""
    ids = {net(bench, "core"), net(bench, "core")}
    wanted = bench.declare("Network", "imported", import_from=Import(filter=own(bench, "core")))
    (waiting,) = bench.apply(wanted).waiting
    assert waiting.is_error
    assert all(ident in waiting.reason for ident in ids)


def test_import_dependency(bench: Bench):
    """What is imported may be found by what another import brought."""
    first, other = net(bench, "core"), net(bench, "other")
    for parent in (first, other):
        given = {"name": "inside", "network_id": parent, "cidr": "10.0.0.0/24", "ip_version": 4}
        bench.vandal.post("network", "/subnets", {"subnet": given})
    unmanaged = ManagementPolicy.UNMANAGED
    core = bench.declare("Network", "core", import_from=Import(filter=own(bench, "core")), policy=unmanaged)
    criteria = {"name": "inside", "networkId": "${Network/core.id}"}
    inside = bench.declare("Subnet", "inside", import_from=Import(filter=criteria), policy=unmanaged)
    # An unmanaged resource is remembered by being looked at; what refers to it is then found at once.
    bench.apply(core)
    before = bench.mark()
    report = bench.apply(core, inside)
    (found,) = [each for each in report.checked if each.address == inside.address]
    assert found.verdict.status is Status.IN_SYNC
    seen = bench.vandal.get("network", f"/subnets/{bench.state(inside).provider_id}")["subnet"]
    assert seen["network_id"] == first
    assert not [request for request in bench.requests(before) if request.is_write]


def test_unmanaged_is_refreshed_and_never_written(bench: Bench):
    ident = net(bench, "core", description="one")
    core = bench.declare("Network", "core", import_from=Import(id=ident), policy=ManagementPolicy.UNMANAGED)
    bench.apply(core)
    bench.vandal.put("network", f"/networks/{ident}", {"network": {"description": "two"}})
    before = bench.mark()
    (checked,) = bench.apply(core).checked
    assert checked.verdict.status is Status.IN_SYNC
    observed = bench.state(core).observed
    assert observed is not None
    assert bench.run(bench.store.document(observed))["description"] == "two"
    assert not [request for request in bench.requests(before) if request.is_write]


# -- dependencies


def test_dependency(bench: Bench):
    """Who refers to something that is not there waits with a word; deleting goes from the end of the chain."""
    network = bench.declare("Network", "net")
    subnet = bench.declare("Subnet", "sub", {"networkId": "${Network/net.id}", "cidr": "10.0.0.0/24", "ipVersion": 4})
    port = bench.declare(
        "Port", "port", {"networkId": "${Network/net.id}", "fixedIps": [{"subnetId": "${Subnet/sub.id}"}]}
    )
    report = bench.look(network, subnet, port)
    assert [one.declaration.address.name for one in report.waiting] == ["port", "sub"]
    assert "known after" in report.waiting[0].reason
    bench.made(network, subnet, port)
    bench.clean(network, subnet, port)
    deleted = bench.remove(network, subnet, port)
    assert [one.checked.address.name for one in deleted.acted] == ["port", "sub", "net"]
    for kind in ("networks", "subnets", "ports"):
        assert not bench.vandal.get("network", f"/{kind}?project_id={bench.tenant.project_id}")[kind]


def tenant_network(bench: Bench) -> list:
    """A small tenant in which everything hangs together."""
    gateway = {"networkId": "${Network/ext.id}"}
    outer = {"networkId": "${Network/ext.id}", "cidr": "172.24.0.0/24", "ipVersion": 4}
    fixed = [{"subnetId": "${Subnet/sub.id}"}]
    return [
        bench.declare("Network", "ext", {"external": True}),
        bench.declare("Subnet", "ext-sub", outer),
        bench.declare("Network", "net"),
        bench.declare("Subnet", "sub", {"networkId": "${Network/net.id}", "cidr": "10.0.0.0/24", "ipVersion": 4}),
        bench.declare("Router", "r", {"externalGateway": gateway, "interfaces": [{"subnetId": "${Subnet/sub.id}"}]}),
        bench.declare("SecurityGroup", "sg", {"rules": [SSH]}),
        bench.declare(
            "Port",
            "p",
            {"networkId": "${Network/net.id}", "fixedIps": fixed, "securityGroups": ["${SecurityGroup/sg.id}"]},
        ),
        bench.declare("FloatingIP", "f", {"floatingNetworkId": "${Network/ext.id}", "portId": "${Port/p.id}"}),
    ]


def wipe(bench: Bench, everything: list) -> None:
    """Delete a tenant's inner network and all on it, as a person would."""
    ids = {each.address.name: bench.id(each) for each in everything}
    vandal = bench.vandal
    vandal.delete("network", f"/ports/{ids['p']}")
    vandal.put("network", f"/routers/{ids['r']}/remove_router_interface", {"subnet_id": ids["sub"]})
    vandal.delete("network", f"/subnets/{ids['sub']}")
    vandal.delete("network", f"/networks/{ids['net']}")
    vandal.delete("network", f"/security-groups/{ids['sg']}")


def test_dependents_are_linked_again_after_recreation(bench: Bench):
    """A network with all on it is deleted: everything comes back, and router and floating IP lead there again."""
    everything = tenant_network(bench)
    bench.made(*everything)
    bench.clean(*everything)
    before = {each.address.name: bench.id(each) for each in everything}
    wipe(bench, everything)
    bench.made(*everything)
    after = {each.address.name: bench.id(each) for each in everything}
    assert {name for name in after if after[name] != before[name]} == {"net", "sub", "p", "sg"}
    floating = bench.vandal.get("network", f"/floatingips/{after['f']}")["floatingip"]
    assert floating["port_id"] == after["p"]
    port = bench.vandal.get("network", f"/ports/{after['p']}")["port"]
    assert port["security_groups"] == [after["sg"]]
    assert port["network_id"] == after["net"]
    bench.clean(*everything)


def test_dependents_are_linked_again_by_watching(bench: Bench):
    """What refers to something that the loop made again is looked at right then, not an hour later."""
    everything = tenant_network(bench)
    bench.made(*everything)
    wipe(bench, everything)
    for _ in range(6):
        bench.process.clock.advance(1.2 * HOUR)
        bench.watch(*everything, rounds=3)
    floating = bench.vandal.get("network", f"/floatingips/{bench.id(everything[-1])}")["floatingip"]
    assert floating["port_id"] == bench.id(everything[-2])
    bench.clean(*everything)


# -- the schedule


def test_resync_disabled(bench: Bench):
    """Period 0: looked at when it is applied, and never again by itself."""
    never = bench.declare("Network", "never", resyncPeriod="0")
    often = bench.declare("Network", "often", resyncPeriod="10s")
    bench.made(never, often)
    first = bench.state(never).checked_at
    assert bench.state(never).due_at is None
    bench.vandal.put("network", f"/networks/{bench.id(never)}", {"network": {"description": "vandalised"}})
    bench.process.clock.advance(1000)
    reports = bench.watch(never, often)
    assert [one.address.name for report in reports for one in report.checked] == ["often"]
    assert bench.state(never).checked_at == first


def test_resync_corrects_by_itself(bench: Bench):
    often = bench.declare("Network", "often", {"description": "mine"}, resyncPeriod="10s")
    bench.made(often)
    bench.process.clock.advance(20)
    bench.vandal.put("network", f"/networks/{bench.id(often)}", {"network": {"description": "vandalised"}})
    (report,) = bench.watch(often)
    assert named(report.checked[0]) == ["/description"]
    assert bench.vandal.get("network", f"/networks/{bench.id(often)}")["network"]["description"] == "mine"


def test_resync_jitter(bench: Bench):
    """Three of one period come at three times, within a tenth of it, and go on doing so."""
    three = [bench.declare("Network", f"n{number}", resyncPeriod="100s") for number in range(3)]
    bench.made(*three)
    for _ in range(2):
        bench.process.clock.advance(120)
        bench.watch(*three)
        states = [bench.state(each) for each in three]
        waits = [(state.due_at or 0) - (state.checked_at or 0) for state in states]
        assert all(90 <= wait <= 110 for wait in waits)
        assert len(set(waits)) == 3


def test_resync_jitter_of_upstream_is_an_option(bench: Bench):
    """What was merged upstream is never early: from the period on, up to a fifth later."""
    three = [
        bench.declare("Network", f"n{number}", resyncPeriod="100s", resyncJitter="20%", resyncJitterShape="positive")
        for number in range(3)
    ]
    bench.made(*three)
    bench.process.clock.advance(130)
    bench.watch(*three)
    states = [bench.state(each) for each in three]
    assert all(100 <= (state.due_at or 0) - (state.checked_at or 0) <= 120 for state in states)


def test_resync_terminal_error(bench: Bench):
    """What is in error for good is not tried again and again, whatever its period."""
    net(bench, "core")
    net(bench, "core")
    wanted = bench.declare("Network", "it", import_from=Import(filter=own(bench, "core")), resyncPeriod="10s")
    bench.apply(wanted)
    assert bench.run(bench.store.state(wanted.address)) is None
    bench.process.clock.advance(15)
    before = bench.mark()
    assert bench.watch(wanted) == []
    assert not bench.requests(before)
    # And what the service refuses for good stays refused until somebody edits it.
    broken = bench.declare(
        "Subnet",
        "broken",
        {"networkId": "${Network/ok.id}", "cidr": "10.0.0.0/24", "ipVersion": 4, "gatewayIp": "not an address"},
        resyncPeriod="10s",
    )
    fine = bench.declare("Network", "ok", resyncPeriod="0")
    bench.apply(fine, broken)
    state = bench.state(broken)
    assert state.terminal
    for _ in range(3):
        bench.process.clock.advance(15)
        before = bench.mark()
        bench.watch(fine, broken)
        assert not [request for request in bench.requests(before) if request.is_write]
    mended = replace(broken, desired={**broken.desired, "gatewayIp": "10.0.0.1"})
    bench.made(fine, mended)
    bench.clean(fine, mended)


# -- what upstream left out


def test_report_only(bench: Bench):
    """Somebody's change is told, and left alone."""
    wanted = bench.declare("Network", "it", {"description": "mine"}, onDrift="report")
    bench.made(wanted)
    bench.vandal.put("network", f"/networks/{bench.id(wanted)}", {"network": {"description": "vandalised"}})
    before = bench.mark()
    (checked,) = bench.apply(wanted).checked
    assert (checked.verdict.status, checked.decision.action, named(checked)) == (
        Status.DRIFTED,
        Action.REPORT,
        ["/description"],
    )
    assert not [request for request in bench.requests(before) if request.is_write]


def test_policy_by_field(bench: Bench):
    """One field is put back, another only reported."""
    wanted = bench.declare("Network", "it", {"description": "mine", "mtu": 1400}, onDriftPaths={"/mtu": "report"})
    bench.made(wanted)
    ident = bench.id(wanted)
    bench.vandal.put("network", f"/networks/{ident}", {"network": {"description": "vandalised", "mtu": 1300}})
    bench.apply(wanted)
    live = bench.vandal.get("network", f"/networks/{ident}")["network"]
    assert (live["description"], live["mtu"]) == ("mine", 1300)


def test_recreate_always_is_an_option(bench: Bench):
    """As merged upstream: made again even where periodic checks are off."""
    wanted = bench.declare("Network", "it", resyncPeriod="0", recreate="always")
    bench.made(wanted)
    first = bench.id(wanted)
    bench.vandal.delete("network", f"/networks/{first}")
    bench.made(wanted)
    assert bench.id(wanted) != first


def test_split_brain(bench: Bench):
    """Two writers pull at one field: seen, named in a condition, and stopped."""
    wanted = bench.declare("Network", "it", {"description": "mine"})
    bench.made(wanted)
    for _ in range(5):
        bench.process.clock.advance(600)
        bench.vandal.put("network", f"/networks/{bench.id(wanted)}", {"network": {"description": "theirs"}})
        bench.apply(wanted)
    (conflict,) = [each for each in bench.state(wanted).conditions if each.type is ConditionType.CONFLICT]
    assert (conflict.status, "/description" in conflict.message) == ("True", True)
    assert bench.vandal.get("network", f"/networks/{bench.id(wanted)}")["network"]["description"] == "theirs"


def test_detach(bench: Bench):
    """`onDelete: detach` forgets, and leaves the thing."""
    wanted = bench.declare("Network", "it", onDelete="detach")
    bench.made(wanted)
    ident = bench.id(wanted)
    bench.remove(wanted)
    assert bench.vandal.get("network", f"/networks/{ident}")["network"]["name"] == "it"
