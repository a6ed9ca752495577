"""Keystone's projects and users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast.model.json import Json
from holdfast.model.write_result import WriteFailure
from holdfast.providers.openstack.calls import Calls, ServiceDialect
from holdfast.providers.openstack.kind_definition import (
    NAME,
    Item,
    KindDefinition,
    ListCall,
    Manner,
    fixed,
    mutable,
    write_only,
)


class _ProjectManner(Manner):
    async def put(
        self, calls: Calls, thing: KindDefinition, item: Item, body: Mapping[str, Json], headers: Mapping[str, str]
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


PROJECT: Final = KindDefinition(
    kind="Project",
    place=ServiceDialect("identity"),
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
    is_scoped=False,
    method="PATCH",
    manner=_ProjectManner(),
    listing=ListCall(filters=(("name", "name"), ("domainId", "domain_id"))),
)

USER: Final = KindDefinition(
    kind="User",
    place=ServiceDialect("identity"),
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
    is_scoped=False,
    method="PATCH",
    listing=ListCall(filters=(("name", "name"), ("domainId", "domain_id"))),
)
