"""The code samples and test sketches of seed 000, as written there; only where things are imported from differs.

What needs a ResourceManager is in tests of the manager.
"""

from __future__ import annotations

from enum import Enum
from typing import ClassVar, Optional, Set  # noqa: UP035 - as written

import pytest
from pydantic import field_serializer

from holdfast.providers.runpod import (
    CpuInstanceType,
    CpuLoadBalancerSlsResource,
    CpuServerlessEndpoint,
    LoadBalancerSlsResource,
    PodTemplate,
    ServerlessEndpoint,
    ServerlessResource,
    ServerlessScalerType,
    ServerlessType,
)

# -- the sketches under "Testing"


def test_lb_config_hash_unchanged_with_same_config():
    """Same configuration produces same hash."""
    lb1 = LoadBalancerSlsResource(name="test-lb", imageName="test/image:latest")
    lb2 = LoadBalancerSlsResource(name="test-lb", imageName="test/image:latest")
    assert lb1.config_hash == lb2.config_hash


def test_lb_config_hash_excludes_template_field():
    """Template object changes don't affect hash."""
    lb1 = LoadBalancerSlsResource(name="test-lb", imageName="test/image:latest")
    hash1 = lb1.config_hash

    lb1.template = PodTemplate(imageName="test/image:latest", name="test")
    hash_after = lb1.config_hash

    assert hash1 == hash_after  # No drift


def test_lb_config_hash_detects_image_change():
    """Image changes DO affect hash."""
    lb1 = LoadBalancerSlsResource(name="test-lb", imageName="test/image:v1")
    lb2 = LoadBalancerSlsResource(name="test-lb", imageName="test/image:v2")
    assert lb1.config_hash != lb2.config_hash  # Drift detected


def test_cpu_lb_config_hash_excludes_gpu_fields():
    """GPU field values don't affect CPU load balancer hash."""
    cpu_lb1 = CpuLoadBalancerSlsResource(
        name="test-cpu-lb",
        imageName="test/image:latest",
        instanceIds=[CpuInstanceType.CPU3G_1_4],
    )
    hash1 = cpu_lb1.config_hash

    cpu_lb1.gpuCount = 4  # Set GPU field
    hash2 = cpu_lb1.config_hash

    assert hash1 == hash2  # No drift


# -- "Hash Computation"


def test_the_runtime_and_excluded_fields_are_those_of_the_text():
    named = {
        "template",  # Assigned by API
        "templateId",  # Assigned by API
        "aiKey",  # Assigned by API
        "userId",  # Assigned by API
        "createdAt",  # Assigned by API
        "activeBuildid",  # Assigned by API
        "computeType",  # Computed by API
        "hubRelease",  # Computed by API
        "repo",  # Computed by API
    }
    assert named | {"flashBootType"} == ServerlessResource.RUNTIME_FIELDS
    assert {"id"} == ServerlessResource.EXCLUDED_HASH_FIELDS


# -- "CPU LoadBalancer Special Case"


def test_the_cpu_relevant_fields_of_the_text_are_hashed_for_cpu_load_balancers():
    cpu_fields = {
        "datacenter",
        "flashboot",
        "imageName",
        "networkVolume",
        "instanceIds",  # CPU instance type
        "workersMin",  # Scaling
        "workersMax",  # Scaling
        "scalerType",  # Scaling policy
        "scalerValue",  # Scaling policy
        "type",  # LB vs QB
        "idleTimeout",  # Timeout
        "executionTimeoutMs",  # Timeout
        "locations",  # Deployment region
    }
    assert cpu_fields <= CpuLoadBalancerSlsResource._hashed_fields
    gpu_only = {"gpuCount", "gpuIds", "allowedCudaVersions", "gpus", "cudaVersions", "minCudaVersion"}
    assert CpuLoadBalancerSlsResource._hashed_fields.isdisjoint(gpu_only)
    assert CpuServerlessEndpoint._hashed_fields == CpuLoadBalancerSlsResource._hashed_fields


# -- "Usage": the two configurations; deploying them is the manager's


def test_changing_the_image_changes_the_hash():
    lb = CpuLoadBalancerSlsResource(name="inference-lb", imageName="user/image:1.0", workersMin=2, workersMax=5)
    stored = lb.config_hash
    lb = CpuLoadBalancerSlsResource(
        name="inference-lb",
        imageName="user/image:2.0",  # Changed!
        workersMin=2,
        workersMax=5,
    )
    assert lb.config_hash != stored
    assert lb.get_resource_key() == "CpuLoadBalancerSlsResource:inference-lb"


# -- "Field List Maintenance"


class WithMaxConcurrency(ServerlessEndpoint):
    maxConcurrency: Optional[int] = None  # noqa: N815, UP045 - as written

    # 1. It's user-specified? YES
    # 2. Add to _hashed_fields
    _hashed_fields = {  # noqa: RUF012 - as written
        *ServerlessEndpoint._hashed_fields,
        "maxConcurrency",  # Add here if should trigger drift
    }


class WithoutAddingIt(ServerlessEndpoint):
    maxConcurrency: Optional[int] = None  # noqa: N815, UP045


@pytest.mark.parametrize("cls", [WithMaxConcurrency, WithoutAddingIt])
def test_a_new_field_triggers_drift_and_causes_no_false_positives(cls):
    # 3. Test that changes trigger drift
    one = cls(name="e", imageName="user/image:1.0", maxConcurrency=4)
    other = cls(name="e", imageName="user/image:1.0", maxConcurrency=5)
    assert one.config_hash != other.config_hash
    assert one.changed_fields(other) == ("maxConcurrency",)
    # 4. Test that setting it doesn't cause false positives
    assert cls(name="e", imageName="user/image:1.0", maxConcurrency=4).config_hash == one.config_hash
    plain = ServerlessEndpoint(name="e", imageName="user/image:1.0")
    assert cls(name="e", imageName="user/image:1.0").config_hash == plain.config_hash


def test_a_new_field_that_the_api_assigns_is_left_out():
    class WithRuntimeField(ServerlessResource):
        RUNTIME_FIELDS: ClassVar[Set[str]] = {  # noqa: UP006 - as written
            *ServerlessResource.RUNTIME_FIELDS,
            "myNewField",  # Add here if API-assigned
        }
        myNewField: Optional[str] = None  # noqa: N815, UP045

    one = WithRuntimeField(name="e", myNewField="a")
    assert one.config_hash == WithRuntimeField(name="e", myNewField="b").config_hash
    assert "myNewField" not in WithRuntimeField._hashed_fields


def test_a_hash_of_named_fields_only_sees_those():
    class Narrow(ServerlessEndpoint):
        _hashed_fields = {"imageName", "workersMax"}  # noqa: RUF012

    one = Narrow(name="e", imageName="user/image:1.0")
    assert one.config_hash == Narrow(name="e", imageName="user/image:1.0", idleTimeout=7).config_hash
    assert one.config_hash != Narrow(name="e", imageName="user/image:1.0", workersMax=7).config_hash


# -- "Enum Serialization Safety"


@pytest.mark.parametrize(
    "field, member, text",
    [("scalerType", ServerlessScalerType.REQUEST_COUNT, "REQUEST_COUNT"), ("type", ServerlessType.LB, "LB")],
)
def test_enums_and_texts_that_were_enums_serialise_alike(field, member, text):
    lb = LoadBalancerSlsResource(name="test-lb", imageName="test/image:latest")
    for value in (member, text):
        setattr(lb, field, value)
        dumped = lb.model_dump(mode="json")[field]
        assert (dumped, type(dumped)) == (text, str)


def test_the_serialiser_of_the_text_works_in_a_subclass():
    class MyEnum(Enum):
        ONE = "one"

    class WithEnum(ServerlessEndpoint):
        myEnumField: Optional[MyEnum] = None  # noqa: N815, UP045

        # Verify field_serializers handle both enum and string
        @field_serializer("myEnumField")
        def serialize_field(self, value):
            if value is None:
                return None
            return value.value if isinstance(value, MyEnum) else value

    one = WithEnum(name="e", imageName="user/image:1.0", myEnumField=MyEnum.ONE)
    before, dumped = one.config_hash, one.model_dump(mode="json")["myEnumField"]
    one.myEnumField = "one"  # type: ignore[assignment]
    assert (one.model_dump(mode="json")["myEnumField"], one.config_hash) == (dumped, before)
