"""The audit trail of a store: reading and verifying it."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Final

from holdfast.model.audit import AuditHead
from holdfast.model.record import dataclass
from holdfast.store import audit_chain, rows
from holdfast.store.records import ChainedEvent

PAGE: Final = 500  # rows read at a time by iterations
_FIRST: Final = -(2**63)
_LAST: Final = 2**63 - 1
_FULL: Final[list[rows.Row]] = [()] * PAGE  # stands for the page before the first

Select = Callable[[str, Mapping[str, object]], Awaitable[list[rows.Row]]]  # runs a statement by its name


@dataclass(frozen=True, slots=True)
class AuditTrail:
    """Reads the events of a store."""

    select: Select

    async def events(
        self, subject: int | None = None, type_prefix: str | None = None, since: float | None = None
    ) -> AsyncIterator[ChainedEvent]:
        """Iterate over the trail in order, a page at a time; later events are included."""
        filters = {
            "subject": subject,
            "prefix": type_prefix or "",
            "since": -math.inf if since is None else since,
            "last": _LAST,
            "limit": PAGE,
        }
        after, page = _FIRST, _FULL
        while len(page) == PAGE:
            page = await self._page({**filters, "after": after})
            for row in page:
                yield rows.chained(row)
            after = page[-1][0] if page else after

    async def latest(self, subject: int | None = None) -> AsyncIterator[ChainedEvent]:
        """Iterate over the trail from its end, a page at a time."""
        statement = "events_page_back" if subject is None else "events_page_back_of"
        before, page = _LAST, _FULL
        while len(page) == PAGE:
            page = await self.select(statement, {"subject": subject, "before": before, "limit": PAGE})
            for row in page:
                yield rows.chained(row)
            before = page[-1][0] if page else before

    async def _page(self, filters: Mapping[str, object]) -> list[rows.Row]:
        return await self.select("events_page" if filters.get("subject") is None else "events_page_of", filters)

    async def head(self) -> AuditHead:
        """Return the recorded end of the trail."""
        length, digest, _ = await self._recorded()
        return AuditHead(length, audit_chain.text(digest))

    async def has_head(self, head: AuditHead) -> bool:
        """Return True if the trail has an event of this number and hash."""
        found = await self.select("hash_of_event", {"sequence": head.length})
        return bool(found) and isinstance(found[0][0], bytes) and audit_chain.text(found[0][0]) == head.hash

    async def _recorded(self) -> tuple[int, bytes, int]:
        found = await self.select("head", {})
        if not found:
            raise audit_chain.head_lost()
        length, digest, last = found[0]
        if not isinstance(length, int) or not isinstance(digest, bytes) or not isinstance(last, int | None):
            raise audit_chain.head_lost()
        return length, digest, last or 0

    async def verify(self, known: Sequence[AuditHead]) -> int:
        """Recompute every hash, compare with the known heads, and return the length."""
        length, digest, last = await self._recorded()
        verification = audit_chain.Verification(known)
        async for link in self._links(_FIRST, length):
            if not verification.follows(link):
                raise await self._diagnosis(verification)
        return verification.finish(audit_chain.Head(length, digest), last)

    async def _diagnosis(self, verification: audit_chain.Verification) -> Exception:
        """Return the error for a broken link: reordered if the next event is found later, edited if not."""
        async for link in self._links(verification.head.length, _LAST):
            if verification.is_next(link):
                return verification.reordered(link.sequence)
        return verification.edited()

    async def _links(self, after: int, last: int) -> AsyncIterator[audit_chain.Link]:
        page = _FULL
        filters = {"prefix": "", "since": -math.inf, "last": last, "limit": PAGE}
        while len(page) == PAGE:
            page = await self._page({**filters, "after": after})
            for row in page:
                yield rows.link_of(row)
            after = page[-1][0] if page else after
