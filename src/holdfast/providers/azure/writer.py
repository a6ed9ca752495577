"""The writing half: PUT and DELETE, each sent once, and followed as a record of where to ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import orjson

from holdfast.compare import diff, profiles
from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadError
from holdfast.model.write_result import Done, InProgress, WriteError, WriteFailure, WriteResult
from holdfast.providers.azure import errors, operations, request_body, resource_locator
from holdfast.providers.azure.client import Client
from holdfast.providers.azure.connection_state import Shared
from holdfast.providers.azure.operations import Begun, Polled
from holdfast.providers.azure.reader import AzureReader, parsed
from holdfast.providers.azure.resource_locator import ResourceLocation
from holdfast.providers.azure.settings import Account
from holdfast.providers.http import error_excerpt, status_mapping
from holdfast.providers.http.client import Answer, Lost
from holdfast.providers.protocol import Change, Target

_PASSING: Final = frozenset({408, 425, 429})  # answers to a poll that say nothing about the operation
_MESSAGES: Final = (("error", "message"), ("message",), ("Message",), ("Error", "Message"))


class AzureWriter:
    """Changes the resources of one subscription."""

    def __init__(self, client: Client, account: Account, shared: Shared) -> None:
        self._client = client
        self._account = account
        self._shared = shared
        self._reader = AzureReader(client, account, shared)

    async def create(self, target: Target, key: str) -> WriteResult:  # noqa: ARG002 - a PUT to a name is its own key
        """Make the resource; a PUT may be repeated, for it says what is to be and not what is to be done."""
        try:
            place = resource_locator.place(target, self._account)
        except InputError as error:
            return WriteFailure(WriteError.TERMINAL, error.message)
        headers = {"If-None-Match": "*"} if place.habits.conditional else {}
        written = await self._put(place, request_body.declared(target.desired), headers)
        if isinstance(written, WriteFailure) and written.refusal is WriteError.MOVED and headers:
            return await self._made_before(target, place) or written
        return written

    async def _made_before(self, target: Target, place: ResourceLocation) -> Done | None:
        """Return the result of our own earlier attempt; None if the existing resource is not as declared."""
        now = await self._reader.read(replace(target, id=place.id))
        if not isinstance(now, Found):
            return None
        own = self._reader.kinds[place.type].profiles_in(place.api_version)
        rules = profiles.stack(own).tree(target.desired, now.document)
        return None if diff.findings(dict(target.desired), now.document, rules) else Done(place.id)

    async def update(self, target: Target, change: Change, key: str) -> WriteResult:  # noqa: ARG002 - see create
        """PUT the declaration over what is there; with an etag only if it is still what the change was decided on."""
        try:
            place = resource_locator.place(target, self._account)
        except InputError as error:
            return WriteFailure(WriteError.TERMINAL, error.message)
        live = await self._live(place) if request_body.needs_live(change, place.habits) else None
        if isinstance(live, WriteFailure):
            return live
        body = request_body.for_update(change, live, place.habits)
        headers = {"If-Match": change.etag} if place.habits.conditional and change.etag else {}
        written = await self._put(place, body, headers)
        if change.paths and not isinstance(written, WriteFailure):
            self._shared.wrote(place.id)
        return written

    async def _live(self, place: ResourceLocation) -> dict[str, Json] | WriteFailure:
        """Read what is there, in clear, for a body that has to carry some of it."""
        answer = await self._reader.get(place)
        if isinstance(answer, Answer) and status_mapping.is_success(answer.status):
            found = parsed(answer.body)
            if found is not None:
                return found
        if isinstance(answer, Answer) and answer.status == 404:
            return WriteFailure(WriteError.MOVED, f"{place.label}: it is not there any more")
        return WriteFailure(WriteError.RETRYABLE, f"{place.label} could not be read before the write")

    async def _put(self, place: ResourceLocation, body: Mapping[str, Json], headers: Mapping[str, str]) -> WriteResult:
        label = f"PUT {place.label}"
        try:
            data = orjson.dumps(body)
        except (orjson.JSONEncodeError, RecursionError):
            return WriteFailure(WriteError.TERMINAL, f"{label}: the declaration cannot be written as JSON")
        url = self._client.url(place.id, place.api_version)
        answer = await self._client.send("PUT", url, label, headers, data)
        return self._begun("PUT", place, answer, body)

    async def delete(self, target: Target, key: str, etag: str | None = None) -> WriteResult:  # noqa: ARG002
        """Delete the resource. A missing resource counts as deleted, and a type without delete is refused."""
        try:
            place = resource_locator.place(target, self._account)
        except InputError as error:
            return WriteFailure(WriteError.TERMINAL, error.message)
        if "DELETE" not in place.habits.verbs:
            return _undeletable(place)
        headers = {"If-Match": etag} if place.habits.conditional and etag else {}
        url = self._client.url(place.id, place.api_version)
        answer = await self._client.send("DELETE", url, f"DELETE {place.label}", headers)
        if isinstance(answer, Answer):
            if answer.status in (204, 404):
                return Done(place.id)
            if answer.status == 405:
                return _undeletable(place)
            if answer.status == 412 and isinstance(await self._reader.read(replace(target, id=place.id)), NotFound):
                return Done(place.id)
        written = self._begun("DELETE", place, answer, None)
        if isinstance(written, InProgress) and isinstance(answer, Answer) and answer.status == 200:
            is_followed = written.token.get("ask") != "resource"
            return written if is_followed else Done(place.id)
        return written

    def _begun(self, method: str, place: ResourceLocation, answer: Answer | Lost, sent: Json) -> WriteResult:
        label = f"{method} {place.label}"
        if isinstance(answer, Lost) or not status_mapping.is_success(answer.status):
            return self._refused(answer, label, sent)
        body = parsed(answer.body) or {}
        begun = Begun(method, place.id, answer.url, answer.status, answer.headers, body)
        writing = operations.begun(begun, place.habits.terminal)
        if isinstance(writing, InProgress) and not self._client.may_ask(str(writing.token.get("url"))):
            return WriteFailure(
                WriteError.TERMINAL, f"{label} was accepted, to be asked about at a host that is not Azure's"
            )
        return writing

    async def poll(self, target: Target, token: Mapping[str, Json]) -> WriteResult:
        """Ask once how an operation is doing; not being told is no answer, and the operation goes on."""
        url, ident = str(token.get("url", "")), token.get("id")
        label = "the operation"
        if not self._client.may_ask(url):
            return WriteFailure(WriteError.TERMINAL, f"{label} is to be asked about at a host that is not Azure's")
        try:
            place = resource_locator.place(
                replace(target, id=ident if isinstance(ident, str) else target.id), self._account
            )
        except InputError as error:
            return WriteFailure(WriteError.TERMINAL, error.message)
        answer = await self._client.send("GET", url, label)
        if isinstance(answer, Lost) or answer.status >= 500 or answer.status in _PASSING:
            wait = operations.POLL_SECONDS if isinstance(answer, Lost) else operations.pause(answer.headers)
            return InProgress(place.id, dict(token), wait)
        if answer.status in (401, 403):
            return self._refused(answer, label, None)
        polled = Polled(answer.status, answer.headers, parsed(answer.body) or {})
        writing = operations.polled(token, polled, place.habits.terminal)
        if isinstance(writing, InProgress) and not self._client.may_ask(str(writing.token.get("url"))):
            return WriteFailure(WriteError.TERMINAL, f"{label} moved on to a host that is not Azure's")
        return writing

    def _refused(self, answer: Answer | Lost, label: str, sent: Json) -> WriteFailure:
        """Return the WriteFailure, with Azure's code, and its text unless that repeats a value that we sent."""
        if isinstance(answer, Lost):
            terminal = answer.trouble is ReadError.OTHER
            return WriteFailure(WriteError.TERMINAL if terminal else WriteError.RETRYABLE, answer.detail)
        complaint = errors.read(answer.body)
        words = ""
        for pointer in _MESSAGES:
            words = words or error_excerpt.error_text(answer.body, pointer, self._account.secrets, sent)
        said = ": ".join(name for name in (complaint.code, words) if name)
        message = f"{label} was answered {answer.status}" + (f" ({said})" if said else "") + complaint.advice
        return WriteFailure(
            errors.refusal(answer.status, complaint), message, status_mapping.retry_after(answer.headers)
        )


def _undeletable(place: ResourceLocation) -> WriteFailure:
    message = f"a {place.type} cannot be deleted in Azure; it goes with its parent. Set onDelete: detach"
    return WriteFailure(WriteError.TERMINAL, message)
