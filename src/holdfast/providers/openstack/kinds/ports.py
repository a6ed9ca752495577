"""Neutron's ports, trunks and security groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast.model.json import Json
from holdfast.model.write_result import WriteFailure
from holdfast.providers.openstack import naming
from holdfast.providers.openstack.calls import Calls, Place
from holdfast.providers.openstack.kind_definition import NAME, Item, Manner, Thing, fixed, mutable
from holdfast.providers.openstack.subresources.rules import Rules
from holdfast.providers.openstack.subresources.subports import SubPorts
from holdfast.providers.openstack.subresources.tags import Tags
from holdfast.providers.protocol import Target

_PLACE: Final = Place("network")


class _PortManner(Manner):
    reads_first = True

    async def put(
        self, calls: Calls, thing: Thing, item: Item, body: Mapping[str, Json], headers: Mapping[str, str]
    ) -> Mapping[str, Json] | WriteFailure:
        """Change a port; a DHCP option goes only by being set to nothing."""
        out = dict(body)
        if "extra_dhcp_opts" in out:
            wanted = {(each.get("opt_name"), each.get("ip_version", 4)) for each in out["extra_dhcp_opts"] or ()}
            for each in item.body.get("extra_dhcp_opts") or ():
                if (each.get("opt_name"), each.get("ip_version", 4)) not in wanted:
                    gone = {"opt_name": each.get("opt_name"), "ip_version": each.get("ip_version", 4)}
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


PORT: Final = Thing(
    kind="Port",
    service="network",
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
    filters=(("name", "name"), ("networkId", "network_id")),
    is_revised=True,
    manner=_PortManner(),
)

TRUNK: Final = Thing(
    kind="Trunk",
    service="network",
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
    filters=(("name", "name"), ("portId", "port_id")),
    is_revised=True,
    manner=_TrunkManner(),
)

SECURITY_GROUP: Final = Thing(
    kind="SecurityGroup",
    service="network",
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
    is_revised=True,
    revision_covers_all=True,
)
