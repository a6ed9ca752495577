"""Secrets are pointed at, fetched late, and shown to nobody."""

from __future__ import annotations

import copy
import dataclasses
import json
import logging
import pickle
import pprint
import sys
import traceback

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.manifests import secrets
from holdfast.manifests.secrets import FromCommand, FromConnection, FromEnvironment, FromFile, Resolver, Secret

VALUE = "hunter2-Zq8"


@dataclasses.dataclass
class Holder:
    secret: Secret


@pytest.mark.parametrize(
    "show",
    [
        repr,
        str,
        "{}".format,
        "{:>40}".format,
        lambda secret: f"{secret!r} {secret!s} {secret:10}",
        lambda secret: "%s %r" % (secret, secret),  # noqa: UP031 - logging does it
        lambda secret: str([secret]) + str({"a": secret}) + str(Holder(secret)),
        lambda secret: pprint.pformat({"deep": [Holder(secret)]}),
        lambda secret: str(dataclasses.asdict(Holder(secret))),
        lambda secret: json.dumps({"a": secret}, default=str),
        lambda secret: logging.LogRecord("n", 10, "p", 1, "found %s", (secret,), None).getMessage(),
        lambda secret: repr(copy.deepcopy([secret, copy.copy(secret)])),
        lambda secret: "".join(traceback.TracebackException.from_exception(ValueError(secret)).format()),
    ],
)
def test_a_secret_is_not_shown_however_it_is_printed(show):
    shown = show(Secret(VALUE))
    assert VALUE not in shown
    assert secrets.MASK in shown


@pytest.mark.parametrize("leak", [pickle.dumps, json.dumps, orjson.dumps, hash, vars])
def test_a_secret_refuses_what_would_take_it_away(leak):
    with pytest.raises(TypeError) as caught:
        leak(Secret(VALUE))
    assert VALUE not in str(caught.value)


def test_secrets_are_equal_by_value():
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert Secret("a").reveal() == "a"


@pytest.mark.parametrize(
    "written, reference",
    [
        ({"env": "NAME"}, FromEnvironment("NAME")),
        ({"file": "a/b"}, FromFile("a/b")),
        ({"connectionSecret": "token"}, FromConnection("token")),
    ],
)
def test_references_are_found_wherever_they_stand(written, reference):
    document = {"a": [{"b": {"secretRef": written}}], "c": {"secretRef": written}}
    assert list(secrets.find(document)) == [(("a", 0, "b"), reference), (("c",), reference)]


@pytest.mark.parametrize(
    "document",
    [
        {"envFrom": [{"secretRef": {"name": "db"}}]},
        {"secretRef": {"name": "db", "optional": True}},
        {"secretRef": {"name": "db", "namespace": "x"}},
        {"secretRef": "db"},
        {"secretRef": None},
        {"env": "NAME"},
    ],
)
def test_fields_of_that_name_in_other_apis_are_left_alone(document):
    assert list(secrets.find(document)) == []
    assert secrets.resolve_secrets(document, Resolver({})) is document


@pytest.mark.parametrize(
    "written",
    [
        {"env": ""},
        {"env": 5},
        {"env": "A", "file": "b"},
        {"file": "a\0b"},
        {"command": ["x"], "env": "A"},
        {"Env": "A"},
    ],
)
def test_a_malformed_reference_is_an_error_with_its_field(written):
    with pytest.raises(InputError) as caught:
        secrets.resolve_secrets({"a": {"secretRef": written}}, Resolver({"A": VALUE}))
    assert caught.value.location.field == "/a"


def test_a_manifest_cannot_run_a_command():
    document = {"a": {"secretRef": {"command": ["touch", "x"]}}}
    with pytest.raises(InputError, match="'command' is no place for a secret"):
        secrets.resolve_secrets(document, Resolver({}))


@pytest.fixture
def resolver(tmp_path):
    (tmp_path / "key").write_text(VALUE + "\n")
    return Resolver({"NAME": VALUE}, str(tmp_path), "prod", {"token": FromEnvironment("NAME")})


def test_secrets_take_the_place_of_their_references(resolver):
    document = {
        "a": {"secretRef": {"env": "NAME"}},
        "b": [{"secretRef": {"file": "key"}}, 1],
        "c": {"d": {"secretRef": {"connectionSecret": "token"}}},
        "e": None,
    }
    found = secrets.resolve_secrets(document, resolver)
    secret = Secret(VALUE)
    assert found == {"a": secret, "b": [secret, 1], "c": {"d": secret}, "e": None}
    assert document["a"] == {"secretRef": {"env": "NAME"}}
    assert VALUE not in repr(found)


@pytest.mark.parametrize(
    "reference, message",
    [
        (FromEnvironment("GONE"), "the environment variable GONE, which should hold a secret, is not set"),
        (FromEnvironment("EMPTY"), "the environment variable EMPTY, which should hold a secret, is empty"),
        (FromConnection("tokn"), "the connection prod has no secret 'tokn'; did you mean token?"),
        (FromFile("/gone"), "the file /gone, which should hold a secret, cannot be read: No such file or directory"),
        (FromFile("/"), "the file /, which should hold a secret, cannot be read: Is a directory"),
        (FromFile("/dev/null"), "the file /dev/null, which should hold a secret, is empty"),
        (FromCommand(("/gone",)), "the command /gone for a secret cannot be run: No such file or directory"),
        (FromCommand(("false",)), "the command false for a secret failed with exit code 1; run it by hand"),
        (FromCommand(("true",)), "what true prints, which should hold a secret, is empty"),
    ],
)
def test_a_secret_that_is_not_there_is_told_by_where_it_was_looked_for(reference, message):
    resolver = Resolver({"EMPTY": ""}, "/", "prod", {"token": FromEnvironment("X")})
    with pytest.raises(InputError) as caught:
        resolver.fetch(reference)
    assert caught.value.message == message


def test_a_failing_command_does_not_tell_what_it_said(tmp_path):
    words = (sys.executable, "-c", f"import sys; print('{VALUE}'); print('{VALUE}', file=sys.stderr); sys.exit(3)")
    with pytest.raises(InputError) as caught:
        Resolver({}).fetch(FromCommand(words, str(tmp_path)))
    assert VALUE not in str(caught.value)
    assert "exit code 3" in caught.value.message


def test_a_command_that_hangs_is_given_up(monkeypatch):
    monkeypatch.setattr(secrets, "COMMAND_SECONDS", 0.2)
    with pytest.raises(InputError, match=r"took longer than 0\.2 seconds"):
        Resolver({}).fetch(FromCommand(("sleep", "30")))


def test_what_is_not_text_or_too_large_is_refused_without_showing_it(tmp_path, monkeypatch):
    (tmp_path / "binary").write_bytes(VALUE.encode() + b"\xff")
    with pytest.raises(InputError, match="is not UTF-8 text") as caught:
        Resolver({}, str(tmp_path)).fetch(FromFile("binary"))
    assert VALUE not in str(caught.value)
    monkeypatch.setattr(secrets, "MAX_BYTES", 3)
    with pytest.raises(InputError, match="is larger than") as large:
        Resolver({}, str(tmp_path)).fetch(FromFile("binary"))
    assert VALUE not in str(large.value)


def test_each_secret_is_fetched_once_however_many_resources_want_it():
    asked = []

    def run(words, folder):
        asked.append((words, folder))
        return VALUE.encode()

    resolver = Resolver({}, run=run)
    reference = FromCommand(("vault", "read"), "/project")
    for connection in ("a", "b"):
        within = resolver.within("/manifests", connection, {"token": reference})
        assert within.fetch(FromConnection("token")) == Secret(VALUE)
    assert asked == [(("vault", "read"), "/project")]
    assert VALUE not in repr(resolver)


def test_a_relative_file_begins_at_its_own_folder(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "key").write_text(name)
    resolver = Resolver({})
    fetched = [
        resolver.within(str(tmp_path / name), "c", {}).fetch(FromFile("key")).reveal() for name in ("one", "two")
    ]
    assert fetched == ["one", "two"]


@pytest.mark.parametrize("written, text", [("x\n", "x"), ("x\r\n", "x"), ("x\n\n", "x\n"), (" x ", " x ")])
def test_one_line_end_is_not_part_of_a_secret(tmp_path, written, text):
    (tmp_path / "key").write_bytes(written.encode())
    assert Resolver({}, str(tmp_path)).fetch(FromFile("key")).reveal() == text


documents = st.recursive(
    st.integers() | st.text(max_size=4) | st.sampled_from(["A", "B"]).map(lambda name: {"secretRef": {"env": name}}),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("xyz", max_size=2), inner, max_size=3),
)


@given(documents, st.text("0123456789", min_size=30, max_size=40))
def test_whatever_the_document_no_secret_is_shown_and_each_is_in_its_place(document, value):
    found = secrets.resolve_secrets(document, Resolver({"A": value, "B": value + "b"}))
    assert value not in repr(found) + str(found)
    assert revealed(found) == json.loads(
        json.dumps(document)
        .replace('{"secretRef": {"env": "A"}}', json.dumps(value))
        .replace('{"secretRef": {"env": "B"}}', json.dumps(value + "b"))
    )


def revealed(value):
    if isinstance(value, Secret):
        return value.reveal()
    if isinstance(value, dict):
        return {key: revealed(item) for key, item in value.items()}
    return [revealed(item) for item in value] if isinstance(value, list) else value
