"""The scenarios of OpenStack Resource Controller by its names (test_kinds has the others), and what it lacks."""

from __future__ import annotations

from dataclasses import replace

from holdfast.model.condition import ConditionType
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.resource import Import, ManagementPolicy
from holdfast.model.verdict import Status
from tests.integration.providers.openstack.bench import Bench, named

INSIDE = {"networkId": "${Network/net.id}", "cidr": "10.0.0.0/24", "ipVersion": 4}


def net(bench: Bench, name: str, **given: Json) -> str:
    """Make a network behind our back; return its id."""
    return str(bench.drift_injector.post("network", "/networks", {"network": {"name": name, **given}})["network"]["id"])


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
    live = bench.drift_injector.get("network", f"/networks/{ident}")["network"]
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
        bench.drift_injector.post("network", "/subnets", {"subnet": given})
    unmanaged = ManagementPolicy.UNMANAGED
    core = bench.declare("Network", "core", import_from=Import(filter=own(bench, "core")), policy=unmanaged)
    criteria = {"name": "inside", "networkId": "${Network/core.id}"}
    inside = bench.declare("Subnet", "inside", import_from=Import(filter=criteria), policy=unmanaged)
    # An unmanaged resource is remembered by being looked at; what refers to it is then found at once.
    bench.apply(core)
    before = bench.mark()
    report = bench.apply(core, inside)
    (found,) = [item for item in report.checked if item.address == inside.address]
    assert found.verdict.status is Status.IN_SYNC
    seen = bench.drift_injector.get("network", f"/subnets/{bench.state(inside).observed.provider_id}")["subnet"]
    assert seen["network_id"] == first
    assert not [request for request in bench.requests(before) if request.is_write]


def test_unmanaged_is_refreshed_and_never_written(bench: Bench):
    ident = net(bench, "core", description="one")
    core = bench.declare("Network", "core", import_from=Import(id=ident), policy=ManagementPolicy.UNMANAGED)
    bench.apply(core)
    bench.drift_injector.put("network", f"/networks/{ident}", {"network": {"description": "two"}})
    before = bench.mark()
    (checked,) = bench.apply(core).checked
    assert checked.verdict.status is Status.IN_SYNC
    observed = bench.state(core).observed.document
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
    assert [item.declaration.address.name for item in report.waiting] == ["sub", "port"]
    assert "known after" in report.waiting[0].reason
    bench.made(network, subnet, port)
    bench.clean(network, subnet, port)
    deleted = bench.remove(network, subnet, port)
    assert [item.checked.address.name for item in deleted.acted] == ["port", "sub", "net"]
    for kind in ("networks", "subnets", "ports"):
        assert not bench.drift_injector.get("network", f"/{kind}?project_id={bench.tenant.project_id}")[kind]


# -- the schedule


def test_resync_disabled(bench: Bench):
    """Period 0: looked at when it is applied, and never again by itself."""
    never = bench.declare("Network", "never", resyncPeriod="0")
    often = bench.declare("Network", "often", resyncPeriod="10s")
    bench.made(never, often)
    first = bench.state(never).schedule.checked_at
    assert bench.state(never).schedule.due_at is None
    bench.drift_injector.put("network", f"/networks/{bench.id(never)}", {"network": {"description": "altered"}})
    bench.process.clock.advance(1000)
    reports = bench.watch(never, often)
    assert [item.address.name for report in reports for item in report.checked] == ["often"]
    assert bench.state(never).schedule.checked_at == first


def test_resync_corrects_by_itself(bench: Bench):
    often = bench.declare("Network", "often", {"description": "mine"}, resyncPeriod="10s")
    bench.made(often)
    bench.process.clock.advance(20)
    bench.drift_injector.put("network", f"/networks/{bench.id(often)}", {"network": {"description": "altered"}})
    (report,) = bench.watch(often)
    assert named(report.checked[0]) == ["/description"]
    assert bench.drift_injector.get("network", f"/networks/{bench.id(often)}")["network"]["description"] == "mine"


def test_resync_jitter(bench: Bench):
    """Three of one period come at three times, within a tenth of it, and go on doing so."""
    three = [bench.declare("Network", f"n{number}", resyncPeriod="100s") for number in range(3)]
    bench.made(*three)
    for _ in range(2):
        bench.process.clock.advance(120)
        bench.watch(*three)
        states = [bench.state(item) for item in three]
        waits = [(state.schedule.due_at or 0) - (state.schedule.checked_at or 0) for state in states]
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
    states = [bench.state(item) for item in three]
    assert all(100 <= (state.schedule.due_at or 0) - (state.schedule.checked_at or 0) <= 120 for state in states)


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
    assert state.schedule.terminal
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
    bench.drift_injector.put("network", f"/networks/{bench.id(wanted)}", {"network": {"description": "altered"}})
    before = bench.mark()
    (checked,) = bench.apply(wanted).checked
    assert (checked.verdict.status, checked.decision.action, named(checked)) == (
        Status.DRIFTED,
        Action.REPORT,
        ["/description"],
    )
    assert not [request for request in bench.requests(before) if request.is_write]


def test_policy_by_field(bench: Bench):
    """One field is reverted, another only reported."""
    wanted = bench.declare("Network", "it", {"description": "mine", "mtu": 1400}, onDriftPaths={"/mtu": "report"})
    bench.made(wanted)
    ident = bench.id(wanted)
    bench.drift_injector.put("network", f"/networks/{ident}", {"network": {"description": "altered", "mtu": 1300}})
    bench.apply(wanted)
    live = bench.drift_injector.get("network", f"/networks/{ident}")["network"]
    assert (live["description"], live["mtu"]) == ("mine", 1300)


def test_recreate_always_is_an_option(bench: Bench):
    """As merged upstream: recreated even where periodic checks are off."""
    wanted = bench.declare("Network", "it", resyncPeriod="0", recreate="always")
    bench.made(wanted)
    first = bench.id(wanted)
    bench.drift_injector.delete("network", f"/networks/{first}")
    bench.made(wanted)
    assert bench.id(wanted) != first


def test_what_was_gone_for_good_comes_back_once_periodic_checks_are_on(bench: Bench):
    """The error says what to set; to set it is enough."""
    off = bench.declare("Network", "it", resyncPeriod="0")
    bench.made(off)
    first = bench.id(off)
    bench.drift_injector.delete("network", f"/networks/{first}")
    (checked,) = bench.apply(off).checked
    assert checked.decision.action is Action.BLOCK
    assert "set another resyncPeriod" in str(bench.state(off).schedule.terminal)
    on = bench.declare("Network", "it", resyncPeriod="1h")
    bench.made(on)
    assert bench.id(on) != first
    bench.clean(on)


def test_split_brain(bench: Bench):
    """Two writers pull at one field: seen, named in a condition, and stopped."""
    wanted = bench.declare("Network", "it", {"description": "mine"})
    bench.made(wanted)
    for _ in range(5):
        bench.process.clock.advance(600)
        bench.drift_injector.put("network", f"/networks/{bench.id(wanted)}", {"network": {"description": "theirs"}})
        bench.apply(wanted)
    (conflict,) = [
        condition for condition in bench.state(wanted).observed.conditions if condition.type is ConditionType.CONFLICT
    ]
    assert (conflict.status, "/description" in conflict.message) == ("True", True)
    assert bench.drift_injector.get("network", f"/networks/{bench.id(wanted)}")["network"]["description"] == "theirs"


def test_detach(bench: Bench):
    """`onDelete: detach` forgets, and leaves the thing."""
    wanted = bench.declare("Network", "it", onDelete="detach")
    bench.made(wanted)
    ident = bench.id(wanted)
    bench.remove(wanted)
    assert bench.drift_injector.get("network", f"/networks/{ident}")["network"]["name"] == "it"


def test_no_state_hash_is_an_option(bench: Bench):
    """As merged upstream: everything is compared at every check; the verdicts are the same."""
    wanted = bench.declare("Subnet", "sub", {**INSIDE, "description": "mine"}, stateHash=False)
    network = bench.declare("Network", "net", stateHash=False)
    bench.made(network, wanted)
    bench.clean(network, wanted)
    bench.drift_injector.put("network", f"/subnets/{bench.id(wanted)}", {"subnet": {"description": "altered"}})
    (checked,) = bench.check(network, wanted, only=wanted)
    assert named(checked) == ["/description"]
    bench.made(network, wanted)
    bench.clean(network, wanted)


# -- specials


def test_subnet_from_a_pool(bench: Bench):
    """The service chooses the addresses; where they came from is declared, and stays."""
    pool = bench.drift_injector.post(
        "network", "/subnetpools", {"subnetpool": {"name": "pool", "prefixes": ["10.64.0.0/16"]}}
    )["subnetpool"]
    network = bench.declare("Network", "net")
    given = {"networkId": "${Network/net.id}", "ipVersion": 4, "subnetPoolId": pool["id"], "prefixLength": 26}
    subnet = bench.declare("Subnet", "sub", given)
    bench.made(network, subnet)
    live = bench.drift_injector.get("network", f"/subnets/{bench.id(subnet)}")["subnet"]
    assert (live["subnetpool_id"], live["cidr"].endswith("/26")) == (pool["id"], True)
    bench.clean(network, subnet)
    bench.drift_injector.delete("network", f"/subnets/{bench.id(subnet)}")
    bench.made(network, subnet)
    bench.clean(network, subnet)


def test_volumes_from_others(bench: Bench):
    """One is a copy of another, one comes from a snapshot; both are told once, and stay what they are."""
    bench.plane.need("cinder")
    source = bench.declare("Volume", "source", {"size": 1})
    copy = bench.declare("Volume", "copy", {"size": 1, "sourceVolumeId": "${Volume/source.id}"})
    bench.made(source, copy)
    taken = {"snapshot": {"volume_id": bench.id(source), "name": "snap"}}
    snapshot = bench.drift_injector.post("block-storage", "/snapshots", taken)["snapshot"]["id"]
    where = f"/snapshots/{snapshot}"
    bench.until(
        lambda: bench.drift_injector.get("block-storage", where)["snapshot"]["status"] == "available",
        "the snapshot is taken",
    )
    again = bench.declare("Volume", "again", {"size": 1, "snapshotId": snapshot})
    bench.made(source, copy, again)
    live = [bench.drift_injector.get("block-storage", f"/volumes/{bench.id(item)}")["volume"] for item in (copy, again)]
    assert (live[0]["source_volid"], live[1]["snapshot_id"]) == (bench.id(source), snapshot)
    bench.clean(source, copy, again)
