"""Edits of others on a real API server: each is detected, named, and corrected or left by policy."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.providers.kubernetes import objects
from tests.integration.providers.kubernetes.conftest import Project

APPS = "apps/v1"
IMAGE = "/spec/template/spec/containers[name=app]/image"


def web(project: Project) -> str:
    return project.path("deployments", "web", APPS)


def settings(project: Project) -> str:
    return project.path("configmaps", "settings")


def pods(**container: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": [{"name": "app", **container}]}}}}


def scale(project: Project) -> None:
    path = f"{web(project)}/scale"
    project.server.update(path, lambda body: {**body, "spec": {"replicas": 7}}, "kubectl")


def edit(project: Project) -> None:
    project.server.strategic(web(project), pods(env=[{"name": "MODE", "value": "slow"}]), "kubectl-edit")


def set_image(project: Project) -> None:
    project.server.strategic(web(project), pods(image="shop/web:evil"), "kubectl-set")


def add_label(project: Project) -> None:
    project.server.merge(settings(project), {"metadata": {"labels": {"team": "red"}}}, "kubectl-label")


def change_label(project: Project) -> None:
    project.server.merge(web(project), {"metadata": {"labels": {"tier": "back"}}}, "kubectl-label")


def remove_label(project: Project) -> None:
    project.server.merge(web(project), {"metadata": {"labels": {"tier": None}}}, "kubectl-label")


def restart(project: Project) -> None:
    stamp = {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}}}
    project.server.strategic(web(project), {"spec": {"template": stamp}}, "kubectl-rollout")


def reorder_arguments(project: Project) -> None:
    project.server.strategic(web(project), pods(args=["80", "--port"]), "kubectl-edit")


def add_sidecar(project: Project) -> None:
    body = {"spec": {"template": {"spec": {"containers": [{"name": "spy", "image": "spy:1"}]}}}}
    project.server.strategic(web(project), body, "injector")


def change_data(project: Project) -> None:
    project.server.merge(settings(project), {"data": {"color": "red", "extra": "1"}}, "kubectl-edit")


def update_all(project: Project) -> None:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        body["spec"]["template"]["spec"]["containers"][0]["image"] = "shop/web:other"
        body["spec"]["replicas"] = 4
        return body

    project.server.update(web(project), change, "other-controller")


EDITS: list[tuple[Callable[[Project], None], str, set[str], str | None]] = [
    # A write through /scale leaves no manager on servers before 1.22; newer ones name it.
    (scale, "web", {"/spec/replicas"}, None),
    (edit, "web", {"/spec/template/spec/containers[name=app]/env[name=MODE]/value"}, "kubectl-edit"),
    (set_image, "web", {IMAGE}, "kubectl-set"),
    (add_label, "settings", {"/metadata/labels"}, "kubectl-label"),
    (change_label, "web", {"/metadata/labels/tier"}, "kubectl-label"),
    (remove_label, "web", {"/metadata/labels/tier"}, None),
    (restart, "web", {"/spec/template/metadata/annotations"}, "kubectl-rollout"),
    (reorder_arguments, "web", {"/spec/template/spec/containers[name=app]/args"}, "kubectl-edit"),
    (add_sidecar, "web", {"/spec/template/spec/containers[name=spy]"}, "injector"),
    (change_data, "settings", {"/data/color", "/data/extra"}, "kubectl-edit"),
    (update_all, "web", {IMAGE, "/spec/replicas"}, "other-controller"),
]


@pytest.mark.parametrize("change, name, found, manager", EDITS, ids=[item[0].__name__ for item in EDITS])
def test_an_edit_is_detected_named_and_reverted(
    project: Project, change: Callable[[Project], None], name: str, found: set[str], manager: str | None
):
    project.write(objects.deployment(project.namespace), objects.config_map(project.namespace))
    project.apply()
    assert set(project.verdicts().values()) == {"in_sync"}
    kind = "Deployment" if name == "web" else "ConfigMap"
    path = web(project) if name == "web" else settings(project)
    before = declared(project.server("GET", path))

    change(project)
    drifted = project.resource(kind, name)
    assert drifted["status"] == "drifted"
    assert {finding["path"] for finding in drifted["findings"]} == found
    if manager is not None:
        assert manager in [actor["who"] for actor in drifted["attributedTo"]]

    project.apply()
    assert declared(project.server("GET", path)) == before
    assert set(project.verdicts().values()) == {"in_sync"}
    assert writes_nothing(project, path)


def declared(live: dict[str, Any]) -> dict[str, Any]:
    """Return an object without what the server and its controllers count."""
    found = copy.deepcopy(live)
    found.pop("status", None)
    for name in ("resourceVersion", "generation", "managedFields"):
        found["metadata"].pop(name, None)
    found["metadata"].get("annotations", {}).pop("deployment.kubernetes.io/revision", None)
    if not found["metadata"].get("annotations"):
        found["metadata"].pop("annotations", None)
    return found


def writes_nothing(project: Project, path: str) -> bool:
    """Tell whether a further apply leaves the object as it is; managers and generation prove it."""
    before = project.server("GET", path)["metadata"]
    project.apply()
    after = project.server("GET", path)["metadata"]
    return all(before.get(name) == after.get(name) for name in ("generation", "uid")) and ours(before) == ours(after)


def ours(metadata: dict[str, Any]) -> list[Any]:
    return [item for item in metadata["managedFields"] if item["manager"] == "holdfast"]


def test_a_deleted_object_is_missing_and_recreated(project: Project):
    project.write(objects.config_map(project.namespace))
    project.apply()
    uid = project.server("GET", settings(project))["metadata"]["uid"]
    project.server("DELETE", settings(project))
    assert project.resource("ConfigMap", "settings")["status"] == "missing"
    done = project.run("apply", "--yes", "--recreate")
    assert done.returncode == 0, done.stdout + done.stderr
    assert project.server("GET", settings(project))["metadata"]["uid"] != uid
    assert project.resource("ConfigMap", "settings")["status"] == "in_sync"


def test_delete_removes_the_object(project: Project):
    project.write(objects.config_map(project.namespace), objects.service(project.namespace))
    project.apply()
    done = project.run("delete", "--yes", "--target", "cluster/ConfigMap/*")
    assert done.returncode == 0, done.stdout + done.stderr
    assert project.server.get(settings(project)) is None


def test_a_field_that_left_the_declaration_leaves_the_object(project: Project):
    project.write(objects.config_map(project.namespace, color="blue", level="3"))
    project.apply()
    project.write(objects.config_map(project.namespace, color="blue"))
    project.apply()
    assert project.server("GET", settings(project))["data"] == {"color": "blue"}
    assert project.resource("ConfigMap", "settings")["status"] == "in_sync"


# -- fields of others


def test_a_field_that_another_manager_applies_is_reported_and_left(project: Project):
    project.write(objects.deployment(project.namespace))
    project.apply()
    head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    project.server.apply(web(project), {**head, "spec": {"replicas": 6}}, "gitops")
    found = project.resource("Deployment", "web")
    assert (found["status"], found["action"]) == ("drifted", "report")
    assert "gitops applies this field" in found["reasons"][0]["message"]

    set_image(project)  # another path is still corrected, and the field stays with its manager
    project.apply()
    live = project.server("GET", web(project))
    assert live["spec"]["replicas"] == 6
    assert live["spec"]["template"]["spec"]["containers"][0]["image"] == "shop/web:1.0"
    assert [item["fieldsV1"] for item in live["metadata"]["managedFields"] if item["manager"] == "gitops"] == [
        {"f:spec": {"f:replicas": {}}}
    ]
    assert "f:replicas" not in str([item["fieldsV1"] for item in ours(live["metadata"])])


@pytest.mark.parametrize("where", ["connection", "annotation"])
def test_a_field_of_another_manager_is_taken_where_policy_says_take(project: Project, where: str):
    if where == "connection":
        project.connect(fieldConflicts="take")
        project.write(objects.deployment(project.namespace))
    else:
        project.write(objects.deployment(project.namespace, fieldConflicts="take"))
    project.apply()
    head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    project.server.apply(web(project), {**head, "spec": {"replicas": 6}}, "gitops")
    assert project.resource("Deployment", "web")["status"] == "drifted"
    project.apply()
    assert project.server("GET", web(project))["spec"]["replicas"] == 2
    assert project.resource("Deployment", "web")["status"] == "in_sync"


def test_replicas_of_an_autoscaler_are_reported_and_left(project: Project):
    project.write(objects.deployment(project.namespace))
    project.apply()
    project.server(
        "POST",
        f"/apis/autoscaling/v1/namespaces/{project.namespace}/horizontalpodautoscalers",
        objects.autoscaler(project.namespace),
    )
    scale(project)
    found = project.resource("Deployment", "web")
    assert (found["status"], found["action"]) == ("drifted", "report")
    assert "HorizontalPodAutoscaler/web" in found["reasons"][0]["message"]
    assert "HorizontalPodAutoscaler/web" in [actor["who"] for actor in found["attributedTo"]]
    set_image(project)
    project.apply()
    live = project.server("GET", web(project))["spec"]
    assert (live["replicas"], live["template"]["spec"]["containers"][0]["image"]) == (7, "shop/web:1.0")


def test_the_live_value_stands_while_a_path_is_ignored_given_away_and_taken_again(project: Project):
    """Leaving out a field that only we own would delete it, so an ignored path is sent with its live value."""
    project.write(objects.deployment(project.namespace))
    project.apply()
    scale(project)
    project.write(objects.deployment(project.namespace, onDriftPaths='{"/spec/replicas": "ignore"}'))
    set_image(project)
    project.apply()
    live = project.server("GET", web(project))["spec"]
    assert (live["replicas"], live["template"]["spec"]["containers"][0]["image"]) == (7, "shop/web:1.0")
    assert project.resource("Deployment", "web")["status"] == "in_sync"

    head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    project.server.apply(web(project), {**head, "spec": {"replicas": 5}}, "gitops")
    set_image(project)
    project.apply()
    assert project.server("GET", web(project))["spec"]["replicas"] == 5

    wanted = objects.deployment(project.namespace, fieldConflicts="take")
    wanted["spec"]["replicas"] = 3
    project.write(wanted)
    project.apply()
    assert project.server("GET", web(project))["spec"]["replicas"] == 3


def test_a_declared_change_of_a_field_that_another_manager_applies_is_refused_with_its_name(project: Project):
    project.write(objects.deployment(project.namespace))
    project.apply()
    head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    project.server.apply(web(project), {**head, "spec": {"replicas": 2}}, "gitops")
    wanted = objects.deployment(project.namespace)
    wanted["spec"]["replicas"] = 3
    project.write(wanted)
    done = project.run("apply", "--yes")
    assert done.returncode == 1
    assert "another manager applies /spec/replicas (gitops)" in done.stdout
    assert project.server("GET", web(project))["spec"]["replicas"] == 2


def test_nothing_of_another_applier_is_lost(project: Project):
    """Another manager applies labels, an annotation and a container of its own; our corrections keep all of them."""
    project.write(objects.deployment(project.namespace))
    other = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"owner": "gitops"}, "annotations": {"gitops/sha": "abc"}},
        "spec": {"template": {"spec": {"containers": [{"name": "mesh", "image": "mesh:1"}]}}},
    }
    project.apply()
    project.server.apply(web(project), other, "gitops")
    before = list(project.server("GET", web(project))["metadata"]["managedFields"])
    set_image(project)
    project.apply()
    live = project.server("GET", web(project))
    names = [item["name"] for item in live["spec"]["template"]["spec"]["containers"]]
    assert sorted(names) == ["app", "mesh"]
    assert live["metadata"]["labels"]["owner"] == "gitops"
    assert live["metadata"]["annotations"]["gitops/sha"] == "abc"
    theirs = [item["fieldsV1"] for item in before if item["manager"] == "gitops"]
    assert [item["fieldsV1"] for item in live["metadata"]["managedFields"] if item["manager"] == "gitops"] == theirs


# -- objects made by client-side apply


def client_side(project: Project, body: dict[str, Any]) -> None:
    """Create or change an object as `kubectl apply` does without --server-side."""
    existing = project.server.get(web(project))
    if existing is None:
        collection = web(project).rpartition("/")[0]
        project.server("POST", collection, body, fieldManager="kubectl-client-side-apply")
    else:
        project.server.strategic(web(project), body, "kubectl-client-side-apply")


def test_ownership_moves_from_client_side_apply_at_the_first_write(project: Project):
    client_side(project, objects.deployment(project.namespace))
    project.write(objects.deployment(project.namespace))
    project.apply()
    assert project.resource("Deployment", "web")["status"] == "in_sync"
    set_image(project)
    project.apply()
    managed = project.server("GET", web(project))["metadata"]["managedFields"]
    left = [item["fieldsV1"] for item in managed if item["manager"] == "kubectl-client-side-apply"]
    assert "'f:replicas'" not in str(left)
    assert "'f:image'" not in str(left)

    wanted = objects.deployment(project.namespace)
    del wanted["spec"]["template"]["spec"]["containers"][0]["args"]
    project.write(wanted)
    project.apply()
    assert "args" not in project.server("GET", web(project))["spec"]["template"]["spec"]["containers"][0]


def test_client_side_apply_beside_us_is_drift_of_its_manager(project: Project):
    project.write(objects.deployment(project.namespace))
    project.apply()
    other = objects.deployment(project.namespace)
    other["spec"]["template"]["spec"]["containers"][0]["image"] = "shop/web:2.0"
    client_side(project, other)
    found = project.resource("Deployment", "web")
    assert [finding["path"] for finding in found["findings"]] == [IMAGE]
    assert [actor["who"] for actor in found["attributedTo"]] == ["kubectl-client-side-apply"]
    project.apply()
    assert project.resource("Deployment", "web")["status"] == "in_sync"
