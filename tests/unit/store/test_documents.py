"""Documents are kept once, small, and under the digest they really have."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import canonical, hash_schemes
from holdfast.errors import UnhashableError
from holdfast.store import blobs
from holdfast.store.state import Digest
from tests.unit.store import examples

HEX = hashlib.sha256(b"x").hexdigest()


@given(examples.json_values.map(lambda value: {"value": value}))
def test_canonical_bytes_read_back_give_the_same_canonical_bytes(value):
    try:
        name, data = blobs.digest_of(value)
    except UnhashableError:  # an integer beyond 64 bits, which no document holds
        return
    assert hash_schemes.ORDERED.digest(value) == name  # so the stamp of a revision needs no second hash
    packed = blobs.pack(data)
    assert blobs.unpack(packed) == data
    if b"-0" not in data:  # JSON readers disagree about the sign of zero
        assert blobs.digest_of(blobs.load(data)) == (name, data)


@pytest.mark.parametrize("data", [b'"' + b"x" * 98 + b'"', b"{}", b"0", b"null"])
def test_short_texts_are_kept_as_they_are(data):
    assert blobs.pack(data, at_least=200) == data
    assert blobs.unpack(data) == data


def test_what_does_not_get_shorter_is_kept_as_it_is():
    noise = b'"' + hashlib.sha512(b"noise").hexdigest().encode() + b'"'
    digits = b"".join(b"%d" % byte for byte in hashlib.shake_256(b"n").digest(8))
    assert len(blobs.pack(noise)) < len(noise)
    assert blobs.pack(digits, at_least=1) == digits


def test_repetitive_documents_get_much_shorter():
    data = canonical.canonical_bytes([{"name": f"n{n}", "enabled": True} for n in range(50)])
    assert len(blobs.pack(data)) * 4 < len(data)


@given(
    st.sampled_from(["sha256:", "spec-sha256/1:sha256:", "", ":", "x"]),
    st.sampled_from([HEX, HEX.upper(), HEX[:-2], "zz"]),
)
def test_any_text_survives_being_packed_as_a_digest(prefix, digits):
    assert blobs.unpack_digest(blobs.pack_digest(prefix + digits)) == prefix + digits


@given(st.text())
def test_even_text_that_is_no_digest(text):
    assert blobs.unpack_digest(blobs.pack_digest(text)) == text


@pytest.mark.parametrize(
    "text, size", [("sha256:" + HEX, 32), ("spec-sha256/1:sha256:" + HEX, 53), (HEX, 65), ("md5:0f", 7), ("x" * 31, 33)]
)
def test_digests_take_half_the_room(text, size):
    assert len(blobs.pack_digest(text)) == size


def test_bytes_are_refused_under_a_digest_they_do_not_have():
    blobs.require_match(*blobs.digest_of({"a": 1}))
    with pytest.raises(ValueError, match="sha256:ff"):
        blobs.require_match(Digest("sha256:ff"), b"{}")
