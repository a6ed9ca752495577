"""Azure's errors: the code, wherever it is in the body, and its ReadError or WriteError.

The codes are those that Azure Service Operator sorts, with one correction. A 429 is throttling unless its code states
that a dependency is not ready yet. Then only this resource has to wait, not the whole connection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from holdfast.provider import Json, ReadError, WriteError

# Not quota: a dependency of the request does not exist yet, or another operation is running on it.
NOT_READY: Final = frozenset(
    {
        "ReferencedResourceNotProvisioned",
        "RetryableError",
        "ParentResourceNotReady",
        "ManagedEnvironmentNotProvisioned",
        "DependentResourceNotProvisioned",
        "AnotherOperationInProgress",
        "OperationNotAllowedOnProvisioningState",
    }
)
# A retry cannot succeed until a person edits the declaration or the account.
_FATAL: Final = frozenset(
    {
        "InvalidResourceType",
        "InvalidRequestContent",
        "InvalidTemplate",
        "InvalidValuesForRequestParameters",
        "K8sVersionNotSupported",
        "LocationRequired",
        "MissingRequiredParameter",
        "PasswordTooLong",
        "PropertyChangeNotAllowed",
        "PublicIpForGatewayIsRequired",
        "BadRequest",
        "BadRequestFormat",
        "InvalidParameter",
        "InvalidParameterValue",
        "InvalidResourceGroupLocation",
        "MethodNotAllowed",
        "RegionIsOfferRestricted",
        "ReservedResourceName",
        "SkuNotAvailable",
        "SubscriptionNotFound",
        "InvalidSubscriptionId",
    }
)
_FATAL_PREFIXES: Final = ("InvalidGateway", "PrivateIPAddress")
# Time or other writers may remove the obstacle.
_PASSING: Final = frozenset(
    {
        "AnotherOperationInProgress",
        "AuthorizationFailed",
        "AllocationFailed",
        "Conflict",
        "FailedIdentityOperation",
        "InvalidResourceReference",
        "InvalidSubscriptionRegistrationState",
        "LinkedAuthorizationFailed",
        "MissingRegistrationForLocation",
        "MissingSubscriptionRegistration",
        "NoRegisteredProviderFound",
        "NotFound",
        "ParentResourceNotFound",
        "PrincipalNotFound",
        "ResourceGroupNotFound",
        "ResourceNotFound",
        "ResourceQuotaExceeded",
        "RequestDisallowedByPolicy",
        "ScopeLocked",
        "SubscriptionNotRegistered",
    }
)
# A 404 about another resource than the requested one. It does not prove that the requested one is missing.
_ELSEWHERE: Final = frozenset(
    {"SubscriptionNotFound", "InvalidSubscriptionId", "InvalidResourceType", "TenantNotFound"}
)
# Advice for the codes that a new user meets.
_ADVICE: Final[Mapping[str, str]] = {
    "SubscriptionNotFound": "is `subscription` of the connection right, and may this identity see it?",
    "InvalidSubscriptionId": "`subscription` of the connection is not the id of one",
    "AuthorizationFailed": "the identity needs a role there: Reader to look, Contributor to change",
    "LinkedAuthorizationFailed": "the identity needs a role at what this refers to",
    "ExpiredAuthenticationToken": "the token has run out; sign in again",
    "InvalidAuthenticationToken": "Azure does not take this token; sign in again",
    "InvalidAuthenticationTokenTenant": "the token is for another tenant than the subscription is in",
    "MissingSubscriptionRegistration": "register it once: az provider register --namespace ...",
    "NoRegisteredProviderFound": "is the API version right, and the provider registered with the subscription?",
    "InvalidResourceType": "is the type spelt as Azure spells it, and the API version one that has it?",
    "InvalidApiVersionParameter": "declare an apiVersion that Azure has for this type",
    "RequestDisallowedByPolicy": "a policy of the subscription forbids it",
    "ScopeLocked": "a lock is on it; remove the lock first",
    "ResourceGroupNotFound": "declare the ResourceGroup too, or name one that is there",
    "ParentResourceNotFound": "declare its parent too, or name one that is there",
}
_TROUBLES: Final = {401: ReadError.UNAUTHORISED, 403: ReadError.UNAUTHORISED, 408: ReadError.TIMEOUT}
_LONGEST: Final = 300  # characters of a message to show


@dataclass(frozen=True, slots=True)
class Complaint:
    """An error from Azure. `codes` holds all codes found, the outermost first."""

    codes: tuple[str, ...] = ()
    message: str = ""

    @property
    def code(self) -> str:
        """The outermost code; empty if there is none."""
        return self.codes[0] if self.codes else ""

    @property
    def advice(self) -> str:
        """Advice after a dash; empty if only the code is known."""
        found = next((_ADVICE[code] for code in self.codes if code in _ADVICE), "")
        return f" - {found}" if found else ""

    @property
    def is_not_ready(self) -> bool:
        """True if a dependency is not ready yet."""
        return any(code in NOT_READY for code in self.codes) or any(code in self.message for code in NOT_READY)


def read(body: bytes | Json) -> Complaint:
    """Return the error in a body, in any of the shapes that Azure's services use."""
    if isinstance(body, bytes):
        try:
            body = orjson.loads(body) if body else None
        except orjson.JSONDecodeError:
            return Complaint()
    if not isinstance(body, Mapping):
        return Complaint()
    inner = body.get("error", body.get("Error", body))
    inner = inner if isinstance(inner, Mapping) else body
    message = next((inner[key] for key in ("message", "Message", "detail", "title") if key in inner), "")
    return Complaint(tuple(_codes(inner, 4)), message[:_LONGEST] if isinstance(message, str) else "")


def _codes(error: Mapping[str, Json], depth: int) -> Iterator[str]:
    code = next((error[key] for key in ("code", "Code", "type") if key in error), None)
    if isinstance(code, str | int) and not isinstance(code, bool) and str(code):
        yield str(code)
    details = error.get("details", error.get("Details"))
    for detail in details if depth and isinstance(details, list) else ():
        if isinstance(detail, Mapping):
            yield from _codes(detail, depth - 1)


def refusal(status: int, complaint: Complaint) -> WriteError:
    """Return the WriteError of an error answer to a write."""
    if status == 412:
        return WriteError.MOVED
    if complaint.is_not_ready:
        return WriteError.RETRYABLE
    if status == 429:
        return WriteError.THROTTLED
    if status >= 500 or status in (408, 409, 423, 425):
        return WriteError.TERMINAL if _is_fatal(complaint) and status < 500 else WriteError.RETRYABLE
    if any(code in _PASSING for code in complaint.codes) and not _is_fatal(complaint):
        return WriteError.RETRYABLE
    if status == 403:
        return WriteError.DENIED
    return WriteError.RETRYABLE if status in (401, 404) else WriteError.TERMINAL


def failure(complaint: Complaint) -> WriteError:
    """Return the WriteError of an accepted operation that failed."""
    if complaint.is_not_ready or not _is_fatal(complaint):
        return WriteError.RETRYABLE
    return WriteError.TERMINAL


def _is_fatal(complaint: Complaint) -> bool:
    return any(code in _FATAL or code.startswith(_FATAL_PREFIXES) for code in complaint.codes)


def trouble(status: int, complaint: Complaint) -> ReadError:
    """Return the ReadError of an error answer to a read."""
    if status == 429:
        return ReadError.UNSETTLED if complaint.is_not_ready else ReadError.THROTTLED
    if status == 409 or complaint.is_not_ready:
        return ReadError.UNSETTLED
    return _TROUBLES.get(status, ReadError.SERVER_ERROR if status >= 500 else ReadError.OTHER)


def is_absence(complaint: Complaint) -> bool:
    """Return True if a 404 means that the requested resource, or its container, does not exist."""
    return not any(code in _ELSEWHERE for code in complaint.codes)
