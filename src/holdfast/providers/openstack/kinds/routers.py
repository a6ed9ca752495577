"""Neutron's routers and floating IPs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast.provider import Json, Target, WriteFailure
from holdfast.providers import url_paths
from holdfast.providers.openstack import defaults
from holdfast.providers.openstack.calls import Calls, ServiceDialect
from holdfast.providers.openstack.kind_definition import (
    NAME,
    Item,
    KindDefinition,
    ListCall,
    Manner,
    Referrer,
    Revision,
    birth_only,
    fixed,
    mutable,
    read_only,
)
from holdfast.providers.openstack.subresources import interfaces
from holdfast.providers.openstack.subresources.interfaces import Interfaces
from holdfast.providers.openstack.subresources.tags import Tags

_PLACE: Final = ServiceDialect("network")


class _RouterManner(Manner):
    async def emptied(self, calls: Calls, target: Target) -> WriteFailure | bool:
        """Take it out of the subnets it was declared to be in; whatever else was attached keeps it from going."""
        rows: list[Mapping[str, Json]] = [row for row in target.desired.get("interfaces") or () if row.get("subnetId")]
        if not rows or target.id is None:
            return False
        routes = await calls.send(
            _PLACE, "PUT", f"/routers/{url_paths.segment(target.id)}", {"router": {"routes": []}}, target.id
        )
        if isinstance(routes, WriteFailure):
            return False  # the delete will report the cause
        for row in rows:
            refused = await interfaces.detach(calls, target.id, row)
            if refused is not None:
                return refused
        return True


class _FloatingManner(Manner):
    reads_first = True

    async def put(
        self, calls: Calls, thing: KindDefinition, item: Item, body: Mapping[str, Json], headers: Mapping[str, str]
    ) -> Mapping[str, Json] | WriteFailure:
        """Return the body with its port, because Neutron refuses any change where a port has several addresses."""
        out = dict(body)
        if item.body.get("port_id") is not None and "port_id" not in out:
            led = {name: item.body.get(name) for name in ("port_id", "fixed_ip_address")}
            out = {**led, **out}
        return await super().put(calls, thing, item, out, headers)

    def identity(self, thing: KindDefinition, target: Target) -> dict[str, Json] | None:
        """Know it by its address, or by a description that is its name; any other may stand on several."""
        del thing
        desired = target.desired
        network = {"floatingNetworkId": desired.get("floatingNetworkId")}
        if desired.get("floatingIpAddress") is not None:
            return {**network, "floatingIpAddress": desired["floatingIpAddress"]}
        if desired.get("description") == defaults.live_name(target.name, target.namespace):
            return {**network, "description": desired["description"]}
        return None


def _gateway(value: Json) -> Json:
    """Send what a gateway was declared with; with the network alone the service keeps the addresses it has."""
    if not isinstance(value, Mapping) or value.get("networkId") is None:
        return {}
    out: dict[str, Json] = {"network_id": value.get("networkId")}
    if value.get("enableSnat") is not None:
        out["enable_snat"] = value["enableSnat"]
    addresses = value.get("externalFixedIps")
    if addresses is not None:
        rows = ({"subnet_id": row.get("subnetId"), "ip_address": row.get("ipAddress")} for row in addresses)
        out["external_fixed_ips"] = [{name: part for name, part in row.items() if part is not None} for row in rows]
    return out


ROUTER: Final = KindDefinition(
    kind="Router",
    place=_PLACE,
    path="/routers",
    one="router",
    many="routers",
    fields=(
        mutable("name", default=NAME),
        mutable("description", default=""),
        mutable("admin_state_up", default=True),
        # Neutron moves the router by making its gateway port, and then finds that the router has moved (measured).
        mutable("external_gateway_info", "externalGateway", cleared={}, encode=_gateway, is_self_moving=True),
        mutable("routes", cleared=[], is_late=True),
        fixed("distributed"),
        fixed("ha"),
        fixed("flavor_id"),
        fixed("availability_zone_hints"),
        fixed("project_id"),
    ),
    subs=(Interfaces(), Tags(_PLACE, "/routers")),
    companions=(interfaces.PORTS,),
    referrers=(Referrer("/ports", "ports", "device_id"),),
    manner=_RouterManner(),
    revision=Revision(covers_all=True),
)

FLOATING_IP: Final = KindDefinition(
    kind="FloatingIP",
    place=_PLACE,
    path="/floatingips",
    one="floatingip",
    many="floatingips",
    fields=(
        # It has no name; where none is declared, its description says whose it is.
        mutable("description", default=NAME),
        mutable("port_id", cleared=None),
        mutable("fixed_ip_address"),
        mutable("qos_policy_id", cleared=None),
        fixed("floating_network_id"),
        fixed("floating_ip_address"),
        birth_only("subnet_id"),
        fixed("dns_name"),
        fixed("dns_domain"),
        fixed("project_id"),
        read_only("router_id"),
    ),
    subs=(Tags(_PLACE, "/floatingips"),),
    found_by=("description", "floatingNetworkId", "floatingIpAddress"),
    manner=_FloatingManner(),
    revision=Revision(covers_all=True),
    listing=ListCall(
        filters=(("floatingNetworkId", "floating_network_id"), ("floatingIpAddress", "floating_ip_address"))
    ),
)
