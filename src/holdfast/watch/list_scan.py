"""List scans: one list call for a whole kind, so that only changed resources are checked one by one.

For every item whose raw bytes have the digest of the last check, and which was idle then, nothing is parsed, compared
or written but the time of the check. Everything else (changed, not in the list, not idle) is left for a full check. An
item that is not in the list is never called missing by the list alone. The store compares page by page, so that a scan
of a million idle resources needs no more memory than a scan of a thousand.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import field

from holdfast.model.address import Address
from holdfast.model.read_result import ReadResult
from holdfast.model.record import dataclass
from holdfast.policy import resync_schedule
from holdfast.providers.protocol import ItemFailed, ReadFailed
from holdfast.reconcile.clock import Clock
from holdfast.reconcile.connections import Connections
from holdfast.reconcile.rate_limit import CallKind
from holdfast.store.protocol import StateStore
from holdfast.store.state import UnchangedCheck
from holdfast.store.transaction import PartialUpdates, Transaction

BATCH = 1000


@dataclass(slots=True)
class ListScan:
    """The result of one list scan. Call `ListScanner.closer` for the resources that the scan could not confirm."""

    began_at: float
    unchanged: int = 0
    failure: ReadResult | None = None  # the list could not be read to its end; nothing is concluded about the rest


@dataclass(slots=True)
class ListScanner:
    """Sweeps kinds whose provider can list."""

    store: StateStore
    world: Connections
    clock: Clock
    random01: Callable[[], float]
    jitter: float = 0.1
    swept_at: dict[tuple[str, str], float] = field(default_factory=dict)  # when a kind was last listed to its end

    async def sweep(self, connection: str, kind: str) -> ListScan:
        """List a kind, and record the unchanged resources page by page."""
        out = ListScan(self.clock.now())
        reader = await self.world.reader(connection)
        page: list[tuple[str, str]] = []
        try:
            async with self.world.gate(connection).turn(CallKind.READ):
                async for item in reader.list(kind):
                    page.append((item.id, item.raw_digest))
                    if len(page) >= BATCH:
                        await self._note(connection, kind, page, out)
                        page = []
        except ItemFailed:  # what could not be told is not touched, and so looked at by itself
            pass
        except ReadFailed as error:
            out.failure = error.reading
            return out
        await self._note(connection, kind, page, out)
        self.swept_at[connection, kind] = out.began_at
        return out

    async def closer(self, connection: str, kind: str, swept: ListScan) -> AsyncIterator[list[Address]]:
        """Yield the resources that the scan did not confirm, batch by batch."""
        batch: list[Address] = []
        async for address in self.store.unchecked(connection, kind, swept.began_at, self.clock.now()):
            batch.append(address)
            if len(batch) >= BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    async def _note(self, connection: str, kind: str, page: list[tuple[str, str]], out: ListScan) -> None:
        settled = await self.store.find_unchanged(connection, kind, _told_once(page))
        now = out.began_at
        touched = [
            UnchangedCheck(
                address,
                now,
                resync_schedule.next_due(now, period, self.jitter, self.random01()) if period > 0 else None,
            )
            for address, period in settled
        ]
        if touched:
            await self.store.commit(Transaction(updates=PartialUpdates(unchanged=touched)))
        out.unchanged += len(touched)


def _told_once(page: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return a page without the items of which it says two things: those are looked at by themselves."""
    told: dict[str, str] = {}
    doubtful = {ident for ident, digest in page if told.setdefault(ident, digest) != digest}
    return [pair for pair in page if pair[0] not in doubtful] if doubtful else page
