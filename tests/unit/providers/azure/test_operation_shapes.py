from __future__ import annotations

import pytest

from holdfast.model.write_result import Done, InProgress, WriteError, WriteFailure
from holdfast.providers.azure import operations
from holdfast.providers.azure.operations import Begun, Polled
from holdfast.providers.azure.type_catalog import TERMINAL

HOST = "https://management.azure.com"
ID = "/subscriptions/S/resourceGroups/RG/providers/Contoso.Test/widgets/w"
URL = f"{HOST}{ID}?api-version=2024-01-01"
OPERATION = f"{HOST}/subscriptions/S/providers/Contoso.Test/operations/1"


def begun(status=200, body=None, method="PUT", **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return operations.begun(Begun(method, ID, URL, status, named, body or {}), TERMINAL)


def state(word):
    return {"properties": {"provisioningState": word}}


def test_an_answer_without_anything_is_done():
    assert begun(200) == Done(ID)
    assert begun(201, state("Succeeded")) == Done(ID)


def test_azure_asyncoperation_is_followed_whatever_the_status():
    for status in (200, 201, 202):
        found = begun(status, state("Succeeded"), Azure_AsyncOperation=OPERATION, Location=URL)
        assert isinstance(found, InProgress)
        assert (found.token["ask"], found.token["url"]) == ("operation", OPERATION)


@pytest.mark.parametrize("location", [URL, ID, f"{ID.lower()}?api-version=2024-01-01"])
def test_a_location_that_is_the_resource_itself_is_no_operation(location):
    assert begun(201, state("Succeeded"), Location=location) == Done(ID)
    found = begun(202, Location=location)
    assert isinstance(found, InProgress)
    assert found.token["ask"] == "resource"


def test_another_location_is_an_operation_and_relative_ones_are_completed():
    found = begun(202, Location="/operations/7")
    assert isinstance(found, InProgress)
    assert (found.token["ask"], found.token["url"]) == ("location", f"{HOST}/operations/7")


def test_without_headers_the_state_in_the_body_decides():
    found = begun(201, state("Creating"))
    assert isinstance(found, InProgress)
    assert found.token["ask"] == "resource"
    assert isinstance(begun(200, state("Failed")), WriteFailure)


@pytest.mark.parametrize(
    "given, seconds", [({}, 10.0), ({"Retry_After": "15"}, 15.0), ({"Retry_After": "9999"}, 160.0)]
)
def test_the_pause_is_what_azure_asks_for_within_reason(given, seconds):
    found = begun(202, **given)
    assert isinstance(found, InProgress)
    assert found.poll_after_seconds == seconds


def polled(ask, status=200, body=None, method="PUT", headers=None, **more):
    token = {"ask": ask, "url": OPERATION, "id": ID, "method": method, "resource": URL, **more}
    return operations.polled(token, Polled(status, headers or {}, body or {}), TERMINAL)


@pytest.mark.parametrize(
    "word", ["InProgress", "Running", "Accepted", "Dequeued", "CreatingAgentPool: 0/1", "Updating"]
)
def test_any_word_but_three_means_that_it_goes_on(word):
    assert isinstance(polled("operation", body={"status": word}), InProgress)


@pytest.mark.parametrize("word", ["Succeeded", "succeeded", "SUCCEEDED"])
def test_an_operation_ends_well(word):
    assert polled("operation", body={"status": word}) == Done(ID)


def test_a_200_whose_status_is_failed_is_a_failure_with_its_code():
    found = polled("operation", body={"status": "Failed", "error": {"code": "QuotaExceeded", "message": "no"}})
    assert isinstance(found, WriteFailure)
    assert found.refusal is WriteError.RETRYABLE
    assert "QuotaExceeded" in found.message


def test_a_location_goes_on_while_it_is_202_and_may_move():
    found = polled("location", 202, headers={"Location": "/operations/2", "Retry-After": "3"})
    assert isinstance(found, InProgress)
    assert (found.token["url"], found.poll_after_seconds) == (f"{HOST}/operations/2", 3.0)
    for status in (200, 201, 204):
        assert polled("location", status) == Done(ID)


def test_a_forgotten_operation_is_asked_of_the_resource():
    found = polled("operation", 404)
    assert isinstance(found, InProgress)
    assert (found.token["ask"], found.token["url"]) == ("resource", URL)
    assert polled("resource", 200, state("Succeeded"), forgotten=True) == Done(ID)


def test_a_deletion_is_over_when_the_resource_is_gone():
    assert polled("resource", 404, method="DELETE") == Done(ID)
    assert isinstance(polled("resource", 200, state("Deleting"), method="DELETE"), InProgress)
    stuck = polled("resource", 200, state("Succeeded"), method="DELETE", forgotten=True)
    assert isinstance(stuck, WriteFailure)


def test_a_resource_that_vanished_during_its_creation_is_a_failure():
    assert isinstance(polled("resource", 404), WriteFailure)


def test_a_record_holds_nothing_but_where_to_ask():
    found = begun(201, {"properties": {"password": "hunter2"}}, Azure_AsyncOperation=OPERATION)
    assert isinstance(found, InProgress)
    assert set(found.token) == {"ask", "url", "id", "method", "resource"}
