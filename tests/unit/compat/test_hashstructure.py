"""The hash of the original reproduced over five of its generations, and its collisions by name, absent in ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.compare import hash_schemes
from holdfast.compat.karpenter import hashstructure
from holdfast.errors import UnhashableError

GOLDEN = Path(str(hash_schemes.__file__)).parent / "golden/fnv64-struct/1.jsonl"
UPSTREAM = [
    item for item in map(json.loads, GOLDEN.read_text().splitlines()) if item["name"].startswith("EC2NodeClass")
]


def quantity(form: str) -> dict:
    """Return what the original sees of a quantity: its exported format, and not its value."""
    return {"$struct": ["Quantity", ["Format", form]]}


# name -> two values that are not the same
COLLISIONS = {
    "[a,a] and []": (["a", "a"], []),
    "[a,a] and [b,b]": (["a", "a"], ["b", "b"]),
    "[a,b,b] and [a]": (["a", "b", "b"], ["a"]),
    "regrouped lists": ([["a", "b"], ["c"]], [["a"], ["b", "c"]]),
    "permuted bytes": ([49, 50], [50, 49]),
    "two of a list of settings swapped": (["spec", "family", "bundle"], ["spec", "bundle", "family"]),
    "null and 0 in a map": ({"a": None}, {"a": 0}),
}


@pytest.mark.parametrize("vector", UPSTREAM, ids=lambda vector: vector["name"])
def test_a_hash_of_the_original_is_reproduced(vector):
    assert hashstructure.digest(json.loads(vector["input"])) == vector["digest"]


def test_there_are_vectors_of_five_generations():
    assert {item["name"].split()[1] for item in UPSTREAM} == {"v1", "v2", "v4", "v5", "v6"}
    assert len(UPSTREAM) == 44


@pytest.mark.parametrize("name", COLLISIONS)
def test_28_what_collides_in_the_original_is_distinct_in_our_default(name):
    one, other = COLLISIONS[name]
    assert hashstructure.digest(one) == hashstructure.digest(other), "the original cannot tell them apart"
    assert hash_schemes.ORDERED.digest(one) != hash_schemes.ORDERED.digest(other)


def test_28_quantities_are_told_apart_by_value():
    """2G and 10G: the original sees only the format of the type, which is the same."""
    assert hashstructure.digest(quantity("DecimalSI")) == hashstructure.digest(quantity("DecimalSI"))
    assert hash_schemes.ORDERED.digest({"size": "2G"}) != hash_schemes.ORDERED.digest({"size": "10G"})


def test_30_renaming_a_type_or_reordering_its_fields_changes_the_original_and_not_ours():
    one = {"$struct": ["Spec", ["a", "1"], ["b", "2"]]}
    renamed = {"$struct": ["SpecV2", ["a", "1"], ["b", "2"]]}
    reordered = {"$struct": ["Spec", ["b", "2"], ["a", "1"]]}
    assert len({hashstructure.digest(item) for item in (one, renamed, reordered)}) == 3
    assert hash_schemes.ORDERED.digest({"a": "1", "b": "2"}) == hash_schemes.ORDERED.digest({"b": "2", "a": "1"})


def test_annotations_are_decimal_and_come_back_as_digests():
    assert hashstructure.of_annotation(hashstructure.annotation("a")) == hashstructure.digest("a")
    for bad in ("abc", str(1 << 64), ""):
        with pytest.raises(UnhashableError):
            hashstructure.of_annotation(bad)


def test_29_a_value_without_a_form_is_an_error():
    for bad in (object(), {"$int32": 1 << 40}, 1 << 70, "\ud800"):
        with pytest.raises(UnhashableError):
            hashstructure.digest(bad)
