"""The emulator as the last step of azure-core's pipeline: everything above it is real, below it there is no socket.

For virtual time. A socket makes the event loop wait for the machine. A client that sleeps on a FakeClock and an engine
that schedules by it must not wait. TLS and aiohttp are not exercised here: `server` is for that.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, MutableMapping
from http import HTTPStatus
from types import TracebackType
from typing import Any, Protocol, Self
from urllib.parse import urlencode

import orjson
from azure.core import rest
from azure.core.credentials import AccessToken, AccessTokenInfo, TokenRequestOptions
from azure.core.exceptions import (
    HttpResponseError,
    IncompleteReadError,
    ServiceRequestError,
    ServiceResponseError,
    ServiceResponseTimeoutError,
)
from azure.core.pipeline.transport import AsyncHttpTransport
from azure.core.utils import case_insensitive_dict

from holdfast.model.json import Json
from holdfast.testing.rest_faults import Wrong
from holdfast_emulators.azure.messages import Request, Response
from holdfast_emulators.azure.service import World

_FAR = 4_102_444_800  # 2100: past whatever a FakeClock shows, and past the machine's own clock


class Sleeping(Protocol):
    """The clock of the transport."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class StaticCredential:
    """A credential that always has the same token, for both of azure-core's protocols."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def get_token(self, *_scopes: str, **_options: Any) -> AccessToken:  # noqa: ANN401 - azure-core's signature
        """Return the token."""
        return AccessToken(self._token, _FAR)

    async def get_token_info(self, *_scopes: str, options: TokenRequestOptions | None = None) -> AccessTokenInfo:
        """Return the token, in the newer way."""
        del options
        return AccessTokenInfo(self._token, _FAR)

    async def close(self) -> None:
        """Do nothing."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        """Do nothing."""


class InProcessResponse(rest.AsyncHttpResponse):
    """An answer of the emulator as azure-core expects one. Old policies also find `body` and `internal_response`."""

    def __init__(self, request: rest.HttpRequest, response: Response) -> None:
        self._request, self._response = request, response
        self._headers = case_insensitive_dict(dict(response.headers))
        self._encoding: str | None = None
        self._json: Json = None
        self.internal_response = response
        self.block_size = 4096

    @property
    def request(self) -> rest.HttpRequest:
        """The request."""
        return self._request

    @property
    def status_code(self) -> int:
        """The status."""
        return self._response.status

    @property
    def headers(self) -> MutableMapping[str, str]:
        """The headers, whatever their case."""
        return self._headers

    @property
    def reason(self) -> str:
        """The words of the status."""
        with contextlib.suppress(ValueError):
            return HTTPStatus(self.status_code).phrase
        return ""

    @property
    def content_type(self) -> str | None:
        """The type of the body."""
        return self._headers.get("Content-Type")

    @property
    def is_closed(self) -> bool:
        """Always: there is nothing to close."""
        return True

    @property
    def is_stream_consumed(self) -> bool:
        """Always: the body is here."""
        return True

    @property
    def encoding(self) -> str | None:
        """The encoding, if one was set."""
        return self._encoding

    @encoding.setter
    def encoding(self, value: str | None) -> None:
        self._encoding = value

    @property
    def url(self) -> str:
        """The address that was asked."""
        return str(self._request.url)

    @property
    def content(self) -> bytes:
        """The body."""
        return self._response.body

    def body(self) -> bytes:
        """Return the body, as it was called once."""
        return self._response.body

    def text(self, encoding: str | None = None) -> str:
        """Return the body as text."""
        return self.content.decode(encoding or self._encoding or "utf-8-sig")

    def json(self) -> Any:  # noqa: ANN401 - azure-core's signature
        """Return the body as a document; raises ValueError if it is none."""
        return orjson.loads(self.content)

    def raise_for_status(self) -> None:
        """Raise for an error."""
        if self.status_code >= 400:
            raise HttpResponseError(response=self)

    async def read(self) -> bytes:
        """Return the body."""
        return self.content

    async def load_body(self) -> None:
        """Do nothing: the body is here."""

    async def iter_bytes(self, **_options: Any) -> AsyncIterator[bytes]:  # noqa: ANN401 - azure-core's signature
        """Yield the body."""
        yield self.content

    async def iter_raw(self, **_options: Any) -> AsyncIterator[bytes]:  # noqa: ANN401 - azure-core's signature
        """Yield the body."""
        yield self.content

    async def close(self) -> None:
        """Do nothing."""

    async def __aexit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        """Do nothing."""


class ArmTransport(AsyncHttpTransport[rest.HttpRequest, rest.AsyncHttpResponse]):
    """Sends requests to an emulator in this process, whatever host they name.

    With a clock, late answers are late on it. Without one they come at once.
    """

    def __init__(self, world: World, clock: Sleeping | None = None) -> None:
        self.world = world
        self._clock = clock

    async def send(self, request: rest.HttpRequest, **_options: Any) -> rest.AsyncHttpResponse:  # noqa: ANN401
        """Answer a request, after letting other tasks run, as any network does."""
        await asyncio.sleep(0)
        asked = Request.of(request.method, request.url, dict(request.headers), _body(request))
        response = self.world.answer(asked)
        if response.delay_seconds and self._clock is not None:
            await self._clock.sleep(response.delay_seconds)
        _break(response)
        return InProcessResponse(request, response)

    async def open(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""

    async def __aexit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        """Do nothing."""


def _body(request: rest.HttpRequest) -> bytes:
    """Return the body of a request: azure-core keeps it as text, bytes or form fields."""
    data = getattr(request, "_data", None) or getattr(request, "data", None) or request.content
    if data is None:
        return b""
    if isinstance(data, dict):
        return urlencode(data).encode()
    return data if isinstance(data, bytes) else str(data).encode()


def _break(response: Response) -> None:
    """Raise what azure-core's own transport raises when the line is broken."""
    match response.broken:
        case Wrong.RESET:
            raise ServiceRequestError("the connection was reset")
        case Wrong.RESET_AFTER:
            raise ServiceResponseError("the connection was reset after the request had been sent")
        case Wrong.HANG:
            raise ServiceResponseTimeoutError("no answer came")
        case Wrong.TRUNCATED:
            raise IncompleteReadError("the answer was cut off")
        case _:
            return
