"""The emulator behind a TLS socket, so that the tested program is the shipped one.

The first certificate is made when the server starts. `ca_bundle` is the file to give to clients. Aborted, hanging and
truncated answers are made here, because only here is there a connection to abort.
"""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from aiohttp import web

from holdfast.testing.rest_faults import Wrong
from holdfast.testing.socket_server import Listener
from holdfast_emulators.azure import control_api
from holdfast_emulators.azure.messages import Request, Response
from holdfast_emulators.azure.service import World


@dataclass(slots=True)
class ArmServer:
    """The server; entering it starts it on a free port of this machine, leaving it stops it."""

    world: World = field(default_factory=World)
    port: int = 0
    tls: bool = True
    folder: Path | None = None  # where the certificates go; None: a temporary folder
    _scratch: tempfile.TemporaryDirectory[str] | None = None
    _listener: Listener = field(default_factory=Listener)
    _bundle: Path | None = None

    async def __aenter__(self) -> Self:
        self.port = await self._listener.start(self._handle, self.port, self._context())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._listener.stop()
        if self._scratch is not None:
            self._scratch.cleanup()

    def _context(self) -> ssl.SSLContext | None:
        if not self.tls:
            return None
        from holdfast_emulators.azure import certificates  # noqa: PLC0415 - cryptography comes with the azure extra only

        if self.folder is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="holdfast-arm-")
        made = certificates.make(self.folder or Path(self._scratch.name if self._scratch else "."))
        self._bundle = made.ca_bundle
        return made.context()

    # -- for tests

    @property
    def url(self) -> str:
        """The address of ARM, and of the authority that gives tokens."""
        return f"{'https' if self.tls else 'http'}://localhost:{self.port}"

    @property
    def ca_bundle(self) -> str:
        """The file with the authority's certificate, for `connection_verify`, SSL_CERT_FILE or REQUESTS_CA_BUNDLE."""
        return str(self._bundle) if self._bundle is not None else ""

    @property
    def environ(self) -> dict[str, str]:
        """The environment variables of a program that is to use this server."""
        trust = {"SSL_CERT_FILE": self.ca_bundle, "REQUESTS_CA_BUNDLE": self.ca_bundle} if self.tls else {}
        return {
            "AZURE_TENANT_ID": self.world.tenant,
            "AZURE_CLIENT_ID": self.world.client_id,
            "AZURE_CLIENT_SECRET": self.world.client_secret,
            "AZURE_SUBSCRIPTION_ID": self.world.subscription,
            "AZURE_AUTHORITY_HOST": self.url,
            "AZURE_RESOURCE_MANAGER_URL": self.url,
            **trust,
        }

    # -- answering

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.path.startswith("/_control/"):
            return await control_api.answer(self.world, request)
        url = f"{self.url}{request.raw_path}"
        asked = Request.of(request.method, url, dict(request.headers), await request.read())
        return await self._send(request, self.world.answer(asked))

    async def _send(self, request: web.Request, response: Response) -> web.StreamResponse:
        if response.delay_seconds:
            await asyncio.sleep(response.delay_seconds)
        match response.broken:
            case Wrong.HANG:
                await self._listener.stopping.wait()
                return _dropped(request)
            case Wrong.RESET | Wrong.RESET_AFTER:
                return _dropped(request)
            case Wrong.TRUNCATED:
                return await _truncated(request, response)
            case _:
                return web.Response(status=response.status, headers=dict(response.headers), body=response.body or None)


def _dropped(request: web.Request) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


async def _truncated(request: web.Request, response: Response) -> web.StreamResponse:
    headers = {**response.headers, "Content-Length": str(len(response.body))}
    answer = web.StreamResponse(status=response.status, headers=headers)
    await answer.prepare(request)
    await answer.write(response.body[: len(response.body) // 2])
    await asyncio.sleep(0)  # let the half leave before the line goes dead
    if request.transport is not None:
        request.transport.close()
    return answer
