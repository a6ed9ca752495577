"""The two field tables of seed 000, row by row, for queue endpoints and load balancers on GPUs and on CPUs."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.providers.runpod import (
    CpuInstanceType,
    CpuLoadBalancerSlsResource,
    CpuServerlessEndpoint,
    DataCenter,
    EnvPolicy,
    LoadBalancerSlsResource,
    NetworkVolume,
    PodTemplate,
    ServerlessEndpoint,
    ServerlessScalerType,
    ServerlessType,
)
from holdfast.providers.runpod.resources.serverless import ServerlessResource

GPU = (ServerlessEndpoint, LoadBalancerSlsResource)
CPU = (CpuServerlessEndpoint, CpuLoadBalancerSlsResource)
CLASSES = (*GPU, *CPU)

# field, one value, another value, triggers drift on GPU, triggers drift on CPU
TRIGGERS: list[tuple[str, Any, Any, bool, bool]] = [
    ("imageName", "user/image:1.0", "user/image:2.0", True, True),
    ("workersMin", 2, 1, True, True),
    ("workersMax", 5, 4, True, True),
    ("scalerType", ServerlessScalerType.REQUEST_COUNT, ServerlessScalerType.QUEUE_DELAY, True, True),
    ("scalerValue", 4, 5, True, True),
    ("locations", "eu-ro-1", "us-ca-2", True, True),
    ("datacenter", DataCenter.EU_RO_1, None, True, True),
    ("type", ServerlessType.LB, ServerlessType.QB, True, True),
    ("idleTimeout", 5, 6, True, True),
    ("executionTimeoutMs", 600000, 700000, True, True),
    ("flashboot", True, False, True, True),
    ("networkVolume", NetworkVolume(name="v"), NetworkVolume(name="w"), True, True),
    ("instanceIds", [CpuInstanceType.CPU3G_1_4], [CpuInstanceType.CPU3G_2_8], False, True),
    ("gpuIds", "L40", "L4", True, False),
    ("gpuCount", 1, 2, True, False),
    ("allowedCudaVersions", "12.0", "12.1", True, False),
    ("name", "my-endpoint", "your-endpoint", False, False),
]

IGNORED: list[tuple[str, Any]] = [
    ("template", PodTemplate(imageName="user/other:1.0", name="test")),
    ("template", PodTemplate(id="t1", imageName="user/other:1.0", name="test", containerDiskInGb=7)),
    ("templateId", "t1"),
    ("aiKey", "k"),
    ("userId", "u"),
    ("createdAt", "2026-01-04T00:00:00Z"),
    ("activeBuildid", "b"),
    ("id", "e1"),
]


def made(cls: type[ServerlessResource], **fields: Any) -> ServerlessResource:
    return cls(**{"name": "e", "imageName": "user/image:1.0", "workersMax": 5, **fields})


def assigned(cls: type[ServerlessResource], field: str, value: Any) -> ServerlessResource:
    resource = made(cls)
    setattr(resource, field, value)
    return resource


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("field, one, other, on_gpu, on_cpu", TRIGGERS, ids=[row[0] for row in TRIGGERS])
def test_fields_that_trigger_drift(cls, field, one, other, on_gpu, on_cpu):
    drifts = on_gpu if cls in GPU else on_cpu
    before, after = assigned(cls, field, one), assigned(cls, field, other)
    assert (before.config_hash != after.config_hash) is drifts
    assert bool(before.changed_fields(after)) is drifts


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize(
    "field, one, other, on_gpu, on_cpu",
    [row for row in TRIGGERS if row[0] != "type"],
    ids=[row[0] for row in TRIGGERS if row[0] != "type"],
)
def test_it_makes_no_difference_whether_a_field_is_given_or_assigned(cls, field, one, other, on_gpu, on_cpu):
    for value in (one, other):
        assert made(cls, **{field: value}).config_hash == assigned(cls, field, value).config_hash


def test_the_type_of_an_endpoint_counts_where_it_can_be_given():
    one, other = (ServerlessResource(name="e", type=kind) for kind in ServerlessType)
    assert one.config_hash != other.config_hash


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("field, value", IGNORED, ids=[row[0] for row in IGNORED])
def test_fields_that_are_ignored(cls, field, value):
    assert assigned(cls, field, value).config_hash == made(cls).config_hash
    assert made(cls, **{field: value}).config_hash == made(cls).config_hash


@pytest.mark.parametrize("cls", CLASSES)
def test_env_is_ignored_where_the_switch_says_so_and_counts_otherwise(cls, monkeypatch):
    plain, one, other = made(cls), made(cls, env={"A": "1"}), made(cls, env={"A": "2"})
    assert len({plain.config_hash, one.config_hash, other.config_hash}) == 3
    monkeypatch.setattr(ServerlessResource, "ENV_POLICY", EnvPolicy.IGNORE)
    assert len({plain.config_hash, one.config_hash, other.config_hash}) == 1
