"""The twelve scenarios that DD-EM-002 requires of the canonical spec hash, under the names it gives them."""

from __future__ import annotations

import copy
import itertools
import random
import re

import pytest

from holdfast.compare import go_json
from holdfast.compare.canonical import canonical_spec_hash, canonical_text
from holdfast.model.json import Json
from tests.vectors.load import vectors

GO = {case["name"]: case for case in vectors("canonical_go")}


def container(name: str, image: str, **more: Json) -> Json:
    mounts = [{"name": "config", "mountPath": "/etc/config"}, {"name": "data", "mountPath": "/data", "readOnly": True}]
    env = [{"name": "LOG_LEVEL", "value": "info"}, {"name": "PORT", "value": "8080"}]
    return {"name": name, "image": image, "env": env, "volumeMounts": mounts, **more}


def deployment() -> Json:
    return {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web", "tier": "frontend"}},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}},
        "template": {
            "metadata": {"labels": {"app": "web", "tier": "frontend"}},
            "spec": {
                "containers": [container("web", "nginx:1.25"), container("sidecar", "envoy:1.29", stdin=True)],
                "volumes": [{"name": "config", "configMap": {"name": "web"}}, {"name": "data", "emptyDir": {}}],
            },
        },
    }


def reversed_keys(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: reversed_keys(value[key]) for key in reversed(value)}
    return [reversed_keys(item) for item in value] if isinstance(value, list) else value


def reversed_lists(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: reversed_lists(item) for key, item in value.items()}
    return [reversed_lists(item) for item in reversed(value)] if isinstance(value, list) else value


def test_ut_hash_001_map_key_order_independence():
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "strategy": {"type": "RollingUpdate"}}
    hashes = {canonical_spec_hash(dict(items)) for items in itertools.permutations(spec.items())}
    assert hashes == {GO["ut-001-key-order-a"]["hash"]}


def test_ut_hash_002_slice_order_independence():
    assert canonical_spec_hash({"items": ["a", "b"]}) == canonical_spec_hash({"items": ["b", "a"]})
    assert canonical_spec_hash({"items": ["b", "a"]}) == GO["ut-002-slice-ba"]["hash"]
    assert canonical_spec_hash({"items": ["a", "a", "b"]}) != canonical_spec_hash({"items": ["a", "b"]})


def test_ut_hash_003_nested_map_and_slice_normalization():
    one = {"l1": {"l2": {"l3": [{"k": [3, 1, 2], "n": "x"}, {"n": "a", "k": [9, 8]}]}}}
    other = {"l1": {"l2": {"l3": [{"k": [8, 9], "n": "a"}, {"n": "x", "k": [2, 3, 1]}]}}}
    assert canonical_spec_hash(one) == canonical_spec_hash(other) == GO["ut-003-nested-1"]["hash"]
    moved = {"l1": {"l2": {"l3": [{"k": [3, 1, 2], "n": "a"}, {"n": "x", "k": [9, 8]}]}}}
    assert canonical_spec_hash(moved) != canonical_spec_hash(one)


def test_ut_hash_004_real_k8s_deployment_spec():
    spec = deployment()
    assert canonical_spec_hash(reversed_keys(spec)) == canonical_spec_hash(spec)
    assert canonical_spec_hash(go_json.loads(canonical_text(spec))) == canonical_spec_hash(spec)
    scaled = deployment()
    scaled["replicas"] = 4
    assert canonical_spec_hash(scaled) != canonical_spec_hash(spec)
    for name in ("ut-004-deployment", "ut-004-deployment-pretty", "ut-004-deployment-reordered"):
        assert canonical_spec_hash(go_json.loads(GO[name]["input"])) == GO["ut-004-deployment"]["hash"]


def test_ut_hash_005_real_k8s_pod_spec_with_reordered_containers():
    pod = deployment()["template"]["spec"]
    reordered = copy.deepcopy(pod)
    reordered["containers"].reverse()
    reordered["volumes"].reverse()
    assert canonical_spec_hash(reordered) == canonical_spec_hash(pod)
    swapped = copy.deepcopy(pod)
    swapped["containers"][0]["image"], swapped["containers"][1]["image"] = "envoy:1.29", "nginx:1.25"
    assert canonical_spec_hash(swapped) != canonical_spec_hash(pod)


def test_ut_hash_006_empty_spec_nil_spec_empty_map():
    empty = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert canonical_spec_hash({}) == canonical_spec_hash(None) == empty
    assert canonical_spec_hash(go_json.loads("null")) == empty
    values: list[Json] = [{}, [], None, "", False, 0]
    nothings = [canonical_spec_hash({"a": value}) for value in values]
    assert len({empty, *nothings}) == 7


@pytest.mark.parametrize("three", ["3", "3.0", "3e0", "30e-1", "0.3E+1"])
def test_ut_hash_007_float_precision_int_or_float(three):
    for mode in ("float64", "int64"):
        assert canonical_spec_hash(go_json.loads(f'{{"replicas":{three}}}', mode)) == canonical_spec_hash(
            {"replicas": 3}
        )
    assert canonical_spec_hash({"replicas": 3.0}) == canonical_spec_hash({"replicas": 3})
    assert canonical_spec_hash({"replicas": "3"}) != canonical_spec_hash({"replicas": 3})
    assert canonical_spec_hash({"replicas": 3.0000000000000004}) != canonical_spec_hash({"replicas": 3})


def test_ut_hash_008_unicode_string_handling():
    literal = {"名前": "größe ✓ 🚀", "emoji": ["🚀", "é", "e\u0301"]}
    escaped = r'{"\u540d\u524d":"gr\u00f6\u00dfe \u2713 \ud83d\ude80","emoji":["\u00e9","e\u0301","\ud83d\ude80"]}'
    assert canonical_spec_hash(go_json.loads(escaped)) == canonical_spec_hash(literal)
    assert canonical_spec_hash({"a": "\u00e9"}) != canonical_spec_hash({"a": "e\u0301"})
    assert "größe ✓ 🚀" in canonical_text(literal)


def test_ut_hash_009_large_spec():
    spec = {"containers": [container(f"c{i}", f"image-{i}:1.{i}") for i in range(60)]}
    assert len(canonical_text(spec)) > 10_000
    shuffled = copy.deepcopy(spec)
    random.Random(9).shuffle(shuffled["containers"])
    assert canonical_spec_hash(shuffled) == canonical_spec_hash(spec)
    shuffled["containers"][30]["env"][0]["value"] = "debug"
    assert canonical_spec_hash(shuffled) != canonical_spec_hash(spec)
    for name in ("ut-009-large-spec", "ut-009-large-spec-shuffled"):
        assert canonical_spec_hash(go_json.loads(GO[name]["input"])) == GO["ut-009-large-spec"]["hash"]


def test_ut_hash_010_idempotency_1000_iterations():
    spec, before = deployment(), deployment()
    hashes = {canonical_spec_hash(spec) for _ in range(1000)}
    assert len(hashes) == 1
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", hashes.pop())
    assert spec == before
    assert list(spec) == list(before)


def test_ut_hash_011_nested_slices_of_maps():
    spec = deployment()
    assert canonical_spec_hash(reversed_lists(spec)) == canonical_spec_hash(spec)
    spec["template"]["spec"]["containers"][0]["volumeMounts"][1]["mountPath"] = "/elsewhere"
    assert canonical_spec_hash(spec) != canonical_spec_hash(deployment())


def test_ut_hash_012_mixed_types_in_slices():
    mixed = ["text", 7, 1.5, True, None, {"k": "v"}, ["nested", 1]]
    hashes = {canonical_spec_hash({"mixed": list(order)}) for order in itertools.permutations(mixed)}
    assert len(hashes) == 1
    assert canonical_spec_hash({"mixed": ["text", "7", 1.5, True, None, {"k": "v"}, ["nested", 1]]}) not in hashes
    # The document promises "booleans < numbers < strings < objects"; its own code sorts by text, and so do we.
    assert canonical_text(mixed) == '["text",1.5,7,["nested",1],null,true,{"k":"v"}]'
