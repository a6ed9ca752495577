"""The writing half of the http provider."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import unquote, urlsplit

import orjson

from holdfast.compare import diff, paths
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.path import Path
from holdfast.model.read_result import Found, NotFound, ReadError, ReadFailure
from holdfast.model.write_result import Done, InProgress, WriteError, WriteFailure, WriteResult
from holdfast.providers.http import error_excerpt, reader, request_body, status_mapping
from holdfast.providers.http.client import Answer, Client, Lost
from holdfast.providers.http.description import Api, Body, Call, Described, IdFrom, Operation
from holdfast.providers.http.response_identity import Asked
from holdfast.providers.http.url_templates import UnfilledError
from holdfast.providers.protocol import Change, Target

_PASSING: Final = frozenset({408, 425, 429})  # answers to a poll that say nothing about the operation


class HttpWriter:
    """Changes the things of one API."""

    def __init__(self, client: Client, api: Api) -> None:
        self._client = client
        self._described = api.kinds
        self._secrets = api.secrets
        self._reader = reader.HttpReader(client, api, {})

    async def create(self, target: Target, key: str) -> WriteResult:
        """Make the thing. A repetition makes no other one if the API takes idempotency keys, or PUTs to a name."""
        kind = self._described.get(target.kind)
        if kind is None or kind.create is None:
            return _undescribed("create", target)
        headers = _headers(kind, key, "application/json")
        if kind.etag.is_conditional and kind.create.call.method == "PUT":
            headers["If-None-Match"] = "*"
        try:
            body = request_body.for_create(kind, dict(target.desired))
        except RecursionError:
            return _too_deep(kind.create.call)
        answer = await self._send(kind.create.call, target, kind, headers, body)
        if isinstance(answer, WriteFailure):
            return await self._made_before(kind, target) or answer if _is_taken(answer, headers) else answer
        ident = _ident(kind, target, answer)
        if kind.operation is not None and answer.status in kind.operation.accepted:
            return self._under_way(kind.operation, kind.create.call, answer, ident)
        if ident is None:
            message = (
                f"{kind.create.call.label} made it, and the answer does not say its id where it is described to be"
            )
            return WriteFailure(WriteError.TERMINAL, message, is_unsure=True)
        return _done(kind, Asked(ident, target.desired), answer)

    async def _made_before(self, kind: Described, target: Target) -> Done | None:
        """Return the result of our own earlier attempt; None if the existing resource is not as declared."""
        now = await self._reader.read(replace(target, id=None))
        if not isinstance(now, Found) or now.id is None:
            return None
        is_other = diff.findings(dict(target.desired), now.document, kind.rules)
        return None if is_other else Done(now.id, now.document, now.etag)

    async def update(self, target: Target, change: Change, key: str) -> WriteResult:
        """Change the resource. With `conditional`, only if it has not changed since the decision."""
        kind = self._described.get(target.kind)
        if kind is None or kind.update is None:
            return _undescribed("update", target)
        ident = kind.ident(target.id, target.name) or ""
        clear = await self._clear(target, kind, change)
        if isinstance(clear, WriteFailure):
            return clear
        try:
            body = request_body.for_update(kind, kind.update.body, clear)
        except RecursionError:
            return _too_deep(kind.update.call)
        if body is ABSENT:
            return Done(ident, None, change.etag)
        headers = _headers(kind, key, kind.update.content_type)
        if kind.etag.is_conditional and change.etag is not None:
            headers["If-Match"] = change.etag
        answer = await self._send(kind.update.call, target, kind, headers, body)
        if isinstance(answer, WriteFailure):
            return answer
        if kind.operation is not None and answer.status in kind.operation.accepted:
            return self._under_way(kind.operation, kind.update.call, answer, ident)
        return _done(kind, Asked(ident, target.desired), answer)

    async def delete(self, target: Target, key: str, etag: str | None = None) -> WriteResult:
        """Delete the resource. With an etag and `conditional`, only if it has not changed since."""
        kind = self._described.get(target.kind)
        if kind is None or kind.delete is None:
            return _undescribed("delete", target)
        ident = kind.ident(target.id, target.name)
        if ident is None and "id" in kind.delete.path.names:
            return Done("")  # never made, as far as anybody knows
        headers = _headers(kind, key, None)
        if kind.etag.is_conditional and etag is not None:
            headers["If-Match"] = etag
        answer = await self._send(kind.delete, target, kind, headers, ABSENT, gone_is_done=True)
        if isinstance(answer, WriteFailure):
            # A precondition also fails on a deleted resource, perhaps by an earlier attempt of ours whose answer
            # was lost.
            is_gone = answer.refusal is WriteError.MOVED and isinstance(await self._reader.read(target), NotFound)
            return Done(ident or target.name) if is_gone else answer
        if kind.operation is not None and answer.status in kind.operation.accepted:
            return self._under_way(kind.operation, kind.delete, answer, ident)
        return Done(ident or target.name)

    async def _clear(self, target: Target, kind: Described, change: Change) -> Change | WriteFailure:
        """Return the change with clear live values, if the observed document has fingerprints in it.

        A document that is sent back, or a list that is sent whole, must not carry a fingerprint in place of a secret.
        """
        assert kind.update is not None
        if kind.update.body is Body.DESIRED or not request_body.holds_fingerprints(change.observed):
            return change
        now = await self._reader.read(target)
        if isinstance(now, Found):
            if change.etag is not None and now.etag not in (None, change.etag):
                return WriteFailure(
                    WriteError.MOVED, f"{kind.update.call.label}: it changed since the change was decided"
                )
            return replace(change, observed=now.document)
        if isinstance(now, ReadFailure):
            return WriteFailure(WriteError.RETRYABLE, f"what is there could not be read before the write: {now.detail}")
        return WriteFailure(WriteError.MOVED, f"{kind.update.call.label}: it is not there any more")

    async def _send(
        self,
        call: Call,
        target: Target,
        kind: Described,
        headers: dict[str, str],
        body: Json,
        gone_is_done: bool = False,  # noqa: FBT001, FBT002
    ) -> Answer | WriteFailure:
        """Send a write. Any answer but a success is a failure, unless the resource is absent and `gone_is_done`."""
        try:
            path = call.path.fill(target, kind.ident(target.id, target.name))
        except UnfilledError as error:
            return WriteFailure(WriteError.TERMINAL, str(error))
        try:
            data = None if body is ABSENT else request_body.encoded(body)
            if data is not None and request_body.sends_fingerprints(data, body):
                message = f"{call.label} would have sent a fingerprint in place of a secret that is not kept"
                return WriteFailure(WriteError.TERMINAL, message)
        except RecursionError:
            return _too_deep(call)
        answer = await self._client.send(call.method, self._client.base + path, call.label, headers, data)
        if isinstance(answer, Answer):
            if status_mapping.is_success(answer.status):
                return answer
            absence = (
                status_mapping.absence(answer, kind.answers.status, call.label)
                if "id" in call.path.names or gone_is_done
                else None
            )
            if isinstance(absence, ReadFailure):
                return WriteFailure(WriteError.RETRYABLE, absence.detail)
            if absence is not None:
                return (
                    answer
                    if gone_is_done
                    else WriteFailure(WriteError.MOVED, f"{call.label}: it is not there any more")
                )
        quoted = (
            error_excerpt.error_text(answer.body, kind.answers.error, self._secrets, body)
            if isinstance(answer, Answer)
            else ""
        )
        return status_mapping.refused(answer, kind.answers.status, call.label, quoted)

    # -- operations that take their time

    def _under_way(self, operation: Operation, call: Call, answer: Answer, ident: str | None) -> WriteResult:
        link = answer.headers.get(operation.header) if operation.header else _text_at(answer.body, operation.pointer)
        if link is None:
            said = f"{call.label} was accepted, and the answer does not say where to ask"
            return WriteFailure(WriteError.RETRYABLE, said, is_unsure=True)
        url = self._client.within(answer.url, link)
        if url is None:
            said = f"{call.label} was accepted, to be asked about at another host; not followed"
            return WriteFailure(WriteError.TERMINAL, said, is_unsure=True)
        wait = status_mapping.retry_after(answer.headers)
        return InProgress(ident, {"url": url, "id": ident}, operation.poll_seconds if wait is None else wait)

    async def poll(self, target: Target, token: Mapping[str, Json]) -> WriteResult:
        """Ask how an operation is doing; not being told is no answer, and the operation goes on."""
        kind = self._described.get(target.kind)
        url = self._client.within("", str(token.get("url", "")))
        if kind is None or kind.operation is None or url is None:
            return WriteFailure(WriteError.TERMINAL, "the operation was started under another description of the API")
        label = "the operation"
        ident = token.get("id")
        answer = await self._client.send("GET", url, label)
        if isinstance(answer, Lost) or answer.status >= 500 or answer.status in _PASSING:
            wait = None if isinstance(answer, Lost) else status_mapping.retry_after(answer.headers)
            return InProgress(ident, dict(token), kind.operation.poll_seconds if wait is None else wait)
        if answer.status in kind.answers.status.gone:
            return WriteFailure(WriteError.RETRYABLE, "nothing is known of the operation any more", is_unsure=True)
        if not status_mapping.is_success(answer.status):
            return status_mapping.refused(answer, kind.answers.status, label)
        return self._polled(kind, kind.operation, answer, token)

    def _polled(self, kind: Described, operation: Operation, answer: Answer, token: Mapping[str, Json]) -> WriteResult:
        document = _parsed(answer.body)
        if operation.failed is not None and operation.failed.holds(document):
            quoted = error_excerpt.error_text(answer.body, kind.answers.error, self._secrets, None)
            return WriteFailure(WriteError.RETRYABLE, "the operation failed" + (f": {quoted}" if quoted else ""))
        done = operation.done.holds(document) if operation.done else answer.status not in operation.accepted
        if not done:
            wait = status_mapping.retry_after(answer.headers)
            return InProgress(token.get("id"), dict(token), operation.poll_seconds if wait is None else wait)
        ident = _text_at(answer.body, operation.id) or token.get("id")
        if ident is None:
            return WriteFailure(
                WriteError.TERMINAL, "the operation is done, and the answer does not say the id of what it made"
            )
        return Done(str(ident))


def _is_taken(refused: WriteFailure, headers: Mapping[str, str]) -> bool:
    """Return True if a creation that was to make something new found that there is something."""
    return refused.refusal is WriteError.MOVED and "If-None-Match" in headers


def _undescribed(verb: str, target: Target) -> WriteFailure:
    return WriteFailure(WriteError.TERMINAL, f"the connection does not describe how to {verb} a {target.kind}")


def _too_deep(call: Call) -> WriteFailure:
    return WriteFailure(WriteError.TERMINAL, f"{call.label}: the document is nested too deep to be sent")


def _headers(kind: Described, key: str, content_type: str | None) -> dict[str, str]:
    headers = {"Content-Type": content_type} if content_type else {}
    return headers | ({kind.idempotency_header: key} if kind.idempotency_header else {})


def _done(kind: Described, asked: Asked, answer: Answer) -> Done:
    """Return the document in an answer, if it has a usable one."""
    ident = asked.ident or ""
    seen = reader.found(kind, answer, None, asked, answer.url) if answer.body else ReadFailure(ReadError.OTHER)
    if isinstance(seen, Found):
        return Done(ident, seen.document, seen.etag)
    return Done(ident, None, answer.headers.get(kind.etag.header) if kind.etag.header else None)


def _ident(kind: Described, target: Target, answer: Answer) -> str | None:
    assert kind.create is not None
    match kind.create.id:
        case IdFrom.NAME:
            return target.name
        case IdFrom.LOCATION:
            return _ident_in_location(kind, answer.headers.get("Location"))
        case pointer:
            return _text_at(answer.body, pointer)


def _ident_in_location(kind: Described, location: str | None) -> str | None:
    """Return the id in the location of a new resource: the part for {id} in the read path, or the last segment."""
    if location is None:
        return None
    path = urlsplit(location).path.rstrip("/")
    wanted = urlsplit(kind.read.path.text).path
    pattern = re.sub(r"\\\{[^{}]*\\\}", "[^/]+", re.escape(wanted).replace(re.escape("{id}"), "(?P<id>[^/]+)", 1))
    match = re.search(pattern + "$", path)
    ident = match["id"] if match and "id" in match.groupdict() else path.rpartition("/")[2]
    return unquote(ident) or None


def _parsed(body: bytes) -> Json:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return ABSENT


def _text_at(body: bytes, pointer: Path | None) -> str | None:
    if pointer is None:
        return None
    value = paths.resolve(_parsed(body), pointer)
    return paths.scalar_text(value) if isinstance(value, str | int) and not isinstance(value, bool) else None
