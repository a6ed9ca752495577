"""Sub-ports of trunks: taken out and put in, never changed; what has another segment is both.

A trunk that is down refuses all of it, so it is done before a trunk goes down, and after it comes up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.write_result import WriteFailure
from holdfast.providers import url_paths
from holdfast.providers.openstack import naming, status_mapping
from holdfast.providers.openstack.calls import Calls, ServiceDialect
from holdfast.providers.openstack.kind_definition import Item

_PLACE: Final = ServiceDialect("network")


@dataclass(frozen=True, slots=True)
class SubPorts:
    """The ports that ride on a trunk."""

    name: str = "subPorts"
    default: Json = field(default_factory=list)

    def view(self, item: Item) -> Json:
        """Return them in the order of their ports."""
        found = item.body.get("sub_ports", ABSENT)
        if found is ABSENT:
            return ABSENT
        return sorted((naming.to_camel({**element}) for element in found), key=lambda each: str(each.get("portId")))

    def normal(self, value: Json) -> Json:
        """Return the declaration as it is."""
        return value

    async def before(self, calls: Calls, item: Item, wanted: Json) -> WriteFailure | bool:
        """Do all of it, if the trunk is up."""
        return await self._exchange(calls, item, wanted) if item.body.get("admin_state_up", True) else False

    async def after(self, calls: Calls, item: Item, wanted: Json) -> WriteFailure | bool:
        """Do all of it, if the trunk was down."""
        return False if item.body.get("admin_state_up", True) else await self._exchange(calls, item, wanted)

    async def _exchange(self, calls: Calls, item: Item, wanted: Json) -> WriteFailure | bool:
        """Take out what is not wanted, or not so; then put in what is missing."""
        want = {element.get("portId"): naming.to_snake({**element}) for element in wanted or ()}
        live = {element.get("port_id"): element for element in item.body.get("sub_ports") or ()}
        out = [
            {"port_id": port} for port, element in live.items() if port not in want or not _is_so(want[port], element)
        ]
        into = [element for port, element in want.items() if port not in live or not _is_so(element, live[port])]
        for verb, ports in (("remove_subports", out), ("add_subports", into)):
            if ports:
                answer = await calls.send(
                    _PLACE, "PUT", f"/trunks/{url_paths.segment(item.id)}/{verb}", {"sub_ports": ports}, item.id
                )
                if isinstance(answer, WriteFailure) and not (
                    verb == "remove_subports" and status_mapping.is_gone(answer)
                ):
                    return answer
        return bool(out or into)


def _is_so(wanted: Mapping[str, Json], live: Mapping[str, Json]) -> bool:
    return all(live.get(name) == value for name, value in wanted.items() if value is not None)
