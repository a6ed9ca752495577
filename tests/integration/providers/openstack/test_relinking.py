"""What somebody deleted comes back under another id, and whoever refers to it is led there again, for every kind.

Nothing refers to floating IPs, trunks, address scopes, users and servers; how they come back is in test_kinds.
"""

from __future__ import annotations

from dataclasses import replace

from holdfast.model.decision import Action
from holdfast.model.resource import Declaration
from holdfast.model.verdict import Status
from tests.integration.providers.openstack import samples_others as samples
from tests.integration.providers.openstack.bench import Bench
from tests.integration.providers.openstack.samples_network import SSH

HOUR = 3600.0  # seconds
SERVERS = samples.SERVERS


def tenant_network(bench: Bench) -> list[Declaration]:
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


def ids(bench: Bench, everything: list[Declaration]) -> dict[str, str]:
    return {item.address.name: bench.id(item) for item in everything}


def others(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name for name in after if after[name] != before[name]}


def wipe(bench: Bench, everything: list[Declaration]) -> None:
    """Delete a tenant's inner network and all on it, as a person would."""
    known, drift_injector = ids(bench, everything), bench.drift_injector
    drift_injector.delete("network", f"/ports/{known['p']}")
    drift_injector.put("network", f"/routers/{known['r']}/remove_router_interface", {"subnet_id": known["sub"]})
    drift_injector.delete("network", f"/subnets/{known['sub']}")
    drift_injector.delete("network", f"/networks/{known['net']}")
    drift_injector.delete("network", f"/security-groups/{known['sg']}")


def test_networks_subnets_ports_and_groups(bench: Bench):
    """A network with all on it is deleted: everything comes back, and router and floating IP lead there again."""
    everything = tenant_network(bench)
    bench.made(*everything)
    bench.clean(*everything)
    before = ids(bench, everything)
    wipe(bench, everything)
    bench.made(*everything)
    after = ids(bench, everything)
    assert others(before, after) == {"net", "sub", "p", "sg"}
    floating = bench.drift_injector.get("network", f"/floatingips/{after['f']}")["floatingip"]
    assert floating["port_id"] == after["p"]
    port = bench.drift_injector.get("network", f"/ports/{after['p']}")["port"]
    assert port["security_groups"] == [after["sg"]]
    assert port["network_id"] == after["net"]
    bench.clean(*everything)


def test_by_watching(bench: Bench):
    """What refers to something that the loop recreated is looked at right then, not an hour later."""
    everything = tenant_network(bench)
    bench.made(*everything)
    wipe(bench, everything)
    for _ in range(4):
        bench.process.clock.advance(1.2 * HOUR)
        bench.watch(*everything, rounds=2)
    floating = bench.drift_injector.get("network", f"/floatingips/{bench.id(everything[-1])}")["floatingip"]
    assert floating["port_id"] == bench.id(everything[-2])
    bench.clean(*everything)


def test_routers(bench: Bench):
    """A router comes back with its interfaces and its gateway; the address that led through it leads again."""
    everything = tenant_network(bench)
    bench.made(*everything)
    before = ids(bench, everything)
    bench.drift_injector.put("network", f"/floatingips/{before['f']}", {"floatingip": {"port_id": None}})
    out = {"subnet_id": before["sub"]}
    bench.drift_injector.put("network", f"/routers/{before['r']}/remove_router_interface", out)
    bench.drift_injector.delete("network", f"/routers/{before['r']}")
    bench.apply(*everything)  # the address may come before the router: nobody said that it needs one
    bench.made(*everything)
    after = ids(bench, everything)
    assert others(before, after) == {"r"}
    assert bench.drift_injector.get("network", f"/floatingips/{after['f']}")["floatingip"]["port_id"] == after["p"]
    bench.clean(*everything)


def test_ports_on_trunks_and_groups_in_rules(bench: Bench):
    rules = [{"direction": "ingress", "protocol": "tcp", "remoteGroupId": "${SecurityGroup/peers.id}"}]
    everything = [
        bench.declare("Network", "net"),
        *(bench.declare("Port", name, {"networkId": "${Network/net.id}"}) for name in ("parent", "child")),
        bench.declare(
            "Trunk",
            "t",
            {
                "portId": "${Port/parent.id}",
                "subPorts": [{"portId": "${Port/child.id}", "segmentationType": "vlan", "segmentationId": 10}],
            },
        ),
        bench.declare("SecurityGroup", "peers"),
        bench.declare("SecurityGroup", "web", {"rules": rules}),
    ]
    bench.made(*everything)
    before = ids(bench, everything)
    gone = {"sub_ports": [{"port_id": before["child"]}]}
    bench.drift_injector.put("network", f"/trunks/{before['t']}/remove_subports", gone)
    bench.drift_injector.delete("network", f"/ports/{before['child']}")
    bench.drift_injector.delete("network", f"/security-groups/{before['peers']}")
    bench.made(*everything)
    after = ids(bench, everything)
    assert others(before, after) == {"child", "peers"}
    (row,) = bench.drift_injector.get("network", f"/trunks/{after['t']}")["trunk"]["sub_ports"]
    assert row["port_id"] == after["child"]
    (rule,) = bench.drift_injector.get("network", f"/security-groups/{after['web']}")["security_group"][
        "security_group_rules"
    ]
    assert rule["remote_group_id"] == after["peers"]
    bench.clean(*everything)


def test_projects(bench: Bench):
    """A user whose project is gone gets the new one as its own; what lives in a project cannot move there."""
    home, user = f"{bench.tenant.name}-home", f"{bench.tenant.name}-user"
    everything = [
        bench.declare("Project", home),
        bench.declare("User", user, {"defaultProjectId": f"${{Project/{home}.id}}"}),
        bench.declare("Network", "net", {"projectId": f"${{Project/{home}.id}}"}),
    ]
    bench.made(*everything)
    before = ids(bench, everything)
    bench.drift_injector.delete("identity", f"/projects/{before[home]}")
    report = bench.apply(*everything)
    after = ids(bench, everything)
    assert others(before, after) == {home}
    assert bench.drift_injector.get("identity", f"/users/{after[user]}")["user"]["default_project_id"] == after[home]
    (net,) = [item for item in report.checked if item.address.name == "net"]
    assert (net.decision.action, net.decision.reasons[0].paths) == (Action.BLOCK, ("/projectId",))


def test_volume_types(bench: Bench):
    """A type goes only after its volumes; both come back, the one of the other."""
    bench.plane.need("cinder")
    gold = f"{bench.tenant.name}-gold"
    everything = [
        bench.declare("VolumeType", gold),
        bench.declare("Volume", "v", {"size": 1, "volumeType": f"${{VolumeType/{gold}.name}}"}),
    ]
    bench.made(*everything)
    before = ids(bench, everything)
    bench.drift_injector.delete("block-storage", f"/volumes/{before['v']}")
    bench.until(
        lambda: not bench.drift_injector.get("block-storage", "/volumes/detail")["volumes"], "the volume is gone"
    )
    bench.drift_injector.delete("block-storage", f"/types/{before[gold]}")
    bench.made(*everything)
    after = ids(bench, everything)
    assert others(before, after) == {gold, "v"}
    assert bench.drift_injector.get("block-storage", f"/volumes/{after['v']}")["volume"]["volume_type"] == gold
    bench.clean(*everything)


def served(bench: Bench) -> list[Declaration]:
    """A server, and everything that it is made of."""
    bench.plane.need("nova", "cinder")
    flavor = f"{bench.tenant.name}-flavor"
    raw = {"diskFormat": "raw", "containerFormat": "bare", "content": {"file": "{data}"}}
    return [
        bench.declare("Flavor", flavor, {"ram": 64, "vcpus": 1, "disk": 0}),
        bench.declare("Image", "image", bench.filled(raw)),
        bench.declare("KeyPair", "key", {"publicKey": samples.KEY}),
        bench.declare("ServerGroup", "group", {"policy": "anti-affinity"}),
        bench.declare("Network", "net"),
        bench.declare("Subnet", "sub", {"networkId": "${Network/net.id}", "cidr": "10.0.0.0/24", "ipVersion": 4}),
        bench.declare(
            "Port", "port", {"networkId": "${Network/net.id}", "fixedIps": [{"subnetId": "${Subnet/sub.id}"}]}
        ),
        bench.declare("Volume", "volume", {"size": 1}),
        bench.declare(
            "Server",
            "server",
            {
                "flavorId": f"${{Flavor/{flavor}.id}}",
                "imageId": "${Image/image.id}",
                "keyName": "${KeyPair/key.id}",
                "serverGroupId": "${ServerGroup/group.id}",
                "interfaces": [{"portId": "${Port/port.id}"}],
                "volumes": [{"volumeId": "${Volume/volume.id}"}],
            },
        ),
    ]


def server_of(bench: Bench, ident: str) -> dict:
    return dict(bench.drift_injector.get("compute", f"/servers/{ident}", microversion=SERVERS)["server"])


def test_what_is_plugged_into_a_server_and_its_flavour_and_key(bench: Bench):
    """The port and the volume are plugged in again, and it is resized to the flavour that came back."""
    everything = served(bench)
    bench.made(*everything)
    before = ids(bench, everything)
    flavor, drift_injector, server = f"{bench.tenant.name}-flavor", bench.drift_injector, before["server"]
    path = f"/servers/{server}/os-volume_attachments/{before['volume']}"
    drift_injector.delete("compute", path, microversion=SERVERS)
    detail = f"/volumes/{before['volume']}"
    bench.until(
        lambda: drift_injector.get("block-storage", detail)["volume"]["status"] == "available", "the volume is detached"
    )
    drift_injector.delete("block-storage", detail)
    bench.until(lambda: not drift_injector.get("block-storage", "/volumes/detail")["volumes"], "the volume is gone")
    drift_injector.delete("network", f"/ports/{before['port']}")
    # One more, because SQLite gives the number of the last row away again, and Nova takes it for the same flavour.
    more = {"name": f"{flavor}-more", "ram": 64, "vcpus": 1, "disk": 0}
    drift_injector.post("compute", "/flavors", {"flavor": more}, microversion=SERVERS)
    drift_injector.delete("compute", f"/flavors/{before[flavor]}", microversion=SERVERS)
    drift_injector.delete("compute", f"/os-keypairs/{before['key']}", microversion=SERVERS)
    bench.made(*everything)
    after = ids(bench, everything)
    assert others(before, after) == {flavor, "port", "volume"}  # a key pair is known by its name
    live = server_of(bench, server)
    assert live["flavor"]["id"] == after[flavor]
    assert [item["id"] for item in live["os-extended-volumes:volumes_attached"]] == [after["volume"]]
    assert drift_injector.get("network", f"/ports/{after['port']}")["port"]["device_id"] == server
    bench.clean(*everything)


def test_images_and_groups_of_servers(bench: Bench):
    """A server cannot have another image or group without being another server: that takes a word of its owner."""
    everything = served(bench)
    bench.made(*everything)
    before = ids(bench, everything)
    bench.drift_injector.delete("image", f"/images/{before['image']}")
    bench.drift_injector.delete("compute", f"/os-server-groups/{before['group']}", microversion=samples.MICROVERSION)
    report = bench.apply(*everything)
    assert others(before, ids(bench, everything)) == {"image", "group"}
    (blocked,) = [item for item in report.checked if item.address.name == "server"]
    assert blocked.decision.action is Action.BLOCK
    assert set(blocked.decision.reasons[0].paths) == {"/imageId", "/serverGroupId"}
    assert server_of(bench, before["server"])["status"] == "ACTIVE"
    allowed = [
        *everything[:-1],
        replace(everything[-1], options={**everything[-1].options, "onImmutable": "replace"}),
    ]
    bench.made(*allowed)
    after = ids(bench, allowed)
    assert others(before, after) == {"image", "group", "server"}
    assert server_of(bench, after["server"])["image"]["id"] == after["image"]
    assert {item.verdict.status for item in bench.check(*allowed)} == {Status.IN_SYNC}
