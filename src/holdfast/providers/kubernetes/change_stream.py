"""The watch of one kind: the events of the API server as signals, its resourceVersions as positions.

Events carry metadata only. Bookmarks move the position forward while nothing changes. A resourceVersion that the
server no longer knows is told with 410, as the status of the answer or as an event.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

import msgspec

from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.providers.http.client import Answer, Lost
from holdfast.providers.kubernetes import errors, objects
from holdfast.providers.kubernetes.client import Client
from holdfast.providers.kubernetes.discovery import ServedKind
from holdfast.providers.protocol import ChangeSignal, Interrupted, PositionReached, WatchEvent

WATCH_SECONDS: Final = 290  # after which the server ends the request; proxies often end longer ones without a word
UNSERVED: Final = Interrupted(
    ReadFailure(ReadError.OTHER, "the server no longer serves the kind"), is_position_lost=True
)


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""  # noqa: N815 - the server's name


class _Object(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    code: int = 500  # of the Status of an error


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


_EVENT: Final = msgspec.json.Decoder(_Event)
_OBJECT: Final = msgspec.json.Decoder(_Object)


async def watch(client: Client, served: ServedKind, position: str | None) -> AsyncGenerator[WatchEvent, None]:
    """Yield the changes of a kind in all namespaces after a resourceVersion, or from now on."""
    group = f".{served.gvk.group}" if served.gvk.group else ""
    label = f"watch {served.plural}{group} in all namespaces"
    if position is None:
        begun = await _current(client, served, f"list {served.plural}{group} in all namespaces")
        yield begun
        if isinstance(begun, Interrupted):
            return
        position = begun.position
    query: dict[str, str | int] = {
        "watch": "true",
        "resourceVersion": position,
        "allowWatchBookmarks": "true",
        "timeoutSeconds": WATCH_SECONDS,
    }
    async with aclosing(client.lines(served.path(None), label, query, WATCH_SECONDS)) as lines:
        async for line in lines:
            for event in [_interrupted(line, label)] if isinstance(line, Answer | Lost) else _events(line, label):
                yield event
                if isinstance(event, Interrupted):
                    return


async def _current(client: Client, served: ServedKind, label: str) -> PositionReached | Interrupted:
    """Return the position of this moment: that of a list of one object."""
    answer = await client.get(served.path(None), label, limit=1)
    if not isinstance(answer, Answer) or answer.status != 200:
        return _interrupted(answer, label)
    try:
        return PositionReached(_OBJECT.decode(answer.body).metadata.resourceVersion)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Interrupted(errors.malformed(label))


def _events(line: bytes, label: str) -> list[WatchEvent]:
    """Return the signal and the position of one event."""
    if not line.strip():
        return []
    try:
        event = _EVENT.decode(line)
        changed = _OBJECT.decode(event.object)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return [Interrupted(errors.malformed(label), is_position_lost=True)]
    seen = changed.metadata
    if event.type == "ERROR":
        return [_interrupted(Answer(changed.code, {}, bytes(event.object), ""), label)]
    if event.type == "BOOKMARK":
        return [PositionReached(seen.resourceVersion)]
    version = None if event.type == "DELETED" else f"{seen.uid}@{seen.resourceVersion}"
    ident = objects.ident(seen.namespace or None, seen.name)
    return [ChangeSignal(ident, version), PositionReached(seen.resourceVersion)]


def _interrupted(answer: Answer | Lost, label: str) -> Interrupted:
    if isinstance(answer, Answer) and answer.status == 404:
        return UNSERVED
    is_expired = isinstance(answer, Answer) and answer.status == 410
    return Interrupted(errors.unreadable(answer, label), is_position_lost=is_expired)
