"""The places of JSON values are those that the YAML reader finds in the same text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import yaml_reader
from holdfast.errors import DocumentError
from holdfast.manifests.edit import json_places

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('ab"\\[]{},: \n', max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab"[]{},:', max_size=3), inner, max_size=3),
)


@given(values, st.sampled_from([None, 1, 3]))
def test_places_are_those_of_yaml(value, indent):
    text = json.dumps(value, indent=indent)
    assert json_places.places(text) == yaml_reader.document(text).places


def test_a_text_that_begins_further_down_counts_from_there():
    assert json_places.places('\n{"a":\n [1]}', 10) == {(): (11, 1), ("a",): (11, 2), ("a", 0): (12, 3)}


def test_a_key_that_stands_twice_is_refused():
    with pytest.raises(DocumentError, match=r"2:1: duplicate key 'a' \(first in line 1\)"):
        json_places.places('{"a": {"a": 1},\n"\\u0061": 2}')


@given(
    st.lists(values.filter(lambda value: isinstance(value, dict | list)), max_size=4), st.sampled_from(["", "\n", " "])
)
def test_documents_one_after_another_are_told_apart(several, between):
    text = between.join(map(json.dumps, several))
    assert [json.loads(text[start:stop]) for start, stop in json_places.spans(text)] == several


@given(st.text('[]{}",:\\a1 \n', max_size=20))
def test_no_text_makes_telling_apart_fail(text):
    for start, stop in json_places.spans(text):
        assert text[start] in "[{"
        assert text[stop - 1] in "]}"
