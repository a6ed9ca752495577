"""Failures of a real API server: each is told with what to do, and none is taken for drift or for a missing object."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast_emulators.kubernetes import ApiServer
from tests.integration.providers.kubernetes import objects
from tests.integration.providers.kubernetes.conftest import Project
from tests.servers.kubernetes import wait_for


def refused(project: Project, *objects: dict[str, Any]) -> str:
    project.write(*objects)
    done = project.run("apply", "--yes")
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_manifest_that_the_schema_refuses_names_the_field(project: Project):
    """The server answers 500 to an apply that breaks the schema; newer servers answer 400."""
    wanted = objects.deployment(project.namespace)
    wanted["spec"]["replicas"] = "two"
    assert ".spec.replicas" in refused(project, wanted)


def test_an_invalid_value_names_the_field(project: Project):
    wanted = objects.deployment(project.namespace)
    wanted["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    assert "spec.template.metadata.labels" in refused(project, wanted)


def test_an_immutable_field_is_refused_with_its_name(project: Project):
    project.write(objects.deployment(project.namespace))
    project.apply()
    wanted = objects.deployment(project.namespace)
    wanted["spec"]["selector"]["matchLabels"] = {"app": "web", "tier": "x"}
    wanted["spec"]["template"]["metadata"]["labels"] = {"app": "web", "tier": "x"}
    assert "immutable" in refused(project, wanted)


def test_a_quota_is_named(project: Project):
    path = f"/api/v1/namespaces/{project.namespace}/resourcequotas"
    project.server("POST", path, {"metadata": {"name": "q"}, "spec": {"hard": {"count/configmaps": "0"}}})
    wait_for(lambda: project.server("GET", f"{path}/q").get("status", {}).get("hard"))
    assert "exceeded quota" in refused(project, objects.config_map(project.namespace))


def test_an_object_that_is_too_large_is_refused(project: Project):
    assert "make it smaller" in refused(project, objects.config_map(project.namespace, big="x" * 1_200_000))


def test_a_name_that_is_too_long_is_refused_before_any_call(project: Project):
    project.write(objects.config_map(project.namespace, "n" * 254))
    done = project.run("plan")
    assert done.returncode != 0
    assert "k8s/shop.yaml:" in done.stderr
    assert "254 characters" in done.stderr


def test_a_missing_namespace_is_told(project: Project):
    assert "create its namespace" in refused(project, objects.config_map("nowhere"))


def test_an_unknown_kind_of_a_built_in_group_is_unknown_with_a_hint(project: Project):
    project.write({**objects.deployment(project.namespace), "kind": "Deploymnt"})
    (found,) = project.check()["resources"]
    assert found["status"] == "unknown"
    assert "Deployment" in found["reason"]


def test_a_namespaced_kind_without_a_namespace_is_an_error_with_its_line(project: Project):
    wanted = objects.config_map(project.namespace)
    del wanted["metadata"]["namespace"]
    project.write(wanted)
    done = project.run("plan")
    assert done.returncode != 0
    assert "k8s/shop.yaml:7" in done.stderr
    assert "metadata.namespace" in done.stderr
    project.connect(namespace=project.namespace)
    project.apply()
    assert project.server.get(project.path("configmaps", "settings")) is not None


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_a_webhook_that_is_down_is_told_and_passes(project: Project, policy: str):
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    hook = {
        "name": "check.example.org",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": policy,
        "timeoutSeconds": 1,
        "namespaceSelector": {"matchLabels": {"hooked": project.namespace}},
    }
    project.server.merge(
        f"/api/v1/namespaces/{project.namespace}", {"metadata": {"labels": {"hooked": project.namespace}}}, "t"
    )
    project.server("POST", path, {"metadata": {"name": project.namespace}, "webhooks": [hook]})
    try:
        project.write(objects.config_map(project.namespace))
        if policy == "Ignore":
            project.apply()
            return

        def told() -> bool:  # the server loads webhooks a moment after they were made
            done = project.run("apply", "--yes")
            if done.returncode == 0:
                project.server("DELETE", project.path("configmaps", "settings"))
                project.run("forget", "--yes")
                return False
            return "an admission webhook does not answer" in done.stdout

        wait_for(told)
    finally:
        project.server("DELETE", f"{path}/{project.namespace}")


# -- permissions


def allow(project: Project, *verbs: str) -> None:
    """Give the identity `reader` some verbs on ConfigMaps of a namespace, and no others."""
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{project.namespace}"
    role = {
        "metadata": {"name": "r"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": list(verbs)}],
    }
    project.server("POST", f"{path}/roles", role)
    binding = {
        "metadata": {"name": "r"},
        "subjects": [{"kind": "User", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}],
        "roleRef": {"kind": "Role", "name": "r", "apiGroup": "rbac.authorization.k8s.io"},
    }
    project.server("POST", f"{path}/rolebindings", binding)


def test_what_permissions_hide_is_unknown_and_names_verb_kind_and_namespace(project: Project):
    project.write(objects.config_map(project.namespace), objects.service(project.namespace))
    project.apply()
    allow(project, "get")
    project.connect(kubeconfig=str(project.server.kubeconfig_of("reader-token")))
    found = {item["address"].split("/")[1]: item for item in project.check()["resources"]}
    assert found["ConfigMap"]["status"] == "in_sync"
    assert found["Service"]["status"] == "unknown"
    assert f"get services web in namespace {project.namespace}" in found["Service"]["reason"]


def test_a_list_that_is_forbidden_leaves_the_single_reads(project: Project):
    project.write(*(objects.config_map(project.namespace, f"c{number}") for number in range(5)))
    project.apply()
    allow(project, "get")
    project.connect(kubeconfig=str(project.server.kubeconfig_of("reader-token")))
    assert set(project.verdicts().values()) == {"in_sync"}


def test_a_forbidden_write_names_the_verb(project: Project):
    allow(project, "get")
    project.connect(kubeconfig=str(project.server.kubeconfig_of("reader-token")))
    project.write(objects.config_map(project.namespace))
    done = project.run("apply", "--yes")
    assert done.returncode == 1
    assert "grant the verb" in done.stdout


# -- the server


def test_one_group_that_cannot_be_discovered_does_not_hide_the_others(project: Project):
    path = "/apis/apiregistration.k8s.io/v1/apiservices"
    broken = {
        "metadata": {"name": "v1.broken.example.org"},
        "spec": {
            "group": "broken.example.org",
            "version": "v1",
            "groupPriorityMinimum": 10,
            "versionPriority": 10,
            "service": {"name": "none", "namespace": "default"},
            "insecureSkipTLSVerify": True,
        },
    }
    project.server("POST", path, broken)
    try:
        wait_for(lambda: "broken.example.org" in str(project.server("GET", "/apis")))
        thing = {
            "apiVersion": "broken.example.org/v1",
            "kind": "Thing",
            "metadata": {"name": "one", "namespace": project.namespace},
        }
        project.write(thing, objects.config_map(project.namespace))
        found = {item["address"].split("/")[1]: item for item in project.check()["resources"]}
        assert (found["ConfigMap"]["status"], found["Thing"]["status"]) == ("pending", "unknown")
        assert "broken.example.org" in found["Thing"]["reason"]
    finally:
        project.server("DELETE", f"{path}/v1.broken.example.org")


def test_a_server_that_is_away_makes_everything_unknown(project: Project, kubernetes: ApiServer):
    project.write(objects.config_map(project.namespace))
    project.apply()
    kubernetes.stop("kube-apiserver")
    try:
        assert project.resource("ConfigMap", "settings")["status"] == "unknown"
    finally:
        kubernetes.start_api()
    assert project.resource("ConfigMap", "settings")["status"] == "in_sync"
