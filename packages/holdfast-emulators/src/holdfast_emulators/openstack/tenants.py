"""Projects of one's own: the cheap way to keep tests apart, as a new control plane would take half a minute."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from holdfast.model.json import Json
from holdfast_emulators.openstack.clients import Client
from holdfast_emulators.openstack.configuration import REGION
from holdfast_emulators.openstack.control_plane import ControlPlane


@dataclass(frozen=True, slots=True)
class Tenant:
    """A project with a user in it."""

    name: str
    project_id: str
    user_id: str
    auth: dict[str, str] = field(repr=False)

    @property
    def clouds(self) -> Json:
        """The contents of a clouds.yaml that leads here, as cloud `local`."""
        return {"clouds": {"local": {"auth": self.auth, "region_name": REGION}}}


class Tenants:
    """Makes projects in a control plane."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.admin = Client(plane.admin())
        self._roles: dict[str, str] = {}

    def make(self, prefix: str = "t", *roles: str) -> Tenant:
        """Make a project with a user of these roles (member, if none is named)."""
        name, password = f"{prefix}-{secrets.token_hex(4)}", secrets.token_hex(8)
        project = self.project(name)
        person = {"name": name, "password": password, "domain_id": "default"}
        user = self.admin.post("identity", "/users", {"user": person})["user"]["id"]
        if not self._roles:
            self._roles = {role["name"]: role["id"] for role in self.admin.get("identity", "/roles")["roles"]}
        for role in roles or ("member",):
            self.admin.put("identity", f"/projects/{project}/users/{user}/roles/{self._roles[role]}", None)
        auth = {**self._plane.admin(), "username": name, "password": password, "project_name": name}
        return Tenant(name, project, user, auth)

    def project(self, name: str) -> str:
        """Make a project; return its id."""
        body = {"project": {"name": name, "domain_id": "default"}}
        return str(self.admin.post("identity", "/projects", body)["project"]["id"])

    def close(self) -> None:
        """Close the administrator's connection."""
        self.admin.close()
