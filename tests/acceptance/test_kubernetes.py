"""The example and the page of Kubernetes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.cli import exit_codes
from holdfast_emulators.kubernetes import ApiServer
from tests.servers import kubernetes as servers

kubernetes = servers.kubernetes
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.server
@pytest.mark.slow
def test_the_example_is_applied_edited_and_corrected(kubernetes: ApiServer, tmp_path: Path):
    """One script: a cluster of its own, a shop, the edits of kubectl; nothing is left running."""
    folder = tmp_path / "example"
    shutil.copytree(ROOT / "examples/kubernetes", folder, ignore=shutil.ignore_patterns(".cluster", ".holdfast"))
    packages = os.pathsep.join([str(ROOT / "src"), str(ROOT / "packages/holdfast-emulators/src")])
    environ = {**os.environ, "PYTHON": sys.executable, "PYTHONPATH": packages}
    done = subprocess.run(
        ["bash", str(folder / "try.sh")], env=environ, capture_output=True, text=True, check=False, timeout=280
    )
    assert done.returncode == 0, done.stdout + done.stderr
    _, applied, edited, corrected = re.split("^==> .*$", done.stdout, flags=re.MULTILINE)[1:]
    assert "4 added, 0 changed" in applied
    assert "Checked 4: 4 in sync." in applied
    for word in ("/data/currency", "/spec/replicas", "/image", "missing", "kubectl-set", "kubectl-label"):
        assert word in edited
    assert f"(as expected: exit code {exit_codes.DRIFTED})" in edited
    assert "1 added, 2 changed, 0 replaced, 0 destroyed" in corrected
    assert "Checked 4: 3 in sync, 1 drifted." in corrected
    for pid in (folder / ".cluster/pids").read_text().split():
        servers.wait_for(lambda pid=pid: not Path(f"/proc/{pid}").exists() or "Z" in _state(pid))


def _state(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_the_page_is_in_the_navigation():
    assert "kubernetes.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
