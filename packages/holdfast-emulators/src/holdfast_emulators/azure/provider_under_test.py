"""The Azure provider as a subject: the emulated Resource Manager behind azure-core's own pipeline.

A disk answers with both headers that an operation may be asked about at. A widget, declared as `Resource`, honours
etags; it respells, fills in and hides what it is given.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Final

from holdfast.compare import apply_patch
from holdfast.model.json import Json
from holdfast.model.path import Path
from holdfast.model.read_result import ReadError
from holdfast.providers.azure import conversion, references
from holdfast.providers.azure.provider import AzureProvider
from holdfast.providers.protocol import Connection
from holdfast.testing.conformance import CallType, ProviderUnderTest, Sample
from holdfast_emulators.azure import Etag, Fault, Fill, Operation, Operations, Rewrite, Secret, World, Wrong
from holdfast_emulators.azure.transport import ArmTransport

_WIDGET: Final = "Contoso.Test/widgets"
_VERSION: Final = "2024-01-01"
_GROUP: Final = "conformance"
_FIXED: Final = {
    "/type": "part of the id",
    "/apiVersion": "how Azure is spoken to",
    "/location": "fixed at birth",
    "/kind": "fixed at birth",
}
_OWN: Final = ("/properties/timeCreated", "/properties/diskState", "/properties/uniqueId")
_BY_ID: Final = {
    "list": "Azure has no list of resources whatever their type",
    "import-by-filter": "the filter of a Resource must say its type; the kit does not",
}
_WAYS: Final = {
    ReadError.THROTTLED: Fault(status=429, code="TooManyRequests", retry_after=7),
    ReadError.SERVER_ERROR: Fault(status=503),
    ReadError.UNAUTHORISED: Fault(status=403, code="AuthorizationFailed"),
    ReadError.MALFORMED: Fault(Wrong.GARBAGE, status=200),
    ReadError.UNREACHABLE: Fault(Wrong.RESET),
    ReadError.TIMEOUT: Fault(Wrong.HANG),
    ReadError.UNCONFIRMED: Fault(Wrong.HTML, status=404),
}


class _Ticking:
    """A clock that advances with each reading, because a scenario never really waits."""

    def __init__(self) -> None:
        self._now = 1_800_000_000.0

    def now(self) -> float:
        """Return a little more than the last time."""
        self._now += 0.05
        return self._now


_MISTAKES: Final = {
    "an empty object": b"{}",
    "an error": b'{"error": {"code": "Busy", "message": "try again"}}',
    "a list": b'{"value": []}',
    "another thing": b'{"id": "/subscriptions/s/providers/A.B/c/another", "name": "another", "properties": {}}',
}


class ArmDriftInjector:
    """Edits resources in the portal, and sees what Azure hides."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def ids(self, kind: str) -> Collection[str]:
        """Return the ids of a kind."""
        return self._world.ids(references.type_of(kind, {}) or _WIDGET)

    async def get(self, kind: str, ident: str) -> Json:
        """Return a resource with its secrets, in the shape of a declaration."""
        if ident not in await self.ids(kind):
            return None
        found = conversion.document(self._world.stored(ident))
        return {**found, "type": _WIDGET, "apiVersion": _VERSION} if kind == "Resource" else found

    async def put(self, kind: str, ident: str, path: Path, value: Json) -> None:  # noqa: ARG002
        """Change a field."""
        if path[0] in ("type", "apiVersion"):
            return

        def changed(body: dict[str, Json]) -> None:
            after = apply_patch.put(apply_patch.copied(body), path, value)
            body.clear()
            body.update(after)

        self._world.console("a vandal").edit(ident, changed)

    async def delete(self, kind: str, ident: str) -> None:
        """Remove a resource."""
        if ident in await self.ids(kind):
            self._world.console("a vandal").delete(ident)


class ArmFaults:
    """Lets Resource Manager answer wrongly: by status, by bytes, or not at all."""

    supported = tuple((call_type, trouble) for call_type in CallType for trouble in _WAYS)

    def __init__(self, world: World) -> None:
        self._world = world

    def fail(self, call_type: CallType, trouble: ReadError, times: int | None = None) -> None:
        """Let the next requests be answered wrongly."""
        way = _WAYS[trouble]
        methods = ("GET",) if call_type is not CallType.WRITE else ("PUT", "DELETE")
        path = "*/providers/*" if call_type is not CallType.LIST else "/subscriptions/*/providers/*"
        for method in methods:
            fault = Fault(way.wrong, method, path, way.status, way.code, retry_after=way.retry_after, times=times)
            self._world.faults.append(fault)

    @property
    def wrong_answers(self) -> Collection[str]:
        """The names of the wrong answers to a read of a resource."""
        return _MISTAKES.keys()

    def answer_wrongly(self, name: str) -> None:
        """Let every read of a resource be answered with something else."""
        fault = Fault(Wrong.BODY, "GET", "*/providers/*", 200, times=None, body=_MISTAKES[name])
        self._world.faults.append(fault)

    def clear(self) -> None:
        """Let everything work again."""
        self._world.faults.clear()


def _least(name: str) -> dict[str, Json]:
    return {"type": _WIDGET, "apiVersion": _VERSION, "location": "westus2", "properties": {"label": name}}


def _widget(name: str) -> dict[str, Json]:
    properties = {
        "label": name,
        "weight": 4,
        "enabled": True,
        "rules": [{"name": "ssh", "port": 22}, {"name": "web", "port": 80}],
        "nested": {"user": "u", "shell": "sh"},
        "password": "none",
    }
    return {**_least(name), "managedBy": name, "tags": {"team": "a"}, "properties": properties}


def _disk(name: str) -> dict[str, Json]:
    properties = {"creationData": {"createOption": "Empty"}, "diskSizeGB": 32}
    return {"location": "westus2", "managedBy": name, "sku": {"name": "Standard_LRS"}, "properties": properties}


@asynccontextmanager
async def azure() -> AsyncIterator[ProviderUnderTest]:
    """Open the provider on an emulated Azure."""
    world = World(_Ticking(), pace=0.05)
    world.add_group(_GROUP)
    world.tune(
        _WIDGET,
        etag=Etag(header=True, honoured=True),
        operations=Operations(
            update=Operation("async", 202, seconds=20), delete=Operation("location", 202, seconds=20)
        ),
    )
    world.teach(
        _WIDGET,
        Fill("/properties/size", "medium"),
        Fill("/properties/limits", {"cpu": 1, "burst": False}),
        Rewrite("/location", "region_display"),
        Secret("/properties/password", shown="text"),
    )
    settings = {
        "subscription": world.subscription,
        "resource_group": _GROUP,
        "auth": {"type": "token"},
        "habits": [{"types": _WIDGET, "conditional": True}],
    }
    samples = (
        Sample("Resource", _least, _widget, fixed=_FIXED, sensitive_path="/properties/password", not_applicable=_BY_ID),
        Sample("Disk", _disk, _disk, fixed=_FIXED | dict.fromkeys(_OWN, "Azure's own")),
    )
    connection = Connection("conformance", "azure", settings, {"token": world.token})
    provider = AzureProvider(lambda: ArmTransport(world))
    yield ProviderUnderTest(provider, connection, samples, ArmDriftInjector(world), ArmFaults(world))
