"""The emulated ARM: one method that answers requests, and everything a test may do to it.

Time comes from the clock it is given, chance from the source it is given, so that a run can be had again. Safe to use
from several threads: one at a time is inside.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec
import orjson

from holdfast.model.json import Json
from holdfast_emulators.azure import defaults, long_running, packs, read, request_gate, response_view, write
from holdfast_emulators.azure.errors import RefusalError
from holdfast_emulators.azure.faults import Failure, Fault, Script
from holdfast_emulators.azure.ids import ArmId, parse
from holdfast_emulators.azure.journal import POLL, TOKEN, Entry, Journal
from holdfast_emulators.azure.limits import Limits, kind_of
from holdfast_emulators.azure.messages import Request, Response
from holdfast_emulators.azure.policies import PRINCIPAL, Policy
from holdfast_emulators.azure.portal import Console
from holdfast_emulators.azure.principals import (
    CLIENT_ID,
    CLIENT_SECRET,
    SUBSCRIPTION,
    Directory,
    Principal,
    is_for_directory,
)
from holdfast_emulators.azure.state import State
from holdfast_emulators.azure.type_behaviour import Fill, Habits, taught


class Ticking(Protocol):
    """The clock of the emulator."""

    def now(self) -> float:
        """Return seconds since the epoch."""


class _SystemClock:
    def now(self) -> float:
        return time.time()


class World:
    """An Azure of one tenant. See the package for how to script it."""

    def __init__(
        self,
        clock: Ticking | None = None,
        *,
        chance: random.Random | None = None,
        habits: Mapping[str, Habits] | None = None,
        limits: Limits | None = None,
        pace: float = 1.0,
    ) -> None:
        """Make an empty one with the shipped packs; `pace` stretches the time that operations take and tell."""
        self.directory = Directory()
        self.tenant = self.directory.tenant
        self.subscription = SUBSCRIPTION
        self.client_id, self.client_secret = CLIENT_ID, CLIENT_SECRET
        self.principal = Principal(CLIENT_ID, client_secret=CLIENT_SECRET)
        self.token = self.directory.token_for(self.principal)
        self.limits = limits or Limits()
        self.journal = Journal()
        self.faults: list[Fault] = []
        self.scripts: list[Script] = []
        chance = chance or random.Random(0)  # noqa: S311 - ids, not secrets
        self.state = State((clock or _SystemClock()).now, chance, self.tenant, pace)
        self.state.subscriptions.add(self.subscription)
        for item in (packs.shipped() if habits is None else habits).values():
            self.state.habits[item.type.casefold()] = item
        self._ids = random.Random(1)  # noqa: S311 - request ids must not move what chance decides

    # -- habits

    def habits(self, type: str) -> Habits:  # noqa: A002 - ARM's word
        """Return the habits of a type."""
        return self.state.habits_of(type)

    def tune(self, type: str, **changes: Json) -> Habits:  # noqa: A002 - ARM's word
        """Replace habits of a type, by their names in `Habits`."""
        with self.state.lock:
            new = msgspec.structs.replace(self.habits(type), **changes)
            self.state.habits[type.casefold()] = new
            self._forget_renderings()
            return new

    def teach(self, type: str, *rules: Json) -> Habits:  # noqa: A002 - ARM's word
        """Add rules to the habits of a type: Fill, Computed, Rewrite, Order, Element, Secret, Embedded, Reference."""
        with self.state.lock:
            self.state.habits[type.casefold()] = taught(self.habits(type), *rules)
            self._forget_renderings()
            return self.habits(type)

    def roll_out(self, type: str, rule: Fill) -> int:  # noqa: A002 - ARM's word
        """Release a new version of a provider: all resources of the type get a new field at once; return how many."""
        with self.state.lock:
            self.teach(type, rule)
            wanted = type.casefold()
            found = [resource for resource in self.state.resources.values() if resource.id.type.casefold() == wanted]
            for item in found:
                value = self.state.filling(item, None).expanded(rule.value)
                if defaults.place(item.body, rule.at, value):
                    self.state.touch(item, None)
            return len(found)

    def _forget_renderings(self) -> None:
        for resource in self.state.resources.values():
            resource.cache.clear()

    # -- who and where

    def add_principal(self, principal: Principal) -> str:
        """Add a principal. Return its token."""
        return self.directory.token_for(principal)

    def revoke(self, token: str) -> None:
        """Let a token open nothing any more."""
        self.directory.revoke(token)

    def add_subscription(self, subscription: str) -> None:
        """Open another subscription."""
        self.state.subscriptions.add(subscription.casefold())

    def add_group(self, name: str, location: str = "westus2", subscription: str | None = None) -> str:
        """Make a resource group without a request; return its id."""
        ident = f"/subscriptions/{subscription or self.subscription}/resourceGroups/{name}"
        self.put(ident, {"location": location})
        return ident

    # -- what others do

    def console(self, actor: str, kind: str = "User", *, silent: bool = False) -> Console:
        """Return a console that acts as an actor. A silent one leaves no trace in systemData."""
        return Console(self.state, actor, kind, silent)

    def later(self, seconds: float, do: Callable[[], object]) -> None:
        """Have something happen at a time from now."""
        self.state.schedule(self.state.now() + seconds, do)

    def advance(self, seconds: float) -> None:
        """Move the emulator's time ahead of its clock, and run the actions that become due."""
        with self.state.lock:
            self.state.ahead_seconds += seconds
            self.state.catch_up()

    def remediate(self, policy: Policy) -> list[str]:
        """Let a policy work on what is there already; return the ids of what it changed."""
        with self.state.lock:
            changed = []
            for resource in list(self.state.resources.values()):
                after = policy.applied(resource.body) if policy.concerns(resource.id, resource.body) else resource.body
                if after != resource.body:
                    resource.body = after
                    self.state.touch(resource, self.state.stamp(PRINCIPAL, "Application"))
                    changed.append(resource.id.text)
            return changed

    @property
    def policies(self) -> list[Policy]:
        """The policies that look at each write."""
        return self.state.policies

    @property
    def failures(self) -> list[Failure]:
        """The operations that will be accepted and then fail."""
        return self.state.failures

    # -- looking inside

    def put(self, ident: str, document: Mapping[str, Json], by: str | None = None) -> None:
        """Make or replace a resource at once, without a request, as the type does it."""
        with self.state.lock:
            self.state.catch_up()
            write.write(self.state, _id(ident), document, self.state.stamp(by or self.principal.name, "Application"))

    def stored(self, ident: str) -> Json:
        """Return the stored resource with secrets in clear. Raise KeyError if there is none."""
        with self.state.lock:
            self.state.catch_up()
            return orjson.loads(orjson.dumps(self.state.resources[_id(ident).key].body))

    def shown(self, ident: str, api_version: str = "") -> Json:
        """Return a resource as GET would show it, without lag; None if there is none."""
        with self.state.lock:
            self.state.catch_up()
            found = self.state.find(_id(ident))
            return response_view.document(self.state, found, api_version) if found is not None else None

    def ids(self, type: str = "*") -> list[str]:  # noqa: A002 - ARM's word
        """List the ids of all resources, or of those of a type, oldest first."""
        with self.state.lock:
            self.state.catch_up()
            found = [resource.id for resource in self.state.resources.values()]
            return [item.text for item in found if type == "*" or type.casefold() == item.type.casefold()]

    # -- answering

    def answer(self, request: Request) -> Response:
        """Answer a request: the one way in, for every door."""
        with self.state.lock:
            self.state.catch_up()
            due = [script for script in self.scripts if script.is_due(request.method, request.path)]
            _play(due, after=False)
            response = self._answer(request)
            _play(due, after=True)
            return response

    def _answer(self, request: Request) -> Response:
        principal: Principal | None = None
        if is_for_directory(request.path):
            response = self.directory.answer(request, self.state.now())
        else:
            try:
                principal = self.directory.bearer(request, self.state.now())
            except RefusalError as refusal:
                response = refusal.response()
            else:
                response = self._admitted(request, principal)
        self._sign(request, response)
        self._note(request, response, principal)
        return response

    def _admitted(self, request: Request, principal: Principal) -> Response:
        fault = next((item for item in self.faults if item.strikes(request.method, request.path)), None)
        return (
            self._proper(request, principal)
            if fault is None
            else fault.answer(lambda: self._proper(request, principal))
        )

    def _proper(self, request: Request, principal: Principal) -> Response:
        id_ = request_gate.place_of(request.path)
        subscription = (id_.subscription if id_ is not None else None) or ""
        namespace = id_.namespace if id_ is not None else ""
        now = self.state.now()
        told, code = self.limits.judge(subscription, principal.object_id, request.method, now, namespace)
        if code:
            response = _throttled(code, request.method, principal)
        else:
            try:
                response = request_gate.answer(self.state, request, principal)
            except RefusalError as refusal:
                shape = self.state.habits_of(id_.type).error_shape if id_ is not None else "arm"
                response = refusal.response(shape)
        if request.method == "HEAD":
            response.body = b""
        response.headers.update({name: value for name, value in told.items() if name not in response.headers})
        return response

    def _sign(self, request: Request, response: Response) -> None:
        """Add the headers that every answer of ARM has."""
        ident = defaults.guid(self._ids)
        headers = response.headers
        headers.setdefault("x-ms-request-id", ident)
        headers.setdefault("x-ms-correlation-request-id", request.headers.get("x-ms-correlation-request-id", ident))
        headers.setdefault("x-ms-routing-request-id", f"WESTUS2:{int(self.state.now())}:{ident}")
        headers.setdefault("Cache-Control", "no-cache")
        client = request.headers.get("x-ms-client-request-id")
        if client is not None and request.headers.get("x-ms-return-client-request-id", "").casefold() == "true":
            headers["x-ms-client-request-id"] = client

    def _note(self, request: Request, response: Response, principal: Principal | None) -> None:
        kind = kind_of(request.method).removesuffix("s")
        id_ = request_gate.place_of(request.path)
        type_ = id_.type if id_ is not None else ""
        if is_for_directory(request.path):
            kind = TOKEN
        elif long_running.is_poll(request.path):
            running = long_running.operation_of(self.state, request.path)
            kind, type_ = POLL, running.resource.type if running is not None else type_
        body = _json(request.body) if self.journal.keep_bodies and kind != TOKEN else None
        self.journal.append(
            Entry(
                self.state.now(),
                request.method,
                request.path,
                self.state.habits_of(type_).type,
                response.status,
                kind,
                response.code,
                principal.name if principal is not None else "",
                request.api_version,
                response.changed,
                response.headers["x-ms-correlation-request-id"],
                body,
            )
        )

    def seen(self, ident: str) -> Json:
        """Return a resource as a read would see it now, lag and all, without being one."""
        with self.state.lock:
            self.state.catch_up()
            found = read.seen(self.state, _id(ident))
            return response_view.document(self.state, found) if found is not None else None


def _play(due: list[Script], *, after: bool) -> None:
    for script in due:
        if script.after is after:
            script.do()


def _throttled(code: str, method: str, principal: Principal) -> Response:
    message = (
        f"Number of '{kind_of(method).removesuffix('s')}' requests for subscription and principal "
        f"'{principal.name}' exceeded. Please try again later."
    )
    return RefusalError(429, code, message, gateway=True).response()


def _json(body: bytes) -> Json:
    try:
        return orjson.loads(body) if body else None
    except orjson.JSONDecodeError:
        return None


def _id(ident: str) -> ArmId:
    found = parse(ident)
    if found is None or found.is_collection:
        raise KeyError(ident)
    return found
