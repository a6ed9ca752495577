"""One exchange with an API: a request and its answer, or the reason why there is none. Remote failures never raise."""

from __future__ import annotations

import io
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import urljoin, urlsplit

import aiohttp
from aiohttp import hdrs

from holdfast.errors import InputError, Location
from holdfast.model.read_result import ReadError
from holdfast.providers.http.description import Api

_MAX_HOPS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_KEEPING: Final = frozenset({307, 308})  # redirects under which a write may be repeated as it is
_CHUNK_BYTES: Final = 64 * 2**10
_LARGE_BYTES: Final = 2**20  # a larger body goes out in parts, because aiohttp would block the event loop with it
_PORTS: Final = {"http": 80, "https": 443}


class Answer(NamedTuple):
    """One answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


@dataclass(frozen=True, slots=True)
class Lost:
    """No usable answer came back. For a write the outcome is unknown."""

    trouble: ReadError
    detail: str
    is_unsent: bool = False  # it is known that the request did not go out, or was sent elsewhere


class _TooLargeError(Exception):
    pass


class Client:
    """Sends requests to one API, and to no other host whatever an answer may say."""

    def __init__(self, session: aiohttp.ClientSession, api: Api) -> None:
        self._session = session
        self.base = api.base_url
        self._origin = _origin(api.base_url)
        self._limit = api.max_body_bytes

    async def send(
        self, method: str, url: str, label: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Answer | Lost:
        """Send a request. `label` names it in messages, because a URL may hold a secret.

        All of it is in one coroutine, because it runs for every check and each further one costs time in the benchmark.
        """
        try:
            for _ in range(_MAX_HOPS):
                data = io.BytesIO(body) if body is not None and len(body) > _LARGE_BYTES else body
                response = await self._session.request(method, url, headers=headers, data=data, allow_redirects=False)
                try:
                    given = response.headers
                    length = given.get(hdrs.CONTENT_LENGTH)
                    if length is None or int(length) > self._limit or hdrs.CONTENT_ENCODING in given:
                        received = await self._limited(response)
                    else:
                        received = await response.read()
                finally:
                    response.release()
                answer = Answer(response.status, given, received, url)
                if answer.status not in _REDIRECTS:
                    return answer
                following = self._redirected(method, answer)
                if following is None:
                    return answer
                if not following:
                    return Lost(
                        ReadError.OTHER,
                        f"{label} was redirected to another host, which is not followed",
                        is_unsent=True,
                    )
                url = following
        except TimeoutError:
            return Lost(ReadError.TIMEOUT, f"{label} was not answered in time")
        except _TooLargeError:
            return Lost(ReadError.OTHER, f"{label} was answered with more than {self._limit:,} bytes")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return _lost(label, error)
        return Lost(ReadError.OTHER, f"{label} was redirected more than {_MAX_HOPS} times")

    def _redirected(self, method: str, answer: Answer) -> str | None:
        """Return where to ask again; None if the answer is to be taken as it is, empty if it leads elsewhere."""
        location = answer.headers.get("Location")
        if location is None or (method != "GET" and answer.status not in _KEEPING):
            return None
        return self.within(answer.url, location) or ""

    def within(self, url: str, link: str) -> str | None:
        """Return where a link in an answer leads, or None if that is not the host that our credentials are for."""
        try:
            joined = urljoin(url, link)
            return joined if _origin(joined) == self._origin else None
        except ValueError:
            return None

    async def _limited(self, response: aiohttp.ClientResponse) -> bytes:
        """Read a body up to the limit; a compressed one says nothing true about its length beforehand."""
        length = response.content_length
        if length is not None and length > self._limit:
            raise _TooLargeError
        chunks: list[bytes] = []
        total = 0
        async for chunk in response.content.iter_chunked(_CHUNK_BYTES):
            total += len(chunk)
            if total > self._limit:
                raise _TooLargeError
            chunks.append(chunk)
        return b"".join(chunks)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)


def _lost(label: str, error: Exception) -> Lost:
    """Return the failure in our own words, because texts of exceptions may hold URLs."""
    match error:
        case aiohttp.ClientPayloadError():
            return Lost(ReadError.MALFORMED, f"the answer to {label} broke off, or could not be unpacked")
        case aiohttp.ClientSSLError() | aiohttp.ClientConnectorCertificateError():
            return Lost(
                ReadError.UNREACHABLE, f"{label}: no trusted TLS connection to the host could be made", is_unsent=True
            )
        case aiohttp.ClientConnectorError():
            return Lost(
                ReadError.UNREACHABLE,
                f"{label}: cannot connect to {error.host}:{error.port}{_reason(error)}",
                is_unsent=True,
            )
        case aiohttp.ClientResponseError():
            return Lost(ReadError.MALFORMED, f"the answer to {label} is not HTTP")
        case aiohttp.ClientConnectionError() | OSError():
            return Lost(ReadError.UNREACHABLE, f"{label}: the connection was lost")
        case _:
            return Lost(ReadError.OTHER, f"{label} could not be sent ({type(error).__name__})")


def _reason(error: aiohttp.ClientConnectorError) -> str:
    number = error.os_error.errno
    return f" ({os.strerror(number)})" if number is not None and number > 0 else ""


@asynccontextmanager
async def opened(api: Api, agent: str) -> AsyncIterator[Client]:
    """Open the one session of a half of a connection."""
    # With a jar that keeps nothing an API cannot make one request depend on another.
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=api.max_connections, ssl=_tls(api)),
        timeout=aiohttp.ClientTimeout(total=api.timeout_seconds),
        headers={"Accept": "application/json", "User-Agent": agent, **api.headers},
        cookie_jar=aiohttp.DummyCookieJar(),
    ) as session:
        yield Client(session, api)


def _tls(api: Api) -> ssl.SSLContext | bool:
    if api.ca_file is None:
        return api.verifies_tls
    try:
        return ssl.create_default_context(cafile=api.ca_file)
    except (OSError, ssl.SSLError) as error:
        field = f"/connections/{api.connection}/tls/ca_file"
        raise InputError("the file of certificates cannot be read", Location(field=field)) from error
