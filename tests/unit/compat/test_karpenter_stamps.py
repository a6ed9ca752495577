"""Hashes of Karpenter's controllers, from the specs they were computed of.

The NodeClass hashes are those its own tests pin; the NodePool hashes stand on NodePools that people have published.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from holdfast.compare import hash_schemes
from holdfast.compat.karpenter import hashstructure, stamps
from holdfast.compat.karpenter.hash_annotations import NODEPOOL
from holdfast.compat.karpenter.stamps import EC2_NODE_CLASS, Hashed
from holdfast.model.json import Json

CLASS = {
    "role": "role-1",
    "tags": {"keyTag-1": "valueTag-1", "keyTag-2": "valueTag-2"},
    "context": "fake-context",
    "detailedMonitoring": False,
    "associatePublicIPAddress": False,
    "metadataOptions": {
        "httpEndpoint": "disabled",
        "httpProtocolIPv6": "disabled",
        "httpPutResponseHopLimit": 1,
        "httpTokens": "optional",
    },
    "blockDeviceMappings": [
        {
            "deviceName": "map-device-1",
            "ebs": {
                "deleteOnTermination": False,
                "encrypted": False,
                "iops": 0,
                "kmsKeyID": "fakeKMSKeyID",
                "snapshotID": "fakeSnapshot",
                "throughput": 0,
                "volumeSize": "2G",
                "volumeType": "standard",
            },
        },
        {"deviceName": "map-device-2"},
    ],
    "userData": "userdata-test-1",
    "subnetSelectorTerms": [{"id": "subnet-1"}],  # looked up, not hashed
}


def changed(path: str, value: Json) -> Json:
    spec = copy.deepcopy(CLASS)
    *above, last = path.split("/")
    holder: Json = spec
    for step in above:
        holder = holder[int(step)] if isinstance(holder, list) else holder.setdefault(step, {})
    holder[last] = value
    return spec


def stamp(key: str, version: str, spec: Json, bundle: str | None = "test-ca-bundle") -> str:
    return stamps.digests(key, Hashed(("spec",), bundle))[version]({"spec": spec})


@pytest.mark.parametrize(
    "version, spec, expected",
    [
        ("v6", CLASS, "11148166120438674859"),
        ("v6", changed("userData", "userdata-test-2"), "11774429238106843388"),
        ("v6", changed("tags/keyTag-test-3", "valueTag-test-3"), "9327338697296909506"),
        ("v6", changed("context", "context-2"), "2279761750428738028"),
        ("v6", changed("detailedMonitoring", True), "1936848126751988570"),
        ("v6", changed("instanceStorePolicy", "RAID0"), "16697988646989909967"),
        ("v6", changed("metadataOptions/httpPutResponseHopLimit", 10), "14046948658064232764"),
        ("v6", changed("blockDeviceMappings/0/rootVolume", True), "8875796205856543692"),
        ("v6", changed("blockDeviceMappings/0/ebs/volumeSize", "10G"), "10372902467896351912"),
        ("v6", changed("connectionTracking/tcpEstablishedTimeout", 300), "1619669030802245540"),
        ("v6", changed("connectionTracking/udpStreamTimeout", 120), "13743705849402595405"),
        ("v6", changed("connectionTracking/udpTimeout", 45), "17941926745862994490"),
        ("v6", changed("cpuOptions/nestedVirtualization", "enabled"), "6157846767212910604"),
        ("v5", CLASS, "2608468723537941485"),
        ("v5", changed("blockDeviceMappings/0/ebs/volumeSize", "10G"), "3564293065344858862"),
        ("v4", CLASS, "4950366118253097694"),
        ("v4", changed("blockDeviceMappings/0/ebs/volumeSize", "10G"), "5906178522470964189"),
    ],
)
def test_a_node_class_has_the_hash_that_its_controller_gives_it(version, spec, expected):
    assert stamp(EC2_NODE_CLASS, version, spec) == expected


def test_the_same_hashes_are_among_the_golden_vectors():
    golden = Path(str(hash_schemes.__file__)).parent / "golden/fnv64-struct/1.jsonl"
    lines = golden.read_text().splitlines()
    digests = {json.loads(line)["digest"] for line in lines}
    for version in ("v4", "v5", "v6"):
        assert hashstructure.of_annotation(stamp(EC2_NODE_CLASS, version, CLASS)) in digests


AUTO_MODE = {
    "metadata": {},
    "spec": {
        "expireAfter": "336h",
        "nodeClassRef": {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"},
        "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
        "terminationGracePeriod": "24h0m0s",
    },
}
GETTING_STARTED = {
    "spec": {
        "expireAfter": "720h",
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
        "requirements": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}],
    }
}


@pytest.mark.parametrize(
    "template, expected", [(AUTO_MODE, "4012513481623584108"), (GETTING_STARTED, "6821555240594823858")]
)
def test_a_node_pool_has_the_hash_that_stands_on_it(template, expected):
    assert stamp(NODEPOOL, "v3", template) == expected


def test_how_a_duration_is_written_does_not_count_and_requirements_do_not_either():
    other = copy.deepcopy(AUTO_MODE)
    other["spec"] |= {"expireAfter": "335h60m", "terminationGracePeriod": "1440m", "requirements": []}
    assert stamp(NODEPOOL, "v3", other) == "4012513481623584108"


@pytest.mark.parametrize(
    "field, value",
    [
        ("taints", [{"key": "a", "effect": "NoSchedule"}]),
        ("startupTaints", [{"key": "a", "effect": "NoSchedule"}]),
        ("expireAfter", "Never"),
        ("terminationGracePeriod", "48h"),
    ],
)
def test_what_counts_in_a_node_pool_changes_its_hash(field, value):
    other = copy.deepcopy(AUTO_MODE)
    other["spec"][field] = value
    assert stamp(NODEPOOL, "v3", other) not in {"", "4012513481623584108"}


@pytest.mark.parametrize(
    "key, version, spec, bundle",
    [
        (NODEPOOL, "v3", {"spec": {"kubelet": {}}}, None),
        (NODEPOOL, "v3", {"spec": {"expireAfter": "soon"}}, None),
        (NODEPOOL, "v3", {"spec": {"taints": "none"}}, None),
        (NODEPOOL, "v3", "a text", None),
        (EC2_NODE_CLASS, "v5", CLASS, None),
        (EC2_NODE_CLASS, "v4", {**CLASS, "kubelet": {"maxPods": 1}}, None),
    ],
)
def test_what_cannot_be_told_has_no_hash_at_all(key, version, spec, bundle):
    """A field that is not known here, a setting of the controller that nobody said: never a guess."""
    assert stamp(key, version, spec, bundle) == ""


def test_versions_that_are_not_known_here_are_no_schemes():
    assert set(stamps.digests(NODEPOOL, Hashed(()))) == {"v3"}
    assert set(stamps.digests(EC2_NODE_CLASS, Hashed(()))) == {"v4", "v5", "v6"}
    assert stamps.digests("somebody.else/hash", Hashed(())) == {}
