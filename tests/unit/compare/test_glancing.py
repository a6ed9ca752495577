"""A glance never overlooks what going through a document would find."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import quick_scan
from holdfast.manifests.secrets import Secret

TEXTS = st.one_of(st.text(), st.text().map(lambda text: f"{text}${{a/b.c}}"), st.just("secretRef"), st.just("\ud800${"))
DOCUMENTS = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=20,
)


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


@given(DOCUMENTS)
def test_a_mark_anywhere_is_never_overlooked(document):
    for mark in ("${", "secretRef"):
        if any(mark in text for text in texts(document)):
            assert quick_scan.may_mention(document, mark)


def test_what_holds_no_mark_is_known_to_hold_none():
    document = {"a": ["$", {"b": "{", "c": [1, 2.5, None, True]}], "secret": "ref"}
    assert not quick_scan.may_mention(document, "${", "secretRef")


@pytest.mark.parametrize(
    "value", [Secret("hush"), {"a": [Secret("hush")]}, 2**70, object()], ids=["secret", "inside", "large", "object"]
)
def test_what_is_no_plain_json_is_never_taken_for_it(value):
    assert not quick_scan.is_plain(value)
    assert quick_scan.may_mention(value, "${")
