"""The canonical form is Go's text with lists sorted: proven by vectors, by properties, and by refusals."""

from __future__ import annotations

import base64
import collections
import datetime as dt
import decimal
import enum
import json
import math
import re
import sys
import uuid
from types import MappingProxyType

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import canonical, go_json
from holdfast.errors import DocumentError, HoldfastError, UnhashableError
from holdfast.model.json import Json
from tests.vectors.load import by_name, vectors

GO = vectors("canonical_go")
MINUS_ZERO = re.compile(r"-0(?![.0-9eE])")  # in the int64 mode it is read as 0, so its sign is gone
EMPTY = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"

awkward_text = st.text(alphabet='ab<>&\u2028\u2029\u2027é\U0001f600\ue000"\\/\b\f\n\x00\x7f !#', max_size=5)
integers = st.integers(-(2**63), 2**64 - 1)
scalars = st.none() | st.booleans() | integers | st.floats(allow_nan=False, allow_infinity=False) | awkward_text
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(awkward_text, inner, max_size=5), max_leaves=30
)
specs = st.dictionaries(awkward_text, values, max_size=5)


def hash_of_text(text: str | bytes, numbers: go_json.Numbers) -> str:
    return canonical.canonical_spec_hash(go_json.loads(text, numbers))


def oracle(value: Json) -> str:
    """Write the canonical form the obvious way, with nothing of the code under test but the text of floats."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{oracle(key)}:{oracle(value[key])}" for key in sorted(value, key=str.encode)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(sorted(map(oracle, value), key=str.encode)) + "]"
    if isinstance(value, float):
        return canonical.number_text(value).decode()
    text = json.dumps(value, ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


# --- vectors from Go -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", GO, ids=by_name)
def test_a_text_hashes_as_in_go_with_all_numbers_doubles(case):
    assert hash_of_text(case["input"], "float64") == case["hash"]
    if "canonical" in case:
        assert canonical.canonical_text(canonical.as_spec(go_json.loads(case["input"]))) == case["canonical"]


@pytest.mark.parametrize("case", GO, ids=by_name)
def test_a_text_hashes_as_in_the_kubernetes_client_with_64_bit_integers(case):
    assert hash_of_text(case["input"], "int64") == case.get("hash_int64", case["hash"])


@pytest.mark.parametrize("case", GO, ids=by_name)
def test_the_iterative_writer_gives_the_same_bytes(case):
    for mode in ("float64", "int64"):
        value = go_json.loads(case["input"], mode)
        assert canonical.write(value, mode) == canonical.canonical_bytes(value, mode)


@pytest.mark.parametrize("case", [case for case in GO if not MINUS_ZERO.search(case["input"])], ids=by_name)
def test_integers_kept_exact_can_still_be_hashed_as_doubles(case):
    value = go_json.loads(case["input"], "int64")
    assert canonical.canonical_spec_hash(value, "float64") == case["hash"]


def test_documents_of_one_group_share_a_hash_and_groups_do_not():
    groups: dict[str, set[str]] = {}
    for case in GO:
        if "group" in case:
            groups.setdefault(case["group"], set()).add(hash_of_text(case["input"], "float64"))
    assert all(len(hashes) == 1 for hashes in groups.values())
    assert len(groups) > 20


@pytest.mark.parametrize("case", vectors("canonical_go_bytes"), ids=by_name)
def test_bytes_that_are_not_utf8_hash_as_in_go(case):
    for mode in ("float64", "int64"):
        assert hash_of_text(base64.b64decode(case["input_b64"]), mode) == case["hash"]


@pytest.mark.parametrize("case", vectors("canonical_go_errors"), ids=by_name)
def test_what_go_refuses_has_no_hash(case):
    with pytest.raises((DocumentError, UnhashableError)):
        hash_of_text(case["input"], "float64")


TYPED: dict[str, Json] = {
    "typed-nil-map-nested": {},
    "typed-nil-slice-nested": [],
    "typed-nil-interface": None,
    "typed-typed-nil-map-string": None,
    "typed-string-slice-sorted-equal": ["b", "a"],
    "typed-int": 3,
    "typed-int64-big": 9007199254740993,
    "typed-uint64-max": 2**64 - 1,
    "typed-float64-3": 3.0,
    "typed-float32": 0.1,
    "typed-float64-of-float32": 0.10000000149011612,
    "typed-bytes": "AAH/",
    "typed-valid-fffd-string": "x\ufffd",
    "typed-max-float": sys.float_info.max,
    "typed-smallest": 5e-324,
    "typed-neg-zero": -0.0,
    "typed-nan": math.nan,
    "typed-nan-in-slice": [1, math.nan],
    "typed-inf": math.inf,
    "typed-neg-inf": -math.inf,
    "typed-func": len,
    "typed-map-nonstring-key": {1: 2},
}
GO_TYPED = {case["name"]: case for case in vectors("canonical_go_typed")}


@pytest.mark.parametrize("name", TYPED)
def test_a_value_built_in_memory_hashes_as_the_same_value_in_go(name):
    spec = {"a": TYPED[name]}
    if "error" in GO_TYPED[name]:
        with pytest.raises(UnhashableError):
            canonical.canonical_spec_hash(spec)
    else:
        assert canonical.canonical_spec_hash(spec) == GO_TYPED[name]["hash"]


def test_an_ordered_list_hashes_as_the_one_kind_of_list_that_go_leaves_alone():
    data = canonical.canonical_bytes({"a": ["b", "a"]}, lists="ordered")
    assert canonical.digest_bytes(data) == GO_TYPED["typed-string-slice-not-sorted"]["hash"]


# --- properties ------------------------------------------------------------------------------------------------------


@given(values)
def test_the_form_is_what_the_obvious_implementation_writes(value):
    assert canonical.canonical_bytes(value).decode() == oracle(value)


@given(values, st.sampled_from(["float64", "int64"]), st.sampled_from(["sorted", "ordered"]))
def test_the_recursive_and_the_iterative_writer_agree(value, numbers, lists):
    assert canonical.write(value, numbers, lists) == canonical.canonical_bytes(value, numbers, lists)


@given(values, st.randoms(use_true_random=False))
def test_the_order_of_keys_and_elements_never_counts(value, random):
    assert canonical.canonical_bytes(_shuffled(value, random)) == canonical.canonical_bytes(value)


def _shuffled(value: Json, random) -> Json:
    if isinstance(value, dict):
        items = [(key, _shuffled(item, random)) for key, item in value.items()]
        random.shuffle(items)
        return dict(items)
    if isinstance(value, list):
        elements = [_shuffled(item, random) for item in value]
        random.shuffle(elements)
        return elements if random.random() < 0.5 else tuple(elements)
    return value


@given(specs, st.data())
def test_a_changed_leaf_always_changes_the_hash(spec, data):
    leaves = list(_leaves(spec))
    if not leaves:
        return
    container, step = data.draw(st.sampled_from(leaves))
    before, old = canonical.canonical_spec_hash(spec), container[step]
    new = data.draw(scalars.filter(lambda leaf: oracle(leaf) != oracle(old)))
    container[step] = new
    assert canonical.canonical_spec_hash(spec) != before


def _leaves(value: Json):
    for step, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(item, dict | list) and item:
            yield from _leaves(item)
        else:
            yield value, step


@given(values)
def test_the_form_is_its_own_canonical_form(value):
    data = canonical.canonical_bytes(value)
    # Text cannot tell 1e18 from 10**18, so what was a double stays one only in the mode where all numbers are.
    assert canonical.canonical_bytes(go_json.loads(data, "float64"), "float64") == canonical.canonical_bytes(
        value, "float64"
    )
    if not _has_long_number(value):
        assert canonical.canonical_bytes(go_json.loads(data, "int64")) == data


def _has_long_number(value: Json) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_long_number, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int | float) and (abs(value) > 2**53 or value == 0)


@given(values)
def test_an_ordered_form_keeps_lists_and_sorts_keys(value):
    data = canonical.canonical_bytes(value, lists="ordered")
    restored = json.loads(data)
    if not _has_long_number(value):
        assert restored == json.loads(json.dumps(value))
    assert all(list(node) == sorted(node) for node in _maps(restored))


def _maps(value: Json):
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _maps(item)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_of_a_float_reads_back_as_the_same_float(number):
    text = canonical.number_text(number).decode()
    assert float(text) == number
    assert math.copysign(1, float(text)) == math.copysign(1, number)
    assert ("e" in text) == (number != 0 and not 1e-6 <= abs(number) < 1e21)


# --- text ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "number, text",
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (3.0, "3"),
        (0.1, "0.1"),
        (1e-5, "0.00001"),
        (1e-6, "0.000001"),
        (1.5e-6, "0.0000015"),
        (9.999999e-7, "9.999999e-7"),
        (1e-7, "1e-7"),
        (-1.5e-10, "-1.5e-10"),
        (1e15, "1000000000000000"),
        (1e16, "10000000000000000"),
        (1.2345e20, "123450000000000000000"),
        (1e21, "1e+21"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (5e-324, "5e-324"),
    ],
)
def test_a_float_is_written_as_go_writes_it(number, text):
    assert canonical.canonical_text([number, {"a": number}]) == f'[{text},{{"a":{text}}}]'


def test_every_character_of_the_first_planes_is_escaped_as_go_does():
    short = {8: r"\b", 9: r"\t", 10: r"\n", 12: r"\f", 13: r"\r", 34: r"\"", 92: r"\\"}
    escaped = {*range(0x20), *map(ord, "<>&\u2028\u2029")} - set(short)
    for code in (*range(0xD800), *range(0xE000, 0x10000)):
        text = short.get(code) or (f"\\u{code:04x}" if code in escaped else chr(code))
        assert canonical.canonical_text({"k": chr(code)}) == f'{{"k":"{text}"}}', hex(code)


def test_keys_sort_by_raw_bytes_and_elements_by_escaped_text():
    assert canonical.canonical_text({"A": 1, "<": 2, "\U0001f600": 3, "\ue000": 4, "": 5}) == (
        '{"":5,"\\u003c":2,"A":1,"\ue000":4,"\U0001f600":3}'
    )
    assert canonical.canonical_text(["]", "<", "[", "a#", "a", "a!"]) == r'["[","\u003c","]","a!","a","a#"]'
    mixed: list[Json] = [True, None, {}, [], 1, -1, "s", False]
    assert canonical.canonical_text(mixed) == '["s",-1,1,[],false,null,true,{}]'
    assert canonical.canonical_text([11, 2, 100, 1, 10]) == "[1,10,100,11,2]"


def test_equal_elements_are_all_kept():
    assert canonical.canonical_text(["x", "y", "x"]) == '["x","x","y"]'


def test_booleans_are_not_numbers_though_python_calls_them_equal():
    assert canonical.canonical_text([1, True, 1.0, False, 0]) == "[0,1,1,false,true]"


def test_a_tuple_is_a_list():
    assert canonical.canonical_bytes({"a": ("y", ("x",), (), (2, 1))}) == b'{"a":["y",["x"],[1,2],[]]}'


def test_integers_are_exact_unless_all_numbers_are_doubles():
    value = [2**53 + 1, 2**64 - 1, -(2**63)]
    assert canonical.canonical_text(value) == "[-9223372036854775808,18446744073709551615,9007199254740993]"
    assert canonical.canonical_text(value, "float64") == "[-9223372036854776000,18446744073709552000,9007199254740992]"
    assert canonical.canonical_text(10**30, "float64") == "1e+30"


# --- refusals --------------------------------------------------------------------------------------------------------


class Colour(enum.StrEnum):
    RED = "red"


class Size(enum.IntEnum):
    BIG = 3


class Text(str):
    __slots__ = ()


Point = collections.namedtuple("Point", "x y")  # noqa: PYI024 - the untyped kind is what people pass


@pytest.mark.parametrize(
    "value, word",
    [
        ({1, 2}, "set"),
        (b"bytes", "bytes"),
        (decimal.Decimal(1), "Decimal"),
        (dt.datetime.now(tz=dt.UTC), "datetime"),
        (dt.date(2026, 1, 1), "date"),
        (uuid.UUID(int=1), "UUID"),
        (Colour.RED, "Colour"),
        (Size.BIG, "Size"),
        (Text("a"), "Text"),
        (Point(1, 2), "Point"),
        (collections.OrderedDict(a=1), "OrderedDict"),
        (orjson.Fragment(b"1"), "Fragment"),
        (object(), "object"),
        (math.nan, "nan"),
        (math.inf, "inf"),
        (2**64, "64 bits"),
        (-(2**63) - 1, "64 bits"),
        ("a\ud800", "surrogate"),
        ({1: "a"}, "int"),
        ({None: "a"}, "NoneType"),
        ({Colour.RED: "a"}, "Colour"),
        ({"a\udc00": 1}, "surrogate"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isascii() else type(value).__name__,
)
def test_what_is_not_json_is_refused_with_its_path(value, word):
    for spec in ({"a/b": ["x", {"~": value}]}, {"a/b": ["x", {"~": value}, 1.5]}):
        for lists in ("sorted", "ordered"):
            with pytest.raises(UnhashableError) as caught:
                canonical.canonical_bytes(spec, lists=lists)
            assert caught.value.path == "/a~1b/1/~0"
            assert word in caught.value.message


def test_an_integer_beyond_every_double_is_refused_in_float64_too():
    with pytest.raises(UnhashableError, match="does not fit into a 64-bit float"):
        canonical.canonical_bytes([10**400], "float64")


def test_a_message_holds_no_value():
    with pytest.raises(UnhashableError) as caught:
        canonical.canonical_bytes({"password": b"hunter2"})
    assert "hunter2" not in str(caught.value)


def test_a_value_that_contains_itself_is_refused():
    loop: Json = {"list": [1, {}]}
    loop["list"][1]["again"] = loop
    with pytest.raises(UnhashableError, match="contains itself") as caught:
        canonical.canonical_spec_hash(loop)
    assert caught.value.path == "/list/1/again"
    loop = []
    loop += [loop, loop]
    with pytest.raises(UnhashableError, match="contains itself"):
        canonical.canonical_bytes(loop)


def test_a_value_that_stands_in_two_places_is_no_cycle():
    shared = {"a": [1, 2]}
    assert canonical.write([shared, shared]) == b'[{"a":[1,2]},{"a":[1,2]}]'


@pytest.mark.parametrize("spec", [[], "text", 1, 1.5, True, False, ["a"]], ids=repr)
def test_a_spec_is_an_object_or_nothing(spec):
    with pytest.raises(UnhashableError, match="a spec must be an object"):
        canonical.canonical_spec_hash(spec)


def test_a_spec_may_be_any_mapping():
    assert canonical.canonical_spec_hash(MappingProxyType({"a": 1})) == canonical.canonical_spec_hash({"a": 1})
    assert canonical.canonical_spec_hash(None) == canonical.canonical_spec_hash({}) == EMPTY


# --- depth and size --------------------------------------------------------------------------------------------------


def _nest(depth: int, wrap) -> Json:
    value: Json = "leaf"
    for _ in range(depth):
        value = wrap(value)
    return value


SHAPES = {
    "list of one": lambda inner: [inner],
    "list of two": lambda inner: [inner, "x"],
    "object": lambda inner: {"a": inner},
    "both": lambda inner: {"b": 1.5, "a": inner},
}


@pytest.mark.parametrize("wrap", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("depth", [100, 254, 255, 1_000, 10_000])
def test_depth_is_no_obstacle_up_to_the_limit(wrap, depth):
    data = canonical.canonical_bytes(_nest(depth, wrap))
    assert data == canonical.write(_nest(depth, wrap))
    if depth <= 255:
        assert data.decode() == oracle(_nest(depth, wrap))


@pytest.mark.parametrize("wrap", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("lists", ["sorted", "ordered"])
def test_one_level_more_than_the_limit_is_refused(wrap, lists):
    with pytest.raises(UnhashableError, match="nested deeper than 10,000 levels") as caught:
        canonical.canonical_bytes(_nest(10_001, wrap), lists=lists)
    assert len(str(caught.value)) < 500


def test_the_limit_holds_when_the_interpreter_allows_more():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(50_000)
    try:
        with pytest.raises(UnhashableError, match="nested deeper"):
            canonical.canonical_bytes(_nest(10_001, SHAPES["list of two"]))
    finally:
        sys.setrecursionlimit(limit)


def test_the_callers_own_stack_may_be_nearly_full():
    def at_the_brink(left: int) -> bytes:
        return canonical.canonical_bytes({"a": [{"b": [2, 1]}, 1]}) if not left else at_the_brink(left - 1)

    outcomes = set()
    for left in range(sys.getrecursionlimit() - 100):
        try:
            outcomes.add(at_the_brink(left))
        except RecursionError:
            break
    assert outcomes == {b'{"a":[1,{"b":[1,2]}]}'}


@pytest.mark.slow
def test_ten_megabytes_are_hashed_whatever_their_shape():
    rows = [{"name": f"n{i}", "values": [i, i / 2, "x" * 60, None]} for i in range(110_000)]
    deep: Json = "leaf"
    for _ in range(5_000):
        deep = {"a": deep, "b": "x" * 2_000}
    for spec in ({"rows": rows}, {"text": "<é>" * 3_000_000}, {"deep": deep}):
        data = canonical.canonical_bytes(spec)
        assert len(data) > 10_000_000
        assert canonical.canonical_spec_hash(spec) == canonical.digest_bytes(data)


def test_every_error_is_a_holdfast_error():
    assert issubclass(UnhashableError, HoldfastError)
