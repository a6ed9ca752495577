from __future__ import annotations

from holdfast.providers.azure import request_body
from holdfast.providers.azure.type_catalog import Clears, Habits, Types
from holdfast.providers.protocol import Change

DESIRED = {
    "owner": "/subscriptions/S/resourceGroups/RG",
    "azureName": "n",
    "type": "Contoso.Test/widgets",
    "apiVersion": "2024-01-01",
    "location": "westus2",
    "properties": {"a": 1},
}


def test_what_says_where_it_stands_is_not_in_the_body():
    assert request_body.declared(DESIRED) == {"location": "westus2", "properties": {"a": 1}}


def test_what_is_to_be_left_alone_is_sent_as_it_is():
    change = Change(DESIRED, {}, ("/location",), left=("/properties/a", "/tags/policy", "/properties/gone"))
    live = {"properties": {"a": 7}, "tags": {"policy": "42"}}
    assert request_body.needs_live(change, Habits())
    assert request_body.for_update(change, live, Habits()) == {
        "location": "westus2",
        "properties": {"a": 7},
        "tags": {"policy": "42"},
    }


def test_what_drifted_away_and_is_left_alone_is_left_out():
    change = Change(DESIRED, {}, ("/location",), left=("/properties/a",))
    assert request_body.for_update(change, {"properties": {}}, Habits())["properties"] == {}


def test_a_collection_that_is_not_declared_any_more_is_emptied_as_the_type_needs_it():
    observed = {"properties": {"rules": [1], "map": {"x": 1}, "scalar": 3}}
    change = Change(DESIRED, observed, ("/properties/rules", "/properties/map", "/properties/scalar"))
    assert request_body.for_update(change, None, Habits())["properties"] == {"a": 1}
    emptied = request_body.for_update(change, None, Habits(clears=Clears.EMPTY))["properties"]
    assert emptied == {"a": 1, "rules": [], "map": {}}
    nulled = request_body.for_update(change, None, Habits(clears=Clears.NULL))["properties"]
    assert nulled == {"a": 1, "rules": None, "map": None}


def test_children_of_others_are_carried_and_declared_ones_are_ours():
    habits = Types()["Microsoft.Network/virtualNetworks"]
    live = {
        "properties": {
            "subnets": [
                {"name": "Mine", "etag": "x", "properties": {"addressPrefix": "10.9.0.0/24"}},
                {"name": "theirs", "properties": {"provisioningState": "Succeeded", "addressPrefix": "10.0.1.0/24"}},
            ]
        }
    }
    mine = {"name": "mine", "properties": {"addressPrefix": "10.0.0.0/24"}}
    change = Change({"properties": {"subnets": [mine]}}, {}, ("/properties/subnets",))
    sent = request_body.for_update(change, live, habits)["properties"]["subnets"]
    assert sent == [mine, {"name": "theirs", "properties": {"addressPrefix": "10.0.1.0/24"}}]
    undeclared = request_body.for_update(Change({"location": "w"}, {}, ()), live, habits)
    assert [subnet["name"] for subnet in undeclared["properties"]["subnets"]] == ["Mine", "theirs"]


def test_the_declaration_itself_is_not_changed():
    desired = {"properties": {"a": {"b": 1}}}
    request_body.for_update(
        Change(desired, {}, (), left=("/properties/a/b",)), {"properties": {"a": {"b": 2}}}, Habits()
    )
    assert desired == {"properties": {"a": {"b": 1}}}
