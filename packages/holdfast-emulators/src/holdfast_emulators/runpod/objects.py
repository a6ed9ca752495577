"""The things the emulated platform keeps: accounts, endpoints, templates, volumes, releases.

An endpoint is kept in the words of the GraphQL API, because those are the platform's own: the releases speak them
whichever API made the change. What the two APIs show of a thing is decided where they are spoken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from holdfast.model.json import Json

PLATFORM = "runpod"  # the author of changes that no user made

ROLLING = frozenset(
    {
        "gpuIds",
        "gpuCount",
        "instanceIds",
        "locations",
        "networkVolumeIds",
        "allowedCudaVersions",
        "minCudaVersion",
        "flashBootType",
        "templateId",
        "template.imageName",
        "template.env",
        "template.containerDiskInGb",
        "template.dockerArgs",
        "template.ports",
        "template.containerRegistryAuthId",
        "template.startScript",
    }
)
"""Fields whose change makes a release that replaces workers; the others reach the autoscaler at once, and leave no
trace in the releases."""

NEW_ENDPOINT: Mapping[str, Json] = {
    "name": "",
    "type": "QB",
    "gpuIds": "",
    "gpuCount": 1,
    "instanceIds": None,
    "workersMin": 0,
    "workersMax": 3,
    "workersStandby": 1,
    "workersPFBTarget": 0,
    "idleTimeout": 10,
    "scalerType": "QUEUE_DELAY",
    "scalerValue": 4,
    "executionTimeoutMs": 300_000,
    "locations": None,
    "networkVolumeIds": [],
    "allowedCudaVersions": None,
    "minCudaVersion": None,
    "flashBootType": "OFF",
    "flashEnvironmentId": None,
    "modelReferences": [],
    "compliance": [],
    "templateId": None,
}

NEW_TEMPLATE: Mapping[str, Json] = {
    "name": "",
    "imageName": "",
    "containerDiskInGb": 50,
    "dockerArgs": "",
    "env": {},
    "ports": [],
    "containerRegistryAuthId": None,
    "readme": "",
    "volumeInGb": 0,
    "isServerless": True,
    "isPublic": False,
    "startSsh": True,
    "startJupyter": True,
    "startScript": "",
    "advancedStart": False,
    "config": {},
    "category": "NVIDIA",
    "mounts": {},
    "allowedCudaVersions": [],
}


class Access(StrEnum):
    """The permissions of an API key."""

    ALL = "all"
    READ = "read"


@dataclass(slots=True)
class Key:
    """An API key: whose it is and what it may do."""

    token: str
    user: str
    access: Access = Access.ALL
    revoked: bool = False


@dataclass(slots=True)
class Environment:
    """A Flash environment: a place within an app that endpoints and volumes are put in."""

    id: str
    app: str
    name: str


@dataclass(slots=True)
class Release:
    """A version of an endpoint: who made it, when, and what it changed, in the platform's own words."""

    id: str
    version: int
    by: str
    at: float
    diff: list[dict[str, Json]]
    source: str = "MANUAL"
    build: str | None = None


@dataclass(slots=True)
class Template:
    """Container settings; `bound_to` is the endpoint it was made with, if it was."""

    id: str
    fields: dict[str, Json]
    bound_to: str | None = None
    released_at: float | None = None  # when the last endpoint that used it went


@dataclass(slots=True)
class Endpoint:
    """A serverless endpoint, without its container settings, which are its template's."""

    id: str
    fields: dict[str, Json]
    created_at: float
    ai_key: str
    version: int = 1
    last_request_at: float = 0.0
    releases: list[Release] = field(default_factory=list)

    @property
    def is_cpu(self) -> bool:
        """Return True for a CPU endpoint. The compute family never changes."""
        return bool(self.fields["instanceIds"])


@dataclass(slots=True)
class Volume:
    """A network volume."""

    id: str
    name: str
    size: int
    data_centre: str
    type: str = "STANDARD"


@dataclass(slots=True)
class Account:
    """Everything one user owns. Names of endpoints need not be unique, those of templates must."""

    user: str
    endpoints: dict[str, Endpoint] = field(default_factory=dict)
    templates: dict[str, Template] = field(default_factory=dict)
    volumes: dict[str, Volume] = field(default_factory=dict)
    environments: dict[str, Environment] = field(default_factory=dict)
    apps: dict[str, str] = field(default_factory=dict)  # id -> name

    def template_of(self, endpoint: Endpoint) -> Template:
        """Return the template an endpoint runs on."""
        return self.templates[endpoint.fields["templateId"]]


class RefusedError(Exception):
    """The platform says no; each API says it in its own way."""

    def __init__(self, status: int, detail: str, errors: tuple[str, ...] = ()) -> None:
        self.status = status
        self.detail = detail
        self.errors = errors
        super().__init__(detail)


class MalformedError(RefusedError):
    """The request itself makes no sense; GraphQL says 400 to that, and 200 to every other no."""

    def __init__(self, detail: str) -> None:
        super().__init__(400, detail)
