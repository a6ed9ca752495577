"""Secrets that are recognised wherever they turn up."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.reconcile.known_secrets import MASK, SHORTEST, KnownSecrets, is_telling

SECRETS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=8, max_size=30)


def fingerprint(value):
    return f"hidden {len(str(value))}"


def known(*values: str) -> KnownSecrets:
    made = KnownSecrets()
    made.add(*values)
    return made


@pytest.mark.parametrize("more", [0, 40], ids=["few", "many"])
@given(secret=SECRETS, before=st.text(max_size=5), after=st.text(max_size=5))
def test_a_secret_is_found_in_every_spelling(more, secret, before, after):
    secrets = known(secret, *(f"another-{number:04}-secret" for number in range(more)))
    spelt = [
        secret,
        quote(secret, safe=""),
        quote_plus(secret),
        json.dumps(secret)[1:-1],
        json.dumps(json.dumps(secret))[3:-3],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        base64.b64encode(secret.encode()).decode(),
        base64.b64encode(f"user:{secret}".encode()).decode(),
        base64.urlsafe_b64encode(f"me:{secret}".encode()).decode(),
    ]
    for item in spelt:
        text = before + item + after
        assert secrets.scrubbed({"a": [{"b": text}]}, fingerprint) == {"a": [{"b": fingerprint(text)}]}, item
        assert secrets.scrubbed({text: 1}, fingerprint) == {fingerprint(text): 1}


LEAVES = st.none() | st.integers(-(2**53), 2**53) | st.text(max_size=5)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner))


@given(value=VALUES)
def test_a_document_without_one_is_the_same_object(value):
    assert known("a-secret-0815-of-some-length").scrubbed(value, fingerprint) is value


def test_short_values_are_not_looked_for():
    assert known("x" * (SHORTEST - 1)).scrubbed({"a": "xxxxxxxx"}, fingerprint) == {"a": "xxxxxxxx"}


@pytest.mark.parametrize("count", [2, 200])
def test_messages_are_told_without_them_the_longest_first(count):
    secrets = known(*(f"secret-{number:04}" for number in range(count)), "secret-0001-and-more")
    assert secrets.hidden("a secret-0001-and-more b secret-0000") == f"a {MASK} b {MASK}"


def test_words_are_left_in_messages_and_hidden_in_documents():
    secrets = known("postgres")
    assert secrets.hidden("cannot reach postgres") == "cannot reach postgres"
    assert secrets.scrubbed({"a": "postgres"}, fingerprint) != {"a": "postgres"}
    assert not is_telling("postgres")


def test_a_long_secret_is_found_piece_by_piece():
    secret = "".join(f"{number:05}" for number in range(1000))
    assert known(secret).hidden(f"key: {secret}").strip("*") == "key: "
    assert known(secret).is_in(f"...{secret[100:4000]}...")


def test_live_secrets_are_those_of_their_resource():
    secrets = KnownSecrets()
    secrets.meet(["rotated-0815"], "one")
    assert (secrets.met("one"), secrets.met("two")) == (["rotated-0815"], [])
    assert secrets.hidden("rotated-0815") == MASK
