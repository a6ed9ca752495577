"""Azure from YAML: the real command over TLS against the emulator, with what people do in the portal in between."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.cli import exit_codes
from holdfast_emulators.azure import ArmServer, Fault, Fill, Operation, Operations, World, Wrong, running
from tests.acceptance.test_commands import run

pytestmark = pytest.mark.server

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/azure"
WIDGETS = "Contoso.Test/widgets"
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
WIDGET = """\
apiVersion: azure.holdfast.dev/v1
kind: Resource
metadata: {name: widget}
spec:
  managedOptions: {reconcileMode: MODE}
  resource:
    type: Contoso.Test/widgets
    apiVersion: "2024-01-01"
    location: westus2
    properties: {size: 3}
"""


@pytest.fixture(scope="module")
def server():
    with running(ArmServer(World(pace=0.02))) as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path, server: ArmServer) -> Path:
    write_project(tmp_path, server)
    (tmp_path / "infra.yaml").write_text(MANIFESTS)
    return tmp_path


def write_project(folder: Path, server: ArmServer, **changes: str) -> None:
    world = server.world
    given = {"subscription": world.subscription, "ca_file": server.ca_bundle, "group": "", **changes}
    (folder / "holdfast.yaml").write_text(
        f"connections:\n  prod:\n    provider: azure\n    subscription: {given['subscription']}\n"
        + (f"    resource_group: {given['group']}\n" if given["group"] else "")
        + f"    base_url: {server.url}\n    authority: {server.url}\n    tls: {{ca_file: {given['ca_file']}}}\n"
        f"    auth: {{type: client_secret, tenant_id: {world.tenant}, client_id: {world.client_id}}}\n"
        "    secrets: {client_secret: {env: THE_SECRET}}\n"
    )


def holdfast(folder: Path, server: ArmServer, *args: str, **env: str):
    return run(*args, cwd=folder, **{"THE_SECRET": server.world.client_secret, **env})


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


class TestMistakes:
    """What a new user does wrong is told with the file, the line, the field, and what to do."""

    @pytest.mark.parametrize(
        "old, new, place, said",
        [
            ("{kind: ResourceGroup, name: platform}", "{armId: nonsense}", "infra.yaml:33", "armId needs a whole"),
            ("kind: Subnet\n", "kind: Subnett\n", "infra.yaml:22", "did you mean Subnet?"),
            ("    type: Contoso.Test/widgets\n", "", "infra.yaml:30", "needs its type: {type: Microsoft.Maps"),
            ('    apiVersion: "2024-01-01"\n', "", "infra.yaml:30", "no API version is known for Contoso.Test/widgets"),
            ('"2024-01-01"', "2024", "infra.yaml:32", 'as a text in quotes: "2023-01-01"'),
            ("Contoso.Test/widgets", "widgets", "infra.yaml:31", "'widgets' is not a resource type"),
            (
                "    owner: {group: network.azure.com, kind: VirtualNetwork, name: core}\n",
                "",
                "infra.yaml:22",
                "needs its parent: owner: {kind: VirtualNetwork, name: ...}",
            ),
            (
                "{group: network.azure.com, kind: VirtualNetwork, name: core}",
                "{kind: ResourceGroup, name: platform}",
                "infra.yaml:23",
                "belongs to a Microsoft.Network/virtualNetworks, and ResourceGroup is a",
            ),
            (
                "owner: {name: platform}",
                "owner: {name: platfrom}",
                "infra.yaml",
                "did you mean ResourceGroup/platform?",
            ),
        ],
    )
    def test_in_a_manifest(self, server, folder, old, new, place, said):
        assert MANIFESTS.count(old) == 1
        (folder / "infra.yaml").write_text(MANIFESTS.replace(old, new))
        done = holdfast(folder, server, "check", "-f", "infra.yaml")
        assert done.returncode != 0
        assert place in done.stderr
        assert said in done.stderr
        assert "Traceback" not in done.stderr

    @pytest.mark.parametrize(
        "changes, env, said",
        [
            (
                {"subscription": "99999999-2222-4222-8222-222222222222"},
                {},
                "(SubscriptionNotFound) - is `subscription`",
            ),
            ({}, {"THE_SECRET": "wrong-but-secret"}, "AADSTS7000215); see tenant_id, client_id and the secret"),
            (
                {"ca_file": "no.pem"},
                {},
                "holdfast.yaml:7:11 (/connections/prod/tls/ca_file): expected a file of certificates",
            ),
        ],
    )
    def test_in_a_connection(self, server, folder, changes, env, said):
        write_project(folder, server, **changes)
        done = holdfast(folder, server, "check", "-f", "infra.yaml", "--detailed-exitcode", **env)
        assert done.returncode not in (0, exit_codes.DRIFTED)  # not knowing is neither fine nor drift
        assert said in done.stdout + done.stderr
        assert "wrong-but-secret" not in done.stdout + done.stderr
        assert not [line for line in done.stderr.splitlines() if "get_token" in line]  # the SDK's own noise

    @pytest.mark.parametrize(
        "status, code, said",
        [
            (403, "AuthorizationFailed", "needs a role there: Reader to look, Contributor to change"),
            (401, "ExpiredAuthenticationToken", "the token has run out; sign in again"),
        ],
    )
    def test_in_what_one_may_do(self, server, folder, status, code, said):
        fault = Fault(Wrong.STATUS, "GET", "*/resourcegroups/*", status, code=code, times=None)
        server.world.faults.append(fault)
        try:
            done = holdfast(folder, server, "check", "-f", "infra.yaml")
        finally:
            server.world.faults.remove(fault)
        assert f"was answered {status} ({code}) - " in done.stdout
        assert said in done.stdout


class Ahead:
    """The machine's clock, set forward by a test."""

    def __init__(self) -> None:
        self.by = 0.0

    def now(self) -> float:
        return time.time() + self.by


@pytest.fixture
def clock() -> Ahead:
    return Ahead()


@pytest.fixture
def fresh(clock):
    """An Azure of the test's own."""
    with running(ArmServer(World(clock, pace=1.0))) as found:
        found.world.add_group("rg")
        found.world.journal.clear()
        yield found


def single(folder: Path, server: ArmServer, mode: str = "get_put") -> str:
    write_project(folder, server, group="rg")
    (folder / "infra.yaml").write_text(WIDGET.replace("MODE", mode))
    return f"/subscriptions/{server.world.subscription}/resourceGroups/rg/providers/{WIDGETS}/widget"


def test_the_evidence_of_shadow_mode_says_whether_a_type_can_leave_it(fresh, tmp_path):
    ident = single(tmp_path, fresh, "shadow")
    for _ in range(3):
        assert holdfast(tmp_path, fresh, "apply", "--yes").returncode == 0
    fresh.world.console("alice").edit(ident, {"/properties/size": 9})
    assert holdfast(tmp_path, fresh, "apply", "--yes").returncode == 0
    assert fresh.world.journal.count("PUT") == 4
    told = holdfast(tmp_path, fresh, "write-stats")
    assert (
        f"{WIDGETS}: get_put would do; 2 of 3 writes were needless, and none of those changed anything." in told.stdout
    )

    fresh.world.teach(WIDGETS, Fill("/properties/touched", True, phase="update"))  # a service whose no-op is none
    assert holdfast(tmp_path, fresh, "apply", "--yes").returncode == 0
    found = json.loads(holdfast(tmp_path, fresh, "write-stats", "-o", "json").stdout)
    assert found["types"] == [
        {"type": WIDGETS, "writes": 5, "ineffective": 0, "shadow": {"writes": 4, "needed": 1, "misjudged": 1}}
    ]
    assert [(row["path"], row["sign"]) for row in found["paths"]] == [("/properties/touched", "misjudged")]
    assert "not yet; 1 of 3" in holdfast(tmp_path, fresh, "write-stats").stdout


def test_a_write_that_does_not_take_is_evidence_by_type_and_path(fresh, tmp_path):
    ident = single(tmp_path, fresh)
    fresh.world.tune(WIDGETS, put="merge", defaults=(Fill("/properties/colour", "red"),))
    assert holdfast(tmp_path, fresh, "apply", "--yes").returncode == 0
    fresh.world.console("alice").edit(ident, {"/properties/colour": "blue"})
    holdfast(tmp_path, fresh, "apply", "--yes")
    (row,) = json.loads(holdfast(tmp_path, fresh, "write-stats", "-o", "json").stdout)["paths"]
    assert (row["type"], row["path"], row["sign"]) == (WIDGETS, "/properties/colour", "ineffective")


def test_a_killed_process_leaves_an_operation_that_the_next_one_carries_on(fresh, clock, tmp_path):
    """SIGKILL while Azure is at work: no second PUT, and what came of the first is learnt."""
    ident = single(tmp_path, fresh)
    fresh.world.tune(
        WIDGETS,
        operations=Operations(create=Operation("async", 201, seconds=3600, retry_after=1)),
        defaults=(Fill("/properties/colour", "red"),),
    )
    environ = {**os.environ, "THE_SECRET": fresh.world.client_secret}
    dying = subprocess.Popen(
        [sys.executable, "-m", "holdfast", "apply", "--yes"], cwd=tmp_path, env=environ, stdout=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 240
    while not any("operation" in item.path.casefold() for item in fresh.world.journal.find("GET")):
        assert time.monotonic() < deadline, "it never came to ask about the operation"
        time.sleep(0.02)
    dying.kill()
    dying.wait()
    assert fresh.world.shown(ident)["properties"]["provisioningState"] != "Succeeded"
    assert "1 unfinished write" in holdfast(tmp_path, fresh, "doctor").stdout

    clock.by = 3600.0
    carried_on = holdfast(tmp_path, fresh, "apply", "--yes")
    assert carried_on.returncode == 0, carried_on.stdout + carried_on.stderr
    assert holdfast(tmp_path, fresh, "check", "--detailed-exitcode").returncode == 0
    assert fresh.world.journal.count("PUT") == 1
    assert "no unfinished writes" in holdfast(tmp_path, fresh, "doctor").stdout
    fresh.world.console("alice").edit(ident, {"/properties/colour": "blue"})  # the default was learnt, not lost
    assert holdfast(tmp_path, fresh, "check", "--detailed-exitcode").returncode == exit_codes.DRIFTED


def test_what_is_found_is_taken_over_without_a_write(fresh, tmp_path):
    write_project(tmp_path, fresh)
    group = f"/subscriptions/{fresh.world.subscription}/resourceGroups/rg"
    disk = {"location": "westus2", "properties": {"creationData": {"createOption": "Empty"}, "diskSizeGB": 32}}
    fresh.world.console("alice").put(f"{group}/providers/Microsoft.Compute/disks/forgotten", disk)
    kinds = ("--kind", "Disk", "--kind", "ResourceGroup")
    found = holdfast(tmp_path, fresh, "discover", *kinds, "--write", "found/", "--policy", "managed")
    assert found.returncode == 0, found.stdout + found.stderr
    assert (tmp_path / "found/prod/Disk/forgotten.yaml").is_file()
    planned = holdfast(tmp_path, fresh, "plan", "-f", "found/")
    assert "0 to change, 0 to replace, 0 to destroy, 2 to adopt" in planned.stdout
    assert holdfast(tmp_path, fresh, "apply", "-f", "found/", "--yes").returncode == 0
    assert holdfast(tmp_path, fresh, "check", "-f", "found/", "--detailed-exitcode").returncode == 0
    assert fresh.world.journal.count("PUT") == 0


def test_the_example_runs_as_printed(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    folder = tmp_path / "azure"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".*"))
    for file in folder.iterdir():
        file.write_text(file.read_text().replace("8943", port))
    environ = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(["bash", "try.sh"], cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Apply: 6 added, 0 changed" in done.stdout
    assert "Checked 6: 6 in sync." in done.stdout
    assert "Checked 6: 3 in sync, 3 drifted." in done.stdout
    for path in ("/properties/minimumTlsVersion", "/properties/networkAcls/defaultAction", "/tags/owner"):
        assert path in done.stdout
    assert "by alice@example.com" in done.stdout
    assert "Apply: 0 added, 3 changed" in done.stdout
    assert "Plan: 0 to add, 0 to change, 0 to replace, 0 to destroy." in done.stdout
    assert "not-a-secret" not in done.stdout + done.stderr


def test_the_emulator_is_a_command_with_help():
    done = subprocess.run(
        [sys.executable, "-m", "holdfast_emulators.azure", "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    for option in ("--port", "--certificates", "--pace", "--group", "--writes-an-hour"):
        assert option in done.stdout
