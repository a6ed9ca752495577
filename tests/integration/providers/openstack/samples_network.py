"""Samples of Neutron's kinds."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.model.json import Json
from holdfast.model.resource import Declaration
from tests.integration.providers.openstack.bench import Bench
from tests.integration.providers.openstack.sampling import Act, Drift, Sample, changed, tagged


def network(path: str, body: Mapping[str, Json]) -> Drift:
    return Drift(path, changed("/networks", "network", body))


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
        "physicalNetwork": "physnet2",
        "segmentationId": "{vlan}",
        "qosPolicyId": "{qos}",
        "projectId": "{project}",
        "tags": ["b", "a"],
    },
    drifts=(
        network("/name", {"name": "altered"}),
        network("/description", {"description": "altered"}),
        network("/adminStateUp", {"admin_state_up": False}),
        network("/shared", {"shared": False}),
        network("/mtu", {"mtu": 1300}),
        network("/portSecurityEnabled", {"port_security_enabled": False}),
        network("/external", {"router:external": False}),
        network("/dnsDomain", {"dns_domain": "elsewhere.org."}),
        network("/segmentationId", {"provider:segmentation_id": "{vlan}"}),
        network("/qosPolicyId", {"qos_policy_id": None}),
        tagged("/networks", ["a", "intruder"]),
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


def net_and_subnet(bench: Bench) -> list[Declaration]:
    # Neutron draws addresses at random: the pool leaves out those that the samples fix.
    pool = [{"start": "10.9.0.100", "end": "10.9.0.180"}]
    subnet = {"networkId": "${Network/net.id}", "cidr": "10.9.0.0/24", "ipVersion": 4, "allocationPools": pool}
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
        "dnsPublishFixedIp": True,
        "projectId": "{project}",
        "tags": ["x", "y"],
    },
    drifts=(
        subnet("/name", {"name": "altered"}),
        subnet("/description", {"description": "altered"}),
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
        subnet("/dnsPublishFixedIp", {"dns_publish_fixed_ip": False}),
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
    full={"name": "full-scope", "ipVersion": 6, "shared": True, "projectId": "{project}"},
    drifts=(Drift("/name", changed("/address-scopes", "address_scope", {"name": "altered"})),),
    immutable=("ipVersion", 4),
)


def _outside(bench: Bench) -> list[Declaration]:
    outer = {
        "networkId": "${Network/ext.id}",
        "cidr": "172.24.0.0/24",
        "ipVersion": 4,
        "enableDhcp": False,
        # A router's gateway is drawn at random: the pool leaves out the addresses that the samples fix.
        "allocationPools": [{"start": "172.24.0.100", "end": "172.24.0.180"}],
    }
    return [
        *net_and_subnet(bench),
        bench.declare("Network", "ext", {"external": True}),
        bench.declare("Subnet", "ext-sub", outer),
    ]


def _second(bench: Bench) -> list[Declaration]:
    more = {"networkId": "${Network/net.id}", "cidr": "10.8.0.0/24", "ipVersion": 4}
    return [*_outside(bench), bench.declare("Subnet", "sub2", more)]


def router(path: str, body: Mapping[str, Json]) -> Drift:
    return Drift(path, changed("/routers", "router", body))


def _unplugged(bench: Bench, ident: str) -> None:
    ports = bench.drift_injector.get("network", f"/ports?device_id={ident}&device_owner=network:router_interface")[
        "ports"
    ]
    row = next(port for port in ports if port["fixed_ips"][0]["ip_address"].startswith("10.8."))
    bench.drift_injector.put("network", f"/routers/{ident}/remove_router_interface", {"port_id": row["id"]})


def _plugged(bench: Bench, ident: str) -> None:
    net = bench.drift_injector.post("network", "/networks", {"network": {"name": "other"}})["network"]["id"]
    given = {"network_id": net, "cidr": "10.77.0.0/24", "ip_version": 4}
    sub = bench.drift_injector.post("network", "/subnets", {"subnet": given})["subnet"]["id"]
    bench.drift_injector.put("network", f"/routers/{ident}/add_router_interface", {"subnet_id": sub})


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
        "distributed": False,
        "ha": False,
        "projectId": "{project}",
        "tags": ["r"],
    },
    drifts=(
        router("/name", {"name": "altered"}),
        router("/description", {"description": "altered"}),
        router("/adminStateUp", {"admin_state_up": False}),
        router("/routes", {"routes": []}),
        router("/routes", {"routes": [{"destination": "192.168.6.0/24", "nexthop": "10.9.0.78"}]}),
        router("/externalGateway", {"external_gateway_info": {}}),
        Drift("/externalGateway/enableSnat", lambda bench, ident: _snat(bench, ident)),
        Drift("/interfaces", _unplugged),
        Drift("/interfaces", _plugged),
        tagged("/routers", ["r", "intruder"]),
    ),
    immutable=("distributed", True),
    later={"description": "edited", "adminStateUp": False, "tags": ["edited"], "interfaces": []},
)


def _snat(bench: Bench, ident: str) -> None:
    info = bench.drift_injector.get("network", f"/routers/{ident}")["router"]["external_gateway_info"]
    given = {"network_id": info["network_id"], "enable_snat": True}
    bench.drift_injector.put("network", f"/routers/{ident}", {"router": {"external_gateway_info": given}})


def _groups(bench: Bench) -> list[Declaration]:
    return [*net_and_subnet(bench), bench.declare("SecurityGroup", "web"), bench.declare("SecurityGroup", "ssh")]


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
        "dnsDomain": "example.org.",
        "vnicType": "direct",
        "qosPolicyId": "{qos}",
        "projectId": "{project}",
        "tags": ["p"],
    },
    drifts=(
        port("/name", {"name": "altered"}),
        port("/description", {"description": "altered"}),
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
        port("/extraDhcpOpts", {"extra_dhcp_opts": [{"opt_name": "domain-name", "opt_value": "intruder"}]}),
        port("/deviceId", {"device_id": "intruder"}),
        port("/deviceOwner", {"device_owner": "drift_injector:x"}),
        port("/dnsName", {"dns_name": "intruder"}),
        port("/dnsDomain", {"dns_domain": "elsewhere.org."}),
        port("/vnicType", {"binding:vnic_type": "normal"}),
        port("/qosPolicyId", {"qos_policy_id": "{qos}"}),
        port("/qosPolicyId", {"qos_policy_id": None}),
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

PORT_BOUND = Sample(
    "Port",
    "network",
    "/ports",
    "port",
    variant="bound",
    parents=_groups,
    minimal={"networkId": "${Network/net.id}", "hostId": "compute-1"},
    full={
        "networkId": "${Network/net.id}",
        "hostId": "compute-1",
        "bindingProfile": {"trusted": "true"},
        "fixedIps": [
            {"subnetId": "${Subnet/sub.id}", "ipAddress": "10.9.0.60"},
            {"subnetId": "${Subnet/sub.id}", "ipAddress": "10.9.0.61"},
        ],
        "portSecurityEnabled": False,
    },
    drifts=(
        port("/hostId", {"binding:host_id": "compute-2"}),
        port("/hostId", {"binding:host_id": ""}),
        port("/bindingProfile", {"binding:profile": {}}),
        port("/fixedIps", {"fixed_ips": [{"ip_address": "10.9.0.60"}]}),
        port("/fixedIps", {"fixed_ips": [{"ip_address": "10.9.0.60"}, {"ip_address": "10.9.0.62"}]}),
        port("/portSecurityEnabled", {"port_security_enabled": True}),
    ),
)

SSH = {"direction": "ingress", "protocol": "tcp", "portRangeMin": 22, "portRangeMax": 22}
WEB = {"direction": "ingress", "protocol": "tcp", "portRangeMin": 80, "portRangeMax": 443, "description": "the web"}
OUT = {"direction": "egress", "ethertype": "IPv4"}


def rule_deleted(wanted: Mapping[str, Json]) -> Act:
    def act(bench: Bench, ident: str) -> None:
        rules = bench.drift_injector.get("network", f"/security-group-rules?security_group_id={ident}")[
            "security_group_rules"
        ]
        (found,) = [rule for rule in rules if all(rule[name] == value for name, value in wanted.items())]
        bench.drift_injector.delete("network", f"/security-group-rules/{found['id']}")

    return act


def rule_added(**rule: Json) -> Act:
    def act(bench: Bench, ident: str) -> None:
        given = {"security_group_id": ident, **rule}
        bench.drift_injector.post("network", "/security-group-rules", {"security_group_rule": given})

    return act


def _both(*acts: Act) -> Act:
    def act(bench: Bench, ident: str) -> None:
        for item in acts:
            item(bench, ident)

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
        "projectId": "{project}",
        "tags": ["g"],
    },
    drifts=(
        group("/name", {"name": "altered"}),
        group("/description", {"description": "altered"}),
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
    both = [{**fixed[0], "ipAddress": f"10.9.0.{last}"} for last in (70, 71)]
    return [
        *_outside(bench),
        bench.declare("Router", "r", {"externalGateway": gateway, "interfaces": plugged}),
        bench.declare("Port", "p", {"networkId": "${Network/net.id}", "fixedIps": both}),
        bench.declare("Port", "q", {"networkId": "${Network/net.id}", "fixedIps": fixed}),
    ]


def floating(path: str, body: Mapping[str, Json]) -> Drift:
    """Change a floating IP; of a port with several addresses the one it leads to is said every time."""

    def act(bench: Bench, ident: str) -> None:
        live = bench.drift_injector.get("network", f"/floatingips/{ident}")["floatingip"]
        led = {} if "port_id" in body else {name: live[name] for name in ("port_id", "fixed_ip_address")}
        bench.drift_injector.request("network", "PUT", f"/floatingips/{ident}", {"floatingip": {**led, **body}})

    return Drift(path, act)


def _moved_to_q(bench: Bench, ident: str) -> None:
    (port,) = bench.drift_injector.get("network", f"/ports?name=q&project_id={bench.tenant.project_id}")["ports"]
    bench.drift_injector.put("network", f"/floatingips/{ident}", {"floatingip": {"port_id": port["id"]}})


FLOATING_IP = Sample(
    "FloatingIP",
    "network",
    "/floatingips",
    "floatingip",
    parents=_routed,
    minimal={"floatingNetworkId": "${Network/ext.id}", "subnetId": "${Subnet/ext-sub.id}"},
    full={
        "floatingNetworkId": "${Network/ext.id}",
        "floatingIpAddress": "172.24.0.99",
        "description": "all there is",
        "portId": "${Port/p.id}",
        "fixedIpAddress": "10.9.0.70",
        "subnetId": "${Subnet/ext-sub.id}",
        "dnsName": "full",
        "dnsDomain": "example.org.",
        "qosPolicyId": "{qos}",
        "projectId": "{project}",
        "tags": ["f"],
    },
    drifts=(
        floating("/description", {"description": "altered"}),
        floating("/portId", {"port_id": None}),
        Drift("/portId", _moved_to_q),
        floating("/fixedIpAddress", {"fixed_ip_address": "10.9.0.71"}),
        floating("/qosPolicyId", {"qos_policy_id": None}),
        tagged("/floatingips", ["f", "intruder"]),
    ),
    immutable=("floatingIpAddress", "172.24.0.98"),
    later={"description": "edited", "portId": "${Port/p.id}", "fixedIpAddress": "10.9.0.70", "tags": ["edited"]},
    unseen=("${Router/r.id}",),
)


def _parent_ports(bench: Bench) -> list[Declaration]:
    ports = [bench.declare("Port", name, {"networkId": "${Network/net.id}"}) for name in ("parent", "one", "two")]
    return [*net_and_subnet(bench), *ports]


def trunk(path: str, body: Mapping[str, Json]) -> Drift:
    return Drift(path, changed("/trunks", "trunk", body))


def _unridden(bench: Bench, ident: str) -> None:
    rows = bench.drift_injector.get("network", f"/trunks/{ident}")["trunk"]["sub_ports"]
    gone = {"sub_ports": [{"port_id": rows[0]["port_id"]}]}
    bench.drift_injector.put("network", f"/trunks/{ident}/remove_subports", gone)


def _resegmented(bench: Bench, ident: str) -> None:
    row = bench.drift_injector.get("network", f"/trunks/{ident}")["trunk"]["sub_ports"][0]
    bench.drift_injector.put(
        "network", f"/trunks/{ident}/remove_subports", {"sub_ports": [{"port_id": row["port_id"]}]}
    )
    again = {"sub_ports": [{**row, "segmentation_id": 999}]}
    bench.drift_injector.put("network", f"/trunks/{ident}/add_subports", again)


def _ridden(bench: Bench, ident: str) -> None:
    taken = bench.drift_injector.get("network", f"/trunks/{ident}")["trunk"]
    ports = bench.drift_injector.get("network", f"/ports?project_id={bench.tenant.project_id}")["ports"]
    used = {taken["port_id"], *(row["port_id"] for row in taken["sub_ports"])}
    free = next((port for port in ports if port["id"] not in used), None)
    if free is None:
        given = {"port": {"network_id": ports[0]["network_id"]}}
        free = bench.drift_injector.post("network", "/ports", given)["port"]
    row = {"port_id": free["id"], "segmentation_type": "vlan", "segmentation_id": 77}
    bench.drift_injector.put("network", f"/trunks/{ident}/add_subports", {"sub_ports": [row]})


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
        "projectId": "{project}",
        "tags": ["t"],
    },
    drifts=(
        trunk("/name", {"name": "altered"}),
        trunk("/description", {"description": "altered"}),
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
