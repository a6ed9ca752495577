from __future__ import annotations

import orjson
import pytest

from holdfast.model.read_result import ReadError
from holdfast.model.write_result import WriteError
from holdfast.providers.azure import errors
from holdfast.providers.azure.errors import Complaint


@pytest.mark.parametrize(
    "body, code",
    [
        ({"error": {"code": "Conflict", "message": "m"}}, "Conflict"),
        ({"code": "Conflict", "message": "m"}, "Conflict"),
        ({"Code": "Conflict", "Message": "m"}, "Conflict"),
        ({"code": 404002, "message": "IotHubNotFound"}, "404002"),
        ({"type": "urn:problem", "title": "t", "detail": "d"}, "urn:problem"),
        ({"Message": "The requested resource does not support http method 'GET'."}, ""),
        ("<html>", ""),
        (None, ""),
        ([], ""),
    ],
)
def test_the_code_is_found_in_every_shape(body, code):
    raw = body.encode() if isinstance(body, str) else orjson.dumps(body)
    assert errors.read(raw).code == code


def test_inner_codes_are_found_too():
    body = {"error": {"code": "RetryableError", "details": [{"code": "ReferencedResourceNotProvisioned"}]}}
    found = errors.read(body)
    assert found.codes == ("RetryableError", "ReferencedResourceNotProvisioned")
    assert found.is_not_ready


@pytest.mark.parametrize(
    "status, code, expected",
    [
        (429, "TooManyRequests", WriteError.THROTTLED),
        (429, "SubscriptionRequestsThrottled", WriteError.THROTTLED),
        (429, "", WriteError.THROTTLED),
        (429, "RetryableError", WriteError.RETRYABLE),  # a 429 that is no throttling
        (429, "ReferencedResourceNotProvisioned", WriteError.RETRYABLE),
        (412, "PreconditionFailed", WriteError.MOVED),
        (409, "AnotherOperationInProgress", WriteError.RETRYABLE),
        (409, "PropertyChangeNotAllowed", WriteError.TERMINAL),
        (400, "BadRequest", WriteError.TERMINAL),
        (400, "InvalidResourceReference", WriteError.RETRYABLE),
        (400, "NeverHeardOf", WriteError.TERMINAL),
        (404, "ParentResourceNotFound", WriteError.RETRYABLE),
        (403, "AuthorizationFailed", WriteError.RETRYABLE),
        (403, "RequestDisallowedByPolicy", WriteError.RETRYABLE),
        (500, "", WriteError.RETRYABLE),
        (503, "BadRequest", WriteError.RETRYABLE),
    ],
)
def test_each_error_is_one_kind_of_no(status, code, expected):
    assert errors.refusal(status, Complaint((code,) if code else ())) is expected


@pytest.mark.parametrize(
    "status, code, expected",
    [
        (429, "TooManyRequests", ReadError.THROTTLED),
        (429, "RetryableError", ReadError.UNSETTLED),
        (409, "Conflict", ReadError.UNSETTLED),
        (401, "", ReadError.UNAUTHORISED),
        (403, "AuthorizationFailed", ReadError.UNAUTHORISED),
        (500, "", ReadError.SERVER_ERROR),
        (400, "InvalidApiVersionParameter", ReadError.OTHER),
    ],
)
def test_each_error_of_a_read_is_one_kind_of_not_knowing(status, code, expected):
    assert errors.trouble(status, Complaint((code,) if code else ())) is expected


def test_a_404_about_the_subscription_says_nothing_about_the_thing():
    assert errors.is_absence(Complaint(("ResourceGroupNotFound",)))
    assert errors.is_absence(Complaint())
    assert not errors.is_absence(Complaint(("SubscriptionNotFound",)))
    assert not errors.is_absence(Complaint(("InvalidResourceType",)))


def test_a_failed_operation_is_final_only_if_an_edit_is_needed():
    assert errors.failure(Complaint(("QuotaExceeded",))) is WriteError.RETRYABLE
    assert errors.failure(Complaint(("BadRequest", "ReferencedResourceNotProvisioned"))) is WriteError.RETRYABLE
    assert errors.failure(Complaint(("BadRequest",))) is WriteError.TERMINAL


def test_codes_that_new_users_meet_come_with_what_to_do():
    body = {"error": {"code": "BadRequest", "details": [{"code": "SubscriptionNotFound"}]}}
    assert errors.read(body).advice.startswith(" - is `subscription`")
    assert errors.read({"error": {"code": "Unheard"}}).advice == ""
