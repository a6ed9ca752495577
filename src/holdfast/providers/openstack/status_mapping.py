"""What an answer means. The services agree on status codes about as much as on error bodies: by class, then.

Never latched: quota (Neutron 409, Nova 403, Cinder 413), what may pass while a dependency settles (400, 404 of a
reference, most of 409), transport, 412. Hopeless at once: what the service will refuse for as long as the declaration
says it: unknown or malformed attributes, forbidden ones, contradictions within the declaration.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from holdfast.model.json import Json
from holdfast.model.read_result import NotFound, ReadError, ReadFailure
from holdfast.model.write_result import WriteError, WriteFailure
from holdfast.providers.http import error_excerpt
from holdfast.providers.http import status_mapping as http
from holdfast.providers.http.client import Answer, Lost
from holdfast.providers.http.description import StatusRules

_RULES: Final = StatusRules()
_LONGEST: Final = 300  # characters of an error message that are worth showing
_MARKUP: Final = re.compile(r"<[^>]*>|\s+")

_QUOTA: Final = re.compile(r"over ?quota|quota|overlimit|limit exceeded", re.IGNORECASE)
_BY_TYPE: Final[Mapping[str, WriteError]] = {  # Neutron's names of its exceptions
    "RevisionNumberConstraintFailed": WriteError.MOVED,
    # -- contradictions within a declaration, which no waiting resolves
    "GatewayConflictWithAllocationPools": WriteError.TERMINAL,
    "OverlappingAllocationPools": WriteError.TERMINAL,
    "OutOfBoundsAllocationPool": WriteError.TERMINAL,
    "InvalidAllocationPool": WriteError.TERMINAL,
    "PortSecurityAndIPRequiredForSecurityGroups": WriteError.TERMINAL,
    "PortSecurityPortHasSecurityGroup": WriteError.TERMINAL,
    "AddressPairAndPortSecurityRequired": WriteError.TERMINAL,
    "AddressScopeUpdateError": WriteError.TERMINAL,
    "SecurityGroupRuleInvalidEtherType": WriteError.TERMINAL,
    "SecurityGroupInvalidPortRange": WriteError.TERMINAL,
    "SecurityGroupInvalidPortValue": WriteError.TERMINAL,
    "SecurityGroupInvalidProtocolForPort": WriteError.TERMINAL,
    "SecurityGroupRuleParameterConflict": WriteError.TERMINAL,
    "SecurityGroupInvalidIcmpValue": WriteError.TERMINAL,
    "PolicyNotAuthorized": WriteError.DENIED,
}
_HOPELESS: Final = re.compile(  # of 400: what is said of a request that can never be right
    r"invalid input|unrecognized attribute|not allowed in p|read-only attribute|is not valid|additional properties|"
    r"failed validating|failed to parse request|invalid .* format|malformed|does not match|is too long|"
    r"not one of|is not of type|required property|provided object does not match schema",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Denied(WriteFailure):
    """A no, with the status it came with; 0 if there was no answer."""

    status: int = 0


def is_gone(refused: WriteFailure) -> bool:
    """Tell whether what was to be changed, or something it refers to, is not there."""
    return isinstance(refused, Denied) and refused.status == 404


def unreadable(answer: Answer, label: str) -> ReadFailure:
    """Say why an answer to a read tells nothing about the thing."""
    return http.unreadable(answer, label)


def absence(answer: Answer, label: str, ident: str) -> NotFound | ReadFailure | None:
    """Tell whether an answer says that the thing is not there; a page that does not even name it proves nothing."""
    if answer.status != 404:
        return None
    # Glance answers with a web page, as does any proxy; but only Glance knows which image was asked for.
    if http.is_html(answer) and not (ident and ident.encode() in answer.body):
        detail = f"{label} was answered 404 with a web page that does not name the thing: a proxy, or a wrong address"
        return ReadFailure(ReadError.UNCONFIRMED, detail)
    if not http.is_html(answer) and not said(answer)[1]:
        return ReadFailure(ReadError.UNCONFIRMED, f"{label} was answered 404 without a word of the service's own")
    return NotFound()


def said(answer: Answer) -> tuple[str, str]:
    """Return the type and the text of an error, from whichever of the services' shapes it has."""
    try:
        body = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        text = _MARKUP.sub(" ", answer.body[:4000].decode("utf-8", "replace"))
        return "", " ".join(text.split())
    if not isinstance(body, dict) or not body:
        return "", ""
    inner: Json = next(iter(body.values()))  # NeutronError, error, badRequest, conflictingRequest, forbidden, ...
    if isinstance(inner, dict):
        kind = inner.get("type") or inner.get("title") or next(iter(body))
        return str(kind), str(inner.get("message") or inner.get("detail") or "")
    return "", str(body.get("message") or body.get("description") or inner)


def refused(answer: Answer | Lost, label: str, secrets: Iterable[str] = ()) -> Denied:
    """Say which kind of no an answer to a write is."""
    if isinstance(answer, Lost):
        throttled = answer.trouble is ReadError.THROTTLED
        return Denied(WriteError.THROTTLED if throttled else WriteError.RETRYABLE, answer.detail)
    kind, text = said(answer)
    plain = http.refused(answer, _RULES, label)
    message = plain.message + (f": {error_excerpt.masked(text, secrets)[:_LONGEST]}" if text else "")
    return Denied(_refusal(answer.status, kind, text), message, plain.retry_after_seconds, status=answer.status)


def _refusal(status: int, kind: str, text: str) -> WriteError:
    if status == 429:
        return WriteError.THROTTLED
    if status in (403, 409, 413) and (_QUOTA.search(kind) or _QUOTA.search(text)):
        return WriteError.RETRYABLE
    if kind in _BY_TYPE:
        return _BY_TYPE[kind]
    if status in (403, 407):
        return WriteError.DENIED
    if status == 412:
        return WriteError.MOVED
    if status == 400:
        return WriteError.TERMINAL if _HOPELESS.search(text) else WriteError.RETRYABLE
    return WriteError.TERMINAL if status in (405, 501) else WriteError.RETRYABLE
