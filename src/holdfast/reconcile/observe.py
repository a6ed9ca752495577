"""Reads of live state within the rate limits, by single resources or whole kinds, with retries of transient failures.

All readings of declared resources come from here, with their secrets redacted: in the document and in the other texts
of the service. Later steps never see a secret, so they cannot forget to redact it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from holdfast.model.read_result import Found, ReadError, ReadFailure, ReadResult
from holdfast.model.record import dataclass
from holdfast.providers.protocol import Hint, ItemFailed, Listed, ReadFailed, Unchanged
from holdfast.reconcile import evaluate, fault_isolation, storable_text
from holdfast.reconcile.clock import Clock
from holdfast.reconcile.connections import Connections
from holdfast.reconcile.known_secrets import Fingerprint, KnownSecrets
from holdfast.reconcile.listing import Listing
from holdfast.reconcile.rate_limit import CallKind
from holdfast.reconcile.redact import RedactionContext
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.reconcile.retry import RETRIED, RetryPolicy
from holdfast.store import blobs

WORKERS = 64  # reading at once on a connection; its gate lets fewer through
LIST_FROM = 4  # resources of one kind from which one list call is worth more than single reads

Digests = Mapping[str, bytes | None]  # by id, packed; None: the item is needed even if it is unchanged
Lists = Mapping[tuple[str, str], Listing | ReadFailure]


@dataclass(slots=True)
class Observer:
    """Reads prepared resources."""

    world: Connections
    clock: Clock
    random01: Callable[[], float]
    patience: RetryPolicy
    fingerprint: Fingerprint

    async def read_all(
        self, batch: Sequence[ResolvedResource], listed: Lists, is_known: Sequence[bool]
    ) -> list[ReadResult | Unchanged]:
        """Read a batch with a few workers that take turns: cheaper than a task for each that waits for its slot.

        Each connection has workers of its own, so that one that hangs takes none away from the others.
        """
        if len(batch) == 1:
            return [await self._reading(batch[0], listed, is_known=is_known[0])]
        readings: list[ReadResult | Unchanged] = [ReadFailure(ReadError.OTHER, "not read")] * len(batch)
        queues: dict[str, list[int]] = {}
        for place, item in enumerate(batch):
            unchanged = _listed_unchanged(item, listed) if is_known[place] else None
            if unchanged is not None:
                readings[place] = unchanged
            else:
                queues.setdefault(item.declaration.address.connection, []).append(place)
        if not queues:
            return readings

        async def work(places: Iterator[int]) -> None:
            for place in places:
                readings[place] = await self._reading(batch[place], listed, is_known=is_known[place])

        async with asyncio.TaskGroup() as group:
            for connection, queue in queues.items():
                places = iter(queue)
                for number in range(min(WORKERS, len(queue))):
                    group.create_task(work(places), name=f"read {connection} {number}")
        return readings

    async def lists(self, prepared: Sequence[ResolvedResource], *, fresh: bool) -> Lists:
        """Read whole kinds with one call where many of them are asked for and the provider can."""
        groups: dict[tuple[str, str], dict[str, bytes | None]] = {}
        for item in prepared:
            if item.kind.lists and item.state is not None and item.state.observed.provider_id is not None:
                key = (item.declaration.address.connection, item.declaration.address.kind)
                is_known = not fresh and evaluate.is_unchanged(item, item.state)
                digest = item.state.observed.raw_digest if is_known else None
                groups.setdefault(key, {})[item.state.observed.provider_id] = (
                    blobs.pack_digest(digest) if digest is not None else None
                )
        return await self.list_kinds(groups)

    async def list_kinds(self, groups: Mapping[tuple[str, str], Digests]) -> Lists:
        """Read the kinds of which enough is expected for a list call, all at once."""
        wanted = {key: expected for key, expected in groups.items() if len(expected) >= LIST_FROM}
        async with asyncio.TaskGroup() as group:
            tasks = {key: group.create_task(self.listed(*key, expected)) for key, expected in wanted.items()}
        return {key: task.result() for key, task in tasks.items()}

    async def listed(self, connection: str, kind: str, expected: Digests) -> Listing | ReadFailure:
        """List the expected resources of a kind by id. An item with the expected digest is only marked as unchanged.

        Nothing else is kept of unchanged items, so a list scan of many needs little memory.
        """
        reader = await self.world.reader(connection)
        gate = self.world.gate(connection)
        failure: ReadFailure | None = None
        for attempt in range(1, self.patience.attempts + 1):
            listing = Listing(expected)
            try:
                async with gate.turn(CallKind.READ):
                    async for item in reader.list(kind):
                        listing.take(item)
                return listing
            except ItemFailed:  # what could not be told is asked for by itself
                return listing
            except ReadFailed as error:
                failure = hidden(_unreadable(error.reading), self.world.known)
            if not await self._may_retry(connection, failure, attempt):
                break
        return failure or ReadFailure(ReadError.OTHER, "the list could not be read")

    async def _reading(self, item: ResolvedResource, listed: Lists, *, is_known: bool) -> ReadResult | Unchanged:
        address = item.declaration.address
        found = listed.get((address.connection, address.kind))
        state = item.state
        if found is None or state is None or state.observed.provider_id is None:
            return await self.read(
                item, Hint(state.observed.etag, state.observed.raw_digest) if is_known and state is not None else None
            )
        if isinstance(found, ReadFailure):
            return found
        entry = found.get(state.observed.provider_id)
        if entry is None:
            # Not in the list, or in it twice: deleted, or the list was wrong. Only a read of the resource itself
            # counts.
            return await self.read(item, None)
        if isinstance(entry, Unchanged):
            same = _listed_unchanged(item, listed) if is_known else None
            return same if same is not None else await self.read(item, None)
        return await self.parsed(item, entry)

    async def parsed(self, item: ResolvedResource, entry: Listed) -> ReadResult | Unchanged:
        """Return a listed item as a read of it would be."""
        address = item.declaration.address
        reader = await self.world.reader(address.connection)
        try:
            document = reader.parse(address.kind, entry.raw)
        except ReadFailed as error:
            return self._redacted(item, error.reading)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
            return fault_isolation.unreadable(error, address)
        return self._redacted(item, fault_isolation.shallow(Found(document, None, entry.raw_digest, entry.id)))

    async def read(self, item: ResolvedResource, hint: Hint | None) -> ReadResult | Unchanged:
        """Read one thing through its connection's gate, with patience for passing troubles."""
        connection = item.declaration.address.connection
        reader = await self.world.reader(connection)
        gate = self.world.gate(connection)
        target, known = item.target(), self.world.known
        attempt = 0
        while True:
            attempt += 1
            async with gate.turn(CallKind.READ, urgent=item.is_urgent):
                try:
                    reading = await reader.read(target, hint)
                    if hint is not None and known.is_empty and reading == Unchanged(hint.etag, hint.raw_digest):
                        return reading  # there is nothing new in it, and nothing to redact
                    reading = storable_text.of_reading(fault_isolation.shallow(reading))
                except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
                    reading = fault_isolation.unreadable(error, item.declaration.address)
            if not isinstance(reading, ReadFailure) or not await self._may_retry(connection, reading, attempt):
                return self._redacted(item, reading)

    def _redacted(self, item: ResolvedResource, reading: ReadResult | Unchanged) -> ReadResult | Unchanged:
        known = self.world.known
        if isinstance(reading, ReadFailure):
            return hidden(reading, known)
        if isinstance(reading, Unchanged):
            return (
                replace(reading, etag=None) if reading.etag and known.hidden(reading.etag) != reading.etag else reading
            )
        if not isinstance(reading, Found):
            return reading
        document = item.redacted(
            reading.document, RedactionContext(self.fingerprint, known, str(item.declaration.address))
        )
        if reading.failed or reading.etag or reading.identity:
            reading = _with_hidden(reading, known)
        return reading if document is reading.document else replace(reading, document=document)

    async def _may_retry(self, connection: str, reading: ReadFailure, attempt: int) -> bool:
        """Wait if another attempt makes sense; a throttled connection is slowed for everybody."""
        if reading.trouble is ReadError.THROTTLED:
            self.world.gate(connection).throttled(reading.retry_after_seconds)
        if reading.trouble not in RETRIED or attempt >= self.patience.attempts:
            return False
        if reading.trouble is not ReadError.THROTTLED:
            await self.clock.sleep(self.patience.delay(attempt, reading.retry_after_seconds, self.random01))
        return True


def _listed_unchanged(item: ResolvedResource, listed: Lists) -> Unchanged | None:
    """Return the reading of a resource that a list shows as it was; None if more must be asked."""
    address, state = item.declaration.address, item.state
    listing = listed.get((address.connection, address.kind))
    if not isinstance(listing, Listing) or state is None or state.observed.provider_id is None:
        return None
    entry = listing.get(state.observed.provider_id)
    if not isinstance(entry, Unchanged) or entry.raw_digest != state.observed.raw_digest:
        return None  # two declarations may name one id
    return entry


def hidden(reading: ReadFailure, known: KnownSecrets) -> ReadFailure:
    """Return a failure without secrets in its text."""
    return replace(reading, detail=known.hidden(reading.detail)) if reading.detail else reading


def _with_hidden(reading: Found, known: KnownSecrets) -> Found:
    """Return a reading without secrets beside the document. An etag that contains one is dropped."""
    etag, identity, failed = (known.hidden(name) if name else name for name in _beside(reading))
    if (etag, identity, failed) == _beside(reading):
        return reading
    return replace(reading, etag=reading.etag if etag == reading.etag else None, identity=identity, failed=failed or "")


def _beside(reading: Found) -> tuple[str | None, str | None, str]:
    return reading.etag, reading.identity, reading.failed


def _unreadable(reading: ReadResult) -> ReadFailure:
    return reading if isinstance(reading, ReadFailure) else ReadFailure(ReadError.OTHER, "the list could not be read")
