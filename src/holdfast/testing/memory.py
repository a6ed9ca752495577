"""A provider whose service is a dictionary, with counted calls and faults, for tests of the engine and of providers."""

from __future__ import annotations

import asyncio
import copy
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

from holdfast.compare import canonical, go_json
from holdfast.compare.profile import Profile
from holdfast.model.attribution import LikelyActor
from holdfast.model.confidence import Confidence
from holdfast.model.health import HealthSignal, Workload
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadError, ReadFailure, ReadResult
from holdfast.model.write_result import Done, InProgress, WriteError, WriteFailure, WriteResult
from holdfast.providers import minimal_patch
from holdfast.providers.protocol import (
    Change,
    ChangeSignal,
    Connection,
    Hint,
    Interrupted,
    Kind,
    Listed,
    PositionReached,
    Reader,
    ReadFailed,
    Target,
    Unchanged,
    WatchEvent,
    Writer,
)

OURSELVES: Final = "holdfast"  # the name of the writer in `actors`


@dataclass(slots=True)
class MemoryService:
    """The service: resources by kind and id, the calls that it got, and the faults to come."""

    things: dict[tuple[str, str], dict[str, Json]] = field(default_factory=dict)
    defaults: dict[str, Json] = field(default_factory=dict)  # fields that a create adds
    calls: list[str] = field(default_factory=list)
    writes: list[tuple[str, str, str]] = field(default_factory=list)  # verb, kind, id
    faults: list[Callable[[str], ReadFailure | WriteFailure | None]] = field(default_factory=list)
    operations: dict[str, int] = field(default_factory=dict)  # long-running: polls left
    polls: int = 0  # how many polls a write takes; 0: at once
    seen_keys: dict[str, str] = field(default_factory=dict)
    ids: int = 0
    actors: dict[tuple[str, str], str] = field(default_factory=dict)  # last writers; a test enters others
    habits: dict[str, str] = field(default_factory=dict)  # paths that the platform itself changes -> the reason
    health_signals: dict[str, bool | None] = field(default_factory=dict)  # of every resource
    workload: Workload | None = None  # of every resource
    signals: list[tuple[str, ChangeSignal]] = field(default_factory=list)  # with their kinds; a position is an index
    kept_from: int = 0  # the first position that a watch can continue from
    interruptions: list[Interrupted] = field(default_factory=list)  # for running watches, one each
    _signalled: asyncio.Event = field(default_factory=asyncio.Event)
    before_write: Callable[[str], None] = lambda _verb: None
    after_write: Callable[[str], None] = lambda _verb: None

    def fault(self, call: str) -> ReadFailure | WriteFailure | None:
        """Record a call and return the fault that hits it."""
        self.calls.append(call)
        for injected in list(self.faults):
            trouble = injected(call)
            if trouble is not None:
                return trouble
        return None

    def signal(self, kind: str, *signals: ChangeSignal) -> None:
        """Send signals to all watches of a kind; a test sends those of its own edits, or others."""
        self.signals += [(kind, signal) for signal in signals]
        self.wake()

    def wake(self) -> None:
        """Let the watches see new signals and interruptions."""
        self._signalled.set()
        self._signalled = asyncio.Event()

    def change_signal(self, kind: str, ident: str) -> ChangeSignal:
        """Return the signal of the live state of a resource."""
        body = self.things.get((kind, ident))
        return ChangeSignal(ident, _sealed(body)[1] if body is not None else None)

    async def signalled(self) -> None:
        """Wait for new signals."""
        await self._signalled.wait()

    def find(self, kind: str, name: str) -> str | None:
        """Return the id of the resource with that name."""
        return next((i for (k, i), body in self.things.items() if k == kind and body.get("name") == name), None)


def once(pattern: str, trouble: ReadFailure | WriteFailure) -> Callable[[str], ReadFailure | WriteFailure | None]:
    """Return a fault that hits the first matching call only."""
    spent: list[bool] = []

    def strike(call: str) -> ReadFailure | WriteFailure | None:
        if spent or not fnmatchcase(call, pattern):
            return None
        spent.append(True)
        return trouble

    return strike


class MemoryProvider:
    """A provider over a MemoryService."""

    name = "memory"

    def __init__(  # noqa: PLR0913 - how the kinds of an API may differ
        self,
        world: MemoryService,
        kinds: Sequence[str] = ("Thing",),
        profiles: tuple[Profile, ...] = (),
        *,
        patches: bool = False,
        lists: bool = True,
        conditional: bool = False,
        keyed: bool = True,
        finds: bool = True,
        watches: bool = False,
    ) -> None:
        self._world = world
        self.kinds: Mapping[str, Kind] = {
            kind: Kind(
                kind,
                patches=patches,
                lists=lists,
                conditional=conditional,
                profiles=profiles,
                repeats_create=keyed,
                finds=finds,
                watches=watches,
            )
            for kind in kinds
        }

    @asynccontextmanager
    async def reader(self, connection: Connection) -> AsyncIterator[Reader]:  # noqa: ARG002 - one world for all
        """Open the reading half."""
        yield _MemoryReader(self._world, self.kinds)

    @asynccontextmanager
    async def writer(self, connection: Connection) -> AsyncIterator[Writer]:  # noqa: ARG002
        """Open the writing half."""
        yield _MemoryWriter(self._world, self.kinds)


class _MemoryReader:
    def __init__(self, world: MemoryService, kinds: Mapping[str, Kind]) -> None:
        self._world = world
        self.kinds = kinds

    async def read(self, target: Target, hint: Hint | None = None) -> ReadResult | Unchanged:
        trouble = self._world.fault(f"read {target.kind}/{target.name}")
        if isinstance(trouble, ReadFailure):
            return trouble
        finds = self.kinds[target.kind].finds
        ident = target.id or (self._world.find(target.kind, target.name) if finds else None)
        body = self._world.things.get((target.kind, ident or ""))
        if body is None:
            return NotFound()
        raw, digest = _sealed(body)
        etag = digest if self.kinds[target.kind].conditional else None
        if hint is not None and hint.raw_digest == digest:
            return Unchanged(etag, digest)
        return Found(go_json.loads(raw), etag, digest, ident)

    async def list(self, kind: str) -> AsyncIterator[Listed]:
        trouble = self._world.fault(f"list {kind}")
        if isinstance(trouble, ReadFailure):
            raise ReadFailed(trouble)
        for (item, ident), body in list(self._world.things.items()):
            if item == kind:
                yield Listed(ident, *_sealed(body))

    async def watch(self, kind: str, position: str | None) -> AsyncIterator[WatchEvent]:
        world = self._world
        trouble = world.fault(f"watch {kind}")
        if isinstance(trouble, ReadFailure):
            yield Interrupted(trouble)
            return
        at = len(world.signals) if position is None else int(position)
        if not world.kept_from <= at <= len(world.signals):
            yield Interrupted(ReadFailure(ReadError.OTHER, "the position is too old"), is_position_lost=True)
            return
        yield PositionReached(str(at))
        while True:
            waiting = asyncio.ensure_future(world.signalled())
            try:
                while at < len(world.signals):
                    signalled, signal = world.signals[at]
                    at += 1
                    if signalled == kind:
                        yield signal
                    yield PositionReached(str(at))
                if world.interruptions:
                    yield world.interruptions.pop(0)
                    return
                await waiting
            finally:
                waiting.cancel()

    async def health_signals(self, target: Target, since: float) -> Sequence[HealthSignal] | Workload:  # noqa: ARG002 - no past here
        self._world.fault(f"health signals {target.kind}/{target.name}")
        return self._world.workload or [HealthSignal(*signal) for signal in self._world.health_signals.items()]

    def parse(self, kind: str, raw: bytes) -> Json:  # noqa: ARG002 - one shape for all
        return go_json.loads(raw)

    async def find(self, kind: str, criteria: Mapping[str, Json]) -> Sequence[str]:
        trouble = self._world.fault(f"find {kind}")
        if isinstance(trouble, ReadFailure):
            raise ReadFailed(trouble)
        return [
            ident
            for (thing, ident), body in self._world.things.items()
            if thing == kind and all(body.get(key) == value for key, value in criteria.items())
        ]

    async def likely_actors(self, target: Target) -> Sequence[LikelyActor]:
        if isinstance(self._world.fault(f"likely actors {target.kind}/{target.name}"), ReadFailure):
            return ()
        ident = target.id or self._world.find(target.kind, target.name) or ""
        who = self._world.actors.get((target.kind, ident))
        return () if who is None else (LikelyActor(who, Confidence.HIGH, "last writer of the resource"),)

    def platform_changes(self, kind: str, desired: Mapping[str, Json], observed: Json, now: float) -> Mapping[str, str]:  # noqa: ARG002
        return self._world.habits

    def signature(self, kind: str, document: Json) -> str | None:  # noqa: ARG002 - one name for all
        return OURSELVES


class _MemoryWriter:
    def __init__(self, world: MemoryService, kinds: Mapping[str, Kind]) -> None:
        self._world = world
        self._kinds = kinds

    async def create(self, target: Target, key: str) -> WriteResult:
        world = self._world
        trouble = world.fault(f"create {target.kind}/{target.name}")
        if isinstance(trouble, WriteFailure):
            return trouble
        if key in world.seen_keys and self._kinds[target.kind].repeats_create:
            return self._answer(world.seen_keys[key], key)
        world.before_write("create")
        if self._kinds[target.kind].conditional and world.find(target.kind, target.name) is not None:
            return WriteFailure(WriteError.MOVED, "a resource with that name exists")
        world.ids += 1
        ident = f"id-{world.ids}"
        body = {**copy.deepcopy(world.defaults), **copy.deepcopy(dict(target.desired)), "name": target.name}
        world.things[target.kind, ident] = body
        self._signed("create", target.kind, ident)
        world.seen_keys[key] = ident
        world.after_write("create")
        return self._answer(ident, key)

    async def update(self, target: Target, change: Change, key: str) -> WriteResult:
        world = self._world
        trouble = world.fault(f"update {target.kind}/{target.name}")
        if isinstance(trouble, WriteFailure):
            return trouble
        ident = target.id or world.find(target.kind, target.name)
        body = world.things.get((target.kind, ident or ""))
        if body is None or ident is None:
            return WriteFailure(WriteError.MOVED, "the resource does not exist")
        world.before_write("update")
        if self._has_moved(target.kind, body, change.etag):
            return WriteFailure(WriteError.MOVED, "the resource changed since the update was decided")
        # Only the paths of the change may be written; a service that takes whole documents adds its defaults again.
        after = minimal_patch.wanted(dict(change.desired), _shown(body), change.paths)
        filled_in = {} if self._kinds[target.kind].patches else copy.deepcopy(world.defaults)
        world.things[target.kind, ident] = {**filled_in, **copy.deepcopy(after), "name": body["name"]}
        self._signed("update", target.kind, ident)
        world.after_write("update")
        return self._answer(ident, key)

    async def delete(self, target: Target, key: str, etag: str | None = None) -> WriteResult:
        world = self._world
        trouble = world.fault(f"delete {target.kind}/{target.name}")
        if isinstance(trouble, WriteFailure):
            return trouble
        ident = target.id or world.find(target.kind, target.name) or ""
        world.before_write("delete")
        body = world.things.get((target.kind, ident))
        if body is not None and self._has_moved(target.kind, body, etag):
            return WriteFailure(WriteError.MOVED, "the resource changed since its deletion was decided")
        if body is not None:
            del world.things[target.kind, ident]
            self._signed("delete", target.kind, ident)
        world.after_write("delete")
        return self._answer(ident, key)

    async def poll(self, target: Target, token: Mapping[str, Json]) -> WriteResult:
        world = self._world
        trouble = world.fault(f"poll {target.kind}/{target.name}")
        if isinstance(trouble, WriteFailure):
            return trouble
        key = str(token["key"])
        world.operations[key] = world.operations.get(key, 1) - 1
        if world.operations[key] > 0:
            return InProgress(str(token["id"]), token)
        return Done(str(token["id"]))

    def _has_moved(self, kind: str, body: Mapping[str, Json], etag: str | None) -> bool:
        return self._kinds[kind].conditional and etag not in (None, _sealed(body)[1])

    def _signed(self, verb: str, kind: str, ident: str) -> None:
        self._world.writes.append((verb, kind, ident))
        self._world.actors[kind, ident] = OURSELVES
        self._world.signal(kind, self._world.change_signal(kind, ident))

    def _answer(self, ident: str, key: str) -> WriteResult:
        if self._world.polls:
            self._world.operations[key] = self._world.polls
            return InProgress(ident, {"id": ident, "key": key})
        return Done(ident)


def _shown(body: Mapping[str, Json]) -> dict[str, Json]:
    """Return the document of a read: the name is identity, all other fields are configuration."""
    return {key: value for key, value in body.items() if key != "name"}


def _sealed(body: Mapping[str, Json]) -> tuple[bytes, str]:
    """Return the bytes of a read, and their digest, which is also the etag of conditional kinds."""
    raw = canonical.canonical_bytes(_shown(body), lists="ordered")
    return raw, hashlib.sha256(raw).hexdigest()


UNREACHABLE = ReadFailure(ReadError.UNREACHABLE, "the service is down")
