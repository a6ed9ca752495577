"""Glance's images: changed by JSON patch, filled once with data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
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
from holdfast.providers.openstack.subresources import properties
from holdfast.providers.openstack.subresources.properties import Properties
from holdfast.providers.protocol import Target

_PASSING: Final = frozenset({"saving", "uploading", "importing", "pending_delete"})
_BROKEN: Final = frozenset({"killed", "deleted", "deactivated"})
_DATA: Final = {"Content-Type": "application/octet-stream"}


class _ImageManner(Manner):
    reads_first = True

    def trouble(self, item: Item) -> ReadFailure | None:
        status = str(item.body.get("status"))
        if status in _PASSING:
            return ReadFailure(ReadError.UNSETTLED, f"the image is {status}")
        return ReadFailure(ReadError.OTHER, f"the image is {status}") if status in _BROKEN else None

    async def birth(self, calls: Calls, target: Target, body: dict[str, Json]) -> dict[str, Json] | WriteFailure:
        """Leave out where the data comes from; the properties stand among the attributes."""
        del calls
        out = {key: value for key, value in body.items() if key != "content"}
        return {**out, **(target.desired.get("properties") or {})}

    async def born(self, calls: Calls, item: Item, target: Target) -> WriteFailure | InProgress | None:
        """Send the data, if there are any and they are not there yet."""
        content = target.desired.get("content")
        if not isinstance(content, Mapping) or item.body.get("status") != "queued":
            return None
        if content.get("url"):
            method = {"method": {"name": "web-download", "uri": content["url"]}}
            answer = await calls.send(
                properties.PLACE, "POST", f"/images/{url_paths.segment(item.id)}/import", method, item.id
            )
        else:
            file = Path(calls.cloud.account.base_dir, str(content.get("file", "")))
            if not file.is_file():  # noqa: ASYNC240 - one look at the disk, before megabytes are sent
                return WriteFailure(
                    WriteError.TERMINAL, f"the data of the image are to come from {file}, which is no file"
                )
            where = f"/images/{url_paths.segment(item.id)}/file"
            answer = await calls.send(properties.PLACE, "PUT", where, None, item.id, _DATA, file)
        return answer if isinstance(answer, WriteFailure) else InProgress(item.id, {"id": item.id}, self.poll_seconds)

    def polled(self, item: Item, token: Mapping[str, Json]) -> WriteResult:
        """Wait until the data are in."""
        status = str(item.body.get("status"))
        if status in _BROKEN:
            return WriteFailure(WriteError.TERMINAL, f"the image went into {status}")
        return Done(item.id) if status == "active" else InProgress(item.id, dict(token), self.poll_seconds)

    async def put(
        self, calls: Calls, thing: KindDefinition, item: Item, body: Mapping[str, Json], headers: Mapping[str, str]
    ) -> Mapping[str, Json] | WriteFailure:
        """Change attributes by patch."""
        del headers
        steps = [{"op": "add", "path": properties.pointer(key), "value": value} for key, value in body.items()]
        return await calls.send(thing.place, "PATCH", thing.at(item.id), steps, item.id, properties.PATCH)

    async def emptied(self, calls: Calls, target: Target) -> WriteFailure | bool:
        """Take the protection off one that was declared protected, and is to go."""
        if not target.desired.get("protected") or target.id is None:
            return False
        steps = [{"op": "add", "path": "/protected", "value": False}]
        answer = await calls.send(
            properties.PLACE, "PATCH", f"/images/{url_paths.segment(target.id)}", steps, target.id, properties.PATCH
        )
        return not isinstance(answer, WriteFailure)


IMAGE: Final = KindDefinition(
    kind="Image",
    place=ServiceDialect("image"),
    path="/images",
    one="",
    many="images",
    fields=(
        mutable("name", default=NAME),
        mutable("visibility", cleared="shared"),
        mutable("protected", default=False),
        mutable("tags", default=[]),
        mutable("min_disk", cleared=0),
        mutable("min_ram", cleared=0),
        mutable("os_hidden", "hidden", cleared=False),
        mutable("owner", "projectId"),
        fixed("disk_format"),
        fixed("container_format"),
        birth_only("content", is_opaque=True),
        read_only("os_hash_value", "hash"),
    ),
    subs=(Properties(),),
    manner=_ImageManner(),
    listing=ListCall(project_param="owner"),
)
