"""Flags of a made-up feature-flag service as resources; written from docs/providers.md alone."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import quote

import aiohttp

from holdfast.provider import (
    Change,
    Connection,
    Done,
    Found,
    Hint,
    InProgress,
    InputError,
    Json,
    Kind,
    Listed,
    NotFound,
    Provider,
    Reader,
    ReadError,
    ReadFailed,
    ReadFailure,
    ReadResult,
    Target,
    Unchanged,
    WriteError,
    WriteFailure,
    Writer,
    WriteResult,
    desired_document,
    found_or_unchanged,
    parse_profiles,
)

PROFILE = """
profile: flags/flag
version: 1
applies: {provider: flags}
rules:
  - {path: /key, class: create_only, why: clients ask for a flag by its key}
  - {path: /token, class: write_only}
  - {path: /targeting/countries, list: set}
"""
KINDS = {"Flag": Kind("Flag", patches=True, lists=True, conditional=True, profiles=parse_profiles(PROFILE))}
SERVER_FIELDS = ("id", "revision", "state")
READ_ERRORS = {
    401: ReadError.UNAUTHORISED,
    403: ReadError.UNAUTHORISED,
    408: ReadError.TIMEOUT,
    429: ReadError.THROTTLED,
}
WRITE_ERRORS = {
    401: WriteError.DENIED,
    403: WriteError.DENIED,
    404: WriteError.MOVED,
    408: WriteError.RETRYABLE,
    412: WriteError.MOVED,
    429: WriteError.THROTTLED,
}


class FlagsProvider(Provider):
    """The flags of one service; a connection names its URL."""

    name = "flags"
    kinds = KINDS

    @asynccontextmanager
    async def reader(self, connection: Connection) -> AsyncIterator[FlagReader]:
        """Open the half that only reads."""
        async with _session(connection) as session:
            yield FlagReader(session)

    @asynccontextmanager
    async def writer(self, connection: Connection) -> AsyncIterator[FlagWriter]:
        """Open the half that writes."""
        async with _session(connection) as session:
            yield FlagWriter(session)


def _session(connection: Connection) -> aiohttp.ClientSession:
    if "url" not in connection.settings:
        raise InputError(f"connection {connection.name}: no url; add the address of the service")
    return aiohttp.ClientSession(str(connection.settings["url"]), timeout=aiohttp.ClientTimeout(30))


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of the service."""

    status: int
    body: Json = None
    etag: str | None = None
    retry_after: float | None = None


async def _call(session: aiohttp.ClientSession, method: str, path: str, **options: Json) -> Answer | ReadFailure:
    """Send a request; a failure below HTTP, or a body that is not JSON, is a ReadFailure."""
    try:
        async with session.request(method, f"/v1/{path}", **options) as response:
            text = await response.text()
            retry_after = response.headers.get("Retry-After", "")
            wait = float(retry_after) if retry_after.isdigit() else None
            body = json.loads(text) if text and response.ok else None
            return Answer(response.status, body, response.headers.get("ETag"), wait)
    except TimeoutError:
        return ReadFailure(ReadError.TIMEOUT, f"{method} {path}: no answer in time")
    except aiohttp.ClientError as error:
        return ReadFailure(ReadError.UNREACHABLE, f"{method} {path}: {type(error).__name__}")
    except ValueError:
        return ReadFailure(ReadError.MALFORMED, f"{method} {path}: the answer is not JSON")


def _document(body: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in body.items() if name not in SERVER_FIELDS}


def _read_failure(answer: Answer, path: str) -> ReadFailure:
    reason = READ_ERRORS.get(answer.status, ReadError.SERVER_ERROR if answer.status >= 500 else ReadError.OTHER)
    return ReadFailure(reason, f"GET {path} was answered {answer.status}", answer.retry_after)


class FlagReader(Reader):
    """Reads flags, by id or by key."""

    kinds = KINDS

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def read(self, target: Target, hint: Hint | None = None) -> ReadResult | Unchanged:
        """Read one flag; a flag that is still being created is not settled yet."""
        try:
            ident = target.id or await self._id_of(str(target.desired.get("key", target.name)))
        except ReadFailed as error:
            return error.reading
        if ident is None:
            return NotFound()
        path = f"flags/{quote(ident, safe='')}"
        answer = await _call(self._session, "GET", path)
        if isinstance(answer, ReadFailure):
            return answer
        if answer.status == 404:
            return NotFound()
        if answer.status != 200:
            return _read_failure(answer, path)
        if not isinstance(answer.body, dict) or answer.body.get("id") != ident:
            return ReadFailure(ReadError.MALFORMED, f"GET {path}: the answer is not the flag")
        if answer.body["state"] != "ready":
            return ReadFailure(ReadError.UNSETTLED, f"the flag is {answer.body['state']}")
        return found_or_unchanged(Found(_document(answer.body), answer.etag, id=ident), hint)

    async def list(self, kind: str) -> AsyncIterator[Listed]:
        """Read all flags, page by page."""
        page: str | None = "0"
        while page is not None:
            answer = await _call(self._session, "GET", "flags", params={"page": page})
            if isinstance(answer, ReadFailure):
                raise ReadFailed(answer)
            if answer.status != 200:
                raise ReadFailed(_read_failure(answer, "flags"))
            for flag in answer.body["flags"]:
                yield Listed.from_document(flag["id"], _document(flag))
            page = answer.body["next"]

    async def _id_of(self, key: str) -> str | None:
        matching = await self.find("Flag", {"key": key})
        if len(matching) > 1:
            raise ReadFailed(ReadFailure(ReadError.OTHER, f"{len(matching)} flags have the key {key!r}"))
        return matching[0] if matching else None


@dataclass
class FlagWriter(Writer):
    """Writes flags; creates take their time."""

    session: aiohttp.ClientSession = field(repr=False)

    async def create(self, target: Target, key: str) -> WriteResult:
        """Create a flag; the service recognises the key of an earlier attempt."""
        body = {"key": target.name, **target.desired}
        answer = await self._send("POST", "flags", {"Idempotency-Key": key}, body)
        if isinstance(answer, WriteFailure):
            return answer
        return InProgress(answer.body["id"], {"id": answer.body["id"]})

    async def poll(self, target: Target, token: Mapping[str, Json]) -> WriteResult:
        """Return Done once the new flag is ready."""
        answer = await self._send("GET", f"flags/{token['id']}")
        if isinstance(answer, WriteFailure):
            return answer
        return Done(token["id"]) if answer.body["state"] == "ready" else InProgress(token["id"], token)

    async def update(self, target: Target, change: Change, key: str) -> WriteResult:
        """Send the changed top-level fields; None removes a field."""
        document = desired_document(change)
        names = {path.split("/")[1] for path in change.paths}
        answer = await self._send(
            "PATCH", f"flags/{target.id}", _if_match(change.etag), {name: document.get(name) for name in names}
        )
        return answer if isinstance(answer, WriteFailure) else Done(str(target.id), etag=answer.etag)

    async def delete(self, target: Target, key: str, etag: str | None = None) -> WriteResult:
        """Delete a flag; a missing flag is done."""
        answer = await self._send("DELETE", f"flags/{target.id}", _if_match(etag), missing_is_done=True)
        return answer if isinstance(answer, WriteFailure) else Done(str(target.id))

    async def _send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: Json = None,
        *,
        missing_is_done: bool = False,
    ) -> Answer | WriteFailure:
        answer = await _call(self.session, method, path, headers=headers, json=body)
        if isinstance(answer, ReadFailure):
            return WriteFailure(WriteError.RETRYABLE, answer.detail, is_unsure=True)
        if answer.status < 300 or (missing_is_done and answer.status == 404):
            return answer
        reason = WRITE_ERRORS.get(answer.status, WriteError.RETRYABLE if answer.status >= 500 else WriteError.TERMINAL)
        return WriteFailure(reason, f"{method} {path} was answered {answer.status}", answer.retry_after)


def _if_match(etag: str | None) -> dict[str, str]:
    return {} if etag is None else {"If-Match": etag}
