"""Neutron's ports, trunks and security groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast.provider import Json, Target, WriteFailure
from holdfast.providers.openstack import naming
from holdfast.providers.openstack.calls import Calls, ServiceDialect
from holdfast.providers.openstack.kind_definition import (
    NAME,
    Item,
    KindDefinition,
    ListCall,
    Manner,
    Revision,
    fixed,
    mutable,
)
from holdfast.providers.openstack.subresources.rules import Rules
from holdfast.providers.openstack.subresources.subports import SubPorts
from holdfast.providers.openstack.subresources.tags import Tags

_PLACE: Final = ServiceDialect("network")


class _PortManner(Manner):
    reads_first = True

    async def put(
        self, calls: Calls, thing: KindDefinition, item: Item, body: Mapping[str, Json], headers: Mapping[str, str]
    ) -> Mapping[str, Json] | WriteFailure:
        """Change a port; a DHCP option goes only by being set to nothing."""
        out = dict(body)
        if "extra_dhcp_opts" in out:
            wanted = {(opt.get("opt_name"), opt.get("ip_version", 4)) for opt in out["extra_dhcp_opts"] or ()}
            for element in item.body.get("extra_dhcp_opts") or ():
                if (element.get("opt_name"), element.get("ip_version", 4)) not in wanted:
                    gone = {"opt_name": element.get("opt_name"), "ip_version": element.get("ip_version", 4)}
                    out["extra_dhcp_opts"] = [*out["extra_dhcp_opts"], {**gone, "opt_value": None}]
        return await super().put(calls, thing, item, out, headers)


class _TrunkManner(Manner):
    async def birth(self, calls: Calls, target: Target, body: dict[str, Json]) -> dict[str, Json] | WriteFailure:
        """Give it its sub-ports at birth: one that is born down takes none later."""
        del calls
        return {**body, "sub_ports": naming.to_snake(list(target.desired.get("subPorts") or ()))}


def _addresses(value: Json) -> Json:
    """Send the parts of addresses that are known; null is not a part."""
    if not isinstance(value, list):
        return value
    return [{key: part for key, part in naming.to_snake(dict(row)).items() if part is not None} for row in value]


PORT: Final = KindDefinition(
    kind="Port",
    place=_PLACE,
    path="/ports",
    one="port",
    many="ports",
    fields=(
        mutable("name", default=NAME),
        mutable("description", default=""),
        mutable("admin_state_up", default=True),
        mutable("fixed_ips", encode=_addresses),
        mutable("mac_address"),
        mutable("allowed_address_pairs", default=[], encode=_addresses),
        mutable("security_groups"),
        mutable("port_security_enabled"),
        mutable("extra_dhcp_opts", cleared=[]),
        mutable("device_id", cleared=""),
        mutable("device_owner", cleared=""),
        mutable("dns_name", cleared=""),
        mutable("dns_domain", cleared=""),
        mutable("binding:vnic_type", cleared="normal"),
        mutable("binding:host_id", "hostId"),
        mutable("binding:profile", "bindingProfile", is_opaque=True, cleared={}),
        mutable("qos_policy_id", cleared=None),
        fixed("propagate_uplink_status"),
        fixed("network_id"),
        fixed("project_id"),
    ),
    subs=(Tags(_PLACE, "/ports"),),
    found_by=("name", "networkId"),
    manner=_PortManner(),
    revision=Revision(),
    listing=ListCall(filters=(("name", "name"), ("networkId", "network_id"))),
)

TRUNK: Final = KindDefinition(
    kind="Trunk",
    place=_PLACE,
    path="/trunks",
    one="trunk",
    many="trunks",
    fields=(
        mutable("name", default=NAME),
        mutable("description", default=""),
        mutable("admin_state_up", default=True),
        fixed("port_id"),
        fixed("project_id"),
    ),
    subs=(SubPorts(), Tags(_PLACE, "/trunks")),
    found_by=("name", "portId"),
    manner=_TrunkManner(),
    revision=Revision(),
    listing=ListCall(filters=(("name", "name"), ("portId", "port_id"))),
)

SECURITY_GROUP: Final = KindDefinition(
    kind="SecurityGroup",
    place=_PLACE,
    path="/security-groups",
    one="security_group",
    many="security_groups",
    fields=(
        mutable("name", default=NAME),
        mutable("description", default=""),
        mutable("stateful", cleared=True),
        fixed("project_id"),
    ),
    subs=(Rules(), Tags(_PLACE, "/security-groups")),
    revision=Revision(covers_all=True),
)
