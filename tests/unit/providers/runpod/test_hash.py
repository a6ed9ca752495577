"""What is the same configuration and what is another one; and that Flash's own stamps are recognised."""

from __future__ import annotations

import copy
import hashlib
import hmac
import json
import pickle
import time
import timeit
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import hash_schemes
from holdfast.errors import SchemeError, UnhashableError
from holdfast.providers import runpod
from holdfast.providers.runpod import (
    CpuInstanceType,
    CpuLoadBalancerSlsResource,
    CpuServerlessEndpoint,
    CudaVersion,
    DataCenter,
    EnvPolicy,
    GpuGroup,
    GpuType,
    KeyValuePair,
    LiveServerless,
    LoadBalancerSlsResource,
    NetworkVolume,
    PodTemplate,
    ServerlessEndpoint,
    ServerlessResource,
    hashing,
)

VECTORS = [
    json.loads(line)
    for line in (Path(__file__).parents[3] / "vectors" / "flash_md5.jsonl").read_text(encoding="utf-8").splitlines()
]
CLASSES = (ServerlessEndpoint, LoadBalancerSlsResource, CpuServerlessEndpoint, CpuLoadBalancerSlsResource)
A, B = DataCenter.EU_RO_1, DataCenter.US_CA_2
SAME: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"gpus": [GpuGroup.ADA_24, GpuGroup.AMPERE_80]}, {"gpus": [GpuGroup.AMPERE_80, GpuGroup.ADA_24]}),
    ({"gpus": [GpuGroup.ADA_24]}, {"gpus": ["ADA_24"]}),
    ({"gpus": [GpuGroup.ADA_24]}, {"gpuIds": "ADA_24"}),
    ({"gpuIds": "ADA_24,AMPERE_80"}, {"gpuIds": " AMPERE_80, ADA_24,ADA_24,"}),
    ({"gpus": [GpuType.NVIDIA_L4]}, {"gpuIds": "AMPERE_24,-NVIDIA RTX A5000,-NVIDIA GeForce RTX 3090"}),
    ({"gpus": [GpuGroup.ANY]}, {}),
    ({"datacenter": [A, B]}, {"datacenter": [B, A]}),
    ({"datacenter": A}, {"datacenter": [A]}),
    ({"datacenter": A}, {"datacenter": "eu_ro_1"}),
    ({"datacenter": A}, {"locations": "eu-ro-1"}),
    ({"locations": "EU-RO-1,US-CA-2"}, {"locations": "us-ca-2, eu-ro-1"}),
    ({"datacenter": []}, {"datacenter": None}),
    ({"locations": ""}, {"locations": None}),
    ({"cudaVersions": [CudaVersion.V12_8, CudaVersion.V12_1]}, {"cudaVersions": ["12.1", "12.8"]}),
    ({"cudaVersions": ["12.1", "12.8"]}, {"allowedCudaVersions": "12.8,12.1"}),
    ({"cudaVersions": []}, {"allowedCudaVersions": None}),
    ({"minCudaVersion": CudaVersion.V12_4}, {"minCudaVersion": "12.4"}),
    ({"env": {}}, {"env": None}),
    ({"env": {"A": "1", "B": "2"}}, {"env": {"B": "2", "A": "1"}}),
    ({"env": {"A": "1"}}, {"env": {"A": "1", "RUNPOD_API_KEY": "k", "_FLASH_SOURCE_FINGERPRINT": "f"}}),
    ({"imageName": "i:1"}, {"imageName": "i:1", "templateId": ""}),
    ({"networkVolume": NetworkVolume(name="v")}, {"networkVolumes": [NetworkVolume(name="v")]}),
    ({"networkVolume": NetworkVolume(name="v")}, {"networkVolume": NetworkVolume(name="v", id="v1")}),
    ({"networkVolume": NetworkVolume(id="v1")}, {"networkVolumeId": "v1"}),
    ({"networkVolumes": []}, {"networkVolumes": None}),
    ({"workersMin": 0}, {"workersMin": None}),
    ({"executionTimeoutMs": 0}, {"executionTimeoutMs": None}),
    ({"flashEnvironmentId": ""}, {"flashEnvironmentId": None}),
    ({"flashboot": False}, {"flashboot": None}),
    ({"name": "e"}, {"name": "e-fb-fb"}),
    ({"scalerType": "QUEUE_DELAY"}, {}),
]
CPU_SAME: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {"instanceIds": [CpuInstanceType.CPU3G_1_4, CpuInstanceType.CPU5C_2_4]},
        {"instanceIds": ["cpu5c-2-4", "cpu3g-1-4"]},
    ),
    ({"gpus": [GpuGroup.ADA_24], "gpuCount": 4, "minCudaVersion": "12.1"}, {}),
]
DIFFERENT: list[dict[str, Any]] = [
    {},
    {"gpus": [GpuGroup.ADA_24]},
    {"gpus": [GpuType.NVIDIA_L4]},
    {"gpus": [GpuGroup.AMPERE_24]},
    {"gpus": ["RUBIN_288"]},
    {"gpuCount": 2},
    {"cudaVersions": ["12.8"]},
    {"minCudaVersion": "13.1"},
    {"minCudaVersion": None},
    {"datacenter": A},
    {"datacenter": B},
    {"datacenter": "MOON-1"},
    {"env": {"A": "1"}},
    {"env": {"A": "2"}},
    {"env": {"PORT": "8000"}},
    {"env": {"PORT": "9000"}},
    {"flashboot": False},
    {"imageName": "i:2"},
    {"networkVolume": NetworkVolume(name="v")},
    {"networkVolume": NetworkVolume(name="v", size=200)},
    {"networkVolume": NetworkVolume(name="v", dataCenterId=B)},
    {"networkVolume": NetworkVolume(id="v1")},
    {"networkVolumes": [NetworkVolume(name="v"), NetworkVolume(name="v", dataCenterId=B)]},
    {"python_version": "3.11"},
    {"executionTimeoutMs": 1},
    {"idleTimeout": 1},
    {"idleTimeout": None},
    {"flashEnvironmentId": "e1"},
    {"scalerType": "REQUEST_COUNT"},
    {"scalerValue": 5},
    {"scalerValue": 0.5},
    {"workersMax": 0},
    {"workersMax": None},
    {"workersMax": 2},
    {"workersMin": 1},
    {"workersPFBTarget": 1},
    {"template": PodTemplate(containerDiskInGb=10)},
    {"template": PodTemplate(ports="8000/http")},
    {"template": PodTemplate(dockerArgs="-v")},
    {"template": PodTemplate(env=[KeyValuePair(key="A", value="3")])},
]


def endpoint(cls: type[ServerlessResource] = ServerlessEndpoint, **fields: Any) -> ServerlessResource:
    return cls(**{"name": "e", "imageName": "i:1", **fields})


@pytest.mark.parametrize("one, other", SAME)
def test_one_configuration_in_two_spellings_has_one_hash(one, other):
    first, second = endpoint(**one), endpoint(**other)
    assert first.config_hash == second.config_hash
    assert first.changed_fields(second) == ()
    assert first.change_effect(second) is None


@pytest.mark.parametrize("cls", [CpuServerlessEndpoint, CpuLoadBalancerSlsResource])
@pytest.mark.parametrize("one, other", CPU_SAME)
def test_one_cpu_configuration_in_two_spellings_has_one_hash(cls, one, other):
    assert endpoint(cls, **one).config_hash == endpoint(cls, **other).config_hash


def test_every_change_of_a_users_field_gives_another_hash():
    hashes = {endpoint(**fields).config_hash: fields for fields in DIFFERENT}
    assert len(hashes) == len(DIFFERENT)


@pytest.mark.parametrize("cls", CLASSES)
def test_every_config_field_of_every_class_counts(cls):
    changes: dict[str, Any] = {
        "env": {"A": "1"},
        "executionTimeoutMs": 7,
        "flashEnvironmentId": "e",
        "flashboot": False,
        "idleTimeout": 7,
        "imageName": "i:2",
        "locations": "EU-RO-1",
        "networkVolumes": [NetworkVolume(name="v")],
        "python_version": "3.10",
        "scalerType": "QUEUE_DELAY" if endpoint(cls).scalerType == "REQUEST_COUNT" else "REQUEST_COUNT",
        "scalerValue": 7,
        "type": "other",
        "workersMax": 7,
        "workersMin": 1,
        "workersPFBTarget": 7,
        "gpuIds": "ADA_24",
        "gpuCount": 7,
        "allowedCudaVersions": "12.1",
        "minCudaVersion": "12.1",
        "instanceIds": ["cpu3g-8-32"],
    }
    missing = cls._hashed_fields - changes.keys() - runpod.resources.endpoint_fields.SPELLINGS.keys()
    assert not missing
    for name in cls._hashed_fields & changes.keys():
        changed = endpoint(cls)
        setattr(changed, name, changes[name])
        assert endpoint(cls).changed_fields(changed) == (name,)
        assert endpoint(cls).config_hash != changed.config_hash


def test_numbers_that_were_written_as_texts_are_numbers():
    one, other = endpoint(workersMax=5, scalerValue=2), endpoint()
    other.workersMax, other.scalerValue = "5", "2"  # type: ignore[assignment]
    assert one.config_hash == other.config_hash


def test_lists_changed_in_place_are_noticed():
    resource = endpoint(gpus=[GpuGroup.ADA_24], datacenter=[A], networkVolume=NetworkVolume(name="v"))
    hashes = [resource.config_hash]
    assert resource.gpus is not None
    resource.gpus.append(GpuGroup.AMPERE_80)
    hashes.append(resource.config_hash)
    assert resource.gpuIds == "ADA_24,AMPERE_80"
    assert isinstance(resource.datacenter, list)
    resource.datacenter.append(B)
    hashes.append(resource.config_hash)
    assert resource.networkVolume is not None
    resource.networkVolume.size = 200
    hashes.append(resource.config_hash)
    assert len(set(hashes)) == 4
    same = endpoint(gpus=["AMPERE_80", "ADA_24"], datacenter=[B, A], networkVolume=NetworkVolume(name="v", size=200))
    assert same.config_hash == hashes[-1]


def test_copies_and_pickles_keep_the_hash():
    resource = endpoint(gpus=[GpuType.NVIDIA_L4], env={"A": "1"}, networkVolume=NetworkVolume(name="v"))
    for twin in (copy.deepcopy(resource), resource.model_copy(), pickle.loads(pickle.dumps(resource))):
        assert twin.config_hash == resource.config_hash
    again = ServerlessEndpoint.model_validate(resource.model_dump(mode="json"))
    assert again.config_hash == resource.config_hash


def test_a_users_own_template_counts_and_one_that_came_from_the_api_does_not():
    plain = endpoint()
    own = endpoint(template=PodTemplate(containerDiskInGb=10))
    assigned = endpoint(template=PodTemplate(id="t1", containerDiskInGb=10))
    assert (own.config_hash != plain.config_hash, assigned.config_hash == plain.config_hash) == (True, True)
    assert own.changed_fields(plain) == ("template",)


def test_the_image_counts_wherever_it_comes_from():
    by_field = ServerlessEndpoint(name="e", imageName="i:1")
    by_template = ServerlessEndpoint(name="e", template=PodTemplate(imageName="i:1"))
    by_id, by_other_id = (ServerlessEndpoint(name="e", templateId=ident) for ident in ("t1", "t2"))
    assert by_field.config_hash == by_template.config_hash
    assert len({by_field.config_hash, by_id.config_hash, by_other_id.config_hash}) == 3


def test_the_class_itself_is_not_configuration():
    one, other = (cls(name="e", imageName="runpod/flash:py3.12-latest") for cls in (ServerlessEndpoint, LiveServerless))
    assert one.config_hash == other.config_hash == LiveServerless(name="e").config_hash


# -- the environment


@pytest.mark.parametrize(
    "policy, counts_own, counts_injected",
    [(EnvPolicy.MANAGED, True, False), (EnvPolicy.STRICT, True, True), (EnvPolicy.IGNORE, False, False)],
)
def test_the_policy_says_which_variables_count(monkeypatch, policy, counts_own, counts_injected):
    monkeypatch.setattr(ServerlessResource, "ENV_POLICY", policy)
    plain = endpoint().config_hash
    assert (endpoint(env={"A": "1"}).config_hash != plain) is counts_own
    assert (endpoint(env={"RUNPOD_API_KEY": "k"}).config_hash != plain) is counts_injected


@pytest.mark.parametrize("key", [b"", b"k", b"k" * 64, b"k" * 65, b"k" * 200])
def test_the_fingerprint_is_the_hmac_that_its_name_says(key):
    env = {"B": "2", "A": "ü"}
    wanted = hmac.digest(key, '{"A":"ü","B":"2"}'.encode(), "sha256").hex()
    assert hashing.env_fingerprint(env, EnvPolicy.STRICT, key) == f"hmac-sha256:{wanted}"


def test_no_value_of_the_environment_is_in_the_document_and_a_key_makes_it_ours():
    resource = endpoint(env={"PASSWORD": "hunter2"})
    document = resource.config_document()
    assert "hunter2" not in json.dumps(document)
    assert document["env"].startswith("hmac-sha256:")
    assert resource.config_hash_with(b"mine") not in (resource.config_hash, resource.config_hash_with(b"yours"))
    assert resource.config_hash_with(hashing.DEFAULT_KEY) == resource.config_hash


# -- schemes


def test_the_hash_is_a_stamp_of_a_registered_scheme():
    resource = endpoint(env={"A": "1"}, networkVolume=NetworkVolume(name="v"))
    stamp = hash_schemes.StampedHash.parse(resource.config_hash)
    assert stamp == hash_schemes.REGISTRY.get("runpod-config/1").stamp(resource.config_document())
    other = hash_schemes.StampedHash.parse(endpoint().config_hash)
    assert hash_schemes.compare(stamp, other) is hash_schemes.HashComparison.DIFFERENT
    flash = hash_schemes.StampedHash("flash-md5/1", f"md5:{resource.flash_hash}")
    assert hash_schemes.StampedHash.parse(str(flash)) == flash
    assert hash_schemes.compare(stamp, flash) is hash_schemes.HashComparison.INCOMPARABLE


def test_registering_twice_does_no_harm_and_a_flash_hash_needs_a_class():
    registry = hash_schemes.Registry()
    hashing.register(registry)
    hashing.register(registry)
    assert {scheme.id for scheme in registry} == {"runpod-config/1", "flash-md5/1"}
    with pytest.raises(SchemeError):
        registry.register(hashing.CONFIG)
    with pytest.raises(UnhashableError):
        hashing.flash_digest({"config": {}})


# From research/flash.md, computed with Flash 1.19.0.
GOLDEN = [
    (LoadBalancerSlsResource(name="test-lb", imageName="test/image:latest"), "bf7118d9e46fd7ce5324186fab0cf09d"),
    (
        CpuLoadBalancerSlsResource(name="inference-lb", imageName="user/image:1.0", workersMin=2, workersMax=5),
        "47df468100ccdd055a447c26a4f8e502",
    ),
    (CpuServerlessEndpoint(name="c", imageName="user/image:1.0"), "7206938ac35cf92f4a1e1a2fca1621a1"),
    (
        ServerlessEndpoint(
            name="g",
            imageName="user/image:1.0",
            gpus=[GpuGroup.AMPERE_80],
            env={"A": "1"},
            datacenter="EU-RO-1",
            networkVolume=NetworkVolume(name="v", size=50),
        ),
        "721563770fc191561fb7481db0d1348a",
    ),
    (LiveServerless(name="g"), "d4df6460313a92c04b719b5e06a06b9d"),
    (NetworkVolume(name="v", size=50), "8365f60ce7b7ca01658d06836cfbb371"),
]


@pytest.mark.parametrize("resource, digest", GOLDEN, ids=[type(row[0]).__name__ for row in GOLDEN])
def test_the_golden_vectors_of_flash(resource, digest):
    assert resource.flash_hash == digest


@pytest.mark.parametrize("name", sorted({vector["class"] for vector in VECTORS}))
def test_hashes_computed_by_flash_1_21(name):
    wrong = [
        vector["fields"]
        for vector in VECTORS
        if vector["class"] == name and getattr(runpod, name)(**vector["fields"]).flash_hash != vector["hash"]
    ]
    assert not wrong


@pytest.mark.parametrize("resource", [row[0] for row in GOLDEN[:4]], ids=[type(row[0]).__name__ for row in GOLDEN[:4]])
def test_a_hash_costs_less_than_by_the_way_the_text_shows(resource):
    hidden = set(resource.RUNTIME_FIELDS | resource.EXCLUDED_HASH_FIELDS)

    def as_in_the_text() -> str:
        dumped = resource.model_dump(exclude_none=True, exclude=hidden, mode="json")
        text = f"{type(resource).__name__}:{json.dumps(dumped, sort_keys=True)}"
        return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()

    ours = min(timeit.repeat(lambda: resource.config_hash, number=300, repeat=9, timer=time.process_time))
    theirs = min(timeit.repeat(as_in_the_text, number=300, repeat=9, timer=time.process_time))
    assert ours < theirs


@given(
    st.permutations([GpuGroup.ADA_24, GpuGroup.AMPERE_80, GpuType.NVIDIA_L4, "RUBIN_288"]),
    st.permutations([A, B, "MOON-1"]),
)
def test_order_never_counts(cards, centres):
    assert (
        endpoint(gpus=cards, datacenter=centres).config_hash
        == endpoint(gpus=sorted(cards), datacenter=sorted(centres)).config_hash
    )
