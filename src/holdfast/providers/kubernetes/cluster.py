"""State that reader and writer of a connection share: discovery, the schema of the server, and its autoscalers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson

from holdfast.model.json import Json
from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.providers.http.client import Answer
from holdfast.providers.kubernetes import discovery
from holdfast.providers.kubernetes.client import Client
from holdfast.providers.kubernetes.discovery import Catalogue, ServedKind, Unserved
from holdfast.providers.protocol import ReadFailed

_REFRESH_SECONDS: Final = 2.0  # an unknown kind asks the server again, but not more often
_AUTOSCALER_SECONDS: Final = 10.0  # for which a list of autoscalers is used
_AUTOSCALERS: Final = "/apis/autoscaling/v1/horizontalpodautoscalers"

Scaled = tuple[str, str, str]  # kind, namespace, name of the scaled object


@dataclass(slots=True)
class Cluster:
    """The known facts about one cluster in this process."""

    catalogue: Catalogue | None = None
    openapi: Mapping[str, Json] | None = None
    declared_versions: dict[str, set[str]] = field(default_factory=dict)  # kind -> apiVersions of its declarations
    _refreshed: float = float("-inf")
    _autoscalers: dict[Scaled, str] = field(default_factory=dict)
    _scaled_at: float = float("-inf")
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def load(self, client: Client) -> None:
        """Read kinds and schema once; a failure is told by the reads that need them."""
        async with self._lock:
            if self.catalogue is not None:
                return
            try:
                await self._discover(client)
            except ReadFailed:
                return
            answer = await client.get("/openapi/v2", "the schema of the API")
            if isinstance(answer, Answer) and answer.status == 200:
                document = orjson.loads(answer.body)
                self.openapi = document if isinstance(document, dict) else None

    async def _discover(self, client: Client) -> None:
        self.catalogue = await discovery.discover(client)
        self._refreshed = time.monotonic()

    async def served(self, client: Client, kind: str, api_version: str | None) -> ServedKind | Unserved | ReadFailure:
        """Return how a kind is served; the server is asked again if the kind is unknown."""
        found = self.catalogue.find(kind, api_version) if self.catalogue is not None else None
        if isinstance(found, ServedKind):
            return found
        async with self._lock:
            if time.monotonic() - self._refreshed >= _REFRESH_SECONDS:
                try:
                    await self._discover(client)
                except ReadFailed as error:
                    return error.reading if isinstance(error.reading, ReadFailure) else ReadFailure(ReadError.OTHER)
            assert self.catalogue is not None
            return self.catalogue.find(kind, api_version)

    def forget(self) -> None:
        """Have the next unknown kind ask the server, because a definition was written or removed."""
        self._refreshed = float("-inf")

    def invalidate(self) -> None:
        """Forget the kinds, because the server no longer knows one of them."""
        self.catalogue = None
        self.forget()

    async def refresh_autoscalers(self, client: Client) -> None:
        """Read the autoscalers unless that was done a moment ago; without permission none are known."""
        if time.monotonic() - self._scaled_at < _AUTOSCALER_SECONDS:
            return
        self._scaled_at = time.monotonic()
        answer = await client.get(_AUTOSCALERS, "list horizontalpodautoscalers.autoscaling")
        if not isinstance(answer, Answer) or answer.status != 200:
            return
        items = orjson.loads(answer.body).get("items") or ()
        self._autoscalers = {_scaled(item): f"HorizontalPodAutoscaler/{item['metadata']['name']}" for item in items}

    def autoscaler(self, kind: str, namespace: str | None, name: str) -> str | None:
        """Return the autoscaler of an object, as far as the last list shows."""
        return self._autoscalers.get((kind, namespace or "", name))


def _scaled(item: Mapping[str, Json]) -> Scaled:
    wanted = item.get("spec", {}).get("scaleTargetRef", {})
    return str(wanted.get("kind")), str(item["metadata"].get("namespace", "")), str(wanted.get("name"))
