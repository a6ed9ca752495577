"""One exchange with an API server on raw bytes: a request, and its answer or the reason why there is none."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Mapping
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
_MAX_BODY_BYTES: Final = 256 * 2**20  # a list page of large objects


class Client:
    """Sends requests to one API server."""

    def __init__(self, session: aiohttp.ClientSession, found: Credentials, settings: Settings) -> None:
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


@asynccontextmanager
async def opened(settings: Settings, agent: str) -> AsyncIterator[Client]:
    """Open the session of one half of a connection."""
    found = await credentials.load(settings, os.environ, time.monotonic())
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=32, ssl=found.tls),
        timeout=aiohttp.ClientTimeout(total=settings.timeout_seconds),
        headers={"Accept": JSON, "User-Agent": agent},
        cookie_jar=aiohttp.DummyCookieJar(),
        proxy=found.proxy,
    ) as session:
        yield Client(session, found, settings)
