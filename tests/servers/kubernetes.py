"""The real API server for tests. Where it cannot be had tests are skipped by name; with CI=true a skip is a failure.

The server is 1.20.2. A newer one does some things otherwise, and the tests name them where they matter.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast_emulators.debian_packages import Unavailable
from holdfast_emulators.kubernetes import ApiServer, binaries
from holdfast_emulators.local_server import until


def make_pods_run(server: ApiServer, namespace: str, *, are_ready: bool = True) -> int:
    """Report the pods of a namespace as running, as a kubelet would; return how many there are."""
    pods = server("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]
    for pod in pods:
        status = {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": str(are_ready)}],
            "containerStatuses": [
                {"name": item["name"], "image": item["image"], "imageID": "", "ready": are_ready, "restartCount": 0,
                 "state": {"running": {}}}
                for item in pod["spec"]["containers"]
            ],
        }  # fmt: skip
        path = f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}/status"
        server.merge(path, {"status": status}, "kubelet")
    return len(pods)


@pytest.fixture(scope="session")
def kubernetes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A cluster for all tests of this process; each test has a namespace of its own."""
    try:
        programs = binaries()
    except Unavailable as error:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no Kubernetes API server: {error}")
        pytest.skip(f"no Kubernetes API server: {error}")
    server = ApiServer(tmp_path_factory.mktemp("kubernetes"), programs)
    try:
        server.start()
        until(lambda: server.get("/api/v1/namespaces/default") is not None, 30, "there is no default namespace")
        yield server
    finally:
        server.stop()


def wait_for(condition: Any, seconds: float = 60.0) -> Any:
    """Return the first true answer of a condition."""
    end = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.1)
    return answer
