"""The example, as people run it: a tenant brought up, vandalised with the ordinary client, and brought back."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.cli import exits
from holdfast.providers.openstack import tables
from holdfast.testing.openstack import ControlPlane, Tenant
from tests.servers.openstack import (  # noqa: F401 - fixtures
    openstack_plane,
    openstack_shared,
    openstack_tenant,
    openstack_tenants,
)

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/openstack"
PAGE = (ROOT / "docs/openstack.md").read_text(encoding="utf-8")


@pytest.mark.server
@pytest.mark.slow
def test_the_example_is_brought_up_vandalised_and_brought_back(
    openstack_plane: ControlPlane, openstack_tenant: Tenant, tmp_path: Path
):
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".cloud", ".holdfast"))
    (tmp_path / "clouds.yaml").write_text(json.dumps(openstack_tenant.clouds))
    environ = {
        **os.environ,
        "OS_CLIENT_CONFIG_FILE": str(tmp_path / "clouds.yaml"),
        "OS_CLOUD": "local",
        "OPENSTACK": str(openstack_plane.layout.python.parent / "openstack"),
    }

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, check=False)

    def holdfast(*words: str) -> subprocess.CompletedProcess[str]:
        return run(sys.executable, "-m", "holdfast", *words)

    first = holdfast("apply", "--yes")
    assert first.returncode == 0, first.stdout + first.stderr
    clean = holdfast("check", "--detailed-exitcode")
    assert clean.returncode == 0, clean.stdout + clean.stderr
    vandalised = run("bash", "vandalise.sh")
    assert vandalised.returncode == 0, vandalised.stdout + vandalised.stderr
    found = holdfast("check", "--detailed-exitcode", "-o", "json")
    assert found.returncode == exits.DRIFTED, found.stdout + found.stderr
    for word in ("/description", "/tags", "/dnsNameservers", "/adminStateUp", "/rules", "missing"):
        assert word in found.stdout
    back = holdfast("apply", "--yes")
    assert back.returncode == 0, back.stdout + back.stderr
    assert holdfast("check", "--detailed-exitcode").returncode == 0


def test_the_page_names_every_kind_and_every_field():
    """A row a kind, with all that can be declared of it, on the right side."""
    rows = {
        cells[0]: cells[1:] for cells in (row.strip("| ").split(" | ") for row in PAGE.splitlines()) if len(cells) >= 2
    }
    for thing in tables.THINGS:
        text = " ".join(rows[thing.kind])
        words = set(re.findall(r"\w+", text))
        missing = [name for name in thing.names if name not in words]
        assert not missing, f"{thing.kind}: {missing}"


def test_the_page_is_in_the_navigation():
    assert "openstack.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
