"""Python and YAML are two doors to one endpoint: one address, one record, one opinion."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.api import ResourceManager
from holdfast.providers.runpod import CpuLoadBalancerSlsResource, NetworkVolume, ServerlessEndpoint
from holdfast_emulators.runpod import RunPodServer, World, running
from tests.acceptance.test_commands import run

YAML = """\
apiVersion: runpod.holdfast.dev/v1
kind: {kind}
metadata: {{name: inference-lb}}
spec:
  managedOptions: {{onImmutable: replace}}
  resource:
    imageName: user/image:1.0
    workersMin: 2
    workersMax: 5
{more}"""


@pytest.fixture
def server() -> Iterator[RunPodServer]:
    with running(RunPodServer(World())) as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path, server: RunPodServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RUNPOD_KEY", server.token)
    (tmp_path / "holdfast.yaml").write_text(
        f"connections:\n  prod:\n    provider: runpod\n    base_url: {server.url}\n    extended: true\n"
        "    secrets: {api_key: {env: RUNPOD_KEY}}\n"
    )
    return tmp_path


def balancer(**fields) -> CpuLoadBalancerSlsResource:
    given = {"name": "inference-lb", "imageName": "user/image:1.0", "workersMin": 2, "workersMax": 5}
    return CpuLoadBalancerSlsResource(**{**given, **fields})


def deploy(folder: Path, config):
    return asyncio.run(ResourceManager(folder).deploy(config))


def holdfast(folder: Path, server: RunPodServer, *args: str):
    return run(*args, cwd=folder, RUNPOD_KEY=server.token)


def statuses(result) -> dict[str, str]:
    return {resource["address"]: resource["status"] for resource in json.loads(result.stdout)["resources"]}


def declare(folder: Path, kind: str, more: str = "") -> None:
    (folder / "lb.yaml").write_text(YAML.format(kind=kind, more=more))


@pytest.mark.parametrize(
    "kind, more",
    [
        ("CpuLoadBalancerSlsResource", ""),
        ("Endpoint", "    type: LB\n    computeType: CPU\n    instanceIds: [cpu3g-2-8]\n"),
    ],
)
def test_yaml_continues_what_python_deployed(folder, server, kind, more):
    ident = deploy(folder, balancer()).id
    declare(folder, kind, more)
    applied = holdfast(folder, server, "apply", "-f", "lb.yaml", "-y")
    assert applied.returncode == 0, applied.stdout + applied.stderr
    checked = holdfast(folder, server, "check", "-f", "lb.yaml", "-o", "json")
    assert statuses(checked) == {"prod/Endpoint/inference-lb": "in_sync"}
    assert list(server.account.endpoints) == [ident]
    tracked = asyncio.run(ResourceManager(folder).resources())
    assert [(str(item.address), item.id) for item in tracked] == [("prod/Endpoint/inference-lb", ident)]


def test_python_continues_what_yaml_applied_and_neither_calls_the_other_drift(folder, server):
    declare(folder, "CpuLoadBalancerSlsResource")
    assert holdfast(folder, server, "apply", "-f", "lb.yaml", "-y").returncode == 0
    (ident,) = server.account.endpoints
    assert deploy(folder, balancer(workersMax=7)).id == ident
    declare(folder, "CpuLoadBalancerSlsResource")
    checked = holdfast(folder, server, "check", "-f", "lb.yaml", "-o", "json")
    assert statuses(checked) == {"prod/Endpoint/inference-lb": "pending"}  # the declarations differ; nobody drifted
    assert len(asyncio.run(ResourceManager(folder).resources())) == 1


def test_two_documents_of_one_endpoint_are_refused(folder, server):
    both = YAML.format(kind="CpuLoadBalancerSlsResource", more="") + "---\n" + YAML.format(kind="Endpoint", more="")
    (folder / "lb.yaml").write_text(both)
    applied = holdfast(folder, server, "apply", "-f", "lb.yaml", "-y")
    assert applied.returncode == 1
    assert "lb.yaml:11" in applied.stderr
    assert not server.account.endpoints


def test_a_document_that_contradicts_its_class_is_refused(folder, server):
    declare(folder, "CpuLoadBalancerSlsResource", "    type: QB\n")
    planned = holdfast(folder, server, "plan", "-f", "lb.yaml")
    assert planned.returncode == 1
    assert "lb.yaml:10:5 (/spec/resource/type)" in planned.stderr


def test_another_class_in_yaml_replaces_the_endpoint(folder, server):
    declare(folder, "CpuLoadBalancerSlsResource")
    assert holdfast(folder, server, "apply", "-f", "lb.yaml", "-y").returncode == 0
    (before,) = server.account.endpoints
    declare(folder, "CpuServerlessEndpoint")
    applied = holdfast(folder, server, "apply", "-f", "lb.yaml", "-y")
    assert applied.returncode == 0, applied.stdout + applied.stderr
    (after,) = server.account.endpoints
    assert after != before


def test_growing_a_volume_is_an_update(folder, server):
    def endpoint(size: int) -> ServerlessEndpoint:
        volume = NetworkVolume(name="models", size=size)
        return ServerlessEndpoint(name="worker", imageName="user/worker:1.0", networkVolume=volume)

    deploy(folder, endpoint(50))
    grown = deploy(folder, endpoint(80))
    assert grown.action.value == "update"
    assert grown.notes == ()
    assert [change.address.kind for change in grown.changes] == ["NetworkVolume"]
    again = deploy(folder, endpoint(80))
    assert (again.action.value, again.changes) == ("none", ())


# -- what people do at the console


def declared_endpoint(folder: Path, server: RunPodServer) -> None:
    declare(folder, "CpuLoadBalancerSlsResource", "    env: {MODE: fast, LEVEL: info}\n")
    applied = holdfast(folder, server, "apply", "-f", "lb.yaml", "-y")
    assert applied.returncode == 0, applied.stdout + applied.stderr


def drift(folder: Path, server: RunPodServer) -> dict:
    checked = holdfast(folder, server, "check", "-f", "lb.yaml", "-o", "json")
    (found,) = json.loads(checked.stdout)["resources"]
    return {"status": found["status"], "paths": sorted(finding["path"] for finding in found["findings"]), **found}


def assert_corrected(folder: Path, server: RunPodServer) -> None:
    applied = holdfast(folder, server, "apply", "-f", "lb.yaml", "-y")
    assert applied.returncode == 0, applied.stdout + applied.stderr
    assert drift(folder, server)["status"] == "in_sync"


@pytest.mark.parametrize("removed", [("MODE",), ("MODE", "LEVEL")])
def test_variables_removed_at_the_console_are_drift(folder, server, removed):
    declared_endpoint(folder, server)
    server.console("user_alice").set_env("inference-lb", **dict.fromkeys(removed))
    found = drift(folder, server)
    assert (found["status"], found["paths"]) == ("drifted", sorted(f"/env/{name}" for name in removed))
    assert_corrected(folder, server)
    container = server.account.template_of(server.console().named("inference-lb"))
    assert {name: container.fields["env"][name] for name in removed}.keys() == set(removed)


def test_a_variable_that_is_missing_at_adoption_is_a_difference(folder, server):
    deploy(folder, balancer(env={"LEVEL": "info"}))
    (folder / ".holdfast").rename(folder / "lost-store")
    declare(folder, "CpuLoadBalancerSlsResource", "    env: {MODE: fast, LEVEL: info}\n")
    assert "/env/MODE" in drift(folder, server)["paths"]


def test_an_endpoint_renamed_at_the_console_is_drift(folder, server):
    declared_endpoint(folder, server)
    server.console("user_alice").edit("inference-lb", name="mine-now")
    found = drift(folder, server)
    assert (found["status"], found["paths"]) == ("drifted", ["/name"])
    assert_corrected(folder, server)
    assert [endpoint.fields["name"] for endpoint in server.account.endpoints.values()] == ["inference-lb"]


@pytest.mark.parametrize("workers", [2, 0])
def test_a_scale_down_minutes_after_the_creation_is_not_the_platforms(folder, server, workers):
    declared_endpoint(folder, server)
    server.console("user_alice").edit("inference-lb", workersMin=0, workersMax=workers)
    found = drift(folder, server)
    assert found["status"] == "drifted"
    assert all(item["who"] != "RunPod itself" for item in found["attributedTo"])
    assert_corrected(folder, server)


def test_a_scale_down_after_idle_days_is_the_platforms_and_is_left_alone(folder, server):
    declared_endpoint(folder, server)
    (endpoint,) = server.account.endpoints.values()
    endpoint.created_at -= 4 * 86_400
    endpoint.last_request_at -= 4 * 86_400
    assert len(server.advance(0)) == 1
    found = drift(folder, server)
    assert found["attributedTo"][0]["who"] == "RunPod itself"
