"""Interfaces of routers: which subnets a router is in, told by the ports it has there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.write_result import WriteFailure
from holdfast.providers import url_paths
from holdfast.providers.openstack import status_mapping
from holdfast.providers.openstack.calls import Calls, ServiceDialect
from holdfast.providers.openstack.kind_definition import Companion, Item

_PLACE: Final = ServiceDialect("network")
_OWNERS: Final = (
    "network:router_interface",
    "network:router_interface_distributed",
    "network:ha_router_replicated_interface",
)
PORTS: Final = Companion(
    name="ports",
    service="network",
    path="/ports",
    many="ports",
    by="device_id",
    params=(
        *(("device_owner", owner) for owner in _OWNERS),
        *(("fields", name) for name in ("id", "device_id", "device_owner", "fixed_ips")),
    ),
    is_scoped=True,
)


@dataclass(frozen=True, slots=True)
class Interfaces:
    """The subnets of a router, by the port in each; where none are declared, others may attach what they like."""

    name: str = "interfaces"
    default: Json = ABSENT

    def view(self, item: Item) -> Json:
        """Return a row a subnet; a port may be in several."""
        if "ports" not in item.more:
            return ABSENT
        return sorted(_rows(item), key=lambda row: str(row["subnetId"]))

    def normal(self, value: Json) -> Json:
        """Return the declaration as it is."""
        return value

    async def before(self, calls: Calls, item: Item, wanted: Json) -> WriteFailure | bool:
        """Attach what is missing: routes of the router may lead through it."""
        live = {row["subnetId"] for row in _rows(item)}
        written = False
        for row in wanted or ():
            if row.get("subnetId") in live:
                continue
            given = {"port_id": row["portId"]} if row.get("portId") else {"subnet_id": row.get("subnetId")}
            answer = await calls.send(
                _PLACE, "PUT", f"/routers/{url_paths.segment(item.id)}/add_router_interface", given, item.id
            )
            if isinstance(answer, WriteFailure) and "already has a port" not in answer.message:
                return answer
            written = True
        return written

    async def after(self, calls: Calls, item: Item, wanted: Json) -> WriteFailure | bool:
        """Detach what is not wanted."""
        kept = {row.get("subnetId"): row.get("portId") for row in wanted or ()}
        written = False
        for row in _rows(item):
            port = kept.get(row["subnetId"])
            if row["subnetId"] in kept and port in (None, row["portId"]):
                continue
            refused = await detach(calls, item.id, row)
            if refused is not None:
                return refused
            written = True
        return written


async def detach(calls: Calls, router: str, row: Mapping[str, Json]) -> WriteFailure | None:
    """Take a router out of a subnet; out of it already is done."""
    body = {"subnet_id": row["subnetId"]}
    answer = await calls.send(
        _PLACE, "PUT", f"/routers/{url_paths.segment(router)}/remove_router_interface", body, router
    )
    return answer if isinstance(answer, WriteFailure) and not status_mapping.is_gone(answer) else None


def _rows(item: Item) -> list[dict[str, Json]]:
    return [
        {"subnetId": address.get("subnet_id"), "portId": port.get("id")}
        for port in item.more.get("ports", ())
        for address in port.get("fixed_ips") or ()
    ]
