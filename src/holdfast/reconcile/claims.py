"""Claims of one worker: taken late, renewed while their writes wait, and made sure of right before every send.

A claim runs out after some minutes, so that the work of a killed worker is taken over. A worker that only waits (for a
rate limit, a retry, an operation) must not lose its claims meanwhile, and a worker that was stopped and woken must
notice that it did. The store decides: whoever has the newest fence is the writer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from holdfast.model.address import Address
from holdfast.reconcile.clock import Clock
from holdfast.store.protocol import Store
from holdfast.store.records import Claim, ClaimLost
from holdfast.store.transaction import Transaction

CLAIM_SECONDS: Final = 300.0
_RENEW_SECONDS: Final = CLAIM_SECONDS / 3


@dataclass(slots=True)
class Keeper:
    """Takes claims and keeps them."""

    store: Store
    clock: Clock
    owner: str
    wait: Callable[[float], Awaitable[None]] = asyncio.sleep  # beside the writes, so it must not move a fake clock
    _kept: dict[Address, Claim] = field(default_factory=dict)
    _task: asyncio.Task[None] | None = None

    async def claim(self, address: Address) -> Claim | None:
        """Take the right to write a resource, or return None if another worker has it."""
        now = self.clock.now()
        return await self.store.claim(address, self.owner, now, now + CLAIM_SECONDS)

    @asynccontextmanager
    async def keeping(self, claim: Claim) -> AsyncIterator[None]:
        """Renew a claim in the background as long as this lasts; who keeps it gives it back."""
        self._kept[claim.address] = claim
        if self._task is None:
            self._task = asyncio.create_task(self._renew_all(), name="renew claims")
        try:
            yield
        finally:
            del self._kept[claim.address]
            if not self._kept:
                self._task.cancel()
                self._task = None

    async def commit(self, transaction: Transaction, claim: Claim) -> None:
        """Commit facts together with the renewal of the claim they rely on; raise ClaimLost if it is not ours."""
        asked = self.clock.now()
        transaction.writes.renewed.append(replace(claim, until=asked + CLAIM_SECONDS))
        await self.store.commit(transaction)
        if abs(self.clock.now() - asked) >= _RENEW_SECONDS:  # the process was stopped meanwhile
            await self.ensure(claim)

    async def ensure(self, claim: Claim) -> None:
        """Make sure, right before a send, that a claim is still ours; raise ClaimLost if it is not.

        If the process was stopped while it asked, it asks again: an old answer is worth nothing.
        """
        while True:
            asked = self.clock.now()
            if await self.store.renew(claim, asked + CLAIM_SECONDS) is None:
                raise ClaimLost(f"another worker has claimed {claim.address} since")
            if abs(self.clock.now() - asked) < _RENEW_SECONDS:
                return

    async def _renew_all(self) -> None:
        while True:
            await self.wait(_RENEW_SECONDS)
            until = self.clock.now() + CLAIM_SECONDS
            await asyncio.gather(*[self.store.renew(claim, until) for claim in list(self._kept.values())])
