"""Every equivalence comparator as a table of groups: inside a group all mean the same, across groups none do."""

from __future__ import annotations

import itertools
from typing import TypeAlias

import pytest

from holdfast.compare import comparators
from holdfast.compare.comparators import ByKey
from holdfast.model.json import Json

Group: TypeAlias = list[Json]
GUID = "b24988ac-6180-42a0-ab88-20f7382dd24c"
CERT = "-----BEGIN CERTIFICATE-----\nTUlJ\nQ2E=\n-----END CERTIFICATE-----"
BOMB = '<!DOCTYPE a [<!ENTITY b "c"><!ENTITY d "&b;&b;">]><a>&d;</a>'
MAPPING = {"mapping": {"Enabled": ["on", 1], "Disabled": [0]}}
NET = "projects/p/global/networks/n"

# fmt: off
GROUPS: list[tuple[str, dict[str, Json], list[Group]]] = [
    ("exact", {}, [[1, 1.0], [True], [False], [0, 0.0, -0.0], ["1"], ["True"], [None], [""], [[]], [{}],
        [[1], [1.0]]]),
    ("exact", {}, [[{"a": 1, "b": [True]}, {"b": [True], "a": 1.0}], [{"a": 1, "b": [1]}], [{"a": 1}], [[1, 2]],
        [[2, 1]]]),
    ("exact", {}, [["abc"], ["Abc"], ["abc "], [float("nan")], [float("inf")], ["nan"], [2**53 + 1],
        [2**53, float(2**53)]]),
    ("casefold", {}, [["Straße", "STRASSE"], ["a", "A"], ["a "], ["ab"], [1, 1.0], ["1"]]),
    ("region", {}, [["West US 2", "westus2", "WestUS2", "WESTUS 2"], ["westus"], ["us-east-1", "US-East-1"],
        ["useast1"]]),
    ("whitespace", {}, [["a b", " a\r\n\tb ", "a  b\n"], ["ab"], ["a b c"], ["A b"], ["", "\n"]]),
    ("whitespace", {"keep_lines": True}, [["a b\nc", "a  b\r\n  c\r\n", "a b \rc"], ["a b c", "a\tb c\n"],
        ["a b\n\nc"]]),
    ("token_set", {}, [["a,b", "b, a", "a,,b,b,"], ["a"], ["A,b"], ["a b"], ["", ",", " , "], [["a", "b"]]]),
    ("token_set", {"sep": " ", "ignore_case": True}, [["A b", "b\ta"], ["a,b"], ["ab"]]),
    ("token_set", {"sep": "||"}, [["a||b", "b || a"], ["a|b"]]),
    ("regex", {"pattern": "-[0-9a-f]{4}$"}, [["web", "web-00ff", "web-12ab"], ["web-xyz"], ["web-00ff-1"], [5],
        ["5"]]),
    ("regex", {"pattern": "(a)(b)", "replace": r"\2\1"}, [["ab", "ba"], ["aab"], ["aba"], ["a"]]),
    ("enum_map", MAPPING, [["Enabled", "on", 1, 1.0], ["Disabled", 0], ["enabled"], ["1"], [True], [False],
        ["On"], [2]]),
    ("enum_map", {**MAPPING, "ignore_case": True}, [["ENABLED", "On", 1], ["disabled", 0], ["other", "OTHER"],
        ["1"]]),
    ("enum_map", {"mapping": {"a": "b", "c": "d", "b": "c"}}, [["a", "b", "c", "d"], ["e"]]),
    ("bool_str", {}, [[True, "true", "True", "TRUE"], [False, "False"], [1, 1.0], ["1"], [0], ["yes"], [""],
        [None], ["true "]]),
    ("bool_str", {"loose": True}, [[True, "true", 1, 1.0, "1"], [False, "false", 0, "0"], [2], ["2"], [None],
        [""], ["on"]]),
    ("number", {}, [[90, 90.0, "90", "90.0", "9e1", "+90", "0090.00"], [9, "9"], [900], ["90 "], ["0x5a"],
        ["9e"], ["."]]),
    ("number", {}, [[0, "0", "-0.0", "0e5", ".0"], [""], [0.1, "0.1", ".1", "1e-1"], [-1, "-1"], [1], [True],
        ["1e999999"]]),
    ("number", {}, [[9007199254740993, "9007199254740993"],
        [9007199254740992, 9007199254740992.0, "9007199254740992"]]),
    ("number", {}, [[10**30, "1e30"], [10**30 + 1], [float("inf")], ["inf"], ["NaN"], ["1e9999999999"],
        ["\uff11"], ["1_0"], [10]]),
    ("quantity", {}, [["1.0Gi", "1Gi", "1024Mi", 1073741824], ["1G", "1000M", "1e9", 10**9], ["1gi"], ["1GB"],
        ["1 Gi"], ["1K"]]),
    ("quantity", {}, [[0.5, "500m", "0.5", ".5", "5e-1"], ["500u", "500000n"], ["500M"], ["1E", "1e18", "1E18"],
        ["e"], ["1e9999"]]),
    ("quantity", {}, [["1e3", "1k", 1000, "1000."], ["1ki"], ["1Ki", 1024], ["-1k"], [True], ["0", 0, "0Gi"],
        ["--1"]]),
    ("int_or_string", {}, [[80, 80.0, "80"], ["080"], ["80.0"], ["8e1"], ["http"], ["50%"], [50, "50"], [0, "0"],
        ["-0"], [-1, "-1"], [True], ["true"], [None], [""], [0.5], ["0.5"]]),
    ("guid", {}, [[GUID, GUID.upper(), f"{{{GUID}}}", f"({GUID})", GUID.replace("-", ""), f"urn:uuid:{GUID}"],
        [f"{{{GUID}"]]),
    ("guid", {}, [[GUID], [GUID[:-1]], [GUID[:-1] + "d"], [GUID.replace("-", "", 1)], [f"({GUID}}}"],
        [f"{GUID} "], ["{}"]]),
    ("url", {}, [["HTTP://Example.COM:80/a/", "http://example.com/a", "http://example.com:/%61"],
        ["http://example.com/A"]]),
    ("url", {}, [["https://h", "https://h/", "https://h:443", "https://H:0443/"], ["http://h"],
        ["https://h:8443"], ["h"], ["/h"]]),
    ("url", {}, [["http://h/a%2fb", "http://h/a%2Fb"], ["http://h/a/b"], ["http://h/a b", "http://h/a%20b"],
        ["http://h/a+b"]]),
    ("url", {}, [["http://h/é", "http://h/%c3%a9"], ["http://h?a=1&b=2"], ["http://h?b=2&a=1"], ["http://h#A"],
        ["http://h#a"]]),
    ("url", {}, [["http://U@h", "http://U@H/"], ["http://u@h"], ["http://[::1]:80", "http://[::1]"],
        ["http://[::1]:81"]]),
    ("url", {}, [["http://h//"], ["http://h"], ["mailto:a@B"], ["mailto:a@b"],
        ["http://h/%zz", "http://h/%25zz"], ["http://"]]),
    ("path", {}, [["/a/b/", "a//b", "a/b"], ["A/b"], ["ab"], ["", "/", "//"], [r"a\b"], ["a/b/c"]]),
    ("cidr", {}, [["1.2.3.4", "1.2.3.4/32"], ["1.2.3.4/31", "1.2.3.5/31"], ["0.0.0.0/0"], ["0.0.0.0"], ["*"],
        ["01.2.3.4"]]),
    ("cidr", {}, [["10.0.0.0/24", "10.0.0.9/24"], ["10.0.0.0/255.255.255.0"], ["10.0.0.0/0.0.0.255"],
        ["10.0.0.0/33"], ["10.0.0.0"]]),
    ("cidr", {}, [["::1", "0:0::1/128"], ["::ffff:1.2.3.4"], ["1.2.3.4"], ["fe80::1%eth0"], ["fe80::1%eth1"],
        [16909060], ["::/0"]]),
    ("cidr", {"keep_host_bits": True}, [["10.0.0.1/24"], ["10.0.0.2/24"], ["10.0.0.1", "10.0.0.1/32"]]),
    ("ip", {}, [["::1", "0:0:0:0:0:0:0:1"], ["1.2.3.4"], ["1.2.3.4/32"], ["1.2.3.5"], [" 1.2.3.4"], [1],
        ["fe80::1%a"], ["fe80::1%b"]]),
    ("fqdn", {}, [["Example.com.", "example.COM"], ["example.com.."], ["www.example.com"], ["."], [""], [".."]]),
    ("email", {}, [["Me@Example.com", "me@example.com"], ["you@example.com"], ["Admin"], ["admin"], ["a@b@c"],
        ["A@b@c"]]),
    ("arm_id", {}, [["/subscriptions/S/rg(1)/", "/Subscriptions/s/RG%281%29", "subscriptions/s/rg(1)"],
        ["/subscriptions/s/rg1"]]),
    ("arm_id", {}, [["/a%2Fb"], ["/a/b", "/A/B/"], ["/a%252Fb"], ["a/b"], ["A/b"], ["/", "//"], [""],
        ["/x y", "/x%20Y"], ["Logging"]]),
    ("resource_id", {}, [
        [f"https://www.googleapis.com/compute/v1/{NET}", NET, f"/{NET}", f"{NET}/",
         f"//compute.googleapis.com/{NET}", f"https://compute.googleapis.com/compute/beta/{NET}",
         f"https://container.googleapis.com/v1beta1/{NET}"],
        [NET.upper()], [f"{NET}2"], [f"https://googleapis.com.evil.org/compute/v1/{NET}"], ["n"],
        ["global/networks/n"], [f"https://evilgoogleapis.com/v1/{NET}"], [NET.replace("/p/", "/q/")]]),
    ("resource_id", {}, [["arn:aws:s3:::b"], ["b"], ["arn:aws:s3:::B"], ["arn:aws-cn:s3:::b"]]),
    ("base64", {}, [["aGk/", "aGk_", "aG\nk/"], ["aGk+", "aGk-"], ["aGk"], ["aGl"], ["a"], ["a="], ["aGk=="],
        [""], ["aG=k"]]),
    ("base64", {}, [["aGVsbG8=", "aGVsbG8", " aGVsbG8=\r\n"], ["agvsbg8="], ["aGVsbG8=="], ["héé="]]),
    ("pem", {}, [
        [CERT, CERT.replace("\n", "\r\n") + "\n", CERT.replace("TUlJ\nQ2E=", "TUlJQ2E"), f"subject=x\n{CERT}"],
        [CERT.replace("TUlJ", "TUlK")], [f"{CERT}\n{CERT}"], [CERT.replace("CERTIFICATE", "PUBLIC KEY")],
        [CERT + "-----BEGIN X-----"], [CERT.replace("TUlJ", "T: J")]]),
    ("ssh_key", {}, [["ssh-ed25519 AAAAC3 me", "ssh-ed25519  AAAAC3", "ssh-ed25519 AAAAC3== you there\n"],
        ["ssh-rsa AAAAC3"], ["ssh-ed25519 AAAAC4"], ["no-pty ssh-ed25519 AAAAC3"],
        ["ssh-ed25519 AAAAC3\nssh-rsa AAAA"]]),
    ("json_str", {}, [['{"a":1,"b":[]}', ' {"b" : [ ], "a":1.0}\n', {"a": 1, "b": []}], ['{"a":"1","b":[]}'],
        ["{"], [{}, "{}"]]),
    ("json_str", {}, [["1"], [1], ["null"], [None], ["[1]", [1], [1.0]], ["[true]", [True]], ['{"a":1,"a":1}'],
        ['{"a":1}']]),
    ("json_str", {}, [["[NaN]"], ["[1e999]"], ["[1e998]"], ["[" * 20000], ["[" * 20001],
        ["[12345678901234567891]"], ["[12345678901234567890]"]]),
    ("xml", {}, [
        ["<a/>", "<a></a>", "<a> </a>", "<?xml version='1.0' encoding='utf-16'?>\r\n<a />", "<a><!-- x --></a>"],
        ["<b/>"], ["<a>x</a>", "<a>\n x </a>"], ["<a>x y</a>"], ["<a x='1'/>"], ["a"], [" a"], ["<A/>"]]),
    ("xml", {}, [['<a x="1" y="2"/>', "<a y='2'  x='1'/>"], ["<a x='2' y='1'/>"], ["<a><b/><c/></a>"],
        ["<a><c/><b/></a>"]]),
    ("xml", {}, [["<a><b>1</b></a>"], ["<a><b/>1</a>"], ["<a>&lt;b/&gt;</a>"], ["<a><b/></a>"], ["<?p x?><a/>"],
        ["<?p y?><a/>"]]),
    ("xml", {}, [["<a:b xmlns:a='u'/>", "<c:b xmlns:c='u'/>"], ["<a:b xmlns:a='v'/>"], ["<a:b/>", "<a:b/> "],
        ["<c:b/>"]]),
    ("xml", {}, [[BOMB], [f"{BOMB} "], ["<a>&b;</a>"],
        ["<a v='1 < 2'>  <b/></a>", "<a v='1 < 2'>\r\n<b/>\r\n</a>"], ["<a v='1 <2'><b/></a>"]]),
    ("duration", {}, [
        ["PT24H", "P1D", "p1d", "PT1440M", "PT86400S", "1.00:00:00", "24h", "1d", "86400s", "23h60m"],
        ["P1DT1S"], ["PT24M"], ["24:00:00"], ["86400"], [86400], ["P"], ["PT"], ["P1DT"], ["1D"], [""]]),
    ("duration", {}, [["P1W", "P7D", "1w"], ["P1Y"], ["P12M"], ["P1M"], ["P30D"], ["P1Y2D"],
        ["PT1M", "1m", "60s", "00:01:00"]]),
    ("duration", {}, [["PT1.5S", "PT1,5S", "1.5s", "1500ms", "1s500ms", "00:00:01.5"],
        ["-PT1.5S", "-1.5s", "-00:00:01.5"], ["1.5"]]),
    ("duration", {}, [["1us", "1\N{MICRO SIGN}s", "1\N{GREEK SMALL LETTER MU}s", "1000ns"], ["1m30"], ["1h 30m"],
        ["1h30m", "PT90M"]]),
    ("duration", {"unit": "s"}, [[3600, "3600", 3600.0, "PT1H", "1h"], [60, "1m"], [0.5, "500ms"], [True], ["x"],
        [None]]),
    ("duration", {"unit": "d"}, [[7, "P1W"], ["P1D"]]),
    ("timestamp", {}, [
        ["2024-05-01T10:00:00Z", "2024-05-01T12:00:00.000+02:00", "2024-05-01 10:00:00z", "2024-05-01T10:00+00:00",
         "2024-05-01T05:00:00-0500", "2024-05-01T10:00:00 +00"],
        ["2024-05-01T10:00:00"], ["2024-05-01T10:00:01Z"]]),
    ("timestamp", {}, [["2024-05-01T10:00:00.1Z", "2024-05-01T10:00:00.1000000Z"],
        ["2024-05-01T10:00:00.10000001Z"], ["2024-05-01"], ["2024-02-30T10:00:00Z"], ["2024-05-01T25:00:00Z"],
        ["0001-01-01T00:00:00+01:00"], [1714557600]]),
    ("timestamp", {"precision": "second"}, [["2024-05-01T10:00:00.9Z", "2024-05-01T10:00:00Z"],
        ["2024-05-01T10:00:01Z"]]),
    ("timestamp", {"precision": "millisecond"}, [["2024-05-01T10:00:00.1239Z", "2024-05-01T10:00:00.123Z"],
        ["2024-05-01T10:00:00.124Z"]]),
    ("timestamp", {"precision": "day"}, [["2024-05-01T23:00:00Z", "2024-05-02T01:00:00+02:00"],
        ["2024-05-02T00:00:00Z"]]),
    ("timestamp", {"assume_utc": True}, [["2024-05-01T10:00:00", "2024-05-01T10:00:00Z"], ["2024-05-01T11:00:00"]]),
]
# fmt: on


@pytest.mark.parametrize("name, options, groups", GROUPS)
def test_values_mean_the_same_exactly_within_their_group(
    name: str, options: dict[str, Json], groups: list[Group]
) -> None:
    comparator = comparators.build(name, **options)
    assert isinstance(comparator, ByKey)
    members = [(number, value) for number, group in enumerate(groups) for value in group]
    for (one_group, item), (other_group, other) in itertools.product(members, members):
        assert comparator.equal(item, other) is (one_group == other_group), (item, other)
        assert (comparator.key(item) == comparator.key(other)) is (one_group == other_group), (item, other)


def test_every_equivalence_comparator_has_groups() -> None:
    overlapping = {"custom", "version_prefix", "write_only"}
    assert {name for name, _, _ in GROUPS} == set(comparators.names()) - overlapping
