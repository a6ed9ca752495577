"""What a document says about who wrote it, read with care: no secret, no nonsense, no crash."""

from __future__ import annotations

import pytest

from holdfast.model.attribution import LikelyActor
from holdfast.model.confidence import Confidence
from holdfast.providers.http import attribution
from holdfast.providers.http.description import Attribution

BOTH = Attribution(("meta", "by"), ("meta", "at"))


def named(by, at=None, secrets=()):
    return attribution.likely_actor(BOTH, {"meta": {"by": by, "at": at}}, secrets)


def test_who_and_when_are_taken_from_their_places_with_high_confidence():
    found = named("ada", "2026-01-01T00:00:05Z")
    assert found == LikelyActor("ada", Confidence.HIGH, "/meta/by of the thing", 1767225605.0)


@pytest.mark.parametrize(
    "text, seconds",
    [
        ("2026-01-01T00:00:05+01:00", 1767222005.0),
        ("2026-01-01T00:00:05", 1767225605.0),
        (1767225605, 1767225605.0),
        (1767225605000, 1767225605.0),
        (1767225605.5, 1767225605.5),
        ("yesterday", None),
        (True, None),
        (float("inf"), None),
        ({}, None),
        (None, None),
    ],
)
def test_times_are_read_in_the_usual_spellings_and_left_out_otherwise(text, seconds):
    found = named("ada", text)
    assert found is not None
    assert found.at == seconds


def test_an_id_is_a_name_too():
    found = named(42)
    assert found is not None
    assert found.who == "42"


@pytest.mark.parametrize("by", [None, "", "  ", True, {}, ["ada"], 1.5])
def test_what_cannot_be_a_name_is_none(by):
    assert named(by) is None


def test_a_name_with_a_secret_of_the_connection_in_it_is_not_told():
    assert named("token t0ken", secrets=("t0ken",)) is None
    assert named("two\nlines") is None


def test_a_document_without_the_place_names_nobody():
    assert attribution.likely_actor(BOTH, {}, ()) is None
    assert attribution.likely_actor(BOTH, [], ()) is None
