"""The state of the emulator: resources, running operations, and scheduled actions. Refuses to know requests.

Every change of a resource ends in `State.touch`, so that etags, parents and caches cannot be forgotten.
"""

from __future__ import annotations

import copy
import datetime as dt
import heapq
import itertools
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from holdfast.model.json import Json
from holdfast_emulators.azure.defaults import Filling, guid
from holdfast_emulators.azure.faults import Failure
from holdfast_emulators.azure.ids import ArmId
from holdfast_emulators.azure.policies import Policy
from holdfast_emulators.azure.type_behaviour import Habits, Operation


@dataclass(frozen=True, slots=True)
class Stamp:
    """The actor and the time of a change."""

    by: str
    kind: str
    at: float


@dataclass(slots=True)
class Stale:
    """The resource that reads still show after a write. None: they show none."""

    resource: Resource | None
    until: float
    reads: int


@dataclass(slots=True)
class Resource:
    """One resource; `body` holds everything but what ARM itself writes around it, secrets among it."""

    id: ArmId
    body: dict[str, Json]
    created: Stamp
    modified: Stamp
    revision: int = 0
    etag: str = ""
    state: str = ""  # provisioningState, if it is not the type's word for done
    running: str | None = None  # the operation under way
    hidden: bool = False
    reads: int = 0
    stale: Stale | None = None
    cache: dict[str, bytes] = field(default_factory=dict)

    def snapshot(self) -> Resource:
        """Return a copy that stays as it is."""
        body = copy.deepcopy(self.body)
        return Resource(self.id, body, self.created, self.modified, self.revision, self.etag, self.state)


@dataclass(slots=True)
class Running:
    """An operation, under way or over."""

    id: str
    kind: str  # create, update, patch, delete
    resource: ArmId
    how: Operation
    started_at: float
    ends_at: float
    finish: Callable[[Running], None]
    location: str = "westus"
    failure: Failure | None = None
    polls: int = 0
    ended_at: float | None = None


@dataclass(slots=True)
class Deleted:
    """A deleted resource that keeps its name."""

    resource: Resource
    at: float
    until: float


@dataclass(slots=True)
class State:
    """All of it."""

    clock: Callable[[], float]
    chance: random.Random
    tenant: str
    pace: float = 1.0
    habits: dict[str, Habits] = field(default_factory=dict)  # by the type in lower case
    subscriptions: set[str] = field(default_factory=set)
    unregistered: set[str] = field(default_factory=set)  # namespaces that the subscriptions cannot use yet
    policies: list[Policy] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    resources: dict[str, Resource] = field(default_factory=dict)
    operations: dict[str, Running] = field(default_factory=dict)
    deleted: dict[tuple[str, str], Deleted] = field(default_factory=dict)  # by type and name
    ghosts: dict[str, Stale] = field(default_factory=dict)  # deleted things that reads still see
    ahead_seconds: float = 0.0
    lock: threading.RLock = field(default_factory=threading.RLock)  # held for every read and change
    _collections: dict[str, dict[str, Resource]] = field(default_factory=dict)
    _agenda: list[tuple[float, int, Callable[[], object]]] = field(default_factory=list)
    _count: Iterator[int] = field(default_factory=itertools.count)
    _moment: float | None = None

    # -- time

    def now(self) -> float:
        """Return the present; while something of the past is caught up with, that time."""
        return self.clock() + self.ahead_seconds if self._moment is None else self._moment

    def schedule(self, at: float, do: Callable[[], object]) -> None:
        """Have something happen at a time."""
        heapq.heappush(self._agenda, (at, next(self._count), do))

    def catch_up(self) -> None:
        """Let everything happen whose time has come, in order, each at its time."""
        if self._moment is not None:
            return
        present = self.now()
        try:
            while self._agenda and self._agenda[0][0] <= present:
                at, _, do = heapq.heappop(self._agenda)
                self._moment = at
                do()
        finally:
            self._moment = None

    def stamp(self, by: str, kind: str) -> Stamp:
        """Return a stamp of now."""
        return Stamp(by, kind, self.now())

    # -- finding

    def habits_of(self, type_: str) -> Habits:
        """Return the habits of a type. A type without a description is plain."""
        return self.habits.get(type_.casefold()) or Habits(type_)

    def find(self, id_: ArmId) -> Resource | None:
        """Return a resource as it is, whatever reads see of it."""
        return self.resources.get(id_.key)

    def in_collection(self, collection: ArmId) -> list[Resource]:
        """List the resources directly in a collection, oldest first."""
        return list(self._collections.get(collection.key, {}).values())

    def below(self, id_: ArmId) -> list[Resource]:
        """List everything below a resource, group or subscription."""
        return [resource for resource in self.resources.values() if resource.id.is_within(id_)]

    # -- changing

    def add(self, resource: Resource) -> None:
        """Put a resource there."""
        self.resources[resource.id.key] = resource
        self._collections.setdefault(resource.id.collection().key, {})[resource.id.key] = resource

    def remove(self, id_: ArmId) -> None:
        """Take a resource away, and everything below it."""
        for item in (*self.below(id_), *filter(None, [self.find(id_)])):
            self.resources.pop(item.id.key, None)
            self._collections.get(item.id.collection().key, {}).pop(item.id.key, None)
        self._touch_parent(id_)

    def touch(self, resource: Resource, who: Stamp | None, *, changed: bool = True) -> None:
        """Record a write of a resource. Without `who` the writer is not recorded."""
        resource.revision += 1
        resource.modified = who or resource.modified
        if changed or self.habits_of(resource.id.type).etag.moves == "write":
            resource.etag = guid(self.chance)
        resource.cache.clear()
        self._touch_parent(resource.id)

    def _touch_parent(self, id_: ArmId) -> None:
        """Give a parent that shows its children another etag."""
        parent = self.find(id_.parent) if id_.is_child and id_.parent is not None else None
        if parent is None:
            return
        habits = self.habits_of(parent.id.type)
        if any(item.child.casefold() == id_.types[-1].casefold() for item in habits.embedded):
            parent.etag = guid(self.chance)
            parent.cache.clear()

    def _location(self, id_: ArmId | None) -> str:
        found = self.find(id_) if id_ is not None else None
        location = found.body.get("location", "westus") if found is not None else "westus"
        return str(location).replace(" ", "").lower()

    def filling(self, resource: Resource, before: dict[str, Json] | None) -> Filling:
        """Prepare to fill something in."""
        id_ = resource.id
        return Filling(
            self.chance,
            {
                "name": id_.name,
                "lower_name": id_.name.lower(),
                "id": id_.text,
                "type": id_.type,
                "group": id_.group or "",
                "subscription": id_.subscription or "",
                "parent": id_.parent.name if id_.parent is not None and id_.parent.names else "",
                "parent_location": self._location(id_.parent),
                "scope": id_.scope,
                "location": str(resource.body.get("location", "westus")),
                "now": timestamp(self.now()),
                "revision": resource.revision,
                "reads": resource.reads,
                "tenant": self.tenant,
                "writer": resource.modified.by,
            },
            before,
        )


def timestamp(at: float) -> str:
    """Write a time as ARM does, with seven digits of a second."""
    moment = dt.datetime.fromtimestamp(at, dt.UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}0Z"
