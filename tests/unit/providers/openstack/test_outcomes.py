"""What an answer means, in every shape the services have for errors."""

from __future__ import annotations

import json

import pytest

from holdfast.model.read_result import NotFound, ReadError, ReadFailure
from holdfast.model.write_result import WriteError
from holdfast.providers.http.client import Answer, Lost
from holdfast.providers.openstack import status_mapping


def answer(status: int, body: object = "", kind: str = "application/json", **headers: str) -> Answer:
    text = body if isinstance(body, str) else json.dumps(body)
    return Answer(status, {"Content-Type": kind, **headers}, text.encode(), "http://cloud/x")


def neutron(kind: str, message: str = "no") -> dict[str, object]:
    return {"NeutronError": {"type": kind, "message": message, "detail": ""}}


WRITES = [
    (409, neutron("OverQuota", "Quota exceeded for resources: ['network']."), WriteError.RETRYABLE),
    (403, {"forbidden": {"code": 403, "message": "Quota exceeded for cores"}}, WriteError.RETRYABLE),
    (413, {"overLimit": {"code": 413, "message": "VolumeLimitExceeded: Maximum number"}}, WriteError.RETRYABLE),
    (403, neutron("PolicyNotAuthorized", "disallowed by policy"), WriteError.DENIED),
    (400, neutron("HTTPBadRequest", "Invalid input for mtu."), WriteError.TERMINAL),
    (400, neutron("HTTPBadRequest", "Attribute 'routes' not allowed in POST"), WriteError.TERMINAL),
    (400, neutron("HTTPBadRequest", "Cannot update read-only attribute cidr"), WriteError.TERMINAL),
    (400, {"badRequest": {"code": 400, "message": "Invalid input for field/attribute x."}}, WriteError.TERMINAL),
    (
        400,
        {"badRequest": {"code": 400, "message": "Port p requires a FixedIP in order to be used."}},
        WriteError.RETRYABLE,
    ),
    (404, neutron("SubnetNotFound", "Subnet s could not be found."), WriteError.RETRYABLE),
    (409, neutron("NetworkInUse", "ports still in use"), WriteError.RETRYABLE),
    (409, neutron("GatewayConflictWithAllocationPools"), WriteError.TERMINAL),
    (412, neutron("RevisionNumberConstraintFailed"), WriteError.MOVED),
    (429, "", WriteError.THROTTLED),
    (401, {"error": {"code": 401, "title": "Unauthorized", "message": "sign in"}}, WriteError.RETRYABLE),
    (500, "", WriteError.RETRYABLE),
    (501, "", WriteError.TERMINAL),
    (503, "<html>down</html>", WriteError.RETRYABLE),
]


@pytest.mark.parametrize("status, body, refusal", WRITES)
def test_a_write_that_was_refused(status, body, refusal):
    found = status_mapping.refused(answer(status, body), "POST /x")
    assert (found.refusal, found.status) == (refusal, status)
    assert found.message.startswith(f"POST /x was answered {status}")


def test_the_wait_that_was_asked_for_is_passed_on():
    assert status_mapping.refused(answer(429, **{"Retry-After": "7"}), "PUT /x").retry_after_seconds == 7


@pytest.mark.parametrize(
    "trouble, refusal", [(ReadError.THROTTLED, WriteError.THROTTLED), (ReadError.TIMEOUT, WriteError.RETRYABLE)]
)
def test_no_answer_is_never_final(trouble, refusal):
    assert status_mapping.refused(Lost(trouble, "lost"), "PUT /x").refusal is refusal


SAID = [
    (neutron("T", "m"), ("T", "m")),
    ({"error": {"code": 404, "title": "Not Found", "message": "m"}}, ("Not Found", "m")),
    ({"badRequest": {"code": 400, "message": "m"}}, ("badRequest", "m")),
    ("<html><title>403 Forbidden</title>\n<h1>No</h1> go</html>", ("", "403 Forbidden No go")),
    ({"message": "m"}, ("", "m")),
    ([], ("", "")),
]


@pytest.mark.parametrize("body, told", SAID)
def test_what_was_said(body, told):
    assert status_mapping.said(answer(400, body)) == told


def test_a_secret_that_an_error_repeats_is_masked():
    found = status_mapping.refused(
        answer(400, neutron("X", "the password hunter2-hunter2 is weak")), "POST /users", ["hunter2-hunter2"]
    )
    assert "hunter2" not in found.message


ABSENCES = [
    (answer(404, neutron("NetworkNotFound", "Network x could not be found.")), NotFound),
    (answer(404, "<html>No image found with ID abc</html>", "text/html"), NotFound),
    (answer(404, "<html>nothing here</html>", "text/html"), ReadFailure),
    (answer(404, ""), ReadFailure),
    (answer(404, {}), ReadFailure),
    (answer(500, ""), type(None)),
    (answer(410, ""), type(None)),
]


@pytest.mark.parametrize("given, kind", ABSENCES)
def test_gone_is_believed_only_from_the_service_itself(given, kind):
    assert isinstance(status_mapping.absence(given, "GET /x", "abc"), kind)
