"""Fingerprints equal the original's, ConfigMaps included, and a failed read never becomes a hash."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import go_json
from holdfast.compat.kubernaut import fingerprint
from holdfast.compat.kubernaut.fingerprint import ConfigMapData, configmap_references, resource_fingerprint
from holdfast.errors import UnhashableError
from holdfast.model.json import Json
from tests.vectors.load import by_name, vectors

CONFIGMAP_CASES = vectors("configmap_go")

CONFIG = ConfigMapData({"log.level": "info"}, {"key": b"\x00\xff"})
DEPLOYMENT: Json = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "resourceVersion": "1"},
    "spec": {"template": {"spec": {"volumes": [{"configMap": {"name": "web"}}, {"configMap": {"name": "extra"}}]}}},
    "status": {"readyReplicas": 1},
}


def cases(operation: str) -> list[Json]:
    return [case for case in CONFIGMAP_CASES if case["op"] == operation]


# --- the object alone ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", vectors("fingerprint_go"), ids=by_name)
def test_an_object_has_the_fingerprint_the_original_gives_it(case):
    for mode in ("int64", "float64"):
        assert resource_fingerprint(go_json.loads(case["object"], mode), mode) == case["hash"]


def test_names_versions_and_status_do_not_count_but_the_template_does():
    moved = {**DEPLOYMENT, "metadata": {"name": "other"}, "status": {}, "apiVersion": "apps/v2", "kind": "X"}
    assert resource_fingerprint(moved) == resource_fingerprint(DEPLOYMENT)
    restarted = json.loads(json.dumps(DEPLOYMENT))
    restarted["spec"]["template"]["metadata"] = {"annotations": {"restartedAt": "now"}}
    assert resource_fingerprint(restarted) != resource_fingerprint(DEPLOYMENT)


@pytest.mark.parametrize("obj", [None, [], "gone", 404, OSError("timed out")], ids=repr)
def test_an_object_that_was_not_read_has_no_fingerprint(obj):
    """The original hashes an empty object instead, and reports drift whenever the API server is away."""
    with pytest.raises(UnhashableError, match="was it read at all"):
        resource_fingerprint(obj)


def test_the_object_is_left_as_it_was():
    before = json.dumps(DEPLOYMENT)
    resource_fingerprint(DEPLOYMENT)
    assert json.dumps(DEPLOYMENT) == before


# --- ConfigMaps as the original hashes them --------------------------------------------------------------------------


@pytest.mark.parametrize("case", cases("configmap_data_hash"), ids=by_name)
def test_content_hashes_as_in_the_original(case):
    binary = {key: base64.b64decode(text) for key, text in case["binary_data_b64"].items()}
    assert fingerprint.configmap_data_hash(case["data"], binary) == case["hash"]


@pytest.mark.parametrize("case", cases("composite"), ids=by_name)
def test_a_composite_hashes_as_in_the_original(case):
    shuffled = dict(reversed(case["configmap_hashes"].items()))
    assert fingerprint.composite(case["fingerprint"], shuffled) == case["hash"]


@pytest.mark.parametrize("case", cases("extract_refs"), ids=by_name)
def test_references_are_found_where_the_original_finds_them(case):
    assert list(configmap_references(case["kind"], json.loads(case["spec"]))) == case["refs"]


def test_an_absent_configmap_hashes_as_the_originals_sentinel():
    (case,) = [case for case in cases("configmap_data_hash") if "sentinel" in case["name"]]
    assert fingerprint.absent_configmap_hash("app-config") == case["hash"]


def test_content_is_sorted_by_key_and_not_by_line():
    expected = hashlib.sha256(b"d:a=1\nd:a-b=2\nb:a=\nb:a-b=").hexdigest()
    content = {"a-b": "2", "a": "1"}, {"a-b": b"", "a": b""}
    assert fingerprint.configmap_data_hash(*content) == f"sha256:{expected}"


def test_every_place_of_a_pod_that_reads_a_configmap_counts():
    pod = {
        "volumes": [
            {"configMap": {"name": "volume"}},
            {"projected": {"sources": [{"configMap": {"name": "projected"}}, {"secret": {"name": "no"}}]}},
            {"secret": {"secretName": "no"}},
        ],
        **{
            kind: [
                {
                    "envFrom": [{"configMapRef": {"name": f"{kind}-from"}}, {"secretRef": {"name": "no"}}],
                    "env": [{"valueFrom": {"configMapKeyRef": {"name": f"{kind}-key", "key": "k"}}}, {"value": "no"}],
                }
            ]
            for kind in ("containers", "initContainers", "ephemeralContainers")
        },
    }
    expected = ["projected", "volume"]
    expected += [f"{k}-{s}" for k in ("containers", "initContainers", "ephemeralContainers") for s in ("from", "key")]
    in_template = {"template": {"spec": pod}}
    for kind, spec in {
        "Pod": pod,
        "CronJob": {"jobTemplate": {"spec": in_template}},
        **dict.fromkeys(("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job"), in_template),
    }.items():
        assert configmap_references(kind, spec) == tuple(sorted(expected))
    assert configmap_references("Service", pod) == configmap_references("deployment", in_template) == ()


@given(
    st.recursive(
        st.none() | st.just("name") | st.just(""),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "volumes",
                        "configMap",
                        "name",
                        "projected",
                        "sources",
                        "containers",
                        "env",
                        "envFrom",
                        "valueFrom",
                    ]
                ),
                x,
            )
        ),
    )
)
def test_a_malformed_pod_refers_to_nothing_and_breaks_nothing(pod):
    assert set(configmap_references("Pod", pod)) <= {"name"}


# --- both together ---------------------------------------------------------------------------------------------------


def test_a_workload_without_configmaps_keeps_its_plain_fingerprint():
    job = {"kind": "Job", "spec": {}}
    assert resource_fingerprint(job, configmaps={"unrelated": CONFIG}) == resource_fingerprint(job)


def test_content_absence_and_reference_all_count():
    read = {"web": CONFIG, "extra": None}
    hashes = [
        resource_fingerprint(DEPLOYMENT),
        resource_fingerprint(DEPLOYMENT, configmaps=read),
        resource_fingerprint(DEPLOYMENT, configmaps={**read, "extra": ConfigMapData()}),
        resource_fingerprint(DEPLOYMENT, configmaps={**read, "web": ConfigMapData({"log.level": "debug"})}),
    ]
    assert len(set(hashes)) == 4
    assert resource_fingerprint(DEPLOYMENT, configmaps={**read, "unrelated": CONFIG}) == hashes[1]


@pytest.mark.parametrize("kind", [None, 7, ["Deployment"]], ids=repr)
def test_an_object_without_a_proper_kind_refers_to_nothing(kind):
    odd = {**DEPLOYMENT, "kind": kind}
    assert resource_fingerprint(odd, configmaps={}) == resource_fingerprint(odd)


@pytest.mark.parametrize(
    "configmaps",
    [
        {"web": CONFIG},
        {"web": CONFIG, "extra": OSError("timed out")},
        {"web": CONFIG, "extra": "unreadable"},
        {"web": CONFIG, "extra": {}},
    ],
    ids=["left out", "an error", "a text", "an unchecked document"],
)
def test_a_configmap_that_was_not_read_is_never_hashed(configmaps):
    """The original hashes a timeout as an absent ConfigMap, and so reports drift that is not there."""
    with pytest.raises(UnhashableError) as caught:
        resource_fingerprint(DEPLOYMENT, configmaps=configmaps)
    assert caught.value.path == "/configMaps/extra"


# --- ours ------------------------------------------------------------------------------------------------------------


def workload(data: dict[str, str]) -> Json:
    pod = {"kind": "Pod", "spec": {"volumes": [{"configMap": {"name": "c"}}]}}
    return {"object": pod, "configMaps": {"c": {"data": data}}}


def test_the_original_takes_a_value_with_a_newline_for_a_second_entry_and_ours_does_not():
    one, two = workload({"a": "1\nd:b=2"}), workload({"a": "1", "b": "2"})
    assert fingerprint.composite_of(one) == fingerprint.composite_of(two)
    assert fingerprint.state_with_configmaps(one) != fingerprint.state_with_configmaps(two)


@given(
    st.dictionaries(st.text(max_size=3), st.text(max_size=3)),
    st.dictionaries(st.text(max_size=3), st.binary(max_size=3)),
)
def test_our_state_holds_exactly_the_content(data, binary):
    encoded = {key: base64.b64encode(value).decode() for key, value in binary.items()}
    given_workload = workload(data)
    given_workload["configMaps"]["c"]["binaryData"] = encoded
    state = fingerprint.state_with_configmaps(given_workload)
    assert state["configMaps"] == {"c": {"data": data, "binaryData": encoded}}


def test_our_state_tells_absent_from_empty_and_ignores_what_is_not_read():
    absent, empty = workload({}), workload({})
    absent["configMaps"]["c"] = None
    assert fingerprint.state_with_configmaps(absent) != fingerprint.state_with_configmaps(empty)
    empty["configMaps"]["unrelated"] = {"data": {"x": "y"}}
    assert fingerprint.state_with_configmaps(empty) == fingerprint.state_with_configmaps(workload({}))


@pytest.mark.parametrize(
    "configmap, path",
    [
        ([], "/configMaps/c"),
        ({"data": []}, "/configMaps/c/data"),
        ({"data": {"a": 1}}, "/configMaps/c/data"),
        ({"binaryData": {"a": "not base64"}}, "/configMaps/c/binaryData/a"),
        ({"binaryData": {"a": "é"}}, "/configMaps/c/binaryData/a"),
    ],
)
def test_a_malformed_configmap_is_refused_with_its_path(configmap, path):
    broken = workload({})
    broken["configMaps"]["c"] = configmap
    with pytest.raises(UnhashableError) as caught:
        fingerprint.state_with_configmaps(broken)
    assert caught.value.path == path


@pytest.mark.parametrize("value", [None, [], {}, {"object": {}}, {"object": None, "configMaps": {}}], ids=repr)
def test_what_is_no_workload_is_refused(value):
    for function in (fingerprint.state_with_configmaps, fingerprint.composite_of):
        with pytest.raises(UnhashableError):
            function(value)


def test_a_lone_surrogate_in_a_configmap_is_refused():
    with pytest.raises(UnhashableError, match="surrogate"):
        fingerprint.configmap_data_hash({"a": "\ud800"}, {})
