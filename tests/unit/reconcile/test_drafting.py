"""Drafts: what may stand in a manifest for a live thing, and what must not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import diff, profiles
from holdfast.compare.profiles import stack
from holdfast.manifests import secrets
from holdfast.model.address import Address
from holdfast.model.resource import ManagementPolicy
from holdfast.reconcile import generate_manifest
from holdfast.reconcile.generate_manifest import CannotDraft, ManifestDraft
from holdfast.reconcile.known_secrets import KnownSecrets
from holdfast.schema.fields import name_problem
from tests import strategies

RULES = """\
profile: test/thing
version: 1
rules:
  - {path: /id, class: identity}
  - {path: /revision, class: read_only}
  - {path: /load, class: runtime}
  - {path: /mine, class: ignore}
  - {path: /size, default: medium}
  - {path: /hidden, class: secret}
  - {path: /key, class: write_only}
  - {path: /users/*/pin, class: secret}
  - {path: /token, class: compared}
"""
TREE = stack(profiles.parse(RULES)).tree()
PLAIN = stack([]).tree()

LEFT_OUT = {
    "what names the thing": ({"id": "7"}, {}, []),
    "what the service counts": ({"revision": 7}, {}, []),
    "what moves by itself": ({"load": 0.5}, {}, []),
    "what nobody cares about": ({"mine": {"a": 1}}, {}, []),
    "a default": ({"size": "medium"}, {}, []),
    "a secret": ({"hidden": {"deep": "x"}}, {}, ["/hidden"]),
    "what is never shown": ({"key": "x"}, {}, ["/key"]),
    "a mask": ({"shown": "********"}, {}, ["/shown"]),
    "a secret of the connection": ({"echo": "Bearer tok-en-1"}, {}, ["/echo"]),
    "a private key": ({"pem": "-----BEGIN RSA PRIVATE KEY-----\n..."}, {}, ["/pem"]),
    "a secret by its name": ({"db": {"adminPassword": "x"}}, {"db": {}}, ["/db/adminPassword"]),
    "a list of secrets by its name": ({"tokens": ["x"], "secret": ["x"]}, {"tokens": ["x"]}, ["/secret"]),
    "a reference to a secret": ({"x": {"secretRef": {"env": "HOME"}}}, {}, ["/x"]),
    "a reference inside a list": ({"l": [1, {"secretRef": {"file": "x"}}]}, {}, ["/l"]),
}
KEPT = {
    "another value than the default": {"size": "large"},
    "a null, an empty map and an empty list": {"a": None, "b": {}, "c": []},
    "what a rule has compared, whatever its name": {"token": "round"},
    "an empty text, whatever its name": {"password": ""},
    "a number, whatever its name": {"token_count": 3, "secret": 3},
    "a field of that name that is not ours": {"x": {"secretRef": {"name": "vault", "key": "k"}}},
}


@pytest.mark.parametrize("document, kept, left_out", LEFT_OUT.values(), ids=LEFT_OUT.keys())
def test_what_is_no_configuration_or_no_manifest_may_hold_is_left_out(document, kept, left_out):
    known = KnownSecrets()
    known.add("tok-en-1", "red")
    found = generate_manifest.draft({**document, "color": "red"}, TREE, known)
    assert found.resource == {**kept, "color": "red"}  # a secret of three letters is in every other word
    assert [path for path, _ in found.left_out] == left_out


@pytest.mark.parametrize("document", KEPT.values(), ids=KEPT.keys())
def test_everything_else_is_kept_as_it_is(document):
    assert generate_manifest.draft(document, TREE) == ManifestDraft(document)


def test_a_list_with_something_to_leave_out_in_its_elements_keeps_the_elements():
    found = generate_manifest.draft({"users": [{"name": "a", "pin": "1"}, {"name": "b", "pin": "2"}]}, TREE)
    assert found.resource == {"users": [{"name": "a"}, {"name": "b"}]}
    assert [path for path, _ in found.left_out] == ["/users/0/pin", "/users/1/pin"]


def test_texts_that_would_be_references_are_escaped():
    assert generate_manifest.draft({"a": ["${x}", "$${x}", "$x"]}, TREE).resource == {"a": ["$${x}", "$$${x}", "$x"]}


@pytest.mark.parametrize("document", [None, [], "text", {"a": "${"}, {"deep": 1}], ids=str)
def test_a_document_that_is_no_map_cannot_be_declared(document):
    if isinstance(document, dict):
        generate_manifest.draft(document, TREE)
        return
    with pytest.raises(CannotDraft):
        generate_manifest.draft(document, TREE)


def test_a_document_that_is_too_deep_is_refused_and_does_not_crash():
    document: dict[str, object] = {}
    here = document
    for _ in range(100_000):
        here["a"] = {}
        here = here["a"]  # type: ignore[assignment]
    with pytest.raises(CannotDraft, match="too deep"):
        generate_manifest.draft(document, PLAIN)


@given(strategies.maps())
def test_a_draft_of_anything_agrees_with_it_and_fetches_no_secret(document):
    try:
        found = generate_manifest.draft(document, PLAIN)
    except CannotDraft:
        return
    assert not list(secrets.find(found.resource))
    assert not diff.findings(generate_manifest._as_read(found.resource), document, PLAIN)


NAMES = {
    "its own name": ("7", {"name": "blue"}, set(), "blue"),
    "its id, where it has none": ("etc/app.yaml", {}, set(), "etc-app.yaml"),
    "the end of its id, where that is a path": ("/subscriptions/s/providers/P/disks/data/", {}, set(), "data"),
    "its id, where its name is no text": ("7", {"name": 3}, set(), "7"),
    "its id, where nothing is left of its name": ("7", {"name": "///"}, set(), "7"),
    "something, where nothing is left at all": ("***", {"name": "..."}, set(), "unnamed"),
    "a number behind it, where it is taken": ("7", {"name": "blue"}, {"blue", "blue-2"}, "blue-3"),
    "no way out of a folder": ("x", {"name": "../../etc/passwd"}, set(), "etc-passwd"),
}


@pytest.mark.parametrize("ident, document, taken, name", NAMES.values(), ids=NAMES.keys())
def test_a_thing_is_named_by_what_may_be_a_name(ident, document, taken, name):
    assert generate_manifest.name_for(ident, document, taken) == name


@given(st.text(), st.text())
def test_whatever_it_is_called_the_name_is_one(ident, own):
    assert not name_problem(generate_manifest.name_for(ident, {"name": own}, {"unnamed"}))


def test_a_manifest_imports_by_id_and_only_observes():
    body = generate_manifest.manifest(
        Address("c", "K", "n"), "http", "7", ManifestDraft({"a": 1}), ManagementPolicy.OBSERVED
    )
    assert body["apiVersion"] == "http.holdfast.dev/v1"
    assert body["spec"] == {
        "connection": "c",
        "managementPolicy": "observed",
        "import": {"id": "7"},
        "resource": {"a": 1},
    }
