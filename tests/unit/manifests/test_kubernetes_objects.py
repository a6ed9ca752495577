"""Plain Kubernetes objects as declarations: read without rewriting, and every mistake told with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.compare import yaml_reader
from holdfast.errors import InputError
from holdfast.manifests import loader
from holdfast.manifests.project import ConnectionSpec, ProjectFile
from holdfast.model.json import Json
from holdfast.model.resource import Declaration, ManagementPolicy
from holdfast.policy.dependency_graph import DEPENDS_ON

CLUSTER = {"cluster": ConnectionSpec("cluster", "kubernetes")}


def read(folder: Path, text: str, **settings: Json) -> tuple[Declaration, ...]:
    (folder / "k8s.yaml").write_text(text)
    connections = {"cluster": ConnectionSpec("cluster", "kubernetes", settings)} if settings else CLUSTER
    return loader.read([str(folder)], ProjectFile(folder / "holdfast.yaml", connections=connections)).declarations


def config_map(name: str = "a", more: str = "", data: str = "{x: '1'}") -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: shop\n{more}data: {data}\n"


@pytest.mark.parametrize(
    "text, value",
    [
        ("y", True),
        ("Off", False),
        ("yes", True),
        ("'y'", "y"),
        ("1e3", 1000),
        ("0x10", 16),
        ("010", 8),
        ("0o10", 8),
        ("0b11", 3),
        ("1_000", 1000),
        ("08", 8),
        ("-0x10", -16),
        ("1.5", 1.5),
        ("2001-01-01", "2001-01-01"),
        ("12345678901234567890", 12345678901234567890),
        ("123456789012345678901234567890", 1.2345678901234568e29),
        ("1:30", "1:30"),
        ("~", None),
        ("_1", "_1"),
        ("v1", "v1"),
    ],
)
def test_a_scalar_means_what_kubernetes_means(text: str, value: Json):
    (document,) = yaml_reader.documents(f"a: {text}", as_kubernetes=True)
    assert document.value == {"a": value}
    assert type(document.value["a"]) is type(value)


def test_a_key_means_what_kubernetes_means():
    (document,) = yaml_reader.documents("{y: 1, 1: 2, 0x10: 3, 'n': 4}", as_kubernetes=True)
    assert document.value == {"true": 1, "1": 2, "16": 3, "n": 4}


def test_an_object_is_its_own_wanted_document(tmp_path: Path):
    (found,) = read(tmp_path, config_map(data="{script: 'echo ${HOME}'}"))
    assert str(found.address) == "cluster/ConfigMap/shop/a"
    assert found.desired["data"] == {"script": "echo $${HOME}"}  # escaped, so that it is read as itself
    assert found.desired["apiVersion"] == "v1"


def test_what_a_server_wrote_into_a_manifest_is_left_out(tmp_path: Path):
    (found,) = read(tmp_path, config_map(more="  uid: u\n  creationTimestamp: null\n") + "status: {a: 1}\n")
    assert found.desired["metadata"] == {"name": "a", "namespace": "shop"}
    assert "status" not in found.desired


def test_options_are_annotations(tmp_path: Path):
    annotations = (
        "  annotations:\n    holdfast.dev/onDrift: report\n    holdfast.dev/managementPolicy: observed\n"
        '    holdfast.dev/onDriftPaths: \'{"/data/x": "ignore"}\'\n    other/one: z\n'
    )
    (found,) = read(tmp_path, config_map(more=annotations))
    assert found.policy is ManagementPolicy.OBSERVED
    assert found.options == {"onDrift": "report", "onDriftPaths": {"/data/x": "ignore"}}


def test_an_object_comes_after_its_namespace_and_its_definition(tmp_path: Path):
    text = (
        "apiVersion: g.example/v1\nkind: Widget\nmetadata: {name: w, namespace: shop}\n---\n"
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\n"
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.g.example}\n"
        "spec: {group: g.example, names: {kind: Widget}}\n"
    )
    found = {item.address.kind: item for item in read(tmp_path, text)}
    needs = found["Widget"].annotations[DEPENDS_ON].split(",")
    assert needs == ["cluster/Namespace/shop", "cluster/CustomResourceDefinition/widgets.g.example"]
    assert DEPENDS_ON not in found["Namespace"].annotations


def test_lists_and_tools_of_others_are_told_apart(tmp_path: Path):
    text = (
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Namespace, metadata: {name: a}}\n---\n"
        "apiVersion: v1\nkind: NamespaceList\nitems: [{metadata: {name: b}}]\n---\n"
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n"
    )
    assert [str(item.address) for item in read(tmp_path, text)] == ["cluster/Namespace/a", "cluster/Namespace/b"]


@pytest.mark.parametrize(
    "text, line, words",
    [
        (config_map().replace("  namespace: shop\n", ""), 4, "metadata.namespace"),
        (config_map("1"), 4, "quotes"),
        (config_map().replace("name: a", "generateName: a-"), 4, "generateName"),
        ("apiVersion: v1\nkind: ConfigMap\n", 1, "metadata"),
        ("apiVersion: v1\nmetadata: {name: a}\n", 1, "kind"),
        (config_map(more="  annotations: {holdfast.dev/onDrft: report}\n"), 6, "onDrift"),
        (config_map(more="  annotations: {holdfast.dev/onDrift: maybe}\n"), 6, "onDrift"),
        (config_map(more="  annotations: {holdfast.dev/connection: none}\n"), 1, "there is no connection"),
        (config_map(more="  labels: {a: 1}\n"), 6, "quotes"),
        (config_map() + "---\n" + config_map(), 8, "declared twice"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, line: int, words: str):
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert f"k8s.yaml:{line}" in str(caught.value)
    assert words in str(caught.value)


def test_the_namespace_of_the_connection_is_that_of_objects_without_one(tmp_path: Path):
    (found,) = read(tmp_path, config_map().replace("  namespace: shop\n", ""), namespace="other")
    assert found.address.namespace == "other"


def test_without_a_cluster_kubernetes_objects_belong_to_others(tmp_path: Path):
    (tmp_path / "k8s.yaml").write_text(config_map())
    with pytest.raises(InputError, match="provider: kubernetes"):
        loader.read([str(tmp_path / "k8s.yaml")], ProjectFile(tmp_path / "holdfast.yaml"))
