"""One of each kind, at its least and at its fullest, and every way somebody can change it behind our back.

Bodies of the vandal are in the API's own words, so that they do not pass through the provider's tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from holdfast.model.json import Json
from holdfast.model.resource import Declaration
from tests.integration.providers.openstack.bench import Bench

Act = Callable[[Bench, str], None]  # from the bench and the id of the thing
Parents = Callable[[Bench], list[Declaration]]


@dataclass(frozen=True, slots=True)
class Drift:
    """One change behind our back: what the check must name, and what was done."""

    path: str  # or the beginning of it, for lists
    act: Act


@dataclass(frozen=True, slots=True)
class Sample:
    """One kind."""

    kind: str
    service: str
    path: str
    one: str
    minimal: Mapping[str, Json]
    full: Mapping[str, Json]
    drifts: tuple[Drift, ...]
    parents: Parents = lambda _bench: []
    immutable: tuple[str, Json] | None = None  # a field fixed at birth, and another value for it
    later: Mapping[str, Json] = field(default_factory=dict)  # other values for all that an edit may change
    needs: tuple[str, ...] = ()  # services besides Keystone, Neutron and Glance
    kept: tuple[str, ...] = ()  # of the API: what the service keeps when a declaration lets go of it
    microversion: str | None = None
    variant: str = ""

    @property
    def label(self) -> str:
        return f"{self.kind}{'-' + self.variant if self.variant else ''}"


def changed(sample_path: str, one: str, body: Mapping[str, Json], service: str = "network", method: str = "PUT") -> Act:
    """Change fields with one request."""

    def act(bench: Bench, ident: str) -> None:
        bench.vandal.request(service, method, f"{sample_path}/{ident}", {one: dict(body)})

    return act


def network(path: str, body: Mapping[str, Json]) -> Drift:
    return Drift(path, changed("/networks", "network", body))


def tagged(kind_path: str, tags: list[str]) -> Drift:
    def act(bench: Bench, ident: str) -> None:
        bench.vandal.put("network", f"{kind_path}/{ident}/tags", {"tags": tags})

    return Drift("/tags", act)


NETWORK = Sample(
    "Network",
    "network",
    "/networks",
    "network",
    minimal={},
    full={
        "name": "full-net",
        "description": "all there is",
        "adminStateUp": True,
        "shared": True,
        "mtu": 1400,
        "portSecurityEnabled": True,
        "external": True,
        "dnsDomain": "example.org.",
        "networkType": "vlan",
        "physicalNetwork": "physnet1",
        "tags": ["b", "a"],
    },
    drifts=(
        network("/name", {"name": "vandalised"}),
        network("/description", {"description": "vandalised"}),
        network("/adminStateUp", {"admin_state_up": False}),
        network("/shared", {"shared": False}),
        network("/mtu", {"mtu": 1300}),
        network("/portSecurityEnabled", {"port_security_enabled": False}),
        network("/external", {"router:external": False}),
        network("/dnsDomain", {"dns_domain": "vandal.org."}),
        tagged("/networks", ["a", "vandal"]),
        tagged("/networks", []),
    ),
    immutable=("networkType", "local"),
    later={
        "description": "edited",
        "adminStateUp": False,
        "shared": True,
        "mtu": 1350,
        "portSecurityEnabled": False,
        "dnsDomain": "edited.org.",
        "tags": ["edited"],
    },
    kept=("mtu",),
)


def _net(bench: Bench) -> list[Declaration]:
    return [bench.declare("Network", "net")]


def _net_and_subnet(bench: Bench) -> list[Declaration]:
    subnet = {"networkId": "${Network/net.id}", "cidr": "10.9.0.0/24", "ipVersion": 4}
    return [*_net(bench), bench.declare("Subnet", "sub", subnet)]


def subnet(path: str, body: Mapping[str, Json]) -> Drift:
    return Drift(path, changed("/subnets", "subnet", body))


SUBNET = Sample(
    "Subnet",
    "network",
    "/subnets",
    "subnet",
    parents=_net,
    minimal={"networkId": "${Network/net.id}", "cidr": "10.0.0.0/24", "ipVersion": 4},
    full={
        "networkId": "${Network/net.id}",
        "name": "full-sub",
        "description": "all there is",
        "cidr": "10.1.0.0/24",
        "ipVersion": 4,
        "enableDhcp": True,
        "gatewayIp": "10.1.0.254",
        "allocationPools": [{"start": "10.1.0.10", "end": "10.1.0.20"}, {"start": "10.1.0.100", "end": "10.1.0.120"}],
        "hostRoutes": [{"destination": "192.168.0.0/16", "nexthop": "10.1.0.5"}],
        "dnsNameservers": ["9.9.9.9", "1.1.1.1"],
        "serviceTypes": ["compute:nova"],
        "tags": ["x", "y"],
    },
    drifts=(
        subnet("/name", {"name": "vandalised"}),
        subnet("/description", {"description": "vandalised"}),
        subnet("/enableDhcp", {"enable_dhcp": False}),
        subnet("/gatewayIp", {"gateway_ip": "10.1.0.253"}),
        subnet("/gatewayIp", {"gateway_ip": None}),
        subnet("/allocationPools", {"allocation_pools": [{"start": "10.1.0.10", "end": "10.1.0.20"}]}),
        subnet("/allocationPools", {"allocation_pools": [{"start": "10.1.0.2", "end": "10.1.0.200"}]}),
        subnet("/hostRoutes", {"host_routes": []}),
        subnet("/hostRoutes", {"host_routes": [{"destination": "192.168.0.0/16", "nexthop": "10.1.0.6"}]}),
        subnet("/dnsNameservers", {"dns_nameservers": ["1.1.1.1", "9.9.9.9"]}),
        subnet("/dnsNameservers", {"dns_nameservers": ["8.8.8.8"]}),
        subnet("/serviceTypes", {"service_types": []}),
        tagged("/subnets", ["x"]),
    ),
    immutable=("cidr", "10.2.0.0/24"),
    later={
        "description": "edited",
        "enableDhcp": False,
        "hostRoutes": [{"destination": "172.16.0.0/12", "nexthop": "10.0.0.7"}],
        "dnsNameservers": ["8.8.4.4"],
        "allocationPools": [{"start": "10.0.0.50", "end": "10.0.0.60"}],
        "gatewayIp": None,
        "serviceTypes": ["compute:x"],
        "tags": ["edited"],
    },
    kept=("allocation_pools", "gateway_ip"),
)

SUBNET_V6 = Sample(
    "Subnet",
    "network",
    "/subnets",
    "subnet",
    variant="v6",
    parents=_net,
    minimal={"networkId": "${Network/net.id}", "cidr": "2001:DB8::/64", "ipVersion": 6},
    full={
        "networkId": "${Network/net.id}",
        "cidr": "2001:db8:1::/64",
        "ipVersion": 6,
        "ipv6AddressMode": "slaac",
        "ipv6RaMode": "slaac",
        "gatewayIp": "2001:db8:1::ffff",
        "dnsNameservers": ["2620:fe::fe"],
    },
    drifts=(
        subnet("/gatewayIp", {"gateway_ip": None}),
        subnet("/dnsNameservers", {"dns_nameservers": []}),
    ),
)

ADDRESS_SCOPE = Sample(
    "AddressScope",
    "network",
    "/address-scopes",
    "address_scope",
    minimal={"ipVersion": 4},
    full={"name": "full-scope", "ipVersion": 6, "shared": True},
    drifts=(Drift("/name", changed("/address-scopes", "address_scope", {"name": "vandalised"})),),
    immutable=("ipVersion", 4),
)


def _outside(bench: Bench) -> list[Declaration]:
    outer = {"networkId": "${Network/ext.id}", "cidr": "172.24.0.0/24", "ipVersion": 4, "enableDhcp": False}
    return [
        *_net_and_subnet(bench),
        bench.declare("Network", "ext", {"external": True}),
        bench.declare("Subnet", "ext-sub", outer),
    ]


def _second(bench: Bench) -> list[Declaration]:
    more = {"networkId": "${Network/net.id}", "cidr": "10.8.0.0/24", "ipVersion": 4}
    return [*_outside(bench), bench.declare("Subnet", "sub2", more)]


def router(path: str, body: Mapping[str, Json]) -> Drift:
    return Drift(path, changed("/routers", "router", body))


def _unplugged(bench: Bench, ident: str) -> None:
    ports = bench.vandal.get("network", f"/ports?device_id={ident}&device_owner=network:router_interface")["ports"]
    row = next(port for port in ports if port["fixed_ips"][0]["ip_address"].startswith("10.8."))
    bench.vandal.put("network", f"/routers/{ident}/remove_router_interface", {"port_id": row["id"]})


def _plugged(bench: Bench, ident: str) -> None:
    net = bench.vandal.post("network", "/networks", {"network": {"name": "other"}})["network"]["id"]
    given = {"network_id": net, "cidr": "10.77.0.0/24", "ip_version": 4}
    sub = bench.vandal.post("network", "/subnets", {"subnet": given})["subnet"]["id"]
    bench.vandal.put("network", f"/routers/{ident}/add_router_interface", {"subnet_id": sub})


ROUTER = Sample(
    "Router",
    "network",
    "/routers",
    "router",
    parents=_second,
    minimal={},
    full={
        "name": "full-router",
        "description": "all there is",
        "adminStateUp": True,
        "externalGateway": {"networkId": "${Network/ext.id}", "enableSnat": False},
        "interfaces": [{"subnetId": "${Subnet/sub.id}"}, {"subnetId": "${Subnet/sub2.id}"}],
        "routes": [{"destination": "192.168.5.0/24", "nexthop": "10.9.0.77"}],
        "tags": ["r"],
    },
    drifts=(
        router("/name", {"name": "vandalised"}),
        router("/description", {"description": "vandalised"}),
        router("/adminStateUp", {"admin_state_up": False}),
        router("/routes", {"routes": []}),
        router("/routes", {"routes": [{"destination": "192.168.6.0/24", "nexthop": "10.9.0.78"}]}),
        router("/externalGateway", {"external_gateway_info": {}}),
        Drift("/externalGateway/enableSnat", lambda bench, ident: _snat(bench, ident)),
        Drift("/interfaces", _unplugged),
        Drift("/interfaces", _plugged),
        tagged("/routers", ["r", "vandal"]),
    ),
    immutable=("distributed", True),
    later={"description": "edited", "adminStateUp": False, "tags": ["edited"], "interfaces": []},
)


def _snat(bench: Bench, ident: str) -> None:
    info = bench.vandal.get("network", f"/routers/{ident}")["router"]["external_gateway_info"]
    given = {"network_id": info["network_id"], "enable_snat": True}
    bench.vandal.put("network", f"/routers/{ident}", {"router": {"external_gateway_info": given}})


def _groups(bench: Bench) -> list[Declaration]:
    return [*_net_and_subnet(bench), bench.declare("SecurityGroup", "web"), bench.declare("SecurityGroup", "ssh")]


def port(path: str, body: Mapping[str, Json]) -> Drift:
    return Drift(path, changed("/ports", "port", body))


PORT = Sample(
    "Port",
    "network",
    "/ports",
    "port",
    parents=_groups,
    minimal={"networkId": "${Network/net.id}"},
    full={
        "networkId": "${Network/net.id}",
        "name": "full-port",
        "description": "all there is",
        "adminStateUp": True,
        "fixedIps": [{"subnetId": "${Subnet/sub.id}", "ipAddress": "10.9.0.50"}],
        "macAddress": "FA:16:3E:00:11:22",
        "allowedAddressPairs": [
            {"ipAddress": "10.9.0.200"},
            {"ipAddress": "10.9.0.0/28", "macAddress": "fa:16:3e:aa:bb:cc"},
        ],
        "securityGroups": ["${SecurityGroup/web.id}", "${SecurityGroup/ssh.id}"],
        "portSecurityEnabled": True,
        "extraDhcpOpts": [{"optName": "mtu", "optValue": "1400"}, {"optName": "ntp-server", "optValue": "10.9.0.1"}],
        "deviceId": "my-appliance",
        "deviceOwner": "appliance:mine",
        "dnsName": "full-port",
        "vnicType": "direct",
        "tags": ["p"],
    },
    drifts=(
        port("/name", {"name": "vandalised"}),
        port("/description", {"description": "vandalised"}),
        port("/adminStateUp", {"admin_state_up": False}),
        port("/fixedIps", {"fixed_ips": [{"ip_address": "10.9.0.51"}]}),
        port("/fixedIps", {"fixed_ips": [{"ip_address": "10.9.0.50"}, {"ip_address": "10.9.0.52"}]}),
        port("/macAddress", {"mac_address": "fa:16:3e:00:11:33"}),
        port("/allowedAddressPairs", {"allowed_address_pairs": []}),
        port("/allowedAddressPairs", {"allowed_address_pairs": [{"ip_address": "0.0.0.0/0"}]}),
        port("/securityGroups", {"security_groups": []}),
        Drift(
            "/portSecurityEnabled",
            changed(
                "/ports",
                "port",
                {"port_security_enabled": False, "security_groups": [], "allowed_address_pairs": []},
            ),
        ),
        port("/extraDhcpOpts", {"extra_dhcp_opts": [{"opt_name": "mtu", "opt_value": "1300"}]}),
        port("/extraDhcpOpts", {"extra_dhcp_opts": [{"opt_name": "mtu", "opt_value": None}]}),
        port("/extraDhcpOpts", {"extra_dhcp_opts": [{"opt_name": "domain-name", "opt_value": "vandal"}]}),
        port("/deviceId", {"device_id": "vandal"}),
        port("/deviceOwner", {"device_owner": "vandal:x"}),
        port("/dnsName", {"dns_name": "vandal"}),
        port("/vnicType", {"binding:vnic_type": "normal"}),
        tagged("/ports", []),
    ),
    immutable=("networkId", "${Network/net2.id}"),
    later={
        "description": "edited",
        "adminStateUp": False,
        "fixedIps": [{"subnetId": "${Subnet/sub.id}", "ipAddress": "10.9.0.90"}],
        "securityGroups": ["${SecurityGroup/web.id}"],
        "allowedAddressPairs": [{"ipAddress": "10.9.0.99"}],
        "extraDhcpOpts": [{"optName": "mtu", "optValue": "1200"}],
        "tags": ["edited"],
    },
    kept=("fixed_ips", "dns_assignment", "security_groups"),
)

SSH = {"direction": "ingress", "protocol": "tcp", "portRangeMin": 22, "portRangeMax": 22}
WEB = {"direction": "ingress", "protocol": "tcp", "portRangeMin": 80, "portRangeMax": 443, "description": "the web"}
OUT = {"direction": "egress", "ethertype": "IPv4"}


def rule_deleted(wanted: Mapping[str, Json]) -> Act:
    def act(bench: Bench, ident: str) -> None:
        rules = bench.vandal.get("network", f"/security-group-rules?security_group_id={ident}")["security_group_rules"]
        (found,) = [rule for rule in rules if all(rule[name] == value for name, value in wanted.items())]
        bench.vandal.delete("network", f"/security-group-rules/{found['id']}")

    return act


def rule_added(**rule: Json) -> Act:
    def act(bench: Bench, ident: str) -> None:
        given = {"security_group_id": ident, **rule}
        bench.vandal.post("network", "/security-group-rules", {"security_group_rule": given})

    return act


def _both(*acts: Act) -> Act:
    def act(bench: Bench, ident: str) -> None:
        for each in acts:
            each(bench, ident)

    return act


def group(path: str, body: Mapping[str, Json]) -> Drift:
    return Drift(path, changed("/security-groups", "security_group", body))


SECURITY_GROUP = Sample(
    "SecurityGroup",
    "network",
    "/security-groups",
    "security_group",
    parents=lambda bench: [bench.declare("SecurityGroup", "peers")],
    minimal={},
    full={
        "name": "full-group",
        "description": "all there is",
        "stateful": False,
        "rules": [
            SSH,
            WEB,
            OUT,
            {"direction": "ingress", "protocol": "udp", "remoteIpPrefix": "10.0.0.5/24"},
            {"direction": "ingress", "ethertype": "IPv6", "protocol": "ipv6-icmp", "portRangeMin": 128},
            {"direction": "ingress", "protocol": "tcp", "remoteGroupId": "${SecurityGroup/peers.id}"},
        ],
        "tags": ["g"],
    },
    drifts=(
        group("/name", {"name": "vandalised"}),
        group("/description", {"description": "vandalised"}),
        group("/stateful", {"stateful": True}),
        Drift("/rules", rule_deleted({"port_range_min": 22})),
        Drift("/rules", rule_added(direction="ingress", protocol="tcp", port_range_min=23, port_range_max=23)),
        Drift("/rules", rule_deleted({"direction": "egress"})),
        Drift(
            "/rules",
            _both(
                rule_deleted({"port_range_min": 80}),
                rule_added(direction="ingress", protocol="tcp", port_range_min=80, port_range_max=8080),
            ),
        ),
        Drift(
            "/rules",
            _both(
                rule_deleted({"port_range_min": 80}),
                rule_added(direction="ingress", protocol="tcp", port_range_min=80, port_range_max=443, description="x"),
            ),
        ),
        tagged("/security-groups", []),
    ),
    later={"description": "edited", "rules": [SSH], "tags": ["edited"], "stateful": False},
    kept=("rules",),
)


def _routed(bench: Bench) -> list[Declaration]:
    gateway = {"networkId": "${Network/ext.id}"}
    plugged = [{"subnetId": "${Subnet/sub.id}"}]
    fixed = [{"subnetId": "${Subnet/sub.id}"}]
    return [
        *_outside(bench),
        bench.declare("Router", "r", {"externalGateway": gateway, "interfaces": plugged}),
        bench.declare("Port", "p", {"networkId": "${Network/net.id}", "fixedIps": fixed}),
        bench.declare("Port", "q", {"networkId": "${Network/net.id}", "fixedIps": fixed}),
    ]


def floating(path: str, body: Mapping[str, Json]) -> Drift:
    return Drift(path, changed("/floatingips", "floatingip", body))


def _moved_to_q(bench: Bench, ident: str) -> None:
    (port,) = bench.vandal.get("network", f"/ports?name=q&project_id={bench.tenant.project_id}")["ports"]
    bench.vandal.put("network", f"/floatingips/{ident}", {"floatingip": {"port_id": port["id"]}})


FLOATING_IP = Sample(
    "FloatingIP",
    "network",
    "/floatingips",
    "floatingip",
    parents=_routed,
    minimal={"floatingNetworkId": "${Network/ext.id}"},
    full={
        "floatingNetworkId": "${Network/ext.id}",
        "floatingIpAddress": "172.24.0.99",
        "description": "all there is",
        "portId": "${Port/p.id}",
        "tags": ["f"],
    },
    drifts=(
        floating("/description", {"description": "vandalised"}),
        floating("/portId", {"port_id": None}),
        Drift("/portId", _moved_to_q),
        tagged("/floatingips", ["f", "vandal"]),
    ),
    immutable=("floatingIpAddress", "172.24.0.98"),
    later={"description": "edited", "portId": "${Port/p.id}", "tags": ["edited"]},
)


def _parent_ports(bench: Bench) -> list[Declaration]:
    ports = [bench.declare("Port", name, {"networkId": "${Network/net.id}"}) for name in ("parent", "one", "two")]
    return [*_net_and_subnet(bench), *ports]


def trunk(path: str, body: Mapping[str, Json]) -> Drift:
    return Drift(path, changed("/trunks", "trunk", body))


def _unridden(bench: Bench, ident: str) -> None:
    rows = bench.vandal.get("network", f"/trunks/{ident}")["trunk"]["sub_ports"]
    gone = {"sub_ports": [{"port_id": rows[0]["port_id"]}]}
    bench.vandal.put("network", f"/trunks/{ident}/remove_subports", gone)


def _resegmented(bench: Bench, ident: str) -> None:
    row = bench.vandal.get("network", f"/trunks/{ident}")["trunk"]["sub_ports"][0]
    bench.vandal.put("network", f"/trunks/{ident}/remove_subports", {"sub_ports": [{"port_id": row["port_id"]}]})
    again = {"sub_ports": [{**row, "segmentation_id": 999}]}
    bench.vandal.put("network", f"/trunks/{ident}/add_subports", again)


def _ridden(bench: Bench, ident: str) -> None:
    taken = bench.vandal.get("network", f"/trunks/{ident}")["trunk"]
    ports = bench.vandal.get("network", f"/ports?project_id={bench.tenant.project_id}")["ports"]
    used = {taken["port_id"], *(row["port_id"] for row in taken["sub_ports"])}
    free = next((port for port in ports if port["id"] not in used), None)
    if free is None:
        given = {"port": {"network_id": ports[0]["network_id"]}}
        free = bench.vandal.post("network", "/ports", given)["port"]
    row = {"port_id": free["id"], "segmentation_type": "vlan", "segmentation_id": 77}
    bench.vandal.put("network", f"/trunks/{ident}/add_subports", {"sub_ports": [row]})


TRUNK = Sample(
    "Trunk",
    "network",
    "/trunks",
    "trunk",
    parents=_parent_ports,
    minimal={"portId": "${Port/parent.id}"},
    full={
        "portId": "${Port/parent.id}",
        "name": "full-trunk",
        "description": "all there is",
        "adminStateUp": True,
        "subPorts": [
            {"portId": "${Port/one.id}", "segmentationType": "vlan", "segmentationId": 10},
            {"portId": "${Port/two.id}", "segmentationType": "vlan", "segmentationId": 20},
        ],
        "tags": ["t"],
    },
    drifts=(
        trunk("/name", {"name": "vandalised"}),
        trunk("/description", {"description": "vandalised"}),
        trunk("/adminStateUp", {"admin_state_up": False}),
        Drift("/subPorts", _unridden),
        Drift("/subPorts", _resegmented),
        Drift("/subPorts", _ridden),
        tagged("/trunks", []),
    ),
    immutable=("portId", "${Port/one.id}"),
    later={
        "description": "edited",
        "adminStateUp": False,
        "subPorts": [{"portId": "${Port/one.id}", "segmentationType": "vlan", "segmentationId": 30}],
        "tags": ["edited"],
    },
)


def project(path: str, body: Mapping[str, Json]) -> Drift:
    return Drift(path, changed("/projects", "project", body, "identity", "PATCH"))


def user(path: str, body: Mapping[str, Json]) -> Drift:
    return Drift(path, changed("/users", "user", body, "identity", "PATCH"))


PROJECT = Sample(
    "Project",
    "identity",
    "/projects",
    "project",
    minimal={},
    full={
        "name": "{unique}-full",
        "description": "all there is",
        "enabled": True,
        "tags": ["b", "a"],
        "domainId": "default",
        "parentId": "default",
    },
    drifts=(
        project("/name", {"name": "vandalised-{unique}"}),
        project("/description", {"description": "vandalised"}),
        project("/enabled", {"enabled": False}),
        project("/tags", {"tags": ["a", "vandal"]}),
    ),
    immutable=("parentId", "{project}"),
    later={"description": "edited", "enabled": False, "tags": ["edited"]},
)

USER = Sample(
    "User",
    "identity",
    "/users",
    "user",
    parents=lambda bench: [bench.declare("Project", f"{bench.tenant.name}-home")],
    minimal={},
    full={
        "name": "{unique}-full",
        "description": "all there is",
        "enabled": True,
        "email": "full@example.org",
        "defaultProjectId": "${Project/{unique}-home.id}",
        "domainId": "default",
    },
    drifts=(
        user("/name", {"name": "vandalised-{unique}"}),
        user("/description", {"description": "vandalised"}),
        user("/enabled", {"enabled": False}),
        user("/email", {"email": "vandal@example.org"}),
        user("/defaultProjectId", {"default_project_id": None}),
    ),
    later={"description": "edited", "enabled": False, "email": "edited@example.org"},
)

MICROVERSION = "2.79"
SERVERS = "2.46"


def image(path: str, *steps: Mapping[str, Json]) -> Drift:
    def act(bench: Bench, ident: str) -> None:
        kind = {"Content-Type": "application/openstack-images-v2.1-json-patch"}
        bench.vandal.request("image", "PATCH", f"/images/{ident}", list(steps), headers=kind)

    return Drift(path, act)


def put(path: str, value: Json) -> Mapping[str, Json]:
    return {"op": "add", "path": path, "value": value}


IMAGE = Sample(
    "Image",
    "image",
    "/images",
    "",
    minimal={"diskFormat": "raw", "containerFormat": "bare"},
    full={
        "name": "full-image",
        "visibility": "public",
        "protected": True,
        "tags": ["b", "a"],
        "minDisk": 2,
        "minRam": 128,
        "hidden": False,
        "diskFormat": "raw",
        "containerFormat": "bare",
        "properties": {"os_distro": "debian", "hw_disk_bus": "virtio", "my~odd/name": "x"},
        "content": {"file": "{data}"},
    },
    drifts=(
        image("/name", put("/name", "vandalised")),
        image("/visibility", put("/visibility", "private")),
        image("/protected", put("/protected", False)),
        image("/tags", put("/tags", ["vandal"])),
        image("/minDisk", put("/min_disk", 3)),
        image("/minRam", put("/min_ram", 64)),
        image("/hidden", put("/os_hidden", True)),
        image("/properties/os_distro", put("/os_distro", "vandalix")),
        image("/properties/hw_disk_bus", {"op": "remove", "path": "/hw_disk_bus"}),
        image("/properties/my~0odd~1name", put("/my~0odd~1name", "y")),
    ),
    immutable=("containerFormat", "ovf"),
    later={
        "protected": True,
        "tags": ["edited"],
        "minDisk": 5,
        "visibility": "private",
        "hidden": True,
        "properties": {"os_distro": "debian"},
    },
    kept=("os_distro",),
)


def compute(path: str, where: str, body: Json, method: str = "PUT", version: str = MICROVERSION) -> Drift:
    def act(bench: Bench, ident: str) -> None:
        bench.vandal.request("compute", method, where.format(id=ident), body, microversion=version)

    return Drift(path, act)


FLAVOR = Sample(
    "Flavor",
    "compute",
    "/flavors",
    "flavor",
    needs=("nova",),
    microversion=MICROVERSION,
    minimal={"ram": 64, "vcpus": 1, "disk": 0},
    full={
        "name": "{unique}-full",
        "description": "all there is",
        "ram": 128,
        "vcpus": 2,
        "disk": 1,
        "swap": 16,
        "ephemeral": 1,
        "rxtxFactor": 1.5,
        "isPublic": False,
        "extraSpecs": {"hw:cpu_policy": "shared", "hw:watchdog_action": "none"},
    },
    drifts=(
        compute("/description", "/flavors/{id}", {"flavor": {"description": "vandalised"}}),
        compute(
            "/extraSpecs/hw:cpu_policy",
            "/flavors/{id}/os-extra_specs/hw:cpu_policy",
            {"hw:cpu_policy": "dedicated"},
        ),
        compute("/extraSpecs", "/flavors/{id}/os-extra_specs/hw:watchdog_action", None, "DELETE"),
        compute("/extraSpecs", "/flavors/{id}/os-extra_specs", {"extra_specs": {"hw:mem_page_size": "large"}}, "POST"),
    ),
    immutable=("ram", 256),
    later={"description": "edited", "extraSpecs": {"hw:cpu_policy": "dedicated"}},
)

KEY = (
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQDx8nkQv/zgGgB4rMYmIf+6A4l6Rr+o/6lHBQdW5aYd44bd8JttDCE/F/pNRr0lRE+PiqSPO8nDPH"
    "w0010JeMH9gYgnnFlyY3/OcJ02RhIPyyxYpv9FhY+2YiUkpwFOcLImyrxEsYXpD/0d3ac30bNH6Sw9JD9UZHYcpSxsIbECHw== me@here"
)
OTHER_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me@there"


def _other_key(bench: Bench, ident: str) -> None:
    """Take the place of a key pair, which cannot be changed."""
    bench.vandal.delete("compute", f"/os-keypairs/{ident}", microversion=MICROVERSION)
    body = {"keypair": {"name": ident, "public_key": OTHER_KEY}}
    bench.vandal.post("compute", "/os-keypairs", body, microversion=MICROVERSION)


KEY_PAIR = Sample(
    "KeyPair",
    "compute",
    "/os-keypairs",
    "keypair",
    needs=("nova",),
    microversion=MICROVERSION,
    minimal={"publicKey": KEY},
    full={"name": "full-key", "publicKey": KEY, "type": "ssh"},
    drifts=(),
    immutable=("publicKey", OTHER_KEY),
)

SERVER_GROUP = Sample(
    "ServerGroup",
    "compute",
    "/os-server-groups",
    "server_group",
    needs=("nova",),
    microversion=MICROVERSION,
    minimal={"policy": "affinity"},
    full={"name": "full-group", "policy": "anti-affinity", "rules": {"maxServerPerHost": 3}},
    drifts=(),
    immutable=("rules", {"maxServerPerHost": 5}),
)


def cinder(path: str, where: str, body: Json, method: str = "PUT") -> Drift:
    def act(bench: Bench, ident: str) -> None:
        bench.vandal.request("block-storage", method, where.format(id=ident), body)

    return Drift(path, act)


VOLUME_TYPE = Sample(
    "VolumeType",
    "block-storage",
    "/types",
    "volume_type",
    needs=("cinder",),
    minimal={},
    full={
        "name": "{unique}-full",
        "description": "all there is",
        "isPublic": False,
        "extraSpecs": {"volume_backend_name": "fake", "replication_enabled": "<is> False"},
    },
    drifts=(
        cinder("/name", "/types/{id}", {"volume_type": {"name": "vandalised-{unique}"}}),
        cinder("/description", "/types/{id}", {"volume_type": {"description": "vandalised"}}),
        cinder("/isPublic", "/types/{id}", {"volume_type": {"is_public": True}}),
        cinder(
            "/extraSpecs/volume_backend_name",
            "/types/{id}/extra_specs/volume_backend_name",
            {"volume_backend_name": "vandal"},
        ),
        cinder("/extraSpecs", "/types/{id}/extra_specs/replication_enabled", None, "DELETE"),
        cinder("/extraSpecs", "/types/{id}/extra_specs", {"extra_specs": {"vandal": "here"}}, "POST"),
    ),
    later={"description": "edited", "isPublic": False, "extraSpecs": {"volume_backend_name": "fake"}},
)


def _types(bench: Bench) -> list[Declaration]:
    return [bench.declare("VolumeType", f"{bench.tenant.name}-{name}") for name in ("gold", "iron")]


VOLUME = Sample(
    "Volume",
    "block-storage",
    "/volumes",
    "volume",
    needs=("cinder",),
    parents=_types,
    minimal={"size": 1},
    full={
        "name": "full-volume",
        "description": "all there is",
        "size": 2,
        "metadata": {"a": "1", "b": "2"},
        "volumeType": "${VolumeType/{unique}-gold.name}",
        "availabilityZone": "nova",
        "bootable": True,
    },
    drifts=(
        cinder("/name", "/volumes/{id}", {"volume": {"name": "vandalised"}}),
        cinder("/description", "/volumes/{id}", {"volume": {"description": "vandalised"}}),
        cinder("/metadata/a", "/volumes/{id}", {"volume": {"metadata": {"a": "9", "b": "2"}}}),
        cinder("/metadata/c", "/volumes/{id}", {"volume": {"metadata": {"a": "1", "b": "2", "c": "3"}}}),
        cinder("/bootable", "/volumes/{id}/action", {"os-set_bootable": {"bootable": False}}, "POST"),
        cinder(
            "/volumeType",
            "/volumes/{id}/action",
            {"os-retype": {"new_type": "{unique}-iron", "migration_policy": "never"}},
            "POST",
        ),
    ),
    later={"description": "edited", "metadata": {"x": "y"}},
)


def _hosted(bench: Bench) -> list[Declaration]:
    """Everything that servers are made of."""
    prefix = bench.tenant.name
    flavor = {"ram": 64, "vcpus": 1, "disk": 0}
    raw = {"diskFormat": "raw", "containerFormat": "bare", "content": {"file": "{data}"}}
    addressed = {"networkId": "${Network/net.id}", "fixedIps": [{"subnetId": "${Subnet/sub.id}"}]}
    return [
        bench.declare("Flavor", f"{prefix}-flavor", flavor),
        bench.declare("Image", "image", bench.filled(raw)),
        bench.declare("KeyPair", "key", {"publicKey": KEY}),
        bench.declare("ServerGroup", "group", {"policy": "anti-affinity"}),
        *_net_and_subnet(bench),
        *(bench.declare("Port", name, addressed) for name in ("one", "two", "three")),
        *(bench.declare("Volume", name, {"size": 1}) for name in ("data", "more")),
    ]


def _plug(bench: Bench, ident: str) -> None:
    (port,) = bench.vandal.get("network", f"/ports?name=three&project_id={bench.tenant.project_id}")["ports"]
    body = {"interfaceAttachment": {"port_id": port["id"]}}
    bench.vandal.post("compute", f"/servers/{ident}/os-interface", body, microversion=SERVERS)


def _unplug(bench: Bench, ident: str) -> None:
    (port,) = bench.vandal.get("network", f"/ports?name=two&project_id={bench.tenant.project_id}")["ports"]
    bench.vandal.delete("compute", f"/servers/{ident}/os-interface/{port['id']}", microversion=SERVERS)
    bench.until(
        lambda: not bench.vandal.get("network", f"/ports/{port['id']}")["port"]["device_id"], "the port is unplugged"
    )


def _attached(bench: Bench, ident: str) -> list[str]:
    server = bench.vandal.get("compute", f"/servers/{ident}", microversion=SERVERS)["server"]
    return [each["id"] for each in server["os-extended-volumes:volumes_attached"]]


def _unmount(bench: Bench, ident: str) -> None:
    (volume,) = _attached(bench, ident)
    bench.vandal.delete("compute", f"/servers/{ident}/os-volume_attachments/{volume}", microversion=SERVERS)
    bench.until(lambda: not _attached(bench, ident), "the volume is detached")


def _mount(bench: Bench, ident: str) -> None:
    (volume,) = bench.vandal.get("block-storage", "/volumes/detail?name=more")["volumes"]
    body = {"volumeAttachment": {"volumeId": volume["id"]}}
    bench.vandal.post("compute", f"/servers/{ident}/os-volume_attachments", body, microversion=SERVERS)
    bench.until(lambda: len(_attached(bench, ident)) == 2, "the volume is attached")


def _stopped(bench: Bench, ident: str) -> None:
    bench.vandal.post("compute", f"/servers/{ident}/action", {"os-stop": None}, microversion=SERVERS)

    def is_off() -> bool:
        server = bench.vandal.get("compute", f"/servers/{ident}", microversion=SERVERS)["server"]
        return bool(server["status"] == "SHUTOFF")

    bench.until(is_off, "the server is off")


SERVER = Sample(
    "Server",
    "compute",
    "/servers",
    "server",
    needs=("nova", "cinder"),
    microversion=SERVERS,
    parents=_hosted,
    minimal={"flavorId": "${Flavor/{unique}-flavor.id}", "imageId": "${Image/image.id}"},
    full={
        "name": "full-server",
        "description": "all there is",
        "flavorId": "${Flavor/{unique}-flavor.id}",
        "imageId": "${Image/image.id}",
        "keyName": "${KeyPair/key.id}",
        "metadata": {"a": "1", "b": "2"},
        "tags": ["s"],
        "interfaces": [{"portId": "${Port/one.id}"}, {"portId": "${Port/two.id}"}],
        "volumes": [{"volumeId": "${Volume/data.id}"}],
        "serverGroupId": "${ServerGroup/group.id}",
        "userData": "#cloud-config",
        "availabilityZone": "nova",
        "powerState": "running",
    },
    drifts=(
        compute("/name", "/servers/{id}", {"server": {"name": "vandalised"}}, version=SERVERS),
        compute("/description", "/servers/{id}", {"server": {"description": "vandalised"}}, version=SERVERS),
        compute("/metadata/a", "/servers/{id}/metadata", {"metadata": {"a": "9", "b": "2"}}, version=SERVERS),
        compute("/metadata", "/servers/{id}/metadata", {"metadata": {}}, version=SERVERS),
        compute("/tags", "/servers/{id}/tags", {"tags": ["vandal"]}, version=SERVERS),
        Drift("/powerState", _stopped),
        Drift("/interfaces", _unplug),
        Drift("/interfaces", _plug),
        Drift("/volumes", _unmount),
        Drift("/volumes", _mount),
    ),
    immutable=("keyName", None),
    later={"description": "edited", "metadata": {"x": "y"}, "tags": ["edited"]},
)

ALL: tuple[Sample, ...] = (
    NETWORK,
    SUBNET,
    SUBNET_V6,
    ADDRESS_SCOPE,
    ROUTER,
    PORT,
    SECURITY_GROUP,
    FLOATING_IP,
    TRUNK,
    PROJECT,
    USER,
    IMAGE,
    FLAVOR,
    KEY_PAIR,
    SERVER_GROUP,
    VOLUME_TYPE,
    VOLUME,
    SERVER,
)
