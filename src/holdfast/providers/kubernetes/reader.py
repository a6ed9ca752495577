"""The reader: GET and list requests, and the meaning of each answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Final

import msgspec

from holdfast.compare import paths
from holdfast.model.attribution import LikelyActor
from holdfast.model.health import HealthSignal, Workload
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadError, ReadFailure, ReadResult
from holdfast.providers.http.client import Answer, Lost
from holdfast.providers.kubernetes import attribution, change_stream, errors, objects, owners, platform, workload_health
from holdfast.providers.kubernetes.client import Client
from holdfast.providers.kubernetes.cluster import Cluster
from holdfast.providers.kubernetes.discovery import ServedKind, Unserved
from holdfast.providers.kubernetes.kinds import Kinds
from holdfast.providers.kubernetes.locations import ObjectLocation, Unlocated, locate
from holdfast.providers.protocol import (
    Hint,
    Interrupted,
    ItemFailed,
    Kind,
    Listed,
    Reader,
    ReadFailed,
    Target,
    Unchanged,
    WatchEvent,
)

_RESTARTS: Final = 3  # of a list whose continue token expired


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""  # noqa: N815 - the server's name
    generation: int | None = None
    labels: dict[str, str] | None = None
    deletionTimestamp: str | None = None  # noqa: N815


class _Item(msgspec.Struct):
    metadata: _Metadata
    kind: str = ""


class _ListMetadata(msgspec.Struct):
    following: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct):
    metadata: _ListMetadata
    items: list[msgspec.Raw] | None = None


_ITEM: Final = msgspec.json.Decoder(_Item)
_PAGE: Final = msgspec.json.Decoder(_Page)


class KubernetesReader(Reader):
    """A reader of the objects of one cluster."""

    def __init__(self, client: Client, cluster: Cluster) -> None:
        self.kinds: Mapping[str, Kind] = Kinds(cluster)
        self._client = client
        self._cluster = cluster
        self._listed: dict[str, ServedKind] = {}

    async def read(self, target: Target, hint: Hint | None = None) -> ReadResult | Unchanged:
        """Read one object; an object that is being deleted is not judged."""
        place = await locate(self._client, self._cluster, target)
        if isinstance(place, ReadFailure):
            return place
        if isinstance(place, Unlocated):
            is_absent = place.is_absent and target.id is None  # an object that was there is not missing with its kind
            return NotFound() if is_absent else ReadFailure(ReadError.OTHER, place.why)
        answer = await self._client.get(place.path, place.label("get"))
        result = self._judged(place, answer, hint)
        if isinstance(result, Found) and place.served.has_scale:
            await self._cluster.refresh_autoscalers(self._client)
            result = self._judged(place, answer, hint)
        return result

    def _judged(self, place: ObjectLocation, answer: Answer | Lost, hint: Hint | None) -> ReadResult | Unchanged:
        label = place.label("get")
        if not isinstance(answer, Answer) or answer.status != 200:
            return self._absence(place, answer) or errors.unreadable(answer, label)
        try:
            head = _ITEM.decode(answer.body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return errors.malformed(label)
        seen = head.metadata
        if (seen.name, seen.namespace or None, head.kind) != (place.name, place.namespace, place.served.gvk.kind):
            return ReadFailure(ReadError.MALFORMED, f"the answer to {label} is not about the object asked for")
        digest = f"{seen.uid}@{seen.resourceVersion}"
        tag = f"{digest}@{objects.settled_state(seen.generation, seen.labels)}"
        if seen.deletionTimestamp is not None:
            return ReadFailure(ReadError.UNSETTLED, f"{place.text} is being deleted; its finalizers are not done")
        if hint is not None and hint.raw_digest == digest:
            return Unchanged(tag, digest)
        live = objects.parsed(answer.body)
        if live is None:
            return errors.malformed(label)
        scaled = self._autoscaler(place.served, place.namespace, place.name)
        document = objects.document(live, place.served.gvk, scaled)
        return Found(document, tag, digest, place.ident, seen.uid, version=place.served.gvk.api_version)

    def _absence(self, place: ObjectLocation, answer: Answer | Lost) -> ReadResult | None:
        """Return NotFound if a 404 is about the object itself; a 404 of the path says nothing about the object."""
        if not isinstance(answer, Answer) or answer.status != 404:
            return None
        status = errors.status_of(answer)
        if status.is_status and status.name == place.name and status.kind == place.served.plural:
            return NotFound()
        self._cluster.invalidate()
        return ReadFailure(ReadError.UNCONFIRMED, f"{place.label('get')}: the server no longer serves the kind")

    def _autoscaler(self, served: ServedKind, namespace: str | None, name: str) -> str | None:
        return self._cluster.autoscaler(served.gvk.kind, namespace, name) if served.has_scale else None

    # -- lists

    async def list(self, kind: str) -> AsyncIterator[Listed]:
        """Yield the objects of a kind in all namespaces, page by page.

        A kind that is declared in several versions, or that must not be listed, has no list. Its objects are read one
        by one.
        """
        if len(self._cluster.declared_versions.get(kind, ())) > 1:
            raise ItemFailed(ReadFailure(ReadError.OTHER, f"{kind} is declared in several versions"))
        served = await self._served(kind)
        if served.has_scale:
            await self._cluster.refresh_autoscalers(self._client)
        self._listed[kind] = served
        seen: set[tuple[str, str]] = set()
        async for raw in self._items(served):
            head = _ITEM.decode(raw).metadata
            ident, tag = objects.ident(head.namespace or None, head.name), f"{head.uid}@{head.resourceVersion}"
            if (ident, tag) not in seen:  # a list that began again shows the first pages twice
                seen.add((ident, tag))
                yield Listed(ident, bytes(raw), tag)

    async def _served(self, kind: str) -> ServedKind:
        """Return how a kind is served, in its declared version if there is one; raise ReadFailed if it is not."""
        versions = self._cluster.declared_versions.get(kind, set())
        served = await self._cluster.served(self._client, kind, next(iter(versions)) if len(versions) == 1 else None)
        if isinstance(served, ReadFailure):
            raise ReadFailed(served)
        if isinstance(served, Unserved):
            raise ReadFailed(ReadFailure(ReadError.OTHER, served.why))
        return served

    async def _items(self, served: ServedKind) -> AsyncIterator[msgspec.Raw]:
        label = f"list {served.plural}{'.' + served.gvk.group if served.gvk.group else ''} in all namespaces"
        query: dict[str, str | int] = {"limit": self._client.settings.page_size}
        restarts = 0
        while True:
            answer = await self._client.get(served.path(None), label, **query)
            if isinstance(answer, Answer) and answer.status == 410 and restarts < _RESTARTS:
                restarts += 1
                query.pop("continue", None)
                continue
            if isinstance(answer, Answer) and answer.status == 403:
                raise ItemFailed(errors.unreadable(answer, label))  # single objects may still be allowed
            if not isinstance(answer, Answer) or answer.status != 200:
                raise ReadFailed(errors.unreadable(answer, label))
            try:
                page = _PAGE.decode(answer.body)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                raise ReadFailed(errors.malformed(label)) from None
            for raw in page.items or ():
                yield raw
            if not page.metadata.following:
                return
            query["continue"] = page.metadata.following

    def parse(self, kind: str, raw: bytes) -> Json:
        """Return the document of a listed object, as `read` would return it."""
        live, served = objects.parsed(raw), self._listed[kind]
        if live is None:
            raise ReadFailed(errors.malformed(f"list {served.plural}"))
        metadata = live["metadata"]
        if metadata.get("deletionTimestamp") is not None:
            raise ReadFailed(ReadFailure(ReadError.UNSETTLED, f"{kind} {metadata.get('name')} is being deleted"))
        scaled = self._autoscaler(served, metadata.get("namespace"), str(metadata.get("name")))
        return objects.document(live, served.gvk, scaled)

    async def find(self, kind: str, criteria: Mapping[str, Json]) -> Sequence[str]:
        """Return the ids of the objects that match exactly; `name` and `namespace` stand for those of the metadata."""
        named = {f"/metadata/{key}" if key in ("name", "namespace") else key: value for key, value in criteria.items()}
        return await super().find(kind, named)

    async def watch(self, kind: str, position: str | None) -> AsyncIterator[WatchEvent]:
        """Yield the changes of a kind in all namespaces; a position is a resourceVersion."""
        try:
            served = await self._served(kind)
        except ReadFailed as error:
            yield Interrupted(error.reading if isinstance(error.reading, ReadFailure) else ReadFailure(ReadError.OTHER))
            return
        async with aclosing(change_stream.watch(self._client, served, position)) as events:
            async for event in events:
                if event == change_stream.UNSERVED:
                    self._cluster.invalidate()
                yield event

    # -- evidence

    async def likely_actors(self, target: Target) -> Sequence[LikelyActor]:
        """Return the managers of the fields of an object."""
        place = await locate(self._client, self._cluster, target)
        if not isinstance(place, ObjectLocation):
            return ()
        answer = await self._client.get(place.path, place.label("get"))
        live = objects.parsed(answer.body) if isinstance(answer, Answer) and answer.status == 200 else None
        if live is None:
            return ()
        scaled = self._autoscaler(place.served, place.namespace, place.name)
        return attribution.likely_actors(live["metadata"].get("managedFields"), scaled)

    def signature(self, kind: str, document: Json) -> str | None:  # noqa: ARG002 - every kind has managers
        """Return our own name if a document carries it."""
        managers = paths.resolve(document, ("metadata", objects.OWNERS, owners.APPLY))
        manager = self._client.settings.manager
        return manager if isinstance(managers, dict) and manager in managers else None

    def platform_changes(self, kind: str, desired: Mapping[str, Json], observed: Json, now: float) -> Mapping[str, str]:  # noqa: ARG002
        """Return the paths that another manager applies or an autoscaler sets, each with the reason."""
        return platform.changes(desired, observed, self._client.settings)

    async def health_signals(self, target: Target, since: float) -> Sequence[HealthSignal] | Workload:
        """Return the pods of a workload; nothing for other kinds."""
        place = await locate(self._client, self._cluster, target)
        if not isinstance(place, ObjectLocation):
            return ()
        return await workload_health.observe(self._client, place, since)
