"""The reader reads what Go reads, refuses what Go refuses, and says where."""

from __future__ import annotations

import base64
import contextlib
import json
import math
import string
import sys
from typing import get_args

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.compare import go_json
from holdfast.errors import DocumentError
from holdfast.model.json import Json
from tests.vectors.load import by_name, vectors

MODES = get_args(go_json.Numbers)

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
documents = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
)


def exactly(value: Json) -> str:
    """Show a value so that 1, 1.0, True, 0.0 and -0.0 all differ."""
    return repr(value)


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, float64, int64",
    [
        ("0", 0, 0),
        ("-0", -0.0, 0),
        ("-0.0", -0.0, -0.0),
        ("-0e3", -0.0, -0.0),
        ("3", 3, 3),
        ("3.0", 3.0, 3.0),
        ("30e-1", 3.0, 3.0),
        ("9007199254740992", 2**53, 2**53),
        ("9007199254740993", 9007199254740992.0, 9007199254740993),
        ("-9007199254740993", -9007199254740992.0, -9007199254740993),
        ("9223372036854775807", 9223372036854775808.0, 9223372036854775807),
        ("9223372036854775808", 9223372036854775808.0, 9223372036854775808.0),
        ("-9223372036854775808", -9223372036854775808.0, -9223372036854775808),
        ("-9223372036854775809", -9223372036854775808.0, -9223372036854775808.0),
        ("18446744073709551615", 18446744073709551616.0, 18446744073709551616.0),
        ("123456789012345678901234567890", 1.2345678901234568e29, 1.2345678901234568e29),
        ("1e-400", 0.0, 0.0),
        ("-1e-400", -0.0, -0.0),
        ("1.7976931348623157e308", sys.float_info.max, sys.float_info.max),
    ],
)
def test_a_number_becomes_what_the_mode_says(text, float64, int64):
    for place in ("{}", "[{}]", '{{"a": {}}}', '{{"id":"1234567890123456789","a":[{} ]}}', " {}\n"):
        document = place.format(text)
        read = [go_json.loads(document, mode) for mode in MODES]
        expected = [json.loads(place.format('"?"')) for _ in MODES]
        for mode, (got, want, number) in zip(MODES, zip(read, expected, (float64, int64), strict=True), strict=True):
            assert exactly(got) == exactly(want).replace("'?'", exactly(number)), (document, mode)
            assert exactly(go_json.read(document, mode)) == exactly(got)


@pytest.mark.parametrize(
    "text, value",
    [
        (r'"\u0061"', "a"),
        (r'"\"\\\/\b\f\n\r\t"', '"\\/\b\f\n\r\t'),
        (r'"\ud83d\ude00"', "\U0001f600"),
        (r'"\ud800"', "\ufffd"),
        (r'"\udc00\ud800"', "\ufffd\ufffd"),
        (r'"\ud83d\ud83d\ude00"', "\ufffd\U0001f600"),
        (r'"\ud83dx\ude00"', "\ufffdx\ufffd"),
        (r'"\\ud800"', r"\ud800"),
        ('"\u2028\x7f\ufeff\uffff"', "\u2028\x7f\ufeff\uffff"),
        ('"a\udce9b"', "a\ufffdb"),
        ('"\ud83d\ude00"', "\ufffd\ufffd"),
    ],
)
def test_a_string_becomes_what_go_reads(text, value):
    assert go_json.loads(text) == go_json.read(text) == value


@pytest.mark.parametrize("case", vectors("canonical_go_bytes"), ids=by_name)
def test_every_byte_that_is_not_utf8_becomes_one_replacement_character(case):
    assert go_json.loads(base64.b64decode(case["input_b64"])) == json.loads(case["decoded"])


def test_of_duplicate_keys_the_last_wins_whole():
    text = r'{"a":{"x":1},"b":2,"\u0061":{"y":3}}'
    for reader in (go_json.loads, go_json.read):
        assert list(reader(text).items()) == [("a", {"y": 3}), ("b", 2)]


@pytest.mark.parametrize("text", ["null", "true", '"s"', "1", "[]", "{}", " \t\r\n[ ] \n", '{ "a" : [ { } , [ ] ] }'])
def test_any_value_may_stand_at_the_top_with_space_around_it(text):
    assert go_json.loads(text) == go_json.loads(text.encode()) == go_json.read(text) == json.loads(text)


def test_ten_thousand_levels_are_read_and_one_more_is_refused():
    value = go_json.loads(nested(go_json.MAX_DEPTH))
    for _ in range(go_json.MAX_DEPTH - 1):
        (value,) = value
    assert value == []
    with pytest.raises(DocumentError, match=r"^1:10001: nested deeper than 10,000 levels"):
        go_json.loads(nested(go_json.MAX_DEPTH + 1))


def test_depth_counts_objects_and_lists_alike():
    text = '{"a":[' * 5_000 + "]}" * 5_000
    assert go_json.loads(text)["a"][0]["a"] is not None
    with pytest.raises(DocumentError, match="nested deeper"):
        go_json.loads(f"[{text}]")


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", vectors("canonical_go_errors"), ids=by_name)
def test_what_go_cannot_parse_is_refused(case):
    if "cannot unmarshal" in case["go_error"] and "into Go value of type map" in case["go_error"]:
        assert not isinstance(go_json.loads(case["input"]), dict)  # well-formed, but no spec: canonical refuses it
        return
    with pytest.raises(DocumentError) as caught:
        go_json.loads(case["input"])
    assert caught.value.location.line == 1


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "1:1: expected a value, but the text is empty"),
        ("\n [1,", "2:5: expected a value, but the text ends"),
        ('{"a":1,\n "b":NaN}', "2:6: expected a value, found 'N' (JSON has no NaN and no Infinity)"),
        ('{"a":-Infinity}', "1:6: expected a value, found '-' (JSON has no NaN and no Infinity)"),
        ('{"a":1e400}', "1:6: the number does not fit into a 64-bit float"),
        ("[" + "9" * 5_000 + "]", "1:2: the number does not fit into a 64-bit float"),
        ('{"a":01}', "1:7: expected ',' or '}', found '1' (numbers are decimal"),
        ("[1.]", "1:3: expected ',' or ']', found '.' (numbers are decimal"),
        ("[+1]", "1:2: expected a value, found '+' (numbers are decimal"),
        ("[1,]", "1:4: expected a value, found ']' (a comma stands only between two elements)"),
        ('{"a":1,}', "1:8: expected an object key in double quotes, found '}'"),
        ("{'a':1}", '1:2: expected an object key in double quotes, found "\'"'),
        ('{"a" 1}', "1:6: expected ':' after an object key, found '1'"),
        ('{"a"', "1:5: expected ':' after an object key, but the text ends"),
        ("[1 2]", "1:4: expected ',' or ']', found '2'"),
        ("[1}", "1:3: expected ',' or ']', found '}'"),
        ("['a']", '1:2: expected a value, found "\'" (strings stand in double quotes)'),
        ("[True]", "1:2: expected a value, found 'T' (true, false and null are written in lower case)"),
        ("[None]", "1:2: expected a value, found 'N' (the empty value is written null)"),
        ("[yes]", "1:2: expected a value, found 'y' (strings stand in double quotes; the only words are"),
        ("[1] // x", "1:5: expected the end of the text, found '/' (JSON has no comments)"),
        ("\ufeff{}", "1:1: expected a value, found U+FEFF (save the file without a byte order mark)"),
        ("{} {}", "1:4: expected the end of the text, found '{'"),
        ('["a\tb"]', r"1:4: raw control character U+0009 in a string; write it as \u0009"),
        (r'["\x41"]', "1:3: unknown escape in a string"),
        (r'{"\u12g4":1}', r"1:3: \u in a string needs four hexadecimal digits"),
        ('["abc', "1:2: the text ends inside the string that begins here"),
        ("\f1", r"1:1: expected a value, found '\x0c'"),
        ("\u00a01", "1:1: expected a value, found U+00A0"),
        ("\u0663", "1:1: expected a value, found U+0663"),
        (b"[\xff]", "1:2: expected a value, found U+FFFD (the text may not be UTF-8)"),
        ("[\udc80]", "1:2: expected a value, found U+FFFD (the text may not be UTF-8)"),
    ],
)
def test_an_error_names_place_and_cause(text, message):
    with pytest.raises(DocumentError) as caught:
        go_json.loads(text)
    assert str(caught.value).startswith(message)


def test_an_error_shows_one_character_and_never_the_document():
    with pytest.raises(DocumentError) as caught:
        go_json.loads('{"password": hunter2}')
    assert "unter" not in str(caught.value)


# --- two readers, one answer -----------------------------------------------------------------------------------------


@given(documents, st.sampled_from([None, 2]))
def test_int64_agrees_with_the_standard_library_on_ordinary_documents(value, indent):
    text = json.dumps(value, indent=indent)
    expected = json.loads(text, parse_int=lambda digits: _int64(int(digits)))
    assert exactly(go_json.loads(text, "int64")) == exactly(expected)


def _int64(value: int) -> int | float:
    return value if -(2**63) <= value < 2**63 else float(value)


@given(documents, st.booleans(), st.sampled_from(MODES))
@example(-0.0, True, "float64")
def test_the_fast_path_and_the_slow_reader_agree(value, ascii_only, mode):
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert exactly(go_json.loads(text, mode)) == exactly(go_json.read(text, mode))
    assert exactly(go_json.loads(text.encode(), mode)) == exactly(go_json.read(text, mode))


@given(st.text(alphabet='[]{},:"\\u0d8c-+.eE123tfn \t\n\x01\ufeffé\udc80', max_size=24), st.sampled_from(MODES))
def test_both_readers_accept_the_same_texts(text, mode):
    """Whatever orjson accepts the slow reader must accept too, with the same value."""
    raw = text.encode("utf-8", "surrogateescape")
    try:
        orjson.loads(raw)
    except orjson.JSONDecodeError:
        return
    assert exactly(go_json.loads(raw, mode)) == exactly(go_json.read(raw, mode))


@given(st.from_regex(r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?", fullmatch=True))
def test_every_number_is_rounded_as_ieee_says(text):
    expected = float(text)
    if math.isinf(expected):
        with pytest.raises(DocumentError):
            go_json.loads(text)
        return
    value = go_json.loads(text)
    assert value == expected
    assert math.copysign(1, value) == math.copysign(1, expected)


@given(st.text(alphabet=string.printable + "é\u2028\U0001f600", max_size=30))
def test_nothing_but_a_document_error_escapes(text):
    for given_text in (text, text.encode()):
        with contextlib.suppress(DocumentError):
            go_json.loads(given_text)


# --- size ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_ten_megabytes_are_read_by_both_readers():
    item = {"name": "größe ✓", "values": [1, 2.5, None, True, "x" * 40], "id": "1234567890123456789"}
    text = json.dumps([item] * 80_000, ensure_ascii=False)
    assert len(text) > 10_000_000
    assert go_json.loads(text) == go_json.read(text) == [item] * 80_000


@pytest.mark.parametrize(
    "text",
    [
        '"' + "a" * 10_000_000,
        '"' + r"\n" * 5_000_000,
        "[" + " " * 10_000_000,
        "[" * 10_000_000,
        "1" * 10_000_000,
        '{"a":' * 2_000_000,
    ],
    ids=["open string", "open escapes", "blanks", "brackets", "digits", "objects"],
)
def test_ten_megabytes_of_malice_are_refused(text):
    with pytest.raises(DocumentError):
        go_json.loads(text)


def test_ten_megabytes_of_fraction_are_a_number():
    assert go_json.loads("0." + "3" * 10_000_000) == 1 / 3
