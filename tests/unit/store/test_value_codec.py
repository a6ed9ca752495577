"""What JSON alone cannot carry survives the store exactly."""

from __future__ import annotations

import math
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.absent import ABSENT
from holdfast.model.finding import Digest, Finding
from holdfast.model.json import Json
from holdfast.store import value_codec
from tests.unit.store import examples


def typed(value: Json) -> Json:
    """Return a value in which 1, 1.0 and True are three different things."""
    if isinstance(value, dict):
        return {key: typed(item) for key, item in value.items()}
    return [typed(item) for item in value] if isinstance(value, list) else (type(value).__name__, repr(value))


def there_and_back(finding: Finding) -> Finding:
    return value_codec.decode_finding(value_codec.loads(value_codec.dumps(value_codec.encode_finding(finding))))


@given(examples.findings)
def test_a_finding_comes_back_exactly(finding):
    back = there_and_back(finding)
    assert back == finding
    assert [type(step) for step in back.path] == [type(step) for step in finding.path]
    assert [type(step) for step in back.pointer] == [type(step) for step in finding.pointer]
    for name in ("desired", "baseline", "observed"):
        assert typed(getattr(back, name)) == typed(getattr(finding, name))


@given(examples.odd_values)
def test_absence_and_digests_survive_at_any_depth(value):
    assert typed(
        value_codec.decode_value(value_codec.loads(value_codec.dumps(value_codec.encode_value(value))))
    ) == typed(value)


@pytest.mark.parametrize(
    "value", [{"$": "absent"}, {"$": "digest", "text": "x"}, {"$": "object", "value": {}}, {"$": 1}]
)
def test_a_plain_object_that_looks_like_a_mark_stays_plain(value):
    assert value_codec.decode_value(value_codec.encode_value(value)) == value
    assert value_codec.decode_value(value_codec.encode_value([ABSENT, Digest("d"), value])) == [
        ABSENT,
        Digest("d"),
        value,
    ]


@given(examples.json_values)
def test_json_keeps_the_types_of_its_numbers(value):
    assert typed(value_codec.loads(value_codec.dumps(value))) == typed(value)


@pytest.mark.parametrize("value", [2**64, -(2**200), "\ud800", [None], "null", math.inf, {"a": {"b": None}}, -0.0])
def test_what_the_fast_writer_would_spoil_is_written_exactly(value):
    assert typed(value_codec.loads(value_codec.dumps(value))) == typed(value)


def test_nan_stays_nan():
    assert math.isnan(value_codec.loads(value_codec.dumps(math.nan)))


@pytest.mark.parametrize("inner", [1, None])
def test_any_mapping_is_an_object(inner):
    assert value_codec.loads(value_codec.dumps(MappingProxyType({"a": MappingProxyType({"b": inner})}))) == {
        "a": {"b": inner}
    }


@pytest.mark.parametrize("with_null", [[], [None]])
def test_what_is_not_json_is_refused_by_the_name_of_its_type(with_null):
    with pytest.raises(TypeError, match="set"):
        value_codec.dumps([{1, 2}, *with_null])


@given(st.binary(max_size=3))
def test_nothing_but_json_is_written(data):
    with pytest.raises(TypeError):
        value_codec.dumps(data)
