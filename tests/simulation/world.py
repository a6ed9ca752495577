"""The fake world: APIs that keep things, forget nothing about who wrote what, and misbehave when told to.

It is the truth that the oracle judges by. Of every thing it keeps two documents: what is live, and what would be live
if only Holdfast and the service itself had written (`own`). Where they differ, somebody else has been there.
"""

from __future__ import annotations

import asyncio
import contextvars
import copy
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.simulation.documents import NOTHING, Document, leaves, merged, put
from tests.simulation.kernel import CURRENT, Kernel, Process
from tests.simulation.kinds import KINDS, KindSpec

CLAIM = 300.0  # seconds: who has an answer later has lost the right to act on it
Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Thing:
    """One live thing."""

    ident: str
    api: str
    kind: KindSpec
    live: Document
    own: Document  # as it would be without strangers
    made_by: str  # "us", or a stranger's name
    made_at: float
    hidden: Document = field(default_factory=dict)
    rev: int = 1
    deleted: float | None = None
    deleted_by: str = ""
    past: list[tuple[float, Document]] = field(default_factory=list)  # what it was until then
    touched: dict[str, tuple[str, float]] = field(default_factory=dict)  # top field -> who, when, by strangers only
    writer: str = "us"

    @property
    def name(self) -> str:
        """Return the name people know it by."""
        return self.ident.removesuffix(".json") if self.api == "files" else str(self.live.get("name", ""))

    def moved(self) -> list[str]:
        """Return the leaves where strangers left something else than we or the service had there."""
        mine, theirs = leaves(self.own), leaves(self.live)
        return sorted(
            path for path in mine.keys() | theirs.keys() if mine.get(path, NOTHING) != theirs.get(path, NOTHING)
        )


@dataclass
class Sent:
    """One request that reached an API."""

    at: float
    process: Process | None
    method: str
    api: str
    kind: str
    ident: str | None
    body: Any
    status: int
    effect: str  # "", "create", "update", "delete"
    before: Document | None = None
    after: Document | None = None
    own_before: Document | None = None
    thing: Thing | None = None
    told: bool = True  # whether the answer came back as it was
    truthful: bool = True
    lagged: bool = False
    step: int = 0
    left: float = 0.0  # when it was sent
    delivered: bool = False  # whether the sender had the answer in time

    @property
    def is_write(self) -> bool:
        """Tell whether it was sent to change something."""
        return self.method != "GET"


@dataclass
class Fault:
    """How an API misbehaves for a while."""

    how: str
    api: str = ""  # "" is any
    kind: str = ""
    name: str = ""
    ops: tuple[str, ...] = ()  # read, list, create, update, delete; none is all
    times: int = 10**9
    until: float = 10**12
    data: Any = None

    def matches(self, api: str, kind: str, name: str, op: str, now: float) -> bool:
        """Tell whether a request is hit."""
        return (
            self.times > 0
            and now < self.until
            and self.api in ("", api)
            and self.kind in ("", kind)
            and self.name in ("", name)
            and (not self.ops or op in self.ops)
        )


class World:
    """All APIs, and the journal of what reached them."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.things: list[Thing] = []
        self.journal: list[Sent] = []
        self.faults: list[Fault] = []
        self.keys: dict[str, Thing] = {}
        self.serial = 0
        self.step = 0
        self.edits_every = 300.0
        self.latency = 0.05
        self.environment: dict[str, str] = {}
        self.before_send: list[Callable[[Process | None, str, str], None]] = []
        self.after_effect: list[Callable[[Sent], None]] = []
        self.webhooks: list[bytes] = []
        self.other_writers: list[Any] = []  # told of every update
        self.echo: dict[str, str] = {}  # api -> a secret that every answer repeats

    def was_sick(self, api: str, kind: str, name: str, since: float) -> bool:
        """Tell whether an API has failed to answer for something since a time, or might have."""
        failed = any(
            item.at >= since and item.api == api and item.kind == kind and (not item.truthful or item.status >= 400)
            for item in self.journal
        )
        now = self.kernel.elapsed
        return failed or any(
            fault.matches(api, kind, name, op, now) for fault in self.faults for op in ("read", "list")
        )

    # --- what there is ------------------------------------------------------------------------------------------------

    def live_things(self, api: str = "", kind: str = "") -> Iterator[Thing]:
        """Go through what is there now."""
        for thing in self.things:
            if thing.deleted is None and api in ("", thing.api) and kind in ("", thing.kind.name):
                yield thing

    def by_name(self, api: str, kind: str, name: str) -> list[Thing]:
        """Return the live things of a name."""
        return [thing for thing in self.live_things(api, kind) if thing.name == name]

    def by_ident(self, api: str, kind: str, ident: str) -> Thing | None:
        """Return a live thing."""
        return next((thing for thing in self.live_things(api, kind) if thing.ident == ident), None)

    # --- strangers ----------------------------------------------------------------------------------------------------

    def stranger_makes(self, api: str, kind: str, document: Document, who: str = "stranger") -> Thing:
        """Let somebody else make a thing."""
        thing = self._made(api, KINDS[kind], document, who)
        thing.own = copy.deepcopy(thing.live)  # nothing of it is ours; what is there first is its own state
        return thing

    def stranger_edits(self, thing: Thing, path: str, value: Any, who: str = "stranger") -> None:
        """Let somebody else write one field; None takes it away."""
        self._remember(thing)
        put(thing.live, path, value)
        thing.touched[path] = (who, self.kernel.elapsed)
        thing.rev += 1
        thing.writer = who

    def stranger_deletes(self, thing: Thing, who: str = "stranger") -> None:
        """Let somebody else delete a thing."""
        thing.deleted, thing.deleted_by = self.kernel.elapsed, who

    def _remember(self, thing: Thing) -> None:
        thing.past.append((self.kernel.elapsed, copy.deepcopy(thing.live)))
        del thing.past[:-20]

    def _made(self, api: str, kind: KindSpec, document: Document, who: str) -> Thing:
        self.serial += 1
        name = str(document.get("name", ""))
        ident = name if kind.by_name else f"{kind.name.lower()}-{self.serial}"
        live = {**kind.defaults, **copy.deepcopy(document)}
        hidden = {key: live.pop(key) for key in kind.hidden if key in live}
        thing = Thing(ident, api, kind, live, copy.deepcopy(live), who, self.kernel.elapsed, hidden, writer=who)
        self.things.append(thing)
        for name_, (after, value) in kind.late.items():
            self.kernel.loop.call_later(after, self._late, thing, name_, value, context=nobody())
        return thing

    def _late(self, thing: Thing, name: str, value: Any) -> None:
        if thing.deleted is None:
            self._remember(thing)
            thing.live.setdefault(name, value)
            thing.own.setdefault(name, value)
            thing.rev += 1

    # --- files --------------------------------------------------------------------------------------------------------

    def file_things(self, folder: Path) -> None:
        """Notice what changed in the folder of live files since the last look; whoever runs now did it."""
        process = CURRENT.get()
        there = {path.name: path for path in sorted(folder.iterdir())} if folder.is_dir() else {}
        known = {item.ident: item for item in self.live_things("files")}
        for name, path in there.items():
            try:
                content = json.loads(path.read_bytes())
            except (ValueError, OSError):
                continue
            live = {"path": name, "content": content}
            thing = known.get(name)
            if thing is None:
                self._file_made(name, live, process)
            elif thing.live != live:
                self._file_changed(thing, live, process)
        for name, thing in known.items():
            if name not in there:
                thing.deleted, thing.deleted_by = self.kernel.elapsed, "us" if process is not None else "stranger"
                if process is not None:
                    sent = Sent(self.kernel.elapsed, process, "DELETE", "files", "Document", name, None, 204, "delete")
                    sent.before, sent.own_before = thing.live, thing.own
                    sent.thing, sent.step = thing, self.step
                    self._journal(sent)

    def _file_made(self, name: str, live: Document, process: Process | None) -> None:
        who = "us" if process is not None else "stranger"
        thing = Thing(name, "files", KINDS["Document"], live, copy.deepcopy(live), who, self.kernel.elapsed)
        self.things.append(thing)
        if process is not None:
            sent = Sent(self.kernel.elapsed, process, "PUT", "files", "Document", name, live, 201, "create")
            sent.after, sent.thing, sent.step = copy.deepcopy(live), thing, self.step
            self._journal(sent)

    def _file_changed(self, thing: Thing, live: Document, process: Process | None) -> None:
        if process is None:  # a stranger, or whoever edits it in this simulation
            thing.live = live
            return
        sent = Sent(self.kernel.elapsed, process, "PUT", "files", "Document", thing.ident, live, 200, "update")
        sent.before, sent.own_before, sent.thing, sent.step = thing.live, copy.deepcopy(thing.own), thing, self.step
        before, after = leaves(thing.live), leaves(live)
        thing.live = live
        for path in before.keys() | after.keys():
            if before.get(path, NOTHING) != after.get(path, NOTHING):
                put(thing.own, path, after.get(path))
        sent.after = copy.deepcopy(live)
        self._journal(sent)

    # --- requests -----------------------------------------------------------------------------------------------------

    async def exchange(self, method: str, url: str, headers: Mapping[str, str], data: Any) -> Answer:
        """Answer a request, in the time of whoever sent it."""
        parts = urlsplit(url)
        if parts.hostname == "hook.sim":
            self.webhooks.append(data if isinstance(data, bytes) else json.dumps(data).encode())
            return 204, {}, b""
        process = CURRENT.get()
        api = (parts.hostname or "").partition(".")[0]
        pieces = [unquote(item) for item in parts.path.split("/")[1:]]
        kind, ident = KINDS[pieces[0]], pieces[1] if len(pieces) > 1 else None
        body = json.loads(data) if data else None
        sent = Sent(self.kernel.elapsed, process, method, api, kind.name, ident, body, 0, "", left=self.kernel.elapsed)
        op = self._operation(sent, kind)
        for hook in self.before_send:
            hook(process, op, self._name(api, kind, ident, body))
        coming: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        if process is None or not process.is_dead:  # once it has left, it arrives, whatever becomes of the process
            self._later(self._arrived, coming, sent, kind, headers)
        answer = await coming
        sent.delivered = self.kernel.elapsed - sent.left < CLAIM
        return answer

    def _later(self, work: Callable[..., None], *arguments: Any) -> None:
        self.kernel.loop.call_later(self.latency / 2, work, *arguments, context=nobody())

    def _operation(self, sent: Sent, kind: KindSpec) -> str:
        op = operation(sent.method, sent.ident, kind)
        if op != "put":
            return op
        return "create" if self.by_ident(sent.api, kind.name, str(sent.ident)) is None else "update"

    def _arrived(self, coming: asyncio.Future[Answer], sent: Sent, kind: KindSpec, headers: Mapping[str, str]) -> None:
        """A request reaches its API."""
        sent.at, sent.step = self.kernel.elapsed, self.step
        op = self._operation(sent, kind)
        fault = self._fault(sent.api, kind.name, self._name(sent.api, kind, sent.ident, sent.body), op)
        how = fault.how if fault is not None else ""
        sent.told = how not in ("lost_answer", "hang")
        answer = self._faulted(fault, sent, kind, op, headers)
        if sent.told:
            self._later(_answer, coming, None if how == "reset" else answer)

    def _name(self, api: str, kind: KindSpec, ident: str | None, body: Any) -> str:
        if ident is not None:
            for thing in reversed(self.things):
                if thing.api == api and thing.kind is kind and thing.ident == ident:
                    return thing.name
            return ident if kind.by_name else ""
        return str(body.get("name", "")) if isinstance(body, dict) else ""

    def _fault(self, api: str, kind: str, name: str, op: str) -> Fault | None:
        for fault in self.faults:
            if fault.matches(api, kind, name, op, self.kernel.elapsed):
                fault.times -= 1
                return fault
        return None

    def _faulted(self, fault: Fault | None, sent: Sent, kind: KindSpec, op: str, headers: Mapping[str, str]) -> Answer:
        how = fault.how if fault is not None else ""
        data: Any = fault.data if fault is not None else None
        if how not in ("", "lost_answer", "ignored", "lag", "not_object", "empty_list"):
            sent.truthful = False
            sent.status = data["status"] if how == "throttle" else 500
            self._journal(sent)
            return sent.status, {"Retry-After": str(data["after"])} if how == "throttle" else {}, b"{}"
        lag = data if how == "lag" else 0.0
        answer = self._answered(sent, kind, op, headers, ignored=how == "ignored", lag=lag)
        sent.lagged = how == "lag"
        lies = {"lost_answer": True, "lag": True, "not_object": sent.status == 200, "empty_list": op == "list"}
        sent.truthful = not lies.get(how, False)
        self._journal(sent)
        if how == "not_object" and sent.status == 200:
            return 200, answer[1], _not_the_object(data, answer[2])
        return (200, {}, b'{"items": []}') if how == "empty_list" and op == "list" else answer

    def _journal(self, sent: Sent) -> None:
        sent.left = sent.left or sent.at
        self.journal.append(sent)
        if sent.is_write and sent.process is not None:
            sent.process.sent += 1
        for hook in self.after_effect:
            hook(sent)
        if sent.effect == "update":
            for other_writer in self.other_writers:
                other_writer.noticed(sent)

    def _answered(
        self, sent: Sent, kind: KindSpec, op: str, headers: Mapping[str, str], *, ignored: bool, lag: float
    ) -> Answer:
        if op == "list":
            sent.status = 200
            items = [self._shown(item, lag) for item in self.live_things(sent.api, kind.name)]
            return 200, {}, json.dumps({"items": items}).encode()
        thing = self.by_ident(sent.api, kind.name, sent.ident) if sent.ident is not None else None
        sent.thing = thing
        if op == "read":
            return self._read(sent, thing, headers, lag)
        if op == "create":
            return self._create(sent, kind, headers)
        refused = self._refused(kind, thing, headers)
        if thing is None or refused:
            sent.status = refused
            return refused, {}, b"{}"
        sent.before, sent.own_before = copy.deepcopy(thing.live), copy.deepcopy(thing.own)
        if op == "delete":
            thing.deleted, thing.deleted_by = self.kernel.elapsed, "us"
            sent.status, sent.effect = 204, "delete"
            return 204, {}, b""
        sent.status, sent.effect = 200, "update"
        if not ignored:
            self._update(thing, sent, patched=sent.method == "PATCH")
        else:
            sent.effect = "ignored"
        sent.after = copy.deepcopy(thing.live)
        return 200, {"ETag": f'"{thing.rev}"'}, json.dumps(self._shown(thing, 0.0)).encode()

    def _read(self, sent: Sent, thing: Thing | None, headers: Mapping[str, str], lag: float) -> Answer:
        tag = f'"{thing.rev}"' if thing is not None else ""
        if thing is None:
            sent.status = 404
            return 404, {}, b"{}"
        sent.status = 304 if headers.get("If-None-Match") == tag and not lag else 200
        body = b"" if sent.status == 304 else json.dumps(self._shown(thing, lag)).encode()
        return sent.status, {"ETag": tag}, body

    def _refused(self, kind: KindSpec, thing: Thing | None, headers: Mapping[str, str]) -> int:
        """Return the status of a refusal, 0 if the write is to be done."""
        if thing is None:
            return 404
        tag = f'"{thing.rev}"'
        taken = kind.by_name and headers.get("If-None-Match") == "*"
        return 412 if kind.etag and (taken or headers.get("If-Match") not in (None, tag)) else 0

    def _create(self, sent: Sent, kind: KindSpec, headers: Mapping[str, str]) -> Answer:
        key = headers.get("Idempotency-Key")
        if kind.key and key in self.keys:
            sent.thing, sent.status = self.keys[key], 201
            return 201, {}, json.dumps(self._shown(sent.thing, 0.0)).encode()
        thing = self._made(sent.api, kind, dict(sent.body or {}), "us")
        if kind.key and key is not None:
            self.keys[key] = thing
        sent.thing, sent.status, sent.effect, sent.ident = thing, 201, "create", thing.ident
        sent.after = copy.deepcopy(thing.live)
        return 201, {"ETag": f'"{thing.rev}"'}, json.dumps(self._shown(thing, 0.0)).encode()

    def _update(self, thing: Thing, sent: Sent, *, patched: bool) -> None:
        self._remember(thing)
        body = {key: value for key, value in dict(sent.body).items() if key not in ("id", "rev", "updated_by")}
        for key in thing.kind.hidden:
            if key in body:
                thing.hidden[key] = body.pop(key)
        if patched:
            after = merged(thing.live, body)
        else:
            after = dict(thing.kind.defaults) | copy.deepcopy(body)
            after |= {key: thing.live[key] for key in thing.kind.late if key in thing.live and key not in after}
        before, own = leaves(thing.live), leaves(thing.own)
        thing.live = after
        if sent.process is not None and sent.process.arguments[0] == "undo":  # reverts what a stranger had left
            thing.rev += 1
            thing.writer = "us"
            return
        # What we carried along unchanged is still whoever's it was; what we changed is ours.
        for path, value in leaves(after).items():
            if before.get(path, NOTHING) != value:
                put(thing.own, path, value)
        for path in before.keys() - leaves(after).keys():
            if path in own:
                put(thing.own, path, None)
        for path in [item for item in thing.touched if item not in thing.moved()]:
            del thing.touched[path]
        thing.rev += 1
        thing.writer = "us"

    def _shown(self, thing: Thing, lag: float) -> Document:
        live = thing.live
        if lag:
            then = self.kernel.elapsed - lag
            live = next((old for until, old in thing.past if until > then), live)
        out = {"id": thing.ident, "rev": thing.rev, **live}
        if thing.kind.attribution:
            out["updated_by"] = thing.writer if thing.writer != "us" else "holdfast"
        if thing.api in self.echo:
            out["seen_by"] = f"Bearer {self.echo[thing.api]}"
        return out


def _answer(coming: asyncio.Future[Answer], answer: Answer | None) -> None:
    if coming.done():
        return
    if answer is None:
        coming.set_exception(ConnectionResetError())
    else:
        coming.set_result(answer)


def nobody() -> contextvars.Context:
    context = contextvars.copy_context()
    context.run(CURRENT.set, None)
    return context


def operation(method: str, ident: str | None, kind: KindSpec) -> str:
    if method == "GET":
        return "read" if ident is not None else "list"
    if method == "DELETE":
        return "delete"
    if method == "POST":
        return "create"
    return "update" if method == "PATCH" or not kind.by_name else "put"


def _not_the_object(variant: str, body: bytes) -> bytes:
    if variant == "empty":
        return b"{}"
    if variant == "error":
        return b'{"error": {"code": "Oops", "message": "come back later"}}'
    if variant == "list":
        return b'{"items": [], "next": null}'
    if variant == "other":
        document = json.loads(body)
        return json.dumps({**document, "id": "somebody-else", "name": "somebody-else", "color": "odd"}).encode()
    if variant == "deep":
        document = json.loads(body)
        text = json.dumps(document)
        return (text[:-1] + ', "x": ' + "[" * 5000 + "]" * 5000 + "}").encode()
    return b"[]"
