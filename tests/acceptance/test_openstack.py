"""The example, as people run it: a tenant brought up, vandalised with the ordinary client, and brought back."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.cli import command_group, exit_codes
from holdfast.providers.openstack import kind_registry
from tests.servers.openstack import PATIENT, openstack_folder, openstack_installed  # noqa: F401 - a fixture

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/openstack"
PAGE = (ROOT / "docs/openstack.md").read_text(encoding="utf-8")


@pytest.mark.server
@pytest.mark.slow
@PATIENT
def test_the_example_is_brought_up_drifted_and_brought_back(openstack_installed: None, tmp_path: Path):
    """One script: a cloud of its own, the tenant, the ordinary client let loose on it; nothing is left running."""
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".cloud", ".holdfast"))
    environ = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
    environ["PYTHON"] = sys.executable
    done = subprocess.run(
        ["bash", str(folder / "try.sh")], env=environ, capture_output=True, text=True, check=False, timeout=280
    )
    assert done.returncode == 0, done.stdout + done.stderr
    _, brought_up, damage, brought_back = re.split("^==> .*$", done.stdout, flags=re.MULTILINE)[1:]
    assert "8 added, 0 changed" in brought_up
    assert "Checked 8: 8 in sync." in brought_up
    for word in ("/description", "/tags", "/dnsNameservers", "/adminStateUp", "/rules", "/portId", "missing"):
        assert word in damage
    assert f"(as expected: exit code {exit_codes.DRIFTED | exit_codes.BLOCKED})" in damage
    assert "1 added, 5 changed, 0 replaced, 0 destroyed" in brought_back
    assert "Checked 8: 8 in sync." in brought_back
    assert not (folder / ".cloud").exists()


def test_the_page_names_every_kind_and_every_field():
    """A row a kind, with all that can be declared of it, on the right side."""
    rows = {
        cells[0]: cells[1:] for cells in (row.strip("| ").split(" | ") for row in PAGE.splitlines()) if len(cells) >= 2
    }
    for thing in kind_registry.THINGS:
        text = " ".join(rows[thing.kind])
        words = set(re.findall(r"\w+", text))
        missing = [name for name in thing.names if name not in words]
        assert not missing, f"{thing.kind}: {missing}"


def test_the_page_is_in_the_navigation():
    assert "openstack.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


LEVELS = """
apiVersion: holdfast.dev/v1
kind: Strategy
metadata: {name: production}
spec:
  defaults: {resyncPeriod: 10h}
  kinds: {Network: {resyncPeriod: 1h}}
---
apiVersion: openstack.holdfast.dev/v1
kind: Network
metadata: {name: plain}
spec: {resource: {}}
---
apiVersion: openstack.holdfast.dev/v1
kind: SecurityGroup
metadata: {name: other}
spec: {resource: {}}
---
apiVersion: openstack.holdfast.dev/v1
kind: Network
metadata: {name: own}
spec: {managedOptions: {resyncPeriod: 0}, resource: {}}
"""


@pytest.mark.parametrize(
    "address, setting",
    [
        ("cloud/Network/plain", "resyncPeriod = 1h  strategy, kind override (production"),
        ("cloud/SecurityGroup/other", "resyncPeriod = 10h  strategy (production"),
        ("cloud/Network/own", "resyncPeriod = 0s  resource ("),
    ],
)
def test_the_period_is_set_for_all_for_a_kind_and_for_one(tmp_path: Path, address: str, setting: str):
    """The hierarchy of seed 002; nothing of it asks the cloud."""
    (tmp_path / "holdfast.yaml").write_text("connections: {cloud: {provider: openstack, cloud: nowhere}}\n")
    (tmp_path / "all.yaml").write_text(LEVELS)
    words = [sys.executable, "-m", "holdfast", "explain", "--settings", address, "-f", "all.yaml"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert setting in done.stdout, done.stdout + done.stderr


def test_a_cloud_that_nobody_described_is_told_with_its_line(tmp_path: Path):
    (tmp_path / "holdfast.yaml").write_text("connections:\n  cloud: {provider: openstack, cloud: nowhere}\n")
    (tmp_path / "all.yaml").write_text(LEVELS)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
    words = [sys.executable, "-m", "holdfast", "check", "-f", "all.yaml"]
    done = subprocess.run(
        words, cwd=tmp_path, env={**environ, "HOME": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == command_group.ERROR
    assert "holdfast.yaml:2:" in done.stderr
    assert "no cloud 'nowhere' is described" in done.stderr
    assert "Traceback" not in done.stderr
