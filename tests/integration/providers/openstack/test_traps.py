"""What others got wrong before us, each as a test on the real services (research/orc.md, section 3)."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadError, ReadFailure
from holdfast.model.resource import Import
from holdfast.model.verdict import Status
from holdfast.model.write_result import WriteFailure
from holdfast.providers.protocol import Change, Target
from holdfast_emulators.openstack import Tenants, Unwilling
from tests.integration.providers.openstack import samples_others as samples
from tests.integration.providers.openstack.bench import Bench, named
from tests.integration.providers.openstack.samples_network import OUT, SSH, WEB, rule_added, rule_deleted


def group(bench: Bench, rules: list[Json]):
    return bench.declare("SecurityGroup", "sg", {"rules": rules})


def live_rules(bench: Bench, ident: str) -> list[tuple]:
    rules = bench.drift_injector.get("network", f"/security-group-rules?security_group_id={ident}")[
        "security_group_rules"
    ]
    return sorted(
        (rule["direction"], rule["ethertype"], str(rule["protocol"]), str(rule["port_range_min"])) for rule in rules
    )


# -- 1: what the service fills in


def test_what_the_service_fills_in_is_no_drift(bench: Bench):
    """Pools, MACs of address pairs, MTU, DHCP, bindings, the default groups and rules: the second check is clean."""
    everything = [
        bench.declare("Network", "net"),
        bench.declare("Subnet", "sub", {"networkId": "${Network/net.id}", "cidr": "10.0.0.0/24", "ipVersion": 4}),
        bench.declare(
            "Port", "p", {"networkId": "${Network/net.id}", "allowedAddressPairs": [{"ipAddress": "10.0.0.99"}]}
        ),
        bench.declare("SecurityGroup", "sg"),
    ]
    bench.made(*everything)
    bench.clean(*everything)
    bench.process.clock.advance(100_000)
    bench.clean(*everything)


def test_a_port_that_gets_bound_is_no_drift(bench: Bench):
    """Somebody takes the port: host, device and owner move, which is what a port is for."""
    net = bench.declare("Network", "net")
    port = bench.declare("Port", "p", {"networkId": "${Network/net.id}"})
    bench.made(net, port)
    taken = {"binding:host_id": "compute-7", "device_id": "server", "device_owner": "compute:nova", "dns_name": "vm"}
    bench.drift_injector.put("network", f"/ports/{bench.id(port)}", {"port": taken})
    bench.clean(net, port)


def test_what_clients_note_on_an_image_is_no_drift(bench: Bench):
    """openstacksdk writes checksums and paths into the properties of what it uploads."""
    given = {"diskFormat": "raw", "containerFormat": "bare", "properties": {"os_distro": "debian"}}
    wanted = bench.declare("Image", "image", given)
    bench.made(wanted)
    names = ("owner_specified.openstack.md5", "owner_specified.openstack.sha256", "owner_specified.openstack.object")
    steps = [samples.put(f"/{name}", "x") for name in names]
    kind = {"Content-Type": "application/openstack-images-v2.1-json-patch"}
    bench.drift_injector.request("image", "PATCH", f"/images/{bench.id(wanted)}", steps, headers=kind)
    bench.clean(wanted)


# -- 2, 3: rules of security groups


@pytest.mark.parametrize("gone", [22, 80, 443], ids=str)
def test_one_rule_of_several_is_made_again_with_its_own_range(bench: Bench, gone: int):
    """Upstream takes the range by the index among the missing ones: another rule's, or none."""
    https = {"direction": "ingress", "protocol": "tcp", "portRangeMin": 443, "portRangeMax": 443}
    web = {**WEB, "portRangeMin": 80, "portRangeMax": 80}
    wanted = group(bench, [SSH, web, https, OUT])
    bench.made(wanted)
    before = live_rules(bench, bench.id(wanted))
    rule_deleted({"port_range_min": gone})(bench, bench.id(wanted))
    mark = bench.mark()
    bench.made(wanted)
    assert live_rules(bench, bench.id(wanted)) == before
    writes = [request.method for request in bench.requests(mark) if request.is_write]
    assert writes == ["POST"]  # that rule, and no other
    bench.clean(wanted)


def test_two_identical_rules_are_one(bench: Bench):
    """One live rule satisfies both, and neither is asked for again and again."""
    wanted = group(bench, [SSH, dict(SSH), {**SSH, "protocol": "6"}, {**SSH, "remoteIpPrefix": "0.0.0.0/0"}])
    bench.made(wanted)
    assert len(live_rules(bench, bench.id(wanted))) == 1
    bench.clean(wanted)
    rule_deleted({"port_range_min": 22})(bench, bench.id(wanted))
    bench.made(wanted)
    assert len(live_rules(bench, bench.id(wanted))) == 1
    bench.clean(wanted)


SPELLINGS = [
    ({**SSH, "protocol": "6"}, {"protocol": "tcp", "port_range_min": 22, "port_range_max": 22}),
    (SSH, {"protocol": "6", "port_range_min": 22, "port_range_max": 22}),
    ({**SSH, "remoteIpPrefix": "0.0.0.0/0"}, {"protocol": "tcp", "port_range_min": 22, "port_range_max": 22}),
    (SSH, {"protocol": "tcp", "port_range_min": 22, "port_range_max": 22, "remote_ip_prefix": "0.0.0.0/0"}),
    (
        {"direction": "ingress", "protocol": "udp", "remoteIpPrefix": "10.0.0.0/24"},
        {"protocol": "udp", "remote_ip_prefix": "10.0.0.5/24"},
    ),
    ({"direction": "ingress", "protocol": "any"}, {}),
    (
        {"direction": "ingress", "ethertype": "ipv6", "protocol": "58"},
        {"protocol": "icmpv6", "ethertype": "IPv6"},
    ),
]


@pytest.mark.parametrize("declared, body", SPELLINGS)
def test_another_spelling_of_a_rule_is_the_same_rule(bench: Bench, declared: Json, body: Json):
    """Somebody deletes a rule and makes it again in other words: nothing that counts has changed."""
    wanted = group(bench, [declared])
    bench.made(wanted)
    (rule,) = bench.drift_injector.get("network", f"/security-group-rules?security_group_id={bench.id(wanted)}")[
        "security_group_rules"
    ]
    bench.drift_injector.delete("network", f"/security-group-rules/{rule['id']}")
    rule_added(direction="ingress", **body)(bench, bench.id(wanted))
    bench.clean(wanted)


DIFFERENT = [
    (SSH, {"protocol": "tcp", "port_range_min": 22, "port_range_max": 22, "remote_ip_prefix": "10.0.0.0/8"}),
    ({**SSH, "remoteIpPrefix": "10.0.0.0/8"}, {"protocol": "tcp", "port_range_min": 22, "port_range_max": 22}),
    (SSH, {"protocol": "udp", "port_range_min": 22, "port_range_max": 22}),
    (SSH, {"protocol": "tcp", "port_range_min": 22, "port_range_max": 23}),
    ({"direction": "ingress"}, {"ethertype": "IPv6"}),
]


@pytest.mark.parametrize("declared, body", DIFFERENT)
def test_another_rule_is_another_rule(bench: Bench, declared: Json, body: Json):
    """A rule that lets more through, or less, takes the place of the declared one: named, and revert."""
    wanted = group(bench, [declared])
    bench.made(wanted)
    before = live_rules(bench, bench.id(wanted))
    (rule,) = bench.drift_injector.get("network", f"/security-group-rules?security_group_id={bench.id(wanted)}")[
        "security_group_rules"
    ]
    bench.drift_injector.delete("network", f"/security-group-rules/{rule['id']}")
    rule_added(direction="ingress", **body)(bench, bench.id(wanted))
    (checked,) = bench.check(wanted)
    assert checked.verdict.status is Status.DRIFTED
    assert all(path.startswith("/rules") for path in named(checked))
    bench.made(wanted)
    assert live_rules(bench, bench.id(wanted)) == before
    bench.clean(wanted)


def test_the_rules_that_a_new_group_is_born_with_go_unless_declared(bench: Bench):
    wanted = group(bench, [SSH])
    bench.made(wanted)
    assert [rule[0] for rule in live_rules(bench, bench.id(wanted))] == ["ingress"]
    silent = bench.declare("SecurityGroup", "silent")
    bench.made(silent)
    assert [rule[0] for rule in live_rules(bench, bench.id(silent))] == ["egress", "egress"]
    bench.clean(wanted, silent)


def test_a_rule_too_many_in_a_group_that_is_imported_is_seen(bench: Bench):
    """Taken over with rules declared: what else is there does not become the new normal."""
    made = bench.drift_injector.post("network", "/security-groups", {"security_group": {"name": "legacy"}})[
        "security_group"
    ]
    rule_added(direction="ingress", protocol="tcp", port_range_min=23, port_range_max=23)(bench, made["id"])
    wanted = bench.declare(
        "SecurityGroup", "sg", {"rules": [OUT, {**OUT, "ethertype": "IPv6"}]}, import_from=Import(id=made["id"])
    )
    (checked,) = bench.check(wanted)
    assert checked.decision.action is Action.UPDATE
    assert "portRangeMin=23" in named(checked)[0]
    bench.made(wanted)
    assert len(live_rules(bench, made["id"])) == 2
    bench.clean(wanted)


def test_rules_are_reported_even_where_none_are_declared(bench: Bench):
    """A rule added by hand to a group whose rules nobody declared is told, and left alone."""
    wanted = bench.declare("SecurityGroup", "sg")
    bench.made(wanted)
    bench.process.clock.advance(100_000)
    rule_added(direction="ingress", protocol="tcp", port_range_min=23, port_range_max=23)(bench, bench.id(wanted))
    (checked,) = bench.check(wanted)
    assert (checked.verdict.status, checked.decision.action) == (Status.DRIFTED, Action.REPORT)
    assert "portRangeMin=23" in named(checked)[0]


# -- 4, 5, 6: names


def test_two_of_one_name_are_not_told_apart_by_guessing(bench: Bench):
    for _ in range(2):
        bench.drift_injector.post("network", "/security-groups", {"security_group": {"name": "twice"}})
    wanted = bench.declare("SecurityGroup", "twice")
    before = bench.mark()
    (checked,) = bench.apply(wanted).checked
    assert checked.verdict.status is Status.UNKNOWN
    assert "2 things fit the declaration" in checked.verdict.reason
    assert not [request for request in bench.requests(before) if request.is_write]


def test_names_match_exactly(bench: Bench):
    """Neither a longer name, nor one that a pattern would match, is taken for it."""
    for name in ("web-1", "xweb", "WEB", "we."):
        bench.drift_injector.post("network", "/networks", {"network": {"name": name}})
    wanted = bench.declare("Network", "web")
    bench.made(wanted)
    assert len(bench.drift_injector.get("network", f"/networks?project_id={bench.tenant.project_id}")["networks"]) == 5
    assert bench.run(bench.reader.find("Network", {"name": "we."})) != [bench.id(wanted)]


def test_an_administrator_does_not_adopt_what_is_anothers(bench: Bench, openstack_tenants: Tenants):
    """Things of the same name in another project are visible to an administrator, and are not ours."""
    other = openstack_tenants.project(f"{bench.tenant.name}-other")
    bench.drift_injector.post("network", "/networks", {"network": {"name": "net", "project_id": other}})
    bench.drift_injector.post("network", "/security-groups", {"security_group": {"name": "sg", "project_id": other}})
    ours = [bench.declare("Network", "net"), bench.declare("SecurityGroup", "sg")]
    bench.made(*ours)
    assert {bench.drift_injector.get("network", f"/networks/{bench.id(ours[0])}")["network"]["project_id"]} == {
        bench.tenant.project_id
    }
    bench.clean(*ours)


def test_a_thing_for_another_project_is_found_there(bench: Bench, openstack_tenants: Tenants):
    """Declared for another project, it is made there, adopted there, and checked there."""
    other = openstack_tenants.project(f"{bench.tenant.name}-other")
    wanted = bench.declare("Network", "net", {"projectId": other})
    bench.made(wanted)
    assert bench.drift_injector.get("network", f"/networks/{bench.id(wanted)}")["network"]["project_id"] == other
    bench.clean(wanted)


def test_what_was_made_and_forgotten_is_adopted(bench: Bench):
    """A crash between making and remembering does not leave a second one behind."""
    target = Target("Network", "net", None, {"name": "net", "description": "", "tags": ["a"], "adminStateUp": True})
    first = bench.run(bench.writer.create(target, "key"))
    again = bench.run(bench.writer.create(target, "key"))
    assert first == again
    wanted = bench.declare("Network", "net", {"tags": ["a"]})
    (checked,) = bench.check(wanted)
    assert checked.decision.action is Action.ADOPT
    bench.made(wanted)
    assert bench.id(wanted) == first.id  # type: ignore[union-attr]


def test_floating_ips_without_a_name_are_not_mixed_up(bench: Bench):
    """Two of one description are two; one that is left unsaid is known by the name of its resource."""
    of_it = {"floatingNetworkId": "${Network/ext.id}", "subnetId": "${Subnet/s.id}"}
    everything = [
        bench.declare("Network", "ext", {"external": True}),
        bench.declare("Subnet", "s", {"networkId": "${Network/ext.id}", "cidr": "172.24.0.0/24", "ipVersion": 4}),
        *(bench.declare("FloatingIP", name, {**of_it, "description": "web"}) for name in ("a", "b")),
        *(bench.declare("FloatingIP", name, of_it) for name in ("c", "d")),
    ]
    bench.made(*everything)
    assert len({bench.id(item) for item in everything[2:]}) == 4
    bench.clean(*everything)


# -- 7: tags and revisions


def test_a_stale_write_is_refused(bench: Bench):
    """An update that was decided on an old revision does not overwrite what came since."""
    net = bench.declare("Network", "net", {"description": "one"})
    bench.made(net)
    target = Target("Network", "net", bench.id(net), {"name": "net", "description": "two"})
    seen = bench.run(bench.reader.read(target))
    assert isinstance(seen, Found)
    bench.drift_injector.put("network", f"/networks/{bench.id(net)}", {"network": {"mtu": 1300}})
    for path in ("/description", "/tags"):
        change = Change({"description": "two", "tags": ["x"]}, seen.document, (path,), seen.etag)
        refused = bench.run(bench.writer.update(target, change, f"key{path}"))
        assert getattr(refused, "refusal", None) == "moved", refused
    gone = bench.run(bench.writer.delete(target, "key", seen.etag))
    assert getattr(gone, "refusal", None) == "moved", gone


REVISED = ("Network", "Router", "SecurityGroup", "FloatingIP")


def test_where_the_revision_is_trusted_it_grows_with_everything_compared(bench: Bench):
    """And where it does not (measured: pools, routes and name servers of subnets, sub-ports), it is not trusted."""
    net = bench.declare("Network", "net")
    subnet = bench.declare("Subnet", "sub", {"networkId": "${Network/net.id}", "cidr": "10.0.0.0/24", "ipVersion": 4})
    bench.made(net, subnet)
    path = f"/subnets/{bench.id(subnet)}"
    before = bench.drift_injector.get("network", path)["subnet"]["revision_number"]
    bench.drift_injector.put("network", path, {"subnet": {"dns_nameservers": ["9.9.9.9"]}})
    assert bench.drift_injector.get("network", path)["subnet"]["revision_number"] == before
    checked = {item.address.kind: item for item in bench.check(net, subnet)}
    assert named(checked["Subnet"]) == ["/dnsNameservers/0"]


def test_an_unchanged_revision_saves_the_second_call(bench: Bench):
    """A router at rest costs one request, not two."""
    net = bench.declare("Network", "net")
    subnet = bench.declare("Subnet", "sub", {"networkId": "${Network/net.id}", "cidr": "10.0.0.0/24", "ipVersion": 4})
    router = bench.declare("Router", "r", {"interfaces": [{"subnetId": "${Subnet/sub.id}"}]})
    bench.made(net, subnet, router)
    before = bench.mark()
    bench.check(net, subnet, router)
    asked = [request.path.partition("?")[0].split("/")[2] for request in bench.requests(before)]
    assert sorted(asked) == ["networks", "routers", "subnets"]


# -- people


def test_a_plain_member_manages_a_tenant(openstack_plane, openstack_tenants: Tenants, openstack_shared: None):
    """No administrator is needed for what tenants may do; what they may not is denied, and said so."""
    tenant = openstack_tenants.make("m", "member")
    with Bench.opened(openstack_plane, openstack_tenants, tenant) as bench:
        everything = [
            bench.declare("Network", "net", {"tags": ["a"]}),
            bench.declare("Subnet", "sub", {"networkId": "${Network/net.id}", "cidr": "10.0.0.0/24", "ipVersion": 4}),
            bench.declare("Router", "r", {"interfaces": [{"subnetId": "${Subnet/sub.id}"}]}),
            bench.declare("SecurityGroup", "sg", {"rules": [SSH]}),
            bench.declare("Port", "p", {"networkId": "${Network/net.id}"}),
        ]
        bench.made(*everything)
        bench.clean(*everything)
        forbidden = bench.declare("Network", "public", {"shared": True})
        (acted,) = bench.apply(forbidden).acted
        assert (acted.result, "403" in acted.message) == ("failed", True)
        with pytest.raises(Unwilling):
            bench.drift_injector.post("network", "/networks", {"network": {"name": "x", "shared": True}})


def test_a_user_gets_a_new_password_when_the_secret_rotates(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    """The password is never read back; a rotation is seen by its fingerprint, and no byte of it is kept."""
    passwords = iter(["first-Secret-1", "second-Secret-2"])
    auth: dict[str, str] = {}
    for number, secret in enumerate(passwords):
        bench.process.environ = {"NEW_PASSWORD": secret}
        given = {"password": {"secretRef": {"env": "NEW_PASSWORD"}}, "domainId": "default"}
        user = bench.declare("User", f"{bench.tenant.name}-u", given)
        (checked,) = bench.check(user)
        assert checked.decision.action is (Action.UPDATE if number else Action.CREATE)
        bench.made(user)
        bench.clean(user)
        auth = {**bench.tenant.auth, "username": f"{bench.tenant.name}-u", "password": secret}
        assert signs_in(auth)
    assert not signs_in({**auth, "password": "first-Secret-1"})
    assert "Secret" not in repr(bench.store.__dict__)


def signs_in(auth: dict[str, str]) -> bool:
    import json
    import urllib.error
    import urllib.request

    who = {"name": auth["username"], "domain": {"id": "default"}, "password": auth["password"]}
    body = {"auth": {"identity": {"methods": ["password"], "password": {"user": who}}, "scope": "unscoped"}}
    request = urllib.request.Request(
        f"{auth['auth_url']}/auth/tokens", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        urllib.request.urlopen(request).close()
    except urllib.error.HTTPError as error:
        error.close()
        return False
    return True


def test_a_thing_that_is_not_there_is_gone_and_a_wrong_page_is_not(bench: Bench):
    missing = Target("Network", "net", "00000000-0000-0000-0000-000000000000", {})
    assert bench.run(bench.reader.read(missing)) == NotFound()
    strange = Target("Nonsense", "x", None, {})
    seen = bench.run(bench.reader.read(strange))
    assert isinstance(seen, ReadFailure)
    assert seen.trouble is ReadError.OTHER


def test_two_namespaces_of_one_project_are_kept_apart(bench: Bench):
    targets = [Target("Network", "net", None, {"name": f"net@{space}"}, space) for space in ("a", "b")]
    made = [bench.run(bench.writer.create(target, "k")) for target in targets]
    idents = [item.id for item in made if not isinstance(item, WriteFailure)]
    assert len(set(idents)) == 2
    found = (bench.run(bench.reader.find("Network", {"name": f"net@{space}"})) for space in "ab")
    assert list(itertools.chain(*found)) == idents


# -- one way only


def test_what_cannot_be_taken_back_is_told_and_asked_for_once(bench: Bench):
    """Somebody shares an address scope, or extends a volume: seen and named, and no service can undo it."""
    bench.plane.need("cinder")
    scope = bench.declare("AddressScope", "scope", {"ipVersion": 4, "shared": False})
    volume = bench.declare("Volume", "volume", {"size": 1})
    bench.made(scope, volume)
    bench.clean(scope, volume)
    bench.drift_injector.put("network", f"/address-scopes/{bench.id(scope)}", {"address_scope": {"shared": True}})
    where = f"/volumes/{bench.id(volume)}"
    bench.drift_injector.post("block-storage", f"{where}/action", {"os-extend": {"new_size": 3}})
    bench.until(
        lambda: bench.drift_injector.get("block-storage", where)["volume"]["status"] == "available",
        "the volume is at rest",
    )
    assert sorted(named(item)[0] for item in bench.check(scope, volume)) == ["/shared", "/size"]
    report = bench.apply(scope, volume)
    assert {item.result.value for item in report.acted} == {"terminal"}
    said = " ".join(item.message for item in report.acted)
    assert "a volume can only grow: it has 3 GB, and 1 are declared" in said
    before = bench.mark()
    for _ in range(3):
        bench.process.clock.advance(100_000)
        bench.apply(scope, volume)
    assert not [request for request in bench.requests(before) if request.is_write]
    # To declare what is there now is the way out.
    grown = replace(volume, desired={"size": 3})
    bench.made(scope, grown)
    assert {item.verdict.status for item in bench.check(scope, grown) if item.address == grown.address} == {
        Status.IN_SYNC
    }


def test_a_field_fixed_at_birth_that_somebody_moved_is_named_and_put_back_by_replacement(bench: Bench):
    """A key pair cannot be changed; somebody deletes it and puts another key under its name."""
    bench.plane.need("nova")
    wanted = bench.declare("KeyPair", "key", {"publicKey": samples.KEY})
    bench.made(wanted)
    samples.other_key(bench, bench.id(wanted))
    (checked,) = bench.check(wanted)
    assert (checked.verdict.status, named(checked)[0]) == (Status.DRIFTED, "/publicKey")
    assert (checked.decision.action, checked.decision.reasons[0].paths) == (Action.BLOCK, ("/publicKey",))
    allowed = replace(wanted, options={**wanted.options, "onImmutable": "replace"})
    bench.made(allowed)
    live = bench.drift_injector.get("compute", f"/os-keypairs/{bench.id(allowed)}", microversion=samples.MICROVERSION)
    assert live["keypair"]["public_key"] == samples.KEY
    bench.clean(allowed)


def test_a_field_fixed_at_birth_that_is_declared_no_more_is_left_as_it_is(bench: Bench):
    wanted = bench.declare("Network", "net", {"projectId": bench.tenant.project_id, "networkType": "vxlan"})
    bench.made(wanted)
    ident, before = bench.id(wanted), bench.mark()
    silent = replace(wanted, desired={})
    bench.made(silent)
    assert bench.id(silent) == ident
    assert not [request for request in bench.requests(before) if request.is_write]
    bench.clean(silent)


def test_an_edit_of_what_is_told_only_at_birth_is_not_passed_over(bench: Bench):
    """The service never says which subnet an address was to come from; that it was declared is remembered."""
    outer = [{"networkId": "${Network/ext.id}", "cidr": f"172.24.{n}.0/24", "ipVersion": 4} for n in range(2)]
    parents = [
        bench.declare("Network", "ext", {"external": True}),
        *(bench.declare("Subnet", f"s{number}", given) for number, given in enumerate(outer)),
    ]
    given = {"floatingNetworkId": "${Network/ext.id}", "subnetId": "${Subnet/s0.id}"}
    wanted = bench.declare("FloatingIP", "f", given)
    bench.made(*parents, wanted)
    bench.clean(*parents, wanted)
    moved = replace(wanted, desired={**given, "subnetId": "${Subnet/s1.id}"})
    (checked,) = bench.check(*parents, moved, only=moved)
    assert (checked.decision.action, checked.decision.reasons[0].paths) == (Action.BLOCK, ("/subnetId",))
    allowed = replace(moved, options={**moved.options, "onImmutable": "replace"})
    bench.made(*parents, allowed)
    live = bench.drift_injector.get("network", f"/floatingips/{bench.id(allowed)}")["floatingip"]
    assert live["floating_ip_address"].startswith("172.24.1.")
    bench.clean(*parents, allowed)
