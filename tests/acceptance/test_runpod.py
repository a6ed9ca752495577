"""RunPod from YAML: the real command against the emulator, with what people and the platform do in between."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.providers.runpod.attribution import ACCOUNT_USER
from holdfast_emulators.runpod import Fault, Habits, RunPodServer, World, Wrong, running
from tests.acceptance.test_commands import run

ENDPOINT = """\
apiVersion: runpod.holdfast.dev/v1
kind: {kind}
metadata: {{name: {name}}}
spec:
  connection: prod
  managedOptions: {{resyncPeriod: 1h, onDrift: {on_drift}}}
  resource:
    imageName: user/image:1.0
    workersMin: 0
    workersMax: 5
    env: {{MODE: fast}}
{more}
---
"""
KINDS = (
    ("ServerlessEndpoint", "    gpus: [AMPERE_80, ADA_24]\n    scalerType: QUEUE_DELAY"),
    ("LoadBalancerSlsResource", "    gpus: [ADA_24]\n    scalerType: REQUEST_COUNT"),
    ("CpuServerlessEndpoint", "    instanceIds: [cpu3g-2-8]\n    scalerType: QUEUE_DELAY"),
    ("CpuLoadBalancerSlsResource", "    instanceIds: [cpu3g-1-4]\n    scalerType: REQUEST_COUNT"),
)
PAGE = 20


@pytest.fixture
def server() -> Iterator[RunPodServer]:
    with running(RunPodServer(World(habits=Habits(page_size=PAGE)))) as found:
        yield found


def project(folder: Path, server: RunPodServer, count: int, on_drift: str = "report") -> None:
    (folder / "holdfast.yaml").write_text(
        f"connections:\n  prod:\n    provider: runpod\n    base_url: {server.url}\n"
        "    secrets: {api_key: {env: RUNPOD_KEY}}\n"
    )
    manifests = [
        ENDPOINT.format(kind=kind, name=f"e{number:02}", more=more, on_drift=on_drift)
        for number in range(count)
        for kind, more in [KINDS[number % len(KINDS)]]
    ]
    (folder / "endpoints.yaml").write_text("".join(manifests))


def holdfast(folder: Path, server: RunPodServer, *args: str):
    return run(*args, cwd=folder, RUNPOD_KEY=server.token)


def named(server: RunPodServer, name: str) -> str:
    return server.console().named(name).id


def test_fifty_endpoints_of_all_kinds_with_eight_moved_behind_our_back(tmp_path, server):
    project(tmp_path, server, 50)
    applied = holdfast(tmp_path, server, "apply", "-f", "endpoints.yaml", "-y")
    assert applied.returncode == 0, applied.stdout + applied.stderr
    assert len(server.account.endpoints) == 50
    clean = holdfast(tmp_path, server, "check", "-f", "endpoints.yaml", "--detailed-exitcode")
    assert clean.returncode == 0, clean.stdout

    alice = server.console("user_alice")
    edits = {"e04": "/workersMax", "e09": "/imageName", "e14": "/instanceIds", "e24": "/gpus", "e33": "/env/MODE"}
    alice.edit("e04", workersMax=50)
    alice.edit("e09", template={"imageName": "user/image:9"})
    alice.edit("e14", instanceIds=["cpu3g-4-16"])
    alice.edit("e24", gpuIds="HOPPER_141")
    alice.set_env("e33", MODE="slow")
    idle = {"e01", "e02", "e03"}
    for endpoint in server.account.endpoints.values():
        if endpoint.fields["name"] in idle:
            endpoint.created_at -= 4 * 86_400
            endpoint.last_request_at -= 4 * 86_400
    assert len(server.advance(0)) == 3

    server.journal.clear()
    checked = holdfast(tmp_path, server, "check", "-f", "endpoints.yaml", "--detailed-exitcode", "-o", "json")
    assert checked.returncode == 4, checked.stdout + checked.stderr
    drifted = [resource for resource in json.loads(checked.stdout)["resources"] if resource["status"] == "drifted"]
    found = {item["address"].rpartition("/")[2]: {f["path"] for f in item["findings"]} for item in drifted}
    assert found.keys() == edits.keys() | idle
    assert all("/workersMax" in found[name] for name in idle)
    for name, path in edits.items():
        assert any(item.startswith(path) for item in found[name]), (name, found[name])
    pages = -(-50 // PAGE)
    assert len(server.journal) <= pages + len(found), server.counts()
    assert server.writes() == []
    # Scaling leaves no trace at RunPod: whose hand it was is not to be known, and that is what is said.
    blamed = dict.fromkeys(idle, "RunPod itself") | dict.fromkeys(edits, "user_alice") | {"e04": ACCOUNT_USER}
    assert {item["address"].rpartition("/")[2]: item["attributedTo"][0]["who"] for item in drifted} == blamed
    assert all(
        resource["attributedTo"] == []
        for resource in json.loads(checked.stdout)["resources"]
        if resource not in drifted
    )

    said = holdfast(tmp_path, server, "check", "-f", "endpoints.yaml").stdout
    assert {who: said.count(f"by {who}") for who in ("RunPod itself", "user_alice", ACCOUNT_USER)} == {
        "RunPod itself": 3,
        "user_alice": 4,
        ACCOUNT_USER: 1,
    }
    for address in ("prod/Endpoint/e09", "prod/Endpoint/e02"):
        explained = holdfast(tmp_path, server, "explain", address, "-f", "endpoints.yaml")
        assert blamed[address.rpartition("/")[2]] in explained.stdout


def test_what_the_platform_did_by_itself_is_told_and_not_fought(tmp_path, server):
    project(tmp_path, server, 4, on_drift="correct")
    assert holdfast(tmp_path, server, "apply", "-f", "endpoints.yaml", "-y").returncode == 0
    assert len(server.advance(days=4)) == 4
    server.console().edit("e03", idleTimeout=99)
    server.journal.clear()
    applied = holdfast(tmp_path, server, "apply", "-f", "endpoints.yaml", "-y")
    assert applied.returncode == 0, applied.stdout + applied.stderr
    assert applied.stdout.count("RunPod itself did it: workersMax is 2, as after three days without a request") == 4
    assert server.writes() == []  # idleTimeout is not declared, so it is nobody's to revert
    text = (tmp_path / "endpoints.yaml").read_text()
    wanted = text.replace("onDrift: correct}", "onDrift: correct, onDriftPaths: {/workersMax: correct}}")
    (tmp_path / "endpoints.yaml").write_text(wanted)
    assert holdfast(tmp_path, server, "apply", "-f", "endpoints.yaml", "-y").returncode == 0
    assert {endpoint.fields["workersMax"] for endpoint in server.account.endpoints.values()} == {5}


def test_drift_is_put_back_minimally_and_the_next_check_is_clean(tmp_path, server):
    project(tmp_path, server, 4, on_drift="correct")
    assert holdfast(tmp_path, server, "apply", "-f", "endpoints.yaml", "-y").returncode == 0
    server.console().edit("e00", workersMax=50, idleTimeout=99)
    server.console().edit("e02", template={"imageName": "user/image:9"}, workersMin=1)
    applied = holdfast(tmp_path, server, "apply", "-f", "endpoints.yaml", "-y")
    assert applied.returncode == 0, applied.stdout + applied.stderr
    console = server.console()
    assert console.named("e00").fields["workersMax"] == 5
    assert server.account.template_of(console.named("e02")).fields["imageName"] == "user/image:1.0"
    server.journal.clear()
    checked = holdfast(tmp_path, server, "check", "-f", "endpoints.yaml", "-o", "json")
    statuses = {resource["address"]: resource["status"] for resource in json.loads(checked.stdout)["resources"]}
    assert statuses["prod/Endpoint/e02"] == "in_sync"
    assert server.writes() == []


def test_an_outage_changes_nothing_and_makes_nothing_twice(tmp_path, server):
    project(tmp_path, server, 4, on_drift="correct")
    assert holdfast(tmp_path, server, "apply", "-f", "endpoints.yaml", "-y").returncode == 0
    server.journal.clear()
    server.faults.append(Fault(Wrong.EMPTY_LIST, "GET", "/v2/serverless", times=None))
    server.faults.append(Fault(status=503, method="GET", path="/v2/serverless/*", times=None))
    holdfast(tmp_path, server, "apply", "-f", "endpoints.yaml", "-y")
    assert (len(server.account.endpoints), server.writes()) == (4, [])


def test_what_was_deleted_at_the_console_is_made_again_once(tmp_path, server):
    project(tmp_path, server, 4, on_drift="correct")
    assert holdfast(tmp_path, server, "apply", "-f", "endpoints.yaml", "-y").returncode == 0
    gone = named(server, "e01")
    server.console().delete("e01")
    assert holdfast(tmp_path, server, "apply", "-f", "endpoints.yaml", "-y").returncode == 0
    assert len(server.account.endpoints) == 4
    assert named(server, "e01") != gone


def test_no_key_reaches_the_store(tmp_path, server):
    project(tmp_path, server, 2)
    assert holdfast(tmp_path, server, "apply", "-f", "endpoints.yaml", "-y").returncode == 0
    server.console().set_env("e00", RUNPOD_API_KEY="rpa_VERY_SECRET")
    holdfast(tmp_path, server, "check", "-f", "endpoints.yaml")
    kept = b"".join(path.read_bytes() for path in (tmp_path / ".holdfast").rglob("*") if path.is_file())
    assert kept
    assert b"rpa_VERY_SECRET" not in kept
    assert server.token.encode() not in kept
