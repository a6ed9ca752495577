"""The conformance kit on a real API server: the provider behind a proxy that fails, and drift that goes around it."""

from __future__ import annotations

import asyncio
import base64
import json
import tempfile
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self, cast

import aiohttp
import pytest
from aiohttp import web

from holdfast.compare import apply_patch
from holdfast.model.json import Json
from holdfast.model.path import Path as FieldPath
from holdfast.providers.kubernetes import objects as identities
from holdfast.providers.kubernetes.provider import KubernetesProvider
from holdfast.providers.protocol import Connection
from holdfast.testing import conformance
from holdfast.testing.conformance import ProviderUnderTest, Sample, ScenarioCase
from holdfast.testing.fault_proxy import FaultProxy
from holdfast_emulators.kubernetes import ApiServer
from tests.integration.providers.kubernetes import objects
from tests.servers.kubernetes import wait_for

PATHS = {
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Secret": "/api/v1/namespaces/{}/secrets",
    "Service": "/api/v1/namespaces/{}/services",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
}
NAMESPACE = "conformance"
CONTAINER = "/spec/template/spec/containers/0"
_RUNNING: list[ApiServer] = []
IDENTITY = {
    "/apiVersion": "the version of the API is no field of the object",
    "/kind": "another kind is another object",
    "/metadata/name": "another name is another object",
    "/metadata/namespace": "another namespace is another object",
}


@pytest.fixture(scope="module", autouse=True)
def running(kubernetes: ApiServer) -> Iterator[None]:
    """Make the server known to the cases, which are made before it runs."""
    kubernetes("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    made = (PATHS[kind].format(NAMESPACE) for kind in ("ConfigMap", "Secret"))  # by controllers, in every namespace
    for path in made:
        wait_for(lambda path=path: kubernetes("GET", path)["items"])
    _RUNNING.append(kubernetes)
    yield
    _RUNNING.clear()


class Proxy(FaultProxy):
    """Fails calls about objects, and passes discovery on."""

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        await self._session.close()
        connector = aiohttp.TCPConnector(ssl=False)
        self._session = aiohttp.ClientSession(auto_decompress=False, connector=connector)
        return self

    def _next_fault(self, request: web.Request) -> Any:
        is_object = any(f"/{name.rpartition('/')[2]}" in request.path for name in PATHS.values())
        return super()._next_fault(request) if is_object else None


class Injector:
    """Changes objects as another field manager would."""

    async def ids(self, kind: str) -> Collection[str]:
        items = _RUNNING[0]("GET", PATHS[kind].format(NAMESPACE))["items"]
        return [identities.ident(NAMESPACE, item["metadata"]["name"]) for item in items]

    async def get(self, kind: str, ident: str) -> Json:
        live = _RUNNING[0].get(self._path(kind, ident))
        if live is not None:  # what the server counts and its controllers report
            live.pop("status", None)
            for name in ("managedFields", "generation", "resourceVersion"):
                live["metadata"].pop(name, None)
            live["metadata"].get("annotations", {}).pop("deployment.kubernetes.io/revision", None)
            live["metadata"] = {key: value for key, value in live["metadata"].items() if value != {}}
        return live

    async def put(self, kind: str, ident: str, path: FieldPath, value: Json) -> None:
        where = self._path(kind, ident)
        status, answer = 409, cast("dict[str, Any]", {})
        while status == 409:  # controllers write the status in between
            body = apply_patch.put(_RUNNING[0].get(where), path, value)
            status, answer = _RUNNING[0].request("PUT", where, body, fieldManager="drift")
        assert status == 200, (path, answer["message"])

    async def delete(self, kind: str, ident: str) -> None:
        status, answer = _RUNNING[0].request("DELETE", self._path(kind, ident))
        assert status in (200, 202, 404), answer

    def _path(self, kind: str, ident: str) -> str:
        return f"{PATHS[kind].format(NAMESPACE)}/{identities.split_ident(ident)[1]}"


def minimal_deployment(name: str) -> dict[str, Any]:
    wanted = objects.deployment(NAMESPACE, name)
    del wanted["spec"]["replicas"], wanted["metadata"]["labels"]
    (container,) = wanted["spec"]["template"]["spec"]["containers"]
    for field in ("args", "env", "ports", "resources"):
        del container[field]
    return wanted


def secret(name: str) -> dict[str, Any]:
    data = {"password": base64.b64encode(b"a password of " + name.encode()).decode(), "user": "YWRtaW4="}
    head = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque"}
    return {**head, "metadata": {"name": name, "namespace": NAMESPACE}, "data": data}


def labelled(wanted: dict[str, Any]) -> dict[str, Any]:
    wanted["metadata"]["labels"] = {"app": wanted["metadata"]["name"], "tier": "front"}
    return wanted


SAMPLES = (
    Sample(
        "ConfigMap",
        minimal=lambda name: objects.config_map(NAMESPACE, name, color="blue"),
        full=lambda name: labelled(objects.config_map(NAMESPACE, name)),
        fixed=IDENTITY,
        sensitive_path="/data/color",
    ),
    Sample(
        "Deployment",
        minimal=minimal_deployment,
        full=lambda name: objects.deployment(NAMESPACE, name),
        fixed={
            **IDENTITY,
            "/spec/selector/matchLabels/app": "immutable",
            "/spec/template/metadata/labels/app": "must match the selector",
            "/spec/template/metadata/creationTimestamp": "the server never sets it",
            "/spec/template/spec/restartPolicy": "must be Always",
            "/spec/strategy/type": "excludes the other fields of the strategy",
        },
        drift_values={
            f"{CONTAINER}/resources/requests/cpu": "750m",
            f"{CONTAINER}/resources/requests/memory": "2Gi",
            "/spec/strategy/rollingUpdate/maxSurge": "30%",
            "/spec/strategy/rollingUpdate/maxUnavailable": "30%",
            "/spec/template/spec/dnsPolicy": "Default",
            "/spec/template/spec/securityContext": {"runAsUser": 5},
        },
        not_applicable={"second-check-clean": "controllers write its status for a while, which is another state"},
    ),
    Sample(
        "Service",
        minimal=lambda name: objects.service(NAMESPACE, name),
        full=lambda name: labelled(objects.service(NAMESPACE, name)),
        fixed={
            **IDENTITY,
            "/spec/clusterIP": "immutable",
            "/spec/clusterIPs/0": "immutable",
            "/spec/sessionAffinity": "another one has other fields",
            "/spec/type": "another type has other fields",
        },
        drift_values={"/spec/ports/0/protocol": "UDP"},
    ),
    Sample(
        "Secret",
        minimal=lambda name: {key: value for key, value in secret(name).items() if key != "type"},
        full=secret,
        fixed={**IDENTITY, "/type": "immutable"},
        drift_values={"/data/password": "b3RoZXI=", "/data/user": "cm9vdA=="},
    ),
)


@asynccontextmanager
async def cluster() -> AsyncIterator[ProviderUnderTest]:
    """Open the provider behind the proxy, with a kubeconfig that names it."""
    server = _RUNNING[0]
    lists = [f"/api/v1/{name}" for name in ("configmaps", "secrets", "services")]
    async with Proxy(server.url, [*lists, "/apis/apps/v1/deployments"]) as proxy:
        config = json.loads(server.kubeconfig.read_text())
        config["clusters"][0]["cluster"] = {"server": proxy.url}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "kubeconfig")
            file.write_text(json.dumps(config))  # noqa: ASYNC240 - once a case
            connection = Connection("cluster", "kubernetes", {"kubeconfig": str(file)})
            yield ProviderUnderTest(KubernetesProvider(), connection, SAMPLES, Injector(), faults=proxy)


@pytest.mark.parametrize("case", conformance.scenarios(cluster), ids=str)
def test_the_provider_conforms(case: ScenarioCase):
    asyncio.run(case.assert_passes())
