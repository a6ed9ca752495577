"""The reader: GET requests, and the meaning of each answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final

import orjson

from holdfast.compare import paths
from holdfast.compare.comparators import typed_equal
from holdfast.errors import InputError
from holdfast.model.attribution import LikelyActor
from holdfast.model.health import HealthSignal
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadError, ReadFailure, ReadResult
from holdfast.providers import health_signals
from holdfast.providers.azure import attribution, conversion, errors, ids, resource_locator, type_catalog
from holdfast.providers.azure.client import Client
from holdfast.providers.azure.connection_state import Shared
from holdfast.providers.azure.kinds import Kinds
from holdfast.providers.azure.resource_locator import ResourceLocation
from holdfast.providers.azure.settings import Account
from holdfast.providers.http import raw_slices, status_mapping
from holdfast.providers.http.client import Answer, Lost
from holdfast.providers.protocol import Hint, Kind, Listed, ReadFailed, Target, Unchanged

_PAGES: Final = 10_000


class AzureReader:
    """A reader of the resources of one subscription."""

    def __init__(self, client: Client, account: Account, shared: Shared) -> None:
        self.kinds: Mapping[str, Kind] = Kinds(account.types)
        self._client = client
        self._account = account
        self._shared = shared

    def wait(self, budget: str, now: float, *, urgent: bool) -> float:
        """Return the seconds that a call should wait for its share of the quota. 0 takes the share."""
        return self._shared.quota.wait(budget, now, urgent=urgent)

    async def read(self, target: Target, hint: Hint | None = None) -> ReadResult | Unchanged:
        """Read one resource and return the result.

        A resource with an operation in progress is not judged. A type that GET cannot read is checked with HEAD.
        """
        try:
            place = resource_locator.place(target, self._account)
        except InputError as error:
            return ReadFailure(ReadError.OTHER, error.message)
        if "GET" not in place.habits.verbs or not self._shared.can_get(place.type):
            return await self._presence(place)
        answer = await self.get(place)
        if isinstance(answer, Answer) and answer.status == 405:
            self._shared.cannot_get(place.type)
            return await self._presence(place)
        return self._judged(place, answer, target, hint)

    async def health_signals(self, target: Target, since: float) -> Sequence[HealthSignal]:  # noqa: ARG002 - only the present is known
        """Return True if the last operation on a resource succeeded."""
        return (health_signals.of_reading("provisioned", await self.read(target)),)

    async def get(self, place: ResourceLocation) -> Answer | Lost:
        """Send the GET for a resource."""
        return await self._client.send("GET", self._client.url(place.id, place.api_version), f"GET {place.label}")

    def _judged(
        self, place: ResourceLocation, answer: Answer | Lost, target: Target, hint: Hint | None
    ) -> ReadResult | Unchanged:
        label = f"GET {place.label}"
        if not isinstance(answer, Answer) or not status_mapping.is_whole(answer.status):
            return absence(answer, label) or unreadable(answer, label)
        body = parsed(answer.body)
        if body is None:
            return ReadFailure(ReadError.MALFORMED, f"the answer to {label} is not one JSON object")
        if not ids.may_be(body, place.id):
            return ReadFailure(ReadError.MALFORMED, f"the answer to {label} is not about the resource asked for")
        if not conversion.is_settled(body, place.habits.terminal):
            return ReadFailure(ReadError.UNSETTLED, _busy(place, body), status_mapping.retry_after(answer.headers))
        digest = raw_slices.digest(answer.body)
        if self._shared.is_stale(place.id, digest):
            return ReadFailure(ReadError.UNSETTLED, f"{label}: it still shows what was there before our write")
        self._shared.saw(place.id, digest)
        tag = conversion.etag(answer.headers, body)
        if hint is not None and hint.raw_digest == digest:
            return Unchanged(tag, digest)
        document = conversion.document({**body, "id": place.id}, target.desired)
        failed = conversion.failure(body)
        return Found(document, tag, digest, place.id, conversion.identity(body), failed, place.api_version)

    async def _presence(self, place: ResourceLocation) -> ReadResult:
        """Check only that a resource exists, because its type does not show its content."""
        label = f"HEAD {place.label}"
        if "HEAD" not in place.habits.verbs:
            return ReadFailure(ReadError.WITHHELD, f"a {place.type} can be neither read nor asked after")
        answer = await self._client.send("HEAD", self._client.url(place.id, place.api_version), label)
        if isinstance(answer, Answer) and status_mapping.is_success(answer.status):
            return ReadFailure(ReadError.WITHHELD, f"it is there; what a {place.type} holds cannot be read")
        if isinstance(answer, Answer) and answer.status == 405:
            return ReadFailure(ReadError.WITHHELD, f"a {place.type} can be neither read nor asked after")
        return absence(answer, label) or unreadable(answer, label)

    # -- lists

    def list(self, kind: str) -> AsyncIterator[Listed]:
        """List all resources of a kind in the subscription."""
        return self._listed(kind, type_catalog.named(kind))

    async def _listed(self, kind: str, named: type_catalog.Named | None) -> AsyncIterator[Listed]:
        url = self._list_url(kind, named)
        label = f"the list of {kind}"
        for _ in range(_PAGES):
            answer = await self._client.send("GET", url, label)
            if not isinstance(answer, Answer) or not status_mapping.is_whole(answer.status):
                raise ReadFailed(unreadable(answer, label))
            page = parsed(answer.body)
            items = page.get("value") if page is not None else None
            if page is None or not isinstance(items, list):
                raise ReadFailed(ReadFailure(ReadError.MALFORMED, f"the answer to {label} is no list"))
            for item in items:
                if not isinstance(item, dict) or not isinstance(item.get("id"), str):
                    raise ReadFailed(ReadFailure(ReadError.MALFORMED, f"an item of {label} has no id"))
                raw = orjson.dumps(item)
                yield Listed(item["id"], raw, raw_slices.digest(raw))
            url = page.get("nextLink") or ""
            if not url:
                return
            if not self._client.may_ask(url):
                raise ReadFailed(ReadFailure(ReadError.OTHER, f"{label} goes on at another host, which is not asked"))
        raise ReadFailed(ReadFailure(ReadError.OTHER, f"{label} has more than {_PAGES:,} pages"))

    def _list_url(self, kind: str, named: type_catalog.Named | None) -> str:
        subscription = self._account.subscription
        if named is None or subscription is None:
            why = f"no list of {kind} without a subscription, a type and an API version"
            raise ReadFailed(ReadFailure(ReadError.OTHER, why))
        scope = f"/subscriptions/{subscription}"
        if ids.same(named.type, ids.RESOURCE_GROUPS):
            return self._client.url(f"{scope}/resourcegroups", named.api_version)
        return self._client.url(f"{scope}/providers/{named.type}", named.api_version)

    def parse(self, kind: str, raw: bytes) -> Json:  # noqa: ARG002 - all kinds look alike
        """Return the document of a listed item. No verdict is based on it, because lists may omit fields."""
        body = parsed(raw)
        if body is None:
            raise ReadFailed(ReadFailure(ReadError.MALFORMED, "a listed item is not one JSON object"))
        return conversion.document(body)

    async def find(self, kind: str, criteria: Mapping[str, Json]) -> Sequence[str]:
        """Return the ids of the resources whose fields have exactly these values. Keys are field names or pointers.

        For `Resource` the criteria name the type and the API version: `{type: ..., apiVersion: ...}`.
        """
        criteria, named = dict(criteria), type_catalog.named(kind)
        if named is None and "type" in criteria:
            known = type_catalog.named(type_catalog.kind_of(str(criteria["type"]).casefold()) or "")
            version = criteria.pop("apiVersion", known.api_version if known is not None else "")
            named = type_catalog.Named(str(criteria.pop("type")), str(version)) if version else None
        wanted = {paths.parse_path(key if key.startswith("/") else f"/{key}"): value for key, value in criteria.items()}
        found = []
        async for item in self._listed(kind, named):
            body = orjson.loads(item.raw)
            if all(typed_equal(paths.resolve(body, pointer), value) for pointer, value in wanted.items()):
                found.append(item.id)
        return found

    # -- attribution

    async def likely_actors(self, target: Target) -> Sequence[LikelyActor]:
        """Return the last writer of the resource from its systemData."""
        now = await self.read(target)
        found = attribution.likely_actor(now.document) if isinstance(now, Found) else None
        return () if found is None else (found,)

    def signature(self, kind: str, document: Json) -> str | None:  # noqa: ARG002 - all kinds sign alike
        """Return the last writer in a document. After our own write that is our own name."""
        return attribution.writer(document)


def _busy(place: ResourceLocation, body: Mapping[str, Json]) -> str:
    """Return the ReadFailure of a resource with an operation in progress."""
    word = conversion.state(body) or ""
    said = f"GET {place.label}: it is {word}"
    if conversion.seems_at_rest(word):
        said += f"; if that is how it rests, say so: habits: [{{types: {place.type}, terminal: [{word}]}}]"
    return said


def parsed(body: bytes) -> dict[str, Json] | None:
    """Return the object in a body, or None."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def absence(answer: Answer | Lost, label: str) -> NotFound | ReadFailure | None:
    """Return True if an answer means that the resource is missing, and None if it is about another resource."""
    if not isinstance(answer, Answer) or answer.status not in (404, 410):
        return None
    if status_mapping.is_html(answer):
        return ReadFailure(ReadError.UNCONFIRMED, f"{label} was answered {answer.status} with a web page")
    complaint = errors.read(answer.body)
    if not errors.is_absence(complaint):
        said = f"{label} was answered {answer.status} ({complaint.code}){complaint.advice}"
        return ReadFailure(ReadError.OTHER, said)
    return NotFound()


def unreadable(answer: Answer | Lost, label: str) -> ReadFailure:
    """Return the ReadFailure of an answer to a read."""
    if isinstance(answer, Lost):
        return ReadFailure(answer.trouble, answer.detail)
    complaint = errors.read(answer.body)
    said = f"{label} was answered {answer.status}" + (f" ({complaint.code})" if complaint.code else "")
    said += complaint.advice
    return ReadFailure(errors.trouble(answer.status, complaint), said, status_mapping.retry_after(answer.headers))
