"""Cinder's volumes and volume types; a volume takes its time over everything, and can only grow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast.model.json import Json
from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.model.write_result import Done, InProgress, WriteError, WriteFailure, WriteResult
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
from holdfast.providers.openstack.subresources.maps import Entries
from holdfast.providers.protocol import Target

SERVICE: Final = "block-storage"
_PLACE: Final = ServiceDialect(SERVICE)
_SETTLED: Final = frozenset({"available", "in-use", "reserved", "maintenance"})


class _TypeManner(Manner):
    async def birth(self, calls: Calls, target: Target, body: dict[str, Json]) -> dict[str, Json] | WriteFailure:
        """Return the body of a create, whose access fields differ from those of an update; with extra specs."""
        del calls
        out = {key: value for key, value in body.items() if key != "is_public"}
        if "is_public" in body:
            out["os-volume-type-access:is_public"] = body["is_public"]
        return {**out, "extra_specs": dict(target.desired.get("extraSpecs") or {})}


VOLUME_TYPE: Final = KindDefinition(
    kind="VolumeType",
    place=_PLACE,
    path="/types",
    one="volume_type",
    many="volume_types",
    fields=(
        mutable("name", default=NAME),
        mutable("description", default=""),
        mutable("is_public", default=True),
    ),
    subs=(Entries(_PLACE, "/types", "extraSpecs", "extra_specs", "/extra_specs", "extra_specs"),),
    is_scoped=False,
    manner=_TypeManner(),
    listing=ListCall(params=(("is_public", "None"),), filters=()),
)


class _VolumeManner(Manner):
    reads_first = True
    is_slow = True

    def trouble(self, item: Item) -> ReadFailure | None:
        status = str(item.body.get("status"))
        if status in _SETTLED:
            return None
        broken = status.startswith("error")
        return ReadFailure(ReadError.OTHER if broken else ReadError.UNSETTLED, f"the volume is {status}")

    def begun(self, item: Item, wanted: Mapping[str, Json]) -> InProgress | None:
        """Wait until it is at rest again."""
        del wanted
        return InProgress(item.id, {"id": item.id}, self.poll_seconds)

    def ending(self, ident: str) -> InProgress | None:
        """Wait until the volume is deleted."""
        return InProgress(ident, {"id": ident, "until": "deleted"}, self.poll_seconds)

    def polled(self, item: Item, token: Mapping[str, Json]) -> WriteResult:
        """Continue until the volume has settled, or is deleted."""
        trouble = self.trouble(item)
        if trouble is not None and trouble.trouble is ReadError.OTHER:
            return WriteFailure(WriteError.TERMINAL, f"{trouble.detail}; a person must look into it, or delete it")
        is_over = trouble is None and token.get("until") != "deleted"
        return Done(item.id) if is_over else InProgress(item.id, dict(token), self.poll_seconds)

    async def put(
        self, calls: Calls, thing: KindDefinition, item: Item, body: Mapping[str, Json], headers: Mapping[str, str]
    ) -> Mapping[str, Json] | WriteFailure:
        """Change what can be written, and act for the rest: extend, retype, mark as bootable."""
        plain = {key: value for key, value in body.items() if key not in ("size", "volume_type", "bootable")}
        if plain:
            answer = await super().put(calls, thing, item, plain, headers)
            if isinstance(answer, WriteFailure):
                return answer
        for action in _actions(item, body):
            if isinstance(action, WriteFailure):
                return action
            answer = await calls.send(thing.place, "POST", f"{thing.at(item.id)}/action", action, item.id)
            if isinstance(answer, WriteFailure):
                return answer
        return {}


def _actions(item: Item, body: Mapping[str, Json]) -> list[dict[str, Json] | WriteFailure]:
    out: list[dict[str, Json] | WriteFailure] = []
    if "size" in body:
        live = item.body.get("size") or 0
        if body["size"] < live:
            return [
                WriteFailure(
                    WriteError.TERMINAL, f"a volume can only grow: it has {live} GB, and {body['size']} are declared"
                )
            ]
        if body["size"] > live:
            out.append({"os-extend": {"new_size": body["size"]}})
    if "bootable" in body:
        out.append({"os-set_bootable": {"bootable": bool(body["bootable"])}})
    if "volume_type" in body:
        out.append({"os-retype": {"new_type": body["volume_type"], "migration_policy": "never"}})
    return out


VOLUME: Final = KindDefinition(
    kind="Volume",
    place=_PLACE,
    path="/volumes",
    one="volume",
    many="volumes",
    fields=(
        mutable("name", default=NAME),
        mutable("description", default=""),
        mutable("metadata", default={}, is_opaque=True),
        mutable("size"),
        mutable("volume_type"),
        mutable("bootable", cleared=False, is_late=True, decode=lambda value: str(value).lower() == "true"),
        fixed("availability_zone"),
        fixed("multiattach"),
        birth_only("imageRef", "imageId"),
        birth_only("snapshot_id"),
        birth_only("source_volid", "sourceVolumeId"),
        read_only("os-vol-tenant-attr:tenant_id", "projectId"),
    ),
    is_scoped=False,  # a list is our own project's, unless asked for more
    manner=_VolumeManner(),
    listing=ListCall(path="/volumes/detail", all_projects=(("all_tenants", "1"),)),
)
