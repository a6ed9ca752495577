"""Any kind that the server serves, custom or shared by two groups, and manifests as Kubernetes reads them."""

from __future__ import annotations

import json
import secrets
from typing import Any

import pytest

from tests.integration.providers.kubernetes import objects
from tests.integration.providers.kubernetes.conftest import Project
from tests.servers.kubernetes import wait_for


@pytest.fixture
def group() -> str:
    """A group of the test's own, because definitions are shared by all namespaces."""
    return f"g{secrets.token_hex(4)}.example.org"


def custom(group: str, kind: str, namespace: str | None, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "one", **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "spec": spec}


def test_a_definition_and_its_objects_are_applied_together(project: Project, group: str):
    project.write(custom(group, "Widget", project.namespace, size=2), objects.definition(group, "Widget"))
    assert "2 to add" in project.run("plan").stdout
    project.apply()
    path = f"/apis/{group}/v1/namespaces/{project.namespace}/widgets/one"
    assert project.server("GET", path)["spec"] == {"size": 2, "color": "grey"}
    assert set(project.verdicts().values()) == {"in_sync"}
    project.server.merge(path, {"spec": {"size": 5}}, "kubectl-edit")
    assert project.resource("Widget", "one")["status"] == "drifted"
    project.apply()
    assert project.server("GET", path)["spec"]["size"] == 2


def test_a_removed_definition_makes_its_objects_unknown_and_never_missing(project: Project, group: str):
    project.write(custom(group, "Widget", project.namespace, size=2), file="widget.yaml")
    project.server(
        "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", objects.definition(group, "Widget")
    )
    path = f"/apis/{group}/v1/namespaces/{project.namespace}/widgets"
    wait_for(lambda: project.server.request("GET", path)[0] == 200)
    project.apply()
    definition = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.{group}"
    project.server("DELETE", definition)
    wait_for(lambda: project.server.request("GET", path)[0] == 404)
    found = project.resource("Widget", "one")
    assert found["status"] == "unknown"
    assert "CustomResourceDefinition" in found["reason"]
    project.server(
        "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", objects.definition(group, "Widget")
    )
    wait_for(lambda: project.server.request("GET", path)[0] == 200)
    assert project.resource("Widget", "one")["status"] == "missing"


def test_a_kind_with_the_name_of_a_built_in_kind_is_written_with_its_group(project: Project, group: str):
    project.write(custom(group, "Service", project.namespace, size=1), objects.definition(group, "Service"))
    project.apply()
    assert f"Service.{group}/{project.namespace}/one" in project.verdicts()


def test_a_kind_in_two_groups_is_an_error_with_its_line(project: Project, group: str):
    other = f"o{group}"
    project.write(
        custom(group, "Gadget", project.namespace, size=1), custom(other, "Gadget", project.namespace, size=1)
    )
    done = project.run("plan")
    assert done.returncode != 0
    assert "k8s/shop.yaml:9" in done.stderr
    assert f"holdfast.dev/kind: Gadget.{other}" in done.stderr
    second = custom(other, "Gadget", project.namespace, size=1)
    second["metadata"]["annotations"] = {"holdfast.dev/kind": f"Gadget.{other}"}
    project.write(custom(group, "Gadget", project.namespace, size=1), second)
    assert "2 to add" in project.run("plan").stdout


def test_a_cluster_scoped_custom_kind_has_no_namespace(project: Project, group: str):
    project.connect(namespace=project.namespace)
    project.write(custom(group, "Zone", None, size=1), objects.definition(group, "Zone", "Cluster"))
    project.apply()
    assert project.server("GET", f"/apis/{group}/v1/zones/one")["spec"]["size"] == 1
    assert "Zone/one" in project.verdicts()


@pytest.mark.parametrize("kind", ["List", "ConfigMapList"])
def test_lists_of_objects_are_read(project: Project, kind: str):
    items = [objects.config_map(project.namespace, name) for name in ("a", "b")]
    if kind != "List":
        items = [{key: value for key, value in item.items() if key not in ("apiVersion", "kind")} for item in items]
    project.write({"apiVersion": "v1", "kind": kind, "items": items})
    project.apply()
    assert set(project.verdicts()) == {f"ConfigMap/{project.namespace}/{name}" for name in ("a", "b")}


def test_scalars_mean_what_kubernetes_means(project: Project, group: str):
    project.write(objects.definition(group, "Widget"), file="definition.yaml")
    text = f"""
apiVersion: {group}/v1
kind: Widget
metadata: {{name: one, namespace: {project.namespace}}}
spec: {{size: 0x10}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: plain, namespace: {project.namespace}}}
data: {{"long": "12345678901234567890", script: 'echo ${{HOME}} $(date)'}}
"""
    (project.folder / "k8s/widget.yaml").write_text(text)
    project.apply()
    widget = project.server("GET", f"/apis/{group}/v1/namespaces/{project.namespace}/widgets/one")
    assert widget["spec"]["size"] == 16
    data = project.server("GET", project.path("configmaps", "plain"))["data"]
    assert data == {"long": "12345678901234567890", "script": "echo ${HOME} $(date)"}
    (project.folder / "k8s/widget.yaml").write_text(text.replace('"12345678901234567890"', "y"))
    done = project.run("apply", "--yes")
    assert done.returncode == 1  # `y` is true, and the data of a ConfigMap are strings
    assert "data" in done.stdout


def test_many_objects_are_listed_in_pages(project: Project):
    project.connect(pageSize=2)
    project.write(*(objects.config_map(project.namespace, f"c{number}") for number in range(7)))
    project.apply()
    assert set(project.verdicts().values()) == {"in_sync"}
    project.server.merge(project.path("configmaps", "c3"), {"data": {"color": "red"}}, "kubectl-edit")
    drifted = [address for address, status in project.verdicts().items() if status == "drifted"]
    assert drifted == [f"ConfigMap/{project.namespace}/c3"]


def test_an_object_that_was_replaced_under_its_name_is_drift_of_its_content(project: Project):
    project.write(objects.config_map(project.namespace))
    project.apply()
    path = project.path("configmaps", "settings")
    project.server("DELETE", path)
    other = objects.config_map(project.namespace, color="green")
    project.server("POST", path.rpartition("/")[0], other, fieldManager="other")
    assert project.resource("ConfigMap", "settings")["status"] == "drifted"
    project.apply()
    assert project.server("GET", path)["data"] == {"color": "blue", "level": "3"}


def test_an_exec_plugin_gives_the_token(project: Project):
    config = json.loads(project.server.kubeconfig.read_text())
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "kind": "ExecCredential",
        "status": {"token": project.server.token},
    }
    config["users"][0]["user"] = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1beta1",
            "command": "echo",
            "args": [json.dumps(credential)],
        }
    }
    config["contexts"].append({"name": "other", "context": {"cluster": "t", "user": "nobody"}})
    path = project.folder / "kubeconfig"
    path.write_text(json.dumps(config))
    project.connect(kubeconfig="kubeconfig", context="t")
    project.write(objects.config_map(project.namespace))
    project.apply()
    project.connect(kubeconfig="kubeconfig", context="none")
    done = project.run("check")
    assert done.returncode != 0
    assert "context" in done.stderr
