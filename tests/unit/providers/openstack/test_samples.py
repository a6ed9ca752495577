"""The samples of the tests on the real services leave no field out, or say why."""

from __future__ import annotations

import pytest

from holdfast.providers.openstack import kind_registry
from holdfast.providers.openstack.kind_definition import KindDefinition, Role
from tests.integration.providers.openstack import samples
from tests.integration.providers.openstack.sampling import Sample

EACH = pytest.mark.parametrize("thing", kind_registry.THINGS, ids=lambda thing: thing.kind)

# Not revert among the others, because the service refuses to: test_traps shows that this is told, once.
ONE_WAY = {("AddressScope", "shared"), ("Volume", "size")}
NOT_HERE = {  # what the services on one machine do not offer
    ("Network", "vlanTransparent"): "needs a driver that can",
    ("Network", "availabilityZoneHints"): "needs agents in zones",
    ("Router", "availabilityZoneHints"): "needs agents in zones",
    ("Router", "flavorId"): "needs another kind of router",
    ("Subnet", "segmentId"): "needs routed networks",
    ("Port", "propagateUplinkStatus"): "needs another plugin",
}
ELSEWHERE = {  # tests of their own
    ("Subnet", "subnetPoolId"): "test_scenarios",
    ("Subnet", "prefixLength"): "test_scenarios",
    ("User", "password"): "test_traps",
    ("Volume", "snapshotId"): "test_scenarios",
    ("Volume", "sourceVolumeId"): "test_scenarios",
}


def of(thing: KindDefinition) -> list[Sample]:
    return [sample for sample in samples.ALL if sample.kind == thing.kind]


@EACH
def test_every_field_that_can_be_changed_is_changed_behind_our_back(thing: KindDefinition):
    mutable = {field.name for field in thing.fields if field.role is Role.MUTABLE} | {sub.name for sub in thing.subs}
    damaged = {drift.path.split("/")[1] for sample in of(thing) for drift in sample.drifts}
    assert {name for name in mutable - damaged if (thing.kind, name) not in ONE_WAY} == set()


@EACH
def test_every_field_is_declared_in_the_fullest(thing: KindDefinition):
    declared = {name for sample in of(thing) for name in sample.full}
    excused = {name for kind, name in {**NOT_HERE, **ELSEWHERE} if kind == thing.kind}
    assert set(thing.names) - declared == excused


@EACH
def test_every_kind_with_something_fixed_shows_what_an_edit_of_it_does(thing: KindDefinition):
    readable = [
        field.name for field in thing.fields if field.role is Role.FIXED and field.name not in ("projectId", "domainId")
    ]
    assert any(sample.immutable for sample in of(thing)) is bool(readable) or thing.kind == "Volume"
