"""The writing half: the thing itself first, then what belongs to it by calls of its own.

OpenStack takes no idempotency keys. A create looks first for what an earlier attempt may have made, and goes on from
there; every later step compares with what is there now, so that all of it may be said twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from holdfast.compare import paths
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.read_result import NotFound, ReadFailure
from holdfast.model.write_result import Done, InProgress, WriteError, WriteFailure, WriteResult
from holdfast.providers import minimal_patch
from holdfast.providers.openstack import documents, kind_registry, status_mapping
from holdfast.providers.openstack.calls import Calls
from holdfast.providers.openstack.kind_definition import Item, KindDefinition, Role, Sub
from holdfast.providers.openstack.lookup import Finder
from holdfast.providers.openstack.reader import OpenStackReader
from holdfast.providers.protocol import Change, ReadFailed, Target, Unchanged

_REMEMBERED: Final = 10_000
_LATER: Final = "what is there could not be read before the write"


class OpenStackWriter:
    """Changes the things of one cloud."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._finder = Finder(calls)
        self._reader = OpenStackReader(calls)
        self._begun: dict[str, None] = {}  # keys of updates that have written something already

    # -- making

    async def create(self, target: Target, key: str) -> WriteResult:  # noqa: ARG002 - found again by what it is
        """Make the thing, or go on with one that an earlier attempt made."""
        thing = kind_registry.BY_KIND.get(target.kind)
        if thing is None:
            return WriteFailure(WriteError.TERMINAL, f"OpenStack has no kind {target.kind!r}")
        there = await self._there(target, thing)
        if isinstance(there, WriteFailure):
            return there
        made = there or await self._made(target, thing)
        if isinstance(made, WriteFailure):
            return made
        if thing.manner.is_slow:
            return InProgress(made.id, {"id": made.id, "late": True}, thing.manner.poll_seconds)
        finished = await self._finished(thing, made, target)
        if isinstance(finished, WriteFailure):
            return finished
        return await thing.manner.born(self._calls, made, target) or Done(made.id)

    async def _finished(self, thing: KindDefinition, made: Item, target: Target) -> WriteResult:
        """Give a thing that is there what could not be given to it at birth."""
        wanted = [(sub, target.desired[sub.name]) for sub in thing.subs if target.desired.get(sub.name) is not None]
        return await self._changed(thing, made, (target.desired, documents.late(thing, target.desired)), wanted, None)

    async def _there(self, target: Target, thing: KindDefinition) -> Item | WriteFailure | None:
        try:
            found = await self._finder.declared(target, thing)
        except ReadFailed as error:
            return WriteFailure(WriteError.RETRYABLE, f"whether it exists could not be looked up: {_detail(error)}")
        if not found:
            return None
        if len(found) > 1:
            return WriteFailure(
                WriteError.TERMINAL, f"{len(found)} things fit the declaration already; import one by its id"
            )
        return found[0]

    async def _made(self, target: Target, thing: KindDefinition) -> Item | WriteFailure:
        body = await thing.manner.birth(self._calls, target, documents.birth(thing, target.desired))
        if isinstance(body, WriteFailure):
            return body
        given = {thing.one: body, **thing.manner.beside(target)} if thing.one else body
        answer = await self._calls.send(thing.place, "POST", thing.path, given)
        if isinstance(answer, WriteFailure):
            return answer
        inner = answer.get(thing.one, answer) if thing.one else answer
        found = thing.manner.body(inner) if isinstance(inner, Mapping) else {}
        if "id" not in found:
            return WriteFailure(WriteError.RETRYABLE, f"POST {thing.path} was answered without the id of what it made")
        return Item(found)

    # -- changing

    async def update(self, target: Target, change: Change, key: str) -> WriteResult:
        """Change the decided paths and nothing else, if the thing is still what the change was decided on."""
        thing = kind_registry.BY_KIND.get(target.kind)
        if thing is None or target.id is None:
            return WriteFailure(WriteError.MOVED, "there is nothing to update")
        wanted = minimal_patch.desired_document(change)
        names = list(dict.fromkeys(str(paths.parse_path(path)[0]) for path in change.paths))
        # One that is declared no more is left as it is.
        stuck = [name for name in names if _is_stuck(thing, name) and wanted.get(name, ABSENT) is not ABSENT]
        if stuck:
            return WriteFailure(WriteError.TERMINAL, f"{', '.join(stuck)} of a {thing.kind} cannot be changed in place")
        subs = [(sub, wanted.get(sub.name, ABSENT)) for name in names if (sub := thing.sub(name)) is not None]
        subs = [(sub, sub.default if value is ABSENT else value) for sub, value in subs]
        subs = [(sub, value) for sub, value in subs if value is not ABSENT]
        etag = None if key in self._begun else change.etag  # a second attempt finds what the first one moved
        must_read = subs or thing.manner.reads_first or any(_is_self_moving(thing, name) for name in names)
        live = await self._live(thing, target.id, etag) if must_read else Item({"id": target.id})
        if isinstance(live, WriteFailure):
            return live
        if len(self._begun) >= _REMEMBERED:
            self._begun.clear()
        self._begun[key] = None
        return await self._changed(thing, live, (wanted, names), subs, etag)

    async def _changed(
        self,
        thing: KindDefinition,
        live: Item,
        change: tuple[Mapping[str, Json], Sequence[str]],
        subs: Sequence[tuple[Sub, Json]],
        etag: str | None,
    ) -> WriteResult:
        """Go in the order that the services insist on: what must be there first, the thing, what may go after."""
        for sub, value in subs:
            done = await sub.before(self._calls, live, value)
            if isinstance(done, WriteFailure):
                return done
            etag = None if done else etag  # our own step moved it, and before that it was looked at
        if any(_is_self_moving(thing, name) for name in change[1]):
            etag = None
        body = documents.changes(thing, *change)
        if body:
            written = await thing.manner.put(self._calls, thing, live, body, _if_match(thing, etag))
            if isinstance(written, WriteFailure):
                return _moved(written)
        for sub, value in subs:
            done = await sub.after(self._calls, live, value)
            if isinstance(done, WriteFailure):
                return done
        return thing.manner.begun(live, {**body, **{sub.name: value for sub, value in subs}}) or Done(live.id)

    async def _live(self, thing: KindDefinition, ident: str, etag: str | None) -> Item | WriteFailure:
        """Read what is there, and see that it is what was decided on."""
        try:
            item = await self._reader.item(thing, ident)
        except ReadFailed as error:
            return WriteFailure(WriteError.RETRYABLE, f"{_LATER}: {_detail(error)}")
        if isinstance(item, NotFound):
            return WriteFailure(WriteError.MOVED, "it is not there any more")
        if isinstance(item, ReadFailure):
            return WriteFailure(WriteError.RETRYABLE, f"{_LATER}: {item.detail}")
        assert not isinstance(item, Unchanged)
        if etag is not None and documents.etag(thing, item) != etag:
            return WriteFailure(WriteError.MOVED, "it moved since the change was decided")
        return item

    # -- removing

    async def delete(self, target: Target, key: str, etag: str | None = None) -> WriteResult:  # noqa: ARG002
        """Delete the resource. One that no longer exists counts as deleted; one in use is tried again later."""
        thing = kind_registry.BY_KIND.get(target.kind)
        if thing is None or target.id is None:
            return Done(target.id or "")
        emptied = await thing.manner.emptied(self._calls, target)
        if isinstance(emptied, WriteFailure):
            return emptied
        headers = _if_match(thing, None if emptied else etag)
        answer = await self._calls.send(thing.place, "DELETE", thing.at(target.id), None, target.id, headers)
        if isinstance(answer, WriteFailure) and not status_mapping.is_gone(answer):
            return answer
        return thing.manner.ending(target.id) or Done(target.id)

    async def poll(self, target: Target, token: Mapping[str, Json]) -> WriteResult:
        """Ask how something that takes its time is doing."""
        thing = kind_registry.BY_KIND.get(target.kind)
        ident = str(token.get("id") or target.id or "")
        if thing is None or not ident:
            return WriteFailure(WriteError.TERMINAL, "the operation is not known")
        try:
            item = await self._reader.item(thing, ident)
        except ReadFailed:
            return InProgress(ident, dict(token), thing.manner.poll_seconds)
        if isinstance(item, NotFound):
            if token.get("until") == "deleted":
                return Done(ident)
            return WriteFailure(WriteError.MOVED, "it disappeared while it was being made")
        if isinstance(item, ReadFailure | Unchanged):
            return InProgress(ident, dict(token), thing.manner.poll_seconds)
        stepped = await thing.manner.stepped(self._calls, item, token)
        if stepped is not None:
            return stepped
        polled = thing.manner.polled(item, token)
        if isinstance(polled, Done) and token.get("late"):
            return await self._finished(thing, item, target)
        return polled


def _is_stuck(thing: KindDefinition, name: str) -> bool:
    found = thing.field(name)
    return found is not None and found.role in (Role.FIXED, Role.READ_ONLY)


def _is_self_moving(thing: KindDefinition, name: str) -> bool:
    found = thing.field(name)
    return found is not None and found.is_self_moving


def _if_match(thing: KindDefinition, etag: str | None) -> dict[str, str]:
    return {"If-Match": f"revision_number={etag}"} if thing.revision is not None and etag is not None else {}


def _moved(refused: WriteFailure) -> WriteFailure:
    """Return MOVED for a resource that no longer exists, because the next check will find it missing."""
    return WriteFailure(WriteError.MOVED, refused.message) if status_mapping.is_gone(refused) else refused


def _detail(error: ReadFailed) -> str:
    return error.reading.detail if isinstance(error.reading, ReadFailure) else "it is not there"
