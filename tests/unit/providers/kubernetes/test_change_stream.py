"""The stream of a watch: events in any pieces, and every way in which it can end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from holdfast.model.read_result import ReadError
from holdfast.providers.kubernetes import change_stream
from holdfast.providers.kubernetes.client import METADATA, Client
from holdfast.providers.kubernetes.credentials import Credentials
from holdfast.providers.kubernetes.discovery import ServedKind
from holdfast.providers.kubernetes.group_version_kind import GroupVersionKind
from holdfast.providers.kubernetes.settings import Settings
from holdfast.providers.protocol import ChangeSignal, Interrupted, PositionReached, WatchEvent

SERVED = ServedKind(GroupVersionKind("", "v1", "ConfigMap"), "configmaps", True, frozenset({"list", "watch"}))
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def event(kind: str, version: str, **more: Any) -> bytes:
    metadata = {"name": "a", "namespace": "shop", "uid": "u", "resourceVersion": version}
    return json.dumps({"type": kind, "object": {"metadata": metadata, **more}}).encode() + b"\n"


def failed(code: int, **details: Any) -> dict[str, Any]:
    return {"kind": "Status", "code": code, "message": "no", "details": details, "metadata": {}}


def stream(*chunks: bytes, breaks: bool = False) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
            await asyncio.sleep(0)
        if breaks:
            assert request.transport is not None
            request.transport.close()
        return response

    return answer


def watched(handler: Handler, position: str | None = "5") -> list[WatchEvent]:
    async def run() -> list[WatchEvent]:
        application = web.Application()
        application.router.add_get("/api/v1/configmaps", handler)
        runner = web.AppRunner(application)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            async with aiohttp.ClientSession() as requests, aiohttp.ClientSession() as watches:
                client = Client(requests, watches, Credentials(host, "default", tls=True), Settings("cluster"))
                return [event async for event in change_stream.watch(client, SERVED, position)]
        finally:
            await runner.cleanup()

    return asyncio.run(run())


def interruption(events: list[WatchEvent]) -> Interrupted:
    last = events[-1]
    assert isinstance(last, Interrupted)
    return last


def test_events_are_signals_and_positions_in_whatever_pieces_they_arrive():
    whole = event("ADDED", "6") + event("MODIFIED", "7") + event("BOOKMARK", "8") + event("DELETED", "9") + b"\n"
    expected = [
        ChangeSignal("shop/a", "u@6"),
        PositionReached("6"),
        ChangeSignal("shop/a", "u@7"),
        PositionReached("7"),
        PositionReached("8"),
        ChangeSignal("shop/a", None),
        PositionReached("9"),
    ]
    assert watched(stream(whole)) == expected
    assert watched(stream(*(whole[at : at + 7] for at in range(0, len(whole), 7)))) == expected


def test_an_event_may_be_longer_than_a_buffer():
    assert watched(stream(event("MODIFIED", "7", data={"big": "x" * 2_000_000})))[-1] == PositionReached("7")


def test_a_watch_asks_for_metadata_bookmarks_and_a_timeout():
    asked: list[web.Request] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(request)
        if "watch" not in request.query:
            return web.json_response({"metadata": {"resourceVersion": "41"}, "items": []})
        return await stream(event("BOOKMARK", "42"))(request)

    assert watched(answer, None) == [PositionReached("41"), PositionReached("42")]
    first, second = asked
    assert first.query == {"limit": "1"}
    assert second.query == {
        "watch": "true",
        "resourceVersion": "41",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(change_stream.WATCH_SECONDS),
    }
    assert second.headers["Accept"] == METADATA


def test_an_expired_position_is_lost_in_the_answer_and_in_the_stream():
    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.json_response(failed(410), status=410)

    in_stream = json.dumps({"type": "ERROR", "object": failed(410)}).encode() + b"\n"
    assert interruption(watched(answer)).is_position_lost
    assert interruption(watched(stream(event("ADDED", "6"), in_stream))).is_position_lost


@pytest.mark.parametrize(
    "status, headers, trouble",
    [
        (429, {"Retry-After": "17"}, ReadError.THROTTLED),
        (403, {}, ReadError.UNAUTHORISED),
        (401, {}, ReadError.UNAUTHORISED),
        (500, {}, ReadError.SERVER_ERROR),
    ],
)
def test_a_refusal_keeps_the_position(status, headers, trouble):
    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.json_response(failed(status), status=status, headers=headers)

    found = interruption(watched(answer))
    assert (found.failure.trouble, found.is_position_lost) == (trouble, False)
    assert found.failure.retry_after_seconds == (17.0 if headers else None)
    if status == 403:
        assert "watch configmaps in all namespaces is forbidden" in found.failure.detail
    assert interruption(watched(answer, None)).failure.trouble is trouble


def test_a_kind_that_is_no_longer_served_loses_the_position():
    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=404)

    assert watched(answer) == [change_stream.UNSERVED]


def test_a_connection_that_breaks_keeps_the_position():
    found = interruption(watched(stream(event("ADDED", "6"), breaks=True)))
    assert (found.failure.trouble, found.is_position_lost) == (ReadError.UNREACHABLE, False)


@pytest.mark.parametrize("line", [b"{\n", b"[]\n", b'{"type": 5}\n', b"\xff\xfe\n", b"<html>\n"])
def test_a_malformed_line_loses_the_position(line):
    events = watched(stream(event("ADDED", "6"), line, event("ADDED", "7")))
    assert interruption(events).is_position_lost
    assert interruption(events).failure.trouble is ReadError.MALFORMED
    assert PositionReached("7") not in events
