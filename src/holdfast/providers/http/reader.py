"""The reading half of the http provider."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final

import orjson

from holdfast.compare import go_json, paths
from holdfast.compare.comparators import typed_equal
from holdfast.errors import DocumentError
from holdfast.model.absent import ABSENT
from holdfast.model.attribution import LikelyActor
from holdfast.model.health import HealthSignal
from holdfast.model.json import Json
from holdfast.model.path import Path
from holdfast.model.read_result import Found, NotFound, ReadError, ReadFailure, ReadResult
from holdfast.providers import health_signals
from holdfast.providers.http import attribution, bracket_scan, paging, raw_slices, response_identity, status_mapping
from holdfast.providers.http.client import Answer, Client
from holdfast.providers.http.description import Api, Described, Etag, ListDescription
from holdfast.providers.http.response_identity import Asked
from holdfast.providers.http.url_templates import UnfilledError
from holdfast.providers.protocol import Hint, ItemFailed, Kind, Listed, ReadFailed, Target, Unchanged

_BREATH: Final = 64  # items after which others on the event loop get a turn


class HttpReader:
    """Reads the things of one API."""

    def __init__(self, client: Client, api: Api, kinds: Mapping[str, Kind]) -> None:
        self.kinds = kinds
        self._client = client
        self._described = api.kinds
        self._secrets = api.secrets

    async def read(self, target: Target, hint: Hint | None = None) -> ReadResult | Unchanged:
        """Read one thing; an answer that the etag or the digest shows to be the last one again is not parsed."""
        kind = self._described.get(target.kind)
        if kind is None:
            return ReadFailure(ReadError.OTHER, f"the connection describes no kind {target.kind!r}")
        ident = kind.ident(target.id, target.name)
        try:
            path = kind.read.path.fill(target, ident)
        except UnfilledError as error:
            if error.name != "id":
                return ReadFailure(ReadError.OTHER, str(error))
            return await self._read_unknown(kind, target)
        headers = {"If-None-Match": hint.etag} if kind.etag.is_conditional and hint is not None and hint.etag else None
        call = kind.read
        url = self._client.base + path
        answer = await self._client.send(call.method, url, call.label, headers)
        if type(answer) is Answer:
            if status_mapping.is_whole(answer.status):
                return found(kind, answer, hint, Asked(ident, target.desired), url)
            if answer.status == 304 and headers is not None and hint is not None:
                return Unchanged(hint.etag, hint.raw_digest)
            absence = status_mapping.absence(answer, kind.answers.status, call.label)
            if absence is not None:
                return absence
        return status_mapping.unreadable(answer, call.label)

    async def health_signals(self, target: Target, since: float) -> Sequence[HealthSignal]:  # noqa: ARG002 - only the present is known
        """Return a signal whether the resource is settled, if the description defines unsettled states."""
        kind = self._described.get(target.kind)
        if kind is None or kind.answers.status.unsettled is None:
            return ()
        return (health_signals.of_reading("settled", await self.read(target)),)

    async def _read_unknown(self, kind: Described, target: Target) -> ReadResult | Unchanged:
        """Read a thing without a known id: find it by its fields; where none are named, nothing is bound to it yet."""
        if kind.find is None:
            return NotFound()
        names = ", ".join(map(paths.format_path, kind.find.by))
        wanted = {pointer: paths.resolve(target.desired, pointer) for pointer in kind.find.by}
        if any(value is ABSENT for value in wanted.values()):
            return ReadFailure(ReadError.OTHER, f"the declaration lacks a field to find it by: {names}")
        try:
            matches = await self._matching(kind.name, wanted, target)
        except ReadFailed as error:
            return error.reading
        if len(matches) > 1:
            detail = f"{len(matches)} things have the declared {names}; it cannot be told which is meant"
            return ReadFailure(ReadError.UNCONFIRMED, detail)
        if not matches:
            return NotFound()
        return await self.read(Target(target.kind, target.name, matches[0], target.desired, target.namespace))

    def list(self, kind: str) -> AsyncIterator[Listed]:
        """Read all things of a kind; each is cut out of its page unparsed."""
        return self._listed(Target(kind, "", None, {}), {})

    def _listing(self, kind: str) -> tuple[Described, ListDescription]:
        described = self._described.get(kind)
        if described is None or described.list is None:
            raise ReadFailed(ReadFailure(ReadError.OTHER, f"the connection describes no list of {kind!r}"))
        return described, described.list

    async def _listed(self, target: Target, query: dict[str, str]) -> AsyncIterator[Listed]:
        _, listing = self._listing(target.kind)
        try:
            path = listing.call.path.fill(target, None)
        except UnfilledError as error:
            raise ReadFailed(ReadFailure(ReadError.OTHER, str(error))) from None
        ident = raw_slices.idents(listing.id)
        nameless = False
        async for page in paging.pages(self._client, listing, path, query):
            for number, item in enumerate(page, start=1):
                raw = bytes(item)
                try:
                    name = ident(raw)
                except raw_slices.BROKEN:
                    nameless = True
                    continue
                yield Listed(name, raw, raw_slices.digest(raw))
                if number % _BREATH == 0:
                    await asyncio.sleep(0)
        if nameless:
            detail = f"an item of the answer to {listing.call.label} has no id at {paths.format_path(listing.id)}"
            raise ItemFailed(ReadFailure(ReadError.MALFORMED, detail))

    def parse(self, kind: str, raw: bytes) -> Json:
        """Turn a listed item into its document; raise ReadFailed if it is broken, or in a state that says nothing."""
        described, listing = self._listing(kind)
        document = _parsed(raw, listing.call.label)
        trouble = document if isinstance(document, ReadFailure) else _state(described, document, listing.call.label)
        if trouble is not None:
            raise ReadFailed(trouble)
        return document

    async def find(self, kind: str, criteria: Mapping[str, Json]) -> Sequence[str]:
        """Return the ids of the items whose fields have exactly these values; keys are names, or pointers."""
        wanted = {paths.parse_path(key if key.startswith("/") else f"/{key}"): value for key, value in criteria.items()}
        return await self._matching(kind, wanted, Target(kind, "", None, {}))

    async def _matching(self, kind: str, wanted: Mapping[Path, Json], target: Target) -> Sequence[str]:
        described, listing = self._listing(kind)
        query: dict[str, str] = {}
        if described.find is not None:
            fields = described.find.query.items()
            query = {
                param: paths.scalar_text(wanted[field]) for param, field in fields if _is_scalar(wanted.get(field))
            }
        label = listing.call.label
        listed = self._listed(target, query)
        return [item.id async for item in listed if _has(item.raw, wanted, label)]

    async def likely_actors(self, target: Target) -> Sequence[LikelyActor]:
        """Name who the thing itself says wrote it last, where the description says how to tell."""
        kind = self._described.get(target.kind)
        if kind is None or kind.answers.attribution is None:
            return ()
        now = await self.read(target)
        found = (
            attribution.likely_actor(kind.answers.attribution, now.document, self._secrets)
            if isinstance(now, Found)
            else None
        )
        return () if found is None else (found,)

    def signature(self, kind: str, document: Json) -> str | None:
        """Return the name a document bears, as `likely_actors` would give it."""
        described = self._described.get(kind)
        if described is None or described.answers.attribution is None:
            return None
        found = attribution.likely_actor(described.answers.attribution, document, self._secrets)
        return None if found is None else found.who


def _is_scalar(value: Json) -> bool:
    return isinstance(value, str | int | float)


def _has(raw: bytes, wanted: Mapping[Path, Json], label: str) -> bool:
    document = _parsed(raw, label)
    if isinstance(document, ReadFailure):
        if _is_another(raw, wanted):
            return False
        raise ReadFailed(document)
    return all(typed_equal(paths.resolve(document, pointer), value) for pointer, value in wanted.items())


def _is_another(raw: bytes, wanted: Mapping[Path, Json]) -> bool:
    """Return True if an item that cannot be parsed as a whole shows all the same that it is not the one meant."""
    for pointer, value in wanted.items():
        try:
            seen = bracket_scan.value(bracket_scan.find(raw, tuple(map(str, pointer))))
        except raw_slices.BROKEN:
            continue
        if seen is not None and not typed_equal(seen, value):
            return True
    return False


def found(kind: Described, answer: Answer, hint: Hint | None, asked: Asked, url: str) -> ReadResult | Unchanged:
    """Judge a successful answer about one thing, which was asked for at a URL."""
    label = kind.read.label
    try:
        raw = raw_slices.items(kind.item)(answer.body) if kind.item else answer.body.strip()
    except raw_slices.BROKEN:
        return _malformed(answer, label, f"has nothing at {paths.format_path(kind.item)}, or is not JSON")
    digest = raw_slices.digest(raw)
    etag = answer.headers.get(kind.etag.header) if kind.etag.header else None
    if hint is not None and hint.raw_digest == digest:
        return Unchanged(etag or hint.etag, digest)
    document = _parsed(raw, label)
    if isinstance(document, ReadFailure):
        return document if answer.body and not status_mapping.is_html(answer) else _malformed(answer, label, "")
    redirected = response_identity.is_elsewhere(url, answer.url)
    doubt = response_identity.doubt(document, asked, kind.answers.identity, kind.rules, redirected=redirected)
    if doubt:
        return ReadFailure(ReadError.MALFORMED, f"the answer to {label} {doubt}")
    state = _state(kind, document, label) if kind.answers.status.has_states else None
    return state or Found(document, etag or _etag_inside(kind.etag, document), digest, asked.ident)


def _state(kind: Described, document: Json, label: str) -> NotFound | ReadFailure | None:
    """Return the read result that a document states about itself: not settled or not found; None otherwise."""
    rules = kind.answers.status
    if rules.unsettled is not None and rules.unsettled.holds(document):
        return ReadFailure(ReadError.UNSETTLED, f"{label}: it is still being changed")
    if rules.deleted is not None and rules.deleted.holds(document):
        return NotFound()
    return None


def _parsed(raw: bytes, label: str) -> dict[str, Json] | ReadFailure:
    """Parse the bytes of one thing: JSON, whole, and an object."""
    try:
        document = orjson.loads(raw)
    except orjson.JSONDecodeError:
        document = _parsed_slowly(raw, label)
    if isinstance(document, dict | ReadFailure):
        return document
    return ReadFailure(ReadError.MALFORMED, f"the answer to {label} is not one JSON object")


def _parsed_slowly(raw: bytes, label: str) -> Json:
    """Parse texts that orjson refuses, such as deep nesting and lone surrogates, or name the place of the mistake."""
    try:
        raw.decode()  # first: the reader of JSON would put something in place of a broken character, and that is drift
        return go_json.loads(raw, "int64")
    except UnicodeDecodeError:
        problem = "is not UTF-8"
    except DocumentError as error:
        problem = f"is not JSON: {error}"
    return ReadFailure(ReadError.MALFORMED, f"the answer to {label} {problem}")


def _malformed(answer: Answer, label: str, how: str) -> ReadFailure:
    if status_mapping.is_html(answer):
        how = "is a web page"
    elif not answer.body:
        how = "is empty"
    return ReadFailure(ReadError.MALFORMED, f"the answer to {label} {how}")


def _etag_inside(etag: Etag, document: Json) -> str | None:
    if etag.pointer is None:
        return None
    value = paths.resolve(document, etag.pointer)
    return None if value is ABSENT or value is None else paths.scalar_text(value)
