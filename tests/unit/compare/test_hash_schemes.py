"""A scheme's output never changes, and only hashes of one known scheme are ever compared."""

from __future__ import annotations

import base64
import dataclasses
import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import canonical, go_json, hash_schemes
from holdfast.compare.hash_schemes import HashComparison, Registry, Scheme, StampedHash
from holdfast.errors import SchemeError, UnhashableError
from holdfast.model.json import Json
from holdfast.providers.runpod import hashing as runpod_schemes

ROOMS = [
    Path(str(module.__file__)).parent / "golden" for module in (hash_schemes, runpod_schemes)
]  # beside their schemes
NEVER = "a scheme's output never changes: register a new scheme id"
SCHEME_IDS = [scheme.id for scheme in hash_schemes.REGISTRY]
VECTORS = [
    pytest.param(path.relative_to(room).with_suffix("").as_posix(), vector, id=f"{path.parent.name}-{vector['name']}")
    for room in ROOMS
    for path in sorted(room.rglob("*.jsonl"))
    for vector in map(json.loads, path.read_text(encoding="utf-8").splitlines())
]


def stamp(scheme: Scheme, vector: Json) -> StampedHash:
    return (
        scheme.stamp(base64.b64decode(vector["input_b64"]))
        if "input_b64" in vector
        else scheme.stamp_text(vector["input"])
    )


# --- golden vectors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme_id", SCHEME_IDS)
def test_every_scheme_has_golden_vectors(scheme_id):
    kept = [vector for item, vector in (parameter.values for parameter in VECTORS) if item == scheme_id]
    assert len(kept) >= 5, f"{scheme_id} has too few. {NEVER}, and give it golden vectors"


@pytest.mark.parametrize("scheme_id, vector", VECTORS)
def test_a_golden_vector_keeps_its_digest(scheme_id, vector):
    assert scheme_id in hash_schemes.REGISTRY, f"{scheme_id} is gone. {NEVER}, but keep the old ones"
    assert stamp(hash_schemes.REGISTRY.get(scheme_id), vector) == StampedHash(scheme_id, vector["digest"]), NEVER


@pytest.mark.parametrize("scheme_id, vector", VECTORS)
def test_a_golden_digest_is_that_of_the_text_written_beside_it(scheme_id, vector):
    """Where a vector shows what is hashed, its digest can be checked by anyone with sha256sum."""
    if "canonical" in vector:
        assert canonical.digest_bytes(vector["canonical"].encode()) == vector["digest"], scheme_id


def test_the_promised_schemes_are_there():
    promised = {"spec-sha256/1", "spec-sha256-int64/1", "fingerprint-sha256/1", "ordered-sha256/1", "raw-sha256/1"}
    assert promised <= set(SCHEME_IDS)
    assert all(scheme.description for scheme in hash_schemes.REGISTRY)


# --- what distinguishes them -----------------------------------------------------------------------------------------


def test_number_modes_differ_only_where_a_double_is_too_small():
    for text, is_same in (('{"n":9007199254740992}', True), ('{"n":9007199254740993}', False), ('{"n":-0}', False)):
        digests = {scheme.stamp_text(text).digest for scheme in (hash_schemes.SPEC, hash_schemes.SPEC_INT64)}
        assert (len(digests) == 1) is is_same


def test_only_the_ordered_scheme_sees_a_reordered_list():
    one, other = {"args": ["-v", "-x"]}, {"args": ["-x", "-v"]}
    assert hash_schemes.SPEC.digest(one) == hash_schemes.SPEC.digest(other)
    assert hash_schemes.ORDERED.digest(one) != hash_schemes.ORDERED.digest(other)


def test_only_the_raw_scheme_sees_white_space():
    assert hash_schemes.ORDERED.stamp_text('{"a": 1}') == hash_schemes.ORDERED.stamp_text('{"a":1}')
    assert hash_schemes.RAW.digest(b'{"a": 1}') != hash_schemes.RAW.digest(b'{"a":1}')


@pytest.mark.parametrize("value", ["text", {}, None, bytearray(b"x")], ids=repr)
def test_the_raw_scheme_takes_bytes_only(value):
    with pytest.raises(UnhashableError):
        hash_schemes.RAW.digest(value)


@pytest.mark.parametrize("text", ["[]", "1", '"a"'])
def test_a_spec_scheme_takes_objects_only(text):
    with pytest.raises(UnhashableError, match="must be an object"):
        hash_schemes.SPEC.stamp_text(text)


def test_a_profile_can_register_a_scheme_with_its_own_normalisation():
    def without_tags(document: Json) -> Json:
        return {key: value for key, value in document.items() if key != "tags"}

    registry = Registry(*hash_schemes.REGISTRY)
    scheme = registry.register(Scheme("profile.network", 3, "a network without tags", normalise=without_tags))
    assert registry.get("profile.network/3") is scheme
    assert scheme.stamp({"mtu": 1500, "tags": ["x"]}) == scheme.stamp({"mtu": 1500})
    assert scheme.id not in hash_schemes.REGISTRY


# --- comparison ------------------------------------------------------------------------------------------------------


def test_hashes_of_one_scheme_are_equal_or_different():
    stamped = [hash_schemes.SPEC.stamp({"replicas": n}) for n in (1, 1, 2)]
    assert hash_schemes.compare(stamped[0], stamped[1]) is HashComparison.EQUAL
    assert hash_schemes.compare(stamped[0], stamped[2]) is HashComparison.DIFFERENT


@pytest.mark.parametrize("one, other", list(itertools.permutations(SCHEME_IDS, 2)))
def test_hashes_of_two_schemes_are_incomparable_even_when_their_digests_agree(one, other):
    digest = canonical.digest_bytes(b"{}")
    assert hash_schemes.compare(StampedHash(one, digest), StampedHash(other, digest)) is HashComparison.INCOMPARABLE


def test_hashes_of_an_unknown_scheme_say_nothing_not_even_when_equal():
    """An older release meeting a newer one's hashes must neither report drift nor report that all is well."""
    newer = StampedHash("spec-sha256/2", canonical.digest_bytes(b"{}"))
    assert hash_schemes.compare(newer, newer) is HashComparison.INCOMPARABLE


# --- text form -------------------------------------------------------------------------------------------------------


@given(st.sampled_from(SCHEME_IDS), st.binary())
def test_the_text_form_reads_back(scheme_id, data):
    stamped = StampedHash(scheme_id, canonical.digest_bytes(data))
    assert StampedHash.parse(str(stamped)) == stamped


def test_the_text_form_names_scheme_algorithm_and_digest():
    stamped = hash_schemes.SPEC.stamp({})
    assert str(stamped) == "spec-sha256/1:sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def test_a_newer_schemes_hash_parses_though_nobody_knows_it():
    assert StampedHash.parse("spec-blake3/7:blake3:00ff") == StampedHash("spec-blake3/7", "blake3:00ff")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        "spec-sha256:sha256:" + "0" * 64,
        "spec-sha256/0:sha256:" + "0" * 64,
        "spec-sha256/1:" + "0" * 64,
        "spec-sha256/1:sha256:" + "0" * 63,
        "spec-sha256/1:sha256:" + "0" * 65,
        "spec-sha256/1:sha256:" + "F" * 64,
        "spec-sha256/1:sha256:" + "0" * 64 + "\n",
        "Spec/1:sha256:" + "0" * 64,
    ],
)
def test_a_text_that_is_no_stamped_hash_is_refused(text):
    """A truncated digest taken for a hash would compare as different, and that would be reported as drift."""
    with pytest.raises(SchemeError):
        StampedHash.parse(text)


# --- registry --------------------------------------------------------------------------------------------------------


def test_an_unknown_scheme_is_an_error_that_names_the_known_ones():
    with pytest.raises(SchemeError, match="spec-sha256/1"):
        hash_schemes.REGISTRY.get("spec-sha256/99")


def test_an_id_is_registered_once():
    registry = Registry(hash_schemes.SPEC)
    with pytest.raises(SchemeError, match="registered already"):
        registry.register(dataclasses.replace(hash_schemes.SPEC, description="another meaning"))
    registry.register(dataclasses.replace(hash_schemes.SPEC, version=2))
    assert [scheme.id for scheme in registry] == ["spec-sha256/1", "spec-sha256/2"]


@pytest.mark.parametrize(
    "name, version", [("", 1), ("Spec", 1), ("a b", 1), ("a/b", 1), ("a:b", 1), ("a", 0), ("a", -1)]
)
def test_a_malformed_id_cannot_be_registered(name, version):
    with pytest.raises(SchemeError, match="not a scheme id"):
        Registry(Scheme(name, version, "?"))


def test_a_text_is_read_in_the_schemes_own_number_mode():
    text = '{"n":9007199254740993}'
    for scheme in (hash_schemes.SPEC, hash_schemes.SPEC_INT64):
        assert scheme.stamp_text(text) == scheme.stamp(go_json.loads(text, scheme.numbers))
