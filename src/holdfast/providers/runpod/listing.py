"""Lists of v2, page by page; one list of endpoints serves all the kinds that are ways to see them.

A sweep over several kinds asks for each kind's list in turn. What was listed a moment ago serves each further kind
once, as long as this process has written nothing since: it is the same sweep. The same kind asking again is another
sweep, and gets a new list.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import orjson

from holdfast.provider import ItemFailed, Json, Listed, ReadError, ReadFailed, ReadFailure
from holdfast.providers.http import paging, raw_slices, url_templates
from holdfast.providers.http.description import ByCursor, Call, ListDescription
from holdfast.providers.runpod import documents, graphql, kinds
from holdfast.providers.runpod.calls import Calls

_SWEEP_SECONDS: Final = 2.0
_BREATH: Final = 64  # items after which others on the event loop get a turn


class _Glance(msgspec.Struct):
    """The fields that tell the kinds of endpoint apart, without parsing the rest."""

    type: str | None = None
    image: str | None = None
    cpu: list[Any] | None = None


_glance = msgspec.json.Decoder(_Glance)


@dataclass(slots=True)
class Shared:
    """State that reader and writer of a connection share: the number of writes."""

    writes: int = 0


@dataclass(slots=True)
class _Recent:
    at: float
    writes: int
    items: list[Listed]
    served: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Lists:
    """The lists of one account."""

    calls: Calls
    shared: Shared = field(default_factory=Shared)
    _recent: _Recent | None = None

    async def of(self, kind: str) -> AsyncIterator[Listed]:
        """Read all things of a kind; raise ReadFailed if any page fails."""
        if kind not in kinds.ENDPOINTS:
            async for item in self.fresh(kind):
                yield item
            return
        implied = kinds.ENDPOINTS[kind]
        for item in await self._endpoints(kind):
            if _is_of(implied, item.raw):
                yield item

    async def _endpoints(self, kind: str) -> list[Listed]:
        now = asyncio.get_running_loop().time()
        recent = self._recent
        if (
            recent is None
            or kind in recent.served
            or now - recent.at > _SWEEP_SECONDS
            or recent.writes != self.shared.writes
        ):
            before = self.shared.writes
            recent = self._recent = _Recent(now, before, [item async for item in self.fresh(kind)])
        recent.served.add(kind)
        return recent.items

    async def fresh(self, kind: str) -> AsyncIterator[Listed]:
        """Read a list again, all kinds of endpoint in one."""
        place = kinds.collection(kind)
        if place is None:
            raise ReadFailed(ReadFailure(ReadError.OTHER, f"RunPod has no kind {kind!r}"))
        extended = self.calls.account.extended and kind in kinds.ENDPOINTS
        extras = await self._extras() if extended else {}
        path, items = place
        listing = _listing(path, items)
        ident = raw_slices.idents(listing.id)
        nameless = False
        async for page in paging.pages(self.calls.client, listing, f"/v2/{path}", {}):
            for number, item in enumerate(page, start=1):
                raw = bytes(item)
                try:
                    name = ident(raw)
                except raw_slices.BROKEN:
                    nameless = True
                    continue
                if extended:
                    raw = joined(raw, extras.get(name) or await self.of_graphql(name))
                yield Listed(name, raw, raw_slices.digest(raw))
                if number % _BREATH == 0:
                    await asyncio.sleep(0)
        if nameless:
            detail = f"an item of the answer to {listing.call.label} has no id"
            raise ItemFailed(ReadFailure(ReadError.MALFORMED, detail))

    async def _extras(self) -> dict[str, Json]:
        """Read what only GraphQL shows, of the endpoints its list shows: the oldest few hundred."""
        mine = await self.calls.myself(graphql.EXTRAS, {}, "the list of endpoints (GraphQL)")
        if isinstance(mine, ReadFailure):
            raise ReadFailed(mine)
        return {
            str(endpoint.get("id")): endpoint for endpoint in mine.get("endpoints") or () if isinstance(endpoint, dict)
        }

    async def of_graphql(self, ident: str) -> Json:
        """Read what only GraphQL shows of one endpoint; raise ReadFailed if it does not show it."""
        label = "an endpoint (GraphQL)"
        mine = await self.calls.myself(graphql.EXTRA, {"id": ident}, label)
        if isinstance(mine, ReadFailure):
            raise ReadFailed(mine)
        found = mine.get("endpoint")
        if not isinstance(found, dict):
            raise ReadFailed(ReadFailure(ReadError.UNSETTLED, f"{label}: REST shows it, GraphQL does not yet"))
        return found


def _listing(path: str, items: str) -> ListDescription:
    call = Call.of("GET", url_templates.parse(f"/v2/{path}"))
    return ListDescription(call, (items,), ("id",), ByCursor(("nextCursor",), "cursor"))


def _is_of(implied: kinds.Implied, raw: bytes) -> bool:
    """Return True if an endpoint is of a kind, or its kind is unknown: parsing then reports the mistake."""
    if implied == kinds.Implied():
        return True
    try:
        seen = _glance.decode(split(raw)[0])
    except (msgspec.MsgspecError, RecursionError):
        return True
    if implied.compute is not None and (implied.compute == "CPU") != bool(seen.cpu):
        return False
    if implied.type is not None and documents.TYPES.get(seen.type or "", seen.type) != implied.type:
        return False
    return implied.image is None or (seen.image or "").startswith(implied.image.partition(":")[0] + ":")


_SEAM: Final = b"\n\x1e"  # stands in no JSON text


def joined(raw: bytes, more: Json) -> bytes:
    """Return the bytes of an endpoint with those of what GraphQL adds."""
    kept = {name: more.get(name) for name in documents.GRAPHQL_ONLY}
    return raw + _SEAM + orjson.dumps(kept, option=orjson.OPT_SORT_KEYS)


def split(raw: bytes) -> tuple[bytes, bytes]:
    """Take what was joined apart; the second part is empty where nothing was."""
    first, _, second = raw.partition(_SEAM)
    return first, second
