from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.providers.azure import ids

GROUP = "/subscriptions/S/resourceGroups/RG"
NETWORK = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/V"
SUBNET = f"{NETWORK}/subnets/A"
LOCK = f"{NETWORK}/providers/Microsoft.Authorization/locks/L"


@pytest.mark.parametrize(
    "text, type_, name, parent",
    [
        (SUBNET, "Microsoft.Network/virtualNetworks/subnets", "A", NETWORK),
        (NETWORK, "Microsoft.Network/virtualNetworks", "V", GROUP),
        (GROUP, ids.RESOURCE_GROUPS, "RG", "/subscriptions/S"),
        ("/subscriptions/S", ids.SUBSCRIPTIONS, "S", ""),
        (LOCK, "Microsoft.Authorization/locks", "L", NETWORK),
        ("/providers/Microsoft.Management/managementGroups/M", "Microsoft.Management/managementGroups", "M", ""),
        (
            "/providers/Microsoft.Management/managementGroups/M/providers/Microsoft.Authorization/roleAssignments/R",
            "Microsoft.Authorization/roleAssignments",
            "R",
            "/providers/Microsoft.Management/managementGroups/M",
        ),
    ],
)
def test_an_id_is_taken_apart_and_put_together_again(text, type_, name, parent):
    found = ids.parse(text)
    assert (found.type, found.name, found.parent, str(found)) == (type_, name, parent, text)
    assert ids.parse(text + "/") == found


@pytest.mark.parametrize(
    "text", ["", "/", "x", "/subscriptions", f"{GROUP}/providers/NS", f"{NETWORK}/subnets", "a/b/c"]
)
def test_what_is_not_an_id_is_refused(text):
    assert not ids.is_id(text)
    with pytest.raises(InputError, match="not a resource id"):
        ids.parse(text)


@pytest.mark.parametrize(
    "owner, type_, name, expected",
    [
        (GROUP, "Microsoft.Network/virtualNetworks", "V", NETWORK),
        (NETWORK, "Microsoft.Network/virtualNetworks/subnets", "A", SUBNET),
        (NETWORK.upper(), "Microsoft.Network/virtualNetworks/subnets", "A", f"{NETWORK.upper()}/subnets/A"),
        (NETWORK, "Microsoft.Authorization/locks", "L", LOCK),
        ("/subscriptions/S", ids.RESOURCE_GROUPS, "RG", GROUP),
        (GROUP, "Microsoft.Network/virtualNetworks/subnets", "V/A", SUBNET),
        ("", "Microsoft.Management/managementGroups", "M", "/providers/Microsoft.Management/managementGroups/M"),
    ],
)
def test_a_thing_stands_below_its_owner(owner, type_, name, expected):
    assert ids.within(owner, type_, name) == expected


def test_a_child_without_its_parent_says_what_is_missing():
    with pytest.raises(InputError, match="name its parent as owner, or each of virtualNetworks/subnets"):
        ids.within(GROUP, "Microsoft.Network/virtualNetworks/subnets", "A")


@given(st.from_regex(r"[A-Za-z][A-Za-z0-9._-]{0,20}", fullmatch=True))
def test_spellings_of_an_id_are_the_same(name):
    one = f"{GROUP}/providers/Microsoft.Web/sites/{name}"
    assert ids.same(one, one.upper())
    assert ids.same(one, one.replace("resourceGroups", "resourcegroups") + "/")
    assert not ids.same(one, one + "x")


def test_an_id_is_written_into_a_url_without_encoding_twice():
    assert ids.url_path("/subscriptions/S/resourceGroups/a b") == "/subscriptions/S/resourceGroups/a%20b"
    assert ids.url_path("/subscriptions/S/resourceGroups/a%20b") == "/subscriptions/S/resourceGroups/a%20b"
    assert ids.url_path("/x?y#z") == "/x%3Fy%23z"


@pytest.mark.parametrize("owner", ["", "/subscriptions/S/resourceGroups/RG"])
def test_a_resource_group_stands_in_a_subscription_and_nowhere_else(owner):
    with pytest.raises(InputError, match="stands in a subscription"):
        ids.within(owner, ids.RESOURCE_GROUPS, "other")
