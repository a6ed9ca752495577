"""The tables and the profiles say the same, and everything a table says can be true."""

from __future__ import annotations

import pytest

from holdfast.compare import known_differences, profiles
from holdfast.compare.rule_tree import Node
from holdfast.compare.rules import FieldClass
from holdfast.model.absent import ABSENT
from holdfast.providers.openstack import kind_registry
from holdfast.providers.openstack.cloud import VERSIONS
from holdfast.providers.openstack.kind_definition import KindDefinition, Role

EACH = pytest.mark.parametrize("thing", kind_registry.THINGS, ids=lambda thing: thing.kind)
KINDS = [
    "Network",
    "Subnet",
    "AddressScope",
    "Router",
    "FloatingIP",
    "Port",
    "Trunk",
    "SecurityGroup",
    "Project",
    "User",
    "Image",
    "Flavor",
    "KeyPair",
    "ServerGroup",
    "Server",
    "VolumeType",
    "Volume",
]


def node(thing: KindDefinition, name: str) -> Node:
    tree = profiles.stack(kind_registry.kinds()[thing.kind].profiles).tree()
    return known_differences.node_at(tree, (name,))


def test_all_kinds_are_there():
    assert list(kind_registry.BY_KIND) == KINDS


@EACH
def test_what_is_fixed_at_birth_is_so_in_the_profile_and_nothing_else_is(thing: KindDefinition):
    fixed = {field.name for field in thing.fields if field.role in (Role.FIXED, Role.BIRTH_ONLY)}
    said = {name for name in thing.names if node(thing, name).cls in (FieldClass.CREATE_ONLY, FieldClass.BEHAVIOURAL)}
    assert said == fixed


@EACH
def test_what_only_the_service_sets_is_so_in_the_profile(thing: KindDefinition):
    for field in thing.fields:
        if field.role is Role.READ_ONLY:
            assert node(thing, field.name).cls is FieldClass.READ_ONLY
        if field.role is Role.WRITE_ONLY:
            assert node(thing, field.name).cls is FieldClass.WRITE_ONLY


@EACH
def test_every_rule_is_about_a_field_that_there_is(thing: KindDefinition):
    known = {*thing.names, *(field.name for field in thing.fields)}
    for profile in kind_registry.kinds()[thing.kind].profiles:
        assert {rule.path.text.split("/")[1] for rule in profile.rules} <= known


@EACH
def test_a_kind_has_each_field_once_and_is_found_by_fields_it_has(thing: KindDefinition):
    names = [field.name for field in thing.fields] + [sub.name for sub in thing.subs]
    assert len(names) == len(set(names))
    assert set(thing.found_by) <= set(names)
    assert thing.place.service in VERSIONS


@EACH
def test_every_kind_has_one_profile_and_can_be_listed(thing: KindDefinition):
    kind = kind_registry.kinds()[thing.kind]
    assert (len(kind.profiles), kind.lists, kind.patches) == (1, True, True)
    assert kind.conditional is (thing.revision is not None)


@EACH
def test_a_revision_is_trusted_only_where_there_is_one(thing: KindDefinition):
    assert thing.revision is not None or not thing.trusts_revision


def test_where_the_revision_was_found_not_to_grow_it_is_not_trusted():
    """Measured on Neutron 29: pools, routes and name servers of subnets; sub-ports of trunks."""
    trusted = {thing.kind for thing in kind_registry.THINGS if thing.trusts_revision}
    assert trusted == {"Network", "Router", "FloatingIP", "SecurityGroup"}


def test_tags_are_a_set_everywhere():
    for thing in kind_registry.THINGS:
        if "tags" in thing.names:
            rule = node(thing, "tags").list_rule
            assert rule is not None
            assert rule.kind == "set"


def test_importing_the_tables_does_not_import_the_sdk():
    import subprocess
    import sys

    code = (
        "import sys, holdfast.providers.openstack.provider, holdfast.providers.openstack.references;"
        "sys.exit(any(name.startswith(('openstack', 'keystoneauth1')) for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_absence_has_a_meaning_only_where_the_service_documents_one():
    said = {
        thing.kind: sorted(field.name for field in thing.fields if field.default is not ABSENT)
        for thing in kind_registry.THINGS
    }
    assert said["Network"] == ["adminStateUp", "description", "name", "shared"]
    assert said["Subnet"] == ["description", "dnsNameservers", "enableDhcp", "hostRoutes", "name"]
    assert said["FloatingIP"] == ["description"]
