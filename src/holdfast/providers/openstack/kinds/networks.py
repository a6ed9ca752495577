"""Neutron's networks, subnets and address scopes.

What can be changed was tried on the real service. Its revision number does not grow with everything: new allocation
pools, host routes and name servers of a subnet leave it as it was, so only networks are known unchanged by it; and not
even they when their segment moves.
"""

from __future__ import annotations

from typing import Final

from holdfast.providers.openstack.calls import ServiceDialect
from holdfast.providers.openstack.kind_definition import (
    NAME,
    KindDefinition,
    ListCall,
    Referrer,
    Revision,
    birth_only,
    fixed,
    mutable,
)
from holdfast.providers.openstack.subresources.tags import Tags

_PLACE: Final = ServiceDialect("network")

NETWORK: Final = KindDefinition(
    kind="Network",
    place=_PLACE,
    path="/networks",
    one="network",
    many="networks",
    fields=(
        mutable("name", default=NAME),
        mutable("description", default=""),
        mutable("admin_state_up", default=True),
        mutable("shared", default=False),
        mutable("mtu"),
        mutable("port_security_enabled", cleared=True),
        mutable("router:external", cleared=False),
        mutable("dns_domain", cleared=""),
        mutable("provider:segmentation_id"),
        mutable("qos_policy_id", cleared=None),
        fixed("provider:network_type"),
        fixed("provider:physical_network"),
        fixed("vlan_transparent"),
        fixed("availability_zone_hints"),
        fixed("project_id"),
    ),
    subs=(Tags(_PLACE, "/networks"),),
    referrers=(Referrer("/subnets", "subnets", "network_id"), Referrer("/ports", "ports", "network_id")),
    revision=Revision(covers_all=True, uncovered=("provider:segmentation_id",)),
)

SUBNET: Final = KindDefinition(
    kind="Subnet",
    place=_PLACE,
    path="/subnets",
    one="subnet",
    many="subnets",
    fields=(
        mutable("name", default=NAME),
        mutable("description", default=""),
        mutable("enable_dhcp", default=True),
        mutable("gateway_ip"),
        mutable("allocation_pools"),
        mutable("host_routes", default=[]),
        mutable("dns_nameservers", default=[]),
        mutable("service_types", cleared=[]),
        mutable("dns_publish_fixed_ip"),
        fixed("network_id"),
        fixed("ip_version"),
        fixed("cidr"),
        fixed("ipv6_address_mode"),
        fixed("ipv6_ra_mode"),
        fixed("subnetpool_id", "subnetPoolId"),
        birth_only("prefixlen", "prefixLength"),
        fixed("segment_id"),
        fixed("project_id"),
    ),
    subs=(Tags(_PLACE, "/subnets"),),
    found_by=("name", "networkId", "cidr"),
    referrers=(Referrer("/ports", "ports", "fixed_ips", "subnet_id={id}"),),
    revision=Revision(),
    listing=ListCall(filters=(("name", "name"), ("networkId", "network_id"), ("cidr", "cidr"))),
)

ADDRESS_SCOPE: Final = KindDefinition(
    kind="AddressScope",
    place=_PLACE,
    path="/address-scopes",
    one="address_scope",
    many="address_scopes",
    fields=(
        mutable("name", default=NAME),
        mutable("shared", cleared=False),  # once shared, the service refuses to take it back
        fixed("ip_version"),
        fixed("project_id"),
    ),
    found_by=("name", "ipVersion"),
)
