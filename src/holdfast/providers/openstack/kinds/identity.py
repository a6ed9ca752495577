"""Keystone's projects and users."""

from __future__ import annotations

from typing import Final

from holdfast.providers.openstack.table import NAME, Thing, fixed, mutable, write_only

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
