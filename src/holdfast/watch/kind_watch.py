"""Watching one kind of one connection: signals become requested checks, and the position is stored.

Periodic checks continue whatever happens here. After the position was lost the watch begins now, and the checks of the
kind are moved forward, so that the resync loop lists the kind.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import field
from typing import Any, Final, Protocol

from holdfast.model.address import Address
from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.model.record import dataclass
from holdfast.providers.protocol import ChangeSignal, Interrupted, PositionReached, SupportsWatch, WatchEvent
from holdfast.reconcile.clock import Clock
from holdfast.reconcile.connections import Connections
from holdfast.store.protocol import RecordStore, StateStore
from holdfast.store.records import VersionConflict, VersionedRecord
from holdfast.store.transaction import PartialUpdates, RecordChanges, Transaction
from holdfast.watch import signal_requests
from holdfast.watch.signal_gathering import SignalGatherer

POSITIONS: Final = "watch-position"  # the collection of the stored positions
POSITION_SECONDS: Final = 30.0  # after which a new position is stored
LASTING_SECONDS: Final = 60.0  # a watch that lasted so long did not fail at its start
BATCH: Final = 500


class WatchStore(StateStore, RecordStore, Protocol):
    """The part of a store that a watch uses."""


@dataclass(slots=True)
class KindWatch:
    """The watch of one kind."""

    store: WatchStore
    connections: Connections
    clock: Clock
    random01: Callable[[], float]
    warn: Callable[[str], None]
    connection: str
    kind: str
    _gatherer: SignalGatherer = field(default_factory=SignalGatherer)
    _position: str | None = None
    _record: VersionedRecord | None = None
    _stored_at: float = float("-inf")
    _batches: int = 0
    _warned: str = ""

    async def run(self) -> None:
        """Watch until cancelled."""
        self._record = await self.store.record(POSITIONS, self._key)
        stored = self._record.data.get("position") if self._record is not None else None
        self._position = stored if isinstance(stored, str) else None
        failures = 0
        while True:
            began = self.clock.monotonic()
            interrupted = await self._follow()
            lasted = self.clock.monotonic() - began >= LASTING_SECONDS
            is_usual_end = interrupted is None and lasted
            failures = 0 if is_usual_end else 1 if lasted else failures + 1
            if interrupted is not None:
                self._complain(interrupted.failure)
                if interrupted.is_position_lost:
                    self._position = None
            failure = interrupted.failure if interrupted is not None else None
            await self.clock.sleep(signal_requests.restart_delay(failures, failure, self.random01()))

    @property
    def _key(self) -> str:
        return f"{self.connection}/{self.kind}"

    def _complain(self, failure: ReadFailure) -> None:
        """Warn of a missing permission, once."""
        if failure.trouble is ReadError.UNAUTHORISED and failure.detail != self._warned:
            self._warned = failure.detail
            self.warn(
                f"{self.kind} on {self.connection} is not watched: {failure.detail}; changes are found by polling"
            )

    async def _follow(self) -> Interrupted | None:
        """Follow one watch to its end; return its interruption, if there was one."""
        try:
            reader = await self.connections.reader(self.connection)
            if not isinstance(reader, SupportsWatch):
                return Interrupted(ReadFailure(ReadError.OTHER, "the reader does not support watching"))
            return await self._consume(reader, lists=reader.kinds[self.kind].lists)
        except Exception as error:  # noqa: BLE001 - providers are foreign code, and a watch must not end the resync loop
            failure = ReadFailure(ReadError.OTHER, f"the watch raised {type(error).__name__}")
            return Interrupted(failure, is_position_lost=True)  # signals may be lost with it

    async def _consume(self, reader: SupportsWatch, *, lists: bool) -> Interrupted | None:
        is_new, began_at = self._position is None, self.clock.now()
        events = reader.watch(self.kind, self._position)
        following = asyncio.ensure_future(_next(events))
        try:
            while True:
                await self._until(following)
                if not following.done():
                    await self._request_checks()
                    continue
                event = following.result()
                match event:
                    case None:
                        return None
                    case Interrupted():
                        return event
                    case ChangeSignal(id=ident, version=version):
                        self._gatherer.add(ident, version, self.clock.now())
                    case PositionReached(position=position):
                        self._position = position
                        if is_new and lists:
                            await self._check_all(began_at)
                        is_new = False
                        await self._store_position(POSITION_SECONDS)
                following = asyncio.ensure_future(_next(events))
        finally:
            await asyncio.shield(self._end(events, following))

    async def _until(self, following: asyncio.Future[WatchEvent | None]) -> None:
        """Wait for the next event, or until the signals so far are to be acted on."""
        at = self._gatherer.next_at()
        if at is None:
            await asyncio.wait({following})
            return
        timer = asyncio.ensure_future(self.clock.sleep(max(at - self.clock.now(), 0.0)))
        try:
            waits: set[asyncio.Future[Any]] = {following, timer}
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if timer.done() and following.done():  # a stream that never pauses must not delay the checks
                await self._request_checks()
        finally:
            timer.cancel()

    async def _end(self, events: AsyncIterator[WatchEvent], following: asyncio.Future[WatchEvent | None]) -> None:
        """Act on the signals so far, store the position and close the stream."""
        following.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await following
        await self._request_checks()
        await self._store_position(0.0)
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()

    async def _request_checks(self) -> None:
        """Request the checks of the signals so far."""
        if self._gatherer.next_at() is None:
            return
        batch, now = self._gatherer.take(), self.clock.now()
        self._batches += 1
        token = f"watch-{int(now * 1000)}-{self._batches}"
        states = await self.store.states_with_ids(self.connection, self.kind, list(batch.versions))
        requests = signal_requests.check_requests(batch, states, token, now)
        if requests:
            await self.store.commit(Transaction(updates=PartialUpdates(requested=list(requests))))
        if batch.is_overfull:
            await self._check_all(now)
        await self._store_position(POSITION_SECONDS)

    async def _check_all(self, since: float) -> None:
        """Make all resources of the kind due that were not checked since a time; the loop lists them at once."""
        now = self.clock.now()
        addresses = [address async for address in self.store.unchecked(self.connection, self.kind, since)]
        for start in range(0, len(addresses), BATCH):
            moved: list[tuple[Address, float | None]] = [(address, now) for address in addresses[start : start + BATCH]]
            await self.store.commit(Transaction(updates=PartialUpdates(rescheduled=moved)))

    async def _store_position(self, interval: float) -> None:
        """Store the position if all signals before it are requests, and the stored one is old."""
        now, before = self.clock.monotonic(), self._record
        is_same = before is not None and before.data.get("position") == self._position
        if (
            self._position is None
            or is_same
            or self._gatherer.next_at() is not None
            or now - self._stored_at < interval
        ):
            return
        self._stored_at = now
        version = before.version + 1 if before is not None else 1
        record = VersionedRecord(POSITIONS, self._key, {"position": self._position}, version)
        try:
            await self.store.commit(Transaction(records=RecordChanges(put=[record])))
            self._record = record
        except VersionConflict:  # another process watches, too; the next position follows its record
            self._record = await self.store.record(POSITIONS, self._key)


async def _next(events: AsyncIterator[WatchEvent]) -> WatchEvent | None:
    """Return the next event; None at the end."""
    return await anext(events, None)
