"""What stands for aiohttp: a session whose requests go to the fake world, with latency, timeouts and lost answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Self

import aiohttp
from multidict import CIMultiDict


class Response:
    """An answer."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers = CIMultiDict(headers)
        self.headers.setdefault("Content-Length", str(len(body)))
        self._body = body
        self.content_length = len(body)
        self.content = self
        self.reason = ""

    async def read(self) -> bytes:
        """Return the body."""
        return self._body

    async def text(self) -> str:
        """Return the body as text."""
        return self._body.decode()

    async def iter_chunked(self, _size: int) -> Any:
        """Yield the body."""
        yield self._body

    def release(self) -> None:
        """Nothing is held."""

    def close(self) -> None:
        """Nothing is held."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


class Session:
    """Implements as much of aiohttp.ClientSession as Holdfast uses."""

    def __init__(self, world: Any, headers: Mapping[str, str] | None = None, timeout: Any = None, **_: Any) -> None:
        self._world = world
        self._headers = dict(headers or {})
        self._timeout = getattr(timeout, "total", None) or 30.0
        self.closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.closed = True

    async def close(self) -> None:
        """Nothing is held."""
        self.closed = True

    async def request(
        self, method: str, url: Any, headers: Mapping[str, str] | None = None, data: Any = None, **options: Any
    ) -> Response:
        """Send a request; what comes of it is the world's business."""
        given = {**self._headers, **(headers or {})}
        sending = self._world.exchange(method, str(url), given, data if data is not None else options.get("json"))
        try:
            async with asyncio.timeout(self._timeout):
                status, answered, body = await sending
        except ConnectionResetError as error:
            raise aiohttp.ServerDisconnectedError from error
        return Response(status, answered, body)

    def post(self, url: Any, **options: Any) -> _Posting:
        """Send a POST."""
        return _Posting(self, url, options)


class _Posting:
    """What `session.post` returns: to be awaited, or entered."""

    def __init__(self, session: Session, url: Any, options: Any) -> None:
        self._session, self._url, self._options = session, url, options

    def __await__(self) -> Any:
        return self._session.request("POST", self._url, **self._options).__await__()

    async def __aenter__(self) -> Response:
        return await self

    async def __aexit__(self, *_: object) -> None:
        return None
