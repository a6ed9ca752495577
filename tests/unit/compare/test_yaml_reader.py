"""The strict YAML reader: what JSON can say, with lines; everything else refused with its place."""

from __future__ import annotations

import contextlib
import inspect
import re
import sys

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import yaml_reader
from holdfast.compare.comparators import typed_equal
from holdfast.errors import DocumentError
from holdfast.model.json import Json
from tests import strategies


def value(text: str | bytes) -> Json:
    return yaml_reader.document(text).value


# -- what is read


@pytest.mark.parametrize(
    "text, expected",
    [
        ("no", "no"),
        ("on", "on"),
        ("y", "y"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("a:", {"a": None}),
        ("2020-01-01", "2020-01-01"),
        ("12:30:45", "12:30:45"),
        ("017", 17),
        ("0o17", 15),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("+1", 1),
        ("-0", 0),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1.", 1.0),
        ("0.1.2", "0.1.2"),
        ("'12'", "12"),
        ('"null"', "null"),
        ("!!str 12", "12"),
        ("!!int '3'", 3),
        ("! 12", "12"),
        ("=", "="),
        ("1: a", {"1": "a"}),
        ("true: a", {"true": "a"}),
        ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
        ("[a, {b: [1]}]", ["a", {"b": [1]}]),
        ("\ufeffa: 1", {"a": 1}),
    ],
)
def test_scalars_are_read_by_the_core_schema_of_yaml_1_2(text: str, expected: Json):
    assert typed_equal(value(text), expected)


def test_bytes_may_be_utf_8_or_utf_16_with_a_mark():
    assert value("a: é".encode()) == {"a": "é"}
    assert value("a: é".encode("utf-16")) == {"a": "é"}


def test_an_alias_repeats_its_anchor():
    assert value("a: &x {b: 1}\nc: *x\n") == {"a": {"b": 1}, "c": {"b": 1}}
    assert value("&k a: 1\nb: *k\n") == {"a": 1, "b": "a"}
    assert value("x: &k foo\n*k : 2\n") == {"x": "foo", "foo": 2}


def test_an_alias_of_a_string_is_never_a_merge_key():
    assert value("x: &k '<<'\ny: {*k : {a: 1}}\n") == {"x": "<<", "y": {"<<": {"a": 1}}}


def test_a_level_of_nesting_costs_one_stack_frame():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + yaml_reader.MAX_DEPTH + 30)
    try:
        read = value("[" * yaml_reader.MAX_DEPTH + "]" * yaml_reader.MAX_DEPTH)
    finally:
        sys.setrecursionlimit(limit)
    assert isinstance(read, list)


def test_a_merge_key_fills_in_what_is_not_there_and_the_first_source_wins():
    text = "a: &a {x: 1}\nb: &b {x: 2, y: 3}\nc:\n  <<: [*a, *b]\n  z: 4\nd: {<<: *b, x: 9}\n"
    read = value(text)
    assert read["c"] == {"z": 4, "x": 1, "y": 3}
    assert read["d"] == {"x": 9, "y": 3}


def test_a_quoted_merge_key_is_an_ordinary_key():
    assert value("'<<': 3") == {"<<": 3}


def test_a_stream_may_hold_many_documents_and_empty_ones_are_left_out():
    assert [document.value for document in yaml_reader.documents("a: 1\n---\n---\nb: 2\n---\n# nothing\n")] == [
        {"a": 1},
        {"b": 2},
    ]
    assert yaml_reader.documents("") == []
    assert yaml_reader.documents("# nothing\n") == []
    assert [document.value for document in yaml_reader.documents("null\n")] == [None]


def test_where_one_document_is_needed_none_or_two_are_refused():
    with pytest.raises(DocumentError, match="expected one document, got 0"):
        yaml_reader.document("")
    with pytest.raises(DocumentError, match=r"f\.yaml:4: expected one document, got 2"):
        yaml_reader.document("a: 1\n---\n\nb: 2\n", "f.yaml")


# PyYAML writes by YAML 1.1, where these are words; by the core schema they are numbers.
NUMBERS_OF_TODAY = re.compile(r"0o[0-7]+|[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?")
words = st.text(max_size=5).filter(lambda text: not NUMBERS_OF_TODAY.fullmatch(text))


@given(strategies.documents(st.none() | st.booleans() | st.integers(-(2**70), 2**70) | words))
def test_what_a_yaml_library_writes_is_read_back_the_same(document: Json):
    assert typed_equal(yaml_reader.document(yaml.safe_dump({"d": document})).value, {"d": document})


# -- where things stand


def test_every_value_knows_its_line_and_column():
    document = yaml_reader.document("a: 1\nlist:\n  - x\n  - {b: 2,\n     c: 3}\n")
    for pointer, line, column in [
        ((), 1, 1),
        (("a",), 1, 1),
        (("list",), 2, 1),
        (("list", 0), 3, 5),
        (("list", 1, "b"), 4, 6),
        (("list", 1, "c"), 5, 6),
    ]:
        location = document.location(pointer, "f.yaml")
        assert (location.line, location.column) == (line, column), pointer


def test_the_place_of_something_that_is_not_there_is_that_of_what_is_above_it():
    document = yaml_reader.document("a:\n  b: 1\n")
    assert document.location(("a", "x", "y")).line == 1
    assert document.location(("nothing",)).line == 1


def test_documents_of_a_stream_count_lines_from_the_top_of_the_text():
    second = yaml_reader.documents("a: 1\n---\nb: 2\nc: 3\n")[1]
    assert (second.line, second.location(("c",)).line) == (3, 4)


# -- what is refused

BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    "text, line, complaint",
    [
        pytest.param("a: 1\nb: 2\na: 3\n", 3, "duplicate key 'a' (first in line 1)", id="duplicate key"),
        pytest.param("b:\n  1: a\n  '1': b\n", 3, "duplicate key '1'", id="duplicate key, other spelling"),
        pytest.param("a: &x\n  b: *x\n", 2, "the alias *x refers to a value that contains it", id="cycle"),
        pytest.param("&x [1, *x]", 1, "refers to a value that contains it", id="cycle in a list"),
        pytest.param("a: 1\nb: *nope\n", 2, "the alias *nope has no anchor above it", id="unknown alias"),
        pytest.param("a: &x 1\n---\nb: *x\n", 3, "has no anchor above it", id="alias into another document"),
        pytest.param(BOMB, 7, "more than 2,000,000 values after aliases are expanded", id="alias bomb"),
        pytest.param("a:\n\tb: 1\n", 2, "cannot start any token", id="tab"),
        pytest.param(f"a: 1\nb: {'9' * 5000}\n", 2, "a number of 5,000 digits is too long", id="huge integer"),
        pytest.param("a: 1e999\n", 1, "1e999 is too large for a number", id="huge float"),
        pytest.param("a: .nan\n", 1, ".nan is not a number in JSON", id="NaN"),
        pytest.param("a: -.inf\n", 1, "is not a number in JSON", id="infinity"),
        pytest.param("[" * 1000 + "]" * 1000, 1, "nested deeper than 200 levels", id="deep list"),
        pytest.param("{a: " * 100_000, 1, "nested deeper than 200 levels", id="very deep map"),
        pytest.param("- " * 3000 + "x", 1, "nested deeper than 200 levels", id="deep block"),
        pytest.param("a: !!python/name:os.system x\n", 1, "; remove it or quote the value", id="python tag"),
        pytest.param("a: !mine {}\n", 1, "unknown tag !mine; remove it", id="own tag"),
        pytest.param("a: !!int x\n", 1, "; remove it or quote the value", id="tag that does not fit"),
        pytest.param("? [a]\n: 1\n", 1, "a key must be a string", id="list as key"),
        pytest.param("a:\n  <<: 3\n", 2, "a merge key (<<) needs a mapping", id="merge of a number"),
        pytest.param("a: [1,\n  2\n", 3, "not YAML", id="unclosed"),
        pytest.param("a: 'x\n", 2, "not YAML", id="unclosed quote"),
        pytest.param("a: 1\n b: 2\n", 2, "not YAML", id="bad indentation"),
        pytest.param(b"a: 1\nb: \xff\n", 2, "not YAML: unacceptable character", id="not UTF-8"),
        pytest.param("a: 1\nb: \x00\n", 2, "control characters are not allowed", id="control character"),
        pytest.param("a: 1\nb: \ud800\n", 2, "surrogates not allowed", id="lone surrogate"),
        pytest.param('a: "\\ud800"\n', 1, "invalid Unicode character escape code", id="escaped surrogate"),
    ],
)
def test_a_text_that_is_not_plain_data_is_refused_with_its_line(text: str | bytes, line: int, complaint: str):
    with pytest.raises(DocumentError, match=re.escape(complaint)) as caught:
        yaml_reader.documents(text, "f.yaml")
    assert (caught.value.location.file, caught.value.location.line) == ("f.yaml", line)


@given(st.binary(max_size=40) | st.text(max_size=40) | st.text("ab:-&*!{}[]<>|?#'\" \n\t0", max_size=30))
def test_any_text_is_read_or_refused_and_never_anything_else(text: str | bytes):
    with contextlib.suppress(DocumentError):
        yaml_reader.documents(text)


def test_a_message_never_holds_a_piece_of_the_document_beyond_the_offending_word():
    with pytest.raises(DocumentError) as caught:
        yaml_reader.documents("password: hunter2\nlist: [1, 2\n")
    assert "hunter2" not in str(caught.value)
