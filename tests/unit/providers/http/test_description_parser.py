"""A description is read strictly: each mistake is an input error that names its field."""

from __future__ import annotations

import asyncio
import base64

import pytest

from holdfast.compare import yaml_reader
from holdfast.compare.rules import FieldClass
from holdfast.errors import InputError
from holdfast.model.write_result import WriteError
from holdfast.providers import registry
from holdfast.providers.http import description_parser
from holdfast.providers.http.description import Attribution, Body, ByCursor, ByLink, ByPage, IdFrom
from holdfast.providers.protocol import Connection

WHOLE = """
connections:
  shop:
    provider: http
    base_url: https://api.example.com/v1/
    timeout_seconds: 5
    headers: {Accept-Version: "2"}
    auth: {type: bearer}
    kinds:
      Widget:
        envelope: /widget
        read: {path: "/widgets/{id}", item: /data}
        create: {path: /widgets, id: location}
        update: {method: patch, path: "/widgets/{id}"}
        delete: "/widgets/{id}"
        list: {path: /widgets, items: /items, id: /uid, next: {cursor: {pointer: /next, param: after}}}
        find: {by: [/name], query: {name: /name}}
        etag: header
        conditional: true
        status: {gone: [404], retryable: [418], unsettled: {pointer: /state, values: [creating]}}
        operation: {header: Operation-Location, done: {pointer: /status, values: [ok]}}
        idempotency_header: Idempotency-Key
        error: /error/message
        attribution: {who: /meta/updated_by, at: /meta/updated_at}
        profile: {rules: [{path: /revision, class: read_only}]}
"""


def connection(text: str, **secrets: str) -> Connection:
    ((name, settings),) = yaml_reader.document(text).value["connections"].items()
    return Connection(name, "http", settings, {"token": "t0ken", **secrets})


def test_a_whole_description_is_understood():
    api = description_parser.describe(connection(WHOLE))
    kind = api.kinds["Widget"]
    assert api.base_url == "https://api.example.com/v1"
    assert api.headers == {"Accept-Version": "2", "Authorization": "Bearer t0ken"}
    assert (kind.read.label, kind.item, kind.envelope) == ("GET /widgets/{id}", ("data",), ("widget",))
    assert kind.create is not None
    assert (kind.create.call.method, kind.create.id) == ("POST", IdFrom.LOCATION)
    assert kind.update is not None
    assert (kind.update.call.method, kind.update.body) == ("PATCH", Body.MERGE)
    assert kind.update.content_type == "application/merge-patch+json"
    assert kind.list is not None
    assert kind.list.paging == ByCursor(("next",), "after")
    assert kind.answers.status.refusals == {418: WriteError.RETRYABLE}
    assert kind.rules.root.child("revision").cls is FieldClass.READ_ONLY
    assert kind.answers.attribution == Attribution(("meta", "updated_by"), ("meta", "updated_at"))
    assert "t0ken" not in repr(api)


def test_the_kinds_of_a_reader_say_what_the_api_can():
    async def kinds():
        async with registry.get("http").reader(connection(WHOLE)) as reader:
            return reader.kinds["Widget"]

    kind = asyncio.run(kinds())
    assert (kind.patches, kind.lists, kind.conditional) == (True, True, True)
    assert [profile.id for profile in kind.profiles] == ["shop/Widget@1"]


MINIMAL = """
connections:
  api:
    base_url: http://localhost
    kinds:
      A: {read: "/a/{id}"}
"""

# what is changed in the minimal description, the field that is named, and a part of the message
MISTAKES = {
    "no address": ("base_url: http://localhost", "", "", "`base_url` is missing"),
    "not an address": ("http://localhost", "localhost:80", "/base_url", "expected an address such as"),
    "credentials in the address": ("http://localhost", "http://u:p4ss@localhost", "/base_url", "under `auth`"),
    "no kinds": ('A: {read: "/a/{id}"}', "{}", "/kinds", "at least one kind"),
    "a kind that is a list": ('A: {read: "/a/{id}"}', "A: []", "/kinds/A", "expected a mapping"),
    "no read": ('{read: "/a/{id}"}', "{}", "/kinds/A", "`read` is missing"),
    "a misspelt top word": (
        "base_url:",
        "timeout_second: 3\n    base_url:",
        "/timeout_second",
        "did you mean `timeout_seconds`?",
    ),
    "a misspelt word": ('"/a/{id}"}', '"/a/{id}", etags: header}', "/kinds/A/etags", "unknown field `etags`"),
    "a misspelt word inside": ('"/a/{id}"', "{pth: /a, path: /a}", "/kinds/A/read/pth", "unknown field `pth`"),
    "a path without a slash": ('"/a/{id}"', "a", "/kinds/A/read/path", "starts with /"),
    "a placeholder nobody knows": ('"/a/{id}"', '"/a/{uid}"', "/kinds/A/read/path", "{uid} is not known"),
    "a brace left open": ('"/a/{id}"', '"/a/{id"', "/kinds/A/read/path", "without its }"),
    "a method nobody knows": ('"/a/{id}"', "{path: /a, method: FETCH}", "/kinds/A/read/method", "expected one of GET"),
    "a pointer without a slash": ('"/a/{id}"', "{path: /a, item: data}", "/kinds/A/read/item", "must start with /"),
    "a pointer with a selector": ('"/a/{id}"', '{path: /a, item: "/a[b=c]"}', "/kinds/A", "by keys only"),
    "an id from nowhere": ('"}', '", create: {path: /a, id: body}}', "/kinds/A/create/id", "`location`, or `name`"),
    "a body nobody knows": ('"}', '", update: {path: /a, body: xml}}', "/kinds/A/update/body", "expected one of whole"),
    "a next nobody knows": (
        '"}',
        '", list: {path: /a, next: {more: 1}}}',
        "/kinds/A/list/next/more",
        "unknown field `more`",
    ),
    "no way to the next page": ('"}', '", list: {path: /a, next: {}}}', "/kinds/A/list/next", "`next` is"),
    "a next inside an array": (
        '"}',
        '", list: {path: /a, next: {pointer: /next}}}',
        "/kinds/A",
        "a bare array",
    ),
    "a next inside the items": (
        '"}',
        '", list: {path: /a, items: /x, next: {pointer: /x/y}}}',
        "/kinds/A",
        "inside another",
    ),
    "a list by id": ('"}', '", list: "/a/{id}"}', "/kinds/A/list/path", "a list has no {id}"),
    "find without list": ('"}', '", find: {by: [/name]}}', "/kinds/A/find", "describe `list` too"),
    "find by nothing": ('"}', '", find: {}}', "/kinds/A/find", "`by` is missing"),
    "find by an empty list": ('"}', '", list: /a, find: {by: []}}', "/kinds/A/find/by", "a list that is not empty"),
    "conditional without etag": ('"}', '", conditional: true}', "/kinds/A/conditional", "add `etag: header`"),
    "a status that is none": ('"}', '", status: {gone: [4]}}', "/kinds/A/status/gone/0", "from 100 to 599"),
    "a state without values": (
        '"}',
        '", status: {unsettled: {pointer: /s}}}',
        "/kinds/A/status/unsettled",
        "`values` is missing",
    ),
    "attribution to nobody": ('"}', '", attribution: {at: /t}}', "/kinds/A/attribution", "`who` is missing"),
    "attribution without a slash": (
        '"}',
        '", attribution: {who: me}}',
        "/kinds/A/attribution/who",
        "must start with /",
    ),
    "attribution misspelt": (
        '"}',
        '", attribution: {who: /w, when: /t}}',
        "/kinds/A/attribution/when",
        "unknown field `when`",
    ),
    "a number that is none": (
        "base_url:",
        "timeout_seconds: -1\n    base_url:",
        "/timeout_seconds",
        "expected a number > 0",
    ),
    "a rule that is none": (
        '"}',
        '", profile: {rules: [{path: /a, class: readonly}]}}',
        "/kinds/A/profile/rules/0/class",
        "got 'readonly'; did you mean read_only?",
    ),
    "a profile with a name": ('"}', '", profile: {profile: x}}', "/kinds/A/profile", "has a name and a kind already"),
    "an auth nobody knows": (
        "base_url:",
        "auth: {type: oauth}\n    base_url:",
        "/auth/type",
        "expected one of none, bearer, basic, header",
    ),
    "a secret that is not set": (
        "base_url:",
        "auth: {type: basic, username: me}\n    base_url:",
        "/auth",
        "'password'",
    ),
    "a header without a name": ("base_url:", "auth: {type: header}\n    base_url:", "/auth", "`name` is missing"),
    "headers that are none": ("base_url:", "headers: [a]\n    base_url:", "/headers", "expected a mapping, got a list"),
}


@pytest.mark.parametrize("old, new, field, message", MISTAKES.values(), ids=list(MISTAKES))
def test_each_mistake_is_named_with_its_field_and_line(old, new, field, message):
    assert MINIMAL.count(old) == 1
    text = MINIMAL.replace(old, new)
    with pytest.raises(InputError) as raised:
        description_parser.describe(connection(text))
    assert raised.value.location.field == f"/connections/api{field}"
    assert message in raised.value.message
    assert "p4ss" not in str(raised.value)
    located = registry.located(raised.value, yaml_reader.document(text), "holdfast.yaml")
    assert located.location.file == "holdfast.yaml"
    assert located.location.line is not None
    assert located.location.line > 2


def test_a_line_break_in_a_secret_is_refused_without_showing_it():
    text = MINIMAL.replace("base_url:", "auth: {type: bearer}\n    base_url:")
    with pytest.raises(InputError, match="the secret 'token' has a line break") as raised:
        description_parser.describe(connection(text, token="abc\r\nX-Evil: 1"))
    assert "Evil" not in str(raised.value)


AUTH = {
    "{type: none}": {},
    "{type: bearer}": {"Authorization": "Bearer t0ken"},
    "{type: bearer, secret: other}": {"Authorization": "Bearer 0ther"},
    "{type: basic, username: me}": {"Authorization": "Basic " + base64.b64encode(b"me:p4ss").decode()},
    "{type: basic}": {"Authorization": "Basic " + base64.b64encode(b"you:p4ss").decode()},
    "{type: header, name: X-Key}": {"X-Key": "t0ken"},
}


@pytest.mark.parametrize("auth", AUTH)
def test_credentials_become_headers(auth):
    text = MINIMAL.replace("base_url:", f"auth: {auth}\n    base_url:")
    api = description_parser.describe(connection(text, other="0ther", password="p4ss", username="you"))
    assert api.headers == AUTH[auth]


PAGING = {
    "link-header": ByLink(None),
    "{pointer: /paging/next}": ByLink(("paging", "next")),
    "{cursor: {pointer: /c, param: after}}": ByCursor(("c",), "after"),
    "{page: {param: p, start: 0, size: 50, size_param: n}}": ByPage("p", 0, 50, "n"),
    "{page: {param: p}}": ByPage("p", 1, None, None),
}


@pytest.mark.parametrize("given", PAGING)
def test_every_way_to_the_next_page_is_understood(given):
    text = MINIMAL.replace('"}', f'", list: {{path: /a, items: /items, next: {given}}}}}')
    listing = description_parser.describe(connection(text)).kinds["A"].list
    assert listing is not None
    assert listing.paging == PAGING[given]


def test_a_list_that_needs_values_of_a_declaration_or_is_partial_does_not_serve_many():
    async def kinds(listing: str):
        text = MINIMAL.replace('"}', f'", list: {listing}}}')
        async with registry.get("http").reader(connection(text)) as reader:
            return reader.kinds["A"].lists

    for listing, serves in [("/a", True), ('"/{namespace}/a"', False), ("{path: /a, partial: true}", False)]:
        assert asyncio.run(kinds(listing)) is serves


def test_a_certificate_file_that_cannot_be_read_is_an_input_error(tmp_path):
    async def opened():
        settings = {"base_url": "https://localhost", "tls": {"ca_file": "none.pem"}, "kinds": {"A": {"read": "/a"}}}
        async with registry.get("http").reader(Connection("api", "http", settings, base_dir=str(tmp_path))):
            pytest.fail("opened")

    with pytest.raises(InputError, match="/connections/api/tls/ca_file"):
        asyncio.run(opened())
