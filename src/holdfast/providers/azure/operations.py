"""Long-running operations, one step at a time: a small record that any process can carry on.

What Azure answers to a PUT or DELETE says where to ask; each answer there says whether it goes on. The record holds no
body and no credential, only how to ask again:

    {"ask": "operation" | "location" | "resource", "url": ..., "id": ..., "method": "PUT" | "DELETE", "resource": ...}

- `Azure-AsyncOperation`: ask it; its body has a `status`, and HTTP 200 with status Failed is a failure.
- else `Location`: 202 goes on, any other success is the end. On a 200 or 201 a Location that is the resource itself is
  no operation at all (managed identities, alert rules); on a 202 it means to ask the resource.
- else the resource's own provisioningState; without one it is done.

An operation that Azure has forgotten by the time it is asked about is no failure: then the resource is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin, urlsplit

from holdfast.model.json import Json
from holdfast.model.write_result import Done, InProgress, WriteError, WriteFailure, WriteResult
from holdfast.providers.azure import conversion, errors, ids
from holdfast.providers.http import status_mapping

POLL_SECONDS: Final = 10.0
LONGEST_POLL_SECONDS: Final = 160.0
_ENDED: Final = frozenset({"succeeded", "failed", "canceled", "cancelled"})
_ASYNC: Final = "Azure-AsyncOperation"

Token = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Begun:
    """An accepted PUT or DELETE."""

    method: str
    id: str
    url: str  # of the request
    status: int
    headers: Mapping[str, str]
    body: Mapping[str, Json]


def begun(answer: Begun, terminal: frozenset[str]) -> WriteResult:
    """Return the result of an accepted write: Done, or InProgress with its token."""
    wait = pause(answer.headers)
    operation = answer.headers.get(_ASYNC)
    if operation:
        return _under_way("operation", urljoin(answer.url, operation), answer, wait)
    location = answer.headers.get("Location")
    if location:
        url = urljoin(answer.url, location)
        is_itself = ids.same(urlsplit(url).path, urlsplit(answer.url).path)
        if not is_itself:
            return _under_way("location", url, answer, wait)
    if answer.status == 202 or not conversion.is_settled(answer.body, terminal):
        return _under_way("resource", answer.url, answer, wait)
    return _ended(answer.id, answer.body)


def _under_way(ask: str, url: str, answer: Begun, wait: float) -> InProgress:
    token = {"ask": ask, "url": url, "id": answer.id, "method": answer.method, "resource": answer.url}
    return InProgress(answer.id, token, wait)


def _ended(ident: str, body: Mapping[str, Json]) -> WriteResult:
    """Return the result of a settled resource, whose last operation may have failed."""
    word = conversion.failure(body)
    return WriteFailure(WriteError.RETRYABLE, f"Azure says that the operation ended as {word}") if word else Done(ident)


@dataclass(frozen=True, slots=True)
class Polled:
    """An answer to a poll."""

    status: int
    headers: Mapping[str, str]
    body: Mapping[str, Json]


def polled(token: Token, answer: Polled, terminal: frozenset[str]) -> WriteResult:
    """Return the result of a poll: in progress, done, or failed."""
    ident = str(token.get("id", ""))
    is_delete = token.get("method") == "DELETE"
    if answer.status == 404:
        return _vanished(token, ident, is_delete=is_delete)
    if not status_mapping.is_success(answer.status):
        complaint = errors.read(answer.body)
        return WriteFailure(errors.failure(complaint), _told("the operation failed", complaint))
    match token.get("ask"):
        case "operation":
            return _by_status(token, answer, ident)
        case "location":
            return _further(token, answer) if answer.status == 202 else Done(ident)
        case _:
            if answer.status == 202 or not conversion.is_settled(answer.body, terminal):
                return _further(token, answer)
            if not is_delete:
                return _ended(ident, answer.body)
            if token.get("forgotten"):
                return WriteFailure(
                    WriteError.RETRYABLE, "nothing is known of the deletion any more, and it is still there"
                )
            return _further(token, answer)


def _vanished(token: Token, ident: str, *, is_delete: bool) -> WriteResult:
    """Return the result of a poll whose operation does not exist."""
    if token.get("ask") == "resource":
        gone = WriteFailure(WriteError.RETRYABLE, "it was accepted, and is not there")
        return Done(ident) if is_delete else gone
    following = {**token, "ask": "resource", "url": token.get("resource", ""), "forgotten": True}
    return InProgress(ident, following, 0.0)


def _by_status(token: Token, answer: Polled, ident: str) -> WriteResult:
    status = answer.body.get("status")
    word = status.casefold() if isinstance(status, str) else ""
    if word == "succeeded" or (not word and answer.status in (200, 204)):
        return Done(ident)
    if word not in _ENDED:
        return _further(token, answer)
    complaint = errors.read(answer.body.get("error") or {})
    what = f"Azure accepted it, and the operation ended as {status}"
    return WriteFailure(errors.failure(complaint), _told(what, complaint))


def _further(token: Token, answer: Polled) -> InProgress:
    following = dict(token)
    if token.get("ask") == "location" and answer.headers.get("Location"):
        following["url"] = urljoin(str(token.get("url", "")), answer.headers["Location"])  # the engine may continue
    return InProgress(following.get("id"), following, pause(answer.headers))


def _told(what: str, complaint: errors.Complaint) -> str:
    return f"{what} ({complaint.code})" if complaint.code else what


def pause(headers: Mapping[str, str]) -> float:
    """Return the seconds to wait before the next poll."""
    asked = status_mapping.retry_after(headers)
    return POLL_SECONDS if asked is None else min(asked, LONGEST_POLL_SECONDS)
