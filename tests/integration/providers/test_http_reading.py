"""Each way an answer can go wrong is the one reading it means; only an answer that says so is gone."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.model.read_result import Found, NotFound, ReadError, ReadFailure
from holdfast.providers.http import reader as reading
from holdfast.providers.protocol import Connection, Hint, Target, Unchanged
from holdfast.testing.rest_server import Fault, Shape, Wrong
from tests.integration.providers.rest import connection, widget, with_server
from tests.unit.providers.running import told, with_provider


def read(*faults: Fault, kind=None, shape=None, target=None, document=None, hint=None, **settings):
    """Read a widget that is there, through the faults."""

    async def story(server, reader, _):
        server.collections["widgets"].put("w", document or {"name": "w", "size": 1})
        server.faults.extend(faults)
        return await reader.read(target or widget(), hint)

    return with_server(story, kind=kind, shape=shape, **settings)


def test_what_is_there_is_found_with_its_etag_and_digest():
    seen = read()
    assert isinstance(seen, Found)
    assert seen.document == {"name": "w", "size": 1}
    assert seen.id == "w"
    assert seen.etag is not None
    assert seen.raw_digest is not None


STATUSES = {
    400: (ReadError.OTHER, None),
    401: (ReadError.UNAUTHORISED, None),
    403: (ReadError.UNAUTHORISED, None),
    407: (ReadError.UNAUTHORISED, None),
    408: (ReadError.TIMEOUT, None),
    409: (ReadError.OTHER, None),
    418: (ReadError.OTHER, None),
    429: (ReadError.THROTTLED, 7.0),
    500: (ReadError.SERVER_ERROR, None),
    502: (ReadError.SERVER_ERROR, None),
    503: (ReadError.SERVER_ERROR, 7.0),
    599: (ReadError.SERVER_ERROR, None),
}


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("wrong", [Wrong.STATUS, Wrong.HTML, Wrong.EMPTY])
def test_a_status_that_is_no_success_is_unreadable(status, wrong):
    trouble, wait = STATUSES[status]
    seen = read(Fault(wrong, status=status, headers={"Retry-After": "7"} if wait else {}))
    assert isinstance(seen, ReadFailure)
    assert (seen.trouble, seen.retry_after_seconds) == (trouble, wait)
    assert f"GET /widgets/{{id}} was answered {status}" in seen.detail


GONE = {
    "404 with json": (Fault(status=404), {}, NotFound()),
    "410 with json": (Fault(status=410), {}, NotFound()),
    "404 without a body": (Fault(Wrong.EMPTY, status=404), {}, NotFound()),
    "404 with a web page": (Fault(Wrong.HTML, status=404), {}, ReadError.UNCONFIRMED),
    "410 with a web page": (Fault(Wrong.HTML, status=410), {}, ReadError.UNCONFIRMED),
    "404 with a web page, which is this api's way": (
        Fault(Wrong.HTML, status=404),
        {"status": {"html_404_is_gone": True}},
        NotFound(),
    ),
    "404 where it does not mean gone": (Fault(status=404), {"status": {"gone": [410]}}, ReadError.OTHER),
    "403 where it means gone": (Fault(status=403), {"status": {"gone": [403, 404]}}, NotFound()),
}


@pytest.mark.parametrize("fault, kind, expected", GONE.values(), ids=list(GONE))
def test_gone_is_said_by_a_status_and_not_by_a_proxy(fault, kind, expected):
    seen = read(fault, kind=kind)
    if expected == NotFound():
        assert seen == NotFound()
    else:
        assert isinstance(seen, ReadFailure)
        assert seen.trouble is expected


BROKEN = {
    "a web page on 200": (Fault(Wrong.HTML, status=200), {}, ReadError.MALFORMED, "is a web page"),
    "an empty body on 200": (Fault(Wrong.EMPTY, status=200), {}, ReadError.MALFORMED, "is empty"),
    "no content": (Fault(Wrong.EMPTY, status=204), {}, ReadError.MALFORMED, "is empty"),
    "not json on 200": (Fault(Wrong.GARBAGE, status=200), {}, ReadError.MALFORMED, "is not JSON"),
    "cut off": (Fault(Wrong.TRUNCATED), {}, ReadError.MALFORMED, "broke off"),
    "reset": (Fault(Wrong.RESET, times=None), {}, ReadError.UNREACHABLE, "connection was lost"),
    "a redirect to another host": (
        Fault(Wrong.REDIRECT, status=302, headers={"Location": "http://elsewhere.invalid/login"}),
        {},
        ReadError.OTHER,
        "another host",
    ),
    "a redirect to another port": (
        Fault(Wrong.REDIRECT, status=302, headers={"Location": "http://127.0.0.1:1/"}),
        {},
        ReadError.OTHER,
        "another host",
    ),
    "a redirect in circles": (
        Fault(Wrong.REDIRECT, status=307, headers={"Location": "/widgets/w"}, times=None),
        {},
        ReadError.OTHER,
        "redirected more than",
    ),
    "a redirect to nowhere": (Fault(Wrong.REDIRECT, status=302), {}, ReadError.OTHER, "answered 302"),
    "not modified, and nobody asked": (Fault(Wrong.EMPTY, status=304), {}, ReadError.OTHER, "answered 304"),
    "nothing at the pointer": (
        Fault(times=0),
        {"read": {"path": "/widgets/w", "item": "/data"}},
        ReadError.MALFORMED,
        "/data",
    ),
    "a scalar at the pointer": (
        Fault(times=0),
        {"read": {"path": "/widgets/w", "item": "/size"}},
        ReadError.MALFORMED,
        "not one JSON object",
    ),
}


@pytest.mark.parametrize("fault, kind, trouble, detail", BROKEN.values(), ids=list(BROKEN))
def test_an_answer_that_says_nothing_is_unreadable(fault, kind, trouble, detail):
    seen = read(fault, kind=kind)
    assert isinstance(seen, ReadFailure)
    assert (seen.trouble, detail in seen.detail) == (trouble, True), seen.detail


def redirected(path: str, target: str, **settings):
    fault = Fault(Wrong.REDIRECT, path=path, status=301, headers={"Location": "/widgets/w"})
    return read(fault, target=widget(target), **settings)


def test_a_redirect_within_the_host_is_followed_to_the_thing_that_was_asked_for():
    assert isinstance(redirected("/old/w", "w", kind={"read": "/old/{id}"}), Found)


REDIRECTED = {
    "another thing": ({}, "is about another thing"),
    "where nothing says the id": (
        {"list": None, "read": {"path": "/widgets/{id}", "id": "none"}},
        "came from another address",
    ),
}


@pytest.mark.parametrize("kind, says", REDIRECTED.values(), ids=list(REDIRECTED))
def test_a_redirect_to_another_thing_of_the_same_host_is_unreadable(kind, says):
    seen = redirected("/widgets/other", "other", kind=kind)
    assert isinstance(seen, ReadFailure)
    assert says in seen.detail


NAMED = {"list": None}  # the description does not say where a thing shows its id
NOT_THE_THING = {
    "empty": ({}, b"{}", "no id at /name"),
    "an error": ({}, b'{"error": {"message": "no"}}', "no id at /name"),
    "a list of things": ({}, b'{"items": [{"name": "w", "size": 1}], "next": null}', "no id at /name"),
    "a bare list": ({}, b'[{"name": "w"}]', "is not one JSON object"),
    "another id": ({}, b'{"name": "v", "size": 1}', "another id"),
    "no id": ({}, b'{"size": 1}', "no id at /name"),
    "an id that is none": ({}, b'{"name": {"w": 1}, "size": 1}', "no id at /name"),
    "empty, by name": (NAMED, b"{}", "is an empty object"),
    "an error, by name": (NAMED, b'{"error": {"message": "no"}}', "none of the declared fields"),
    "an error with a field of ours, by name": (NAMED, b'{"size": 0, "error": "no"}', "is an error"),
    "something else, by name": (NAMED, b'{"motd": "hello"}', "none of the declared fields"),
    "another id where read says its place": (
        {"list": None, "read": {"path": "/widgets/{id}", "id": "/meta/uid"}},
        b'{"name": "w", "size": 1, "meta": {"uid": "x"}}',
        "another id",
    ),
    "another id than a summary in the list has": (
        {"list": {"path": "/widgets", "items": "/items", "id": "/name", "partial": True}},
        b'{"name": "v", "size": 1}',
        "another id",
    ),
    "no id where creation finds it": (
        {"list": None, "create": {"path": "/widgets", "id": "/data/name"}, "envelope": "/data"},
        b'{"data": {"size": 1}}',
        "no id at /name",
    ),
}


def answered(body: bytes, kind, *, status: int = 200, target=None):
    async def story(server, reader, _):
        server.faults.append(Fault(Wrong.BODY, status=status, body=body, times=None))
        return await reader.read(target or widget("w", "w", size=1))

    return with_server(story, kind=kind)


@pytest.mark.parametrize("kind, body, says", NOT_THE_THING.values(), ids=list(NOT_THE_THING))
def test_a_success_that_is_not_the_thing_is_unreadable(kind, body, says):
    seen = answered(body, kind)
    assert isinstance(seen, ReadFailure)
    assert (seen.trouble, says in seen.detail) == (ReadError.MALFORMED, True), seen.detail


def test_a_part_of_the_thing_is_unreadable():
    seen = answered(b'{"name": "w"}', {}, status=206)
    assert isinstance(seen, ReadFailure)
    assert "206" in seen.detail


THE_THING = {
    "an id in another case": ({}, b'{"name": "W", "size": 2}'),
    "a number for an id": ({"list": {"path": "/widgets", "items": "/items", "id": "/n"}}, b'{"n": 7, "size": 2}'),
    "no id, which is this api's way": ({"read": {"path": "/widgets/{id}", "id": "none"}}, b'{"size": 2}'),
    "a single one of its kind": ({"read": "/settings"}, b'{"size": 2}'),
    "no id where only summaries have one": (
        {"list": {"path": "/widgets", "items": "/items", "id": "/uid", "partial": True}},
        b'{"size": 2}',
    ),
    "an error field beside all that is declared": (NAMED, b'{"name": "w", "size": 2, "error": "disk"}'),
}


@pytest.mark.parametrize("kind, body", THE_THING.values(), ids=list(THE_THING))
def test_what_may_be_the_thing_is_found(kind, body):
    ident = "7" if b'"n"' in body else "w"
    assert isinstance(answered(body, kind, target=widget("w", ident, size=1)), Found)


def test_an_answer_that_does_not_come_in_time_is_a_timeout():
    seen = read(Fault(Wrong.HANG, times=None), timeout_seconds=0.05)
    assert isinstance(seen, ReadFailure)
    assert seen.trouble is ReadError.TIMEOUT


def test_a_port_where_nobody_listens_is_unreachable():
    settings = {"base_url": "http://127.0.0.1:1", "kinds": {"Widget": {"read": "/widgets/{id}"}}}
    seen = with_provider(Connection("api", "http", settings), lambda reader, _: reader.read(widget()))
    assert isinstance(seen, ReadFailure)
    assert (seen.trouble, "Connection refused" in seen.detail) == (ReadError.UNREACHABLE, True)


def test_a_host_that_speaks_no_http_is_malformed():
    async def story():
        async def babble(reader, writer):
            await reader.readline()
            writer.write(b"220 mail.example ESMTP\r\n")
            await writer.drain()
            writer.close()
            await writer.wait_closed()

        server = await asyncio.start_server(babble, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        settings = {"base_url": f"http://127.0.0.1:{port}", "kinds": {"Widget": {"read": "/widgets/{id}"}}}
        async with server:
            return await told(Connection("api", "http", settings), lambda reader, _: reader.read(widget()))

    seen = asyncio.run(story())
    assert isinstance(seen, ReadFailure)
    assert seen.trouble is ReadError.MALFORMED


@pytest.mark.parametrize("compressed", [False, True])
def test_an_answer_beyond_the_limit_is_not_taken_in(compressed):
    async def story():
        from aiohttp import web

        async def large(_):
            response = web.json_response({"name": "w" * 100_000})
            if compressed:
                response.enable_compression()
            return response

        app = web.Application()
        app.router.add_get("/widgets/w", large)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        settings = {
            "base_url": f"http://127.0.0.1:{runner.addresses[0][1]}",
            "max_body_bytes": 10_000,
            "kinds": {"Widget": {"read": "/widgets/{id}"}},
        }
        try:
            return await told(Connection("api", "http", settings), lambda reader, _: reader.read(widget()))
        finally:
            await runner.cleanup()

    seen = asyncio.run(story())
    assert isinstance(seen, ReadFailure)
    assert "more than 10,000 bytes" in seen.detail


TEXTS = {
    "not utf-8": (b'{"note": "\xff"}', "is not UTF-8"),
    "half a character": (b'{"note": "\xc3"}', "is not UTF-8"),
    "a lone surrogate": (b'{"note": "\\ud800"}', {"note": "\ufffd"}),
    "deeper than orjson goes": (b'{"a": ' * 2000 + b"1" + b"}" * 2000, None),
    "a bare word": (b"null", "is not one JSON object"),
    "a list": (b"[]", "is not one JSON object"),
}


@pytest.mark.parametrize("raw, expected", TEXTS.values(), ids=list(TEXTS))
def test_a_broken_character_is_malformed_and_no_drift_and_what_is_json_is_read(raw, expected):
    found = reading._parsed(raw, "GET /x")
    if isinstance(expected, str):
        assert found == ReadFailure(ReadError.MALFORMED, f"the answer to GET /x {expected}")
    else:
        assert isinstance(found, dict)
        assert expected is None or found == expected


def test_large_integers_stay_exact():
    seen = read(document={"name": "w", "id": 2**63 - 1})
    assert isinstance(seen, Found)
    assert seen.document["id"] == 2**63 - 1


STATES = {
    "creating": ReadError.UNSETTLED,
    "ready": None,
    "deleted": NotFound(),
}


@pytest.mark.parametrize("state", STATES)
def test_a_state_in_the_document_may_say_that_it_is_not_settled_or_not_there(state):
    rules = {
        "unsettled": {"pointer": "/meta/state", "values": ["creating", "updating"]},
        "deleted": {"pointer": "/meta/state", "values": ["deleted"]},
    }
    seen = read(kind={"status": rules}, document={"name": "w", "meta": {"state": state}})
    if isinstance(STATES[state], ReadError):
        assert isinstance(seen, ReadFailure)
        assert seen.trouble is STATES[state]
    else:
        assert isinstance(seen, Found if STATES[state] is None else NotFound)


def test_a_resource_inside_an_envelope_is_cut_out():
    seen = read(kind={"envelope": "/data"}, shape=Shape(envelope="data"))
    assert isinstance(seen, Found)
    assert seen.document == {"name": "w", "size": 1}


# --- unchanged --------------------------------------------------------------------------------------------------------


def count_parsing(monkeypatch) -> list[bytes]:
    parsed: list[bytes] = []
    parse = reading._parsed

    def counted(raw, label):
        parsed.append(raw)
        return parse(raw, label)

    monkeypatch.setattr(reading, "_parsed", counted)
    return parsed


@pytest.mark.parametrize("conditional", [False, True])
def test_an_unchanged_answer_is_not_parsed_and_with_etags_not_even_sent(monkeypatch, conditional):
    parsed = count_parsing(monkeypatch)

    async def story(server, reader, _):
        widgets = server.collections["widgets"]
        widgets.put("w", {"name": "w", "size": 1})
        first = await reader.read(widget())
        hint = Hint(first.etag, first.raw_digest)
        again = await reader.read(widget(), hint)
        assert again == Unchanged(first.etag, first.raw_digest)
        assert len(parsed) == 1
        assert server.journal[-1].status == (304 if conditional else 200)
        widgets.edit("w", lambda document: document.update(size=2))
        moved = await reader.read(widget(), hint)
        assert moved.document["size"] == 2
        assert len(parsed) == 2

    with_server(story, kind={"conditional": conditional})


def test_what_changes_in_the_envelope_only_is_no_change(monkeypatch):
    """A request id or a time beside the resource must not make every read look like a change."""
    parsed = count_parsing(monkeypatch)

    async def story():
        from aiohttp import web

        numbers = iter(range(100))

        async def answer(_):
            return web.json_response({"requestId": next(numbers), "data": {"name": "w"}})

        app = web.Application()
        app.router.add_get("/widgets/w", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        kinds = {"Widget": {"read": {"path": "/widgets/{id}", "item": "/data"}}}
        settings = {"base_url": f"http://127.0.0.1:{runner.addresses[0][1]}", "kinds": kinds}

        async def twice(reader, _):
            first = await reader.read(widget())
            return await reader.read(widget(), Hint(None, first.raw_digest))

        try:
            return await told(Connection("api", "http", settings), twice)
        finally:
            await runner.cleanup()

    assert isinstance(asyncio.run(story()), Unchanged)
    assert len(parsed) == 1


def test_an_etag_may_stand_in_the_document():
    seen = read(kind={"etag": {"pointer": "/meta/version"}}, document={"name": "w", "meta": {"version": 7}})
    assert isinstance(seen, Found)
    assert seen.etag == "7"


# --- things without a known id ----------------------------------------------------------------------------------------

BY_NAME = {"create": {"path": "/widgets"}, "list": {"path": "/widgets", "items": "/items"}, "find": {"by": ["/name"]}}


def test_a_thing_without_a_known_id_is_found_by_its_fields():
    async def story(server, reader, _):
        widgets = server.collections["widgets"]
        for ident, name in (("1", "a"), ("2", "b"), ("3", "b")):
            widgets.put(ident, {"id": ident, "name": name})
        return [await reader.read(widget(name)) for name in "abc"]

    one, several, none = with_server(story, kind=BY_NAME)
    assert isinstance(one, Found)
    assert one.id == "1"
    assert isinstance(several, ReadFailure)
    assert (several.trouble, "2 things" in several.detail) == (ReadError.UNCONFIRMED, True)
    assert none == NotFound()


def test_a_thing_is_not_gone_when_the_list_to_find_it_in_fails():
    seen = read(Fault(Wrong.STATUS, path="/widgets", status=503), kind=BY_NAME)
    assert isinstance(seen, ReadFailure)
    assert seen.trouble is ReadError.SERVER_ERROR


def test_the_list_is_asked_for_what_is_looked_for_where_it_can_be():
    async def story(server, reader, _):
        server.collections["widgets"].put("1", {"id": "1", "name": "a b"})
        seen = await reader.read(widget("a b"))
        return seen, server.journal[0].path

    kind = {**BY_NAME, "find": {"by": ["/name"], "query": {"name": "/name"}}}
    seen, path = with_server(story, kind=kind)
    assert isinstance(seen, Found)
    assert path == "/widgets"


def test_a_thing_whose_id_only_the_api_knows_and_nobody_made_is_gone():
    async def story(server, reader, _):
        seen = await reader.read(widget())
        return seen, server.journal

    assert with_server(story, kind={"create": {"path": "/widgets"}}) == (NotFound(), [])


def test_a_declaration_that_lacks_what_the_url_needs_says_so():
    seen = read(kind={"read": "/{namespace}/{id}"})
    assert isinstance(seen, ReadFailure)
    assert "{namespace}" in seen.detail
    seen = read(kind={**BY_NAME, "find": {"by": ["/serial"]}})
    assert isinstance(seen, ReadFailure)
    assert "/serial" in seen.detail


def test_a_kind_that_is_not_described_is_unreadable():
    seen = read(target=Target("Gadget", "g", None, {}))
    assert isinstance(seen, ReadFailure)
    assert "'Gadget'" in seen.detail


def test_the_credentials_are_sent():
    auth = {"auth": {"type": "bearer"}, "authorization": "Bearer t0ken"}
    assert isinstance(read(**auth, secrets={"token": "t0ken"}), Found)
    wrong = read(**auth, secrets={"token": "wrong"})
    assert isinstance(wrong, ReadFailure)
    assert wrong.trouble is ReadError.UNAUTHORISED


def test_the_reader_has_no_way_to_the_writer():
    async def story(_, reader, writer):
        public = {name for name in dir(reader) if not name.startswith("_")}
        assert public == {"kinds", "read", "list", "parse", "find", "attributedTo", "signature", "health signals"}
        assert not isinstance(writer, type(reader))

    with_server(story)


def test_a_description_is_checked_when_the_connection_is_opened():
    from holdfast.errors import InputError

    async def story():
        from holdfast.testing.rest_server import RestServer

        async with RestServer({}) as server:
            with pytest.raises(InputError):
                await told(connection(server, {"etag": {"pointer": "x"}}), lambda reader, _: reader.read(widget()))

    asyncio.run(story())
