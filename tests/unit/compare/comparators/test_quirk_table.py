"""The quirks measured on real cloud traffic, row by row: what was sent, what was read back, what it is not."""

from __future__ import annotations

import pytest

from holdfast.compare import comparators
from holdfast.model.json import Json

SUB = "/subscriptions/8c4c9bd0-0b3d-4b5c-9a3a-0b8f3f7c1a11"
VNET = f"{SUB}/resourceGroups/asotest-rg/providers/Microsoft.Network/virtualNetworks/v"
ROLE = "/providers/Microsoft.Authorization/roleDefinitions/b24988ac-6180-42a0-ab88-20f7382dd24c"
APIM = f"{SUB}/resourceGroups/rg/providers/Microsoft.ApiManagement/service/s"
POLICY = '<policies><inbound><base /><set-header name="a" exists-action="skip"/></inbound></policies>'
PRETTY = (
    '<policies>\r\n\t<inbound>\r\n\t\t<base />\r\n\t\t<set-header exists-action="skip" name="a"></set-header>\r\n'
    "\t</inbound>\r\n</policies>"
)
CSHARP = '<policies><inbound><set-variable name="a" value="@(x < 1 && y > 2)" /></inbound></policies>'
CSHARP_PRETTY = CSHARP.replace("><", ">\r\n\t<")
ROLES = {"mapping": {"CustomRole": 1, "BuiltInRole": 0}}
SKUS = {"mapping": {"Standalone": "PerGB2018", "utf8": "utf8mb3"}}
FOREVER = "P10675199DT2H48M5.4775807S"

# row, comparator, options, sent, read back, a near miss of what was sent
QUIRKS: list[tuple[int, str, dict[str, Json], Json, Json, Json]] = [
    (1, "region", {}, "westus2", "West US 2", "West US"),
    (2, "region", {}, "westus", "West US", "westus3"),
    (3, "casefold", {}, "disabled", "Disabled", "enabled"),
    (3, "casefold", {}, "utf8", "UTF8", "utf-8"),
    (3, "casefold", {}, "global", "Global", "globals"),
    (4, "bool_str", {}, "true", "True", "False"),
    (4, "bool_str", {}, True, "True", "1"),
    (5, "guid", {}, "B24988AC-6180-42A0-AB88-20F7382DD24C", ROLE[-36:], "b24988ac-6180-42a0-ab88-20f7382dd24d"),
    (6, "arm_id", {}, VNET, VNET.replace("resourceGroups", "resourcegroups"), f"{VNET}2"),
    (6, "arm_id", {}, VNET, VNET.replace("asotest-rg", "ASOTEST-RG"), VNET.replace("asotest-rg", "asotest-rg2")),
    (7, "arm_id", {}, VNET, VNET.lower(), f"{VNET}/subnets/s"),
    (8, "arm_id", {"scope_relative": True}, ROLE, SUB + ROLE, SUB + ROLE[:-1] + "d"),
    (8, "arm_id", {"scope_relative": True}, "/apis", f"{APIM}/apis", f"{APIM}/myapis"),
    (11, "number", {}, 100, 100.0, 100.5),
    (11, "number", {}, 90, "90", "900"),
    (12, "enum_map", ROLES, "CustomRole", 1, 0),
    (13, "version_prefix", {}, "6", "6.0", "60"),
    (13, "version_prefix", {}, "1.33", "1.33.5", "1.3"),
    (14, "enum_map", SKUS, "Standalone", "PerGB2018", "utf8mb3"),
    (14, "enum_map", SKUS, "utf8", "utf8mb3", "utf8mb4"),
    (15, "url", {}, "https://acc.blob.core.windows.net/c", "https://acc.blob.core.windows.net/c/", "https://acc/c"),
    (15, "path", {}, "/account-api", "account-api", "account/api"),
    (16, "xml", {}, POLICY, PRETTY, POLICY.replace("skip", "override")),
    (16, "xml", {}, CSHARP, CSHARP_PRETTY, CSHARP.replace("x < 1", "x < 2")),
    (
        17,
        "json_str",
        {},
        '{"version": "1", "items": [1, 2]}',
        '{"items":[1,2],"version":"1"}',
        '{"items":[2,1],"version":"1"}',
    ),
    (18, "duration", {}, "PT24H", "P1D", "PT25H"),
    (18, "duration", {}, "P7D", "PT168H", "P7M"),
    (18, "duration", {}, "P1D", "1.00:00:00", "01:00:00"),
    (18, "duration", {}, FOREVER, "10675199.02:48:05.4775807", "10675199.02:48:05.4775808"),
    (19, "timestamp", {}, "2024-05-01T10:00:00Z", "2024-05-01T10:00:00.0000000+00:00", "2024-05-01T10:00:00+01:00"),
    (19, "timestamp", {"precision": "minute"}, "2024-05-01T10:00Z", "2024-05-01T10:00:59.9Z", "2024-05-01T10:01:00Z"),
    (20, "cidr", {}, "1.2.3.4", "1.2.3.4/32", "1.2.3.4/31"),
    (20, "cidr", {}, "2001:DB8:0:0::/32", "2001:db8::/32", "2001:db8::/33"),
    (20, "cidr", {}, "10.0.0.7/24", "10.0.0.0/24", "10.0.1.0/24"),
    (20, "ip", {}, "2001:DB8:0:0:0:0:0:1", "2001:db8::1", "2001:db8::2"),
    (21, "quantity", {}, "1.0Gi", "1Gi", "1G"),
    (21, "quantity", {}, "1Gi", "1024Mi", "1000Mi"),
    (21, "quantity", {}, 0.5, "500m", "500M"),
    (22, "token_set", {}, "Logging, Metrics", "Metrics,Logging", "Logging"),
    (22, "token_set", {"sep": ","}, "functionapp,linux", "linux,functionapp", "functionapp"),
    (22, "token_set", {"sep": " "}, "+get +set", "+set  +get", "+get +set allkeys"),
    (24, "base64", {}, "aGVsbG8=", "aGVs\r\nbG8", "aGVsbG9="),
    (24, "ssh_key", {}, "ssh-rsa AAAAB3Nz me@laptop", "ssh-rsa AAAAB3Nz\n", "ssh-rsa AAAAB3Ny me@laptop"),
    (25, "casefold", {}, "Microsoft.Storage", "microsoft.storage", "Microsoft.Sql"),
]


@pytest.mark.parametrize("row, name, options, sent, read, miss", QUIRKS)
def test_a_known_spelling_of_the_service_is_no_difference_and_a_near_miss_is(
    row: int, name: str, options: dict[str, Json], sent: Json, read: Json, miss: Json
) -> None:
    comparator = comparators.build(name, **options)
    assert comparator.equal(sent, read), row
    assert comparator.equal(read, sent), row
    assert not comparator.equal(sent, miss), row
    assert not comparator.equal(miss, sent), row


@pytest.mark.parametrize("masked", ["", None, "****", "<redacted>", "{{Logger-Credentials--id}}"])
def test_rows_35_and_36_a_secret_equals_every_mask_the_services_were_seen_to_return(masked: Json) -> None:
    comparator = comparators.build("write_only")
    assert comparator.equal("hunter2", masked)
    assert comparator.equal(masked, "hunter2")
