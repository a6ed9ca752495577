"""What "the same JSON value" means when nobody says otherwise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare.comparators import identity, typed_equal
from holdfast.compare.comparators.base import canonical_text, label
from holdfast.model.json import Json

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.integers()
    | st.floats()
    | st.sampled_from("01a")
    | st.text(max_size=3)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
)


def nested(depth: int, leaf: Json) -> Json:
    value = leaf
    for _ in range(depth):
        value = {"a": [value]}
    return value


@given(VALUES, VALUES)
def test_identity_agrees_with_typed_equality(one: Json, other: Json) -> None:
    assert (identity(one) == identity(other)) is typed_equal(one, other) is typed_equal(other, one)
    assert (canonical_text(one) == canonical_text(other)) is typed_equal(one, other)


@given(VALUES)
def test_every_value_is_itself_and_hashable(value: Json) -> None:
    assert typed_equal(value, value)
    assert hash(identity(value)) == hash(identity(value))


@given(st.dictionaries(st.text(max_size=3), SCALARS))
def test_the_order_of_keys_does_not_count(value: dict[str, Json]) -> None:
    turned = dict(reversed(value.items()))
    assert typed_equal(value, turned)
    assert canonical_text(value) == canonical_text(turned)


@pytest.mark.parametrize(
    "one, other",
    [
        (True, 1), (False, 0), (1, "1"), (None, ""), (None, False), ([], {}), ([1, 2], [2, 1]), ({"a": None}, {}),
        ({"a": 1}, {"b": 1}), ([True], [1]), (2**53 + 1, float(2**53)), ("a", "A"),
        ([1], [1, 1]), ([[]], [{}]), (0.1, 0.2),
    ],
)  # fmt: skip
def test_these_are_different(one: Json, other: Json) -> None:
    assert not typed_equal(one, other)
    assert identity(one) != identity(other)


def test_depth_beyond_the_stack_is_safe() -> None:
    deep, same, other = nested(50_000, 1), nested(50_000, 1.0), nested(50_000, True)
    assert typed_equal(deep, same)
    assert not typed_equal(deep, other)
    assert hash(identity(deep)) == hash(identity(same))
    assert identity(deep) != identity(other)


def test_integers_too_large_to_print_still_have_a_text() -> None:
    assert canonical_text([10**5000]) != canonical_text([10**5000 + 1])


def test_what_is_no_json_is_a_mistake_of_the_program() -> None:
    with pytest.raises(TypeError, match="no JSON value"):
        identity(object())


@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, "x"),
        ({"a": None, "b": False}, "x"),
        ({"sep": ","}, "x(sep=,)"),
        ({"a": True, "n": 2}, "x(a=true,n=2)"),
        ({"a": "b,c=d"}, 'x(a="b,c=d")'),
        ({"m": {"b": 1, "a": "é"}}, 'x(m={"a":"é","b":1})'),
    ],
)
def test_a_name_shows_the_options_that_are_set(options: dict[str, Json], expected: str) -> None:
    assert label("x", **options) == expected
