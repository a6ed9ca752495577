"""A list is whole or it is nothing; its items are what single reads would bring, unparsed."""

from __future__ import annotations

import pytest

from holdfast.model.read_result import NotFound, ReadError, ReadFailure
from holdfast.providers.http import reader as reading
from holdfast.providers.protocol import ReadFailed
from holdfast.testing.rest_server import Fault, Shape, Wrong
from tests.integration.providers.rest import widget, with_server

WAYS = {
    "a link in the body": {"items": "/items", "next": {"pointer": "/next"}},
    "a link in the header": {"items": "/items", "next": "link-header"},
    "a cursor": {"items": "/items", "next": {"cursor": {"pointer": "/nextCursor", "param": "cursor"}}},
    "page numbers": {"items": "/items", "next": {"page": {"param": "page"}}},
    "page numbers of a known size": {
        "items": "/items",
        "next": {"page": {"param": "page", "size": 4, "size_param": "limit"}},
    },
}


def filled(server, count: int) -> None:
    for number in range(count):
        server.collections["widgets"].put(f"w{number}", {"name": f"w{number}", "size": number})


def listed(way, count: int = 10, *faults: Fault, shape: Shape | None = None, prepare=lambda _: None):
    async def story(server, reader, _):
        filled(server, count)
        prepare(server)
        server.faults.extend(faults)
        return [item.id async for item in reader.list("Widget")], len(server.journal)

    kind = {"list": {"path": "/widgets", "id": "/name", **way}}
    return with_server(story, shape=shape or Shape(page_size=4), kind=kind)


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
@pytest.mark.parametrize("count", [0, 1, 4, 10, 12])
def test_every_way_of_paging_brings_every_item_once(way, count):
    found, _ = listed(way, count)
    assert found == [f"w{number}" for number in range(count)]


def test_a_list_that_is_a_bare_array_is_followed_by_its_header():
    found, _ = listed({"next": "link-header"}, shape=Shape(page_size=4, bare_list=True))
    assert len(found) == 10


def test_a_list_without_paging_is_one_page():
    found, requests = listed({"items": "/items"})
    assert (len(found), requests) == (4, 1)


def test_pages_of_a_known_size_need_no_empty_page_at_the_end():
    assert listed(WAYS["page numbers"])[1] == 4
    assert listed(WAYS["page numbers of a known size"])[1] == 3


def test_listed_items_have_the_digest_and_document_of_a_single_read():
    async def story(server, reader, _):
        filled(server, 3)
        async for item in reader.list("Widget"):
            alone = await reader.read(widget(item.id))
            assert (item.raw_digest, reader.parse("Widget", item.raw)) == (alone.raw_digest, alone.document)

    with_server(story)


def test_a_list_is_not_parsed(monkeypatch):
    monkeypatch.setattr(reading, "_parsed", lambda *_: pytest.fail("parsed"))
    assert len(listed(WAYS["a cursor"], 200, shape=Shape(page_size=100))[0]) == 200


FAILING = {
    "a page that fails": (Fault(status=500, times=1), ReadError.SERVER_ERROR),
    "throttled": (Fault(status=429, headers={"Retry-After": "3"}), ReadError.THROTTLED),
    "a page that hangs up": (Fault(Wrong.RESET, times=None), ReadError.UNREACHABLE),
    "a page cut off": (Fault(Wrong.TRUNCATED), ReadError.MALFORMED),
    "a web page": (Fault(Wrong.HTML, status=200), ReadError.MALFORMED),
    "not found": (Fault(status=404), ReadError.OTHER),
    "an empty body": (Fault(Wrong.EMPTY, status=200), ReadError.MALFORMED),
    "another shape": (Fault(Wrong.GARBAGE, status=200), ReadError.MALFORMED),
}


@pytest.mark.parametrize("fault, trouble", FAILING.values(), ids=list(FAILING))
@pytest.mark.parametrize("page", [1, 2])
def test_a_list_with_a_page_that_fails_is_no_list(fault, trouble, page):
    from dataclasses import replace

    fine = Fault(Wrong.LATE, times=page - 1)  # lets the pages before pass
    with pytest.raises(ReadFailed) as failed:
        listed(WAYS["a cursor"], 10, fine, replace(fault))
    assert isinstance(failed.value.reading, ReadFailure)
    assert failed.value.reading.trouble is trouble


CIRCLES = {
    "the same link again": ({"items": "/items", "next": {"pointer": "/link"}}, {"items": [], "link": "/widgets?x=1"}),
    "the same cursor again": (
        {"items": "/items", "next": {"cursor": {"pointer": "/c", "param": "c"}}},
        {"items": [{"name": "w"}], "c": "same"},
    ),
    "the same page again": ({"items": "/items", "next": {"page": {"param": "p"}}}, {"items": [{"name": "w"}]}),
    "another host": (
        {"items": "/items", "next": {"pointer": "/link"}},
        {"items": [], "link": "http://elsewhere.invalid/"},
    ),
}


@pytest.mark.parametrize("way, body", CIRCLES.values(), ids=list(CIRCLES))
def test_a_list_that_goes_in_circles_or_elsewhere_is_no_list(way, body):
    import asyncio

    from aiohttp import web

    from holdfast.providers.protocol import Connection
    from tests.unit.providers.running import told

    async def story():
        async def answer(_):
            return web.json_response(body)

        app = web.Application()
        app.router.add_get("/widgets", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        kinds = {"Widget": {"read": "/widgets/{id}", "list": {"path": "/widgets", "id": "/name", **way}}}
        settings = {"base_url": f"http://127.0.0.1:{runner.addresses[0][1]}", "kinds": kinds}

        async def whole(reader, _):
            return [item.id async for item in reader.list("Widget")]

        try:
            with pytest.raises(ReadFailed) as failed:
                await told(Connection("api", "http", settings), whole)
            assert isinstance(failed.value.reading, ReadFailure)
            assert failed.value.reading.trouble is ReadError.MALFORMED
        finally:
            await runner.cleanup()

    asyncio.run(story())


def test_an_item_without_an_id_makes_the_list_unreadable():
    def spoil(server):
        server.collections["widgets"].edit("w1", lambda document: document.pop("name"))

    with pytest.raises(ReadFailed, match="no id at /name"):
        listed(WAYS["a cursor"], 3, prepare=spoil)


def test_a_listed_item_in_an_unsettled_or_deleted_state_says_so():
    rules = {
        "unsettled": {"pointer": "/state", "values": ["creating"]},
        "deleted": {"pointer": "/state", "values": ["deleted"]},
    }

    async def story(server, reader, _):
        for state in ("ready", "creating", "deleted"):
            server.collections["widgets"].put(state, {"name": state, "state": state})
        out = {}
        async for item in reader.list("Widget"):
            try:
                out[item.id] = reader.parse("Widget", item.raw)
            except ReadFailed as error:
                out[item.id] = error.reading
        return out

    found = with_server(story, kind={"status": rules})
    assert found["ready"] == {"name": "ready", "state": "ready"}
    assert isinstance(found["creating"], ReadFailure)
    assert found["creating"].trouble is ReadError.UNSETTLED
    assert found["deleted"] == NotFound()


def test_things_are_found_by_exact_values():
    async def story(server, reader, _):
        widgets = server.collections["widgets"]
        widgets.put("1", {"name": "1", "size": 1, "meta": {"owner": "me"}})
        widgets.put("2", {"name": "2", "size": True, "meta": {"owner": "Me"}})
        widgets.put("3", {"name": "3", "size": 1})
        return [
            await reader.find("Widget", criteria)
            for criteria in ({"size": 1}, {"/meta/owner": "me"}, {"name": "4"}, {"size": 1, "/meta/owner": "me"}, {})
        ]

    assert with_server(story) == [["1", "3"], ["1"], [], ["1"], ["1", "2", "3"]]


def test_a_kind_without_a_list_cannot_be_listed_or_searched():
    async def story(_, reader, __):
        for call in (lambda: reader.find("Widget", {}), lambda: anext(reader.list("Widget"))):
            with pytest.raises(ReadFailed, match="describes no list"):
                await call()

    with_server(story, kind={"list": None})


def test_lists_of_a_namespace_serve_finding_there():
    import asyncio

    from holdfast.providers.protocol import Connection, Target
    from holdfast.testing.rest_server import RestServer
    from tests.unit.providers.running import told

    kind = {
        "read": "/{namespace}/widgets/{id}",
        "create": "/{namespace}/widgets",
        "list": {"path": "/{namespace}/widgets", "items": "/items"},
        "find": {"by": ["/name"]},
    }

    async def story():
        async with RestServer({"one/widgets": None, "two/widgets": None}) as server:
            server.collections["one/widgets"].put("1", {"id": "1", "name": "w"})
            connection = Connection("api", "http", {"base_url": server.url, "kinds": {"Widget": kind}})

            async def both(reader, _):
                targets = [Target("Widget", "w", None, {"name": "w"}, place) for place in ("one", "two")]
                with pytest.raises(ReadFailed, match=r"\{namespace\}"):
                    await anext(reader.list("Widget"))
                return [await reader.read(target) for target in targets]

            return await told(connection, both)

    one, two = asyncio.run(story())
    assert one.id == "1"
    assert two == NotFound()
