"""Ownership of fields, and the bodies that follow from it."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.model.path import Path as FieldPath
from holdfast.model.path import Selector
from holdfast.providers.kubernetes import apply_body, attribution, owners, platform
from holdfast.providers.kubernetes.settings import FieldConflicts, Settings

IMAGE = ("spec", "containers", Selector((("name", "app"),)), "image")
SETTINGS = Settings("cluster")


def entry(manager: str, operation: str, fields: dict[str, Any], **more: str) -> dict[str, Any]:
    return {"manager": manager, "operation": operation, "time": "2026-01-02T03:04:05Z", "fieldsV1": fields, **more}


def pod(image: str = "a:1", replicas: int | None = None, *managed: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [{"name": "app", "image": image}]}
    if replicas is not None:
        spec["replicas"] = replicas
    return {"metadata": {"name": "web", "managedFields": list(managed)}, "spec": spec}


def test_fields_are_read_as_paths():
    fields = {
        "f:metadata": {"f:finalizers": {".": {}, 'v:"x"': {}}},
        "f:spec": {"f:containers": {'k:{"name":"app"}': {".": {}, "f:image": {}}}, "f:list": {"i:2": {}}},
        "f:status": {"f:phase": {}},
    }
    (found,) = owners.entries([entry("kubectl-edit", "Update", fields)])
    assert set(found.paths) == {("metadata", "finalizers"), IMAGE, ("spec", "list", 2)}
    assert found.at == 1767323045.0


@pytest.mark.parametrize("managed", [None, [], "x", [{"manager": "m"}], [entry("m", "Update", {"f:status": {}})]])
def test_an_object_without_managers_has_no_owners(managed: Any):
    assert owners.entries(managed) == []


def test_the_status_belongs_to_nobody():
    assert owners.entries([entry("m", "Update", {"f:spec": {"f:a": {}}}, subresource="status")]) == []


def test_owners_are_shown_without_times():
    found = owners.entries([entry("a", "Apply", {"f:spec": {"f:x": {}}}), entry("b", "Update", {"f:data": {}})])
    assert owners.as_document(found) == {"Apply": {"a": ["/spec/x"]}, "Update": {"b": ["/data"]}}


@pytest.mark.parametrize(
    "path, owned",
    [
        (("spec", "args"), True),
        (("spec", "args", 1), True),  # inside a list that is owned as a whole
        (("spec",), True),  # around it
        (("spec", "arguments"), False),
    ],
)
def test_a_path_belongs_to_the_manager_of_what_is_around_and_below_it(path: tuple[str | int, ...], owned: bool):
    assert (owners.owner_of(path, {("spec", "args"): "m"}) is not None) is owned


def test_an_element_with_a_defaulted_key_is_the_same_element():
    whole = Selector((("containerPort", "80"), ("protocol", "TCP")))
    short = Selector((("containerPort", "80"),))
    assert owners.owner_of(("ports", short), {("ports", whole): "m"}) == "m"


def test_actors_have_their_paths_and_the_autoscaler_its_replicas():
    managed = [entry("kubectl-edit", "Update", {"f:spec": {"f:image": {}}})]
    scaler, editor = attribution.likely_actors(managed, "HorizontalPodAutoscaler/web")
    assert (scaler.who, scaler.paths) == ("HorizontalPodAutoscaler/web", ("/spec/replicas",))
    assert (editor.who, editor.paths, editor.at) == ("kubectl-edit", ("/spec/image",), 1767323045.0)


# -- fields of others


def observed(**managers: list[str]) -> dict[str, Any]:
    return {"metadata": {"owners": {"Apply": managers}}, "spec": {"replicas": 5, "args": ["a", "b"]}}


def test_fields_that_another_manager_applies_are_its_own():
    found = platform.changes({}, observed(gitops=["/spec/args"], holdfast=["/spec/replicas"]), SETTINGS)
    assert set(found) == {"/spec", "/spec/args", "/spec/args/0", "/spec/args/1"}
    assert found["/spec/args"] == "gitops applies this field; set fieldConflicts: take to take it over"


@pytest.mark.parametrize(
    "annotation, conflicts, taken",
    [(None, "leave", False), (None, "take", True), ("take", "leave", True), ("leave", "take", False)],
)
def test_the_annotation_goes_before_the_connection(annotation: str | None, conflicts: str, taken: bool):
    desired = {"metadata": {"annotations": {platform.ANNOTATION: annotation} if annotation else {}}}
    assert platform.takes(desired, Settings("cluster", conflicts=FieldConflicts(conflicts))) is taken


# -- bodies


def test_a_path_that_is_left_goes_out_with_its_live_value():
    body = apply_body.for_update(pod(replicas=2), pod(replicas=5), ["/spec/replicas"], {}, {})
    assert body["spec"]["replicas"] == 5


def test_a_path_that_another_manager_applies_is_left_out():
    others: dict[FieldPath, str] = {("spec", "replicas"): "gitops"}
    body = apply_body.for_update(pod(replicas=2), pod(replicas=5), ["/spec/replicas"], {}, others)
    assert "replicas" not in body["spec"]


def test_an_undeclared_path_of_ours_is_kept_and_that_of_an_update_is_not_taken():
    live = {**pod(replicas=5), "data": {"a": "1"}}
    ours: dict[FieldPath, str] = {("spec", "replicas"): "holdfast"}
    body = apply_body.for_update(pod(), live, ["/spec/replicas", "/data/a"], ours, {})
    assert body["spec"]["replicas"] == 5
    assert "data" not in body


def test_a_path_that_is_left_and_absent_is_not_created():
    body = apply_body.for_update(pod(replicas=2), pod(), ["/spec/replicas"], {}, {})
    assert "replicas" not in body["spec"]


def test_what_the_server_writes_is_never_sent():
    desired = {"metadata": {"name": "web", "uid": "u", "resourceVersion": "1"}, "status": {"a": 1}, "spec": {}}
    assert apply_body.for_create(desired) == {"metadata": {"name": "web"}, "spec": {}}


def test_keys_that_old_servers_need_are_filled_in():
    body = apply_body.for_create({"kind": "Service", "metadata": {}, "spec": {"ports": [{"port": 80}]}})
    assert body["spec"]["ports"] == [{"protocol": "TCP", "port": 80}]


def test_removals_go_before_the_apply_with_the_other_corrections():
    live = pod("b:2")
    live["spec"]["containers"].append({"name": "spy", "image": "spy:1"})
    changed = ["/spec/containers[name=app]/image", "/spec/containers[name=spy]"]
    assert sorted(map(str, apply_body.corrections(changed, pod("a:1"), live))) == [
        "{'op': 'remove', 'path': '/spec/containers/1'}",
        "{'op': 'replace', 'path': '/spec/containers/0/image', 'value': 'a:1'}",
    ]
    assert apply_body.corrections(changed[:1], pod("a:1"), live) == []


def test_client_side_apply_keeps_what_we_do_not_apply():
    managed = [
        entry("holdfast", "Apply", {"f:spec": {"f:a": {}, "f:m": {"f:x": {}}}}),
        entry("kubectl-client-side-apply", "Update", {"f:spec": {"f:a": {}, "f:b": {}, "f:m": {".": {}, "f:x": {}}}}),
        entry("other", "Update", {"f:spec": {"f:a": {}}}),
    ]
    found = apply_body.without_owner(managed, ["kubectl-client-side-apply"], "holdfast")
    assert found is not None
    assert [item["fieldsV1"] for item in found] == [
        managed[0]["fieldsV1"],
        {"f:spec": {"f:b": {}}},
        managed[2]["fieldsV1"],
    ]
    assert apply_body.without_owner(found, ["kubectl-client-side-apply"], "holdfast") is None
