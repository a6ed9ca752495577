"""Nova's servers."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Final

from holdfast.model.json import Json
from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.model.write_result import Done, InProgress, WriteError, WriteFailure, WriteResult
from holdfast.providers import url_paths
from holdfast.providers.openstack.calls import Calls, ServiceDialect
from holdfast.providers.openstack.kind_definition import (
    NAME,
    Item,
    KindDefinition,
    ListCall,
    Manner,
    birth_only,
    fixed,
    mutable,
    read_only,
)
from holdfast.providers.openstack.subresources import attachments
from holdfast.providers.openstack.subresources.tags import Tags
from holdfast.providers.protocol import Target

MICROVERSION: Final = "2.46"  # the last that tells the id of a server's flavour
_PLACE: Final = ServiceDialect("compute", MICROVERSION)
_INTERFACES: Final = attachments.interfaces(_PLACE)
_VOLUMES: Final = attachments.volumes(_PLACE)
_SETTLED: Final = frozenset({"ACTIVE", "SHUTOFF", "PAUSED", "SUSPENDED", "SHELVED", "SHELVED_OFFLOADED", "RESCUE"})
_POWER: Final = {"ACTIVE": "running", "SHUTOFF": "stopped"}
_ACTIONS: Final = {"running": {"os-start": None}, "stopped": {"os-stop": None}}
_PLAIN: Final = re.compile(r"[\w-]+")


class _ServerManner(Manner):
    reads_first = True
    is_slow = True

    def filters(self, thing: KindDefinition, criteria: Mapping[str, Json]) -> list[tuple[str, str]]:
        """Narrow by name where that is safe: Nova takes a pattern."""
        del thing
        name = criteria.get("name")
        return [("name", f"^{name}$")] if isinstance(name, str) and _PLAIN.fullmatch(name) else []

    def body(self, found: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return the power state as one declarable word."""
        status = str(found.get("status"))
        return {**found, "power": _POWER.get(status, status.lower())}

    def trouble(self, item: Item) -> ReadFailure | None:
        status, task = str(item.body.get("status")), item.body.get("OS-EXT-STS:task_state")
        if status == "ERROR":
            fault = item.body.get("fault") or {}
            return ReadFailure(
                ReadError.OTHER, f"the server is in error: {str(fault.get('message', 'no word why'))[:200]}"
            )
        if status not in _SETTLED or task:
            return ReadFailure(ReadError.UNSETTLED, f"the server is {status.lower()}{f' ({task})' if task else ''}")
        return None

    async def birth(self, calls: Calls, target: Target, body: dict[str, Json]) -> dict[str, Json] | WriteFailure:
        """Return the body of a create: references, networks, data, the server group."""
        del calls
        desired = target.desired
        out = {key: value for key, value in body.items() if key not in _BORN_APART}
        out["flavorRef"] = desired.get("flavorId")
        out |= {"imageRef": desired["imageId"]} if desired.get("imageId") else {}
        out |= {"availability_zone": desired["availabilityZone"]} if desired.get("availabilityZone") else {}
        out["networks"] = _networks(desired)
        if desired.get("userData"):
            out["user_data"] = base64.b64encode(str(desired["userData"]).encode()).decode()
        if desired.get("bootVolumeId"):
            boot = {"uuid": desired["bootVolumeId"], "source_type": "volume", "destination_type": "volume"}
            out["block_device_mapping_v2"] = [{**boot, "boot_index": 0}]
        return out

    def beside(self, target: Target) -> dict[str, Json]:
        """Return the fields beside the server in the request of a create."""
        hints = dict(target.desired.get("schedulerHints") or {})
        if target.desired.get("serverGroupId"):
            hints["group"] = target.desired["serverGroupId"]
        return {"os:scheduler_hints": hints} if hints else {}

    def begun(self, item: Item, wanted: Mapping[str, Json]) -> InProgress | None:
        """Wait until what was plugged is plugged."""
        plugged = {name: value for name, value in wanted.items() if name in ("interfaces", "volumes")}
        sized = {"flavor": wanted["flavor"]} if "flavor" in wanted else {}
        return InProgress(item.id, {"id": item.id, "wanted": plugged, **sized}, self.poll_seconds)

    async def stepped(self, calls: Calls, item: Item, token: Mapping[str, Json]) -> WriteFailure | InProgress | None:
        """Resize when all other changes have settled, then confirm. A resize to another size is not ours to confirm.

        Nova takes one such action at a time, and refuses to plug anything in meanwhile.
        """
        if "flavor" not in token:
            return None
        is_so = _id(item.body.get("flavor")) == token["flavor"]
        if is_so and item.body.get("status") == "VERIFY_RESIZE" and not token.get("confirmed"):
            return await _acted(calls, item, {"confirmResize": None}, {**token, "confirmed": True})
        if is_so or not _is_at_rest(self, item, token):
            return None
        if token.get("resizing"):
            return WriteFailure(WriteError.RETRYABLE, "the server was asked to resize, and is what it was before")
        return await _acted(calls, item, {"resize": {"flavorRef": token["flavor"]}}, {**token, "resizing": True})

    def ending(self, ident: str) -> InProgress | None:
        """Wait until the server is deleted."""
        return InProgress(ident, {"id": ident, "until": "deleted"}, self.poll_seconds)

    def polled(self, item: Item, token: Mapping[str, Json]) -> WriteResult:
        """Continue until the server and its interfaces have settled, or it is deleted."""
        trouble = self.trouble(item)
        if trouble is not None and trouble.trouble is ReadError.OTHER and token.get("until") != "deleted":
            return WriteFailure(WriteError.TERMINAL, f"{trouble.detail}; a person must look into it, or delete it")
        is_over = token.get("until") != "deleted" and _is_at_rest(self, item, token)
        return Done(item.id) if is_over else InProgress(item.id, dict(token), self.poll_seconds)

    async def put(
        self, calls: Calls, thing: KindDefinition, item: Item, body: Mapping[str, Json], headers: Mapping[str, str]
    ) -> Mapping[str, Json] | WriteFailure:
        """Change names, replace the metadata, start and stop."""
        plain = {key: value for key, value in body.items() if key in ("name", "description")}
        if plain:
            answer = await super().put(calls, thing, item, plain, headers)
            if isinstance(answer, WriteFailure):
                return answer
        if "metadata" in body:
            given = {"metadata": dict(body["metadata"] or {})}
            answer = await calls.send(thing.place, "PUT", f"{thing.at(item.id)}/metadata", given, item.id)
            if isinstance(answer, WriteFailure):
                return answer
        action = _ACTIONS.get(str(body.get("power")))
        if action is not None and item.body.get("power") != body["power"]:
            answer = await calls.send(thing.place, "POST", f"{thing.at(item.id)}/action", action, item.id)
            if isinstance(answer, WriteFailure):
                return answer
        return {}


def _is_at_rest(manner: _ServerManner, item: Item, token: Mapping[str, Json]) -> bool:
    """Return True if a server does nothing, and has plugged in what it was to have."""
    wanted = attachments.wanted_of(token)
    plugs = (element for element in (_INTERFACES, _VOLUMES) if element.name in wanted)
    return manner.trouble(item) is None and all(plug.is_so(item, wanted[plug.name]) for plug in plugs)


async def _acted(calls: Calls, item: Item, action: Json, token: Mapping[str, Json]) -> WriteFailure | InProgress:
    answer = await calls.send(_PLACE, "POST", f"/servers/{url_paths.segment(item.id)}/action", action, item.id)
    return answer if isinstance(answer, WriteFailure) else InProgress(item.id, dict(token), _ServerManner.poll_seconds)


def _networks(desired: Mapping[str, Json]) -> Json:
    """Return the networks of a create: the declared ports, else new ports on the declared networks."""
    ports = [{"port": row["portId"]} for row in desired.get("interfaces") or () if row.get("portId")]
    networks = [{"uuid": ident} for ident in desired.get("networkIds") or ()]
    return ports + networks or "none"


def _id(value: Json) -> Json:
    return value.get("id") if isinstance(value, Mapping) else None


_BORN_APART: Final = frozenset(
    {"image", "flavor", "power", "OS-EXT-AZ:availability_zone", "user_data", "networks", "boot", "group", "hints"}
)

SERVER: Final = KindDefinition(
    kind="Server",
    place=_PLACE,
    path="/servers",
    one="server",
    many="servers",
    fields=(
        mutable("name", default=NAME),
        mutable("description", cleared=None),
        mutable("metadata", default={}, is_opaque=True),
        mutable("power", "powerState", is_late=True),
        fixed("image", "imageId", decode=_id),
        mutable("flavor", "flavorId", decode=_id),
        fixed("key_name"),
        fixed("OS-EXT-AZ:availability_zone", "availabilityZone"),
        fixed("config_drive", decode=lambda value: str(value).lower() == "true"),
        birth_only("user_data"),
        birth_only("networks", "networkIds"),
        birth_only("boot", "bootVolumeId"),
        birth_only("group", "serverGroupId"),
        birth_only("hints", "schedulerHints", is_opaque=True),
        read_only("tenant_id", "projectId"),
    ),
    subs=(_INTERFACES, _VOLUMES, Tags(_PLACE, "/servers")),
    companions=(attachments.PORTS,),
    is_scoped=False,  # a list is our own project's, unless asked for more
    manner=_ServerManner(),
    listing=ListCall(path="/servers/detail", all_projects=(("all_tenants", "1"),)),
)
