"""Attachments of servers: ports and volumes. Both take time, so a change is polled to its end."""

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

_VOLUMES: Final = "os-extended-volumes:volumes_attached"
PORTS: Final = Companion(
    name="ports",
    service="network",
    path="/ports",
    many="ports",
    by="device_id",
    params=tuple(("fields", name) for name in ("id", "device_id", "network_id")),
    is_scoped=True,
)


@dataclass(frozen=True, slots=True)
class Plugs:
    """Things plugged into a server, known by their ids; where none are declared, others may plug what they like."""

    place: ServiceDialect
    name: str
    key: str  # of a row: portId
    suffix: str  # /os-interface
    wrapper: str  # interfaceAttachment
    api: str  # of a request: port_id
    default: Json = ABSENT

    def rows(self, item: Item) -> list[dict[str, Json]]:
        """Return the current attachments."""
        if self.key == "portId":
            return [{"portId": port["id"], "networkId": port.get("network_id")} for port in item.more.get("ports", ())]
        return [{"volumeId": element["id"]} for element in item.body.get(_VOLUMES) or ()]

    def view(self, item: Item) -> Json:
        """Return the rows in the order of their ids."""
        return sorted(self.rows(item), key=lambda row: str(row[self.key]))

    def normal(self, value: Json) -> Json:
        """Return the declaration as it is."""
        return value

    async def before(self, calls: Calls, item: Item, wanted: Json) -> WriteFailure | bool:
        """Do nothing."""
        del calls, item, wanted
        return False

    async def after(self, calls: Calls, item: Item, wanted: Json) -> WriteFailure | bool:
        """Unplug what is not wanted, and plug in what is missing."""
        live = {row[self.key] for row in self.rows(item)}
        want = {row.get(self.key) for row in wanted or ()} - {None}
        where = f"/servers/{url_paths.segment(item.id)}{self.suffix}"
        for ident in sorted(live - want, key=str):
            answer = await calls.send(self.place, "DELETE", f"{where}/{url_paths.segment(ident)}", None, item.id)
            if isinstance(answer, WriteFailure) and not status_mapping.is_gone(answer):
                return answer
        for ident in sorted(want - live, key=str):
            answer = await calls.send(self.place, "POST", where, {self.wrapper: {self.api: ident}}, item.id)
            if isinstance(answer, WriteFailure):
                return answer
        return live != want

    def is_so(self, item: Item, wanted: Json) -> bool:
        """Return True if what was asked for is plugged in, and nothing else."""
        return {row[self.key] for row in self.rows(item)} == {row.get(self.key) for row in wanted or ()} - {None}


def interfaces(place: ServiceDialect) -> Plugs:
    """Return the ports of servers."""
    return Plugs(place, "interfaces", "portId", "/os-interface", "interfaceAttachment", "port_id")


def volumes(place: ServiceDialect) -> Plugs:
    """Return the volumes of servers."""
    return Plugs(place, "volumes", "volumeId", "/os-volume_attachments", "volumeAttachment", "volumeId")


def wanted_of(token: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the target of an operation in progress."""
    found = token.get("wanted")
    return found if isinstance(found, Mapping) else {}
