"""What keeps a declaration from being placed is told from its words alone, with the field."""

from __future__ import annotations

import pytest

from holdfast.errors import InputError
from holdfast.providers.azure import references

GROUP = "/subscriptions/S/resourceGroups/RG"


@pytest.mark.parametrize(
    "kind, desired, field, said",
    [
        ("StorageAcount", {}, None, "did you mean StorageAccount?"),
        ("Zebra", {}, None, "write kind: Resource"),
        ("Resource", {"location": "x"}, None, "needs its type"),
        ("Resource", {"type": "accounts", "apiVersion": "2023-01-01"}, "/type", "is not a resource type"),
        ("Resource", {"type": "Maps/accounts", "apiVersion": "2023-01-01"}, "/type", "is not a resource type"),
        ("Resource", {"type": "Microsoft.Maps/accounts"}, None, "no API version is known for Microsoft.Maps/accounts"),
        ("Disk", {"apiVersion": 2023}, "/apiVersion", "in quotes"),
        ("Disk", {"apiVersion": "latest"}, "/apiVersion", "in quotes"),
        ("Subnet", {}, None, "owner: {kind: VirtualNetwork, name: ...}"),
        ("Subnet", {"owner": {"name": "rg"}}, "/owner", "belongs to a Microsoft.Network/virtualNetworks"),
        ("Subnet", {"owner": {"kind": "Disk", "name": "d"}}, "/owner", "and Disk is a Microsoft.Compute/disks"),
    ],
)
def test_what_cannot_be_placed_is_refused(kind, desired, field, said):
    with pytest.raises(InputError) as caught:
        references.rewritten(kind, desired)
    assert caught.value.location.field == field
    assert said in caught.value.message


@pytest.mark.parametrize(
    "kind, desired",
    [
        ("Disk", {}),
        ("Disk", {"apiVersion": "2023-10-02"}),
        ("DiagnosticSetting", {"owner": {"kind": "Disk", "name": "d"}}),  # an extension stands on anything
        ("Resource", {"type": "Microsoft.Compute/disks"}),  # a type that has a friendly name has a version too
        ("Resource", {"type": "Contoso.Test/widgets", "apiVersion": "2024-01-01-preview"}),
        ("Subnet", {"owner": {"kind": "VirtualNetwork", "name": "v"}}),
        ("Subnet", {"owner": {"armId": f"{GROUP}/providers/Microsoft.Network/virtualNetworks/V"}}),
        ("Subnet", {"owner": {"kind": "Resource", "name": "of-any-type"}}),  # only its own declaration says which
        ("Subnet", {"owner": {"armId": GROUP}, "azureName": "v/apps"}),  # all the names between the group and it
        ("BlobContainer", {"owner": {"kind": "StorageAccount", "name": "a"}, "azureName": "default/logs"}),
    ],
)
def test_what_can_be_placed_is_not(kind, desired):
    references.rewritten(kind, desired)
