"""Error answers of an API server: the Status object, and its ReadError or WriteError. Pure.

Messages are our own words with the field, reason and causes of the Status. Values that were sent are masked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from holdfast.model.json import Json
from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.model.write_result import WriteError, WriteFailure
from holdfast.providers.http import error_excerpt, status_mapping
from holdfast.providers.http.client import Answer, Lost

_LONGEST: Final = 400  # characters of a message to show
_SCHEMA: Final = (
    "failed to create typed patch object",
    "failed to convert",
    "unable to decode",
    ".spec",
    "json: cannot",
)
_TEXTS: Final = (  # in the message of a Status, with the failure and what to do
    # A JSON patch whose test failed is answered with nothing but this, and the test is that of the state.
    ("the server rejected our request due to an error in our request", WriteError.MOVED, "the object has changed"),
    ("failed calling webhook", WriteError.RETRYABLE, "an admission webhook does not answer"),
    ("exceeded quota", WriteError.DENIED, "raise the ResourceQuota or ask for less"),
    ("request is too large", WriteError.TERMINAL, "the object is too large for the server: make it smaller"),
    ("must have at most 1048576 bytes", WriteError.TERMINAL, "the object is too large for the server: make it smaller"),
)
_CODES: Final = {
    400: (WriteError.TERMINAL, "; correct the manifest"),
    401: (WriteError.DENIED, "; sign in again"),
    403: (WriteError.DENIED, "; grant the verb in a Role or ClusterRole"),
    404: (WriteError.RETRYABLE, "; create its namespace or install its definition first"),
    408: (WriteError.RETRYABLE, ""),
    413: (WriteError.TERMINAL, "; the object is too large for the server: make it smaller"),
    422: (WriteError.TERMINAL, "; correct the manifest"),
    429: (WriteError.THROTTLED, ""),
}
_WEBHOOK_DENIED: Final = re.compile(r'admission webhook "([^"]+)" denied')
_MANAGER: Final = re.compile(r'conflict with "([^"]+)"')


@dataclass(frozen=True, slots=True)
class ApiStatus:
    """The Status object of a failed request."""

    code: int
    reason: str = ""
    message: str = ""
    name: str = ""
    kind: str = ""
    causes: tuple[tuple[str, str, str], ...] = ()  # reason, field, message
    retry_after: float | None = None
    is_status: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that the causes name."""
        return tuple(field for _, field, _ in self.causes if field not in ("", "[]"))


def status_of(answer: Answer) -> ApiStatus:
    """Return the Status in the body of an answer; an empty one if the body is something else."""
    try:
        body = orjson.loads(answer.body) if answer.body else None
    except orjson.JSONDecodeError:
        body = None
    if not isinstance(body, dict) or body.get("kind") != "Status":
        return ApiStatus(answer.status)
    details = body.get("details")
    details = details if isinstance(details, dict) else {}
    causes = tuple(
        (str(cause.get("reason", "")), str(cause.get("field", "")), str(cause.get("message", "")))
        for cause in details.get("causes") or ()
        if isinstance(cause, dict)
    )
    seconds = details.get("retryAfterSeconds")
    return ApiStatus(
        answer.status,
        str(body.get("reason", "")),
        str(body.get("message", "")),
        str(details.get("name", "")),
        str(details.get("kind", "")),
        causes,
        float(seconds) if isinstance(seconds, int | float) else None,
        is_status=True,
    )


def malformed(label: str) -> ReadFailure:
    """Return the failure of an answer that is not one JSON object."""
    return ReadFailure(ReadError.MALFORMED, f"the answer to {label} is not one JSON object")


def unreadable(answer: Answer | Lost, label: str) -> ReadFailure:
    """Return the ReadFailure of an error answer to a read; `label` has verb, kind and namespace."""
    if isinstance(answer, Lost):
        return ReadFailure(answer.trouble, answer.detail)
    status = status_of(answer)
    failure = status_mapping.unreadable(answer, label)
    if status.code == 403:
        detail = f"{label} is forbidden to this identity; grant the verb in a Role or ClusterRole"
        return ReadFailure(ReadError.UNAUTHORISED, detail)
    if status.code == 401:
        return ReadFailure(
            ReadError.UNAUTHORISED, f"{label}: the server does not accept the credentials; sign in again"
        )
    detail = failure.detail + (f": {_shown(status.message)}" if status.message and status.code != 404 else "")
    return ReadFailure(failure.trouble, detail, status.retry_after or failure.retry_after_seconds)


def refused(answer: Answer | Lost, label: str, sent: Json = None) -> WriteFailure:
    """Return the WriteFailure of an error answer to a write."""
    if isinstance(answer, Lost):
        return WriteFailure(WriteError.RETRYABLE, answer.detail, is_unsure=not answer.is_unsent)
    status = status_of(answer)
    words = error_excerpt.masked(status.message, _leaves(sent))[:_LONGEST]
    retry = status.retry_after or status_mapping.retry_after(answer.headers)
    error, advice = _judge(status)
    fields = f" at {', '.join(dict.fromkeys(status.fields))}" if status.fields else ""
    message = f"{label} was answered {status.code}{fields}" + (f": {words}" if words else "") + advice
    return WriteFailure(error, message, retry, is_unsure=status.code >= 500 and error is WriteError.RETRYABLE)


def _judge(status: ApiStatus) -> tuple[WriteError, str]:
    """Return the kind of failure, and the advice after a semicolon."""
    text = status.message
    denied = _WEBHOOK_DENIED.search(text)
    if denied is not None:
        return WriteError.TERMINAL, f"; the admission webhook {denied[1]} denies it: change the manifest or the webhook"
    if status.code == 500 and any(mark in text for mark in _SCHEMA):
        return WriteError.TERMINAL, "; the schema refuses the manifest: correct the field"
    if status.code == 409:
        return _conflict(status)
    for mark, error, advice in _TEXTS:
        if mark in text:
            return error, f"; {advice}"
    usual = WriteError.RETRYABLE if status.code >= 500 else WriteError.TERMINAL
    return _CODES.get(status.code, (usual, ""))


def _conflict(status: ApiStatus) -> tuple[WriteError, str]:
    managers = sorted({found[1] for _, _, text in status.causes if (found := _MANAGER.search(text))})
    if managers:
        names = ", ".join(managers)
        return WriteError.TERMINAL, f"; {names} applies these fields: set fieldConflicts: take to take them over"
    if "being deleted" in status.message:
        return WriteError.RETRYABLE, ""
    return WriteError.MOVED, ""


def _leaves(sent: Json) -> list[str]:
    """Return the texts that an error message must not repeat: long values, which may be secrets."""
    texts, pending = [], [sent]
    while pending:
        here = pending.pop()
        if isinstance(here, Mapping):
            pending.extend(here.values())
        elif isinstance(here, list):
            pending.extend(here)
        elif isinstance(here, str) and len(here) >= _SHORTEST_SECRET:
            texts.append(here)
    return texts


_SHORTEST_SECRET: Final = 6  # characters; shorter values are words of the API such as TCP


def _shown(message: str) -> str:
    return "".join(character if character.isprintable() else " " for character in message)[:_LONGEST]
