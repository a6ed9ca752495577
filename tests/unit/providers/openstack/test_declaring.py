"""What people write: names, references in the manner of OpenStack Resource Controller, what is left unsaid."""

from __future__ import annotations

import pytest

from holdfast.errors import InputError
from holdfast.providers import registry
from holdfast.providers.openstack import kind_registry, naming, references, settings
from holdfast.providers.protocol import Connection, Draft


def completed(kind: str, desired, *, ours: bool = True, namespace: str | None = None):
    complete = kind_registry.kinds()[kind].complete
    assert complete is not None
    return complete(Draft("it", namespace, desired, ours))


# -- names


@pytest.mark.parametrize(
    "api, name",
    [
        ("admin_state_up", "adminStateUp"),
        ("router:external", "external"),
        ("binding:vnic_type", "vnicType"),
        ("ipv6_ra_mode", "ipv6RaMode"),
        ("mtu", "mtu"),
    ],
)
def test_names_are_those_of_the_api_in_another_spelling(api, name):
    assert naming.camel(api) == name


@pytest.mark.parametrize("name", ["adminStateUp", "ipv6RaMode", "remoteIpPrefix", "mtu", "port1Id"])
def test_spelling_goes_there_and_back(name):
    assert naming.camel(naming.snake(name)) == name


# -- what is left unsaid


def test_a_thing_of_ours_is_called_what_its_manifest_calls_it():
    found = completed("Network", {"mtu": 1400})
    assert found == {
        "mtu": 1400,
        "name": "it",
        "description": "",
        "adminStateUp": True,
        "shared": False,
        "tags": [],
    }
    assert completed("Network", {}, namespace="team")["name"] == "it@team"
    assert completed("Network", {"name": "other"})["name"] == "other"


def test_what_is_imported_is_held_to_its_declaration_and_no_more():
    assert completed("Network", {"mtu": 1400}, ours=False) == {"mtu": 1400}


def test_an_explicit_null_stays():
    assert completed("FloatingIP", {"portId": None, "floatingNetworkId": "n"})["portId"] is None


def test_a_field_that_there_is_not_is_refused_with_a_guess():
    with pytest.raises(InputError, match="no field 'admin_state_up'; did you mean 'adminStateUp'") as caught:
        completed("Network", {"admin_state_up": True})
    assert caught.value.location.field == "/admin_state_up"
    with pytest.raises(InputError, match="it has name, "):
        completed("Network", {"zzz": True})


def test_rules_and_maps_come_in_the_spelling_of_the_service():
    rules = completed("SecurityGroup", {"rules": [{"protocol": "6"}, {"protocol": "tcp"}]})["rules"]
    assert rules == [{"direction": "ingress", "ethertype": "IPv4", "protocol": "tcp"}]
    assert completed("Flavor", {"extraSpecs": {"a": 1, "b": True}})["extraSpecs"] == {"a": "1", "b": "true"}


# -- references


def test_references_in_the_manner_of_orc():
    given = {
        "networkRef": "core",
        "fixedIps": [{"subnetRef": "a", "ipAddress": "10.0.0.5"}],
        "securityGroupRefs": ["web", "ssh"],
    }
    found, type_ = references.rewritten("Port", given)
    assert type_ is None
    assert found == {
        "networkId": "${Network/core.id}",
        "fixedIps": [{"subnetId": "${Subnet/a.id}", "ipAddress": "10.0.0.5"}],
        "securityGroups": ["${SecurityGroup/web.id}", "${SecurityGroup/ssh.id}"],
    }
    assert references.rewritten("Volume", {"volumeTypeRef": "gold"})[0] == {"volumeType": "${VolumeType/gold.name}"}
    assert references.rewritten("Server", {"keypairRef": "k"})[0] == {"keyName": "${KeyPair/k.id}"}


@pytest.mark.parametrize(
    "given, field, words",
    [
        ({"networkRef": 5}, "/networkRef", "name of a Network"),
        ({"networkRef": ""}, "/networkRef", "name of a Network"),
        ({"securityGroupRefs": "web"}, "/securityGroupRefs", "a list of names"),
        ({"networkRef": "a", "networkId": "b"}, "/networkRef", "say the same"),
        ({"networkId": "b", "networkRef": "a"}, "/networkRef", "say the same"),
        ({"wat": 1}, "/wat", "no field 'wat'"),
    ],
)
def test_a_reference_that_is_none_is_told_with_its_place(given, field, words):
    with pytest.raises(InputError, match=words) as caught:
        references.rewritten("Port", given)
    assert caught.value.location.field == field


def test_the_registry_knows_the_provider_and_its_references():
    assert registry.get("openstack").name == "openstack"
    assert registry.rewriting("openstack") is references.rewritten


# -- connections


def test_a_connection_says_how_to_sign_in():
    account = settings.account(
        Connection(
            "prod", "openstack", {"cloud": "x", "clouds_file": "c.yaml", "threads": 2}, {"password": "p"}, "/etc"
        )
    )
    assert (account.cloud, account.files, account.threads) == ("x", ("/etc/c.yaml",), 2)
    assert "'p'" not in repr(account)


@pytest.mark.parametrize(
    "given, field",
    [
        ({"wat": 1}, "wat"),
        ({"cloud": ""}, "cloud"),
        ({"auth": "x"}, "auth"),
        ({"threads": 0}, "threads"),
        ({"all_projects": "yes"}, "all_projects"),
        ({"timeout": True}, "timeout"),
    ],
)
def test_a_wrong_connection_is_told_with_its_field(given, field):
    with pytest.raises(InputError) as caught:
        settings.account(Connection("prod", "openstack", given))
    assert caught.value.location.field == f"/connections/prod/{field}"


def test_whoever_declares_no_connection_is_found_by_the_variables_of_the_openstack_command():
    assert settings.ambient({"OS_CLOUD": "x"}).provider == "openstack"
    with pytest.raises(InputError, match="OS_CLOUD"):
        settings.ambient({})
