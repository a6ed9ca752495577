"""Rules of security groups: a set, told apart by what they let through.

Neutron has several spellings of one rule, and refuses a second rule that it takes for the same: protocol `6` is `tcp`,
no prefix is 0.0.0.0/0 (measured: 409 SecurityGroupRuleExists), a description does not make a difference. It returns
a prefix as it was given, 10.0.0.5/24, and lets it stand beside 10.0.0.0/24, which is the same. So declared and live
rules are brought into one spelling before anybody compares them, and doubles are one rule.

A rule cannot be changed: what differs is deleted and recreated.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.write_result import WriteFailure
from holdfast.providers.openstack import naming, status_mapping
from holdfast.providers.openstack.calls import Calls, ServiceDialect
from holdfast.providers.openstack.kind_definition import Item

PATH: Final = "/security-group-rules"
FIELDS: Final = (
    "direction",
    "ethertype",
    "protocol",
    "port_range_min",
    "port_range_max",
    "remote_ip_prefix",
    "remote_group_id",
    "remote_address_group_id",
)
_PLACE: Final = ServiceDialect("network")
_FAMILIES: Final = {"ipv4": "IPv4", "ipv6": "IPv6"}
_ANY: Final = frozenset({"", "any", "-1"})
_PROTOCOLS: Final = {  # the names that Neutron itself has for these numbers
    "1": "icmp",
    "2": "igmp",
    "4": "ipip",
    "6": "tcp",
    "8": "egp",
    "17": "udp",
    "33": "dccp",
    "41": "ipv6-encap",
    "43": "ipv6-route",
    "44": "ipv6-frag",
    "46": "rsvp",
    "47": "gre",
    "50": "esp",
    "51": "ah",
    "58": "ipv6-icmp",
    "59": "ipv6-nonxt",
    "60": "ipv6-opts",
    "89": "ospf",
    "112": "vrrp",
    "113": "pgm",
    "132": "sctp",
    "136": "udplite",
    "icmpv6": "ipv6-icmp",
}

Rule = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a group; where none are declared, those that the service made are left alone."""

    name: str = "rules"
    default: Json = ABSENT

    def view(self, item: Item) -> Json:
        """Return the rules in one spelling, doubles once."""
        found = item.body.get("security_group_rules", ABSENT)
        if found is ABSENT:
            return ABSENT
        return list(by_meaning(naming.to_camel({**rule}) for rule in found).values())

    def normal(self, value: Json) -> Json:
        """Return declared rules in the same spelling; what is no list of maps is left for the service to refuse."""
        if not isinstance(value, list) or not all(isinstance(rule, Mapping) for rule in value):
            return value
        return list(by_meaning(value).values())

    async def before(self, calls: Calls, item: Item, wanted: Json) -> WriteFailure | bool:
        """Do nothing, because a rule is created only after the rule that it replaces was deleted."""
        del calls, item, wanted
        return False

    async def after(self, calls: Calls, item: Item, wanted: Json) -> WriteFailure | bool:
        """Delete undeclared rules, then create missing ones. A rule that is already so counts as done."""
        live: dict[tuple[Json, ...], list[Mapping[str, Json]]] = {}
        for rule in item.body.get("security_group_rules") or ():
            live.setdefault(meaning(naming.to_camel({**rule})), []).append(rule)
        want = by_meaning(wanted or ())
        written = False
        for key, rules in live.items():
            if key in want and _is_described(want[key], rules[0]):
                continue
            for rule in rules:
                path = f"{PATH}/{rule['id']}"
                answer = await calls.send(_PLACE, "DELETE", path, None, str(rule["id"]))
                if isinstance(answer, WriteFailure) and not status_mapping.is_gone(answer):
                    return answer
                written = True
        for key, rule in want.items():
            if key in live and _is_described(rule, live[key][0]):
                continue
            body = {naming.snake(name): value for name, value in rule.items() if value is not None}
            body["security_group_id"] = item.id
            answer = await calls.send(_PLACE, "POST", PATH, {"security_group_rule": body})
            if isinstance(answer, WriteFailure) and "already exists" not in answer.message:
                return answer
            written = True
        return written


def by_meaning(rules: Iterable[Mapping[str, Json]]) -> dict[tuple[Json, ...], Rule]:
    """Return rules in one spelling, by what they let through; of doubles the first."""
    out: dict[tuple[Json, ...], Rule] = {}
    for rule in rules:
        out.setdefault(meaning(rule), _spelt(rule))
    return dict(sorted(out.items(), key=lambda pair: [str(part) for part in pair[0]]))


def meaning(rule: Mapping[str, Json]) -> tuple[Json, ...]:
    """Return the meaning of a rule; two rules with one meaning are one rule."""
    spelt = _spelt(rule)
    return tuple(spelt.get(naming.camel(name)) for name in FIELDS)


def _spelt(rule: Mapping[str, Json]) -> Rule:
    """Return a rule in one spelling, without what it leaves open."""
    family = rule.get("ethertype") or "IPv4"
    out: Rule = {
        "direction": str(rule.get("direction") or "ingress").lower(),
        "ethertype": _FAMILIES.get(str(family).lower(), family),
        "protocol": _protocol(rule.get("protocol")),
        "portRangeMin": rule.get("portRangeMin"),
        "portRangeMax": rule.get("portRangeMax"),
        "remoteIpPrefix": _prefix(rule.get("remoteIpPrefix")),
        "remoteGroupId": rule.get("remoteGroupId"),
        "remoteAddressGroupId": rule.get("remoteAddressGroupId"),
        "description": rule.get("description") or None,
    }
    return {name: value for name, value in out.items() if value is not None}


def _protocol(value: Json) -> Json:
    text = str(value).lower() if value is not None else ""
    return None if text in _ANY else _PROTOCOLS.get(text, text)


def _prefix(value: Json) -> Json:
    """Return the range that a prefix means; everything is nothing in particular."""
    if not isinstance(value, str) or not value:
        return None
    try:
        network = ipaddress.ip_network(value, strict=False)
    except ValueError:
        return value  # for the service to refuse
    return None if network.prefixlen == 0 else str(network)


def _is_described(wanted: Rule, live: Mapping[str, Json]) -> bool:
    return bool((wanted.get("description") or "") == (live.get("description") or ""))
