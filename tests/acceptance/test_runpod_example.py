"""examples/runpod runs without an account, and docs/runpod.md shows what is true."""

from __future__ import annotations

import ast
import asyncio
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from holdfast.compare import yaml_reader
from holdfast.providers.runpod import EnvPolicy, kinds
from holdfast_emulators.runpod import RunPodServer, running
from tests.acceptance.test_commands import run
from tests.acceptance.test_examples import accept, commands

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/runpod"
PAGE = (ROOT / "docs/runpod.md").read_text(encoding="utf-8")

WANTED = """\
first deploy: create (declared, not created yet)
second deploy: none (nothing changed since the last check)
another image: update (declaration changed: /imageName)
edited at the console: drifted, changed by user_alice
reverted: update (changed outside Holdfast: /imageName)
four days idle: none (changed outside Holdfast: /workersMax)
    kept: changed outside Holdfast; RunPod itself did it: workersMax is 2, as after three days without a request
deleted at the console: recreate (deleted outside Holdfast)
undeployed: deleted
left in the account: 0 endpoints, 0 templates
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def server():
    with running(RunPodServer()) as found:
        yield found


def test_the_script_runs_without_an_account_and_leaves_nothing(tmp_path):
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RUNPOD_")}
    done = subprocess.run(
        [sys.executable, str(EXAMPLE / "deploy.py")],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, WANTED), done.stderr
    assert list(tmp_path.iterdir()) == []
    assert WANTED in PAGE


def at_emulator(folder: Path, server: RunPodServer) -> None:
    """Copy the example to a folder, with the address of an emulator that listens elsewhere."""
    for file in EXAMPLE.glob("*.yaml"):
        text = file.read_text(encoding="utf-8").replace("http://127.0.0.1:8900", server.url)
        (folder / file.name).write_text(text, encoding="utf-8")


def test_the_manifests_are_applied_and_clean_afterwards(tmp_path, server):
    at_emulator(tmp_path, server)
    for command in (("apply", "-y"), ("check", "--detailed-exitcode")):
        done = run(*command, cwd=tmp_path, RUNPOD_API_KEY=server.token)
        assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(endpoint.fields["name"] for endpoint in server.account.endpoints.values()) == [
        "inference-lb",
        "worker",
    ]
    (volume,) = server.account.volumes
    assert server.console().named("worker").fields["networkVolumeIds"] == [volume]


def test_every_manifest_on_the_page_is_one(tmp_path, server):
    found = [document.value for block in blocks("yaml") for document in yaml_reader.documents(block.encode())]
    resources = [item for item in found if "kind" in item]
    assert len(resources) >= 2
    assert {resource["kind"] for resource in resources} <= kinds.shipped().keys()


def test_every_command_on_the_page_exists_with_its_options():
    found = [words for block in blocks("console") for words in commands(block.replace("$ ", ""))]
    assert len(found) >= 3
    for words in found:
        accept(words)


def test_every_program_on_the_page_runs(tmp_path, server, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".flash").mkdir()
    shutil.copy(ROOT / "tests/data/flash/resources.pkl", tmp_path / ".flash")
    programs = blocks("python")
    assert len(programs) >= 4
    with mock.patch.dict(os.environ, server.environ):
        for program in programs:
            if "flash_state" in program:
                left_by_flash(tmp_path, server)
            asyncio.run(executed(program))


def left_by_flash(folder: Path, server: RunPodServer) -> None:
    """Let the endpoint be one that Flash has made: under the id in its state, and unknown to us."""
    endpoint = server.console().named("inference-lb")
    del server.account.endpoints[endpoint.id]
    endpoint.id = server.account.template_of(endpoint).bound_to = "abc123"
    server.account.endpoints[endpoint.id] = endpoint
    shutil.rmtree(folder / ".holdfast")


async def executed(program: str) -> None:
    """Run a program of the page, awaits at its top and all."""
    code = compile(program, "docs/runpod.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    found = eval(code, {"__name__": "page"})
    if found is not None:
        await found


def test_the_page_names_every_kind_and_every_policy():
    assert [kind for kind in kinds.shipped() if f"`{kind}`" not in PAGE] == []
    assert [policy for policy in EnvPolicy if f"`EnvPolicy.{policy.name}`" not in PAGE] == []
    assert "runpod.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
