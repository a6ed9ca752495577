"""Secrets: masks, fingerprints, and that no comparator of secrets tells one."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import comparators
from holdfast.compare.comparators import fingerprint, is_masked
from holdfast.errors import ProfileError
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json

KEY = b"k" * 32


@pytest.mark.parametrize(
    "value",
    [
        None, "", "  ", ABSENT, "***", "*" * 40, "\u2022" * 8, "<redacted>", "REDACTED", "[REDACTED]", "***redacted***",
        "<hidden>", "(sensitive value)", "{{Logger-Credentials--65}}", {}, [], {"a": "", "b": [None, "****"]},
    ],
)  # fmt: skip
def test_these_say_nothing_about_the_secret(value: Json) -> None:
    assert is_masked(value)


@pytest.mark.parametrize(
    "value",
    [
        "hunter2",
        "*",
        "**",
        "hidden",
        "secret",
        "a****",
        "****a",
        "{{a}}b",
        "{x}",
        0,
        False,
        {"a": "", "b": "x"},
        "*" * 300,
    ],
)
def test_these_are_values(value: Json) -> None:
    assert not is_masked(value)


def test_two_readable_values_that_differ_are_a_difference() -> None:
    assert not comparators.build("write_only").equal("hunter2", "hunter3")
    assert comparators.build("write_only").equal("hunter2", "hunter2")


def test_an_opaque_answer_is_never_compared() -> None:
    assert comparators.build("write_only", opaque=True).equal("hunter2", "SCRAM-SHA-256$4096:x")


def test_the_key_is_the_fingerprint_and_every_mask_has_the_same_one() -> None:
    comparator = comparators.build("write_only", fingerprint_key=KEY)
    assert comparator.key("hunter2") == ("write_only", fingerprint("hunter2", KEY))
    assert comparator.key("****") == comparator.key(None) != comparator.key("hunter2")


def test_without_a_fingerprint_key_the_key_tells_nothing() -> None:
    comparator = comparators.build("write_only")
    assert comparator.key("hunter2") == comparator.key("hunter3") != comparator.key("")


def test_neither_name_nor_representation_shows_the_fingerprint_key() -> None:
    comparator = comparators.build("write_only", fingerprint_key=KEY, opaque=True)
    assert comparator.name == "write_only(opaque=true)"
    assert KEY.decode() not in repr(comparator)


def test_the_error_about_a_wrong_fingerprint_key_does_not_show_it() -> None:
    with pytest.raises(ProfileError) as caught:
        comparators.build("write_only", fingerprint_key="topsecret")
    assert "topsecret" not in str(caught.value)
    with pytest.raises(ProfileError, match="empty"):
        comparators.build("write_only", fingerprint_key=b"")


def test_a_fingerprint_is_an_hmac_of_the_canonical_text() -> None:
    digest = hmac.new(KEY, b'{"a":1,"b":"\xc3\xa9"}', hashlib.sha256).hexdigest()
    assert fingerprint({"b": "é", "a": 1.0}, KEY) == f"hmac-sha256:{digest}"


def test_a_fingerprint_needs_a_key() -> None:
    with pytest.raises(ValueError, match="needs a key"):
        fingerprint("x", b"")


@given(st.text(), st.text(), st.binary(min_size=1))
def test_fingerprints_agree_exactly_when_values_do(one: str, other: str, key: bytes) -> None:
    assert (fingerprint(one, key) == fingerprint(other, key)) is (one == other)


def test_a_fingerprint_of_half_a_character_does_not_fail() -> None:
    assert fingerprint("\ud800", KEY) != fingerprint("\ud801", KEY)
