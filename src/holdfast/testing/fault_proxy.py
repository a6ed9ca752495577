"""An HTTP proxy between a provider and its service: the faults of a provider under test, without a line of its own."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, Self

import aiohttp
from aiohttp import web

from holdfast.model.read_result import ReadError
from holdfast.testing.conformance.provider_under_test import CallType

_STATUSES: Final = {
    ReadError.THROTTLED: 429,
    ReadError.SERVER_ERROR: 503,
    ReadError.UNAUTHORISED: 403,
    ReadError.TIMEOUT: 408,  # as a gateway answers; a real wait would depend on the machine
}
_WRONG_ANSWERS: Final = {
    "an empty object": b"{}",
    "an error": b'{"error": {"message": "try again"}}',
    "a list": b"[]",
}
_NOT_PASSED_ON: Final = frozenset({"connection", "content-length", "host", "transfer-encoding"})


@dataclass(slots=True)
class _Fault:
    call_type: CallType
    trouble: ReadError | None  # None: a wrong answer
    body: bytes = b""
    times: int | None = None


class FaultProxy:
    """Passes calls on to a service, or answers them wrongly. `list_paths` are patterns such as `/zones`."""

    supported: Final = tuple(
        (call_type, trouble)
        for call_type in CallType
        for trouble in (*_STATUSES, ReadError.MALFORMED, ReadError.UNREACHABLE)
    )

    def __init__(self, service_url: str, list_paths: Collection[str]) -> None:
        self._service_url = service_url.rstrip("/")
        self._list_paths = tuple(list_paths)
        self._faults: list[_Fault] = []
        self.url = ""

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(auto_decompress=False)
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._runner.cleanup()
        await self._session.close()

    @property
    def wrong_answers(self) -> Collection[str]:
        """The answers that a read can get instead of the resource."""
        return _WRONG_ANSWERS.keys()

    def answer_wrongly(self, name: str) -> None:
        """Answer every read of one resource with something else until `clear`."""
        self._faults.append(_Fault(CallType.READ, None, _WRONG_ANSWERS[name]))

    def fail(self, call_type: CallType, trouble: ReadError, times: int | None = None) -> None:
        """Let the next calls fail."""
        self._faults.append(_Fault(call_type, trouble, times=times))

    def clear(self) -> None:
        """Pass all calls on again."""
        self._faults.clear()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        fault = self._next_fault(request)
        if fault is None:
            return await self._pass_on(request)
        if fault.trouble is ReadError.UNREACHABLE:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if fault.trouble in _STATUSES:
            headers = {"Retry-After": "7"} if fault.trouble is ReadError.THROTTLED else {}
            return web.Response(status=_STATUSES[fault.trouble], headers=headers)
        body = fault.body if fault.trouble is None else b'{"cut off": '
        return web.Response(body=body, content_type="application/json")

    def _next_fault(self, request: web.Request) -> _Fault | None:
        call_type = CallType.WRITE
        if request.method == "GET":
            is_list = any(fnmatchcase(request.path, pattern) for pattern in self._list_paths)
            call_type = CallType.LIST if is_list else CallType.READ
        for fault in self._faults:
            if fault.call_type is call_type and fault.times != 0:
                fault.times = None if fault.times is None else fault.times - 1
                return fault
        return None

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _NOT_PASSED_ON}
        url = self._service_url + request.raw_path
        async with self._session.request(
            request.method, url, headers=headers, data=await request.read() or None, allow_redirects=False
        ) as answer:
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in _NOT_PASSED_ON}
            if "watch" not in request.query:
                return web.Response(status=answer.status, headers=kept, body=await answer.read())
            stream = web.StreamResponse(status=answer.status, headers=kept)
            await stream.prepare(request)
            async for chunk in answer.content.iter_any():
                await stream.write(chunk)
            return stream
