"""All of it needs a real API server, hence `server`; about a minute in all."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from holdfast_emulators.kubernetes import ApiServer
from tests.acceptance.inprocess import invoke
from tests.servers import kubernetes as servers

HERE = Path(__file__).parent
kubernetes = servers.kubernetes


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.server)


class Project:
    """A folder of plain manifests, a namespace, and the commands that a person types."""

    def __init__(self, folder: Path, server: ApiServer) -> None:
        self.folder = folder
        self.server = server
        self.namespace = server.namespace()
        (folder / "k8s").mkdir()
        self.connect()

    def connect(self, **settings: Any) -> None:
        connection = {"provider": "kubernetes", "kubeconfig": str(self.server.kubeconfig), **settings}
        (self.folder / "holdfast.yaml").write_text(yaml.safe_dump({"connections": {"cluster": connection}}))

    def write(self, *objects: dict[str, Any], file: str = "shop.yaml") -> None:
        (self.folder / "k8s" / file).write_text(yaml.safe_dump_all(objects))

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        return invoke(*args, "-f", "k8s", cwd=self.folder)

    def apply(self) -> str:
        done = self.run("apply", "--yes")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def check(self) -> dict[str, Any]:
        done = self.run("check", "-o", "json")
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def verdicts(self) -> dict[str, str]:
        return {item["address"].partition("/")[2]: item["status"] for item in self.check()["resources"]}

    def resource(self, kind: str, name: str) -> dict[str, Any]:
        ending = f"{kind}/{self.namespace}/{name}"
        return next(item for item in self.check()["resources"] if item["address"].endswith(ending))

    def path(self, plural: str, name: str, group: str = "") -> str:
        root = f"/apis/{group}" if group else "/api/v1"
        return f"{root}/namespaces/{self.namespace}/{plural}/{name}"


@pytest.fixture
def project(kubernetes: ApiServer, tmp_path: Path) -> Project:
    return Project(tmp_path, kubernetes)
