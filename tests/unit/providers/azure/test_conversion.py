from __future__ import annotations

import pytest

from holdfast.providers.azure import conversion
from holdfast.providers.azure.type_catalog import TERMINAL

GROUP = "/subscriptions/S/resourceGroups/RG"
BODY = {
    "id": f"{GROUP}/providers/Microsoft.Storage/storageAccounts/logs",
    "name": "logs",
    "type": "Microsoft.Storage/storageAccounts",
    "etag": 'W/"1"',
    "location": "westus2",
    "systemData": {"createdAt": "2024-01-01T00:00:00Z", "lastModifiedBy": "alice"},
    "properties": {"provisioningState": "Succeeded", "primaryEndpoints": {"blob": "x"}},
}


def test_the_envelope_goes_and_all_else_stays():
    assert set(conversion.document(BODY)) == {"location", "systemData", "properties"}


def test_where_it_stands_is_shown_as_far_as_it_is_declared():
    desired = {"owner": GROUP.upper(), "azureName": "LOGS", "location": "westus2"}
    found = conversion.document(BODY, desired)
    assert (found["owner"], found["azureName"]) == (GROUP, "logs")
    assert "type" not in found


def test_a_name_of_several_parts_is_shown_with_as_many():
    ident = f"{GROUP}/providers/Microsoft.Storage/storageAccounts/logs/blobServices/default/containers/c"
    found = conversion.placement(ident, {"owner": "x", "azureName": "default/c"})
    assert found["azureName"] == "default/c"
    assert found["owner"] == BODY["id"]


@pytest.mark.parametrize(
    "headers, body, expected",
    [
        ({"ETag": '"h"'}, {"etag": "b"}, '"h"'),
        ({}, {"etag": "b"}, "b"),
        ({}, {"eTag": "B"}, "B"),
        ({}, {}, None),
        ({}, {"etag": None}, None),
    ],
)
def test_an_etag_is_in_the_header_or_in_the_body(headers, body, expected):
    assert conversion.etag(headers, body) == expected


def test_identity_is_what_a_successor_of_the_same_id_has_not():
    assert conversion.identity(BODY) == "systemData.createdAt=2024-01-01T00:00:00Z"
    assert conversion.identity({"properties": {"resourceGuid": "g"}}) == "properties.resourceGuid=g"
    assert conversion.identity({"properties": None}) is None


@pytest.mark.parametrize(
    "state, settled",
    [("Succeeded", True), ("succeeded", True), ("Failed", True), ("Canceled", True), ("Updating", False),
     ("RegisteringDns", False), (None, True), ("", True)],
)  # fmt: skip
def test_a_thing_is_at_rest_by_the_word_of_its_state(state, settled):
    assert conversion.is_settled({"properties": {"provisioningState": state}}, TERMINAL) is settled


@pytest.mark.parametrize("body", [{}, {"properties": None}, {"properties": []}, {"properties": {}}])
def test_a_thing_without_a_state_is_always_at_rest(body):
    assert conversion.is_settled(body, TERMINAL)


@pytest.mark.parametrize("word, expected", [
    ("Ready", True), ("Created", True), ("Running", True), ("Online", True),
    ("Updating", False), ("Accepted", False), ("RegisteringDns", False), ("InProgress", False),
])  # fmt: skip
def test_a_word_that_sounds_like_a_last_one_is_told_apart_from_one_that_goes_on(word, expected):
    assert conversion.seems_at_rest(word) is expected
