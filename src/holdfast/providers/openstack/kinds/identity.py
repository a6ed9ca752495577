"""Keystone's projects and users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast.model.json import Json
from holdfast.model.write_result import WriteFailure
from holdfast.providers.openstack.calls import Calls
from holdfast.providers.openstack.kind_definition import NAME, Item, Manner, Thing, fixed, mutable, write_only


class _ProjectManner(Manner):
    async def put(
        self, calls: Calls, thing: Thing, item: Item, body: Mapping[str, Json], headers: Mapping[str, str]
    ) -> Mapping[str, Json] | WriteFailure:
        """Change a project; one that is immutable takes nothing but the word that it is no longer, alone."""
        options = body.get("options")
        others = {key: value for key, value in body.items() if key != "options"}
        if options is None or not others:
            return await super().put(calls, thing, item, body, headers)
        steps = [{"options": options}, others]
        if isinstance(options, Mapping) and options.get("immutable"):
            steps.reverse()
        for step in steps:
            answer = await super().put(calls, thing, item, step, headers)
            if isinstance(answer, WriteFailure):
                return answer
        return {}


PROJECT: Final = Thing(
    kind="Project",
    service="identity",
    path="/projects",
    one="project",
    many="projects",
    fields=(
        mutable("name", default=NAME),
        mutable("description", default=""),
        mutable("enabled", default=True),
        mutable("tags", default=[]),
        mutable("options", is_opaque=True, cleared={}),
        fixed("domain_id"),
        fixed("parent_id"),
    ),
    found_by=("name", "domainId"),
    filters=(("name", "name"), ("domainId", "domain_id")),
    is_scoped=False,
    method="PATCH",
    manner=_ProjectManner(),
)

USER: Final = Thing(
    kind="User",
    service="identity",
    path="/users",
    one="user",
    many="users",
    fields=(
        mutable("name", default=NAME),
        mutable("description", default=""),
        mutable("enabled", default=True),
        mutable("email", cleared=None),
        mutable("default_project_id", cleared=None),
        mutable("options", is_opaque=True),
        write_only("password"),
        fixed("domain_id"),
    ),
    found_by=("name", "domainId"),
    filters=(("name", "name"), ("domainId", "domain_id")),
    is_scoped=False,
    method="PATCH",
)
