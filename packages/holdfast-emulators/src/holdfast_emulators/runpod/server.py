"""The emulated RunPod as a server: REST v2, GraphQL, a little of REST v1 and of the data plane, on one port.

    async with RunPodServer() as server:
        ...                                        # talk to server.rest_url and server.graphql_url with server.token
        server.console("user_alice").edit("inference-lb", workersMax=50)
        server.advance(days=8)                     # the platform scales down unused endpoints
        server.faults.append(Fault(Wrong.RESET_AFTER, "POST", "/v2/serverless"))
        assert server.counts()["GET /v2/serverless"] == 1

Nothing here is a secret and nothing leaves this machine. `python -m holdfast_emulators.runpod` runs it as a process of
its own, which prints its addresses and is steered through /_control/.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

import orjson
from aiohttp import web

from holdfast.model.json import Json
from holdfast.testing.socket_server import Listener
from holdfast_emulators.runpod import control_api, faults, graphql, legacy, rest
from holdfast_emulators.runpod.console import Console
from holdfast_emulators.runpod.faults import Fault, Script, Wrong
from holdfast_emulators.runpod.limits import Limits
from holdfast_emulators.runpod.objects import Account, Key
from holdfast_emulators.runpod.platform import Platform
from holdfast_emulators.runpod.service import World

USER: Final = "user_holdfast"
TOKEN: Final = "rpa_HOLDFAST"  # noqa: S105 - opens nothing but this emulator
_READS: Final = frozenset({"GET", "HEAD"})
_MUTATIONS: Final = ("save", "delete", "update", "create")


@dataclass(frozen=True, slots=True)
class Entry:
    """One request in the journal; a GraphQL request's place ends in `#` and the field it asks for."""

    method: str
    place: str
    status: int
    user: str | None
    body: Json = field(default=None, repr=False, compare=False)

    @property
    def is_write(self) -> bool:
        """Return True if it was meant to change something."""
        if self.place.startswith("/graphql"):
            return self.place.partition("#")[2].startswith(_MUTATIONS)
        return self.method not in _READS and not self.place.startswith("/ai/")


@dataclass(slots=True)
class RunPodServer:
    """The server; entering it starts it on a free port of this machine, leaving it stops it."""

    world: World = field(default_factory=World)
    port: int = 0
    user: str = USER
    token: str = TOKEN
    limits: Limits = field(default_factory=Limits)
    faults: list[Fault] = field(default_factory=list)
    scripts: list[Script] = field(default_factory=list)
    journal: list[Entry] = field(default_factory=list)
    _listener: Listener = field(default_factory=Listener)

    def __post_init__(self) -> None:
        if self.user not in self.world.accounts:
            self.world.add_account(self.user)
        self.world.add_key(self.user, token=self.token)

    async def __aenter__(self) -> Self:
        self.port = await self._listener.start(self._handle, self.port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._listener.stop()

    # -- for tests

    @property
    def url(self) -> str:
        """The address of it all."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def rest_url(self) -> str:
        """The address of REST v2."""
        return f"{self.url}/v2"

    @property
    def graphql_url(self) -> str:
        """The address of GraphQL."""
        return f"{self.url}/graphql"

    @property
    def environ(self) -> dict[str, str]:
        """The environment variables of RunPod's own tools that are to use this server."""
        return {
            "RUNPOD_API_KEY": self.token,
            "RUNPOD_API_BASE_URL": self.url,
            "RUNPOD_REST_API_URL": f"{self.url}/v1",
            "RUNPOD_ENDPOINT_BASE_URL": f"{self.url}/ai/v2",
        }

    @property
    def account(self) -> Account:
        """The account that `token` opens."""
        return self.world.accounts[self.user]

    @property
    def platform(self) -> Platform:
        """The automatic changes of the platform."""
        return Platform(self.world)

    def console(self, by: str = "user_console", account: Account | None = None) -> Console:
        """Return a console that acts as an actor."""
        return Console(self.world, account or self.account, by)

    def advance(self, seconds: float = 0.0, *, days: float = 0.0) -> list[str]:
        """Let time pass, and the platform do what it does then; return the ids of what it changed."""
        self.world.advance(seconds + days * 86_400.0)
        return self.platform.tick()

    def counts(self) -> Counter[str]:
        """Count the requests by method and place, ids as `*`."""
        return Counter(f"{entry.method} {_without_ids(entry.place)}" for entry in self.journal)

    def writes(self) -> list[Entry]:
        """Return the journal without reads and without what was refused."""
        return [entry for entry in self.journal if entry.is_write and entry.status < 400]

    # -- answering

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.path.startswith("/_control/"):
            return await control_api.answer(self, request)
        body = _parsed(await request.read())
        place = request.path
        if place == "/graphql" and isinstance(body, dict):
            place = f"/graphql#{graphql.field_of(str(body.get('query', '')))}"
        due = [script for script in self.scripts if script.is_due(request.method, place)]
        self._play(due, after=False)
        response = await self._respond(request, place, body)
        key = self._key(request)
        self.journal.append(Entry(request.method, place, response.status, key.user if key else None, body))
        self._play(due, after=True)
        return response

    def _play(self, due: list[Script], *, after: bool) -> None:
        for script in due:
            if script.after is after:
                script.do(self.console())

    async def _respond(self, request: web.Request, place: str, body: Json) -> web.StreamResponse:
        fault = next((fault for fault in self.faults if fault.strikes(request.method, place)), None)
        if fault is None:
            return self._proper(request, body)
        if fault.delay_seconds:
            await asyncio.sleep(fault.delay_seconds)
        if fault.wrong is Wrong.HANG:
            await self._listener.stopping.wait()
        return await faults.answer(fault, request, place, self._proper(request, body) if fault.comes_after else None)

    def _key(self, request: web.Request) -> Key | None:
        given = request.headers.get("Authorization", "").removeprefix("Bearer ") or request.query.get("api_key", "")
        key = self.world.keys.get(given)
        return key if key is not None and not key.revoked else None

    def _proper(self, request: web.Request, body: Json) -> web.Response:
        key = self._key(request)
        door, *steps = request.path.strip("/").split("/")
        if door == "graphql":
            return self._graphql(request, key, body)
        if door not in ("v1", "v2", "ai"):
            return _json(404, {"message": "there is nothing here"})
        if key is None:
            return _reply(rest.problem(401, "missing or invalid bearer token"), door)
        account = self.world.accounts[key.user]
        if door == "ai":
            ident, verb = (*steps[1:], "", "")[:2]
            return _reply(legacy.data_plane(self.world, account, ident, verb), door)
        headers, exceeded = self.limits.spend(key.user, self.world.now())
        if exceeded is not None:
            return _reply(rest.problem(429, f"rate limit exceeded for the {exceeded} window"), door, headers)
        call = rest.Call(self.world, account, key, request.method, tuple(steps), request.query, body)
        return _reply(legacy.answer(call) if door == "v1" else rest.answer(call), door, headers)

    def _graphql(self, request: web.Request, key: Key | None, body: Json) -> web.Response:
        has_credentials = "Authorization" in request.headers or "api_key" in request.query
        if key is None and has_credentials:
            return _json(401, {"errors": [{"message": "Unauthorized"}]})
        if not isinstance(body, dict) or not isinstance(body.get("query"), str):
            return _json(400, {"errors": [{"message": "Must provide query string."}]})
        account = self.world.accounts[key.user] if key is not None else None
        caller = graphql.Caller(self.world, account, key)
        return _json(*graphql.execute(caller, body["query"], body.get("variables") or {}))


def _parsed(body: bytes) -> Json:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


def _json(status: int, body: Json) -> web.Response:
    return web.Response(body=orjson.dumps(body), status=status, content_type="application/json")


def _reply(reply: rest.Reply, door: str, headers: dict[str, str] | None = None) -> web.Response:
    sent = {**(headers or {}), **(reply.headers or {})}
    if reply.body is None:
        return web.Response(status=reply.status, headers=sent)
    kind = "application/problem+json" if door == "v2" and reply.status >= 400 else "application/json"
    return web.Response(body=orjson.dumps(reply.body), status=reply.status, headers=sent, content_type=kind)


def _without_ids(place: str) -> str:
    """Write a place without ids: what stands after the name of a collection is one."""
    steps = place.split("/")
    if len(steps) > 3 and steps[1] in ("v1", "v2", "ai") and steps[2] != "catalog":
        steps[3] = "*"
    return "/".join(steps)
