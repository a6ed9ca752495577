"""One exchange with an API server on raw bytes: a request, and its answer or the reason why there is none."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlencode

import aiohttp

from holdfast.model.read_result import ReadError
from holdfast.providers.http import client as http
from holdfast.providers.http.client import Answer, Lost
from holdfast.providers.http.description import Api
from holdfast.providers.kubernetes import credentials
from holdfast.providers.kubernetes.credentials import Credentials, CredentialsError
from holdfast.providers.kubernetes.settings import Settings

JSON: Final = "application/json"
APPLY: Final = "application/apply-patch+yaml"  # the body is JSON, because the server reads YAML 1.1: `y` became true
JSON_PATCH: Final = "application/json-patch+json"
METADATA: Final = f"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,{JSON}"
_MAX_BODY_BYTES: Final = 256 * 2**20  # a list page of large objects
_MAX_LINE_BYTES: Final = 16 * 2**20  # an event of a watch
_SILENT_SECONDS: Final = 30.0  # after which a watch that the server should have ended is given up


class Client:
    """Sends requests to one API server."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        watches: aiohttp.ClientSession,
        found: Credentials,
        settings: Settings,
    ) -> None:
        self._watches = watches
        self._exchange = http.Client(session, Api("", found.host, {}, {}, max_body_bytes=_MAX_BODY_BYTES))
        self._credentials = found
        self.settings = settings
        self.namespace = found.namespace

    async def get(self, path: str, label: str, **query: str | int) -> Answer | Lost:
        """Send a GET."""
        return await self.send("GET", path, label, query=query)

    async def send(
        self,
        method: str,
        path: str,
        label: str,
        *,
        query: Mapping[str, str | int] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Answer | Lost:
        """Send a request; `label` names it in messages."""
        try:
            headers = await self._credentials.headers(time.monotonic())
        except CredentialsError as error:
            return Lost(
                ReadError.UNAUTHORISED, f"{label}: the credentials could not be renewed ({error})", is_unsent=True
            )
        if body is not None:
            headers["Content-Type"] = content_type
        asked = f"?{urlencode(query)}" if query else ""
        return await self._exchange.send(method, f"{self._credentials.host}{path}{asked}", label, headers, body)

    async def lines(
        self, path: str, label: str, query: Mapping[str, str | int], seconds: float
    ) -> AsyncGenerator[bytes | Answer | Lost, None]:
        """Yield the lines of an answer that the server ends after a time; last the failure, if there was one."""
        try:
            headers = await self._credentials.headers(time.monotonic())
            url = f"{self._credentials.host}{path}?{urlencode(query)}"
            timeout = aiohttp.ClientTimeout(
                total=None, sock_connect=self.settings.timeout_seconds, sock_read=seconds + _SILENT_SECONDS
            )
            async with self._watches.get(
                url, headers={**headers, "Accept": METADATA}, timeout=timeout, allow_redirects=False
            ) as response:
                if response.status != 200:
                    yield Answer(response.status, response.headers, await response.content.read(_MAX_LINE_BYTES), url)
                    return
                rest = b""
                async for chunk in response.content.iter_any():
                    *complete, rest = (rest + chunk).split(b"\n")
                    if len(rest) > _MAX_LINE_BYTES:
                        yield Lost(ReadError.OTHER, f"{label}: an event has more than {_MAX_LINE_BYTES:,} bytes")
                        return
                    for line in complete:
                        yield line
        except CredentialsError as error:
            yield Lost(ReadError.UNAUTHORISED, f"{label}: the credentials could not be renewed ({error})")
        except TimeoutError:
            yield Lost(ReadError.TIMEOUT, f"{label} was silent for too long")
        except (aiohttp.ClientError, OSError):
            yield Lost(ReadError.UNREACHABLE, f"{label}: the connection was lost, or could not be made")


@asynccontextmanager
async def opened(settings: Settings, agent: str) -> AsyncIterator[Client]:
    """Open the session of one half of a connection."""
    found = await credentials.load(settings, os.environ, time.monotonic())

    def session(connections: int) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=connections, ssl=found.tls),
            timeout=aiohttp.ClientTimeout(total=settings.timeout_seconds),
            headers={"Accept": JSON, "User-Agent": agent},
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=found.proxy,
        )

    # Each watch holds a connection. They are not limited, so that they leave those of other requests free.
    async with session(32) as requests, session(0) as watches:
        yield Client(requests, watches, found, settings)
