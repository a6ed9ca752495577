"""A resource class and its YAML say the same; and what was deployed from it reads back as it was declared."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.compare import diff, profiles
from holdfast.errors import InputError
from holdfast.providers.protocol import Target
from holdfast.providers.runpod import (
    CpuLiveLoadBalancer,
    CpuLoadBalancerSlsResource,
    CpuServerlessEndpoint,
    GpuType,
    KeyValuePair,
    LiveServerless,
    LoadBalancerSlsResource,
    NetworkVolume,
    PodTemplate,
    ServerlessEndpoint,
    ServerlessResource,
    declaration,
    kinds,
)
from tests.unit.providers.runpod.world import at_desk, known

RESOURCES: list[ServerlessResource] = [
    ServerlessEndpoint(name="a", imageName="user/image:1.0"),
    ServerlessEndpoint(name="b", imageName="user/image:1.0", gpus=[GpuType.NVIDIA_L4], env={"A": "1"}, workersMax=0),
    ServerlessEndpoint(
        name="c", imageName="user/image:1.0", cudaVersions=["12.8", "12.4"], datacenter=["EU-RO-1", "us_ca_2"]
    ),
    ServerlessEndpoint(
        name="d", imageName="user/image:1.0", scalerType="REQUEST_COUNT", executionTimeoutMs=7, flashboot=False
    ),
    CpuServerlessEndpoint(name="e", imageName="user/image:1.0", instanceIds=["cpu5c-2-4", "cpu3g-1-4"], idleTimeout=7),
    LoadBalancerSlsResource(
        name="f", imageName="user/image:1.0", template=PodTemplate(ports="80/http", dockerArgs="-v")
    ),
    CpuLoadBalancerSlsResource(name="inference-lb", imageName="user/image:1.0", workersMin=2, workersMax=5),
    CpuLiveLoadBalancer(name="g"),
    LiveServerless(name="h", template=PodTemplate(env=[KeyValuePair(key="B", value="2")], containerDiskInGb=7)),
]


def target(resource: ServerlessResource) -> Target:
    return Target("Endpoint", resource.name, None, declaration.endpoint(resource))


@pytest.mark.parametrize("resource", RESOURCES, ids=[type(item).__name__ for item in RESOURCES])
def test_what_is_deployed_reads_back_without_a_difference_that_counts(resource):
    async def story(desk):
        made = await desk.made(target(resource))
        return made.desired, (await desk.found(made)).document

    desired, observed = at_desk(story)
    rules = profiles.stack(kinds.shipped()["Endpoint"].profiles).tree(desired, observed)
    assert not diff.findings(desired, observed, rules)


def test_a_document_is_what_yaml_would_say():
    resource = CpuLoadBalancerSlsResource(name="inference-lb", imageName="user/image:1.0", workersMin=2, workersMax=5)
    assert declaration.endpoint(resource) == {
        "name": "inference-lb",
        "type": "LB",
        "computeType": "CPU",
        "instanceIds": ["cpu3g-2-8"],
        "imageName": "user/image:1.0",
        "template": {"containerDiskInGb": 20},
        "flashboot": True,
        "workersMin": 2,
        "workersMax": 5,
        "idleTimeout": 60,
        "scalerType": "REQUEST_COUNT",
        "scalerValue": 4,
    }


def test_changes_of_any_kind_reach_an_endpoint_that_is_there():
    async def story(desk):
        resource = ServerlessEndpoint(name="a", imageName="user/image:1.0", env={"A": "1"})
        made = await desk.made(target(resource))
        resource.env, resource.imageName, resource.workersMax = {"A": "2"}, "user/image:2.0", 9
        wanted = known(target(resource), made.id)
        await desk.put_right(wanted, "/env/A", "/imageName", "/workersMax")
        return desk.container(made), desk.live(made)["workersMax"]

    container, workers = at_desk(story)
    assert (container["env"], container["imageName"], workers) == ({"A": "2"}, "user/image:2.0", 9)


def test_secrets_and_volumes_are_wrapped_as_the_caller_says():
    resource = ServerlessEndpoint(
        name="a", imageName="i:1", env={"A": "1"}, networkVolume=NetworkVolume(name="v"), flashEnvironmentId="e1"
    )
    with pytest.raises(InputError, match="'v' has no id yet"):
        declaration.endpoint(resource)
    document = declaration.endpoint(resource, lambda value: f"<{value}>", lambda volume: f"${{{volume.name}.id}}")
    assert (document["env"], document["networkVolumes"]) == ({"A": "<1>"}, ["${v.id}"])
    assert document["flashEnvironmentId"] == "e1"
    assert declaration.endpoint(ServerlessEndpoint(name="a", imageName="i:1", networkVolumeId="v1"))[
        "networkVolumes"
    ] == ["v1"]


def test_a_load_balancer_that_scales_by_queue_delay_is_refused_when_it_is_deployed():
    resource = LoadBalancerSlsResource(name="a", imageName="i:1", scalerType="QUEUE_DELAY")
    with pytest.raises(InputError, match="needs the scaler REQUEST_COUNT"):
        declaration.endpoint(resource)


def test_only_the_id_of_a_template_is_passed_on_where_there_is_no_image():
    document = declaration.endpoint(ServerlessEndpoint(name="a", templateId="t1"))
    assert document["templateId"] == "t1"
    assert {"imageName", "template"}.isdisjoint(document)


def test_volumes_and_templates_are_declared_too():
    assert declaration.volume(NetworkVolume(name="v", size=50)) == {"name": "v", "size": 50, "dataCenterId": "EU-RO-1"}
    template: dict[str, Any] = declaration.template(
        PodTemplate(name="t", imageName="i:1", ports="80/http", env=KeyValuePair.from_dict({"A": "1"}))
    )
    assert template == {
        "name": "t",
        "imageName": "i:1",
        "env": {"A": "1"},
        "containerDiskInGb": 64,
        "ports": ["80/http"],
        "isServerless": True,
    }
