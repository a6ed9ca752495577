"""No credential and no value that was sent gets into a message, whatever the API answers and whatever goes wrong."""

from __future__ import annotations

import asyncio
import base64
import logging

from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.model.read_result import Found
from holdfast.model.write_result import Done
from holdfast.providers.protocol import Change, Connection, ReadFailed
from tests.integration.providers.rest import widget
from tests.unit.providers.running import told

SECRETS = st.text("abcdefghijklmnopqrstuvwxyz0123456789/+= é%", min_size=8, max_size=24).map(lambda text: f"S3{text}X")
PLACES = ("bearer", "basic", "header", "body", "list in the body", "name of a header")
ANSWERS = ("json", "html", "garbage", "redirect", "operation", "list", "reset")


class Echo:
    """A server that repeats everything it is told, in every way it can."""

    def __init__(self, how: str, status: int) -> None:
        self._how = how
        self._status = status

    async def answer(self, request: web.Request) -> web.StreamResponse:
        told_us = " ".join([str(request.rel_url), *request.headers.values(), (await request.read()).decode()])
        header = {"Retry-After": "1", "X-Echo": told_us.encode("ascii", "replace").decode().replace("\n", " ")}
        if self._how == "reset":
            assert request.transport is not None
            request.transport.abort()
        if self._how == "json":
            return web.json_response({"error": told_us, "detail": [told_us]}, status=self._status, headers=header)
        if self._how == "html":
            return web.Response(text=f"<html>{told_us}</html>", content_type="text/html", status=self._status)
        if self._how == "redirect":
            return web.Response(status=302, headers={"Location": f"http://elsewhere.invalid/?{header['X-Echo']}"})
        if self._how == "operation":
            return web.json_response(
                {"state": "failed", "error": told_us}, status=202, headers={"Location": "/operations/1"}
            )
        if self._how == "list":
            return web.json_response({"items": [{"no-id": told_us}], "next": told_us})
        return web.Response(text=told_us, content_type="application/json", status=self._status, reason="Echo")


def settings_for(place: str, url: str) -> dict[str, object]:
    auth = {"type": place} if place in ("bearer", "basic", "header") else {"type": "none"}
    if place == "header":
        auth["name"] = "X-Key"
    kind = {
        "read": "/widgets/{id}",
        "create": {"path": "/widgets"},
        "update": {"method": "PATCH", "path": "/widgets/{id}"},
        "delete": "/widgets/{id}",
        "list": {"path": "/widgets", "items": "/items", "next": {"pointer": "/next"}},
        "operation": {"failed": {"pointer": "/state", "values": ["failed"]}, "poll_seconds": 0.1},
        "error": "/error",
    }
    return {"base_url": url, "auth": auth, "kinds": {"Widget": kind}}


async def everything(connection: Connection, secret: str, place: str) -> list[object]:
    """Ask for everything, and return all that was said about it."""
    said: list[object] = [connection]
    fields = {"list in the body": {"users": [{"password": secret}]}}.get(place, {"password": secret})
    target = widget("w", "w", **fields)

    async def story(reader, writer):
        said.extend([reader, writer, target])
        seen = await reader.read(target)
        said.append(seen if not isinstance(seen, Found) else "what is there is not said, but returned")
        what = Change(target.desired, {"name": "w"}, ("/password", "/users"))
        said.append(what)
        token = {"url": f"{connection.settings['base_url']}/operations/1", "id": "w"}
        wrote = [
            await writer.create(target, "key"),
            await writer.update(target, what, "key"),
            await writer.delete(target, "key"),
            await writer.poll(target, token),
        ]
        said.extend(writing for writing in wrote if not isinstance(writing, Done))
        for looking in (lambda: reader.find("Widget", {"password": secret}), lambda: anext(reader.list("Widget"))):
            try:
                said.append(len(str(await looking())))
            except ReadFailed as error:
                said.extend([error, repr(error), error.reading, error.__cause__, error.__suppress_context__])

    await told(connection, story)
    return said


@settings(max_examples=40)
@given(SECRETS, st.sampled_from(PLACES), st.sampled_from(ANSWERS), st.sampled_from([200, 400, 404, 422, 500]))
def test_nothing_that_was_sent_is_said(secret, place, how, status):
    async def story():
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", Echo(how, status).answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        credentials = {"token": secret, "password": secret, "username": "me"}
        try:
            return await everything(Connection("api", "http", settings_for(place, url), credentials), secret, place)
        finally:
            await runner.cleanup()

    logged = Capture()
    logging.getLogger().addHandler(logged)
    try:
        said = asyncio.run(story())
    finally:
        logging.getLogger().removeHandler(logged)
    text = "\n".join([*map(str, said), *map(repr, said), *logged.lines])
    for form in (secret, base64.b64encode(f"me:{secret}".encode()).decode()):
        assert form not in text


class Capture(logging.Handler):
    """Keeps what is logged, by us or by the libraries."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith(("asyncio", "aiohttp.server")):
            self.lines.append(record.getMessage())


@given(SECRETS)
def test_a_description_that_is_wrong_is_told_without_its_secrets(secret):
    from holdfast.providers.http import description_parser

    wrong = [
        {"base_url": f"http://me:{secret}@localhost", "kinds": {"A": {"read": "/a"}}},
        {"base_url": "http://localhost", "auth": {"type": "bearer"}, "kinds": {}},
        {"base_url": "http://localhost", "auth": {"type": "oauth"}, "kinds": {"A": {"read": "/a"}}},
    ]
    for item in wrong:
        try:
            description_parser.describe(Connection("api", "http", item, {"token": f"{secret}\n", "password": secret}))
        except InputError as error:
            said = str(error) + repr(error)
        else:
            said = f"{item} was accepted"
        assert secret not in said
