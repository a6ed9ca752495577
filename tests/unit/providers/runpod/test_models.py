"""The classes: strict with people, lenient with the service, and their spellings of one setting in step."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from pydantic import ValidationError

from holdfast.providers import runpod
from holdfast.providers.runpod import (
    CpuInstanceType,
    CpuLiveLoadBalancer,
    CpuLiveServerless,
    CpuLoadBalancerSlsResource,
    CpuServerlessEndpoint,
    CudaVersion,
    DataCenter,
    Effect,
    GpuGroup,
    GpuType,
    KeyValuePair,
    LiveLoadBalancer,
    LiveServerless,
    LoadBalancerSlsResource,
    NetworkVolume,
    PodTemplate,
    ServerlessEndpoint,
    ServerlessResource,
    rules,
)
from holdfast.providers.runpod.resources import gpus

ENDPOINTS = (
    ServerlessEndpoint,
    CpuServerlessEndpoint,
    LoadBalancerSlsResource,
    CpuLoadBalancerSlsResource,
    LiveServerless,
    CpuLiveServerless,
    LiveLoadBalancer,
    CpuLiveLoadBalancer,
)


def endpoint(cls: type[ServerlessResource] = ServerlessEndpoint, **fields: Any) -> ServerlessResource:
    return cls(**{"name": "e", "imageName": "i:1", **fields})


# -- misspelt fields


@pytest.mark.parametrize(
    "field, meant",
    [("worker_max", "workersMax"), ("gpu_ids", "gpuIds"), ("imagename", "imageName"), ("idleTimout", "idleTimeout")],
)
@pytest.mark.parametrize("cls", ENDPOINTS)
def test_a_misspelt_field_is_refused_with_the_one_that_was_meant(cls, field, meant):
    with pytest.raises(ValidationError, match=f"has no field '{field}'; did you mean {meant}"):
        endpoint(cls, **{field: 1})


def test_a_misspelt_attribute_is_refused_too():
    resource = endpoint()
    with pytest.raises(AttributeError, match="has no field 'workerMax'; did you mean workersMax"):
        resource.workerMax = 3
    with pytest.raises(AttributeError, match=r"has no field 'zzz'$"):
        resource.zzz = 3
    resource.workersMax = 3
    assert resource.workersMax == 3


@pytest.mark.parametrize("cls, field", [(PodTemplate, "dockerarg"), (NetworkVolume, "dataCenter")])
def test_templates_and_volumes_are_strict_as_well(cls, field):
    with pytest.raises(ValidationError, match="did you mean"):
        cls(**{"name": "n", field: "x"})


def test_words_of_closed_sets_are_checked_when_people_write_them():
    with pytest.raises(ValidationError, match="did you mean QUEUE_DELAY"):
        endpoint(scalerType="QUEUE_DELY")
    with pytest.raises(ValidationError, match="type is one of QB, LB"):
        endpoint(type="XX")


# -- the service


def test_a_read_survives_words_and_fields_that_nobody_has_heard_of():
    seen = ServerlessEndpoint.from_server(
        {
            "id": "e1",
            "name": "e",
            "type": "STREAM",
            "scalerType": "TOKENS",
            "minCudaVersion": "14.2",
            "allowedCudaVersions": "14.2,12.8",
            "gpuIds": "RUBIN_288,-NVIDIA R100",
            "locations": "MOON-1",
            "instanceIds": ["cpu9x-2-8"],
            "workersMin": 9,
            "workersMax": 1,
            "idleTimeout": 0,
            "shinyNewField": {"a": 1},
            "networkVolume": {"id": "v1", "name": "v", "size": 5000, "dataCenterId": "MOON-1", "tier": "GOLD"},
        }
    )
    assert (seen.type, seen.scalerType, seen.gpuIds) == ("STREAM", "TOKENS", "RUBIN_288,-NVIDIA R100")
    assert (seen.gpus, seen.cudaVersions) == (["RUBIN_288", "-NVIDIA R100"], ["14.2", CudaVersion.V12_8])
    assert seen.networkVolume is not None
    assert seen.networkVolume.dataCenterId == "MOON-1"
    assert seen.model_dump(mode="json")["instanceIds"] == ["cpu9x-2-8"]
    assert seen.config_hash


def test_words_that_are_known_become_members():
    resource = endpoint(
        CpuServerlessEndpoint, instanceIds=["cpu3g-1-4"], scalerType="REQUEST_COUNT", datacenter="eu_ro_1"
    )
    assert resource.instanceIds is not None
    assert resource.instanceIds[0] is CpuInstanceType.CPU3G_1_4
    assert resource.datacenter == [DataCenter.EU_RO_1]
    assert resource.locations == "EU-RO-1"


# -- rules


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"workersMin": 3, "workersMax": 2}, r"workersMin \(3\) cannot be greater than workersMax \(2\)"),
        ({"idleTimeout": 0}, "between 1 and 3600"),
        ({"idleTimeout": 3601}, "between 1 and 3600"),
        ({"python_version": "3.9"}, "python_version is one of"),
        ({"imageName": ""}, "one of imageName, template and templateId"),
        ({"locations": "us-ca-2", "datacenter": "EU-RO-1"}, "name different places"),
        ({"gpus": ["ADA_24"], "gpuIds": "AMPERE_80"}, "gpus and gpuIds differ"),
        ({"cudaVersions": ["12.1"], "allowedCudaVersions": "12.8"}, "cudaVersions and allowedCudaVersions differ"),
        (
            {"networkVolumes": [NetworkVolume(name="v"), NetworkVolume(name="w")]},
            "only one network volume can be used in a data center: 'v' and 'w' are in EU-RO-1",
        ),
        ({"networkVolume": NetworkVolume(name="v"), "datacenter": "US-CA-2"}, "is in EU-RO-1, the endpoint in US-CA-2"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_sent(fields, message):
    with pytest.raises(ValidationError, match=message):
        endpoint(**fields)


def test_cpu_endpoints_know_where_they_can_be_and_how_large_their_disks():
    with pytest.raises(ValidationError, match="US-CA-2 has no CPU workers; EU-RO-1 has"):
        endpoint(CpuServerlessEndpoint, datacenter=["US-CA-2", "EU-RO-1"])
    with pytest.raises(ValidationError, match="30 GB is more than the 10 GB"):
        endpoint(CpuLoadBalancerSlsResource, instanceIds=["cpu3g-1-4"], template=PodTemplate(containerDiskInGb=30))
    assert rules.disk_limit_gb([CpuInstanceType.CPU5C_2_4, CpuInstanceType.CPU3G_8_32]) == 30
    assert rules.disk_limit_gb(["cpu9x-2-8"]) is None
    assert rules.disk_limit_gb(None) is None


def test_a_load_balancer_is_one_and_a_bare_endpoint_needs_no_image():
    with pytest.raises(ValidationError, match="the type of a LoadBalancerSlsResource is LB"):
        endpoint(LoadBalancerSlsResource, type="QB")
    assert (endpoint(LoadBalancerSlsResource).type, endpoint(LoadBalancerSlsResource).scalerType) == (
        "LB",
        "REQUEST_COUNT",
    )
    assert endpoint(LoadBalancerSlsResource, scalerType="QUEUE_DELAY").scalerType == "QUEUE_DELAY"
    assert ServerlessResource(name="e").imageName == ""


@pytest.mark.parametrize(
    "volume, message",
    [({}, "needs a name or an id"), ({"name": " "}, "must not be blank"), ({"name": "v", "size": 9}, "between 10 and")],
)
def test_volumes_have_rules_too(volume, message):
    with pytest.raises(ValidationError, match=message):
        NetworkVolume(**volume)


def test_volumes_are_known_by_name_and_place():
    one, other = NetworkVolume(name="v"), NetworkVolume(name="v", datacenter="us_ca_2")  # type: ignore[call-arg]
    assert one.get_resource_key() != other.get_resource_key()
    assert (other.dataCenterId, one.is_created, NetworkVolume(id="v1").is_created) == ("US-CA-2", False, True)
    assert NetworkVolume(id="v1").get_resource_key() == "NetworkVolume:v1"
    assert NetworkVolume(name="v", size=50).config_hash != NetworkVolume(name="v", size=60).config_hash
    assert NetworkVolume(name="v", id="v1").config_hash == one.config_hash
    assert one.model_dump(mode="json")["dataCenterId"] == "EU-RO-1"


def test_templates_are_known_by_what_they_set():
    one = PodTemplate(name="a", imageName="i:1", env=KeyValuePair.from_dict({"A": "1"}), ports=["80/http"])  # type: ignore[arg-type]
    assert one.config_hash == PodTemplate(name="b", id="t", imageName="i:1", env=one.env, ports="80/http").config_hash
    assert one.config_hash != PodTemplate(name="a", imageName="i:1", env=one.env).config_hash
    assert one.config_hash != PodTemplate(name="a", imageName="i:1", ports="80/http").config_hash


# -- classes


@pytest.mark.parametrize(
    "cls, image",
    [
        (LiveServerless, "runpod/flash:py3.12-latest"),
        (CpuLiveServerless, "runpod/flash-cpu:py3.12-latest"),
        (LiveLoadBalancer, "runpod/flash-lb:py3.12-latest"),
        (CpuLiveLoadBalancer, "runpod/flash-lb-cpu:py3.12-latest"),
    ],
)
def test_live_endpoints_have_an_image_of_their_own_unless_given_one(cls, image):
    assert cls(name="e").imageName == image
    assert cls(name="e", python_version="3.11").imageName == image.replace("3.12", "3.11")
    assert cls(name="e", imageName="i:1").imageName == "i:1"


def test_nothing_of_the_machine_it_runs_on_is_read(monkeypatch):
    before = LiveServerless(name="e").config_hash, endpoint().config_hash
    for name in ("FLASH_GPU_IMAGE", "FLASH_IMAGE_TAG", "RUNPOD_DEFAULT_LOCATIONS", "FLASH_IS_LIVE_PROVISIONING"):
        monkeypatch.setenv(name, "true")
    assert (LiveServerless(name="e").config_hash, endpoint().config_hash) == before


@pytest.mark.parametrize("cls", [CpuServerlessEndpoint, CpuLoadBalancerSlsResource, CpuLiveServerless])
def test_cpu_classes_have_an_instance_and_nothing_of_gpus(cls):
    resource = endpoint(cls, gpus=[GpuGroup.ADA_24], gpuCount=3)
    assert (resource.instanceIds, resource.gpus, resource.gpuIds) == (["cpu3g-2-8"], [], "")
    assert (resource.gpuCount, resource.minCudaVersion) == (0, None)


def test_defaults_are_not_shared():
    one, other = endpoint(), endpoint()
    assert one.gpus is not None
    one.gpus.clear()
    assert other.gpus


# -- spellings in step


def test_setting_one_spelling_sets_the_other():
    resource = endpoint(gpus=[GpuType.NVIDIA_L4])
    assert resource.gpuIds == "AMPERE_24,-NVIDIA GeForce RTX 3090,-NVIDIA RTX A5000"
    resource.gpuIds = "AMPERE_80, ADA_24"
    assert resource.gpus == ["ADA_24", "AMPERE_80"]
    resource.gpus = [GpuGroup.ANY]
    assert resource.gpus == list(gpus.ALL)
    resource.datacenter = "us_ca_2"
    assert resource.model_dump()["datacenter"] == ["US-CA-2"]
    assert resource.locations == "US-CA-2"
    resource.locations = "eu-ro-1"
    assert resource.datacenter is None
    resource.allowedCudaVersions = "12.8,99.1"
    assert resource.cudaVersions == [CudaVersion.V12_8, "99.1"]
    resource.cudaVersions = None
    assert resource.allowedCudaVersions == ""
    volumes = [NetworkVolume(name="v"), NetworkVolume(name="w", dataCenterId="US-CA-2")]
    resource.networkVolumes = volumes
    assert resource.networkVolume is volumes[0]
    resource.networkVolume = volumes[1]
    assert resource.networkVolumes == [volumes[1]]


@pytest.mark.parametrize(
    "text, listed",
    [
        ("ADA_24", ["ADA_24"]),
        ("AMPERE_24,-NVIDIA L4", ["NVIDIA RTX A5000", "NVIDIA GeForce RTX 3090"]),
        ("RUBIN_288,-NVIDIA R100", ["RUBIN_288", "-NVIDIA R100"]),
        ("", []),
    ],
)
def test_selections_of_gpus_survive_the_way_there_and_back(text, listed):
    assert gpus.from_ids(text) == listed
    assert gpus.to_ids(listed) == text


# -- what a change leads to


@pytest.mark.parametrize(
    "cls, fields, effect",
    [
        (ServerlessEndpoint, {}, None),
        (ServerlessEndpoint, {"name": "other"}, None),
        (ServerlessEndpoint, {"template": PodTemplate(imageName="i:9", name="t")}, None),
        (ServerlessEndpoint, {"templateId": "t"}, None),
        (ServerlessEndpoint, {"workersMax": 9, "workersMin": 2}, Effect.IN_PLACE),
        (ServerlessEndpoint, {"scalerValue": 9, "idleTimeout": 9, "executionTimeoutMs": 9}, Effect.IN_PLACE),
        (ServerlessEndpoint, {"workersMax": 9, "imageName": "i:2"}, Effect.ROLLING),
        (ServerlessEndpoint, {"flashboot": False}, Effect.ROLLING),
        (ServerlessEndpoint, {"env": {"A": "1"}}, Effect.ROLLING),
        (ServerlessEndpoint, {"gpuCount": 2}, Effect.ROLLING),
        (ServerlessEndpoint, {"datacenter": "EU-RO-1"}, Effect.ROLLING),
        (ServerlessEndpoint, {"networkVolume": NetworkVolume(name="v")}, Effect.ROLLING),
        (ServerlessEndpoint, {"type": "LB"}, Effect.REPLACE),
        (ServerlessEndpoint, {"flashEnvironmentId": "e2"}, Effect.REPLACE),
        (LoadBalancerSlsResource, {}, Effect.REPLACE),
        (CpuServerlessEndpoint, {}, Effect.REPLACE),
    ],
)
def test_a_change_leads_to_the_gravest_of_its_effects(cls, fields, effect):
    before, after = endpoint(), endpoint(cls, **fields)
    assert before.change_effect(after) is effect
    assert before.has_structural_changes(after) is (effect in (Effect.ROLLING, Effect.REPLACE))
    assert before._has_structural_changes(after) is before.has_structural_changes(after)


def test_a_cpu_instance_is_structural_and_its_gpu_fields_are_not():
    before = endpoint(CpuLoadBalancerSlsResource)
    assert before.has_structural_changes(endpoint(CpuLoadBalancerSlsResource, instanceIds=["cpu3g-1-4"]))
    after = endpoint(CpuLoadBalancerSlsResource)
    after.gpuCount = 4
    assert not before.has_structural_changes(after)


# -- what is loaded when


def test_what_is_exported_is_what_is_there():
    assert set(runpod.__all__) == set(runpod._HOME_OF)
    assert all(getattr(runpod, name) is not None for name in runpod.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Pod'"):
        runpod.Pod  # noqa: B018


@pytest.mark.parametrize("module", ["holdfast", "holdfast.providers.runpod", "holdfast.providers.runpod.provider"])
def test_pydantic_is_loaded_for_the_classes_only(module):
    code = f"import sys, {module}; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
