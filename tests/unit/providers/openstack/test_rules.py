"""Rules of security groups in one spelling."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.json import Json
from holdfast.model.write_result import WriteError, WriteFailure
from holdfast.providers.openstack.calls import Calls
from holdfast.providers.openstack.kind_definition import Item
from holdfast.providers.openstack.subresources.rules import Rules, by_meaning, meaning

SSH = {"direction": "ingress", "protocol": "tcp", "portRangeMin": 22, "portRangeMax": 22}
SAME = [
    (SSH, {**SSH, "protocol": "6"}),
    (SSH, {**SSH, "protocol": "TCP"}),
    (SSH, {**SSH, "ethertype": "ipv4"}),
    (SSH, {**SSH, "remoteIpPrefix": "0.0.0.0/0"}),
    (SSH, {**SSH, "description": "another word"}),
    ({"direction": "ingress"}, {"direction": "INGRESS", "protocol": "any"}),
    ({"ethertype": "IPv6", "remoteIpPrefix": "::/0"}, {"ethertype": "IPv6"}),
    ({"remoteIpPrefix": "10.0.0.5/24"}, {"remoteIpPrefix": "10.0.0.0/24"}),
    (
        {"ethertype": "IPv6", "remoteIpPrefix": "2001:DB8::/32"},
        {"ethertype": "IPv6", "remoteIpPrefix": "2001:db8::/32"},
    ),
    ({"ethertype": "IPv6", "protocol": "icmpv6"}, {"ethertype": "IPv6", "protocol": "58"}),
]
DIFFERENT = [
    (SSH, {**SSH, "direction": "egress"}),
    (SSH, {**SSH, "protocol": "udp"}),
    (SSH, {**SSH, "portRangeMax": 23}),
    (SSH, {**SSH, "remoteIpPrefix": "10.0.0.0/8"}),
    (SSH, {**SSH, "remoteGroupId": "g"}),
    ({"ethertype": "IPv4"}, {"ethertype": "IPv6"}),
    ({"protocol": "0"}, {"protocol": "any"}),  # the service has both side by side
]


@pytest.mark.parametrize("one, other", SAME)
def test_two_spellings_of_one_rule(one, other):
    assert meaning(one) == meaning(other)


@pytest.mark.parametrize("one, other", DIFFERENT)
def test_two_rules(one, other):
    assert meaning(one) != meaning(other)


RULE = st.fixed_dictionaries(
    {},
    optional={
        "direction": st.sampled_from(["ingress", "egress"]),
        "ethertype": st.sampled_from(["IPv4", "IPv6", "ipv4"]),
        "protocol": st.sampled_from([None, "any", "tcp", "6", "udp", "17", "99", "icmp"]),
        "portRangeMin": st.one_of(st.none(), st.integers(1, 3)),
        "remoteIpPrefix": st.sampled_from([None, "0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/8", "nonsense"]),
        "description": st.sampled_from([None, "", "x"]),
    },
)


@given(st.lists(RULE, max_size=6))
def test_the_spelling_is_final_and_order_and_doubles_say_nothing(rules):
    once = list(by_meaning(rules).values())
    assert list(by_meaning(once).values()) == once
    assert set(by_meaning(rules)) == set(by_meaning([*reversed(rules), *rules]))
    assert Rules().normal(rules) == once


class Recorder:
    """Calls that only remember, and refuse what they are told to."""

    def __init__(self, refused: Mapping[str, WriteFailure] | None = None) -> None:
        self.sent: list[tuple[str, str, Json]] = []
        self._refused = refused or {}

    async def send(self, _place: object, method: str, path: str, body: Json = None, *_rest: object) -> Any:
        self.sent.append((method, path, body))
        return self._refused.get(method, {})


def live(ident: str, **fields: Json) -> dict[str, Json]:
    usual = {"direction": "ingress", "ethertype": "IPv4", "protocol": None, "description": None}
    return {"id": ident, **usual, **fields}


def synced(item: Item, wanted: Json, calls: Recorder) -> object:
    return asyncio.run(Rules().after(cast("Calls", calls), item, wanted))


def test_only_the_missing_rule_is_made_with_its_own_range():
    item = Item({"id": "sg", "security_group_rules": [live("a", protocol="tcp", port_range_min=80, port_range_max=80)]})
    calls = Recorder()
    web = {"direction": "ingress", "protocol": "tcp", "portRangeMin": 80, "portRangeMax": 80}
    assert synced(item, [web, SSH], calls) is True
    ((method, _, body),) = calls.sent
    assert (method, body["security_group_rule"]["port_range_min"]) == ("POST", 22)
    assert body["security_group_rule"]["security_group_id"] == "sg"


def test_another_description_is_deleted_first_and_then_made():
    item = Item({"id": "sg", "security_group_rules": [live("a", description="old")]})
    calls = Recorder()
    synced(item, [{"direction": "ingress", "description": "new"}], calls)
    assert [method for method, _, _ in calls.sent] == ["DELETE", "POST"]


def test_doubles_go_together():
    rows = [live("a", remote_ip_prefix="10.0.0.5/24"), live("b", remote_ip_prefix="10.0.0.0/24")]
    calls = Recorder()
    synced(Item({"id": "sg", "security_group_rules": rows}), [], calls)
    assert [path.rpartition("/")[2] for _, path, _ in calls.sent] == ["a", "b"]
    assert len(Rules().view(Item({"id": "sg", "security_group_rules": rows}))) == 1


def test_a_rule_that_came_by_itself_is_done_and_a_real_no_is_a_no():
    already = WriteFailure(
        WriteError.RETRYABLE, "POST was answered 409: Security group rule already exists. Rule id is x."
    )
    item = Item({"id": "sg", "security_group_rules": []})
    assert synced(item, [SSH], Recorder({"POST": already})) is True
    no = WriteFailure(WriteError.RETRYABLE, "503")
    assert synced(item, [SSH], Recorder({"POST": no})) is no


def test_nothing_to_do_is_nothing_sent():
    calls = Recorder()
    item = Item({"id": "sg", "security_group_rules": [live("a", protocol="tcp", port_range_min=22, port_range_max=22)]})
    assert synced(item, [{**SSH, "protocol": "6", "remoteIpPrefix": "0.0.0.0/0"}], calls) is False
    assert calls.sent == []
