"""Azure from YAML: the real command over TLS against the emulator, with what people do in the portal in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.testing.arm import ArmServer, World, running
from tests.acceptance.test_commands import run

pytestmark = pytest.mark.server

MANIFESTS = """\
apiVersion: azure.holdfast.dev/v1
kind: ResourceGroup
metadata: {name: platform}
spec:
  resource: {location: westus2}
---
apiVersion: azure.holdfast.dev/v1
kind: VirtualNetwork
metadata: {name: core}
spec:
  managedOptions: {resyncPeriod: 1h}
  resource:
    owner: {name: platform}
    location: westus2
    tags: {team: a}
    properties: {addressSpace: {addressPrefixes: [10.0.0.0/16]}}
---
apiVersion: azure.holdfast.dev/v1
kind: Subnet
metadata: {name: apps}
spec:
  resource:
    owner: {group: network.azure.com, kind: VirtualNetwork, name: core}
    properties: {addressPrefix: 10.0.1.0/24}
---
apiVersion: azure.holdfast.dev/v1
kind: Resource
metadata: {name: widget}
spec:
  resource:
    type: Contoso.Test/widgets
    apiVersion: "2024-01-01"
    owner: {kind: ResourceGroup, name: platform}
    properties: {subnet: {id: {group: network.azure.com, kind: Subnet, name: apps}}, size: 3}
"""


@pytest.fixture(scope="module")
def server():
    with running(ArmServer(World(pace=0.02))) as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path, server: ArmServer) -> Path:
    world = server.world
    (tmp_path / "holdfast.yaml").write_text(
        f"connections:\n  prod:\n    provider: azure\n    subscription: {world.subscription}\n"
        f"    base_url: {server.url}\n    authority: {server.url}\n    tls: {{ca_file: {server.ca_bundle}}}\n"
        f"    auth: {{type: client_secret, tenant_id: {world.tenant}, client_id: {world.client_id}}}\n"
        "    secrets: {client_secret: {env: THE_SECRET}}\n"
    )
    (tmp_path / "infra.yaml").write_text(MANIFESTS)
    return tmp_path


def holdfast(folder: Path, server: ArmServer, *args: str, **env: str):
    return run(*args, cwd=folder, THE_SECRET=server.world.client_secret, **env)


def test_manifests_are_applied_clean_afterwards_and_put_back(server, folder):
    applied = holdfast(folder, server, "apply", "-f", "infra.yaml", "--yes")
    assert applied.returncode == 0, applied.stdout + applied.stderr
    world = server.world
    assert world.journal.count("PUT") == 4
    widget = f"/subscriptions/{world.subscription}/resourceGroups/platform/providers/Contoso.Test/widgets/widget"
    assert world.shown(widget)["properties"]["subnet"]["id"].endswith("/virtualNetworks/core/subnets/apps")
    assert holdfast(folder, server, "check", "-f", "infra.yaml").returncode == 0
    assert world.journal.count("PUT") == 4

    world.console("alice@example.com").edit(widget, {"/properties/size": 9})
    checked = holdfast(folder, server, "check", "-f", "infra.yaml")
    assert "1 drifted" in checked.stdout
    assert "/properties/size" in checked.stdout
    assert "alice@example.com" in checked.stdout  # whom systemData names
    assert holdfast(folder, server, "apply", "-f", "infra.yaml", "--yes").returncode == 0
    assert world.shown(widget)["properties"]["size"] == 3
    assert world.journal.count("PUT") == 5

    told = holdfast(
        folder, server, "explain", "prod/Subnet/apps", "--settings", "-f", "infra.yaml", AZURE_SYNC_PERIOD="15m"
    )
    assert "AZURE_SYNC_PERIOD" in told.stdout
    assert world.client_secret not in applied.stdout + checked.stdout + told.stdout


def test_a_reference_that_cannot_be_read_is_told_with_its_line(server, folder):
    (folder / "infra.yaml").write_text(MANIFESTS.replace("{kind: ResourceGroup, name: platform}", "{armId: nonsense}"))
    done = holdfast(folder, server, "check", "-f", "infra.yaml")
    assert done.returncode != 0
    assert "infra.yaml:33" in done.stderr
    assert "armId needs a whole resource id" in done.stderr
