"""The reading half."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

import orjson

from holdfast.model.health import HealthSignal
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadError, ReadFailure, ReadResult
from holdfast.providers.openstack import documents, kind_registry
from holdfast.providers.openstack.calls import Calls, ServiceDialect
from holdfast.providers.openstack.kind_definition import Item, KindDefinition
from holdfast.providers.openstack.lookup import Finder
from holdfast.providers.protocol import Hint, Kind, Listed, ReadFailed, Target, Unchanged


class OpenStackReader:
    """Reads the things of one cloud."""

    def __init__(self, calls: Calls) -> None:
        self.kinds: Mapping[str, Kind] = kind_registry.kinds()
        self._calls = calls
        self._finder = Finder(calls)
        self._trusts = calls.cloud.account.trusts_revisions

    async def read(self, target: Target, hint: Hint | None = None) -> ReadResult | Unchanged:
        """Read one thing by its id, or find it by what the declaration says of it."""
        thing = kind_registry.BY_KIND.get(target.kind)
        if thing is None:
            return ReadFailure(ReadError.OTHER, f"OpenStack has no kind {target.kind!r}")
        try:
            if target.id is None:
                return await self._declared(target, thing)
            return await self._by_id(thing, target.id, hint)
        except ReadFailed as error:
            return error.reading

    async def health_signals(self, target: Target, since: float) -> Sequence[HealthSignal]:  # noqa: ARG002 - only the present is known
        """Return True if the service reports a resource as healthy. DOWN is also the state of an unused one."""
        thing = kind_registry.BY_KIND.get(target.kind)
        if thing is None or target.id is None:
            return ()
        try:
            item = await self.item(thing, target.id)
        except ReadFailed:
            return (HealthSignal("status", None),)
        if not isinstance(item, Item):
            return (HealthSignal("status", False if isinstance(item, NotFound) else None),)
        if thing.manner.trouble(item) is not None:
            return (HealthSignal("status", is_well=False),)
        return (HealthSignal("status", item.body["status"] != "ERROR"),) if "status" in item.body else ()

    async def _by_id(self, thing: KindDefinition, ident: str, hint: Hint | None) -> ReadResult | Unchanged:
        item = await self.item(thing, ident, hint)
        if isinstance(item, NotFound):
            return await self._confirmed(thing, ident)
        if isinstance(item, ReadFailure | Unchanged):
            return item
        return self._found(thing, item, hint)

    async def item(
        self, thing: KindDefinition, ident: str, hint: Hint | None = None
    ) -> Item | NotFound | ReadFailure | Unchanged:
        """Read a thing with all that its document is made of; where its revision is that of the last time, no more."""
        found = await self._calls.get(thing.place, thing.at(ident), ident)
        if isinstance(found, NotFound | ReadFailure):
            return found
        inner = found.get(thing.one, found) if thing.one else found
        body = thing.manner.body(inner) if isinstance(inner, dict) else {}
        if "id" not in body:
            return ReadFailure(ReadError.MALFORMED, f"what the service says of a {thing.kind} is not one")
        if str(body["id"]) != ident:
            said = f"what the service says of a {thing.kind} is not about the one asked for"
            return ReadFailure(ReadError.MALFORMED, said)
        item = Item(body)
        if self._trusts and thing.trusts_revision and hint is not None:
            etag, digest = documents.etag(thing, item), documents.digest(thing, item, trusts_revision=True)
            if etag is not None and (hint.etag, hint.raw_digest) == (etag, digest):
                return Unchanged(etag, digest)
        more = {}
        for companion in thing.companions:
            params = (*companion.params, (companion.by, ident))
            more[companion.name] = await self._calls.everything(
                ServiceDialect(companion.service), companion.path, companion.many, params
            )
        return Item(body, more)

    async def _confirmed(self, thing: KindDefinition, ident: str) -> ReadResult:
        """Conclude that a resource is deleted only if no other resource that needs it still exists.

        A service that lost a row, or answers from a stale replica, contradicts itself. A recreate would then make a
        second one, and leave the dependents on the first.
        """
        for referrer in thing.referrers:
            params = ((referrer.by, referrer.value.format(id=ident)), ("fields", "id"))
            left = await self._calls.everything(thing.place, referrer.path, referrer.many, params)
            if left:
                what = referrer.many.replace("_", " ").rstrip("s")
                detail = f"the service says that it is not there, and yet has a {what} of it ({left[0].get('id')})"
                return ReadFailure(ReadError.UNCONFIRMED, detail)
        return NotFound()

    def _found(self, thing: KindDefinition, item: Item, hint: Hint | None) -> ReadResult | Unchanged:
        trouble = thing.manner.trouble(item)
        if trouble is not None:
            return trouble
        digest = documents.digest(thing, item, trusts_revision=self._trusts)
        if hint is not None and hint.raw_digest == digest:
            return Unchanged(documents.etag(thing, item), digest)
        return Found(documents.document(thing, item), documents.etag(thing, item), digest, item.id)

    async def _declared(self, target: Target, thing: KindDefinition) -> ReadResult | Unchanged:
        """Find what a declaration means; several that fit cannot be told apart."""
        matches = await self._finder.declared(target, thing)
        if not matches:
            return NotFound()
        if len(matches) > 1:
            ids = ", ".join(sorted(item.id for item in matches)[:4])
            detail = f"{len(matches)} things fit the declaration ({ids}); import the one that is meant by its id"
            return ReadFailure(ReadError.UNCONFIRMED, detail)
        return self._found(thing, matches[0], None)

    async def list(self, kind: str) -> AsyncIterator[Listed]:
        """Read all things of a kind; raise ReadFailed if any page fails."""
        thing = self._thing(kind)
        async for item in self._finder.everything(thing):
            digest = documents.digest(thing, item, trusts_revision=self._trusts)
            if thing.manner.trouble(item) is not None:
                digest = f"{digest} in trouble"  # never taken as unmoved
            yield Listed(item.id, documents.packed(item), digest)

    def parse(self, kind: str, raw: bytes) -> Json:
        """Turn a listed thing into its document; raise ReadFailed if it is broken, or not at rest."""
        thing = self._thing(kind)
        try:
            item = documents.unpacked(raw)
            trouble = thing.manner.trouble(item)
            if trouble is not None:
                raise ReadFailed(trouble)
            return documents.document(thing, item)
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            detail = f"what the service says of a {kind} cannot be read ({type(error).__name__})"
            raise ReadFailed(ReadFailure(ReadError.MALFORMED, detail)) from None

    async def find(self, kind: str, criteria: Mapping[str, Json]) -> Sequence[str]:
        """Return the ids of the things whose fields have exactly these values."""
        found = await self._finder.matching(self._thing(kind), criteria, wide=True)
        return [item.id for item in found]

    def _thing(self, kind: str) -> KindDefinition:
        thing = kind_registry.BY_KIND.get(kind)
        if thing is None:
            raise ReadFailed(ReadFailure(ReadError.OTHER, f"OpenStack has no kind {kind!r}"))
        return thing
