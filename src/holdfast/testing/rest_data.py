"""The things behind the test API: collections of JSON documents, with the habits that real services have.

What a service fills in, rewrites, reorders, hides and is slow to show is set for each collection, so that a test can
say which habit it is about.
"""

from __future__ import annotations

import copy
import datetime as dt
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson

from holdfast.compare import apply_patch, paths
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json

MASK = "********"
ANONYMOUS: Final = "anonymous"  # the author of a write without a name
_START: Final = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)  # all things are made then, and each write takes a second


@dataclass(slots=True)
class Shape:
    """The habits of one collection; fields are top-level ones."""

    defaults: Mapping[str, Json] = field(default_factory=dict)  # filled in where a new thing lacks them
    stamps: tuple[str, ...] = ()  # kept by the service: id, createdAt, revision, state, updated_by, updated_at
    sorted_lists: tuple[str, ...] = ()  # lists that come back in another order
    lowered: tuple[str, ...] = ()  # strings that come back in lower case
    masked: tuple[str, ...] = ()  # accepted, never shown again
    deaf_to: tuple[str, ...] = ()  # kept as they were made, though a change of them is answered well
    required: tuple[str, ...] = ()  # 422 without them, with a message that repeats all that was sent
    counted_ids: bool = False  # ids are counted by the service; else they are the name
    envelope: str | None = None  # the field that documents are wrapped in
    lag_reads: int = 0  # so many reads after a write still show what was before
    operation_polls: int = 0  # writes are accepted, and done after so many polls; 0: at once
    page_size: int = 100
    bare_list: bool = False  # lists are arrays, the next page in the Link header only


@dataclass(slots=True)
class _Thing:
    document: dict[str, Json]
    revision: int = 1
    raw: bytes = b""
    etag: str = ""


@dataclass(slots=True)
class _Stale:
    """The stale state that reads still return after a write; None: no resource."""

    thing: _Thing | None
    reads: int


class Collection:
    """Things by id."""

    def __init__(self, name: str, shape: Shape | None = None) -> None:
        self.name = name
        self.shape = shape or Shape()
        self._things: dict[str, _Thing] = {}
        self._stale: dict[str, _Stale] = {}
        self._counted = 0

    def __contains__(self, ident: object) -> bool:
        return ident in self._things

    def __len__(self) -> int:
        return len(self._things)

    def __getitem__(self, ident: str) -> dict[str, Json]:
        """Return a copy of a thing, with what the service hides."""
        return copy.deepcopy(self._things[ident].document)

    def ids(self) -> list[str]:
        """List the ids, in the order the things were made."""
        return list(self._things)

    # -- what the API does

    def new_id(self, document: Mapping[str, Json]) -> str | None:
        """Return the id a new thing gets; None if it has no name to be called by."""
        if not self.shape.counted_ids:
            return str(document["name"]) if "name" in document else None
        self._counted += 1
        return f"{self.name.rpartition('/')[2]}-{self._counted}"

    def write(self, ident: str, document: Mapping[str, Json], actor: str = ANONYMOUS) -> None:
        """Make or replace a thing as the service would."""
        before = self._things.get(ident)
        kept = {key: before.document[key] for key in self.shape.masked if before and key in before.document}
        whole = {**copy.deepcopy(dict(self.shape.defaults)), **kept, **copy.deepcopy(dict(document))}
        whole |= {key: before.document[key] for key in self.shape.deaf_to if before and key in before.document}
        revision = before.revision + 1 if before is not None else 1
        self._remember(ident)
        self._things[ident] = self._made(ident, self._normalised(whole), revision, actor)

    def merge(self, ident: str, patch: Mapping[str, Json], actor: str = ANONYMOUS) -> None:
        """Change a thing by an RFC 7396 patch."""
        self.write(ident, merged(self._things[ident].document, patch), actor)

    def patch(self, ident: str, operations: list[Mapping[str, Json]], actor: str = ANONYMOUS) -> None:
        """Change a thing by an RFC 6902 patch."""
        document: Json = self[ident]
        for operation in operations:
            steps = str(operation["path"]).split("/")[1:]
            path = tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)
            holder = paths.resolve(document, path[:-1])
            if operation["op"] == "add" and isinstance(holder, list):
                holder.insert(int(path[-1]), operation["value"])
            else:
                value = ABSENT if operation["op"] == "remove" else operation["value"]
                document = apply_patch.put(document, path, value)
        self.write(ident, document, actor)

    def remove(self, ident: str) -> None:
        """Remove a thing."""
        self._remember(ident)
        del self._things[ident]

    def shown(self, ident: str) -> tuple[bytes, str] | None:
        """Return a thing as a read sees it, and its etag; what was before, while the lag lasts."""
        stale = self._stale.get(ident)
        thing = self._things.get(ident)
        if stale is not None:
            stale.reads -= 1
            if stale.reads <= 0:
                del self._stale[ident]
            thing = stale.thing
        return (thing.raw, thing.etag) if thing is not None else None

    def etag(self, ident: str) -> str | None:
        """Return the etag of a thing as it is, whatever reads see."""
        thing = self._things.get(ident)
        return thing.etag if thing is not None else None

    # -- what others do behind its back

    def edit(self, ident: str, change: Callable[[dict[str, Json]], object], actor: str = ANONYMOUS) -> None:
        """Change a thing out of band: no default, no rewriting, no lag."""
        thing = self._things[ident]
        document = copy.deepcopy(thing.document)
        change(document)
        self._things[ident] = self._made(ident, document, thing.revision + 1, actor)

    def put(self, ident: str, document: Mapping[str, Json], actor: str = ANONYMOUS) -> None:
        """Put a thing there out of band."""
        self._things[ident] = self._made(ident, dict(document), 1, actor)

    def drop(self, ident: str) -> None:
        """Remove a thing out of band."""
        del self._things[ident]

    # -- inside

    def _remember(self, ident: str) -> None:
        if self.shape.lag_reads:
            self._stale[ident] = _Stale(self._things.get(ident), self.shape.lag_reads)

    def _normalised(self, document: dict[str, Json]) -> dict[str, Json]:
        for name in self.shape.sorted_lists:
            if isinstance(document.get(name), list):
                document[name] = sorted(
                    document[name], key=lambda item: orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
                )
        for name in self.shape.lowered:
            if isinstance(document.get(name), str):
                document[name] = document[name].lower()
        return document

    def _made(self, ident: str, document: dict[str, Json], revision: int, actor: str) -> _Thing:
        stamps = {
            "id": ident,
            "createdAt": _time(0),
            "revision": revision,
            "state": "ready",
            "updated_by": actor,
            "updated_at": _time(revision),
        }
        for name in self.shape.stamps:
            document[name] = document.get(name, stamps[name]) if name == "state" else stamps[name]
        visible = {key: MASK if key in self.shape.masked else value for key, value in document.items()}
        raw = orjson.dumps({self.shape.envelope: visible} if self.shape.envelope else visible)
        return _Thing(document, revision, raw, f'"{hashlib.sha256(raw).hexdigest()[:16]}"')


def _time(seconds: int) -> str:
    return (_START + dt.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def merged(document: Json, patch: Json) -> Json:
    """Apply an RFC 7396 patch."""
    if not isinstance(patch, dict):
        return patch
    out = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = merged(out.get(key), value)
    return out
