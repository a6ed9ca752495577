"""The reading half: endpoints, volumes and templates through REST v2, with GraphQL for what that does not show."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final

import orjson

from holdfast.compare import paths
from holdfast.compare.comparators import typed_equal
from holdfast.model.absent import ABSENT
from holdfast.model.attribution import LikelyActor
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadError, ReadFailure, ReadResult
from holdfast.providers.http import raw_slices
from holdfast.providers.protocol import Hint, Kind, Listed, ReadFailed, Target, Unchanged
from holdfast.providers.runpod import attribution, documents, graphql, kinds
from holdfast.providers.runpod.attribution import LiveChange
from holdfast.providers.runpod.calls import Calls, quoted
from holdfast.providers.runpod.listing import Lists, Shared, joined, split

_REMEMBERED: Final = 5_000  # documents kept in mind for naming likely actors


class RunPodReader:
    """Reads the things of one account."""

    def __init__(self, calls: Calls, shared: Shared | None = None) -> None:
        self.kinds: Mapping[str, Kind] = kinds.shipped()
        self.checked_at: float | None = None  # when the engine last checked something that differs
        self._calls = calls
        self._lists = Lists(calls, shared or Shared())
        self._seen: dict[str, Json] = {}

    async def read(self, target: Target, hint: Hint | None = None) -> ReadResult | Unchanged:
        """Read a resource by its id, or find it by its name. Only a 404 of the service itself means deleted."""
        trouble = self._unreadable(target)
        if trouble is not None:
            return trouble
        try:
            if target.id is None:
                return await self._by_name(target)
            raw = await self._raw(target.kind, target.id)
        except ReadFailed as error:
            return error.reading
        if not isinstance(raw, bytes):
            return raw
        digest = raw_slices.digest(raw)
        if hint is not None and hint.raw_digest == digest:
            return Unchanged(None, digest)
        document = self._parsed(target.kind, raw, target.id)
        if isinstance(document, ReadFailure):
            return document
        self._remember(target.id, document)
        return Found(document, None, digest, target.id)

    def _unreadable(self, target: Target) -> ReadFailure | None:
        """Refuse to judge what this connection does not look at."""
        if kinds.collection(target.kind) is None:
            return ReadFailure(ReadError.OTHER, f"RunPod has no kind {target.kind!r}")
        hidden = [name for name in documents.GRAPHQL_ONLY if target.desired.get(name) is not None]
        if hidden and target.kind in kinds.ENDPOINTS and not self._calls.account.extended:
            names = " and ".join(hidden)
            return ReadFailure(ReadError.OTHER, f"only GraphQL shows {names}; set `extended: true` on the connection")
        return None

    async def _raw(self, kind: str, ident: str) -> bytes | NotFound | ReadFailure:
        path, _ = kinds.collection(kind) or ("", "")
        raw = await self._calls.get(f"/{path}/{quoted(ident)}", f"GET /v2/{path}/{{id}}")
        if isinstance(raw, bytes) and self._calls.account.extended and kind in kinds.ENDPOINTS:
            return joined(raw, await self._lists.of_graphql(ident))
        return raw

    async def _by_name(self, target: Target) -> ReadResult:
        """Find a thing by what it is called; several of one name cannot be told apart."""
        matches = await self.named(target)
        name = kinds.live_name(target)
        if len(matches) > 1:
            ids = ", ".join(item.id for item in matches[:4])
            detail = f"{len(matches)} things are called {name!r} ({ids}); import the one that is meant by its id"
            return ReadFailure(ReadError.UNCONFIRMED, detail)
        if not matches:
            return NotFound()
        document = self.parse(target.kind, matches[0].raw)
        return Found(document, None, matches[0].raw_digest, matches[0].id)

    async def named(self, target: Target) -> list[Listed]:
        """List the things that a declaration without an id may mean; raise ReadFailed if that cannot be known."""
        wanted = {"name": kinds.live_name(target)}
        if target.kind == kinds.VOLUME and target.desired.get("dataCenterId") is not None:
            wanted["dataCenterId"] = str(target.desired["dataCenterId"]).upper()
        if target.kind in kinds.ENDPOINTS and target.desired.get("flashEnvironmentId") is not None:
            wanted["flashEnvironmentId"] = str(target.desired["flashEnvironmentId"])
        items = [item async for item in self._lists.fresh(target.kind)]
        if not items:
            await self._confirm_empty(target.kind)
        matches = []
        for item in items:
            document = self.parse(target.kind, item.raw)
            if all(document.get(field) == value for field, value in wanted.items()) and _may_be(target, document):
                matches.append(item)
        return matches

    async def _confirm_empty(self, kind: str) -> None:
        """Ask again where a list is empty: a service in trouble shows empty lists with a good conscience."""
        if kind in kinds.ENDPOINTS:
            mine = await self._calls.myself(graphql.EXTRAS, {}, "the list of endpoints (GraphQL)")
            if isinstance(mine, ReadFailure):
                raise ReadFailed(mine)
            again: Sequence[object] = mine.get("endpoints") or ()
        else:
            again = [item async for item in self._lists.fresh(kind)]
        if again:
            raise ReadFailed(ReadFailure(ReadError.UNCONFIRMED, "the list was empty, and then it was not"))

    def list(self, kind: str) -> AsyncIterator[Listed]:
        """Read all things of a kind."""
        return self._lists.of(kind)

    def parse(self, kind: str, raw: bytes) -> Json:
        """Turn a listed item into its document; raise ReadFailed if it is broken."""
        document = self._parsed(kind, raw)
        if isinstance(document, ReadFailure):
            raise ReadFailed(document)
        return document

    def _parsed(self, kind: str, raw: bytes, asked: str | None = None) -> Json | ReadFailure:
        first, second = split(raw)
        try:
            item = orjson.loads(first)
            more = orjson.loads(second) if second else None
        except orjson.JSONDecodeError:
            return ReadFailure(ReadError.MALFORMED, f"what the service says of a {kind} is not JSON")
        if not isinstance(item, dict):
            return ReadFailure(ReadError.MALFORMED, f"what the service says of a {kind} is not an object")
        if asked is not None and item.get("id") != asked:
            return ReadFailure(ReadError.MALFORMED, f"what the service says of a {kind} is not about the one asked for")
        if kind == kinds.VOLUME:
            return documents.volume(item)
        if kind == kinds.TEMPLATE:
            return documents.template(item)
        document = documents.endpoint(item, more)
        self._remember(item.get("id"), document)
        return document

    async def find(self, kind: str, criteria: Mapping[str, Json]) -> Sequence[str]:
        """Return the ids of the things whose fields have exactly these values; keys are names, or pointers."""
        wanted = {paths.parse_path(key if key.startswith("/") else f"/{key}"): value for key, value in criteria.items()}
        found = []
        async for item in self._lists.of(kind):
            document = self.parse(kind, item.raw)
            if all(typed_equal(paths.resolve(document, path), value) for path, value in wanted.items()):
                found.append(item.id)
        return found

    # -- who did it

    async def changes(self, target: Target) -> Sequence[LiveChange]:
        """Return the changes of an endpoint's releases, newest first; empty if unknown."""
        if target.kind not in kinds.ENDPOINTS or target.id is None:
            return []
        raw = await self._calls.get(f"/serverless/{quoted(target.id)}/releases", "GET /v2/serverless/{id}/releases")
        try:
            body = orjson.loads(raw) if isinstance(raw, bytes) else {}
        except orjson.JSONDecodeError:
            return []
        return attribution.changes(body) if isinstance(body, dict) else []

    async def likely_actors(self, target: Target) -> Sequence[LikelyActor]:
        """Return the likely actors of an endpoint, from its releases and the platform's own behaviour."""
        found = await self.changes(target)
        live = self._seen.get(target.id or "")
        if live is None and target.id is not None and target.kind in kinds.ENDPOINTS:
            now = await self.read(target)
            live = now.document if isinstance(now, Found) else None
        return attribution.likely_actors(found, target.desired, live or {}, self.checked_at or time.time())

    def platform_changes(self, kind: str, desired: Mapping[str, Json], observed: Json, now: float) -> Mapping[str, str]:
        """Recognise what the platform does to idle endpoints."""
        if kind not in kinds.ENDPOINTS or not isinstance(observed, Mapping):
            return {}
        self.checked_at = now
        found = attribution.platform(desired, observed, now)
        return {path: f"{attribution.PLATFORM} did it: {why}" for path, why in found.items()}

    async def account(self) -> str:
        """Return the id of the user whose key this is."""
        mine = await self._calls.myself(graphql.MYSELF, {}, "the account (GraphQL)")
        if isinstance(mine, ReadFailure):
            raise ReadFailed(mine)
        ident = mine.get("id")
        if not isinstance(ident, str) or not ident:
            raise ReadFailed(ReadFailure(ReadError.MALFORMED, "the service does not say whose key this is"))
        return ident

    def _remember(self, ident: Json, document: Json) -> None:
        """Keep in mind what was seen last: who is asked about is asked about because of that."""
        if isinstance(ident, str):
            if len(self._seen) >= _REMEMBERED:
                self._seen.clear()
            self._seen[ident] = document


def _may_be(target: Target, document: Mapping[str, Json]) -> bool:
    """Return True if an endpoint of the right name is of the right kind, where the kind says which."""
    implied = kinds.ENDPOINTS.get(target.kind, kinds.Implied())
    return all(
        want is None or document.get(field, ABSENT) == want
        for field, want in (("type", implied.type), ("computeType", implied.compute))
    )
