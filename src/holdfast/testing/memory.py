"""A provider whose world is a dictionary: counted, breakable, and quick. For tests of the engine, ours and yours."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from holdfast.compare import canonical, jsontext, patching, paths
from holdfast.compare.profiles import Profile
from holdfast.model.json import Json
from holdfast.model.reading import Found, Gone, Reading, Trouble, Unreadable
from holdfast.model.writing import Done, Refusal, Refused, UnderWay, Writing
from holdfast.providers.base import (
    Change,
    Connection,
    Hint,
    Kind,
    Listed,
    Reader,
    ReadFailed,
    Target,
    Unchanged,
    Writer,
)


@dataclass(slots=True)
class MemoryWorld:
    """The live world: things by kind and id, what was asked of it, and what is to go wrong next."""

    things: dict[tuple[str, str], dict[str, Json]] = field(default_factory=dict)
    defaults: dict[str, Json] = field(default_factory=dict)  # what the service fills in when it creates
    calls: list[str] = field(default_factory=list)
    writes: list[tuple[str, str, str]] = field(default_factory=list)  # verb, kind, id
    faults: list[Callable[[str], Unreadable | Refused | None]] = field(default_factory=list)
    operations: dict[str, int] = field(default_factory=dict)  # long-running: polls left
    polls: int = 0  # how many polls a write takes; 0: at once
    seen_keys: dict[str, str] = field(default_factory=dict)
    ids: int = 0
    before_write: Callable[[str], None] = lambda _verb: None
    after_write: Callable[[str], None] = lambda _verb: None

    def fault(self, call: str) -> Unreadable | Refused | None:
        """Note a call, and return what is to go wrong with it."""
        self.calls.append(call)
        for injected in list(self.faults):
            trouble = injected(call)
            if trouble is not None:
                return trouble
        return None

    def find(self, kind: str, name: str) -> str | None:
        """Return the id of the thing of that name."""
        return next((i for (k, i), body in self.things.items() if k == kind and body.get("name") == name), None)


def once(pattern: str, trouble: Unreadable | Refused) -> Callable[[str], Unreadable | Refused | None]:
    """Return a fault that strikes the first call that matches, and never again."""
    spent: list[bool] = []

    def strike(call: str) -> Unreadable | Refused | None:
        if spent or not fnmatchcase(call, pattern):
            return None
        spent.append(True)
        return trouble

    return strike


class MemoryProvider:
    """A provider over a MemoryWorld; every kind it is asked about exists."""

    name = "memory"

    def __init__(
        self,
        world: MemoryWorld,
        kinds: Sequence[str] = ("Thing",),
        profiles: tuple[Profile, ...] = (),
        *,
        patches: bool = False,
        lists: bool = True,
    ) -> None:
        self._world = world
        self.kinds: Mapping[str, Kind] = {
            kind: Kind(kind, patches=patches, lists=lists, conditional=False, profiles=profiles) for kind in kinds
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
    def __init__(self, world: MemoryWorld, kinds: Mapping[str, Kind]) -> None:
        self._world = world
        self.kinds = kinds

    async def read(self, target: Target, hint: Hint | None = None) -> Reading | Unchanged:
        trouble = self._world.fault(f"read {target.kind}/{target.name}")
        if isinstance(trouble, Unreadable):
            return trouble
        ident = target.id or self._world.find(target.kind, target.name)
        body = self._world.things.get((target.kind, ident or ""))
        if body is None:
            return Gone()
        raw = canonical.canonical_bytes(_shown(body), lists="ordered")
        digest = hashlib.sha256(raw).hexdigest()
        if hint is not None and hint.raw_digest == digest:
            return Unchanged(None, digest)
        return Found(jsontext.loads(raw), None, digest, ident)

    async def list(self, kind: str) -> AsyncIterator[Listed]:
        trouble = self._world.fault(f"list {kind}")
        if isinstance(trouble, Unreadable):
            raise ReadFailed(trouble)
        for (found, ident), body in list(self._world.things.items()):
            if found == kind:
                raw = canonical.canonical_bytes(_shown(body), lists="ordered")
                yield Listed(ident, raw, hashlib.sha256(raw).hexdigest())

    def parse(self, kind: str, raw: bytes) -> Json:  # noqa: ARG002 - one shape for all
        return jsontext.loads(raw)

    async def find(self, kind: str, criteria: Mapping[str, Json]) -> Sequence[str]:
        trouble = self._world.fault(f"find {kind}")
        if isinstance(trouble, Unreadable):
            raise ReadFailed(trouble)
        return [
            ident
            for (found, ident), body in self._world.things.items()
            if found == kind and all(body.get(key) == value for key, value in criteria.items())
        ]


class _MemoryWriter:
    def __init__(self, world: MemoryWorld, kinds: Mapping[str, Kind]) -> None:
        self._world = world
        self._kinds = kinds

    async def create(self, target: Target, key: str) -> Writing:
        world = self._world
        trouble = world.fault(f"create {target.kind}/{target.name}")
        if isinstance(trouble, Refused):
            return trouble
        if key in world.seen_keys:
            return self._answer(world.seen_keys[key], key)
        world.before_write("create")
        world.ids += 1
        ident = f"id-{world.ids}"
        body = {**copy.deepcopy(world.defaults), **copy.deepcopy(dict(target.desired)), "name": target.name}
        world.things[target.kind, ident] = body
        world.writes.append(("create", target.kind, ident))
        world.seen_keys[key] = ident
        world.after_write("create")
        return self._answer(ident, key)

    async def update(self, target: Target, change: Change, key: str) -> Writing:
        world = self._world
        trouble = world.fault(f"update {target.kind}/{target.name}")
        if isinstance(trouble, Refused):
            return trouble
        ident = target.id or world.find(target.kind, target.name)
        body = world.things.get((target.kind, ident or ""))
        if body is None or ident is None:
            return Refused(Refusal.MOVED, "there is nothing to update")
        world.before_write("update")
        if self._kinds[target.kind].patches:
            for text in change.paths:
                path = paths.parse_path(text)
                patching.put(body, path, paths.resolve(change.desired, path))
        else:
            kept = {name: value for name, value in body.items() if name == "name"}
            world.things[target.kind, ident] = {
                **copy.deepcopy(world.defaults),
                **copy.deepcopy(dict(change.desired)),
                **kept,
            }
        world.writes.append(("update", target.kind, ident))
        world.after_write("update")
        return self._answer(ident, key)

    async def delete(self, target: Target, key: str) -> Writing:
        world = self._world
        trouble = world.fault(f"delete {target.kind}/{target.name}")
        if isinstance(trouble, Refused):
            return trouble
        ident = target.id or world.find(target.kind, target.name) or ""
        world.before_write("delete")
        if world.things.pop((target.kind, ident), None) is not None:
            world.writes.append(("delete", target.kind, ident))
        world.after_write("delete")
        return self._answer(ident, key)

    async def poll(self, target: Target, token: Mapping[str, Json]) -> Writing:
        world = self._world
        trouble = world.fault(f"poll {target.kind}/{target.name}")
        if isinstance(trouble, Refused):
            return trouble
        key = str(token["key"])
        world.operations[key] = world.operations.get(key, 1) - 1
        if world.operations[key] > 0:
            return UnderWay(str(token["id"]), token)
        return Done(str(token["id"]))

    def _answer(self, ident: str, key: str) -> Writing:
        if self._world.polls:
            self._world.operations[key] = self._world.polls
            return UnderWay(ident, {"id": ident, "key": key})
        return Done(ident)


def _shown(body: Mapping[str, Json]) -> dict[str, Json]:
    """Return what a reading shows: the name is identity, everything else is configuration."""
    return {key: value for key, value in body.items() if key != "name"}


UNREACHABLE = Unreadable(Trouble.UNREACHABLE, "the world is down")
