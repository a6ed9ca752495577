"""A made-up feature-flag service: ids from the server, etags, pages, and creates that take their time."""

from __future__ import annotations

import copy
import itertools
from typing import Any, Self

from aiohttp import web

DEFAULTS = {"description": "", "rollout": 100, "targeting": {"countries": [], "plan": "any"}}
PAGE_SIZE = 4
CREATE_READS = 2  # reads until a new flag is ready


class FlagService:
    """The service on a port of this machine; `flags` is its database."""

    def __init__(self) -> None:
        self.flags: dict[str, dict[str, Any]] = {}
        self.url = ""
        self._reads_left: dict[str, int] = {}
        self._created_by: dict[str, str] = {}
        self._numbers = itertools.count(1)

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/v1/flags", self._create)
        app.router.add_get("/v1/flags", self._list)
        app.router.add_get("/v1/flags/{id}", self._read)
        app.router.add_patch("/v1/flags/{id}", self._update)
        app.router.add_delete("/v1/flags/{id}", self._delete)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._runner.cleanup()

    def _shown(self, ident: str) -> dict[str, Any]:
        """Return a flag as the API shows it: the token is hidden, and reads move a new flag towards ready."""
        left = self._reads_left[ident] = max(0, self._reads_left.get(ident, 0) - 1)
        flag = {**self.flags[ident], "id": ident, "state": "creating" if left else "ready"}
        return {**flag, "token": "***"} if "token" in flag else flag

    async def _create(self, request: web.Request) -> web.Response:
        key = request.headers.get("Idempotency-Key", f"none-{next(self._numbers)}")
        if key not in self._created_by:
            ident = self._created_by[key] = f"flag-{next(self._numbers)}"
            self.flags[ident] = {**copy.deepcopy(DEFAULTS), **await request.json(), "revision": 1}
            self._reads_left[ident] = CREATE_READS
        return web.json_response({"id": self._created_by[key], "state": "creating"}, status=202)

    async def _list(self, request: web.Request) -> web.Response:
        start = int(request.query.get("page", "0"))
        page = sorted(self.flags)[start : start + PAGE_SIZE]
        following = start + PAGE_SIZE if start + PAGE_SIZE < len(self.flags) else None
        return web.json_response({"flags": [self._shown(ident) for ident in page], "next": following})

    async def _read(self, request: web.Request) -> web.Response:
        ident = request.match_info["id"]
        if ident not in self.flags:
            return web.json_response({"error": "there is no such flag"}, status=404)
        return web.json_response(self._shown(ident), headers={"ETag": self._etag(ident)})

    async def _update(self, request: web.Request) -> web.Response:
        ident = request.match_info["id"]
        refusal = self._refusal(request, ident)
        if refusal is not None:
            return refusal
        flag = {**self.flags[ident], **await request.json()}
        revision = self.flags[ident]["revision"] + 1
        self.flags[ident] = {name: value for name, value in flag.items() if value is not None} | {"revision": revision}
        return web.json_response(self._shown(ident), headers={"ETag": self._etag(ident)})

    async def _delete(self, request: web.Request) -> web.Response:
        ident = request.match_info["id"]
        refusal = self._refusal(request, ident)
        if refusal is None:
            del self.flags[ident]
        return refusal or web.Response(status=204)

    def _etag(self, ident: str) -> str:
        return f'"{self.flags[ident]["revision"]}"'

    def _refusal(self, request: web.Request, ident: str) -> web.Response | None:
        if ident not in self.flags:
            return web.json_response({"error": "there is no such flag"}, status=404)
        if request.headers.get("If-Match", self._etag(ident)) != self._etag(ident):
            return web.json_response({"error": "the flag has another revision"}, status=412)
        return None
