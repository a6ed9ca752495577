"""The small parts of the http provider: templates, slices, Retry-After, quotations."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.providers.http import error_excerpt, raw_slices, request_body, status_mapping, url_templates
from holdfast.providers.http.description import ByLink, Call, ListDescription
from holdfast.providers.protocol import Target
from holdfast.reconcile import redact

TARGET = Target("A", "my name", None, {"project": {"id": 7}, "list": [1]}, "näme/space")

FILLED = {
    "/a": "/a",
    "/a/{id}": "/a/i%2Fd%3F%20%C3%A9",
    "/{namespace}/a/{name}?x={desired./project/id}&y=1": "/n%C3%A4me%2Fspace/a/my%20name?x=7&y=1",
    "/a/{desired.project/id}": "/a/7",
}


@pytest.mark.parametrize("text", FILLED)
def test_a_template_is_filled_with_encoded_values(text):
    assert url_templates.parse(text).fill(TARGET, "i/d? é") == FILLED[text]


@pytest.mark.parametrize("text", ["/a/{id}", "/a/{desired./none}", "/a/{desired./list}", "/a/{desired./project}"])
def test_a_value_that_is_not_there_or_not_a_scalar_cannot_be_filled_in(text):
    with pytest.raises(url_templates.UnfilledError):
        url_templates.parse(text).fill(TARGET, None)


@pytest.mark.parametrize("ident", ["", ".", ".."])
def test_an_id_that_would_climb_out_of_its_path_is_refused(ident):
    with pytest.raises(url_templates.UnfilledError) as raised:
        url_templates.parse("/a/{id}").fill(TARGET, ident)
    assert raised.value.name != "id", "it is not a thing without an id"


@given(st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda text: text not in (".", "..")))
def test_whatever_an_id_is_it_stays_one_segment(ident):
    path = url_templates.parse("/a/{id}/b").fill(TARGET, ident)
    assert path.count("/") == 3
    assert not set(path) & set("?# \r\n\\")


# --- slices -----------------------------------------------------------------------------------------------------------


def test_an_item_is_cut_out_as_it_stands():
    assert raw_slices.items(("data", "x"))(b'{"a": [1], "data": {"x":  {"b" : 1.50}, "y": 2}}') == b'{"b" : 1.50}'
    assert raw_slices.items(())(b' {"a": 1}\n') == b'{"a": 1}'


@pytest.mark.parametrize("body", [b"", b"{}", b'{"data": 1}', b'{"data": {"x"', b"[]", b"<html>"])
def test_an_item_that_is_not_where_it_should_be_is_an_error(body):
    with pytest.raises(msgspec.MsgspecError):
        raw_slices.items(("data", "x"))(body)


def listing(items: str, following: str | None) -> ListDescription:
    call = Call.of("GET", url_templates.parse("/a"))
    keys = tuple(items.split("/")[1:])
    return ListDescription(call, keys, ("id",), None if following is None else ByLink(tuple(following.split("/")[1:])))


PAGES = {
    "a field": ("/items", None, b'{"items": [{"id": 1}, 2]}', [b'{"id": 1}', b"2"], None),
    "deep": ("/a/b-c/d e", None, b'{"a": {"b-c": {"d e": [1]}}}', [b"1"], None),
    "with the next page beside": ("/a/items", "/a/next", b'{"a": {"items": [1], "next": "/x"}}', [b"1"], "/x"),
    "with the next page elsewhere": ("/items", "/meta/next", b'{"items": [1], "meta": {"next": "/x"}}', [b"1"], "/x"),
    "the last page": ("/items", "/meta/next", b'{"items": [1]}', [b"1"], None),
    "the last page, with null": ("/items", "/next", b'{"items": [], "next": null}', [], None),
    "null for none": ("/items", None, b'{"items": null}', [], None),
    "a bare array": ("", None, b"[1, 2]", [b"1", b"2"], None),
}


@pytest.mark.parametrize("items, following, body, expected, link", PAGES.values(), ids=list(PAGES))
def test_a_page_is_cut_into_items_and_what_is_said_of_the_next(items, following, body, expected, link):
    page, found = raw_slices.pages(listing(items, following))(body)
    assert ([bytes(item) for item in page], found) == (expected, link)


DEEP = b"[" * 60_000 + b"]" * 60_000
DEEPLY = b'{"x \\" ]": ["]", "\\\\"], "deep": ' + DEEP + b', "id": "no", "id": "d"}'


@pytest.mark.parametrize("items, following, body, expected, link", PAGES.values(), ids=list(PAGES))
def test_a_page_with_an_item_deeper_than_parsers_go_is_cut_alike(items, following, body, expected, link):
    if b": null}" in body and not expected and link is None and items == "/items" and following is None:
        return  # there is no item
    start = body.index(b"[") + 1
    comma = b", " if expected else b""
    page, found = raw_slices.pages(listing(items, following))(body[:start] + DEEPLY + comma + body[start:])
    assert ([bytes(item) for item in page], found) == ([DEEPLY, *expected], link)


def test_a_thing_deeper_than_parsers_go_is_cut_out_and_its_id_is_found():
    assert raw_slices.items(("a", "data"))(b'{"a" : {"x": [{}], "data" :' + DEEPLY + b'} , "b": 1}') == DEEPLY
    assert raw_slices.idents(("id",))(DEEPLY) == "d"
    assert raw_slices.idents(("meta", "id"))(b'{"meta": {"id": 7}, "x": ' + DEEP + b"}") == "7"


@pytest.mark.parametrize("ending", [b"", b"]", b'"', b", ", b"}}", b'{"items": ['])
def test_a_page_that_is_deep_and_broken_is_an_error(ending):
    with pytest.raises(msgspec.MsgspecError):
        raw_slices.pages(listing("/items", None))(b'{"items": [' + DEEP + ending)


@pytest.mark.parametrize("body", [b"{}", b'{"items": {}}', b'{"items": [1', b"", b'{"items": 1}'])
def test_a_page_without_its_items_is_an_error_and_not_an_empty_page(body):
    with pytest.raises(msgspec.MsgspecError):
        raw_slices.pages(listing("/items", None))(body)


def test_ids_are_words_or_numbers():
    ident = raw_slices.idents(("meta", "id"))
    assert [ident(b'{"meta": {"id": "x"}}'), ident(b'{"meta": {"id": 7}}')] == ["x", "7"]
    for raw in (b"{}", b'{"meta": {"id": null}}', b'{"meta": {"id": true}}'):
        with pytest.raises(msgspec.MsgspecError):
            ident(raw)


def test_a_place_reached_by_a_selector_is_refused():
    from holdfast.model.path import Selector

    with pytest.raises(InputError):
        raw_slices.items((Selector((("a", "b"),)),))


# --- Retry-After ------------------------------------------------------------------------------------------------------

NOW = "Wed, 01 Jan 2025 00:00:00 GMT"
RETRY = {
    "seconds": ({"Retry-After": "7"}, 7.0),
    "a fraction": ({"Retry-After": "0.5"}, 0.5),
    "a date against the server's clock": ({"Retry-After": "Wed, 01 Jan 2025 00:01:30 GMT", "Date": NOW}, 90.0),
    "a date in the past": ({"Retry-After": "Tue, 31 Dec 2024 00:00:00 GMT", "Date": NOW}, 0.0),
    "a date long ago without a clock": ({"Retry-After": "Tue, 31 Dec 2024 00:00:00 GMT"}, 0.0),
    "far too long": ({"Retry-After": "99999999"}, 86_400.0),
    "negative": ({"Retry-After": "-3"}, 0.0),
    "nonsense": ({"Retry-After": "soon"}, None),
    "not a number": ({"Retry-After": "nan"}, None),
    "none": ({}, None),
}


@pytest.mark.parametrize("headers, seconds", RETRY.values(), ids=list(RETRY))
def test_retry_after_is_read_in_both_its_forms(headers, seconds):
    assert status_mapping.retry_after(headers) == seconds


# --- quotations -------------------------------------------------------------------------------------------------------

secrets = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)


@given(secrets, secrets, st.sampled_from(["plain", "json", "url", "repr"]))
def test_what_was_sent_is_never_quoted(credential, value, spelling):
    import json
    from urllib.parse import quote

    import orjson

    spelt: dict[str, Callable[[str], str]] = {
        "plain": str,
        "json": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
        "url": quote,
        "repr": lambda text: repr(text)[1:-1],
    }
    echo = " ".join(spelt[spelling](text) for text in (credential, value))
    body = orjson.dumps({"error": {"message": f"\u2603 {echo} \u2603"}})
    text = error_excerpt.error_text(body, ("error", "message"), [credential], {"deep": [{"password": value}]})
    assert set(text) <= set("* \u2603")


def test_the_reason_is_quoted_when_asked_for():
    body = b'{"error": {"message": "name is taken"}}'
    assert error_excerpt.error_text(body, ("error", "message"), [], {}) == "name is taken"
    assert error_excerpt.error_text(body, None, [], {}) == ""
    assert error_excerpt.error_text(b"<html>", ("error",), [], {}) == ""
    assert error_excerpt.error_text(body, ("error",), [], {}) == ""
    assert len(error_excerpt.error_text(b'{"e": "' + b"x" * 5000 + b'"}', ("e",), [], {})) == 300


def test_fingerprints_are_known_by_the_mark_the_engine_gives_them():
    assert request_body.FINGERPRINT == redact.FINGERPRINT
    assert request_body.holds_fingerprints({"a": [{"b": f"{redact.FINGERPRINT}00ff"}]})
    assert request_body.holds_fingerprints({f"{redact.FINGERPRINT}00ff": 1})
    assert not request_body.holds_fingerprints({"a": ["b", 1, None]})
