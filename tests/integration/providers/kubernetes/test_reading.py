"""The reader on a real API server: pages that expire, the pods of a workload, and requests that are counted."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Callable, Coroutine
from typing import Any

from holdfast.model.health import Workload
from holdfast.providers.kubernetes.provider import KubernetesProvider
from holdfast.providers.protocol import Connection, Hint, Target, Unchanged
from tests.integration.providers.kubernetes import objects
from tests.integration.providers.kubernetes.conftest import Project
from tests.servers.kubernetes import make_pods_run, wait_for


def reading(project: Project, work: Callable[[Any], Coroutine[Any, Any, Any]], **settings: Any) -> Any:
    async def run() -> Any:
        connection = Connection("cluster", "kubernetes", {"kubeconfig": str(project.server.kubeconfig), **settings})
        async with KubernetesProvider().reader(connection) as reader:
            return await work(reader)

    return asyncio.run(run())


def target(wanted: dict[str, Any]) -> Target:
    metadata = wanted["metadata"]
    return Target(wanted["kind"], metadata["name"], None, wanted, metadata["namespace"])


def compact(project: Project, revision: str) -> None:
    """Drop the history of etcd, as it does by itself every five minutes; continue tokens expire with it."""
    body = json.dumps({"revision": revision, "physical": True}).encode()
    urllib.request.urlopen(f"{project.server.etcd_url}/v3/kv/compaction", body, timeout=30).close()


def test_a_list_whose_continue_token_expired_begins_again(project: Project):
    collection = project.path("configmaps", "x").rpartition("/")[0]
    names = [f"c{number}" for number in range(5)]
    for name in names:
        project.server("POST", collection, objects.config_map(project.namespace, name))

    async def work(reader: Any) -> list[str]:
        found: list[str] = []
        async for item in reader.list("ConfigMap"):
            if not found:
                made = project.server("POST", collection, objects.config_map(project.namespace, "late"))
                compact(project, made["metadata"]["resourceVersion"])
            found.append(item.id)
        return found

    found = reading(project, work, pageSize=2)
    mine = [ident for ident in found if ident.startswith(f"{project.namespace}/c")]
    assert sorted(mine) == [f"{project.namespace}/{name}" for name in names]
    assert len(found) == len(set(found))
    assert f"{project.namespace}/late" in found  # proves that the list began again


def test_an_unchanged_object_is_not_parsed_again(project: Project):
    wanted = objects.config_map(project.namespace)
    project.write(wanted)
    project.apply()

    async def work(reader: Any) -> Any:
        first = await reader.read(target(wanted))
        return first, await reader.read(target(wanted), Hint(first.etag, first.raw_digest))

    first, second = reading(project, work)
    assert second == Unchanged(first.etag, first.raw_digest)
    assert "managedFields" not in first.document["metadata"]
    assert first.document["metadata"]["owners"] == {"Apply": {"holdfast": ["/data/color", "/data/level"]}}


def test_the_pods_of_a_workload_are_counted(project: Project):
    wanted = objects.deployment(project.namespace)
    project.write(wanted)
    project.apply()
    pods = f"/api/v1/namespaces/{project.namespace}/pods"
    wait_for(lambda: len(project.server("GET", pods)["items"]) == 2)

    async def work(reader: Any) -> Any:
        return await reader.health_signals(target(wanted), 0.0)

    before = reading(project, work)
    assert (before.total, before.ready, before.pending) == (2, 0, 2)
    make_pods_run(project.server, project.namespace)
    after = reading(project, work)
    assert (after.exists, after.total, after.ready, after.pending) == (True, 2, 2, 0)

    async def of_map(reader: Any) -> Any:
        return await reader.health_signals(target(objects.config_map(project.namespace)), 0.0)

    assert reading(project, of_map) == Workload(has_pods=False)
