"""The meaning of HTTP statuses: one table for reads, one for writes."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

from holdfast.model.read_result import NotFound, ReadError, ReadFailure
from holdfast.model.write_result import WriteError, WriteFailure
from holdfast.providers.http.client import Answer, Lost
from holdfast.providers.http.description import StatusRules

_DAY: Final = 86_400.0  # seconds; the longest wait that an API may request

_PARTS: Final = frozenset({206, 207, 208, 226})  # successes that bring something else than the whole of the thing

_TROUBLES: Final = {
    401: ReadError.UNAUTHORISED,
    403: ReadError.UNAUTHORISED,
    407: ReadError.UNAUTHORISED,
    408: ReadError.TIMEOUT,
    429: ReadError.THROTTLED,
}
_REFUSALS: Final = {
    401: WriteError.DENIED,
    403: WriteError.DENIED,
    407: WriteError.DENIED,
    408: WriteError.RETRYABLE,
    409: WriteError.RETRYABLE,
    412: WriteError.MOVED,
    423: WriteError.RETRYABLE,
    425: WriteError.RETRYABLE,
    429: WriteError.THROTTLED,
}


_TIMED_OUT: Final = 408


def is_success(status: int) -> bool:
    """Return True if the request succeeded."""
    return 200 <= status < 300


def is_whole(status: int) -> bool:
    """Return True if a success brought the whole resource. A part of it (206) does not count."""
    return status == 200 or (is_success(status) and status not in _PARTS)


def unreadable(answer: Answer | Lost, label: str) -> ReadFailure:
    """Return the ReadError of an answer that is not a success."""
    if isinstance(answer, Lost):
        return ReadFailure(answer.trouble, answer.detail)
    trouble = _TROUBLES.get(answer.status, ReadError.SERVER_ERROR if answer.status >= 500 else ReadError.OTHER)
    return ReadFailure(trouble, _said(answer, label), retry_after(answer.headers))


def absence(answer: Answer, rules: StatusRules, label: str) -> NotFound | ReadFailure | None:
    """Return True if an answer says that the thing is not there; None if it is about something else."""
    if answer.status not in rules.gone:
        return None
    if is_html(answer) and not rules.html_404_is_gone:
        detail = f"{_said(answer, label)} with a web page, which a proxy or a wrong address sends as well"
        return ReadFailure(ReadError.UNCONFIRMED, f"{detail}; if this API does, set html_404_is_gone")
    return NotFound()


def refused(answer: Answer | Lost, rules: StatusRules, label: str, quoted: str = "") -> WriteFailure:
    """Return the WriteError of an answer to a write."""
    if isinstance(answer, Lost):
        return WriteFailure(WriteError.RETRYABLE, answer.detail, is_unsure=not answer.is_unsent)
    status = answer.status
    refusal = rules.refusals.get(status) or _REFUSALS.get(status)
    if refusal is None:
        refusal = WriteError.RETRYABLE if status >= 500 else WriteError.TERMINAL
    said = _said(answer, label) + (f": {quoted}" if quoted else "")
    return WriteFailure(refusal, said, retry_after(answer.headers), is_unsure=status >= 500 or status == _TIMED_OUT)


def is_html(answer: Answer) -> bool:
    """Return True if an answer is a page for people, as proxies and login forms send."""
    kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return kind in ("text/html", "application/xhtml+xml") or answer.body.lstrip()[:1] == b"<"


def _said(answer: Answer, label: str) -> str:
    try:
        phrase = f" ({HTTPStatus(answer.status).phrase})"
    except ValueError:
        phrase = ""
    return f"{label} was answered {answer.status}{phrase}"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Read Retry-After: seconds, or a date, which is taken against the server's own clock where it tells it."""
    text = headers.get("Retry-After")
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = _until(text, headers.get("Date"))
    return min(max(seconds, 0.0), _DAY) if math.isfinite(seconds) else None


def _until(text: str, date: str | None) -> float:
    then, now = _moment(text), _moment(date)
    return math.nan if then is None else (then - (now or dt.datetime.now(dt.UTC))).total_seconds()


def _moment(text: str | None) -> dt.datetime | None:
    try:
        found = parsedate_to_datetime(text) if text else None
    except ValueError:
        return None
    return found.replace(tzinfo=dt.UTC) if found is not None and found.tzinfo is None else found
