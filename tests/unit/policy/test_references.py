"""References name a field of another resource; what they mean is certain, or an error says why not."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InputError, Location
from holdfast.manifests.secrets import Secret
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.path import Selector
from holdfast.model.resource import Declaration
from holdfast.policy import references
from holdfast.policy.references import Names, Pending, ReferenceTarget, Unresolved

HERE = Address("prod", "Server", "me", "team-a")
CORE = Address("prod", "Network", "core")
DOTTED = Address("prod", "File", "app.yaml")
APP = Address("prod", "File", "app")
OURS = Address("prod", "Subnet", "main", "team-a")
THEIRS = Address("prod", "Subnet", "main", "team-b")
FAR = Address("stage", "Port", "web", "team-b")
TWIN_1, TWIN_2 = Address("prod", "Router", "twin"), Address("stage", "Router", "twin")
NAMES = Names([HERE, CORE, DOTTED, APP, OURS, THEIRS, FAR, TWIN_1, TWIN_2])


def declaration(desired, places=None):
    return Declaration(
        HERE, "cloud", "cloud.holdfast.dev/v1", desired, location=Location("a.yaml", 1), places=places or {}
    )


@pytest.mark.parametrize(
    "text, field",
    [
        ("prod/Network/core.id", ReferenceTarget(CORE, (), is_id=True)),
        ("Network/core.id", ReferenceTarget(CORE, (), is_id=True)),
        ("core.id", ReferenceTarget(CORE, (), is_id=True)),
        ("core#/id", ReferenceTarget(CORE, ("id",))),
        ("core.status.cidr", ReferenceTarget(CORE, ("status", "cidr"))),
        ("core.subnets[0].cidr", ReferenceTarget(CORE, ("subnets", "0", "cidr"))),
        ("core.subnets.0", ReferenceTarget(CORE, ("subnets", "0"))),
        ("core.rules[name=ssh].port", ReferenceTarget(CORE, ("rules", Selector((("name", "ssh"),)), "port"))),
        ("core.routes[to=10.0.0.0/8].via", ReferenceTarget(CORE, ("routes", Selector((("to", "10.0.0.0/8"),)), "via"))),
        ("core[0]", ReferenceTarget(CORE, ("0",))),
        ("core#/tags/a.b", ReferenceTarget(CORE, ("tags", "a.b"))),
        ("core#/tags/a~1b", ReferenceTarget(CORE, ("tags", "a/b"))),
        ("app.yaml.port", ReferenceTarget(DOTTED, ("port",))),
        ("app.yaml", ReferenceTarget(APP, ("yaml",))),
        ("app#/yaml/port", ReferenceTarget(APP, ("yaml", "port"))),
        ("app.id", ReferenceTarget(APP, (), is_id=True)),
        ("Subnet/main.id", ReferenceTarget(OURS, (), is_id=True)),
        ("prod/Subnet/main.id", ReferenceTarget(OURS, (), is_id=True)),
        ("main.id", ReferenceTarget(OURS, (), is_id=True)),
        ("team-b/main.id", ReferenceTarget(THEIRS, (), is_id=True)),
        ("Subnet/team-b/main.id", ReferenceTarget(THEIRS, (), is_id=True)),
        ("stage/Port/team-b/web.id", ReferenceTarget(FAR, (), is_id=True)),
        ("stage/Router/twin.id", ReferenceTarget(TWIN_2, (), is_id=True)),
    ],
)
def test_a_reference_means_one_field_of_one_resource(text, field):
    assert NAMES.field(text, HERE) == field


@pytest.mark.parametrize(
    "text, message",
    [
        ("Netwrk/core.id", "there is no resource Netwrk/core; did you mean Network/core?"),
        ("cor.id", "there is no resource cor; did you mean core?"),
        ("zzzzzz.id", "there is no resource zzzzzz"),
        ("twin.id", "twin may be any of 2 resources; write prod/Router/twin or stage/Router/twin"),
        ("web.id", "web is in another namespace; write stage/Port/team-b/web"),
        ("HOME", "names no field; write ${HOME.id} or another field, or $${HOME} for plain text"),
        ("core", "names no field; write ${core.id} or another field, or $${core} for plain text"),
        ("core.", "the field cannot be read; write .a.b[0].c, or #/a/b/0/c"),
        ("core.a..b", "the field cannot be read; write .a.b[0].c, or #/a/b/0/c"),
        ("core.a[0", "the field cannot be read; write .a.b[0].c, or #/a/b/0/c"),
    ],
)
def test_a_reference_that_means_nothing_certain_says_why(text, message):
    with pytest.raises(InputError) as caught:
        NAMES.field(text, HERE)
    assert caught.value.message == message


def test_references_are_found_in_document_order_with_their_places():
    desired = {"a": "${core.id}", "b": [{"c": "x${ app.yaml }y${core.id}"}, 5, "$${no}"], "${key.id}": "plain $ {}"}
    found, errors = references.find(declaration(desired))
    assert errors == []
    assert [(item.text, item.pointer) for item in found] == [
        ("core.id", ("a",)),
        ("app.yaml", ("b", 0, "c")),
        ("core.id", ("b", 0, "c")),
    ]


@pytest.mark.parametrize(
    "text, message",
    [
        ("${core.id", "a ${ without its }; write ${Kind/name.field}, or $${ for a plain ${"),
        ("${a${b}}", "a ${ without its }; write ${Kind/name.field}, or $${ for a plain ${"),
        ("${ }", "an empty reference ${}; write ${Kind/name.field}, or $${ for a plain ${"),
    ],
)
def test_a_malformed_reference_is_told_with_its_place(text, message):
    _, (error, *_) = references.find(declaration({"a": {"b": text}}, {"/spec/resource/a": 7}))
    assert error.message == message
    assert error.location == Location("a.yaml", 7, field="/spec/resource/a/b")


def resolved(desired, values):
    bindings = {text: ReferenceTarget(CORE, (text,)) for text in values}
    return references.resolve(desired, bindings, lambda field: values[field.path[0]])


@pytest.mark.parametrize(
    "written, value, becomes",
    [
        ("${x}", 5, 5),
        ("${ x }", 5, 5),
        ("${x}", None, None),
        ("${x}", {"a": [1]}, {"a": [1]}),
        ("n-${x}", 5, "n-5"),
        ("${x}${x}", True, "truetrue"),
        ("a$${x}b${x}", "v", "a${x}bv"),
        ("$${x}", "v", "${x}"),
        ("$$${x}", "v", "$${x}"),
        ("${x} ", 1.5, "1.5 "),
        ("${x}", "${x} $${y}", "${x} $${y}"),
        ("-${x}", "${x}", "-${x}"),
    ],
)
def test_a_lone_reference_keeps_the_type_and_one_in_a_text_is_written_out(written, value, becomes):
    found = resolved({"f": [written]}, {"x": value})
    assert found.pending == ()
    assert found.document == {"f": [becomes]}
    assert type(found.document["f"][0]) is type(becomes)


@pytest.mark.parametrize(
    "value, reason",
    [
        (None, "is null, which cannot stand inside a text"),
        ([1], "is a list, which cannot stand inside a text; let the reference stand alone"),
        ({}, "is a map, which cannot stand inside a text; let the reference stand alone"),
        (Unresolved("known after apply"), "known after apply"),
    ],
)
def test_what_cannot_be_filled_in_is_listed_and_left_as_written(value, reason):
    found = resolved({"a": "to ${x}", "b": "${y}", "c": 1}, {"x": value, "y": 2})
    assert found.document == {"a": "to ${x}", "b": 2, "c": 1}
    assert found.pending == (Pending(("a",), "x", ReferenceTarget(CORE, ("x",)), reason),)


def test_a_text_with_a_secret_in_it_is_a_secret():
    found = resolved(
        {"url": "db://${user}:${password}@${n}", "alone": "${password}"},
        {
            "user": "joe",
            "password": Secret("hunter2"),
            "n": 5,
        },
    ).document
    assert found["alone"].reveal() == "hunter2"
    assert found["url"].reveal() == "db://joe:hunter2@5"
    assert "hunter2" not in repr(found)


def test_a_document_that_is_given_is_not_changed():
    desired = {"a": ["${x}"]}
    resolved(desired, {"x": 1})
    assert desired == {"a": ["${x}"]}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("a${}b. ", max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("a${", max_size=3), inner, max_size=3),
)


def escaped(value):
    if isinstance(value, str):
        return references.escape(value)
    if isinstance(value, dict):
        return {key: escaped(item) for key, item in value.items()}
    return [escaped(item) for item in value] if isinstance(value, list) else value


@given(json_values)
def test_an_escaped_document_is_read_as_itself(value):
    assert references.find(declaration({"v": escaped(value)})) == ([], [])
    assert references.resolve(escaped(value), {}, lambda _: None).document == value


@given(st.text(max_size=30))
def test_no_text_makes_binding_fail_in_another_way(text):
    with contextlib.suppress(InputError):
        assert isinstance(NAMES.field(text, HERE), ReferenceTarget)


def test_a_field_is_read_from_what_is_known():
    document = {"cidr": "10.0.0.0/8", "id": "inner"}
    assert references.value_in(ReferenceTarget(CORE, (), is_id=True), "net-1", document) == "net-1"
    assert references.value_in(ReferenceTarget(CORE, ("id",)), "net-1", document) == "inner"
    assert references.value_in(ReferenceTarget(CORE, ("cidr",)), None, document) == "10.0.0.0/8"
    assert references.value_in(ReferenceTarget(CORE, ("x",)), None, document) == Unresolved(
        "prod/Network/core has no field /x"
    )
    assert references.value_in(ReferenceTarget(CORE, ("x",)), None, ABSENT) == Unresolved(
        "prod/Network/core has not been read yet"
    )
    assert references.value_in(ReferenceTarget(CORE, (), is_id=True), None, document) == Unresolved(
        "prod/Network/core has no id yet"
    )
    assert str(ReferenceTarget(CORE, ("a", "b"))) == "prod/Network/core#/a/b"
    assert str(ReferenceTarget(CORE, (), is_id=True)) == "prod/Network/core.id"
