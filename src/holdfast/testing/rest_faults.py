"""Faults of the test API, request by request."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase

from aiohttp import web

PAGE = "<!DOCTYPE html><html><body><h1>Not what you asked for</h1></body></html>"


class Wrong(StrEnum):
    """The ways in which an answer is wrong."""

    STATUS = "status"  # another status, with an error in JSON
    HTML = "html"  # a web page, as a proxy sends
    EMPTY = "empty"  # no body
    GARBAGE = "garbage"  # a body that is not JSON
    TRUNCATED = "truncated"  # the right answer, cut off
    BODY = "body"  # the given `body`
    EMPTY_LIST = "empty_list"  # a list without its items
    RESET = "reset"  # the connection is dropped before an answer
    RESET_AFTER = "reset_after"  # what was asked is done, and then the connection is dropped
    HANG = "hang"  # no answer until the server stops
    REDIRECT = "redirect"  # to the Location in `headers`
    LATE = "late"  # the right answer, after `delay_seconds`


@dataclass(slots=True)
class Fault:
    """A fault for the requests that match; `times` counts down, None goes on for ever."""

    wrong: Wrong = Wrong.STATUS
    method: str = "*"
    path: str = "*"  # a glob over the path
    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict)
    times: int | None = 1
    delay_seconds: float = 0.0
    body: bytes = b"{}"

    def strikes(self, method: str, path: str) -> bool:
        """Return True if a request is struck, and count it."""
        if self.times == 0 or not (fnmatchcase(method, self.method) and fnmatchcase(path, self.path)):
            return False
        if self.times is not None:
            self.times -= 1
        return True

    async def answer(self, request: web.Request, proper: web.Response | None) -> web.StreamResponse:
        """Answer wrongly; `proper` is the right answer, for faults that come after it."""
        match self.wrong:
            case Wrong.STATUS:
                error = {"error": {"message": "made to fail"}}
                return web.json_response(error, status=self.status, headers=self.headers)
            case Wrong.HTML:
                return web.Response(text=PAGE, content_type="text/html", status=self.status, headers=self.headers)
            case Wrong.EMPTY | Wrong.REDIRECT:
                return web.Response(status=self.status, headers=self.headers)
            case Wrong.GARBAGE | Wrong.BODY:
                body = self.body if self.wrong is Wrong.BODY else b'{"name": tru'
                return web.Response(body=body, content_type="application/json", status=self.status)
            case Wrong.EMPTY_LIST:
                return web.json_response({"items": [], "next": None, "nextCursor": None})
            case Wrong.TRUNCATED:
                return await _truncated(request, proper)
            case Wrong.LATE:
                return proper if proper is not None else web.Response()
            case Wrong.RESET | Wrong.RESET_AFTER | Wrong.HANG:
                return _dropped(request)

    @property
    def comes_after(self) -> bool:
        """Return True if what was asked is done all the same."""
        return self.wrong in (Wrong.TRUNCATED, Wrong.RESET_AFTER, Wrong.LATE)


def _dropped(request: web.Request) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


async def _truncated(request: web.Request, proper: web.Response | None) -> web.StreamResponse:
    body = proper.body if proper is not None and isinstance(proper.body, bytes) else b"{}"
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(body))})
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    await asyncio.sleep(0)  # let the half leave before the line goes dead
    if request.transport is not None:
        request.transport.close()
    return response
