from __future__ import annotations

import pytest

from holdfast.errors import InputError
from holdfast.providers.azure import ids, references

SUBNET = "/subscriptions/S/resourceGroups/RG/providers/Microsoft.Network/virtualNetworks/V/subnets/A"


@pytest.mark.parametrize(
    "written, means",
    [
        ({"armId": SUBNET}, SUBNET),
        ({"armId": "${Subnet/a.id}"}, "${Subnet/a.id}"),
        ({"group": "network.azure.com", "kind": "Subnet", "name": "a"}, "${Subnet/a.id}"),
        ({"group": "azure.holdfast.dev", "kind": "Subnet", "name": "a", "namespace": "n"}, "${Subnet/n/a.id}"),
        ("${Subnet/a.id}", "${Subnet/a.id}"),
        ({"kind": "Subnet", "name": "a"}, {"kind": "Subnet", "name": "a"}),  # plain data, anywhere but at the owner
        ({"group": "other.example", "kind": "X", "name": "a"}, {"group": "other.example", "kind": "X", "name": "a"}),
    ],
)
def test_a_reference_becomes_what_it_means_at_the_same_place(written, means):
    found, _ = references.rewritten("PrivateEndpoint", {"properties": {"subnet": {"id": written}, "list": [written]}})
    assert found == {"properties": {"subnet": {"id": means}, "list": [means]}}


@pytest.mark.parametrize(
    "owner, means",
    [
        ({"kind": "ResourceGroup", "name": "platform"}, "${ResourceGroup/platform.id}"),
        ({"name": "platform"}, "${ResourceGroup/platform.id}"),
        ({"armId": SUBNET}, SUBNET),
    ],
)
def test_an_owner_may_be_named_shortly(owner, means):
    assert references.rewritten("Disk", {"owner": owner})[0] == {"owner": means}


def test_a_well_known_role_has_the_same_id_everywhere():
    wanted = {"properties": {"roleDefinitionId": {"wellKnownName": "contributor"}}}
    found, _ = references.rewritten("RoleAssignment", wanted)
    ident = found["properties"]["roleDefinitionId"]
    assert ident.endswith(references.ROLES["Contributor"])
    assert ids.parse(ident).type == "Microsoft.Authorization/roleDefinitions"


@pytest.mark.parametrize(
    "written, message",
    [
        ({"armId": "nonsense"}, "whole resource id"),
        ({"wellKnownName": "Contribator"}, "did you mean Contributor"),
        ({"group": "x.azure.com", "kind": "", "name": "a"}, "needs the kind and the name"),
    ],
)
def test_a_reference_that_cannot_be_read_says_where_it_stands(written, message):
    with pytest.raises(InputError, match=message) as caught:
        references.rewritten("Disk", {"properties": {"a": [written]}})
    assert caught.value.location.field == "/properties/a/0"


def test_the_type_is_what_the_kind_stands_for_unless_it_is_said():
    assert references.type_of("StorageAccount", {}) == "Microsoft.Storage/storageAccounts"
    assert references.type_of("Resource", {"type": "Microsoft.Maps/accounts"}) == "Microsoft.Maps/accounts"
    assert references.type_of("Resource", {}) is None
