"""A waiver sets findings aside until it ends, and says so; one that covers nothing is a mistake."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import paths
from holdfast.errors import Location
from holdfast.model.address import Address
from holdfast.model.finding import ChangedBy, Finding, FindingClass, Op
from holdfast.model.verdict import Suppressed, SuppressionReason
from holdfast.policy import waivers
from holdfast.policy.waivers import MistakeKind, Waiver


def utc(text):
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC).timestamp()


NOW = utc("2026-11-20T12:00")
END = utc("2026-12-02T00:00")
WIDGET = Address("api", "Widget", "a")
GADGET = Address("api", "Gadget", "a", "team")


def waiver(resource="api/Widget/*", path="/size", expires=END, **given):
    return Waiver(resource, path, "ada@example.org", "load test until Friday", expires, **given)


def finding(path="/size"):
    return Finding(paths.parse_path(path), Op.CHANGED, FindingClass.SPECIFIED, ChangedBy.LIVE, 1, 1, 2)


def test_a_waived_finding_is_suppress_with_who_why_and_until_when():
    live, suppressed = waivers.split(WIDGET, [finding("/name"), finding()], [waiver()], NOW)
    assert live == (finding("/name"),)
    note = "waived by ada until 2026-12-01: load test until Friday"
    assert suppressed == (Suppressed(SuppressionReason.WAIVED, "/size", note, finding()),)
    assert waiver(ticket="OPS-1").note == f"{note} (OPS-1)"


@pytest.mark.parametrize(
    "given_waiver, address, path, is_waived",
    [
        (waiver(), WIDGET, "/size", True),
        (waiver(), WIDGET, "/size/width", True),  # and everything below
        (waiver(), WIDGET, "/sizes", False),
        (waiver(), GADGET, "/size", False),
        (waiver("*"), WIDGET, "/size", True),
        (waiver("Gadget/a"), GADGET, "/size", True),
        (waiver("api/Gadget/team/*"), GADGET, "/size", True),
        (waiver(path="/**"), WIDGET, "/anything/at/all", True),
        (waiver(path="/**"), WIDGET, "", True),
        (waiver(path="/rules[name=ssh]"), WIDGET, "/rules[name=ssh]/port", True),
        (waiver(path="/rules[name=ssh]"), WIDGET, "/rules[name=web]/port", False),
        (waiver(path="/a/b"), WIDGET, "/a", False),
    ],
)
def test_what_a_waiver_covers(given_waiver, address, path, is_waived):
    live, suppressed = waivers.split(address, [finding(path)], [given_waiver], NOW)
    assert (bool(suppressed), bool(live)) == (is_waived, not is_waived)


def test_it_ends_at_its_end():
    assert waivers.split(WIDGET, [finding()], [waiver()], END - 1)[1]
    assert waivers.split(WIDGET, [finding()], [waiver()], END)[0]


def test_of_several_the_first_counts():
    first, second = waiver(path="/**", ticket="A"), waiver(ticket="B")
    assert waivers.split(WIDGET, [finding()], [first, second], NOW)[1][0].note == first.note


def test_an_expired_waiver_says_what_it_would_have_covered():
    old, other = waiver(), waiver(path="/name")
    found = waivers.expired(WIDGET, [finding(), finding("/size/x")], [old, other], END)
    assert [str(item) for item in found] == ["the waiver of ada for /size expired on 2026-12-01"]
    assert found[0].paths == ("/size", "/size/x")
    assert waivers.expired(WIDGET, [finding()], [old], NOW) == []
    assert waivers.expired(GADGET, [finding()], [old], END) == []


def test_an_owner_is_called_by_what_stands_before_the_at():
    assert [Waiver("a", "/", owner, "r", END).by for owner in ("ada@example.org", "ada", "@team")] == [
        "ada",
        "ada",
        "@team",
    ]


DOCUMENT = {"size": 1, "rules": [{"name": "ssh", "port": 22}], "tags": {"env": "x", "a/b": 1}, "none": None}


def mistakes(given_waiver, documents=None):
    return waivers.mistakes([given_waiver], documents or {WIDGET: [DOCUMENT], GADGET: []}, NOW)


@pytest.mark.parametrize(
    "path",
    [
        "/size",
        "/none",
        "/rules",
        "/rules/0/port",
        "/rules/*/port",
        "/rules[name=ssh]/port",
        "/rules[*]/port",
        "/tags/a~1b",
        "/**/port",
        "/**",
        "/t*s/env",
        "/**/**/name",
    ],
)
def test_a_path_that_exists_is_no_mistake(path):
    assert mistakes(waiver(path=path)) == []


@pytest.mark.parametrize(
    "path, guess",
    [
        ("/sise", "; did you mean /size?"),
        ("/rules[name=web]/port", ""),
        ("/rules/1", "; did you mean /rules/0?"),
        ("/size/x", "; did you mean /size?"),
        ("/**/nowhere", ""),
        ("/zzzzzzzzzzzz", ""),
    ],
)
def test_a_path_that_exists_nowhere_is_a_mistake_with_a_guess(path, guess):
    (found,) = mistakes(waiver(path=path, location=Location("waivers.yaml", 7)))
    assert found.kind is MistakeKind.NO_PATH
    assert str(found) == (
        f"waivers.yaml:7: the waived path {path} exists neither in the declaration nor in the live state "
        f"of api/Widget/a{guess}"
    )


def test_a_path_need_exist_in_one_document_of_one_resource_only():
    other = Address("api", "Widget", "b")
    assert mistakes(waiver(path="/new"), {WIDGET: [DOCUMENT, {"new": 1}], other: [{}]}) == []
    (found,) = mistakes(waiver(path="/newer"), {WIDGET: [DOCUMENT], other: [{}]})
    assert found.message.endswith("of any of the 2 resources that match api/Widget/*")


def test_of_what_was_never_read_nothing_is_said():
    assert mistakes(waiver("api/Gadget/*", "/nowhere")) == []


def test_a_waiver_for_no_resource_is_a_mistake_with_a_guess():
    (found,) = mistakes(waiver("api/Wigdet/a", location=Location("waivers.yaml", 3)))
    assert found.kind is MistakeKind.NO_RESOURCE
    assert str(found) == "waivers.yaml:3: the waiver for api/Wigdet/a matches no resource; did you mean api/Widget/a?"
    (found,) = mistakes(waiver("zzz"))
    assert str(found) == "the waiver for zzz matches no resource"


def test_an_expired_waiver_is_a_mistake_and_nothing_else_is_said_of_it():
    (found,) = mistakes(waiver("zzz", "/zzz", expires=NOW))
    assert found.kind is MistakeKind.EXPIRED
    assert found.message == "the waiver of ada for zzz /zzz expired on 2026-11-20T12:00Z; remove it"


some = st.builds(
    waiver,
    st.sampled_from(["*", "api/Widget/*", "Gadget/*", "nobody"]),
    st.sampled_from(["/**", "/size", "/a", "/a/*", "/b"]),
    st.sampled_from([NOW - 1, NOW, NOW + 1, END]),
)
found_paths = st.lists(st.sampled_from(["/size", "/a", "/a/b", "/b/c", ""]), unique=True).map(
    lambda texts: [finding(text) for text in texts]
)


@given(st.sampled_from([WIDGET, GADGET]), found_paths, st.lists(some, max_size=4))
def test_every_finding_is_either_live_or_suppress_and_keeps_its_order(address, findings, given_waivers):
    live, suppressed = waivers.split(address, findings, given_waivers, NOW)
    kept = [item.finding for item in suppressed]
    assert sorted([*live, *kept], key=findings.index) == findings
    assert list(live) == [finding for finding in findings if finding in live]
    for element in findings:
        answered = any(w.covers(address, element) and w.expires > NOW for w in given_waivers)
        assert (element in kept) is answered
    for lapsed in waivers.expired(address, live, given_waivers, NOW):
        assert lapsed.waiver.expires <= NOW
        assert set(lapsed.paths) <= {paths.format_path(item.path) for item in live}
