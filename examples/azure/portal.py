"""Change resources outside Holdfast, as in the portal: python portal.py lowers TLS, opens a firewall, and more."""

from __future__ import annotations

import json
import ssl
import urllib.request
from pathlib import Path

URL = "https://localhost:8943/_control/edit"
GROUP = "/subscriptions/22222222-2222-4222-8222-222222222222/resourceGroups/platform"


def edit(ident: str, changes: dict[str, object]) -> None:
    """Change fields of a resource as another user."""
    body = json.dumps({"id": ident, "changes": changes, "by": "alice@example.com"}).encode()
    trusted = ssl.create_default_context(cafile=Path(__file__).with_name(".azure") / "ca.pem")
    request = urllib.request.Request(URL, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, context=trusted) as answer:  # noqa: S310 - of this machine
        assert answer.status == 200


# Two declared fields, an undeclared field with a default of the service, and a new field.
edit(
    f"{GROUP}/providers/Microsoft.Storage/storageAccounts/contosologs",
    {"/properties/minimumTlsVersion": "TLS1_0", "/properties/networkAcls/defaultAction": "Allow"},
)
edit(f"{GROUP}/providers/Microsoft.Network/virtualNetworks/core", {"/properties/enableDdosProtection": True})
edit(f"{GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/reader", {"/tags/owner": "alice"})
print("alice@example.com changed three resources in the portal")
