from __future__ import annotations

import pytest

from holdfast.errors import InputError
from holdfast.providers.azure import resource_locator, settings
from holdfast.providers.protocol import Connection, Target

GROUP = "/subscriptions/S/resourceGroups/RG"


def account(**given):
    secrets = given.pop("secrets", {"token": "t0ken"})
    base = {"subscription": "S", "resource_group": "RG", "auth": {"type": "token"}}
    return settings.account(Connection("prod", "azure", {**base, **given}, secrets))


def place(kind, name="n", ident=None, **desired):
    return resource_locator.place(Target(kind, name, ident, desired), account())


def test_the_usual_cloud_is_the_public_one():
    found = account()
    assert found.base_url == "https://management.azure.com"
    assert account(cloud="china").authority == "https://login.chinacloudapi.cn"


@pytest.mark.parametrize(
    "given, message",
    [
        ({"colour": "red"}, "unknown field"),
        ({"cloud": "moon"}, "one of public"),
        ({"base_url": "http://example.com"}, "an https address"),
        ({"auth": {"type": "password"}}, "one of default"),
        ({"auth": {"type": "client_secret"}, "secrets": {}}, "needs it"),
        ({"auth": {"type": "client_secret"}, "secrets": {"client_secret": "x"}}, "tenant_id and client_id"),
        ({"auth": {"type": "default", "password": "x"}}, "unknown field"),
        ({"habits": [{"types": "*", "moon": 1}]}, "unknown word"),
        ({"tls": {"ca_file": "nowhere.pem"}}, "a file of certificates"),
        ({"timeout": 0}, "expected a number > 0"),
        ({"subscription": 7}, "expected a string"),
        ({"operation_hosts": "azure.com"}, "expected a list"),
    ],
)
def test_a_connection_that_cannot_be_says_which_field(given, message):
    with pytest.raises(InputError, match=message) as caught:
        account(**given)
    assert str(caught.value.location.field).startswith("/connections/prod/")


def test_the_secret_is_not_in_the_repr():
    assert "t0ken" not in repr(account())


def test_two_connections_of_one_principal_share_a_quota():
    one, other = account(), account(resource_group="other")
    assert one.principal == other.principal
    assert one.principal != account(subscription="T").principal


def test_a_declaration_without_an_owner_lies_where_the_connection_says():
    assert place("StorageAccount").id == f"{GROUP}/providers/Microsoft.Storage/storageAccounts/n"
    assert place("ResourceGroup").id == "/subscriptions/S/resourceGroups/n"
    assert place("RoleAssignment").id == "/subscriptions/S/providers/Microsoft.Authorization/roleAssignments/n"


def test_an_owner_and_another_name_count():
    network = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/v"
    assert place("Subnet", owner=network, azureName="A").id == f"{network}/subnets/A"


def test_the_known_id_is_the_id_whatever_the_declaration_says_now():
    ident = f"{GROUP}/providers/Microsoft.Storage/storageAccounts/old"
    assert place("StorageAccount", ident=ident, azureName="new").id == ident
    assert place("Resource", ident=ident).type == "Microsoft.Storage/storageAccounts"


def test_the_version_is_the_declared_one_else_the_usual_one():
    assert place("StorageAccount").api_version == "2023-01-01"
    assert place("StorageAccount", apiVersion="2024-01-01").api_version == "2024-01-01"
    assert place("Resource", type="Microsoft.Storage/storageAccounts").api_version == "2023-01-01"
    target = Target("StorageAccount", "n", None, {}, version="2019-01-01")
    assert resource_locator.place(target, account()).api_version == "2019-01-01"


@pytest.mark.parametrize(
    "kind, desired, message",
    [
        ("Resource", {}, "needs its type"),
        ("Resource", {"type": "Contoso.Test/widgets"}, "declare one: apiVersion"),
        ("Subnet", {}, "needs its parent"),
        ("StorageAccount", {"owner": "nonsense"}, "not a resource id"),
        ("StorageAccount", {"owner": {"a": 1}}, "must be texts"),
        ("StorageAccount", {"apiVersion": 2023}, "in quotes"),
    ],
)
def test_a_declaration_that_has_no_place_says_why(kind, desired, message):
    with pytest.raises(InputError, match=message):
        place(kind, **desired)
